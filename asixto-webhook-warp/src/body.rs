//! The raw body of a request, as long as its head says.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Buf;
use futures_core::Stream;
use http::{HeaderMap, header::CONTENT_LENGTH};
use http_body::{Body, Frame, SizeHint};

/// A stream of chunks. It says the length that was announced, so that one over the limit is refused before a byte.
pub(crate) struct RawBody<S> {
    chunks: S,
    announced: Option<u64>,
}

impl<S> RawBody<S> {
    pub(crate) fn new(chunks: S, headers: &HeaderMap) -> Self {
        let announced = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
        Self { chunks, announced }
    }
}

impl<S, D, E> Body for RawBody<S>
where
    S: Stream<Item = Result<D, E>> + Unpin,
    D: Buf,
{
    type Data = D;
    type Error = E;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<D>, E>>> {
        Pin::new(&mut self.chunks).poll_next(cx).map_ok(Frame::data)
    }

    fn size_hint(&self) -> SizeHint {
        self.announced.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}
