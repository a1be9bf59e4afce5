//! As much of HTTP/1.1 as a receiver needs, byte by byte, so that it can be wrong at every one of them.

use std::{io, time::Duration};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use crate::flaw::{Flaw, Flawed};

/// H4, H8
const BODY_LIMIT: u64 = 263_168;
const BODY_DEADLINE: Duration = Duration::from_secs(5);

pub(crate) type Headers = Vec<(String, Vec<u8>)>;

pub(crate) struct Head {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: Headers,
}

impl Head {
    /// The first value of a header, as text.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let (_, value) = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name))?;
        str::from_utf8(value).ok()
    }
}

pub(crate) struct Answer {
    pub(crate) status: u16,
    /// A header line, with its end.
    pub(crate) header: &'static str,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn new(status: u16) -> Self {
        Self { status, header: "", body: String::new() }
    }

    pub(crate) fn with(mut self, header: &'static str) -> Self {
        self.header = header;
        self
    }
}

/// Why there is no body.
pub(crate) enum BodyFault {
    /// To be answered, after which the connection is closed: the rest of the body is still under way.
    Refused(u16),
    /// Nobody is left to answer. With what had come.
    Gone(Vec<u8>),
}

pub(crate) struct Connection {
    stream: TcpStream,
    /// What has come and was not read.
    ahead: Vec<u8>,
    flawed: Flawed,
}

impl Connection {
    pub(crate) fn new(stream: TcpStream, flawed: Flawed) -> Self {
        Self { stream, ahead: Vec::new(), flawed }
    }

    /// Waits until the client has hung up. What it sends meanwhile is kept.
    pub(crate) async fn gone(&mut self) {
        while self.stream.read_buf(&mut self.ahead).await.is_ok_and(|read| read > 0) {}
    }

    /// The next request's head, or an error where none comes.
    pub(crate) async fn head(&mut self) -> io::Result<Head> {
        let limit = if self.flawed.has(Flaw::ShortHead) { 2_000 } else { 64_000 };
        let request = self.line(limit).await?;
        let mut words = request.split(|byte| *byte == b' ').map(|word| String::from_utf8_lossy(word).into_owned());
        let (method, path) = words.next().zip(words.next()).ok_or(io::ErrorKind::InvalidData)?;
        let headers = self.fields(limit).await?;
        Ok(Head { method, path, headers })
    }

    /// The body of a request.
    pub(crate) async fn body(&mut self, head: &mut Head) -> Result<Vec<u8>, BodyFault> {
        let mut body = Vec::new();
        let deadline = match self.flawed.0 {
            Some(Flaw::NoBodyDeadline) => Duration::MAX,
            Some(Flaw::ShortBodyDeadline) => Duration::from_secs(1),
            _ => BODY_DEADLINE,
        };
        match timeout(deadline, self.read_body(head, &mut body)).await {
            Err(_) => Err(BodyFault::Refused(408)),
            Ok(Ok(())) => Ok(body),
            Ok(Err(BodyFault::Gone(_))) => Err(BodyFault::Gone(body)),
            Ok(Err(refused)) => Err(refused),
        }
    }

    async fn read_body(&mut self, head: &mut Head, body: &mut Vec<u8>) -> Result<(), BodyFault> {
        let limit = match self.flawed.0 {
            Some(Flaw::NoBodyLimit) => u64::MAX,
            Some(Flaw::SmallBodyLimit) => 100_000,
            _ => BODY_LIMIT,
        };
        let chunked = head.header("transfer-encoding").is_some();
        let length: u64 = head.header("content-length").and_then(|length| length.parse().ok()).unwrap_or_default();
        if chunked && self.flawed.has(Flaw::RefusesChunked) {
            return Err(BodyFault::Refused(411));
        }
        if length > limit {
            let dies = self.flawed.has(Flaw::DiesOnLength);
            return Err(if dies { BodyFault::Gone(Vec::new()) } else { BodyFault::Refused(413) });
        }
        if head.header("expect").is_some() {
            self.stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await.map_err(gone)?;
        }
        if !chunked {
            return self.take(length, body).await.map_err(gone);
        }
        loop {
            let line = self.line(100).await.map_err(gone)?;
            let size = str::from_utf8(&line).ok().and_then(|line| line.split(';').next());
            let size =
                size.and_then(|size| u64::from_str_radix(size.trim(), 16).ok()).ok_or(BodyFault::Refused(400))?;
            if size == 0 {
                break;
            }
            if body.len() as u64 + size > limit {
                return Err(BodyFault::Refused(413));
            }
            self.take(size, body).await.map_err(gone)?;
            self.line(0).await.map_err(gone)?;
        }
        let trailers = self.fields(64_000).await.map_err(gone)?;
        if self.flawed.has(Flaw::MergesTrailers) {
            head.headers.extend(trailers);
        }
        Ok(())
    }

    pub(crate) async fn answer(&mut self, answer: &Answer, close: bool) -> io::Result<()> {
        let Answer { status, header, body } = answer;
        let connection = if close { "close" } else { "keep-alive" };
        let (length, date) = (body.len(), self.flawed.now().strftime("%a, %d %b %Y %H:%M:%S GMT"));
        let text = format!(
            "HTTP/1.1 {status} -\r\ndate: {date}\r\nconnection: {connection}\r\ncontent-length: {length}\r\n{header}\r\n{body}"
        );
        self.stream.write_all(text.as_bytes()).await?;
        if close {
            self.stream.shutdown().await?;
            // What is unread when a socket is closed would reset it, and the answer with it.
            let mut rest = Vec::new();
            let unread = (&mut self.stream).take(4_000_000);
            _ = timeout(Duration::from_secs(1), { unread }.read_to_end(&mut rest)).await;
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        Ok(())
    }

    /// Header lines up to an empty one.
    async fn fields(&mut self, mut limit: usize) -> io::Result<Headers> {
        let mut fields = Vec::new();
        loop {
            let line = self.line(limit).await?;
            if line.is_empty() {
                return Ok(fields);
            }
            limit = limit.checked_sub(line.len()).ok_or(io::ErrorKind::InvalidData)?;
            let colon = line.iter().position(|byte| *byte == b':').ok_or(io::ErrorKind::InvalidData)?;
            let name = String::from_utf8_lossy(&line[..colon]).into_owned();
            fields.push((name, line[colon + 1..].trim_ascii().to_vec()));
        }
    }

    /// A line without its end.
    async fn line(&mut self, limit: usize) -> io::Result<Vec<u8>> {
        loop {
            if let Some(end) = self.ahead.windows(2).position(|end| end == b"\r\n") {
                let line = self.ahead.drain(..end + 2).take(end).collect();
                return Ok(line);
            }
            if self.ahead.len() > limit + 2 {
                return Err(io::ErrorKind::InvalidData.into());
            }
            self.more().await?;
        }
    }

    async fn take(&mut self, mut length: u64, to: &mut Vec<u8>) -> io::Result<()> {
        loop {
            let now = self.ahead.len().min(usize::try_from(length).unwrap_or(usize::MAX));
            to.extend(self.ahead.drain(..now));
            length -= now as u64;
            if length == 0 {
                return Ok(());
            }
            self.more().await?;
        }
    }

    async fn more(&mut self) -> io::Result<()> {
        match self.stream.read_buf(&mut self.ahead).await? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }
}

fn gone(_: io::Error) -> BodyFault {
    BodyFault::Gone(Vec::new())
}
