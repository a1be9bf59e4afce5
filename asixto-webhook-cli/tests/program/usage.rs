//! What cannot be tried is told, with how to mend it.

use insta::assert_snapshot;

use crate::harness::{Server, VARIABLE, file, program};

fn send(more: &[&str]) -> String {
    let usual = ["send", "--to", "http://127.0.0.1:1/", "--type", "job.failed"];
    program(&[&usual[..], more].concat()).run().told()
}

#[test]
fn send_takes_these_arguments() {
    assert_snapshot!(program(&["send"]).run().told(), @r"
    error: the following required arguments were not provided:
      --to <URL>
      --type <TYPE>

    Usage: asixto-webhook send --to <URL> --type <TYPE>

    For more information, try '--help'.
    ");
    assert_snapshot!(program(&["send", "--to", "http://127.0.0.1:1/", "--type", "job.faild"]).run().told(), @r"
    error: invalid value 'job.faild' for '--type <TYPE>'
      [possible values: job.succeeded, job.failed, job.expired, credits.threshold_reached, credits.exhausted, credits.spending_cap_reached, certification.finished, webhook_endpoint.disabled, tool.disabled, conversation.handoff_requested, all]

      tip: a similar value exists: 'job.failed'

    For more information, try '--help'.
    ");
    assert_snapshot!(send(&["--provider", "acme"]), @r"
    error: invalid value 'acme' for '--provider <PROVIDER>': expected `asixto`, `standard`, `cloudevents:<header>` or `agent`

    For more information, try '--help'.
    ");
    assert_snapshot!(send(&["--provider", "cloudevents"]), @r"
    error: invalid value 'cloudevents' for '--provider <PROVIDER>': expected the name of a header, such as `Acme-Signature`, found another text; write `cloudevents:Acme-Signature`

    For more information, try '--help'.
    ");
    assert_snapshot!(send(&["--environment", "prod"]), @r"
    error: invalid value 'prod' for '--environment <ENVIRONMENT>': expected `live` or `test`, found another text

    For more information, try '--help'.
    ");
    assert_snapshot!(send(&["--count", "0"]), @r"
    error: invalid value '0' for '--count <N>': 0 is not in 1..=100000

    For more information, try '--help'.
    ");
    assert_snapshot!(send(&["--timeout", "0"]), @r"
    error: invalid value '0' for '--timeout <SECONDS>': 0 is not in 1..=3600

    For more information, try '--help'.
    ");
    assert_snapshot!(send(&["--set", "data.x"]), @r"
    error: invalid value 'data.x' for '--set <PATH=VALUE>': expected PATH=VALUE, such as data.credits_charged=5

    For more information, try '--help'.
    ");
    assert_snapshot!(send(&["--unset", "data."]), @r"
    error: invalid value 'data.' for '--unset <PATH>': expected names with dots between them, such as data.credits_charged

    For more information, try '--help'.
    ");
    assert_snapshot!(send(&["--seed", "seven"]), @r"
    error: invalid value 'seven' for '--seed <SEED>': invalid digit found in string

    For more information, try '--help'.
    ");
}

#[test]
fn send_takes_these_together() {
    assert_snapshot!(send(&["--id", "1", "--count", "2"]), @"error: expected --id with one event, found several: use --duplicate to deliver one again");
    let all = ["send", "--to", "http://127.0.0.1:1/", "--type", "all"];
    assert_snapshot!(program(&[&all[..], &["--replay-of", "1"]].concat()).run().told(), @"error: expected --replay-of with the type of that delivery, found --type all");
    assert_snapshot!(program(&[&all[..], &["--count", "1000", "--duplicate", "101"]].concat()).run().told(), @"error: expected at most 1000000 deliveries, found 1010000: send them in turns");
    assert_snapshot!(send(&["--replay-of", "1", "--provider", "cloudevents:Acme-Signature"]), @"error: expected --environment and --replay-of with the provider asixto, found another provider");
    let both = ["send", "--to", "http://127.0.0.1:1/", "--type", "job.failed", "--data", "-", "--secret-stdin"];
    assert_snapshot!(program(&both).input("whsec_hunter2").run().told(), @"error: expected one thing from standard input, found two, a secret and the data: give one of them as a file");
    assert_snapshot!(send(&["--ca", "ca.pem"]), @"error: expected --ca with an https URL, found http");
}

#[test]
fn urls() {
    for (url, expected) in [
        ("", "found none that begins with http:// or https://: write one of them"),
        ("127.0.0.1:3000", "found none that begins with http:// or https://: write one of them"),
        ("localhost:3000/hook", "found none that begins with http:// or https://: write one of them"),
        ("/hook", "found none that begins with http:// or https://: write one of them"),
        ("http:///hook", "found another text"),
        ("ftp://127.0.0.1/", "found a scheme that is neither http nor https"),
        ("http://user:hunter2@127.0.0.1/", "found one with a user or a password"),
        // Nothing goes to port 80 by a slip.
        ("http://127.0.0.1:99999/x", "found one whose port is none"),
        ("http://127.0.0.1:65536/x", "found one whose port is none"),
        ("http://127.0.0.1:+80/x", "found one whose port is none"),
        ("http://[::1]:0/x", "found one whose port is none"),
        ("http://127.0.0.1:/x", "found one whose port is none"),
    ] {
        let told = program(&["send", "--type", "job.failed", "--to", url]).run().told();
        let usual = "error: --to: expected a URL such as http://127.0.0.1:3000/webhooks/asixto, ";
        assert_eq!(told, format!("{usual}{expected}\n"), "{url}");
    }
}

// The name of a file may hold anything, and a terminal takes it for commands.
#[test]
#[cfg(unix)]
fn names_of_files() {
    let path = file("x\u{1b}[31m\ny", "{}");
    let told = program(&["sign", "--secret-file", &path]).input("{}").run().told();
    assert!(told.contains(r"x\u{1b}[31m\ny: expected a secret that starts with"), "{told}");
    let told = program(&["sign", "\u{1b}[31m"]).run().told();
    assert!(told.starts_with(r"error: \u{1b}[31m, for the body: "), "{told}");
}

#[test]
#[cfg(unix)]
fn no_more_than_any_webhook() {
    let told = program(&["sign", "/dev/zero"]).run().told();
    assert_snapshot!(told, @"error: /dev/zero, for the body: expected at most 256 MiB, found more");
}

#[test]
fn files() {
    assert_snapshot!(send(&["--data", "missing.json"]), @"error: missing.json, for the data: No such file or directory (os error 2)");
    let broken = file("broken.json", "{\n \"a\": }");
    assert_snapshot!(send(&["--data", &broken]), @"error: --data: expected one JSON value, found other text at line 2, column 7");
    assert_snapshot!(send(&["--data", &file("two.json", "{} {}")]), @"error: --data: expected one JSON value, found other text at line 1, column 4");
    let https = ["send", "--to", "https://127.0.0.1:1/", "--type", "job.failed", "--ca"];
    let told = program(&[&https[..], &[&file("no.pem", "hello")]].concat()).run().told();
    assert!(told.starts_with("error: --ca: expected certificates in PEM, found none in "), "{told}");
    let told = program(&https[..5]).env("SSL_CERT_FILE", "/missing").env("SSL_CERT_DIR", "/missing").run().told();
    assert_snapshot!(told, @"error: expected certificates of authorities on this system, found none: give --ca FILE");
    assert_snapshot!(program(&["sign", "missing.json"]).run().told(), @"error: missing.json, for the body: No such file or directory (os error 2)");
}

/// Found before anything is sent, and not after half of it.
#[test]
fn a_wrong_path_sends_nothing() {
    let server = Server::asixto();
    let send = ["send", "--to", &server.url, "--type", "all", "--set", "data.job_id.x=1"];
    let told = program(&send).run().told();
    assert_snapshot!(told, @"error: data.job_id.x: expected `data.job_id` to be an object or an array, found neither");
    assert!(server.events().is_empty());
}

#[test]
fn sign_takes_the_id_of_its_provider() {
    let sign = |more: &[&str]| program(&[&["sign"], more].concat()).input("{}").env("S", "whsec_Zm9vYmFy").run().told();
    assert_snapshot!(sign(&["--id", "1"]), @"error: expected no --id, since asixto signs none but that in the body");
    assert_snapshot!(sign(&["--provider", "standard", "--secret-env", "S"]), @"error: expected --id with the id of the event, which standard signs");
    assert_snapshot!(sign(&["--provider", "standard", "--secret-env", "S", "--id", "ñ"]), @"error: no receiver would take this: expected a signature header in visible ASCII, found another byte (--id)");
    assert_snapshot!(sign(&["--provider", "agent"]), @"error: expected --id with a nonce, which agent signs");
    assert_snapshot!(sign(&["--provider", "agent", "--id", "a b"]), @"error: no receiver would take this: expected an identifier or nonce in its header, found none, or one outside its alphabet (--id)");
    assert_snapshot!(program(&["sign", "--provider", "agent", "--id", "1"]).input("[]").run().told(), @"error: expected a body that agent can sign, found none that begins as its bodies do: a JSON object, no blank first");
    assert_snapshot!(sign(&["--at", "0"]), @r"
    error: invalid value '0' for '--at <SECONDS>': 0 is not in 1..18446744073709551615

    For more information, try '--help'.
    ");
}

#[test]
fn verify_needs_header_lines() {
    assert_snapshot!(program(&["verify"]).input("{}").run().told(), @"error: expected the header lines of the delivery, found none: give them with --header or --headers-file");
    assert_snapshot!(program(&["verify", "--header", "t=1"]).run().told(), @"error: --header: expected `Name: value`, found another text");
    assert_snapshot!(program(&["verify", "--headers-file", "-"]).input("{}").run().told(), @"error: line 1 of the headers: expected `Name: value`, found another text");
}

// D3
#[test]
fn secrets() {
    let sign = |value: &str| program(&["sign"]).env(VARIABLE, value).input("{}").run().told();
    assert_snapshot!(program(&["sign"]).without(VARIABLE).run().told(), @"error: expected a secret, found no variable ASIXTO_WEBHOOK_SECRETS: set it, or give --secret-file, --secret-env or --secret-stdin; `asixto-webhook secret new` makes one");
    assert_snapshot!(sign(""), @"error: ASIXTO_WEBHOOK_SECRETS: expected a secret, found an empty text: is the variable set?");
    assert_snapshot!(sign("hunter2hunter2"), @"error: ASIXTO_WEBHOOK_SECRETS: expected a secret that starts with `whsec_`, found another beginning: use it as issued, prefix included");
    assert_snapshot!(sign("whsec_"), @"error: ASIXTO_WEBHOOK_SECRETS: expected a secret after `whsec_`, found nothing behind the prefix");
    assert_snapshot!(sign("whsec_hunter2 "), @"error: ASIXTO_WEBHOOK_SECRETS: expected the secret alone, found white space at one of its ends: trim the newline or blank");
    assert_snapshot!(sign("whsec_hunter2, hunter3"), @"error: ASIXTO_WEBHOOK_SECRETS #2: expected a secret that starts with `whsec_`, found another beginning: use it as issued, prefix included");
    assert_snapshot!(sign("'whsec_hunter2'"), @"error: ASIXTO_WEBHOOK_SECRETS: expected the secret alone, found a quote at one of its ends: remove the quotes");
    assert_snapshot!(sign("whsec_hunter2,whsec_hunter2"), @"error: expected different secrets, found the same one twice");
    let both = |secrets| program(&["sign", "--at", "1787923200"]).env(VARIABLE, secrets).input("{}").run().out(0);
    assert_eq!(both("whsec_hunter2, whsec_hunter3"), both("whsec_hunter2,whsec_hunter3"));
    let from = |arguments: &[&str]| program(&[&["sign"], arguments].concat()).input("\n").run().told();
    assert_snapshot!(from(&["--secret-env", "hunter2hunter2"]), @"error: --secret-env: expected the name of a variable with a secret, found none that is set");
    assert_snapshot!(from(&["--secret-file", "hunter2hunter2"]), @"error: --secret-file: expected a file with a secret, found none that can be read: No such file or directory (os error 2)");
    assert_snapshot!(from(&["--secret-stdin"]), @"error: stdin: expected a secret, found an empty text: is the variable set?");
    let two = file("two.secret", "whsec_hunter2\nwhsec_hunter3\n");
    let told = from(&["--secret-file", &two]);
    assert!(told.starts_with(&format!("error: {two}: expected one secret, found a comma, white space")), "{told}");
}
