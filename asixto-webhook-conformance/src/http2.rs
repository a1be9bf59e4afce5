//! HTTP/2 without an upgrade: the client simply begins to speak it, or asks for it under TLS.
//!
//! Names go out in lower case, since HTTP/2 knows no other; a header that belongs to the connection
//! (`connection`, `transfer-encoding`) has no place in it and is refused with
//! [`ExchangeError::Http2`].

use core::{future::poll_fn, pin::pin, task::Poll, time::Duration};
use std::sync::Arc;

use bytes::Bytes;
use h2::{
    Reason, SendStream,
    client::{self, ResponseFuture, SendRequest},
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri, header::CONTENT_LENGTH};
use tokio::{select, task::yield_now, time::sleep};

use crate::{
    peer::Peer,
    request::{Ended, Request, Step},
    response::{Deadline, ExchangeError, HEAD_LIMIT, Response, body_size},
};

/// Sends a request over a connection of its own.
///
/// # Errors
///
/// If the connection cannot be made, if no whole response came before the deadline, if HTTP/2
/// cannot carry the request, or if the request aborts.
pub async fn send(to: impl Into<Peer>, request: &Request, deadline: Duration) -> Result<Response, ExchangeError> {
    let (peer, deadline) = (to.into(), Deadline::new(deadline));
    connected(&peer, deadline, |client| stream(client, request, &peer, deadline)).await?
}

/// Sends all requests at once over one connection, each on its own stream, and gives what came of
/// them in their order. A connection that cannot be made is the error of each.
pub async fn together(
    to: impl Into<Peer>,
    requests: &[Request],
    deadline: Duration,
) -> Vec<Result<Response, ExchangeError>> {
    let (peer, deadline) = (&to.into(), Deadline::new(deadline));
    let streams = |client: SendRequest<Bytes>| {
        let each = requests.iter();
        join(each.map(move |request| stream(client.clone(), request, peer, deadline)).collect())
    };
    match connected(peer, deadline, streams).await {
        Ok(results) => results,
        Err(error) => requests.iter().map(|_| Err(error.clone())).collect(),
    }
}

/// Does some work over a new connection.
async fn connected<F: Future>(
    peer: &Peer,
    deadline: Deadline,
    work: impl FnOnce(SendRequest<Bytes>) -> F,
) -> Result<F::Output, ExchangeError> {
    let socket = peer.connect(deadline, b"h2").await?;
    let mut builder = client::Builder::new();
    builder.enable_push(false).max_header_list_size(HEAD_LIMIT as u32);
    let (client, connection) = deadline.within(builder.handshake(socket)).await?.map_err(failed)?;
    let mut connection = pin!(connection);
    let mut work = pin!(work(client));
    let output = select! {
        biased;
        output = &mut work => output,
        // What came before the end can still be read.
        _ = &mut connection => return Ok(work.await),
    };
    // A reset may not have left yet.
    deadline.within(connection).await.ok();
    Ok(output)
}

async fn stream(
    client: SendRequest<Bytes>,
    request: &Request,
    peer: &Peer,
    deadline: Deadline,
) -> Result<Response, ExchangeError> {
    deadline.within(exchange(client, request, peer)).await?
}

async fn exchange(client: SendRequest<Bytes>, request: &Request, peer: &Peer) -> Result<Response, ExchangeError> {
    let head = head(request, peer)?;
    let (steps, ended) = request.script();
    let body = Body { steps, ended, trailers: fields(request.trailers())? };
    let mut client = client.ready().await.map_err(failed)?;
    let (response, mut stream) = client.send_request(head, body.is_empty()).map_err(failed)?;
    drop(client);
    let mut writing = pin!(write(&mut stream, body));
    let mut reading = pin!(read(response));
    select! {
        biased;
        written = &mut writing => match written {
            Ok(Ended::Aborted) => Err(ExchangeError::Aborted),
            // The receiver may refuse the rest of a request that it answered.
            _ => reading.await,
        },
        response = &mut reading => response,
    }
}

struct Body {
    steps: Vec<Step>,
    ended: Ended,
    trailers: HeaderMap,
}

impl Body {
    /// Whether the head already ends the stream.
    fn is_empty(&self) -> bool {
        self.steps.is_empty() && self.ends_with_data()
    }

    fn ends_with_data(&self) -> bool {
        self.ended == Ended::Whole && self.trailers.is_empty()
    }
}

async fn write(to: &mut SendStream<Bytes>, body: Body) -> Result<Ended, h2::Error> {
    let mut open = !body.is_empty();
    let ends_with_data = body.ends_with_data();
    let mut steps = body.steps.into_iter().peekable();
    while let Some(step) = steps.next() {
        match step {
            Step::Data(piece) => {
                open = !(ends_with_data && steps.peek().is_none());
                data(to, piece.bytes, !open).await?;
            }
            Step::Pause(pause) => sleep(pause).await,
        }
    }
    match body.ended {
        Ended::Whole if !open => {}
        Ended::Whole if ends_with_data => to.send_data(Bytes::new(), true)?,
        Ended::Whole => to.send_trailers(body.trailers)?,
        Ended::Stopped => {}
        Ended::Aborted => {
            // A reset overtakes what is queued: let the connection send that first.
            yield_now().await;
            to.send_reset(Reason::CANCEL);
        }
    }
    Ok(body.ended)
}

/// Sends one `DATA` frame, or more where the window is too small for one.
async fn data(to: &mut SendStream<Bytes>, mut bytes: Bytes, end: bool) -> Result<(), h2::Error> {
    to.reserve_capacity(bytes.len());
    while !bytes.is_empty() {
        let window = match to.capacity() {
            0 => match poll_fn(|cx| to.poll_capacity(cx)).await {
                Some(window) => window?,
                // The stream is closed: sending says so.
                None => bytes.len(),
            },
            window => window,
        };
        let part = bytes.split_to(window.min(bytes.len()));
        to.send_data(part, end && bytes.is_empty())?;
    }
    Ok(())
}

async fn read(response: ResponseFuture) -> Result<Response, ExchangeError> {
    let (head, mut stream) = response.await.map_err(failed)?.into_parts();
    let fields = head.headers.iter();
    let headers = fields.map(|(name, value)| (name.as_str().to_owned(), value.as_bytes().to_vec()));
    let mut body = Vec::new();
    while let Some(data) = stream.data().await {
        match data {
            Ok(data) => {
                body_size((body.len() + data.len()) as u64)?;
                body.extend_from_slice(&data);
                stream.flow_control().release_capacity(data.len()).map_err(failed)?;
            }
            Err(error) => return Err(failed_after(body.len(), error)),
        }
    }
    Ok(Response { status: head.status.as_u16(), headers: headers.collect(), body })
}

fn head(request: &Request, peer: &Peer) -> Result<http::Request<()>, ExchangeError> {
    let mut head = http::Request::new(());
    *head.method_mut() =
        Method::from_bytes(request.verb().as_bytes()).map_err(|_| unsendable("method", request.verb().as_bytes()))?;
    *head.uri_mut() = Uri::builder()
        .scheme(peer.scheme())
        .authority(peer.authority())
        .path_and_query(request.path())
        .build()
        .map_err(|_| unsendable("path", request.path().as_bytes()))?;
    *head.headers_mut() = fields(request.headers())?;
    if let Some(length) = request.length() {
        head.headers_mut().insert(CONTENT_LENGTH, length.into());
    }
    Ok(head)
}

fn fields(lines: &[(String, Vec<u8>)]) -> Result<HeaderMap, ExchangeError> {
    let mut fields = HeaderMap::new();
    for (name, value) in lines {
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| unsendable("header name", name.as_bytes()))?;
        let value = HeaderValue::from_bytes(value).map_err(|_| unsendable("header value", value))?;
        fields
            .try_append(name, value)
            .map_err(|_| ExchangeError::Unsendable { reason: format!("{} header lines", lines.len()) })?;
    }
    Ok(fields)
}

fn unsendable(what: &str, found: &[u8]) -> ExchangeError {
    ExchangeError::Unsendable { reason: format!("the {what} \"{}\"", found.escape_ascii()) }
}

fn failed(error: h2::Error) -> ExchangeError {
    failed_after(0, error)
}

fn failed_after(received: usize, error: h2::Error) -> ExchangeError {
    let code = error.reason().map(u32::from);
    if !error.is_io() {
        return ExchangeError::Http2 { code, source: Arc::new(error) };
    }
    ExchangeError::Closed { received, source: error.into_io().map(Arc::new) }
}

/// Awaits all futures at once.
async fn join<F: Future>(futures: Vec<F>) -> Vec<F::Output> {
    let start = |future| (Box::pin(future), None);
    let mut slots: Vec<_> = futures.into_iter().map(start).collect();
    poll_fn(|cx| {
        for (future, output) in slots.iter_mut().filter(|(_, output)| output.is_none()) {
            if let Poll::Ready(ready) = future.as_mut().poll(cx) {
                *output = Some(ready);
            }
        }
        match slots.iter().all(|(_, output)| output.is_some()) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    })
    .await;
    slots.into_iter().filter_map(|(_, output)| output).collect()
}

#[cfg(test)]
mod tests {
    use core::{
        net::SocketAddr,
        sync::atomic::{AtomicUsize, Ordering},
    };

    use h2::{
        RecvStream,
        server::{self, SendResponse},
    };
    use http::StatusCode;
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::{TcpListener, TcpSocket, TcpStream},
        sync::{Barrier, mpsc},
        time::timeout,
    };

    use super::*;

    /// Long enough to never pass in a test that works.
    const SOON: Duration = Duration::from_secs(20);

    type Arrived = http::Request<RecvStream>;
    type Reply = SendResponse<Bytes>;

    /// A receiver of one connection, with a task for each stream, and what these tasks found.
    async fn receiver<T: Send + 'static, F: Future<Output = T> + Send + 'static>(
        handle: impl Fn(Arrived, Reply) -> F + Send + 'static,
    ) -> (SocketAddr, mpsc::Receiver<T>) {
        let (found, founds) = mpsc::channel(8);
        let address = bare(async move |socket| {
            let mut connection = server::handshake(socket).await.unwrap();
            while let Some(Ok((request, reply))) = connection.accept().await {
                let (found, handling) = (found.clone(), handle(request, reply));
                tokio::spawn(async move {
                    found.send(timeout(SOON, handling).await.unwrap()).await.unwrap();
                });
            }
        })
        .await;
        (address, founds)
    }

    async fn bare<F: Future<Output = ()> + Send + 'static>(
        serve: impl FnOnce(TcpStream) -> F + Send + 'static,
    ) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            let (socket, _) = listener.accept().await.unwrap();
            timeout(SOON, serve(socket)).await.unwrap();
        });
        address
    }

    fn respond(reply: &mut Reply, status: u16, body: &'static str) -> SendStream<Bytes> {
        let mut head = http::Response::new(());
        *head.status_mut() = StatusCode::from_u16(status).unwrap();
        let mut stream = reply.send_response(head, false).unwrap();
        stream.send_data(body.into(), true).unwrap();
        stream
    }

    /// The frames of a body, until it ends or breaks.
    async fn frames(body: &mut RecvStream) -> Result<Vec<Bytes>, (Vec<Bytes>, h2::Error)> {
        let mut frames = Vec::new();
        while let Some(frame) = body.data().await {
            match frame {
                Ok(frame) => {
                    body.flow_control().release_capacity(frame.len()).unwrap();
                    frames.push(frame);
                }
                Err(error) => return Err((frames, error)),
            }
        }
        Ok(frames)
    }

    #[tokio::test]
    async fn a_request_meets_its_response() {
        let (address, mut found) = receiver(async |mut request: Arrived, mut reply: Reply| {
            let frames = frames(request.body_mut()).await.unwrap();
            respond(&mut reply, 201, "done");
            (request.map(drop), frames)
        })
        .await;
        let request = Request::post("/x?y=z")
            .header("X-Sig", "one")
            .header("x-SIG", "two")
            .header("X-Raw", vec![0xff])
            .body("abc");
        let response = send(address, &request, SOON).await.unwrap();
        let expected = Response { status: 201, headers: vec![], body: b"done".to_vec() };
        assert_eq!(response, expected);
        let (head, frames) = found.recv().await.unwrap();
        assert_eq!(head.method(), "POST");
        assert_eq!(head.uri(), &*format!("http://{address}/x?y=z"));
        let fields: Vec<_> = head.headers().iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
        let expected: [(&str, &[u8]); 4] =
            [("x-sig", b"one"), ("x-sig", b"two"), ("x-raw", &[0xff]), ("content-length", b"3")];
        assert_eq!(fields, expected);
        assert_eq!(frames, ["abc"]);
    }

    #[tokio::test]
    async fn an_empty_body_ends_with_the_head() {
        let (address, mut found) = receiver(async |request: Arrived, mut reply: Reply| {
            respond(&mut reply, 200, "");
            (request.body().is_end_stream(), request.headers().clone())
        })
        .await;
        send(address, &Request::post("/").method("GET").without_length(), SOON).await.unwrap();
        assert_eq!(found.recv().await.unwrap(), (true, HeaderMap::new()));
    }

    #[tokio::test]
    async fn frames_are_cut_as_given_and_trailers_follow() {
        let (address, mut found) = receiver(async |mut request: Arrived, mut reply: Reply| {
            let frames = frames(request.body_mut()).await.unwrap();
            let trailers = request.body_mut().trailers().await.unwrap().unwrap();
            respond(&mut reply, 200, "");
            (request.headers().clone(), frames, trailers)
        })
        .await;
        let request = Request::post("/")
            .chunked(vec!["abc".into(), "d".into()])
            .pause_after(2, Duration::from_millis(1))
            .trailer("X-Sum", "1");
        send(address, &request, SOON).await.unwrap();
        let (headers, frames, trailers) = found.recv().await.unwrap();
        assert_eq!(headers, HeaderMap::new());
        assert_eq!(frames, ["ab", "c", "d"]);
        assert_eq!(trailers["x-sum"], "1");
    }

    #[tokio::test]
    async fn a_body_ends_after_a_last_pause() {
        let (address, mut found) = receiver(async |mut request: Arrived, mut reply: Reply| {
            let frames = frames(request.body_mut()).await.unwrap();
            respond(&mut reply, 200, "");
            frames.concat()
        })
        .await;
        let request = Request::post("/").body("abc").pause_after(3, Duration::from_millis(1));
        send(address, &request, SOON).await.unwrap();
        assert_eq!(found.recv().await.unwrap(), b"abc");
    }

    #[tokio::test]
    async fn large_bodies_wait_for_the_window() {
        const LENGTH: usize = 1024 * 1024;
        let (address, mut found) = receiver(async |mut request: Arrived, mut reply: Reply| {
            let frames = frames(request.body_mut()).await.unwrap();
            let mut stream = reply.send_response(http::Response::new(()), false).unwrap();
            stream.send_data(vec![b'y'; LENGTH].into(), true).unwrap();
            frames.iter().map(Bytes::len).sum::<usize>()
        })
        .await;
        let response = send(address, &Request::post("/").body(vec![b'x'; LENGTH]), SOON).await;
        assert_eq!(response.unwrap().body.len(), LENGTH);
        assert_eq!(found.recv().await.unwrap(), LENGTH);
    }

    #[tokio::test]
    async fn a_response_beyond_the_limit_is_not_read() {
        let (address, _found) = receiver(async |_: Arrived, mut reply: Reply| {
            let mut stream = reply.send_response(http::Response::new(()), false).unwrap();
            stream.send_data(vec![b'y'; 1024 * 1024 + 1].into(), true).unwrap();
        })
        .await;
        let error = send(address, &Request::post("/"), SOON).await.unwrap_err();
        assert!(matches!(error, ExchangeError::Malformed { .. }), "{error:?}");
    }

    #[tokio::test]
    async fn a_stop_leaves_the_stream_open_for_the_response() {
        let (address, mut found) = receiver(async |mut request: Arrived, mut reply: Reply| {
            let frame = request.body_mut().data().await.unwrap().unwrap();
            let open = !request.body().is_end_stream();
            respond(&mut reply, 408, "slow");
            (frame, open)
        })
        .await;
        let request = Request::post("/").body("abcd").stop_after(2);
        assert_eq!(send(address, &request, SOON).await.unwrap().status, 408);
        assert_eq!(found.recv().await.unwrap(), ("ab".into(), true));
    }

    #[tokio::test]
    async fn an_abort_resets_the_stream_after_its_bytes() {
        let (address, mut found) =
            receiver(async |mut request: Arrived, _reply: Reply| frames(request.body_mut()).await.unwrap_err()).await;
        let request = Request::post("/").body("abcd").abort_after(2);
        let aborted = send(address, &request, SOON).await.unwrap_err();
        assert!(matches!(aborted, ExchangeError::Aborted), "{aborted:?}");
        let (frames, error) = found.recv().await.unwrap();
        assert_eq!(frames, ["ab"]);
        assert_eq!(error.reason(), Some(Reason::CANCEL));
    }

    #[tokio::test]
    async fn an_abort_waits_for_the_window() {
        let (address, mut found) = receiver(async |mut request: Arrived, _reply: Reply| {
            let (frames, _) = frames(request.body_mut()).await.unwrap_err();
            frames.concat().len()
        })
        .await;
        let request = Request::post("/").body(vec![b'x'; 300_000]).abort_after(200_000);
        let aborted = send(address, &request, SOON).await.unwrap_err();
        assert!(matches!(aborted, ExchangeError::Aborted), "{aborted:?}");
        assert_eq!(found.recv().await.unwrap(), 200_000);
    }

    #[tokio::test]
    async fn a_refusal_in_the_middle_of_the_body_is_read() {
        let (address, _found) = receiver(async |_: Arrived, mut reply: Reply| {
            respond(&mut reply, 413, "big");
            // Dropping an unread request after its response resets it with NO_ERROR.
        })
        .await;
        let request = Request::post("/").body(vec![b'x'; 1024 * 1024]);
        let response = send(address, &request, SOON).await.unwrap();
        assert_eq!((response.status, &*response.body), (413, &b"big"[..]));
    }

    #[tokio::test]
    async fn a_reset_by_the_receiver_keeps_its_code() {
        let (address, _found) = receiver(async |_: Arrived, mut reply: Reply| {
            reply.send_reset(Reason::REFUSED_STREAM);
        })
        .await;
        let error = send(address, &Request::post("/"), SOON).await.unwrap_err();
        assert!(matches!(error, ExchangeError::Http2 { code: Some(7), .. }), "{error:?}");
    }

    #[tokio::test]
    async fn interim_responses_are_skipped() {
        let (address, _found) = receiver(async |_: Arrived, mut reply: Reply| {
            let mut interim = http::Response::new(());
            *interim.status_mut() = StatusCode::CONTINUE;
            reply.send_informational(interim).unwrap();
            respond(&mut reply, 200, "ok");
        })
        .await;
        let response = send(address, &Request::post("/"), SOON).await.unwrap();
        assert_eq!((response.status, &*response.body), (200, &b"ok"[..]));
    }

    #[tokio::test]
    async fn silence_times_out() {
        let address = bare(async |mut socket: TcpStream| {
            socket.read_to_end(&mut Vec::new()).await.ok();
        })
        .await;
        let after = Duration::from_millis(50);
        let error = send(address, &Request::post("/"), after).await.unwrap_err();
        assert!(matches!(error, ExchangeError::TimedOut { after: found } if found == after));
    }

    #[tokio::test]
    async fn a_close_before_the_response() {
        let address = bare(async |mut socket: TcpStream| {
            socket.read_exact(&mut [0; 24]).await.unwrap();
        })
        .await;
        let error = send(address, &Request::post("/"), SOON).await.unwrap_err();
        assert!(matches!(error, ExchangeError::Closed { received: 0, source: Some(_) }), "{error:?}");
    }

    #[tokio::test]
    async fn a_receiver_that_does_not_speak_it() {
        let address = bare(async |mut socket: TcpStream| {
            socket.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
            socket.read_to_end(&mut Vec::new()).await.ok();
        })
        .await;
        let error = send(address, &Request::post("/"), SOON).await.unwrap_err();
        assert!(matches!(error, ExchangeError::Http2 { code: Some(_), .. }), "{error:?}");
    }

    #[tokio::test]
    async fn streams_run_at_once_and_keep_their_order() {
        let barrier = Arc::new(Barrier::new(3));
        let peak = Arc::new(AtomicUsize::new(0));
        let counted = peak.clone();
        let (address, mut found) = receiver(move |mut request: Arrived, mut reply: Reply| {
            let (barrier, peak) = (barrier.clone(), counted.clone());
            async move {
                peak.fetch_add(1, Ordering::SeqCst);
                barrier.wait().await;
                match frames(request.body_mut()).await {
                    Ok(frames) => {
                        let status = str::from_utf8(&frames.concat()).unwrap().parse().unwrap();
                        respond(&mut reply, status, "");
                    }
                    Err((_, error)) => assert_eq!(error.reason(), Some(Reason::CANCEL)),
                }
            }
        })
        .await;
        let requests = [
            Request::post("/").body("201"),
            Request::post("/").body("202").abort_after(1),
            Request::post("/").body("203"),
        ];
        let results = together(address, &requests, SOON).await;
        let [Ok(first), Err(ExchangeError::Aborted), Ok(last)] = results.as_slice() else {
            panic!("{results:?}");
        };
        assert_eq!((first.status, last.status), (201, 203));
        assert_eq!(peak.load(Ordering::SeqCst), 3);
        for _ in &requests {
            found.recv().await.unwrap();
        }
    }

    #[tokio::test]
    async fn one_silent_stream_leaves_the_others_their_responses() {
        let (address, _found) = receiver(async |request: Arrived, mut reply: Reply| {
            if request.uri().path() == "/silent" {
                core::future::pending::<()>().await;
            }
            respond(&mut reply, 200, "");
        })
        .await;
        let requests = [Request::post("/silent"), Request::post("/")];
        let results = together(address, &requests, Duration::from_millis(300)).await;
        let [Err(ExchangeError::TimedOut { .. }), Ok(_)] = results.as_slice() else {
            panic!("{results:?}");
        };
    }

    #[tokio::test]
    async fn nobody_at_the_address_fails_each() {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(([127, 0, 0, 1], 0).into()).unwrap();
        let requests = [Request::post("/"), Request::post("/")];
        let results = together(socket.local_addr().unwrap(), &requests, SOON).await;
        let [Err(ExchangeError::Connect { .. }), Err(ExchangeError::Connect { .. })] = results.as_slice() else {
            panic!("{results:?}");
        };
    }

    #[tokio::test]
    async fn what_http2_cannot_say_is_not_sent() {
        let (address, _found) = receiver(async |_: Arrived, _: Reply| ()).await;
        let requests = [
            (Request::post("/").method("A B"), r#"the method "A B""#),
            (Request::post("/a b"), r#"the path "/a b""#),
            (Request::post("/").header("a b", "c"), r#"the header name "a b""#),
            (Request::post("/").header("a", "b\n"), r#"the header value "b\n""#),
        ];
        let (requests, reasons): (Vec<_>, Vec<_>) = requests.into_iter().unzip();
        let results = together(address, &requests, SOON).await;
        for (result, expected) in results.into_iter().zip(reasons) {
            match result.unwrap_err() {
                ExchangeError::Unsendable { reason } => assert_eq!(reason, expected),
                other => panic!("{other:?}"),
            }
        }
    }

    #[tokio::test]
    async fn a_header_of_the_connection_is_refused() {
        let (address, _found) = receiver(async |_: Arrived, _: Reply| ()).await;
        let request = Request::post("/").header("connection", "close");
        let error = send(address, &request, SOON).await.unwrap_err();
        assert!(matches!(error, ExchangeError::Http2 { code: None, .. }), "{error:?}");
    }

    #[test]
    fn exchanges_can_be_spawned() {
        fn sendable(_: impl Send) {}
        let request = Request::post("/");
        sendable(send(SocketAddr::from(([127, 0, 0, 1], 80)), &request, SOON));
        sendable(together(SocketAddr::from(([127, 0, 0, 1], 80)), &[], SOON));
    }
}
