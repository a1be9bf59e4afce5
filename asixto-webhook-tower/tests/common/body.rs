//! A request body that does what it is told.

use std::{
    collections::VecDeque,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue};
use http_body::{Body, Frame, SizeHint};

/// What a body does when it is polled.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    Data(Bytes),
    Trailers,
    Error,
    /// Nothing for ever.
    Never,
    /// This again and again, as long as it is asked.
    Endless(Box<Step>),
}

#[derive(Debug)]
pub(crate) struct Scripted {
    steps: VecDeque<Step>,
    hint: SizeHint,
    polls: Arc<AtomicUsize>,
}

/// It broke off.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Reset;

impl Scripted {
    pub(crate) fn new(steps: impl IntoIterator<Item = Step>) -> Self {
        Self { steps: steps.into_iter().collect(), hint: SizeHint::default(), polls: Arc::default() }
    }

    /// `bytes` in pieces of `size`.
    pub(crate) fn pieces(bytes: &[u8], size: usize) -> Self {
        Self::new(bytes.chunks(size).map(|chunk| Step::Data(Bytes::copy_from_slice(chunk))))
    }

    /// Says that it is so long, whatever it is.
    pub(crate) fn claiming(mut self, hint: SizeHint) -> Self {
        self.hint = hint;
        self
    }

    /// Says that it is exactly so long, whatever it is.
    pub(crate) fn announcing(self, length: u64) -> Self {
        self.claiming(SizeHint::with_exact(length))
    }

    /// How often it has been polled.
    pub(crate) fn polls(&self) -> Arc<AtomicUsize> {
        Arc::clone(&self.polls)
    }
}

impl Body for Scripted {
    type Data = Bytes;
    type Error = Reset;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Reset>>> {
        let polls = self.polls.fetch_add(1, Ordering::SeqCst);
        let step = match self.steps.pop_front() {
            Some(Step::Endless(step)) => {
                // So that a test which fails ends as well.
                if polls < 2_000_000 {
                    self.steps.push_front(Step::Endless(step.clone()));
                }
                Some(*step)
            }
            step => step,
        };
        match step {
            None => Poll::Ready(None),
            Some(Step::Data(chunk)) => Poll::Ready(Some(Ok(Frame::data(chunk)))),
            Some(Step::Trailers) => {
                let trailers = HeaderMap::from_iter([(http::header::ETAG, HeaderValue::from_static("1"))]);
                Poll::Ready(Some(Ok(Frame::trailers(trailers))))
            }
            Some(Step::Error) => Poll::Ready(Some(Err(Reset))),
            Some(step @ (Step::Never | Step::Endless(_))) => {
                self.steps.push_front(step);
                Poll::Pending
            }
        }
    }

    fn size_hint(&self) -> SizeHint {
        self.hint
    }
}
