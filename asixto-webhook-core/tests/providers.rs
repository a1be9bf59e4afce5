//! What holds for every provider: what it signs verifies, nothing else does, and nothing of it is shown.
#![cfg(test)]

mod common;

use asixto_webhook_core::{
    Answer, Asixto, Event, HeaderFault, Held, Outcome, Provider, RawValue, Receiver, SecretSet, Ticket, UnixTime,
    Verifier, VerifyError,
    provider::{Agent, CloudEvents, Identity, StandardWebhooks, Unidentified},
};
use common::{
    MARKER, NOW, answered, builder_of,
    capture::{captured, delivery_line},
    fakes::{FakeStore, Found, Says},
    headers_at, outcome, post, processed,
};
use pollster::block_on;
use proptest::{collection::vec, prelude::*, sample::Index, test_runner::Config};
use static_assertions::assert_impl_all;

assert_impl_all!(Event<StandardWebhooks>: Clone, Send, Sync);
assert_impl_all!(Event<CloudEvents>: Clone, Send, Sync);
assert_impl_all!(Event<Agent>: Clone, Send, Sync);
assert_impl_all!(Receiver<Agent>: Clone, Send, Sync);
assert_impl_all!(Ticket<Agent>: Send, Sync);

/// A provider, the texts of two of its secrets and of a stranger's, and an event.
struct Sample<P: Provider> {
    provider: P,
    issued: [&'static str; 3],
    body: String,
    /// What its bodies begin with, whatever follows.
    begins: &'static str,
    /// How many signatures it has room for.
    room: usize,
}

fn asixto() -> Sample<Asixto> {
    let body = format!(
        r#"{{"id":"evt_1","type":"job.expired","created":1787923100,"environment":"live","data":{{"note":"{MARKER}"}}}}"#
    );
    let issued = [common::SECRET, common::NEW_SECRET, common::FORGED_SECRET];
    Sample { provider: Asixto, issued, body, begins: "", room: 2 }
}

fn standard() -> Sample<StandardWebhooks> {
    Sample {
        provider: StandardWebhooks,
        issued: [
            "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
            "whsec_plJ3nmyCDGBKInavdOK15jsl",
            "whsec_RdvaYFYUXuIFuEbvZHwMfYFhUf7aMYjYcmM24+Aj40c=",
        ],
        body: format!(r#"{{"type":"sale.paid","data":{{"note":"{MARKER}"}}}}"#),
        begins: "",
        room: 2,
    }
}

fn cloudevents() -> Sample<CloudEvents> {
    let event = r#""specversion":"1.0","id":"evt_1","source":"/charges","type":"com.acme.charge.refunded""#;
    Sample {
        provider: CloudEvents::new("Acme-Signature").unwrap(),
        issued: ["acme-shared-secret-Vq3x", "acme-second-secret-7Lwp", "somebody-elses-secret"],
        body: format!(r#"{{{event},"trace":"{MARKER}","data":{{"note":"{MARKER}"}}}}"#),
        begins: "",
        room: 2,
    }
}

fn agent() -> Sample<Agent> {
    let identify = |body: &RawValue| {
        let body: serde_json::Value = serde_json::from_str(body.get()).map_err(|_| Unidentified)?;
        Ok(Identity::new(body["eventId"].as_str().ok_or(Unidentified)?))
    };
    Sample {
        provider: Agent::new(identify),
        issued: ["partner-api-secret-4Kq8", "partner-next-secret-T0bz", "somebody-elses-secret"],
        body: format!(r#"{{"eventId":"evt_1","note":"{MARKER}"}}"#),
        begins: "{",
        room: 1,
    }
}

/// Runs a function that is generic over the provider for each of them.
macro_rules! for_each_provider {
    ($function:ident($($argument:expr),*)) => {
        $function(&asixto(), $($argument),*);
        $function(&standard(), $($argument),*);
        $function(&cloudevents(), $($argument),*);
        $function(&agent(), $($argument),*);
    };
}

type Raw = Vec<(String, Vec<u8>)>;

impl<P: Provider> Sample<P> {
    /// The secrets at these places.
    fn secrets(&self, places: &[usize]) -> SecretSet<P> {
        SecretSet::from_issued(places.iter().map(|place| self.issued[*place])).unwrap()
    }

    fn signed(&self, places: &[usize], at: u64, id: &str, body: &[u8]) -> Raw {
        let headers = headers_at(&self.provider, &self.secrets(places), at, id, body);
        headers.into_iter().map(|(name, value)| (name, value.into_bytes())).collect()
    }

    /// Verifies at once and in chunks, which is the same.
    #[track_caller]
    fn verify(&self, places: &[usize], headers: &Raw, body: &[u8], now: u64) -> Result<String, VerifyError> {
        let (verifier, now) = (Verifier::of(self.provider.clone(), self.secrets(places)), UnixTime::from_secs(now));
        let once = verifier.verify(headers, body, now).map(|verified| verified.secret().to_owned());
        let chunked = verifier.begin(headers).and_then(|mut check| {
            body.chunks(61).for_each(|chunk| check.update(chunk));
            check.finish(now)
        });
        assert_eq!(chunked.map(|verified| verified.secret().to_owned()), once, "{}", P::NAME);
        once
    }

    fn over(&self, store: FakeStore) -> Receiver<P> {
        builder_of(&self.provider, &self.secrets(&[0])).dedup(store).build().unwrap()
    }
}

fn what_is_signed_verifies<P: Provider>(sample: &Sample<P>, body: &[u8], id: &str, at: u64) {
    let body = [sample.begins.as_bytes(), body].concat();
    let both = sample.signed(&[0, 1], at, id, &body);
    for (places, label) in
        [(&[0][..], Some("1")), (&[1], (sample.room > 1).then_some("1")), (&[2, 0], Some("2")), (&[2], None)]
    {
        let verified = sample.verify(places, &both, &body, at);
        let expected = label.map(str::to_owned).ok_or(VerifyError::SignatureMismatch);
        assert_eq!(verified, expected, "{} {places:?}", P::NAME);
    }
    // C1
    for (now, fresh) in [(at.saturating_add(300), true), (at.saturating_add(301), false)] {
        let verified = sample.verify(&[0], &both, &body, now);
        assert_eq!(verified.is_ok(), fresh || now - at <= 300, "{} {now}", P::NAME);
    }
}

fn what_is_changed_does_not<P: Provider>(sample: &Sample<P>, body: &[u8], id: &str, place: Index, bit: u8) {
    let body = [sample.begins.as_bytes(), body].concat();
    let headers = sample.signed(&[0], NOW, id, &body);
    let refused = |headers: &Raw, body: &[u8]| {
        let verified = sample.verify(&[0], headers, body, NOW);
        assert!(verified.is_err(), "{}: {headers:?} {body:?}", P::NAME);
        verified
    };
    if !body.is_empty() {
        let mut flipped = body.clone();
        flipped[place.index(body.len())] ^= 1 << bit;
        assert_eq!(refused(&headers, &flipped), Err(VerifyError::SignatureMismatch));
        assert_eq!(refused(&headers, &body[..body.len() - 1]), Err(VerifyError::SignatureMismatch));
    }
    assert_eq!(refused(&headers, &[&body[..], &[bit]].concat()), Err(VerifyError::SignatureMismatch));
    for header in 0..headers.len() {
        let mut flipped = headers.clone();
        let value = &mut flipped[header].1;
        let place = place.index(value.len());
        value[place] ^= 1 << bit;
        _ = refused(&flipped, &body);
        let mut shorter = headers.clone();
        shorter[header].1.pop();
        _ = refused(&shorter, &body);
    }
}

proptest! {
    #![proptest_config(Config { failure_persistence: None, ..Config::with_cases(64) })]

    // B1, B2, D2, L10, M2, N2: what is made with some secrets is taken by whoever has one of them, and says which.
    #[test]
    fn sign_then_verify(
        body in vec(any::<u8>(), 0..600),
        id in "[A-Za-z0-9_-]{1,60}",
        at in prop_oneof![1..1000_u64, NOW - 1000..NOW + 1000, 1..u64::MAX],
    ) {
        for_each_provider!(what_is_signed_verifies(&body, &id, at));
    }

    // B7, L10, M2, N2: any other bit, byte or length of anything is not.
    #[test]
    fn change_then_verify(
        body in vec(any::<u8>(), 0..600),
        id in "[A-Za-z0-9_-]{1,60}",
        place in any::<Index>(),
        bit in 0..8_u8,
    ) {
        for_each_provider!(what_is_changed_does_not(&body, &id, place, bit));
    }

    // B7, B8: whatever stands in the headers, nothing panics and nothing is accepted that nobody signed.
    #[test]
    fn any_headers(values in vec(prop_oneof![vec(any::<u8>(), 0..80), "[tv10-9=, a-f.]{0,80}".prop_map(String::into_bytes)], 3)) {
        for_each_provider!(nobody_signed(&values));
    }
}

fn nobody_signed<P: Provider>(sample: &Sample<P>, values: &[Vec<u8>]) {
    let names = sample.signed(&[0], NOW, "a", sample.body.as_bytes());
    let headers: Raw = names.into_iter().zip(values).map(|((name, _), value)| (name, value.clone())).collect();
    assert!(sample.verify(&[0, 1], &headers, sample.body.as_bytes(), NOW).is_err());
}

// B7, L10, M2, N2: every single bit of a whole delivery.
#[test]
fn every_bit() {
    fn flip<P: Provider>(sample: &Sample<P>) {
        let body = sample.body.as_bytes();
        let headers = sample.signed(&[0], NOW, "msg_1", body);
        assert!(sample.verify(&[0], &headers, body, NOW).is_ok());
        let verifier = Verifier::of(sample.provider.clone(), sample.secrets(&[0]));
        let verify = |headers: &Raw, body: &[u8]| verifier.verify(headers, body, UnixTime::from_secs(NOW));
        for place in 0..body.len() * 8 {
            let mut flipped = body.to_vec();
            flipped[place / 8] ^= 1 << (place % 8);
            assert_eq!(verify(&headers, &flipped), Err(VerifyError::SignatureMismatch), "{} {place}", P::NAME);
        }
        for header in 0..headers.len() {
            for place in 0..headers[header].1.len() * 8 {
                let mut flipped = headers.clone();
                flipped[header].1[place / 8] ^= 1 << (place % 8);
                assert!(verify(&flipped, body).is_err(), "{} {header} {place}", P::NAME);
            }
        }
    }
    for_each_provider!(flip());
}

// B6: each header of each provider may come once, in any casing, and is never joined.
#[test]
fn every_header_comes_once() {
    fn repeat<P: Provider>(sample: &Sample<P>) {
        let body = sample.body.as_bytes();
        let headers = sample.signed(&[0], NOW, "msg_1", body);
        for place in 0..headers.len() {
            let mut twice = headers.clone();
            let (name, value) = headers[place].clone();
            twice.push((name.to_uppercase(), value.clone()));
            let repeated = Err(VerifyError::Header(HeaderFault::Repeated));
            assert_eq!(sample.verify(&[0], &twice, body, NOW), repeated, "{} {name}", P::NAME);
            // As a proxy joins them: only a list of signatures is still what it was.
            let mut joined = headers.clone();
            joined[place].1 = [&value[..], b", ", &value].concat();
            let verified = sample.verify(&[0], &joined, body, NOW);
            assert_eq!(verified.is_ok(), name == "webhook-signature", "{} {name}", P::NAME);
            let mut missing = headers.clone();
            missing.remove(place);
            let missed = Err(VerifyError::Header(HeaderFault::Missing));
            assert_eq!(sample.verify(&[0], &missing, body, NOW), missed, "{} {name}", P::NAME);
        }
    }
    for_each_provider!(repeat());
}

// B7: a stranger's secret verifies nothing, and the store is not asked.
#[test]
fn a_strangers_secret() {
    fn refuse<P: Provider>(sample: &Sample<P>) {
        let forged = sample.signed(&[2], NOW, "msg_1", sample.body.as_bytes());
        let store = FakeStore::untouched();
        assert_eq!(outcome(post(&sample.over(store), &forged, sample.body.clone())), (Outcome::SignatureMismatch, 400));
    }
    for_each_provider!(refuse());
}

/// An answer, and what else was to be seen.
type Run = (Answer, String);

// K, D3, N9: over the outcomes of each provider neither log, answer nor `Debug` shows secret, MAC or data, and each
// line names the provider.
#[test]
fn nothing_is_shown() {
    fn look<P: Provider>(sample: &Sample<P>) {
        let body = || sample.body.clone();
        let good = sample.signed(&[0], NOW, "msg_1", sample.body.as_bytes());
        let stale = sample.signed(&[0], NOW - 301, "msg_1", sample.body.as_bytes());
        let forged = sample.signed(&[2], NOW, "msg_1", sample.body.as_bytes());
        let odd = format!("{{\"{MARKER}\":1,\"note\":\"{MARKER}\"}}");
        let odd_headers = sample.signed(&[0], NOW, "msg_1", odd.as_bytes());
        let yes = Says::This(Held::Yes);
        let claimed =
            || FakeStore::fresh().claim(Says::This(Found::Nothing)).commit(yes).commit(yes).release(yes).release(yes);
        let handled = |status: u16| {
            let receiver = sample.over(claimed());
            let (event, ticket) = processed(post(&receiver, &good, body()));
            let shown = format!("{event:?} {:?} {ticket:?} {receiver:?}", event.envelope());
            (block_on(receiver.settle(ticket, status)).answer, shown)
        };
        let refused = |headers: &Raw, body: String, store| {
            let answer = answered(post(&sample.over(store), headers, body));
            (answer, String::new())
        };
        let done = || FakeStore::default().claim(Says::This(Found::Done));
        let runs: [(Outcome, &dyn Fn() -> Run); 8] = [
            (Outcome::Processed, &|| handled(200)),
            (Outcome::HandlerFailed, &|| handled(500)),
            (Outcome::Duplicate, &|| refused(&good, body(), done())),
            (Outcome::StoreUnavailable, &|| refused(&good, body(), FakeStore::default().claim(Says::Fails))),
            (Outcome::MissingHeader, &|| refused(&Raw::new(), body(), FakeStore::untouched())),
            (Outcome::SignatureMismatch, &|| refused(&forged, body(), FakeStore::untouched())),
            (Outcome::OutsideWindow, &|| refused(&stale, body(), FakeStore::untouched())),
            (Outcome::InvalidEnvelope, &|| {
                // Standard Webhooks asks for an object and nothing else.
                let body = if P::NAME == "standard" { format!("[\"{MARKER}\"]") } else { odd.clone() };
                let headers = if P::NAME == "standard" {
                    sample.signed(&[0], NOW, "msg_1", body.as_bytes())
                } else {
                    odd_headers.clone()
                };
                refused(&headers, body, FakeStore::untouched())
            }),
        ];
        // Pieces of every secret and every MAC that are long enough to be no coincidence.
        let mut forbidden = vec![MARKER.to_owned()];
        for text in sample.issued {
            let text = text.strip_prefix("whsec_").unwrap_or(text);
            forbidden.extend((0..text.len() - 11).map(|place| text[place..place + 12].to_owned()));
        }
        for headers in [&good, &stale, &forged] {
            let signature = String::from_utf8(headers.last().unwrap().1.clone()).unwrap();
            forbidden.extend((0..20).map(|place| signature[signature.len() - 40 + place..][..20].to_owned()));
        }
        for (outcome, run) in runs {
            let ((answer, shown), lines) = captured(run);
            assert_eq!(answer.outcome(), outcome, "{}", P::NAME);
            assert_eq!(delivery_line(&lines).field("provider"), Some(P::NAME));
            let text = format!("{lines:?} {answer:?} {:?} {shown}", common::headers(&answer));
            for piece in &forbidden {
                assert!(!text.contains(piece.as_str()), "{} {outcome} shows {piece}: {text}", P::NAME);
            }
        }
    }
    for_each_provider!(look());
}

// E1: no two providers ever meet in one store.
#[test]
fn names_differ() {
    let names = [Asixto::NAME, StandardWebhooks::NAME, CloudEvents::NAME, Agent::NAME];
    assert_eq!(names, ["asixto", "standard", "cloudevents", "agent"]);
}
