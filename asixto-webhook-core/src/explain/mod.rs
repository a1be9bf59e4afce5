//! Why does a signature not match? Behind the feature `explain`.
//!
//! Hand in a delivery as it arrived, and the secrets as you have them: newline, quotes and all. The delivery is verified
//! as a receiver does it. Where that fails, every header, secret and body is read in the other ways that are known to
//! happen, two of them at once at most, until a MAC matches: what was assumed then is *proven*. What no MAC can show, such
//! as a body that was cut, is *suspected* at best, and only where nothing is proven.
//!
//! ```
//! use asixto_webhook_core::{Asixto, SecretSet, UnixTime, explain::Case, sign};
//!
//! let now = UnixTime::from_secs(1_787_923_200);
//! let sent = br#"{"id": "1", "type": "job.failed"}"#;
//! let header = sign(&SecretSet::from_issued(["whsec_Zm9vYmFyYmF6cXV4"])?, now, sent);
//!
//! // What a test of yours has at hand: the headers, the body that your handler saw, and the secret from a file.
//! let diagnosis = Case::new(Asixto, now)
//!     .header("Asixto-Signature", &header)
//!     .body(br#"{"id":"1","type":"job.failed"}"#)
//!     .secret("from the file", "whsec_Zm9vYmFyYmF6cXV4\n")
//!     .diagnose();
//!
//! assert!(!diagnosis.is_healthy(), "{diagnosis}");
//! let codes: Vec<_> = diagnosis.causes().iter().map(|cause| cause.code()).collect();
//! assert_eq!(codes, ["secret_padded", "body_reserialised"]);
//! # Ok::<(), asixto_webhook_core::SecretSetError>(())
//! ```
//!
//! A MAC shows how two keys relate, and not who erred: where it may be either side, the fix says so.
//!
//! A diagnosis shows no secret, no MAC and nothing of the body. It costs at most [`MOST_MACS`] MACs, and is for tests and
//! tools: a receiver neither needs it nor has the time. Where that, or the size of anything, left a reading untried,
//! [`Diagnosis::is_complete`] says so.
//!
//! # Every code
//!
//! Proven, where a MAC matches under exactly this:
//!
//! | | codes |
//! |---|---|
//! | the secret here | `secret_of_elsewhere`, `secret_padded`, `secret_quoted`, `secret_with_its_name`, `secret_with_a_comment`, `secret_with_bearer`, `secret_prefix_lost`, `secret_prefix_doubled`, `secret_encoded`, `secret_decoded`, `secret_several` |
//! | the secret at the signer, or again here | `signer_padded_secret`, `signer_decoded_secret`, `signer_dropped_prefix`, `signer_decoded_hex`, `signer_used_text`, `signer_had_no_secret` |
//! | the body | `body_read_otherwise`, `body_newline_lost`, `body_newline_added`, `body_bom_added`, `body_bom_lost`, `body_white_space_added`, `body_line_ends_changed`, `body_nul_padded`, `body_chunked`, `body_base64`, `body_reserialised`, `body_form_encoded`, `body_form_decoded`, `body_in_a_json_string`, `signer_encoded_twice`, `body_mistaken_charset`, `signer_signed_a_part`, `signer_signed_nothing`, `body_begins_otherwise` |
//! | the header | `header_repeated`, `header_joined`, `header_upper_case`, `header_quoted`, `header_white_space`, `header_percent_encoded`, `header_algorithm_named`, `header_renamed` |
//! | the scheme | `other_sender`, `body_signed_alone`, `signature_in_another_form`, `separator_left_out` |
//! | the time | `timestamp_not_in_seconds`, `timestamp_in_two_units`, `signed_too_long_ago`, `signed_in_the_future` |
//!
//! Suspected, by what was seen: `time_zone`, `other_senders_headers`, `header_missing`, `header_lines_repeated`, `header_malformed`,
//! `signature_cut`, `no_secret`, `secret_empty`, `secret_refused`, `body_empty`, `body_cut`, `body_decoded_lossily`,
//! `body_inflated`, `body_compressed`, `body_keys_sorted`.

mod bodies;
mod clock;
mod encodings;
mod headers;
mod json;
mod layouts;
mod report;
mod search;
mod secrets;
mod senders;
mod suspects;

use alloc::{
    format,
    string::{String, ToString},
    sync::Arc,
    vec,
    vec::Vec,
};
use core::{fmt, time::Duration};

use self::{
    headers::View,
    report::Row,
    search::{Budget, Found},
    secrets::Text,
    suspects::Facts,
};
pub use self::{
    report::{Cause, Certainty, Diagnosis, Verdict},
    search::MOST_MACS,
};
use crate::{
    headers::{HeaderFault, Headers},
    provider::{Asixto, Provider},
    secret::{self, Secret, SecretSet},
    time::UnixTime,
    verify,
};

/// A delivery to look into, with the secrets that should have signed it.
///
/// `P` is the sender that the receiver expects. See the [module](self) for an example.
pub struct Case<'a, P: Provider = Asixto> {
    provider: P,
    now: UnixTime,
    tolerance: Duration,
    lines: Vec<(&'a str, &'a [u8])>,
    body: &'a [u8],
    texts: Vec<Text<'a>>,
    readings: Vec<(&'a str, &'a [u8])>,
}

impl<'a, P: Provider> Case<'a, P> {
    /// A delivery of `provider` that came at `now`: the time of its arrival, for one that was recorded.
    #[must_use]
    pub fn new(provider: P, now: UnixTime) -> Self {
        let tolerance = P::DEFAULTS.tolerance;
        Self { provider, now, tolerance, lines: vec![], body: b"", texts: vec![], readings: vec![] }
    }

    /// With one more header line. Pass all that came: what is none of the sender's may be the cause.
    #[must_use]
    pub fn header(mut self, name: &'a str, value: &'a (impl AsRef<[u8]> + ?Sized)) -> Self {
        self.lines.push((name, value.as_ref()));
        self
    }

    /// With more header lines, a repeated one as often as it came.
    #[must_use]
    pub fn headers(mut self, lines: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> Self {
        self.lines.extend(lines);
        self
    }

    /// With the body that was, or would be, verified.
    #[must_use]
    pub fn body(mut self, body: &'a (impl AsRef<[u8]> + ?Sized)) -> Self {
        self.body = body.as_ref();
        self
    }

    /// With a secret that the receiver takes, its text exactly as it is there: nothing is refused here.
    ///
    /// The report calls it by `label`, or by its place if that shows a part of the text.
    #[must_use]
    pub fn secret(self, label: &str, text: &'a str) -> Self {
        self.text(label, text, true)
    }

    /// With a secret that the receiver does not take, such as that of another environment or a revoked one.
    #[must_use]
    pub fn elsewhere(self, label: &str, text: &'a str) -> Self {
        self.text(label, text, false)
    }

    /// With the body in another form that may have been signed, such as inflated, under a name for the report.
    #[must_use]
    pub fn reading(mut self, name: &'a str, body: &'a (impl AsRef<[u8]> + ?Sized)) -> Self {
        self.readings.push((name, body.as_ref()));
        self
    }

    /// With another tolerance than the provider's, in whole seconds.
    #[must_use]
    pub fn tolerance(mut self, tolerance: Duration) -> Self {
        self.tolerance = tolerance;
        self
    }

    /// Finds out.
    #[must_use]
    pub fn diagnose(&self) -> Diagnosis {
        let mut budget = Budget::default();
        let (verdict, causes) = self.as_it_is(&mut budget).unwrap_or_else(|fault| self.otherwise(fault, &mut budget));
        let is_complete = verdict != Verdict::Unexplained || budget.sufficed();
        Diagnosis { verdict, causes, is_complete, macs: budget.spent() }
    }

    fn text(mut self, label: &str, text: &'a str, is_valid: bool) -> Self {
        self.texts.push(Text { label: label.into(), text, is_valid });
        self
    }

    /// Verified as a receiver does it; the fault of the header, if that is why it failed.
    fn as_it_is(&self, budget: &mut Budget) -> Result<(Verdict, Vec<Cause>), Option<HeaderFault>> {
        let signed = self.provider.signed(Headers::new(&self.lines)).map_err(Some)?;
        for text in self.texts.iter().filter(|text| text.is_valid) {
            let Ok(key) = secrets::issued::<P>(text.text) else { continue };
            let secret = SecretSet::<P>::from(Secret::of_key(&key));
            let is_match = || verify::matching(&secret, &signed, self.body).is_some();
            if budget.mac(self.body.len(), is_match) == Some(true) {
                let (secret, skew_seconds) = (self.label(text), verify::skew(&signed, self.now));
                let causes = clock::causes(signed.timestamp, self.now, self.tolerance);
                let verdict = match causes.is_empty() {
                    true => Verdict::Healthy { secret, skew_seconds },
                    false => Verdict::Stale { secret, skew_seconds },
                };
                return Ok((verdict, causes));
            }
        }
        Err(None)
    }

    /// Everything else that is known to happen: proven, or at least suspected.
    fn otherwise(&self, fault: Option<HeaderFault>, budget: &mut Budget) -> (Verdict, Vec<Cause>) {
        let view = View::new(senders::names(&self.provider), &self.lines, budget);
        let schemes = senders::schemes(&self.provider, &view, &self.lines);
        let schemes: Vec<_> = schemes.iter().map(|scheme| &**scheme).collect();
        let offers = headers::offers(&view, &schemes, budget);
        let keys = secrets::keys::<P>(&self.shown_texts(), &schemes, budget);
        let bodies = bodies::readings(self.body, &self.readings, budget);
        let times = |at| clock::causes(at, self.now, self.tolerance);
        if let Some(found) = search::search(&offers, &keys, &bodies, |at| !times(at).is_empty(), budget) {
            let times = found.offer.timestamp.map(times);
            return (Verdict::Explained, [proven(&found), times.unwrap_or_default()].concat());
        }
        let facts = Facts {
            view: &view,
            lines: &self.lines,
            fault,
            rivals: schemes.get(1..).unwrap_or_default(),
            body: self.body,
            has_readings: !self.readings.is_empty(),
            texts: &self.shown_texts(),
            refusal: |text| secrets::issued::<P>(text).err(),
        };
        (Verdict::Unexplained, suspects::causes(&facts))
    }

    fn shown_texts(&self) -> Vec<Text<'a>> {
        self.texts.iter().map(|text| Text { label: self.label(text), ..*text }).collect()
    }

    /// The label, or the place where that gives away a part of any text.
    fn label(&self, text: &Text<'_>) -> Arc<str> {
        let gives_away = |other: &Text<'_>| !other.text.is_empty() && secret::shows(&text.label, other.text);
        if self.texts.iter().any(gives_away) {
            let place = self.texts.iter().position(|other| other.label == text.label).unwrap_or_default();
            (place + 1).to_string().into()
        } else {
            Arc::clone(&text.label)
        }
    }
}

/// Without the texts, the header values and the bodies.
impl<P: Provider> fmt::Debug for Case<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let labels: Vec<_> = self.texts.iter().map(|text| self.label(text)).collect();
        f.debug_struct("Case").field("provider", &self.provider).field("secrets", &labels).finish_non_exhaustive()
    }
}

/// Every code that a [`Cause`] can have.
pub fn codes() -> impl Iterator<Item = &'static str> {
    let singles = [
        &secrets::ELSEWHERE,
        &bodies::GIVEN,
        &bodies::BEGINS_OTHERWISE,
        &headers::OTHER_SENDER,
        &layouts::TWO_UNITS,
        &clock::NOT_IN_SECONDS,
        &clock::TOO_OLD,
        &clock::IN_THE_FUTURE,
        &clock::TIME_ZONE,
    ];
    rows(secrets::ROWS)
        .chain(rows(bodies::ROWS))
        .chain(rows(headers::REWRITES))
        .chain(rows(&layouts::ROWS))
        .chain(rows(suspects::ROWS))
        .chain(singles)
        .map(|row| row.code)
}

fn rows<T>(table: &'static [(Row, T)]) -> impl Iterator<Item = &'static Row> {
    table.iter().map(|(row, _)| row)
}

/// What a match had to assume, in sentences.
fn proven(found: &Found<'_>) -> Vec<Cause> {
    let key = found.key.cause.map(|row| (row, String::new()));
    let offer = found.offer.cause.as_ref().map(|(row, detail)| (*row, detail.clone()));
    let body = found.body.cause.as_ref().map(|(row, detail)| (*row, detail.to_string()));
    let beginning = found.lacks().map(|byte| (&bodies::BEGINS_OTHERWISE, char::from(byte).to_string()));
    let assumed: Vec<_> = [key, offer, body, beginning].into_iter().flatten().collect();
    assumed
        .iter()
        .map(|(row, detail)| {
            let mut evidence = format!("the signature matches under secret `{}` {}", found.key.label, row.seen(detail));
            for (other, detail) in assumed.iter().filter(|(other, _)| other.code != row.code) {
                evidence += &format!(", and {}", other.seen(detail));
            }
            Cause::of(row, Certainty::Proven, evidence)
        })
        .collect()
}
