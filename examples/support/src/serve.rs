//! A server for what is a service and brings none: hyper, over HTTP/1.1 and HTTP/2 without TLS.

use std::{convert::Infallible, error::Error as StdError, pin::pin, sync::Arc, time::Duration};

use http::{Request, Response};
use http_body::Body;
use hyper::body::Incoming;
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::{conn::auto, graceful::GracefulShutdown},
    service::TowerToHyperService,
};
use tokio::{
    net::TcpListener,
    sync::Notify,
    time::{sleep, timeout},
};
use tower::{Service, ServiceExt};
use tracing::{debug, warn};

use crate::Error;

/// Serves until `stop`, and then for another 15 seconds at most, until what had begun is answered.
///
/// # Errors
/// Where the listener is of no use.
pub async fn serve<S, B>(
    listener: std::net::TcpListener,
    service: S,
    stop: impl Future<Output = ()>,
) -> Result<(), Error>
where
    S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible> + Clone + Send + 'static,
    S::Future: Send + 'static,
    B: Body<Data: Send, Error: Into<Box<dyn StdError + Send + Sync>>> + Send + 'static,
{
    let listener = TcpListener::from_std(listener)?;
    let mut server = auto::Builder::new(TokioExecutor::new());
    // Without these a sender could hold a connection open and never send a request.
    server.http1().timer(TokioTimer::new()).header_read_timeout(Duration::from_secs(5));
    server.http2().timer(TokioTimer::new()).keep_alive_interval(Duration::from_secs(20));
    let connections = GracefulShutdown::new();
    let mut stop = pin!(stop);
    loop {
        let accepted = tokio::select! { accepted = listener.accept() => accepted, () = &mut stop => break };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                // Too many files are open, say: that passes.
                warn!("no connection: {error}");
                sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let requested = Arc::new(Notify::new());
        let service = service.clone().map_request({
            let requested = requested.clone();
            move |request| {
                requested.notify_one();
                request
            }
        });
        let connection = server.serve_connection(TokioIo::new(stream), TowerToHyperService::new(service)).into_owned();
        let connection = connections.watch(connection);
        tokio::spawn(async move {
            let mut connection = pin!(connection);
            // Nor has hyper a limit to how long it waits for the version of HTTP.
            let in_time = timeout(Duration::from_secs(10), requested.notified());
            let ended = tokio::select! {
                ended = &mut connection => ended,
                first = in_time => match first {
                    Ok(()) => connection.await,
                    Err(_) => return,
                },
            };
            if let Err(error) = ended {
                debug!("a connection broke: {error}");
            }
        });
    }
    drop(listener);
    if timeout(Duration::from_secs(15), connections.shutdown()).await.is_err() {
        warn!("not every connection has ended");
    }
    Ok(())
}
