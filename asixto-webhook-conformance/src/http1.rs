//! HTTP/1.1 over a bare socket: the bytes that leave are the bytes of the [`Request`].

use core::{net::SocketAddr, pin::pin, time::Duration};
use std::io;

use bytes::{Buf, BytesMut};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::TcpStream,
    select,
    time::sleep,
};

use crate::{
    request::{Ended, Request, Step},
    response::{Deadline, ExchangeError, HEAD_LIMIT, Response, body_size},
};

/// Sends a request over a connection of its own.
///
/// The response is read while the request is still being written, and its arrival ends the
/// exchange: a receiver may refuse a body that it did not read, and close.
///
/// # Errors
///
/// If the connection cannot be made, if no whole response came before the deadline, or if the
/// request aborts.
pub async fn send(address: SocketAddr, request: &Request, deadline: Duration) -> Result<Response, ExchangeError> {
    let whole = Deadline::new(deadline);
    let mut connection = Connection::connect(address, deadline, whole).await?;
    connection.exchange(request, whole, Rest::Dropped).await
}

/// A connection that is kept for more than one request. Dropping it hangs up.
#[derive(Debug)]
pub struct Connection {
    address: SocketAddr,
    deadline: Duration,
    /// `None` once the two ends may disagree about where the next message begins.
    stream: Option<TcpStream>,
    buffer: BytesMut,
}

impl Connection {
    /// Connects within the deadline, which every later call on the connection gets anew.
    ///
    /// # Errors
    ///
    /// If the connection cannot be made in time.
    pub async fn open(address: SocketAddr, deadline: Duration) -> Result<Self, ExchangeError> {
        Self::connect(address, deadline, Deadline::new(deadline)).await
    }

    /// Sends a request and reads its response.
    ///
    /// A response that comes early does not cut the request short: the rest is still written, until
    /// the deadline, so that the next request is in step. If that fails, or if the request stops
    /// before its end, the connection is closed.
    ///
    /// # Errors
    ///
    /// As [`send`], and [`ExchangeError::Closed`] if an earlier call closed the connection.
    pub async fn send(&mut self, request: &Request) -> Result<Response, ExchangeError> {
        let deadline = Deadline::new(self.deadline);
        self.exchange(request, deadline, Rest::Finished).await
    }

    /// Writes a request as far as its script goes, and does not wait for the response.
    ///
    /// # Errors
    ///
    /// If the receiver closes, or does not take the request before the deadline.
    pub async fn start(&mut self, request: &Request) -> Result<(), ExchangeError> {
        let mut stream = self.take(request)?;
        let writing = write(&mut stream, request, self.address);
        match Deadline::new(self.deadline).within(writing).await? {
            Ok(Ended::Aborted) => {}
            Ok(Ended::Whole | Ended::Stopped) => self.stream = Some(stream),
            Err(source) => return Err(ExchangeError::closed(0, source)),
        }
        Ok(())
    }

    async fn connect(address: SocketAddr, deadline: Duration, first: Deadline) -> Result<Self, ExchangeError> {
        let stream = first.connect(address).await?;
        Ok(Self { address, deadline, stream: Some(stream), buffer: BytesMut::new() })
    }

    async fn exchange(&mut self, request: &Request, deadline: Deadline, rest: Rest) -> Result<Response, ExchangeError> {
        let mut stream = self.take(request)?;
        let (response, ended) = {
            let (reader, writer) = stream.split();
            let mut writing = pin!(write(writer, request, self.address));
            let mut reading = pin!(read(reader, &mut self.buffer, request.verb()));
            let answer = async {
                select! {
                    biased;
                    ended = &mut writing => match ended {
                        Ok(Ended::Aborted) => Err(ExchangeError::Aborted),
                        Ok(ended) => Ok((reading.await?, Some(ended))),
                        // The receiver may close on a request that it answered.
                        Err(source) => match reading.await {
                            Err(ExchangeError::Closed { received, source: None }) => {
                                Err(ExchangeError::closed(received, source))
                            }
                            response => Ok((response?, Some(Ended::Stopped))),
                        },
                    },
                    response = &mut reading => Ok((response?, None)),
                }
            };
            match (deadline.within(answer).await??, rest) {
                ((response, None), Rest::Finished) => {
                    let ended = deadline.within(writing).await;
                    (response, ended.ok().and_then(Result::ok))
                }
                (answered, _) => answered,
            }
        };
        if ended == Some(Ended::Whole) {
            self.stream = Some(stream);
        }
        Ok(response)
    }

    /// Takes the stream out, so that a call which fails or is dropped midway closes it.
    fn take(&mut self, request: &Request) -> Result<TcpStream, ExchangeError> {
        let closed = ExchangeError::Closed { received: 0, source: None };
        let stream = self.stream.take().ok_or(closed)?;
        if request.aborts() {
            // Where the system refuses, the close is an orderly one, and still a hang-up.
            stream.set_zero_linger().ok();
        }
        Ok(stream)
    }
}

/// What becomes of the rest of a request that was answered early.
#[derive(Debug, Clone, Copy)]
enum Rest {
    Dropped,
    Finished,
}

async fn write(mut to: impl AsyncWrite + Unpin, request: &Request, address: SocketAddr) -> io::Result<Ended> {
    let (steps, ended) = request.script();
    let mut bytes = head(request, address);
    for step in steps {
        match step {
            Step::Data(piece) if request.is_chunked() => {
                if let Some(length) = piece.opens {
                    bytes.extend_from_slice(format!("{length:x}\r\n").as_bytes());
                }
                bytes.extend_from_slice(&piece.bytes);
                if piece.closes {
                    bytes.extend_from_slice(b"\r\n");
                }
            }
            Step::Data(piece) => bytes.extend_from_slice(&piece.bytes),
            Step::Pause(pause) => {
                to.write_all(&bytes).await?;
                to.flush().await?;
                bytes.clear();
                sleep(pause).await;
            }
        }
    }
    if request.is_chunked() && ended == Ended::Whole {
        bytes.extend_from_slice(b"0\r\n");
        for (name, value) in request.trailers() {
            line(&mut bytes, name, value);
        }
        bytes.extend_from_slice(b"\r\n");
    }
    to.write_all(&bytes).await?;
    to.flush().await?;
    Ok(ended)
}

fn head(request: &Request, address: SocketAddr) -> Vec<u8> {
    let mut bytes = format!("{} {} HTTP/1.1\r\n", request.verb(), request.path()).into_bytes();
    if !request.names("host") {
        line(&mut bytes, "host", address.to_string().as_bytes());
    }
    for (name, value) in request.headers() {
        line(&mut bytes, name, value);
    }
    if let Some(length) = request.length() {
        line(&mut bytes, "content-length", length.to_string().as_bytes());
    }
    if request.is_chunked() && !request.names("transfer-encoding") {
        line(&mut bytes, "transfer-encoding", b"chunked");
    }
    bytes.extend_from_slice(b"\r\n");
    bytes
}

fn line(bytes: &mut Vec<u8>, name: &str, value: &[u8]) {
    bytes.extend_from_slice(name.as_bytes());
    bytes.extend_from_slice(b": ");
    bytes.extend_from_slice(value);
    bytes.extend_from_slice(b"\r\n");
}

/// Reads a response by its own framing. What came after it stays in the buffer.
async fn read(from: impl AsyncRead + Unpin, buffer: &mut BytesMut, method: &str) -> Result<Response, ExchangeError> {
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
    use std::io::ErrorKind;

    use bytes::Bytes;
    use tokio::{
        io::duplex,
        net::{TcpListener, TcpSocket},
        task::JoinHandle,
        time::{Instant, timeout},
    };

    use super::*;

    /// Long enough to never pass in a test that works.
    const SOON: Duration = Duration::from_secs(20);
    const OK: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

    async fn written(request: &Request) -> String {
        let mut bytes = Vec::new();
        write(&mut bytes, request, ([127, 0, 0, 1], 80).into()).await.unwrap();
        bytes.escape_ascii().to_string().replace(r"\r\n", "\n")
    }

    async fn answer(bytes: &[u8]) -> Result<Response, ExchangeError> {
        read(bytes, &mut BytesMut::new(), "POST").await
    }

    async fn malformed(bytes: &[u8]) -> String {
        match answer(bytes).await.unwrap_err() {
            ExchangeError::Malformed { reason } => reason,
            other => panic!("{other:?}"),
        }
    }

    /// A receiver of one connection.
    async fn receiver<F: Future<Output: Send> + Send + 'static>(
        serve: impl FnOnce(TcpStream) -> F + Send + 'static,
    ) -> (SocketAddr, JoinHandle<F::Output>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let serving = tokio::spawn(async move {
            let (stream, _) = listener.accept().await.unwrap();
            timeout(SOON, serve(stream)).await.unwrap()
        });
        (address, serving)
    }

    /// Reads up to the needle, and no further than a message that ends with it.
    async fn until(stream: &mut TcpStream, needle: &str) -> String {
        let mut bytes = Vec::new();
        while !bytes.ends_with(needle.as_bytes()) {
            assert_ne!(stream.read_buf(&mut bytes).await.unwrap(), 0, "closed before {needle:?}");
        }
        String::from_utf8(bytes).unwrap()
    }

    #[tokio::test]
    async fn lines_keep_their_casing_order_and_bytes() {
        let request = Request::post("/hooks?a=b")
            .header("X-Sig", "one")
            .header("x-SIG", "two")
            .header("X-Raw", vec![0xff, b' ', 0])
            .body("{\"id\":1}");
        let expected = "POST /hooks?a=b HTTP/1.1\nhost: 127.0.0.1:80\nX-Sig: one\nx-SIG: two\n\
             X-Raw: \\xff \\x00\ncontent-length: 8\n\n{\\\"id\\\":1}";
        assert_eq!(written(&request).await, expected);
    }

    #[tokio::test]
    async fn chunks_and_trailers_go_out_as_given() {
        let request = Request::post("/")
            .chunked(vec!["abc".into(), "".into(), Bytes::from(vec![b'x'; 16])])
            .trailer("X-Sum", "1")
            .trailer("X-Sum", "2");
        let expected = "POST / HTTP/1.1\nhost: 127.0.0.1:80\ntransfer-encoding: chunked\n\n\
             3\nabc\n10\nxxxxxxxxxxxxxxxx\n0\nX-Sum: 1\nX-Sum: 2\n\n";
        assert_eq!(written(&request).await, expected);
    }

    #[tokio::test]
    async fn what_was_given_is_not_added() {
        let request = Request::post("/").method("PUT").body("abc");
        let given = request.clone().header("HOST", "h").header("Content-Length", "4");
        assert_eq!(written(&given).await, "PUT / HTTP/1.1\nHOST: h\nContent-Length: 4\n\nabc");
        let bare = request.clone().header("Host", "h").without_length();
        assert_eq!(written(&bare).await, "PUT / HTTP/1.1\nHost: h\n\nabc");
        let lying = request.clone().header("Host", "h").announce(9);
        assert_eq!(written(&lying).await, "PUT / HTTP/1.1\nHost: h\ncontent-length: 9\n\nabc");
        let both = request.header("Host", "h").chunked(vec!["a".into()]).announce(1);
        let expected = "PUT / HTTP/1.1\nHost: h\ncontent-length: 1\ntransfer-encoding: chunked\n\n\
             1\na\n0\n\n";
        assert_eq!(written(&both).await, expected);
        let coded = Request::post("/").header("host", "h").chunked(vec![]);
        let coded = coded.header("Transfer-Encoding", "gzip, chunked");
        let expected = "POST / HTTP/1.1\nhost: h\nTransfer-Encoding: gzip, chunked\n\n0\n\n";
        assert_eq!(written(&coded).await, expected);
    }

    #[tokio::test]
    async fn a_stop_keeps_the_rest_of_a_chunk_back() {
        let request = Request::post("/").header("host", "h").chunked(vec!["abc".into()]);
        let head = "POST / HTTP/1.1\nhost: h\ntransfer-encoding: chunked\n\n";
        assert_eq!(written(&request.clone().stop_after(0)).await, head);
        assert_eq!(written(&request.clone().stop_after(2)).await, format!("{head}3\nab"));
        assert_eq!(written(&request.stop_after(3)).await, format!("{head}3\nabc\n"));
    }

    #[tokio::test(start_paused = true)]
    async fn a_pause_holds_the_rest_back() {
        let pause = Duration::from_secs(7);
        let request = Request::post("/").body("abcd").pause_after(2, pause);
        let (mut near, far) = duplex(1024);
        let start = Instant::now();
        let writing = tokio::spawn(async move { write(far, &request, ([127, 0, 0, 1], 80).into()).await.unwrap() });
        let mut bytes = Vec::new();
        while !bytes.ends_with(b"ab") {
            near.read_buf(&mut bytes).await.unwrap();
        }
        assert_eq!(start.elapsed(), Duration::ZERO);
        near.read_to_end(&mut bytes).await.unwrap();
        assert!(bytes.ends_with(b"\r\n\r\nabcd"));
        assert_eq!(start.elapsed(), pause);
        assert_eq!(writing.await.unwrap(), Ended::Whole);
    }

    #[tokio::test]
    async fn a_request_meets_its_response() {
        let (address, serving) = receiver(async |mut stream: TcpStream| {
            let request = until(&mut stream, "abc").await;
            stream.write_all(b"HTTP/1.1 201\r\nX-A:  b \r\ncontent-length: 2\r\n\r\nok").await.unwrap();
            request
        })
        .await;
        let response = send(address, &Request::post("/x").body("abc"), SOON).await.unwrap();
        let headers = vec![("x-a".into(), b"b".to_vec()), ("content-length".into(), b"2".to_vec())];
        assert_eq!(response, Response { status: 201, headers, body: b"ok".to_vec() });
        let expected = format!("POST /x HTTP/1.1\r\nhost: {address}\r\ncontent-length: 3\r\n\r\nabc");
        assert_eq!(serving.await.unwrap(), expected);
    }

    #[tokio::test]
    async fn a_stop_waits_for_the_response() {
        let (address, serving) = receiver(async |mut stream: TcpStream| {
            until(&mut stream, "\r\n\r\nab").await;
            stream.write_all(b"HTTP/1.1 408 Slow\r\ncontent-length: 0\r\n\r\n").await.unwrap();
            stream.read(&mut [0; 8]).await.unwrap()
        })
        .await;
        let request = Request::post("/").body("abcd").stop_after(2);
        assert_eq!(send(address, &request, SOON).await.unwrap().status, 408);
        assert_eq!(serving.await.unwrap(), 0, "the rest was sent");
    }

    #[tokio::test]
    async fn an_abort_resets_the_connection() {
        let (address, serving) = receiver(async |mut stream: TcpStream| {
            let mut bytes = Vec::new();
            (stream.read_to_end(&mut bytes).await.unwrap_err().kind(), bytes)
        })
        .await;
        let request = Request::post("/").body("abcd").abort_after(2);
        let aborted = send(address, &request, SOON).await.unwrap_err();
        assert!(matches!(aborted, ExchangeError::Aborted), "{aborted:?}");
        let (kind, bytes) = serving.await.unwrap();
        assert_eq!(kind, ErrorKind::ConnectionReset);
        assert!(bytes.ends_with(b"\r\n\r\nab"));
    }

    #[tokio::test]
    async fn a_refusal_in_the_middle_of_the_body_is_read() {
        let (address, serving) = receiver(async |mut stream: TcpStream| {
            stream.read_exact(&mut [0; 64]).await.unwrap();
            stream.write_all(b"HTTP/1.1 413 No\r\ncontent-length: 3\r\n\r\nbig").await.unwrap();
            // Closing over unread bytes makes the system send a reset.
        })
        .await;
        let request = Request::post("/").body(vec![b'x'; 16 * 1024 * 1024]);
        let response = send(address, &request, SOON).await.unwrap();
        assert_eq!((response.status, &*response.body), (413, &b"big"[..]));
        serving.await.unwrap();
    }

    #[tokio::test]
    async fn silence_times_out() {
        let (address, serving) = receiver(async |mut stream: TcpStream| {
            stream.read_to_end(&mut Vec::new()).await.unwrap();
        })
        .await;
        let after = Duration::from_millis(50);
        let error = send(address, &Request::post("/"), after).await.unwrap_err();
        assert!(matches!(error, ExchangeError::TimedOut { after: found } if found == after));
        serving.await.unwrap();
    }

    #[tokio::test]
    async fn nobody_at_the_address() {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(([127, 0, 0, 1], 0).into()).unwrap();
        let bound = socket.local_addr().unwrap();
        match send(bound, &Request::post("/"), SOON).await.unwrap_err() {
            ExchangeError::Connect { address, source } => {
                assert_eq!((address, source.kind()), (bound, ErrorKind::ConnectionRefused));
            }
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
        let bytes = [b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nlink: x\r\n\r\n", OK].concat();
        let response = answer(&bytes).await.unwrap();
        assert_eq!((response.status, response.headers.len(), &*response.body), (200, 1, &b"ok"[..]));
    }

    #[tokio::test]
    async fn each_framing_ends_where_it_says() {
        type Bytes = &'static [u8];
        let cases: [(&str, Bytes, Bytes, Bytes); 7] = [
            ("POST", b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nokHTTP", b"ok", b"HTTP"),
            (
                "POST",
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n2;x=y\r\nok\r\nA\r\n0123456789\r\n\
                  0\r\nx-sum: 1\r\n\r\nHTTP",
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

    #[tokio::test]
    async fn a_connection_carries_one_request_after_the_other() {
        let (address, serving) = receiver(async |mut stream: TcpStream| {
            for body in ["one", "two"] {
                until(&mut stream, body).await;
                stream.write_all(OK).await.unwrap();
            }
        })
        .await;
        let mut connection = Connection::open(address, SOON).await.unwrap();
        for body in ["one", "two"] {
            let response = connection.send(&Request::post("/").body(body)).await.unwrap();
            assert_eq!(response.body, b"ok");
        }
        serving.await.unwrap();
        let closed = connection.send(&Request::post("/")).await.unwrap_err();
        assert!(matches!(closed, ExchangeError::Closed { received: 0, .. }), "{closed:?}");
    }

    #[tokio::test]
    async fn an_early_response_leaves_the_connection_in_step() {
        let (address, serving) = receiver(async |mut stream: TcpStream| {
            stream.write_all(b"HTTP/1.1 413 No\r\ncontent-length: 0\r\n\r\n").await.unwrap();
            let both = until(&mut stream, "next").await;
            stream.write_all(OK).await.unwrap();
            both.contains("the endPOST / HTTP/1.1\r\n")
        })
        .await;
        let mut connection = Connection::open(address, SOON).await.unwrap();
        let mut long = vec![b'x'; 16 * 1024 * 1024];
        long.extend_from_slice(b"the end");
        assert_eq!(connection.send(&Request::post("/").body(long)).await.unwrap().status, 413);
        assert_eq!(connection.send(&Request::post("/").body("next")).await.unwrap().status, 200);
        assert!(serving.await.unwrap());
    }

    #[tokio::test]
    async fn a_connection_out_of_step_is_closed() {
        let (address, serving) = receiver(async |mut stream: TcpStream| {
            until(&mut stream, "ab").await;
            stream.write_all(OK).await.unwrap();
            stream.read(&mut [0; 8]).await.unwrap()
        })
        .await;
        let mut connection = Connection::open(address, SOON).await.unwrap();
        let request = Request::post("/").body("abcd").stop_after(2);
        assert_eq!(connection.send(&request).await.unwrap().status, 200);
        assert_eq!(serving.await.unwrap(), 0);
        let closed = connection.send(&Request::post("/")).await.unwrap_err();
        assert!(matches!(closed, ExchangeError::Closed { received: 0, source: None }));
        let closed = connection.start(&Request::post("/")).await.unwrap_err();
        assert!(matches!(closed, ExchangeError::Closed { received: 0, source: None }));
    }

    #[tokio::test]
    async fn a_started_request_can_be_hung_up_on() {
        let (address, serving) = receiver(async |mut stream: TcpStream| {
            until(&mut stream, "abcd").await;
            stream.read(&mut [0; 8]).await.unwrap()
        })
        .await;
        let mut connection = Connection::open(address, SOON).await.unwrap();
        connection.start(&Request::post("/").body("abcd")).await.unwrap();
        assert!(!serving.is_finished());
        drop(connection);
        assert_eq!(serving.await.unwrap(), 0);
    }

    #[tokio::test]
    async fn a_started_request_can_abort() {
        let (address, serving) =
            receiver(async |mut stream: TcpStream| stream.read_to_end(&mut Vec::new()).await.unwrap_err().kind()).await;
        let mut connection = Connection::open(address, SOON).await.unwrap();
        connection.start(&Request::post("/").body("abcd").abort_after(4)).await.unwrap();
        assert_eq!(serving.await.unwrap(), ErrorKind::ConnectionReset);
    }

    #[test]
    fn exchanges_can_be_spawned() {
        fn sendable(_: impl Send) {}
        let request = Request::post("/");
        sendable(send(([127, 0, 0, 1], 80).into(), &request, SOON));
    }
}
