//! What is verified: the cells of the table, and a signed request for each.

use std::{fmt, iter};

use asixto_webhook_core::{
    Asixto, Clock as _, SecretSet, SystemClock, UnixTime,
    provider::{Message, Provider, StandardWebhooks},
};
use base64ct::{Base64, Encoding as _};
use http::{HeaderMap, HeaderName, HeaderValue};

pub(crate) const KIB: usize = 1024;

const ID: &str = "msg_2b3c4d5e6f7a8b9c0d1e2f3a4b5c";
const SECRETS: [&str; 3] = [
    "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD",
    "whsec_plJ3nmyCDGBKInavdOK15jsl+0Bv7PZw",
];
const FORGER: &str = "whsec_tXqkKqG0R8nWQ6yE3sJvZl2mB5uH9fDc";
/// Lines that come with every request, and that a look-up has to pass by.
const OTHER_LINES: [(&str, &str); 4] = [
    ("host", "hooks.example.com"),
    ("user-agent", "Sender/1.0"),
    ("content-type", "application/json"),
    ("accept", "*/*"),
];

/// How a sender signs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scheme {
    /// `t=…,v1=<hex>` in one header, over timestamp and body.
    Timestamped,
    /// Three headers, `v1,<base64>`, over identifier, timestamp and body.
    Standard,
}

/// What a verifier should find.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The last signature is genuine, under the last secret.
    Good,
    /// No signature is genuine.
    Forged,
    /// Genuine, and too old.
    Stale,
}

/// One kind of delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cell {
    pub(crate) scheme: Scheme,
    /// Of the body, in bytes.
    pub(crate) size: usize,
    /// Signatures in the header.
    pub(crate) candidates: usize,
    /// Secrets of the receiver.
    pub(crate) secrets: usize,
    pub(crate) verdict: Verdict,
}

impl Cell {
    /// Everything that is measured, in the order of the table.
    pub(crate) fn all() -> Vec<Self> {
        let shapes = |scheme| {
            let cell = move |size, candidates, secrets, verdict| Self { scheme, size, candidates, secrets, verdict };
            let sizes = [300, KIB, 16 * KIB, 256 * KIB];
            let good = sizes
                .into_iter()
                .flat_map(move |size| [1, 2, 16, 100].map(|candidates| cell(size, candidates, 1, Verdict::Good)));
            let rotating = [2, 3].map(|secrets| cell(KIB, 2, secrets, Verdict::Good));
            let refused = [
                cell(300, 1, 1, Verdict::Forged),
                cell(KIB, 1, 1, Verdict::Forged),
                cell(KIB, 100, 1, Verdict::Forged),
                cell(16 * KIB, 2, 3, Verdict::Forged),
                cell(KIB, 1, 1, Verdict::Stale),
            ];
            good.chain(rotating).chain(refused)
        };
        shapes(Scheme::Timestamped).chain(shapes(Scheme::Standard)).collect()
    }

    /// The same delivery with one signature.
    pub(crate) fn with_one_candidate(self) -> Self {
        Self { candidates: 1, ..self }
    }
}

/// As the lines of the report name it: `timestamped.1KiB.c100.s1.good`.
impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { scheme, size, candidates, secrets, verdict } = self;
        let scheme = match scheme {
            Scheme::Timestamped => "timestamped",
            Scheme::Standard => "standard",
        };
        let verdict = match verdict {
            Verdict::Good => "good",
            Verdict::Forged => "forged",
            Verdict::Stale => "stale",
        };
        let size = if size % KIB == 0 { format!("{}KiB", size / KIB) } else { format!("{size}B") };
        write!(f, "{scheme}.{size}.c{candidates}.s{secrets}.{verdict}")
    }
}

/// A request, and what its receiver knows.
#[derive(Debug)]
pub(crate) struct Delivery {
    pub(crate) cell: Cell,
    pub(crate) lines: Vec<(String, String)>,
    pub(crate) body: String,
    /// As issued, the one that signed last.
    pub(crate) secrets: Vec<String>,
    /// The receiver's time. Some peers can only ask the operating system, so that it is the present one.
    pub(crate) now: UnixTime,
}

impl Delivery {
    /// # Errors
    /// Whatever the core says of the secrets.
    pub(crate) fn new(cell: Cell) -> Result<Self, Box<dyn std::error::Error>> {
        let secrets = SECRETS.map(str::to_owned).into_iter().take(cell.secrets).collect::<Vec<_>>();
        let signer = match (cell.verdict, secrets.last()) {
            (Verdict::Forged, _) | (_, None) => FORGER,
            (_, Some(last)) => last,
        };
        let body = body(cell.size);
        let now = UnixTime::from_secs(SystemClock.now().as_secs());
        let at = match cell.verdict {
            Verdict::Stale => UnixTime::from_secs(now.as_secs() - 3600),
            Verdict::Good | Verdict::Forged => now,
        };
        let message = Message::new(at, body.as_bytes()).with_id(ID);
        let signed = match cell.scheme {
            Scheme::Timestamped => Asixto.sign(&SecretSet::from_issued([signer])?, message),
            Scheme::Standard => StandardWebhooks.sign(&SecretSet::from_issued([signer])?, message),
        };
        let mut lines: Vec<_> = OTHER_LINES.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        lines.extend(signed.into_iter().map(|(name, value)| (name.into_owned(), value)));
        if let Some((_, value)) = lines.last_mut() {
            let at = value.find("v1").unwrap_or_default();
            value.insert_str(at, &decoys(cell));
        }
        Ok(Self { cell, lines, body, secrets, now })
    }

    /// The value of the line of this name, in lower case.
    pub(crate) fn value(&self, name: &str) -> &str {
        let line = self.lines.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
        line.map_or("", |(_, value)| value)
    }

    /// The lines as the `http` crate keeps them.
    pub(crate) fn header_map(&self) -> Result<HeaderMap, http::Error> {
        let line = |(name, value): &(String, String)| Ok((name.parse::<HeaderName>()?, value.parse::<HeaderValue>()?));
        self.lines.iter().map(line).collect()
    }
}

/// JSON of this length: a peer wants UTF-8.
fn body(size: usize) -> String {
    let head = r#"{"id":"evt_1","type":"job.succeeded","created":1787923140,"environment":"live","data":{"text":""#;
    let tail = r#""}}"#;
    let filling = iter::repeat("0123456789abcdef ").flat_map(str::chars);
    head.chars().chain(filling.take(size - head.len() - tail.len())).chain(tail.chars()).collect()
}

/// The signatures ahead of the last one: well formed, and of nobody.
fn decoys(cell: Cell) -> String {
    (1..cell.candidates)
        .map(|number| {
            let mac = [number.to_le_bytes(); 4].concat();
            match cell.scheme {
                Scheme::Timestamped => {
                    format!("v1={},", mac.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
                }
                Scheme::Standard => format!("v1,{} ", Base64::encode_string(&mac)),
            }
        })
        .collect()
}
