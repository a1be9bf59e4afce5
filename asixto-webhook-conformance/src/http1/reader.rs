//! The response on the wire, byte by byte: strict, since what is lenient here hides a fault there.

use bytes::{Buf, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt};

use crate::response::{ExchangeError, HEAD_LIMIT, Response, body_size};

/// Reads a response by its own framing. What came after it stays in the buffer.
pub(super) async fn read(
    from: impl AsyncRead + Unpin,
    buffer: &mut BytesMut,
    method: &str,
) -> Result<Response, ExchangeError> {
    let received = buffer.len();
    let mut wire = Wire { from, buffer, received, left: HEAD_LIMIT };
    loop {
        let status = status(&wire.line().await?)?;
        let headers = wire.headers().await?;
        if (100..200).contains(&status) && status != 101 {
            continue;
        }
        let response = Response { status, headers, body: Vec::new() };
        let body = match (status, method) {
            (101 | 204 | 304, _) | (_, "HEAD") => Vec::new(),
            _ => wire.body(framing(&response)?).await?,
        };
        return Ok(Response { body, ..response });
    }
}

struct Wire<'b, R> {
    from: R,
    buffer: &'b mut BytesMut,
    received: usize,
    /// What is left of [`HEAD_LIMIT`].
    left: usize,
}

impl<R: AsyncRead + Unpin> Wire<'_, R> {
    async fn headers(&mut self) -> Result<Vec<(String, Vec<u8>)>, ExchangeError> {
        let mut headers = Vec::new();
        loop {
            let line = self.line().await?;
            if line.is_empty() {
                return Ok(headers);
            }
            headers.push(header(&line)?);
        }
    }

    async fn body(&mut self, framing: Framing) -> Result<Vec<u8>, ExchangeError> {
        match framing {
            Framing::Length(length) => self.take(length).await,
            Framing::Chunked => self.chunks().await,
            Framing::Close => {
                while self.fill().await? > 0 {
                    body_size(self.buffer.len() as u64)?;
                }
                Ok(self.buffer.split().to_vec())
            }
        }
    }

    async fn chunks(&mut self) -> Result<Vec<u8>, ExchangeError> {
        let mut body = Vec::new();
        loop {
            self.left = HEAD_LIMIT;
            let size = chunk_size(&self.line().await?)?;
            if size == 0 {
                self.headers().await?;
                return Ok(body);
            }
            body_size(size.saturating_add(body.len() as u64))?;
            body.append(&mut self.take(size).await?);
            let end = self.line().await?;
            if !end.is_empty() {
                return Err(unexpected("the end of a chunk", &end));
            }
        }
    }

    /// Takes the next line, without its end.
    async fn line(&mut self) -> Result<BytesMut, ExchangeError> {
        loop {
            let end = self.buffer.windows(2).position(|pair| pair == b"\r\n");
            let length = end.map_or(self.buffer.len(), |end| end + 2);
            if length > self.left {
                let reason = format!("expected a head of at most {HEAD_LIMIT} bytes, found more");
                return Err(ExchangeError::malformed(reason));
            }
            if let Some(end) = end {
                self.left -= length;
                let line = self.buffer.split_to(end);
                self.buffer.advance(2);
                return Ok(line);
            }
            self.more().await?;
        }
    }

    async fn take(&mut self, length: u64) -> Result<Vec<u8>, ExchangeError> {
        let length = body_size(length)?;
        while self.buffer.len() < length {
            self.more().await?;
        }
        Ok(self.buffer.split_to(length).to_vec())
    }

    async fn more(&mut self) -> Result<(), ExchangeError> {
        match self.fill().await? {
            0 => Err(ExchangeError::Closed { received: self.received, source: None }),
            _ => Ok(()),
        }
    }

    async fn fill(&mut self) -> Result<usize, ExchangeError> {
        self.buffer.reserve(8 * 1024);
        let read = self.from.read_buf(self.buffer).await;
        let read = read.map_err(|source| ExchangeError::closed(self.received, source))?;
        self.received += read;
        Ok(read)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Framing {
    Length(u64),
    Chunked,
    Close,
}

fn framing(response: &Response) -> Result<Framing, ExchangeError> {
    let values = |name: &'static str| {
        let matching = response.headers.iter().filter(move |(known, _)| known == name);
        matching.map(|(_, value)| value.as_slice()).collect::<Vec<_>>()
    };
    match (&*values("content-length"), &*values("transfer-encoding")) {
        ([], []) => Ok(Framing::Close),
        ([], [coding]) if coding.eq_ignore_ascii_case(b"chunked") => Ok(Framing::Chunked),
        ([length], []) => match number(length, 10) {
            Some(length) => Ok(Framing::Length(length)),
            None => Err(unexpected("a content-length in digits", length)),
        },
        ([], [coding, ..]) => Err(unexpected("the one transfer coding \"chunked\"", coding)),
        ([..], [_, ..]) => Err(ExchangeError::malformed("expected a content-length or a transfer coding, found both")),
        ([_, _, ..], []) => Err(ExchangeError::malformed("expected one content-length, found several")),
    }
}

fn status(line: &[u8]) -> Result<u16, ExchangeError> {
    if let Some([b'0' | b'1', b' ', rest @ ..]) = line.strip_prefix(b"HTTP/1.")
        && let Some((code, [] | [b' ', ..])) = rest.split_at_checked(3)
        && let Some(code @ 100..=999) = number(code, 10)
        && let Ok(code) = u16::try_from(code)
    {
        return Ok(code);
    }
    Err(unexpected("a status line of HTTP/1.1", line))
}

fn header(line: &[u8]) -> Result<(String, Vec<u8>), ExchangeError> {
    let token = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    let colon = line.iter().position(|byte| *byte == b':');
    if let Some((name, [_, value @ ..])) = colon.and_then(|colon| line.split_at_checked(colon))
        && !name.is_empty()
        && name.iter().all(token)
        && !value.iter().any(|byte| b"\r\n\0".contains(byte))
        && let Ok(name) = str::from_utf8(name)
    {
        return Ok((name.to_ascii_lowercase(), value.trim_ascii().to_vec()));
    }
    Err(unexpected("a header line", line))
}

fn chunk_size(line: &[u8]) -> Result<u64, ExchangeError> {
    let size = line.split(|byte| *byte == b';').next().unwrap_or_default();
    number(size.trim_ascii_end(), 16).ok_or_else(|| unexpected("a chunk size in hex digits", line))
}

fn number(digits: &[u8], radix: u32) -> Option<u64> {
    // The parser of the standard library also takes a sign.
    let all = digits.iter().all(|byte| char::from(*byte).is_digit(radix));
    let digits = str::from_utf8(digits).ok().filter(|_| all)?;
    u64::from_str_radix(digits, radix).ok()
}

fn unexpected(expected: &str, found: &[u8]) -> ExchangeError {
    ExchangeError::malformed(format!("expected {expected}, found \"{}\"", found.escape_ascii()))
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn answer(bytes: &[u8]) -> Result<Response, ExchangeError> {
        read(bytes, &mut BytesMut::new(), "POST").await
    }

    async fn malformed(bytes: &[u8]) -> String {
        match answer(bytes).await.unwrap_err() {
            ExchangeError::Malformed { reason } => reason,
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn a_close_counts_what_came() {
        let cases: [(&[u8], usize); 4] = [
            (b"", 0),
            (b"HTTP/1.1 200", 12),
            (b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\no", 39),
            (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n", 53),
        ];
        for (bytes, expected) in cases {
            match answer(bytes).await.unwrap_err() {
                ExchangeError::Closed { received, source: None } => assert_eq!(received, expected),
                other => panic!("{other:?}"),
            }
        }
    }

    #[tokio::test]
    async fn interim_responses_are_skipped() {
        let bytes = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nlink: x\r\n\r\n\
              HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
        let response = answer(bytes).await.unwrap();
        assert_eq!((response.status, response.headers.len(), &*response.body), (200, 1, &b"ok"[..]));
    }

    #[tokio::test]
    async fn each_framing_ends_where_it_says() {
        type Bytes = &'static [u8];
        let cases: [(&str, Bytes, Bytes, Bytes); 7] = [
            ("POST", b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nokHTTP", b"ok", b"HTTP"),
            (
                "POST",
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n2;x=y\r\nok\r\n\
                  A\r\n0123456789\r\n0\r\nx-sum: 1\r\n\r\nHTTP",
                b"ok0123456789",
                b"HTTP",
            ),
            ("POST", b"HTTP/1.0 200 OK\r\n\r\nall of it", b"all of it", b""),
            ("HEAD", b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nHTTP", b"", b"HTTP"),
            ("POST", b"HTTP/1.1 204 None\r\n\r\nHTTP", b"", b"HTTP"),
            ("POST", b"HTTP/1.1 304 Same\r\ncontent-length: 2\r\n\r\nHTTP", b"", b"HTTP"),
            ("POST", b"HTTP/1.1 101 Switch\r\n\r\nHTTP", b"", b"HTTP"),
        ];
        for (method, bytes, body, rest) in cases {
            let mut buffer = BytesMut::new();
            let response = read(bytes, &mut buffer, method).await.unwrap();
            assert_eq!((&*response.body, &*buffer), (body, rest), "{}", bytes.escape_ascii());
        }
    }

    #[tokio::test]
    async fn what_is_not_http_is_told() {
        let cases: [(&[u8], &str); 13] = [
            (b"SSH-2.0\r\n", r#"expected a status line of HTTP/1.1, found "SSH-2.0""#),
            (b"HTTP/1.1 99 x\r\n", r#"expected a status line of HTTP/1.1, found "HTTP/1.1 99 x""#),
            (b"HTTP/1.1 099\r\n", r#"expected a status line of HTTP/1.1, found "HTTP/1.1 099""#),
            (b"HTTP/1.1 2000\r\n", r#"expected a status line of HTTP/1.1, found "HTTP/1.1 2000""#),
            (b"HTTP/1.1 200\r\na b: c\r\n", r#"expected a header line, found "a b: c""#),
            (b"HTTP/1.1 200\r\na: b\r\n c\r\n", r#"expected a header line, found " c""#),
            (b"HTTP/1.1 200\r\na: b\nc: d\r\n", r#"expected a header line, found "a: b\nc: d""#),
            (b"HTTP/1.1 200\r\ncontent-length: +2\r\n\r\n", r#"expected a content-length in digits, found "+2""#),
            (
                b"HTTP/1.1 200\r\ncontent-length: 2\r\ncontent-length: 2\r\n\r\n",
                "expected one content-length, found several",
            ),
            (
                b"HTTP/1.1 200\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n",
                "expected a content-length or a transfer coding, found both",
            ),
            (
                b"HTTP/1.1 200\r\ntransfer-encoding: gzip\r\n\r\n",
                r#"expected the one transfer coding "chunked", found "gzip""#,
            ),
            (
                b"HTTP/1.1 200\r\ntransfer-encoding: chunked\r\n\r\n-1\r\n",
                r#"expected a chunk size in hex digits, found "-1""#,
            ),
            (
                b"HTTP/1.1 200\r\ntransfer-encoding: chunked\r\n\r\n1\r\nabc\r\n",
                r#"expected the end of a chunk, found "bc""#,
            ),
        ];
        for (bytes, reason) in cases {
            assert_eq!(malformed(bytes).await, reason);
        }
    }

    #[tokio::test]
    async fn no_response_is_read_without_end() {
        let head = [b"HTTP/1.1 200 OK\r\nx: ", vec![b'x'; HEAD_LIMIT].as_slice()].concat();
        assert_eq!(malformed(&head).await, "expected a head of at most 65536 bytes, found more");
        let interim = b"HTTP/1.1 100 Continue\r\n\r\n".repeat(3000);
        assert_eq!(malformed(&interim).await, "expected a head of at most 65536 bytes, found more");
        let long = "expected a body of at most 1048576 bytes, found 1048577";
        let sized = b"HTTP/1.1 200 OK\r\ncontent-length: 1048577\r\n\r\n";
        assert_eq!(malformed(sized).await, long);
        let mut chunked = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n".to_vec();
        chunked.extend_from_slice(b"100000\r\n");
        assert_eq!(malformed(&chunked).await, long);
        let endless = [b"HTTP/1.1 200 OK\r\n\r\n", vec![0; 2 * 1024 * 1024].as_slice()].concat();
        let reason = malformed(&endless).await;
        assert!(reason.starts_with("expected a body of at most 1048576 bytes"), "{reason}");
    }
}
