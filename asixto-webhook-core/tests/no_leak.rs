//! Does anything that can be read, logged or answered show a secret, a MAC or the customer's data?
//! And does every delivery leave exactly one line that says which it was and what became of it?
#![cfg(test)]
#![cfg(feature = "std")]

mod common;

use std::{fmt::Debug, sync::Arc, time::Duration};

use asixto_webhook_core::{
    Accepted, Asixto, Bytes, Claim, Delivery, Fingerprint, HeaderFault, Headers, Held, Outcome, Provider, Receiver,
    RotatingSecrets, Secret, SecretSet, StoreError, Unavailable, UnixTime, Verifier, lookup, provider::Message,
    testing,
};
use common::{
    FORGED_SECRET, ID, Lines, MARKER, NEW_SECRET, NOW, SECRET, TYPE, answered, builder,
    capture::{Line, captured, delivery_line},
    deliver, envelope,
    fakes::{FakeInbox, FakeSource, FakeStore, FakeTimer, Found, Says},
    known, post, processed,
    scenes::play,
    secrets, signed, signed_at,
};
use pollster::block_on;
use tracing::Level;

/// What must not be found anywhere: pieces that are long enough to be no coincidence.
struct Forbidden(Vec<String>);

impl Forbidden {
    /// The secrets, the MACs in these headers, and the customer's data.
    fn new(headers: &[&Lines]) -> Self {
        let mut pieces = Vec::new();
        for secret in [SECRET, NEW_SECRET, FORGED_SECRET] {
            // The prefix is no secret: errors name it.
            let text = secret.strip_prefix("whsec_").unwrap();
            pieces.extend(windows(text, 8));
        }
        for (_, value) in headers.iter().flat_map(|lines| lines.iter()) {
            for mac in value.split(',').filter_map(|part| part.strip_prefix("v1=")) {
                assert_eq!(mac.len(), 64);
                pieces.extend(windows(mac, 16));
                let bytes: Vec<_> =
                    (0..32).map(|at| u8::from_str_radix(&mac[2 * at..2 * at + 2], 16).unwrap()).collect();
                pieces.extend(bytes.windows(8).map(decimal));
            }
        }
        assert!(!headers.is_empty());
        pieces.extend(windows(MARKER, 12));
        Self(pieces)
    }

    #[track_caller]
    fn absent_from(&self, what: &str, text: &str) {
        for piece in &self.0 {
            assert!(!text.contains(piece.as_str()), "{what} shows {piece}: {text}");
        }
    }

    #[track_caller]
    fn absent_from_debug(&self, what: &str, value: &dyn Debug) {
        self.absent_from(what, &format!("{value:?}"));
        self.absent_from(what, &format!("{value:#?}").replace(",\n", ", ").replace("  ", ""));
    }
}

/// Every piece of `text` that is this long, as text and as the numbers that `Debug` makes of bytes.
fn windows(text: &str, length: usize) -> impl Iterator<Item = String> {
    assert!(text.is_ascii());
    text.as_bytes().windows(length).flat_map(|window| [String::from_utf8(window.into()).unwrap(), decimal(window)])
}

fn decimal(bytes: &[u8]) -> String {
    format!("{bytes:?}").trim_matches(['[', ']']).to_owned()
}

/// Everything that was logged, as one text.
fn text(lines: &[Line]) -> String {
    format!("{lines:?}")
}

/// The headers that the scenes use.
fn scene_headers() -> [Lines; 3] {
    let body = envelope(ID);
    [signed(&known(), &body), signed(&secrets("forged", FORGED_SECRET), &body), signed_at(&known(), NOW - 301, &body)]
}

// The search itself: it finds pieces, in either form.
#[test]
fn what_is_shown_is_found() {
    let headers = scene_headers();
    let forbidden = Forbidden::new(&[&headers[0]]);
    let found = |text: String| forbidden.0.iter().any(|piece| text.contains(piece.as_str()));
    assert!(found(format!("the key ends in {}", &SECRET[SECRET.len() - 8..])));
    assert!(found(format!("{:?}", SECRET.as_bytes())));
    assert!(found(format!("{:?}", headers[0])));
    assert!(found(format!("{:?}", Bytes::from(envelope(ID)))));
    assert!(found(format!("{:?}", envelope(ID).as_bytes())));
    assert!(!found(format!("{:?}", ["whsec_", ID, TYPE, "v1=", "current"])));
}

// D3, K: over every outcome neither the log nor the answer shows anything of it, diagnostics or not.
#[test]
fn logs_and_answers_of_every_outcome() {
    let headers = scene_headers();
    let forbidden = Forbidden::new(&headers.each_ref());
    for outcome in Outcome::ALL {
        for diagnostics in [false, true] {
            let (answer, lines) = captured(|| play(outcome, |builder| builder.diagnostics(diagnostics)));
            assert!(!lines.is_empty(), "{outcome} logs nothing");
            forbidden.absent_from("the log", &text(&lines));
            forbidden.absent_from_debug("the answer", &answer);
            forbidden.absent_from("the answer's headers", &format!("{:?}", common::headers(&answer)));
        }
    }
}

// D3: nor do the steps that end no delivery.
#[test]
fn logs_of_everything_else() {
    let headers = scene_headers();
    let forbidden = Forbidden::new(&headers.each_ref());
    let ((), lines) = captured(|| {
        let store = FakeStore::fresh()
            .extend(Says::Fails)
            .extend(Says::This(Held::Lost))
            .extend(Says::Hangs)
            .commit(Says::Fails)
            .commit(Says::This(Held::Lost));
        let receiver = builder().dedup(store).build().unwrap().with_timer(Arc::new(FakeTimer::default()));
        let (event, ticket) =
            processed(deliver(&receiver, envelope(ID).replace("\"data\"", "\"replay_of\":null,\"data\"")));
        for _ in 0..3 {
            block_on(receiver.renew(&ticket));
        }
        receiver.overdue(&ticket);
        _ = receiver.slow(&event);
        _ = receiver.interrupted();
        let settled = block_on(receiver.settle(ticket, 200));
        block_on(receiver.commit(&settled.uncommitted.unwrap())).unwrap();
    });
    assert!(lines.len() >= 9, "{lines:#?}");
    forbidden.absent_from("the log", &text(&lines));
}

// D3: `Debug` of whatever a user can hold.
#[test]
fn debug_of_every_type() {
    let body = Bytes::from(envelope(ID));
    let headers = signed(&known(), &body);
    let forbidden = Forbidden::new(&[&headers]);
    let now = UnixTime::from_secs(NOW);
    let secret = Secret::new("current", SECRET).unwrap();
    let set = SecretSet::new([secret.clone(), Secret::new("next", NEW_SECRET).unwrap()]).unwrap();
    let rotating = RotatingSecrets::new(set.clone());
    let verifier = Verifier::new(set.clone());
    let mut check = verifier.begin(&headers).unwrap();

    forbidden.absent_from_debug("Secret", &secret);
    forbidden.absent_from_debug("SecretSet", &set);
    forbidden.absent_from_debug("RotatingSecrets", &rotating);
    forbidden.absent_from_debug("Verifier", &verifier);
    forbidden.absent_from_debug("Check", &check);
    check.update(&body);
    forbidden.absent_from_debug("Check", &check);
    forbidden.absent_from_debug("Verified", &check.finish(now).unwrap());

    forbidden.absent_from_debug("Headers", &Headers::new(&headers));
    let read = Asixto.signed(Headers::new(&headers)).unwrap();
    forbidden.absent_from_debug("Signed", &read);
    forbidden.absent_from_debug("Candidates", &read.candidates);
    forbidden.absent_from_debug("Message", &Message::new(now, &body));
    forbidden.absent_from_debug("Glimpse", &Asixto.glimpse(Headers::new(&headers), &body));
    forbidden.absent_from_debug("Delivery", &Delivery::new("POST", &headers, body.clone()).scope("acme"));

    let store = FakeStore::fresh().commit(Says::Fails);
    let builder = || builder().secrets(rotating.clone());
    forbidden.absent_from_debug("ReceiverBuilder", &builder().dedup(store.clone()));
    let receiver = builder().dedup(store.clone()).build().unwrap();
    forbidden.absent_from_debug("Receiver", &receiver);
    let admission = deliver(&receiver, body.clone());
    forbidden.absent_from_debug("Admission", &admission);
    let (event, ticket) = processed(admission);
    forbidden.absent_from_debug("Event", &event);
    forbidden.absent_from_debug("AsixtoEnvelope", event.envelope());
    forbidden.absent_from_debug("Ticket", &ticket);
    let settled = block_on(receiver.settle(ticket, 200));
    forbidden.absent_from_debug("Answer", &settled.answer);
    assert!(settled.uncommitted.is_some());
    forbidden.absent_from_debug("Settled", &settled);
    let (key, fingerprint, lease) = store.claimed();
    forbidden.absent_from_debug("Claim", &Claim::new(&key, fingerprint, lease));
    forbidden.absent_from_debug("Fingerprint", &Fingerprint::of(&body));

    let refused = builder().dedup(FakeStore::untouched()).build().unwrap();
    forbidden.absent_from_debug("Admission", &post(&refused, &Lines::new(), body));
}

// D3: what an inbox is handed is the customer's, but its `Debug` is not the place for it.
#[test]
fn debug_of_a_record() {
    use asixto_webhook_core::{BoxFuture, Inbox, Record};

    #[derive(Debug)]
    struct Prints;

    impl Inbox for Prints {
        fn accept<'a>(&'a self, record: Record<'a>) -> BoxFuture<'a, Result<Accepted, StoreError>> {
            let printed = format!("{record:?}");
            Forbidden::new(&[&signed(&known(), record.body)]).absent_from_debug("Record", &record);
            assert!(printed.contains(ID) && printed.contains(TYPE), "{printed}");
            Box::pin(std::future::ready(Ok(Accepted::Stored)))
        }
    }

    let receiver = builder().inbox(Prints).build().unwrap();
    assert_eq!(answered(deliver(&receiver, envelope(ID))).outcome(), Outcome::Stored);
}

// D3: errors, in words and in `Debug`.
#[test]
fn errors_show_nothing() {
    let body = envelope(ID);
    let headers = signed(&known(), &body);
    let forbidden = Forbidden::new(&[&headers]);
    let mut errors: Vec<(&str, String)> = Vec::new();
    let mut note = |what, words: String, debug: &dyn Debug| errors.push((what, format!("{words} {debug:?}")));

    let quoted = format!("\"{SECRET}\"");
    for (label, issued) in [("x", quoted.as_str()), ("x", &SECRET[6..]), (SECRET, SECRET), ("", SECRET)] {
        let error = Secret::new(label, issued).unwrap_err();
        note("SecretError", error.to_string(), &error);
    }
    let twice = SecretSet::new([Secret::new("a", SECRET).unwrap(), Secret::new("b", SECRET).unwrap()]).unwrap_err();
    note("SecretError", twice.to_string(), &twice);

    let verify = |lines: &Lines, secrets: SecretSet, now: u64| {
        Verifier::new(secrets).verify(lines, body.as_bytes(), UnixTime::from_secs(now)).unwrap_err()
    };
    let [line] = &headers[..] else { panic!("one header") };
    let spoilt = vec![(line.0.clone(), line.1.replace("t=", "T="))];
    for error in [
        verify(&Lines::new(), known(), NOW),
        verify(&[headers.clone(), headers.clone()].concat(), known(), NOW),
        verify(&spoilt, known(), NOW),
        verify(&headers, secrets("other", NEW_SECRET), NOW),
        verify(&headers, known(), NOW + 301),
    ] {
        note("VerifyError", error.to_string(), &error);
    }
    let fault = Asixto.signed(Headers::new(&spoilt)).unwrap_err();
    assert!(matches!(fault, HeaderFault::Malformed(_)));
    note("HeaderFault", fault.to_string(), &fault);

    for wrong in [
        body.replace("\"id\"", "\"di\""),
        body.replace(&format!("\"{ID}\""), &format!("[\"{MARKER}\"]")),
        body.replace("\"live\"", &format!("\"{MARKER}\"")),
        body.replace("1787923100", &format!("\"{MARKER}\"")),
        body.replace("{\"id\"", &format!("{{\"{MARKER}\":1,\"{MARKER}\":2,\"id\"")),
        format!("\"{MARKER}\""),
        format!("{MARKER}{body}"),
    ] {
        let fault = testing::event(wrong).unwrap_err();
        note("EnvelopeFault", fault.to_string(), &fault);
    }
    for wrong in [r#"{"job_id":["customer-confidential-8c1f"]}"#, r#""customer-confidential-8c1f""#, "{}"] {
        let data = body.find("\"data\":").unwrap();
        let error = testing::event(format!("{}\"data\":{wrong}}}", &body[..data])).unwrap().data().unwrap_err();
        note("DataError", error.to_string(), &error);
    }
    let error = lookup_error();
    note("Unavailable", error.to_string(), &error);
    for error in [StoreError::full(), StoreError::timed_out(), StoreError::unavailable("connection refused")] {
        note("StoreError", error.to_string(), &error);
    }

    assert_eq!(errors.len(), 25);
    for (what, said) in errors {
        forbidden.absent_from(what, &said);
    }
}

/// What a look-up says whose row holds a secret that is none.
fn lookup_error() -> Unavailable {
    let source = lookup::<Asixto, _, _>(|_| async { Ok(Some(SecretSet::from_issued([format!("{SECRET} ")])?)) });
    block_on(asixto_webhook_core::SecretSource::secrets(&source, "acme")).unwrap_err()
}

// K, K10: each outcome is logged once, with its code, its status and a level by which somebody is woken or not.
#[test]
fn one_line_a_delivery() {
    for outcome in Outcome::ALL {
        let (answer, lines) = captured(|| play(outcome, |builder| builder));
        // A handler that is slow goes on, and ends in a line of its own.
        let line = delivery_line(&lines);
        assert_eq!(line.field("outcome"), Some(outcome.code()));
        assert_eq!(line.field("status"), Some(&*answer.status().to_string()), "{outcome}");
        assert_eq!(line.field("provider"), Some("asixto"), "{outcome}");
        assert_eq!(line.target, "asixto_webhook");
        let level = match outcome {
            Outcome::Processed | Outcome::Stored | Outcome::Duplicate | Outcome::InFlight => Level::INFO,
            Outcome::Conflict | Outcome::StoreUnavailable | Outcome::NoSecret | Outcome::HandlerFailed => Level::ERROR,
            _ => Level::WARN,
        };
        assert_eq!(line.level, level, "{outcome}");
    }
}

/// Whether the MAC had been found to hold when a delivery came to this end.
fn verified(outcome: Outcome) -> bool {
    !matches!(
        outcome,
        Outcome::MethodNotAllowed
            | Outcome::BodyTooLarge
            | Outcome::BodyTimeout
            | Outcome::BodyAborted
            | Outcome::MissingHeader
            | Outcome::RepeatedHeader
            | Outcome::MalformedHeader
            | Outcome::NoSecret
            | Outcome::SignatureMismatch
    )
}

// K10: id and type of every delivery, under a name that says whether a signature vouches for them.
#[test]
fn which_delivery_it_was() {
    for outcome in Outcome::ALL {
        let (_, lines) = captured(|| play(outcome, |builder| builder));
        let line = delivery_line(&lines);
        let fields = ["event_id", "event_type", "unverified_id", "unverified_type"].map(|name| line.field(name));
        let expected =
            if verified(outcome) { [Some(ID), Some(TYPE), None, None] } else { [None, None, Some(ID), Some(TYPE)] };
        assert_eq!(fields, expected, "{outcome}");
    }
}

// K10: a body that is handed over whole and is too large is a delivery like any other.
#[test]
fn which_delivery_was_too_large() {
    let receiver = builder().dedup(FakeStore::untouched()).build().unwrap();
    let body = common::padded(&envelope(ID), 263_169);
    let (answer, lines) = captured(|| answered(post(&receiver, &Lines::new(), body)));
    assert_eq!(answer.outcome(), Outcome::BodyTooLarge);
    assert_eq!(delivery_line(&lines).field("unverified_id"), Some(ID));
    assert_eq!(delivery_line(&lines).field("unverified_type"), Some(TYPE));
}

// K10: on a best-effort basis, as far as the body goes.
#[test]
fn what_can_be_read_of_a_body_that_broke_off() {
    for (body, id, event_type) in [
        ("", None, None),
        (r#"{"id":"evt_1""#, Some("evt_1"), None),
        (r#"{"id":"evt_1","type":"job.exp"#, Some("evt_1"), None),
        (r#"{"type":"job.expired","data":{"id":"inner"},"id":"evt_1","#, Some("evt_1"), Some("job.expired")),
        (r#"{"id":7,"type":"job.expired""#, None, Some("job.expired")),
        (r#"{"data":{"id":"inner","type":"inner"}}"#, None, None),
        (r#"[{"id":"evt_1","type":"job.expired"}]"#, None, None),
        (r#"{"\u0069d":"\u0065vt_1","type":null}"#, Some("evt_1"), None),
    ] {
        let receiver = builder().dedup(FakeStore::untouched()).build().unwrap();
        let fault = asixto_webhook_core::BodyFault::Aborted;
        let (_, lines) = captured(|| receiver.broken_body(&Lines::new(), body.as_bytes(), fault));
        let line = delivery_line(&lines);
        assert_eq!((line.field("unverified_id"), line.field("unverified_type")), (id, event_type), "{body}");
    }
}

// K10: cut to 255 characters, then escaped: a sender writes no lines of its own into a log.
#[test]
fn ids_are_cut_and_escaped() {
    let long = "ñ\n".repeat(1000);
    for (sent, logged) in [
        ("a\nwebhook delivery outcome=processed", r"a\nwebhook delivery outcome=processed".to_owned()),
        ("a\r\u{1b}[2J\0b", r"a\r\u{1b}[2J\0b".to_owned()),
        ("a\u{202e}b\u{2066}\u{200b}\u{feff}", r"a\u{202e}b\u{2066}\u{200b}\u{feff}".to_owned()),
        ("a\u{2028}\u{85}b", r"a\u{2028}\u{85}b".to_owned()),
        (r#"a"b\c"#, r#"a\"b\\c"#.to_owned()),
        ("ñ🦀", "ñ🦀".to_owned()),
        (&long, r"ñ\n".repeat(127) + "ñ"),
    ] {
        let json = serde_json::to_string(sent).unwrap();
        let body = envelope("ID").replace("\"ID\"", &json).replace(&format!("\"{TYPE}\""), &json);

        let receiver = builder().dedup(FakeStore::fresh().commit(Says::This(Held::Yes))).build().unwrap();
        let (_, lines) = captured(|| {
            let (event, ticket) = processed(deliver(&receiver, body.clone()));
            assert_eq!((event.id(), event.event_type()), (sent, sent));
            block_on(receiver.settle(ticket, 200)).answer
        });
        let line = delivery_line(&lines);
        assert_eq!((line.field("event_id"), line.field("event_type")), (Some(&*logged), Some(&*logged)));
        // Nor in any other line about it.
        for line in &lines {
            assert!(line.fields.values().all(|value| !value.contains(|char: char| char.is_control())), "{line:?}");
        }

        let (_, lines) = captured(|| answered(post(&receiver, &Lines::new(), body)));
        let line = delivery_line(&lines);
        let fields = (line.field("unverified_id"), line.field("unverified_type"));
        assert_eq!(fields, (Some(&*logged), Some(&*logged)));
    }
}

// K10: a tenant's name can come from a URL, which a sender chooses.
#[test]
fn scopes_are_cut_and_escaped() {
    let receiver = builder().dedup(FakeStore::untouched()).build().unwrap();
    let scope = "acme\n\u{1b}".to_owned() + &"x".repeat(1000);
    let lines = Lines::new();
    let (_, logged) = captured(|| {
        answered(block_on(receiver.admit(Delivery::new("POST", &lines, Bytes::from(envelope(ID))).scope(&scope))))
    });
    let expected = r"acme\n\u{1b}".to_owned() + &"x".repeat(249);
    assert_eq!(delivery_line(&logged).field("scope"), Some(&*expected));
}

// K10: what is genuine is said to be, even where it is no envelope.
#[test]
fn an_invalid_envelope_is_verified_all_the_same() {
    let receiver = builder().dedup(FakeStore::untouched()).build().unwrap();
    for (body, id) in [(r#"{"id":"evt_1"}"#, "evt_1"), ("not JSON", "")] {
        let (_, lines) = captured(|| answered(deliver(&receiver, body)));
        let line = delivery_line(&lines);
        assert_eq!(line.field("outcome"), Some("invalid_envelope"));
        assert_eq!(line.field("event_id").unwrap_or_default(), id);
        assert_eq!((line.field("unverified_id"), line.field("unverified_type")), (None, None));
        assert_eq!(line.field("secret"), Some("current"));
    }
}

// D1: the log says which secret matched, so that an old one is seen to be out of use.
#[test]
fn the_label_is_logged() {
    for outcome in Outcome::ALL {
        let (_, lines) = captured(|| play(outcome, |builder| builder));
        let label = verified(outcome).then_some("current");
        assert_eq!(delivery_line(&lines).field("secret"), label, "{outcome}");
    }
}

// C2: the log of a stale delivery says by how much, in either direction.
#[test]
fn the_skew_is_logged() {
    for (at, skew) in [(NOW - 301, "301"), (NOW + 86_400, "-86400")] {
        let receiver = builder().dedup(FakeStore::untouched()).build().unwrap();
        let body = envelope(ID);
        let (_, lines) = captured(|| answered(post(&receiver, &signed_at(&known(), at, &body), body)));
        assert_eq!(delivery_line(&lines).field("skew_seconds"), Some(skew));
    }
}

// K10: which of the scenes' doubles answers is no matter of the log: an inbox and a store log alike.
#[test]
fn an_inbox_logs_like_a_store() {
    let line = |lines: Vec<Line>| {
        let line = delivery_line(&lines).clone();
        (line.level, line.fields)
    };
    let store = builder().dedup(FakeStore::default().claim(Says::This(Found::Done))).build().unwrap();
    let inbox = builder().inbox(FakeInbox::new(Says::This(Accepted::Duplicate))).build().unwrap();
    let log = |receiver: &Receiver| line(captured(|| answered(deliver(receiver, envelope(ID)))).1);
    assert_eq!(log(&store), log(&inbox));
}

// K10: nobody who waits is logged as a delivery twice.
#[test]
fn a_slow_delivery_is_logged_when_it_is_slow_and_when_it_ends() {
    let store = FakeStore::fresh().commit(Says::This(Held::Yes));
    let receiver = builder().dedup(store).lease(Duration::from_secs(60)).build().unwrap();
    let (_, lines) = captured(|| {
        let (event, ticket) = processed(deliver(&receiver, envelope(ID)));
        _ = receiver.slow(&event);
        block_on(receiver.settle(ticket, 200)).answer
    });
    let outcomes: Vec<_> = lines.iter().filter(|line| line.is_delivery()).map(|line| line.field("outcome")).collect();
    assert_eq!(outcomes, [Some("handler_slow"), Some("processed")]);
}

// K: a source that fails is logged with its cause.
#[test]
fn an_unavailable_source_is_logged_without_its_scope_s_secrets() {
    let headers = scene_headers();
    let source = FakeSource::new(Says::Hangs);
    let receiver = builder().secrets(source).dedup(FakeStore::untouched()).build().unwrap();
    let receiver = receiver.with_timer(Arc::new(FakeTimer::default()));
    let (_, lines) = captured(|| answered(deliver(&receiver, envelope(ID))));
    assert!(delivery_line(&lines).field("reason").is_some());
    Forbidden::new(&headers.each_ref()).absent_from("the log", &text(&lines));
}
