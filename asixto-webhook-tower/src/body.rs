//! The raw body of a request, chunk by chunk.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::{Buf, Bytes};
use http_body::Body;

/// The next chunk of data. Trailers end it: what comes in them is not signed, and nobody looks.
pub(crate) fn poll_chunk<B: Body>(
    mut body: Pin<&mut B>,
    cx: &mut Context<'_>,
) -> Poll<Option<Result<Bytes, B::Error>>> {
    loop {
        match ready!(body.as_mut().poll_frame(cx)) {
            None => return Poll::Ready(None),
            Some(Err(error)) => return Poll::Ready(Some(Err(error))),
            Some(Ok(frame)) => {
                if let Ok(mut data) = frame.into_data() {
                    return Poll::Ready(Some(Ok(data.copy_to_bytes(data.remaining()))));
                }
            }
        }
    }
}
