//! The other end of a connection: where it is, what it is called, and whether TLS lies between.

use core::{
    fmt,
    net::SocketAddr,
    pin::Pin,
    task::{Context, Poll},
};
use std::{io, sync::Arc};

use rustls::{ClientConfig, pki_types::ServerName};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};
use tokio_rustls::{TlsConnector, client::TlsStream};

use crate::response::{Deadline, ExchangeError};

/// A receiver's address, the name that goes into `Host`, and TLS where it is spoken.
#[derive(Clone)]
pub struct Peer {
    /// One at least: they are tried in their order.
    addresses: Arc<[SocketAddr]>,
    authority: Arc<str>,
    tls: Option<Tls>,
}

#[derive(Clone)]
struct Tls {
    name: ServerName<'static>,
    config: Arc<ClientConfig>,
}

/// For none.
const UNSPECIFIED: SocketAddr = SocketAddr::new(core::net::IpAddr::V4(core::net::Ipv4Addr::UNSPECIFIED), 0);

/// Without TLS, called by its address.
impl From<SocketAddr> for Peer {
    fn from(address: SocketAddr) -> Self {
        Self { addresses: [address].into(), authority: address.to_string().into(), tls: None }
    }
}

impl Peer {
    /// A receiver called `authority`.
    pub(crate) fn new(first: SocketAddr, others: impl Iterator<Item = SocketAddr>, authority: &str) -> Self {
        let addresses = core::iter::once(first).chain(others).collect();
        Self { addresses, authority: authority.into(), tls: None }
    }

    /// Behind TLS, with a certificate for `name`.
    pub(crate) fn with_tls(mut self, name: ServerName<'static>, config: Arc<ClientConfig>) -> Self {
        self.tls = Some(Tls { name, config });
        self
    }

    /// Where it is, in the order in which that is tried: one address at least.
    #[must_use]
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// What it is called.
    #[must_use]
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// `https` or `http`.
    #[must_use]
    pub fn scheme(&self) -> &'static str {
        if self.tls.is_some() { "https" } else { "http" }
    }

    /// Connects, without the delay that would glue small writes together. `protocol` is what is asked for under TLS.
    pub(crate) async fn connect(&self, deadline: Deadline, protocol: &[u8]) -> Result<Stream, ExchangeError> {
        let connecting = async {
            let stream = TcpStream::connect(&*self.addresses).await?;
            stream.set_nodelay(true)?;
            let Some(Tls { name, config }) = &self.tls else { return Ok(Stream::Plain(stream)) };
            let mut config = ClientConfig::clone(config);
            config.alpn_protocols = vec![protocol.to_vec()];
            let stream = TlsConnector::from(Arc::new(config)).connect(name.clone(), stream).await?;
            Ok(Stream::Tls(Box::new(stream)))
        };
        let connected: io::Result<_> = deadline.within(connecting).await?;
        let address = self.addresses.last().copied().unwrap_or(UNSPECIFIED);
        connected.map_err(|source| ExchangeError::Connect { address, source: Arc::new(source) })
    }
}

impl fmt::Debug for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{} at {:?}", self.scheme(), self.authority, self.addresses)
    }
}

/// A connection, in the clear or not.
#[derive(Debug)]
pub(crate) enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl Stream {
    /// Makes its end a reset. Where the system refuses, the end is an orderly one, and still a hang-up.
    pub(crate) fn reset_on_drop(&self) {
        let stream = match self {
            Self::Plain(stream) => stream,
            Self::Tls(stream) => stream.get_ref().0,
        };
        stream.set_zero_linger().ok();
    }

    fn io(self: Pin<&mut Self>) -> Pin<&mut (dyn Io + Unpin)> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream),
            Self::Tls(stream) => Pin::new(stream),
        }
    }
}

trait Io: AsyncRead + AsyncWrite {}
impl<T: AsyncRead + AsyncWrite> Io for T {}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.io().poll_read(cx, buffer)
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.io().poll_write(cx, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.io().poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.io().poll_shutdown(cx)
    }
}
