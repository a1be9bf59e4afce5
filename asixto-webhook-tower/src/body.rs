//! The raw body of a request, chunk by chunk.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::{Buf, Bytes};
use http_body::Body;

/// The next chunk of data. Trailers are none of it: what comes in them is not signed, and nobody looks.
pub(crate) fn poll_chunk<B: Body>(body: Pin<&mut B>, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, B::Error>>> {
    Poll::Ready(ready!(body.poll_frame(cx)).map(|frame| {
        // Empty rather than skipped here, so that the deadline holds for a body that has nothing else, without end.
        frame.map(|frame| {
            frame.into_data().map_or_else(|_| Bytes::new(), |mut data| data.copy_to_bytes(data.remaining()))
        })
    }))
}
