//! Does anything that can be read, logged or answered show a secret, a MAC or the customer's data?
#![cfg(test)]
#![cfg(feature = "std")]

mod common;

use std::{fmt::Debug, sync::Arc, time::Duration};

use asixto_webhook_core::{
    Accepted, Asixto, Bytes, Claim, Delivery, Fingerprint, HeaderFault, Headers, Held, Outcome, Provider,
    RotatingSecrets, Secret, SecretSet, StoreError, Unavailable, UnixTime, Verifier, lookup, provider::Message,
    testing,
};
use common::{
    FORGED_SECRET, ID, Lines, MARKER, NEW_SECRET, NOW, SECRET, TYPE, answered, block_on, builder,
    capture::{Line, captured, delivery_line},
    deliver, envelope,
    fakes::{FakeSource, FakeStore, FakeTimer, Found, Says},
    known, post, processed,
    scenes::play,
    secrets, signed, signed_at,
};

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
            .commit(Says::This(Held::Lost))
            // Looked for after each loss.
            .claim(Says::This(Found::InFlight(Duration::from_secs(1))))
            .claim(Says::This(Found::InFlight(Duration::from_secs(1))));
        let receiver = builder().dedup(store).build().unwrap().with_timer(Arc::new(FakeTimer::default()));
        let (_, ticket) =
            processed(deliver(&receiver, envelope(ID).replace("\"data\"", "\"replay_of\":null,\"data\"")));
        for _ in 0..3 {
            block_on(receiver.renew(&ticket));
        }
        receiver.overdue(&ticket);
        _ = receiver.slow(&ticket);
        _ = receiver.interrupted("why");
        _ = receiver.stuck();
        receiver.uncommitted(&ticket);
        let settled = block_on(receiver.settle(ticket, 200));
        block_on(receiver.commit(&settled.uncommitted.unwrap())).unwrap();
    });
    assert!(lines.len() >= 11, "{lines:#?}");
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
