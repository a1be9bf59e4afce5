//! One delivery over HTTP, as a gateway makes it: no redirect followed, no proxy asked, no connection kept.

use std::{
    io::ErrorKind,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use asixto_webhook_core::{Outcome, provider::Defaults};
use rustls::crypto::ring;
use ureq::{
    Agent, Error,
    http::Uri,
    tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem},
};

use super::{Args, plan::Request};
use crate::console::{Console, Failure, shown};

const AGENT: &str = concat!("asixto-webhook/", env!("CARGO_PKG_VERSION"));

/// A receiver's address, and how to reach it.
pub(super) struct Target {
    url: Uri,
    agent: Agent,
    patience: Duration,
    /// What a receiver has to take, in bytes.
    body_limit: usize,
}

/// What came back.
pub(super) struct Answer {
    pub(super) status: Option<u16>,
    /// What a receiver with diagnostics says.
    pub(super) outcome: Option<String>,
    /// Why there is no status.
    pub(super) error: Option<String>,
    pub(super) took: Duration,
}

impl Answer {
    /// H1
    pub(super) fn is_acknowledged(&self) -> bool {
        self.status.is_some_and(|status| (200..300).contains(&status))
    }
}

impl Target {
    pub(super) fn new(args: &Args, figures: Defaults, console: &mut Console) -> Result<Self, Failure> {
        let url = url(&args.to)?;
        let patience = args.timeout.map_or(figures.patience, Duration::from_secs);
        let mut config = Agent::config_builder()
            .user_agent(AGENT)
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(None)
            .max_idle_connections(0)
            .timeout_await_100(Some(Duration::from_secs(3)))
            .timeout_global(Some(patience));
        if url.scheme_str() == Some("https") {
            let roots = match &args.ca {
                Some(path) => given(path, console)?,
                None => the_systems()?,
            };
            let tls = TlsConfig::builder()
                .unversioned_rustls_crypto_provider(Arc::new(ring::default_provider()))
                .root_certs(RootCerts::new_with_certs(&roots));
            config = config.tls_config(tls.build());
        } else if args.ca.is_some() {
            return Err(Failure::new("expected --ca with an https URL, found http"));
        }
        Ok(Self { url, agent: config.build().into(), patience, body_limit: figures.body_limit })
    }

    pub(super) fn post(&self, request: &Request) -> Answer {
        let begun = Instant::now();
        let post = self.agent.post(&self.url).content_type(request.content_type);
        let post = request.headers.iter().fold(post, |post, (name, value)| post.header(name, value));
        // A receiver may refuse it unread: the answer would be lost in the midst of sending.
        let is_oversized = request.body.len() > self.body_limit;
        let post = if is_oversized { post.header("expect", "100-continue") } else { post };
        let response = post.send(&request.body);
        let took = begun.elapsed();
        match response {
            Ok(response) => {
                let outcome = response.headers().get(Outcome::HEADER).and_then(|value| value.to_str().ok());
                // Whoever answers may write anything.
                let outcome = outcome.map(|code| code.chars().take(64).collect());
                Answer { status: Some(response.status().as_u16()), outcome, error: None, took }
            }
            Err(error) => Answer { status: None, outcome: None, error: Some(self.told(&error)), took },
        }
    }

    /// Why no answer came.
    fn told(&self, error: &Error) -> String {
        let place = self.url.authority().map_or("", |authority| authority.as_str());
        match error {
            Error::Timeout(_) => format!("expected an answer within {} s, found none", self.patience.as_secs()),
            Error::Io(error) => match error.kind() {
                ErrorKind::ConnectionRefused => {
                    format!("expected a receiver at {place}, found nothing that listens: connection refused")
                }
                ErrorKind::ConnectionReset
                | ErrorKind::ConnectionAborted
                | ErrorKind::BrokenPipe
                | ErrorKind::UnexpectedEof => "expected an answer, found the connection closed before one".to_owned(),
                ErrorKind::InvalidData => untrusted(error.to_string()),
                _ => format!("expected to reach {place}, found: {error}"),
            },
            Error::Rustls(error) => untrusted(error.to_string()),
            Error::HostNotFound => format!("expected to reach {place}, found no address of that name"),
            Error::Protocol(_) => "expected an answer in HTTP/1.1, found another; is it https?".to_owned(),
            error => format!("expected an answer, found: {error}"),
        }
    }
}

fn untrusted(error: String) -> String {
    let hint = if error.contains("UnknownIssuer") {
        "; is its authority known? (--ca FILE)"
    } else if error.contains("CaUsedAsEndEntity") {
        "; the server shows the certificate of an authority: give it one of its own, with CA:FALSE, and the authority's to --ca"
    } else if error.contains("InvalidContentType") {
        "; is it https?"
    } else {
        ""
    };
    format!("expected a connection over TLS, found: {error}{hint}")
}

/// The URL, and never its text in an error: it could hold a password.
fn url(text: &str) -> Result<Uri, Failure> {
    let refuse = |found: &str| {
        let example = "http://127.0.0.1:3000/webhooks/asixto";
        Failure::new(format!("--to: expected a URL such as {example}, found {found}"))
    };
    if !text.contains("://") {
        return Err(refuse("none that begins with http:// or https://: write one of them"));
    }
    let url: Uri = text.parse().map_err(|_| refuse("another text"))?;
    let authority = url.authority().ok_or_else(|| refuse("none with a host"))?;
    if !matches!(url.scheme_str(), Some("http" | "https")) {
        return Err(refuse("a scheme that is neither http nor https"));
    }
    if authority.as_str().contains('@') {
        return Err(refuse("one with a user or a password"));
    }
    // What is no port is otherwise read as none, and goes to the usual one.
    let port = authority.as_str().strip_prefix(authority.host()).unwrap_or_default();
    let is_port = |text: &str| text.parse::<u16>().is_ok_and(|port| port > 0 && port.to_string() == text);
    if !port.is_empty() && !port.strip_prefix(':').is_some_and(is_port) {
        return Err(refuse("one whose port is none"));
    }
    Ok(url)
}

fn given(path: &Path, console: &mut Console) -> Result<Vec<Certificate<'static>>, Failure> {
    let pem = console.read(path, "certificates")?;
    let certificates: Vec<_> = parse_pem(&pem)
        .filter_map(|item| match item {
            Ok(PemItem::Certificate(certificate)) => Some(certificate),
            _ => None,
        })
        .collect();
    if certificates.is_empty() {
        return Err(Failure::new(format!("--ca: expected certificates in PEM, found none in {}", shown(path))));
    }
    Ok(certificates)
}

fn the_systems() -> Result<Vec<Certificate<'static>>, Failure> {
    let loaded = rustls_native_certs::load_native_certs();
    if loaded.certs.is_empty() {
        return Err(Failure::new("expected certificates of authorities on this system, found none: give --ca FILE"));
    }
    Ok(loaded.certs.iter().map(|der| Certificate::from_der(der).to_owned()).collect())
}
