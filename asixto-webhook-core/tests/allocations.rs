//! Does a header or a signature cost an allocation? A sender can send any number of either.
#![cfg(test)]

mod common;

use allocation_counter::measure;
use asixto_webhook_core::{
    Asixto, Headers, Provider, Secret, SecretSet, UnixTime, Verifier, VerifyError,
    provider::{Agent, CloudEvents, StandardWebhooks, Unidentified},
};
use common::{FORGED_SECRET, Lines, NEW_SECRET, NOW, SECRET, envelope, headers_at, known, secrets, secrets_of, signed};

fn allocations(run: impl FnOnce()) -> u64 {
    measure(run).count_total
}

/// A header for `body` with this many signatures; the last one is right if any is.
fn header(body: &str, candidates: usize, genuine: bool) -> Lines {
    let forged = format!(",v1={}", "0a".repeat(32));
    let signer = if genuine { known() } else { secrets("forged", FORGED_SECRET) };
    let mut lines = signed(&signer, body);
    let place = lines[0].1.find(',').unwrap();
    lines[0].1.insert_str(place, &forged.repeat(candidates - 1));
    assert_eq!(lines[0].1.matches("v1=").count(), candidates);
    lines
}

fn three() -> SecretSet {
    let others = [("next", NEW_SECRET), ("older", "whsec_older"), ("current", SECRET)];
    SecretSet::new(others.map(|(label, issued)| Secret::new(label, issued).unwrap())).unwrap()
}

// The counter itself: what allocates is seen.
#[test]
fn an_allocation_is_counted() {
    assert_eq!(allocations(|| drop(std::hint::black_box(vec![1_u8]))), 1);
}

// B8
#[test]
fn a_header_is_parsed_in_place() {
    let repeated = [header("{}", 1, true), header("{}", 1, true)].concat();
    let malformed = vec![("asixto-signature".to_owned(), "t=0".to_owned() + &",v1=".repeat(1000))];
    for (lines, accepted) in [
        (header("{}", 1, true), true),
        (header("{}", 100, true), true),
        (repeated, false),
        (malformed, false),
        (Lines::new(), false),
    ] {
        let mut result = None;
        assert_eq!(allocations(|| result = Some(Asixto.signed(Headers::new(&lines)).is_ok())), 0);
        assert_eq!(result, Some(accepted));
    }
}

// B5, D1: for one secret and for three, for one signature and for a hundred, accepted or refused.
#[test]
fn a_signature_is_verified_in_place() {
    let body = envelope("evt_1").repeat(50);
    for secrets in [known(), three()] {
        let verifier = Verifier::new(secrets);
        for candidates in [1, 100] {
            for (genuine, now) in [(true, NOW), (true, NOW + 301), (false, NOW)] {
                let lines = header(&body, candidates, genuine);
                let mut result = None;
                let verify = || result = Some(verifier.verify(&lines, body.as_bytes(), UnixTime::from_secs(now)));
                assert_eq!(allocations(verify), 0, "{candidates} signatures");
                match result.unwrap() {
                    Ok(verified) => assert_eq!((verified.secret(), genuine, now), ("current", true, NOW)),
                    Err(VerifyError::OutsideWindow { .. }) => assert_eq!((genuine, now), (true, NOW + 301)),
                    Err(error) => assert_eq!((error, genuine), (VerifyError::SignatureMismatch, false)),
                }
            }
        }
    }
}

// L10, M2, N2, D1: nor does any other provider cost one, whatever it is sent.
#[test]
fn every_provider_verifies_in_place() {
    fn check<P: Provider>(provider: P, issued: &str) {
        let secrets = secrets_of("current", issued);
        let good = headers_at(&provider, &secrets, NOW, "msg_1", "{}");
        let verifier = Verifier::of(provider, secrets);
        let mut cases =
            vec![(good.clone(), Some(true)), (Lines::new(), Some(false)), ([&good[..], &good].concat(), Some(false))];
        for place in 0..good.len() {
            let mut malformed = good.clone();
            malformed[place].1.push('\u{7f}');
            let mut many = good.clone();
            many[place].1 = format!("{} ", good[place].1).repeat(100);
            cases.extend([(malformed, Some(false)), (many, None)]);
        }
        for (lines, accepted) in cases {
            let mut result = None;
            let verify = || result = Some(verifier.verify(&lines, b"{}", UnixTime::from_secs(NOW)).is_ok());
            assert_eq!(allocations(verify), 0, "{}", P::NAME);
            assert!(accepted.is_none() || accepted == result, "{}: {lines:?}", P::NAME);
            // In chunks: the list of the MACs under way, once the header is read.
            let list = u64::from(verifier.begin(&lines).is_ok());
            let mut in_chunks = None;
            let verify = || {
                let finished = verifier.begin(&lines).and_then(|mut check| {
                    b"{}".chunks(1).for_each(|chunk| check.update(chunk));
                    check.finish(UnixTime::from_secs(NOW))
                });
                in_chunks = Some(finished.is_ok());
            };
            assert_eq!(allocations(verify), list, "{}", P::NAME);
            assert_eq!(in_chunks, result);
        }
    }
    check(Asixto, SECRET);
    check(StandardWebhooks, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
    check(CloudEvents::new("Acme-Signature").unwrap(), "acme-shared-secret");
    check(Agent::new(|_| Err(Unidentified)), "partner-api-secret");
}
