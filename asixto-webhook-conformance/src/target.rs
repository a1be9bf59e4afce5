//! Where a receiver is, how it is spoken to, and where its effects can be seen.

use core::{error::Error, fmt, net::SocketAddr};
use std::{io, sync::Arc};

use http::Uri;
use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, ServerName, pem::PemObject},
};
use tokio::net::lookup_host;

use crate::{ExchangeError, Request, Response, http1, http2, judge::PATIENCE, peer::Peer};

/// Where the receiver is, and how it is spoken to.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Target {
    /// The other end of every connection.
    pub peer: Peer,
    /// The version of HTTP.
    pub version: Version,
    /// Where it can be seen what the handler ran for.
    pub observer: Option<Observer>,
}

/// What tells which events a handler ran for, and how often: a list of objects with an `id`, and with `times` where
/// that is not once, as `GET /events` of the examples answers it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Observer {
    /// A path of the receiver itself.
    Path(String),
    /// A path of another server.
    Server(Peer, String),
    /// A command of the shell that prints it.
    Command(String),
}

impl Target {
    /// A receiver in the clear that is not observed.
    #[must_use]
    pub fn new(address: SocketAddr, version: Version) -> Self {
        Self { peer: address.into(), version, observer: None }
    }

    /// The receiver of a URL, and its path with the query.
    ///
    /// # Errors
    /// Where that is no URL of `http` or `https`, its host has no address, or there is nothing to trust.
    pub async fn resolve(url: &str, version: Version, trust: &Trust) -> Result<(Self, String), TargetError> {
        let (peer, path) = Peer::resolve(url, trust).await?;
        Ok((Self { peer, version, observer: None }, path))
    }

    /// With a path of its own that tells what the handler ran for.
    #[must_use]
    pub fn observed_at(self, path: impl Into<String>) -> Self {
        self.observed_by(Observer::Path(path.into()))
    }

    /// With something that tells what the handler ran for.
    #[must_use]
    pub fn observed_by(mut self, observer: Observer) -> Self {
        self.observer = Some(observer);
        self
    }
}

/// Sends one request.
///
/// # Errors
/// Where no response came.
pub async fn send(target: &Target, request: &Request) -> Result<Response, ExchangeError> {
    match target.version {
        Version::Http1 => http1::send(target.peer.clone(), request, PATIENCE).await,
        Version::Http2 => http2::send(target.peer.clone(), request, PATIENCE).await,
    }
}

impl Peer {
    /// The server of a URL, and the path with the query.
    ///
    /// # Errors
    /// As [`Target::resolve`].
    pub async fn resolve(url: &str, trust: &Trust) -> Result<(Self, String), TargetError> {
        let unusable = |found: &str| TargetError::Url(found.to_owned());
        let uri: Uri = url.parse().map_err(|_| unusable("a text that is none"))?;
        let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
            return Err(unusable("a URL without scheme and host"));
        };
        let port = match (scheme, authority.port_u16()) {
            ("http" | "https", Some(port)) => port,
            ("http", None) => 80,
            ("https", None) => 443,
            _ => return Err(unusable("another scheme")),
        };
        if authority.as_str().contains('@') {
            return Err(unusable("a URL with a user in it"));
        }
        let host = authority.host().trim_start_matches('[').trim_end_matches(']');
        let addresses = lookup_host((host, port)).await;
        let mut addresses = addresses.map_err(|source| TargetError::Host(host.to_owned(), source))?;
        let none = || TargetError::Host(host.to_owned(), io::ErrorKind::NotFound.into());
        let first = addresses.next().ok_or_else(none)?;
        let peer = Self::new(first, addresses, authority.as_str());
        let path = uri.path_and_query().map_or("/", |path| path.as_str()).to_owned();
        if scheme == "http" {
            return Ok((peer, path));
        }
        let name = ServerName::try_from(host.to_owned()).map_err(|_| unusable("a host that no certificate names"))?;
        Ok((peer.with_tls(name, trust.config()?), path))
    }
}

/// Whose certificates are trusted.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub enum Trust {
    /// The authorities that this system trusts.
    #[default]
    System,
    /// The certificates in a PEM text, and no others.
    Pem(Vec<u8>),
}

impl Trust {
    fn config(&self) -> Result<Arc<ClientConfig>, TargetError> {
        let certificates: Vec<_> = match self {
            Self::System => rustls_native_certs::load_native_certs().certs,
            Self::Pem(text) => CertificateDer::pem_slice_iter(text).filter_map(Result::ok).collect(),
        };
        let mut roots = RootCertStore::empty();
        _ = roots.add_parsable_certificates(certificates);
        if roots.is_empty() {
            return Err(TargetError::NothingToTrust);
        }
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|_| TargetError::NothingToTrust)?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Arc::new(config))
    }
}

/// A version of HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Version {
    /// HTTP/1.1, byte by byte.
    Http1,
    /// HTTP/2 with prior knowledge, or under TLS.
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

/// Why a URL leads to no receiver.
#[derive(Debug)]
#[non_exhaustive]
pub enum TargetError {
    /// It is no URL of a receiver.
    Url(String),
    /// Its host has no address.
    Host(String, io::Error),
    /// There are no certificates to begin with.
    NothingToTrust,
}

impl fmt::Display for TargetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url(found) => {
                write!(f, "expected a whole URL, such as `https://example.com/webhooks/asixto`, found {found}")
            }
            Self::Host(host, source) => write!(f, "expected an address of `{host}`, found none: {source}"),
            Self::NothingToTrust => f.write_str("expected certificates of authorities to trust, found none"),
        }
    }
}

impl Error for TargetError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Host(_, source) => Some(source),
            Self::Url(_) | Self::NothingToTrust => None,
        }
    }
}
