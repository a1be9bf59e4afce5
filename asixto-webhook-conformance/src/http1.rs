//! HTTP/1.1 over a bare socket, or over TLS: the bytes that leave are the bytes of the [`Request`].

mod reader;

use core::{pin::pin, time::Duration};
use std::io;

use bytes::BytesMut;
use tokio::{
    io::{AsyncWrite, AsyncWriteExt, split},
    select,
    time::sleep,
};

use self::reader::read;
use crate::{
    peer::{Peer, Stream},
    request::{Ended, Request, Step},
    response::{Deadline, ExchangeError, Response},
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
pub async fn send(to: impl Into<Peer>, request: &Request, deadline: Duration) -> Result<Response, ExchangeError> {
    let whole = Deadline::new(deadline);
    let mut connection = Connection::connect(to.into(), deadline, whole).await?;
    connection.exchange(request, whole, Rest::Dropped).await
}

/// A connection that is kept for more than one request. Dropping it hangs up.
#[derive(Debug)]
pub struct Connection {
    peer: Peer,
    deadline: Duration,
    /// `None` once the two ends may disagree about where the next message begins.
    stream: Option<Stream>,
    buffer: BytesMut,
}

impl Connection {
    /// Connects within the deadline, which every later call on the connection gets anew.
    ///
    /// # Errors
    ///
    /// If the connection cannot be made in time.
    pub async fn open(to: impl Into<Peer>, deadline: Duration) -> Result<Self, ExchangeError> {
        Self::connect(to.into(), deadline, Deadline::new(deadline)).await
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

    /// Writes a request as far as its script goes, and does not wait for the response, so that the
    /// connection can be dropped in the middle of the handler. A later [`send`](Self::send) would
    /// take this request's response for its own.
    ///
    /// # Errors
    ///
    /// If the receiver closes, or does not take the request before the deadline.
    pub async fn start(&mut self, request: &Request) -> Result<(), ExchangeError> {
        let mut stream = self.take(request)?;
        let writing = write(&mut stream, request, self.peer.authority());
        match Deadline::new(self.deadline).within(writing).await? {
            Ok(Ended::Aborted) => {}
            Ok(Ended::Whole | Ended::Stopped) => self.stream = Some(stream),
            Err(source) => return Err(ExchangeError::closed(0, source)),
        }
        Ok(())
    }

    async fn connect(peer: Peer, deadline: Duration, first: Deadline) -> Result<Self, ExchangeError> {
        let stream = peer.connect(first, b"http/1.1").await?;
        Ok(Self { peer, deadline, stream: Some(stream), buffer: BytesMut::new() })
    }

    async fn exchange(&mut self, request: &Request, deadline: Deadline, rest: Rest) -> Result<Response, ExchangeError> {
        let mut stream = self.take(request)?;
        let (response, ended) = {
            let (reader, writer) = split(&mut stream);
            let mut writing = pin!(write(writer, request, self.peer.authority()));
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
    fn take(&mut self, request: &Request) -> Result<Stream, ExchangeError> {
        let closed = ExchangeError::Closed { received: 0, source: None };
        let stream = self.stream.take().ok_or(closed)?;
        if request.aborts() {
            stream.reset_on_drop();
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

async fn write(mut to: impl AsyncWrite + Unpin, request: &Request, authority: &str) -> io::Result<Ended> {
    let (steps, ended) = request.script();
    let mut bytes = head(request, authority);
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

fn head(request: &Request, authority: &str) -> Vec<u8> {
    let mut bytes = format!("{} {} HTTP/1.1\r\n", request.verb(), request.path()).into_bytes();
    if !request.names("host") {
        line(&mut bytes, "host", authority.as_bytes());
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

#[cfg(test)]
mod tests {
    use std::{io::ErrorKind, net::SocketAddr};

    use bytes::Bytes;
    use tokio::{
        io::{AsyncReadExt, duplex},
        net::{TcpListener, TcpSocket, TcpStream},
        task::JoinHandle,
        time::{Instant, timeout},
    };

    use super::*;

    /// Long enough to never pass in a test that works.
    const SOON: Duration = Duration::from_secs(20);
    const OK: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

    async fn written(request: &Request) -> String {
        let mut bytes = Vec::new();
        write(&mut bytes, request, "127.0.0.1:80").await.unwrap();
        bytes.escape_ascii().to_string().replace(r"\r\n", "\n")
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
        let writing = tokio::spawn(async move { write(far, &request, "127.0.0.1:80").await.unwrap() });
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
        sendable(send(SocketAddr::from(([127, 0, 0, 1], 80)), &request, SOON));
    }
}
