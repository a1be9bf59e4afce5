//! What the program says about itself.

use insta::assert_snapshot;

use crate::harness::program;

fn help(command: &[&str]) -> String {
    program(&[command, &["--help"]].concat()).run().out(0)
}

#[test]
fn of_each_command() {
    assert_snapshot!(help(&[]), @r"
    Send, sign and verify webhooks, find out why a signature does not match, and check receivers

    Usage: asixto-webhook <COMMAND>

    Commands:
      send         Send realistic deliveries to a receiver, signed as the provider signs them
      sign         Print the headers that a sender would put on a body
      verify       Say whether a delivery's signature holds, and which secret made it
      doctor       Find out why a delivery's signature does not match, and what to do about it
      check        Check a receiver against the contract, point by point, whoever wrote it
      secret       Make a secret
      completions  Print the completions for a shell
      man          Print a page of the manual, in roff

    Options:
      -h, --help     Print help
      -V, --version  Print version

    Exit codes:
      0  done: every delivery was acknowledged, the signature holds
      1  not: a delivery was not acknowledged, the signature does not hold, the output was closed early
      2  not even tried: the arguments, a secret, a file
    ");
    assert_snapshot!(help(&["send"]), @r"
    Send realistic deliveries to a receiver, signed as the provider signs them

    Usage: asixto-webhook send [OPTIONS] --to <URL> --type <TYPE>

    Options:
          --to <URL>           Where the receiver listens, such as http://127.0.0.1:3000/webhooks/asixto
          --type <TYPE>        Type of the event, or `all` for one of each. Another sender's own type
                               goes into its field, as in --provider standard --type job.failed --set
                               type=user.created [possible values: job.succeeded, job.failed,
                               job.expired, credits.threshold_reached, credits.exhausted,
                               credits.spending_cap_reached, certification.finished,
                               webhook_endpoint.disabled, tool.disabled, conversation.handoff_requested,
                               all]
          --ca <FILE>          PEM file with the authorities to trust for https, instead of the system's
          --timeout <SECONDS>  How long to wait for an answer [default: as long as the provider does]
          --json               Print JSON: `deliveries`, a list of `type`, `id`, `status`, `outcome`,
                               `error` (what is not known is null), `acknowledged` and `milliseconds`;
                               and `sent` and `acknowledged`, which count them
      -h, --help               Print help

    The event:
          --id <ID>                    Id of the event [default: a new one]
          --created <SECONDS>          When it happened, in unix seconds [default: now; with --seed a
                                       fixed time]
          --environment <ENVIRONMENT>  `live` or `test` (asixto) [default: test]
          --replay-of <ID>             Make it a manual replay of the delivery with this id (asixto)
          --data <FILE>                File with the data as JSON, sent as it is; `-` is standard input
                                       [default: a plausible example]
          --set <PATH=VALUE>           Set a field of the body, such as data.credits_charged=5; what is
                                       no JSON is a string. May be repeated
          --unset <PATH>               Remove a field of the body, such as data.metadata, after what is
                                       set. May be repeated

    How often:
          --count <N>      How many events, or of `all` how many of each [default: 1]
          --duplicate <N>  How often each event is delivered, with the same body; one after the other
                           [default: 1]
          --shuffle        In another order than that of their making
          --seed <SEED>    Make the same ids and the same order again, and thereby the same bodies

    Provider and secrets:
          --provider <PROVIDER>  Whose webhooks: `asixto`, `standard`, `cloudevents:<header>` or `agent`
                                 [default: asixto]
          --secret-env <NAME>    Environment variable with one secret, or several separated by commas
                                 [default: ASIXTO_WEBHOOK_SECRETS, where no secret is given in another
                                 way]
          --secret-file <FILE>   File with one secret; a newline at its end is left out. May be repeated
          --secret-stdin         Read one secret from standard input; a newline at its end is left out
          --secret <TEXT>        The secret itself, which other users of the machine can see: for
                                 trials. May be repeated

    Every delivery has a connection of its own, goes past any proxy, and follows no redirect. Its
    outcome is known of receivers with diagnostics.

    Exit codes:
      0  done: every delivery was acknowledged, the signature holds
      1  not: a delivery was not acknowledged, the signature does not hold, the output was closed early
      2  not even tried: the arguments, a secret, a file
    ");
    assert_snapshot!(help(&["sign"]), @r"
    Print the headers that a sender would put on a body

    Usage: asixto-webhook sign [OPTIONS] [BODY]

    Arguments:
      [BODY]  File with the body, byte for byte; `-` is standard input [default: -]

    Options:
          --at <SECONDS>  When it is signed, in unix seconds [default: now]
          --id <ID>       Identifier (standard) or nonce (agent): needed, since these sign it
          --json          Print JSON: an object with `provider` and `headers`, an object of values by
                          name
      -h, --help          Print help

    Provider and secrets:
          --provider <PROVIDER>  Whose webhooks: `asixto`, `standard`, `cloudevents:<header>` or `agent`
                                 [default: asixto]
          --secret-env <NAME>    Environment variable with one secret, or several separated by commas
                                 [default: ASIXTO_WEBHOOK_SECRETS, where no secret is given in another
                                 way]
          --secret-file <FILE>   File with one secret; a newline at its end is left out. May be repeated
          --secret-stdin         Read one secret from standard input; a newline at its end is left out
          --secret <TEXT>        The secret itself, which other users of the machine can see: for
                                 trials. May be repeated

    Exit codes:
      0  done: every delivery was acknowledged, the signature holds
      1  not: a delivery was not acknowledged, the signature does not hold, the output was closed early
      2  not even tried: the arguments, a secret, a file
    ");
    assert_snapshot!(help(&["verify"]), @r"
    Say whether a delivery's signature holds, and which secret made it

    Usage: asixto-webhook verify [OPTIONS] [BODY]

    Arguments:
      [BODY]  File with the body, byte for byte; `-` is standard input [default: -]

    Options:
      -H, --header <'NAME: VALUE'>  A header line of the delivery; may be repeated
          --headers-file <FILE>     File with the delivery's header lines, one a line, as a log or
                                    `sign` wrote them; `-` is standard input
          --now <SECONDS>           When the delivery arrived, in unix seconds [default: now]
          --json                    Print JSON: an object with `provider`, `verified`, `secret` (where
                                    it came from), `skew_seconds` (the arrival less the time of signing)
                                    and `error`; what is not known is null
      -h, --help                    Print help

    Provider and secrets:
          --provider <PROVIDER>  Whose webhooks: `asixto`, `standard`, `cloudevents:<header>` or `agent`
                                 [default: asixto]
          --secret-env <NAME>    Environment variable with one secret, or several separated by commas
                                 [default: ASIXTO_WEBHOOK_SECRETS, where no secret is given in another
                                 way]
          --secret-file <FILE>   File with one secret; a newline at its end is left out. May be repeated
          --secret-stdin         Read one secret from standard input; a newline at its end is left out
          --secret <TEXT>        The secret itself, which other users of the machine can see: for
                                 trials. May be repeated

    Exit codes:
      0  done: every delivery was acknowledged, the signature holds
      1  not: a delivery was not acknowledged, the signature does not hold, the output was closed early
      2  not even tried: the arguments, a secret, a file
    ");
    assert_snapshot!(help(&["doctor"]), @r"
    Find out why a delivery's signature does not match, and what to do about it

    Usage: asixto-webhook doctor [OPTIONS] [BODY]

    Arguments:
      [BODY]  File with the body as it arrived, byte for byte; `-` is standard input [default: -]

    Options:
          --body <FILE>             The same, by name
      -H, --header <'NAME: VALUE'>  A header line of the delivery; may be repeated
          --headers-file <FILE>     File with the delivery's header lines, one a line, as a log or
                                    `sign` wrote them; `-` is standard input
          --now <SECONDS>           When the delivery arrived, in unix seconds [default: now]
          --tolerance <SECONDS>     How far the time of signing may be from that [default: as far as the
                                    provider says]
          --json                    Print JSON: an object with `provider`, `verdict` (`healthy`,
                                    `stale`, `explained` or `unexplained`), `secret` and `skew_seconds`
                                    (null unless it matches as it is), `causes`, a list of `code`,
                                    `certainty` (`proven` or `suspected`), `evidence` and `fix`;
                                    `notes`, a list of sentences; `complete`, false where something was
                                    too large or too much to be tried; and `macs`, how many that took
      -h, --help                    Print help

    Provider and secrets:
          --provider <PROVIDER>    Whose webhooks: `asixto`, `standard`, `cloudevents:<header>` or
                                   `agent` [default: asixto]
          --secret-env <NAME>      Environment variable with one secret, or several separated by commas
                                   [default: ASIXTO_WEBHOOK_SECRETS, where no secret is given in another
                                   way]
          --secret-file <FILE>     File with one secret, taken to its last byte. May be repeated
          --secret-stdin           Read one secret from standard input, to its last byte: use `printf
                                   %s` and not `echo`
          --secret <TEXT>          The secret itself, which other users of the machine can see: for
                                   trials. May be repeated
          --elsewhere-env <NAME>   Environment variable with secrets that the receiver does not take,
                                   such as those of the other environment, separated by commas. May be
                                   repeated
          --elsewhere-file <FILE>  File with one such secret. May be repeated

    A cause is proven where the signature matches under exactly what it says, and suspected otherwise.
    Secrets are tried as their sources have them: quotes, blanks and the newline at the end of a file
    are causes. Neither a secret nor a signature nor anything of the body is printed.

    Exit codes:
      0  done: every delivery was acknowledged, the signature holds
      1  not: a delivery was not acknowledged, the signature does not hold, the output was closed early
      2  not even tried: the arguments, a secret, a file
    ");
    assert_snapshot!(help(&["check"]), @r"
    Check a receiver against the contract, point by point, whoever wrote it

    Usage: asixto-webhook check [OPTIONS] <URL>

    Arguments:
      <URL>  Where the receiver listens, such as http://127.0.0.1:3000/webhooks/asixto

    Options:
          --environment <ENVIRONMENT>  Whether its events are of `live` or `test` (asixto) [default:
                                       test]
          --observe <URL>              URL that tells which events the handler ran for: a JSON list of
                                       objects with `id` and `times`, or of ids, each as often as it ran
          --observe-cmd <COMMAND>      Command of the shell that prints the same
          --only <PART>                Run a part only: a point (K1 to K10), a group (accept, reject,
                                       state, operation) or one probe, such as reject/forged. May be
                                       repeated
          --http2                      Speak HTTP/2, without TLS by prior knowledge
          --ca <FILE>                  PEM file with the authorities to trust for https, instead of the
                                       system's
          --strict                     End with 4 where something could not be told from outside
          --format <FORMAT>            How the report is written: lines for a terminal, JSON, the XML
                                       that servers for tests read, or one page [default: table]
                                       [possible values: table, json, junit, html]
          --json                       Print JSON, as --format json does: an object with `url`, `http`,
                                       `provider`, `verdict`, `environment` (why nothing could be
                                       judged), `evidence`, `clock_skew_seconds`, `latency`, and
                                       `probes`, a list of `id`, `clause`, `point`, `title`,
                                       `authority`, `verdict`, `expected`, `got`, `note`, `fix` and
                                       `curl`; what is not known is null
          --out <FILE>                 File that the report is written to, instead of the output
      -h, --help                       Print help

    Provider and secrets:
          --provider <PROVIDER>  Whose webhooks: `asixto`, `standard`, `cloudevents:<header>` or `agent`
                                 [default: asixto]
          --secret-env <NAME>    Environment variable with one secret, or several separated by commas
                                 [default: ASIXTO_WEBHOOK_SECRETS, where no secret is given in another
                                 way]
          --secret-file <FILE>   File with one secret; a newline at its end is left out. May be repeated
          --secret-stdin         Read one secret from standard input; a newline at its end is left out
          --secret <TEXT>        The secret itself, which other users of the machine can see: for
                                 trials. May be repeated

    Every delivery that the receiver accepts is work for its handler: check one that may do it. Its
    secrets are needed, since deliveries are signed with them. Points, groups and probes are named in
    the report; what the sender's contract leaves open is advice, and no failure.

    Exit codes of a check:
      0  the receiver passes
      1  it fails
      2  the arguments, a secret, a file
      3  it could not be judged: it does not answer, or takes no valid delivery
      4  with --strict: something could not be told from outside
    ");
    assert_snapshot!(help(&["secret"]), @r"
    Make a secret

    Usage: asixto-webhook secret <COMMAND>

    Commands:
      new  Print a new secret: 32 bytes of the system's randomness, in the provider's form

    Options:
      -h, --help  Print help
    ");
    assert_snapshot!(help(&["secret", "new"]), @r"
    Print a new secret: 32 bytes of the system's randomness, in the provider's form

    Usage: asixto-webhook secret new [OPTIONS]

    Options:
          --provider <PROVIDER>  Whose secret: `asixto`, `standard`, `cloudevents:<header>` or `agent`
                                 [default: asixto]
          --json                 Print JSON: an object with `provider` and `secret`
      -h, --help                 Print help
    ");
    assert_snapshot!(help(&["completions"]), @r"
    Print the completions for a shell

    Usage: asixto-webhook completions <SHELL>

    Arguments:
      <SHELL>  [possible values: bash, elvish, fish, powershell, zsh]

    Options:
      -h, --help  Print help
    ");
    assert_snapshot!(help(&["man"]), @r"
    Print a page of the manual, in roff

    Usage: asixto-webhook man [COMMAND]...

    Arguments:
      [COMMAND]...  The command that the page is about, such as `send` or `secret new`; the program
                    itself without

    Options:
      -h, --help  Print help
    ");
}

#[test]
fn short_and_long_are_one() {
    for command in
        [&[][..], &["send"], &["sign"], &["verify"], &["doctor"], &["check"], &["secret"], &["secret", "new"]]
    {
        assert_eq!(program(&[command, &["-h"]].concat()).run().out(0), help(command));
    }
}

#[test]
fn version() {
    assert_eq!(program(&["--version"]).run().out(0), concat!("asixto-webhook ", env!("CARGO_PKG_VERSION"), "\n"));
}

#[test]
fn completions_know_every_command() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = program(&["completions", shell]).run().out(0);
        for word in ["send", "sign", "verify", "doctor", "check", "secret", "completions", "man", "duplicate"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
        let knows_values = ["bash", "fish", "zsh"].contains(&shell);
        assert_eq!(script.contains("job.succeeded"), knows_values, "{shell}");
    }
}

#[test]
fn the_manual_has_a_page_for_every_command() {
    for (command, title, word) in [
        (&[][..], "asixto-webhook", r"asixto\-webhook\-send"),
        (&["send"], "asixto-webhook-send", r"\-\-duplicate"),
        (&["doctor"], "asixto-webhook-doctor", r"\-\-elsewhere\-file"),
        (&["secret", "new"], "asixto-webhook-secret-new", r"\-\-provider"),
    ] {
        let page = program(&[&["man"], command].concat()).run().out(0);
        let version = concat!("\"asixto-webhook ", env!("CARGO_PKG_VERSION"), "\"");
        assert!(page.contains(&format!(".TH {title} 1  {version}")), "{page}");
        assert!(page.contains(word), "{page}");
    }
    assert_snapshot!(program(&["man", "sent"]).run().told(), @"error: expected a command with a page, one of send, sign, verify, doctor, check, secret, completions, man; found `sent`");
    assert_snapshot!(program(&["man", "secret", "old"]).run().told(), @"error: expected a command with a page, one of new; found `old`");
}
