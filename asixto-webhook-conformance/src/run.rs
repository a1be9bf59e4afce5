//! Runs probes against a receiver, and says what came back.

use core::fmt;
use std::net::SocketAddr;

use asixto_webhook_core::Outcome;
use tokio::task::JoinSet;

use crate::{
    ExchangeError, Request, Response,
    corpus::PATIENCE,
    http1, http2,
    kit::Kit,
    probe::{Expect, Probe, Step},
};

/// Where the receiver is, and how it is spoken to.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Target {
    /// Its address.
    pub address: SocketAddr,
    /// The version of HTTP.
    pub version: Version,
    /// A path that answers like `GET /events` of the examples: what the handler ran for, and how often.
    pub observe: Option<String>,
}

impl Target {
    /// A receiver that is not observed.
    #[must_use]
    pub const fn new(address: SocketAddr, version: Version) -> Self {
        Self { address, version, observe: None }
    }

    /// With a path that tells what the handler ran for.
    #[must_use]
    pub fn observed_at(mut self, path: impl Into<String>) -> Self {
        self.observe = Some(path.into());
        self
    }
}

/// A version of HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Version {
    /// HTTP/1.1, byte by byte.
    Http1,
    /// HTTP/2 with prior knowledge.
    Http2,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Http1 => "HTTP/1.1",
            Self::Http2 => "HTTP/2",
        })
    }
}

/// What became of one probe.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Finding {
    /// The probe.
    pub probe: Probe,
    /// What had to come back, step by step.
    pub expected: String,
    /// What came back.
    pub got: String,
}

impl Finding {
    /// Whether what came back is what had to.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.expected == self.got
    }
}

/// Runs one probe. `None` where it takes more secrets than the receiver has.
pub async fn run(target: &Target, kit: &Kit, probe: &Probe) -> Option<Finding> {
    if kit.secrets().iter().len() < probe.secrets {
        return None;
    }
    let (mut expected, mut got) = (Vec::new(), Vec::new());
    for step in (probe.script)(kit) {
        match step {
            Step::Send(request, expect) => {
                let response = send(target, &request).await;
                expected.push(expect.to_string());
                got.push(seen(response, expect));
            }
            Step::HangUp(request) => {
                // The error is that it hung up.
                let _ = send(target, &request).await;
            }
            Step::Together(requests, first, rest) => {
                let others = requests.len() - 1;
                expected.push(format!("1 × {first}, {others} × {}", either(rest)));
                got.push(together(target, requests, first, rest).await);
            }
            Step::Effects(id, times) => {
                if let Some(path) = &target.observe {
                    append(&mut expected, &effects(times));
                    append(&mut got, &observed(target, path, &id).await);
                }
            }
        }
    }
    Some(Finding { probe: *probe, expected: expected.join(" → "), got: got.join(" → ") })
}

/// Sends one request.
///
/// # Errors
/// Where no response came.
pub async fn send(target: &Target, request: &Request) -> Result<Response, ExchangeError> {
    match target.version {
        Version::Http1 => http1::send(target.address, request, PATIENCE).await,
        Version::Http2 => http2::send(target.address, request, PATIENCE).await,
    }
}

/// What a response says: its status, and its outcome where the receiver tells it.
fn seen(response: Result<Response, ExchangeError>, expect: Expect) -> String {
    let response = match response {
        Ok(response) => response,
        Err(error) => return error.to_string(),
    };
    // A receiver without diagnostics is believed to mean what its status fits.
    let code = response.header(Outcome::HEADER).unwrap_or(expect.outcome.code());
    let mut text = format!("{} {code}", response.status);
    if let Some((name, value)) = expect.header {
        let found = response.header(name);
        if found.is_none() || value.is_some() && found != value {
            text += &format!(" with {name}: {}", found.unwrap_or("none"));
        }
    }
    let refused = !(200..300).contains(&response.status);
    if refused && !response.body.is_empty() {
        text += " with a body that tells why";
    }
    text
}

async fn together(target: &Target, requests: Vec<Request>, first: Expect, rest: &[Outcome]) -> String {
    let mut sending = JoinSet::new();
    match target.version {
        Version::Http1 => {
            for request in requests {
                let target = target.clone();
                sending.spawn(async move { vec![send(&target, &request).await] });
            }
        }
        Version::Http2 => {
            let address = target.address;
            sending.spawn(async move { http2::together(address, &requests, PATIENCE).await });
        }
    }
    let responses: Vec<_> = sending.join_all().await.into_iter().flatten().collect();
    let (mut firsts, mut others, mut strange) = (0, 0, Vec::new());
    for response in responses {
        let is = |outcome: Outcome, response: &Response| {
            response.status == outcome.status()
                && response.header(Outcome::HEADER).is_none_or(|code| code == outcome.code())
        };
        match &response {
            Ok(response) if is(first.outcome, response) && firsts == 0 => firsts += 1,
            Ok(response) if rest.iter().any(|outcome| is(*outcome, response)) => others += 1,
            _ => strange.push(seen(response, first)),
        }
    }
    let mut text = format!("{firsts} × {first}, {others} × {}", either(rest));
    if !strange.is_empty() {
        text += &format!(", and {}", strange.join(", "));
    }
    text
}

/// Says of the last step what came of it.
fn append(steps: &mut [String], what: &str) {
    if let Some(step) = steps.last_mut() {
        *step += what;
    }
}

fn either(outcomes: &[Outcome]) -> String {
    outcomes.iter().map(|outcome| outcome.code()).collect::<Vec<_>>().join(" or ")
}

fn effects(times: u32) -> String {
    format!(", run {times}×")
}

async fn observed(target: &Target, path: &str, id: &str) -> String {
    let response = match send(target, &Request::post(path).method("GET").without_length()).await {
        Ok(response) => response,
        Err(error) => return format!(", {error}"),
    };
    let Ok(events) = serde_json::from_slice::<Vec<serde_json::Value>>(&response.body) else {
        return format!(", expected a list of events, found {} bytes of something else", response.body.len());
    };
    let entry = events.iter().find(|event| event.get("id").and_then(|found| found.as_str()) == Some(id));
    match entry.map(|event| event.get("times").and_then(serde_json::Value::as_u64)) {
        None => effects(0),
        Some(Some(times)) => format!(", run {times}×"),
        Some(None) => ", an entry without `times`".to_owned(),
    }
}
