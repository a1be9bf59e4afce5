//! Does every case of the signature corpus come out as it says, whichever way the body is taken?
#![cfg(test)]

mod common;

use asixto_webhook_core::{HeaderFault, Secret, SecretSet, UnixTime, Verified, Verifier, VerifyError};
use base64::{Engine, prelude::BASE64_STANDARD};
use common::Random;
use serde_json::Value;

const CASES: usize = 102;

struct Case {
    title: String,
    lines: Vec<(&'static str, Vec<u8>)>,
    body: Vec<u8>,
    secrets: Vec<String>,
    now: UnixTime,
    expect: String,
    matched: Option<usize>,
}

fn cases() -> Vec<Case> {
    let corpus: Value = serde_json::from_str(include_str!("data/signature.json")).unwrap();
    let cases = corpus["cases"].as_array().unwrap();
    cases.iter().enumerate().map(|(index, case)| Case::read(index, case)).collect()
}

impl Case {
    fn read(index: usize, case: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let bytes = |value: &Value| BASE64_STANDARD.decode(value.as_str().unwrap()).unwrap();
        let body = match &case["body_fill"] {
            Value::Null => bytes(&case["body_b64"]),
            fill => text(&fill[0]).repeat(usize::try_from(fill[1].as_u64().unwrap()).unwrap()).into_bytes(),
        };
        // B6: a line is a line in any casing.
        let names = ["Asixto-Signature", "asixto-signature", "ASIXTO-SIGNATURE"];
        let lines = case["header_lines_b64"].as_array().unwrap().iter().map(bytes);
        Self {
            title: format!("case {index}, {} ({})", text(&case["name"]), text(&case["clause"])),
            lines: names.into_iter().cycle().skip(index).zip(lines).collect(),
            body,
            secrets: case["secrets"].as_array().unwrap().iter().map(text).collect(),
            now: UnixTime::from_secs(case["now"].as_u64().unwrap()),
            expect: text(&case["expect"]),
            matched: case["matched_secret"].as_u64().map(|place| usize::try_from(place).unwrap()),
        }
    }

    /// The secrets at these places, each labelled by its own.
    fn verifier(&self, places: impl IntoIterator<Item = usize>) -> Verifier {
        let secret = |place: usize| Secret::new(&place.to_string(), &self.secrets[place]).unwrap();
        Verifier::new(SecretSet::new(places.into_iter().map(secret)).unwrap())
    }

    fn at_once(&self, verifier: &Verifier) -> Result<Verified, VerifyError> {
        verifier.verify(&self.lines, &self.body, self.now)
    }

    fn in_chunks(&self, verifier: &Verifier, seed: u64) -> Result<Verified, VerifyError> {
        let mut random = Random(seed);
        let mut check = verifier.begin(&self.lines)?;
        let mut rest = &self.body[..];
        while !rest.is_empty() {
            // Short ones mostly, empty ones too: a block of SHA-256 is 64 bytes.
            let most = if rest.len() > 4096 { 4096 } else { 130 };
            let (chunk, after) = rest.split_at(random.below(most).min(rest.len()));
            check.update(chunk);
            rest = after;
        }
        check.finish(self.now)
    }

    /// The verdict of a receiver whose clock shows the time of signing.
    fn at_its_own_time(&self, verifier: &Verifier) -> Result<Verified, VerifyError> {
        let Err(VerifyError::OutsideWindow { skew_seconds }) = self.at_once(verifier) else {
            panic!("{}: inside the window", self.title)
        };
        let signed = i128::from(self.now.as_secs()) - i128::from(skew_seconds);
        // A time past 64 bits is as good as the last one that can be written.
        let signed = if skew_seconds == -i64::MAX { u64::MAX } else { u64::try_from(signed).unwrap() };
        verifier.verify(&self.lines, &self.body, UnixTime::from_secs(signed))
    }

    /// What is wrong with `result`, if anything is.
    fn complaint(&self, way: &str, result: Result<Verified, VerifyError>, label: Option<usize>) -> Option<String> {
        let outcome = match &result {
            Ok(_) => "accept",
            Err(VerifyError::Header(HeaderFault::Missing)) => "missing",
            Err(VerifyError::Header(HeaderFault::Repeated)) => "repeated",
            Err(VerifyError::Header(HeaderFault::Malformed(_))) => "malformed",
            Err(VerifyError::SignatureMismatch) => "mismatch",
            Err(VerifyError::OutsideWindow { .. }) => "outside_window",
            Err(_) => "unknown to this test",
        };
        let label = label.map(|place| place.to_string());
        let matched = result.as_ref().ok().map(Verified::secret);
        let right = outcome == self.expect && (result.is_err() || matched == label.as_deref());
        (!right).then(|| format!("{}: {way}: expected {} by {label:?}, found {result:?}", self.title, self.expect))
    }
}

#[test]
fn the_corpus_is_complete() {
    assert_eq!(cases().len(), CASES);
}

#[test]
fn every_case_holds() {
    let mut complaints = Vec::new();
    let mut held = 0;
    for case in cases() {
        let before = complaints.len();
        let places = || 0..case.secrets.len();

        let verifier = case.verifier(places());
        complaints.extend(case.complaint("at once", case.at_once(&verifier), case.matched));
        for seed in 0..8 {
            let way = format!("in chunks, seed {seed}");
            complaints.extend(case.complaint(&way, case.in_chunks(&verifier, seed), case.matched));
        }

        // D1: the order of the secrets decides nothing but which of two matches is reported.
        let backwards = case.verifier(places().rev());
        let alone = |place: &usize| case.at_once(&case.verifier([*place])).is_ok();
        let last = places().rev().find(alone);
        complaints.extend(case.complaint("at once, other order", case.at_once(&backwards), last));
        complaints.extend(case.complaint("in chunks, other order", case.in_chunks(&backwards, 8), last));

        // C2: what is outside the window is genuine all the same.
        if case.expect == "outside_window" {
            let in_time = case.at_its_own_time(&verifier).map(|verified| verified.secret().to_owned());
            if in_time != Ok(case.matched.unwrap().to_string()) {
                complaints.push(format!("{}: not genuine: {in_time:?}", case.title));
            }
        }
        held += usize::from(complaints.len() == before);
    }
    assert!(complaints.is_empty(), "{} complaints:\n{}", complaints.len(), complaints.join("\n"));
    assert_eq!(held, CASES);
}
