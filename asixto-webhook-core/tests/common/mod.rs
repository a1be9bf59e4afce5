//! What the tests of this crate share: deliveries, fakes whose every answer is scripted, and a log that is read back.
#![allow(dead_code, reason = "each test file is a crate of its own and uses a part of this")]

pub(crate) mod capture;
pub(crate) mod fakes;
pub(crate) mod scenes;

use std::{
    future::Future,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
};

use asixto_webhook_core::{
    Admission, Answer, Bytes, Delivery, Event, HeaderLines, Outcome, Provider, Receiver, ReceiverBuilder, Secret,
    SecretSet, Ticket, UnixTime, provider::Message, sign, testing::ManualClock,
};

/// The receiver's present time.
pub(crate) const NOW: u64 = 1_787_923_200;

pub(crate) const SECRET: &str = "whsec_Qx7Lr2Vn9TbKd4Wm8HsYc3Jf6PzGa1Ue";
pub(crate) const NEW_SECRET: &str = "whsec_m5RkZt0oXw3EiNq8ByDv6UhSj2LgCf7A";
pub(crate) const FORGED_SECRET: &str = "whsec_W1pO9aIuYeTr4QsDfGhJk6LzXcVb8NmM";

pub(crate) const ID: &str = "evt_3f1c9a70-4e0b";
pub(crate) const TYPE: &str = "job.succeeded";

/// The customer's: stands in `data`, and nowhere outside the body.
pub(crate) const MARKER: &str = "customer-confidential-8c1f";

/// `body` and blanks behind it, `size` bytes in all: no other JSON than before.
pub(crate) fn padded(body: &str, size: usize) -> String {
    body.to_owned() + &" ".repeat(size - body.len())
}

/// One secret, labelled.
pub(crate) fn secrets(label: &str, issued: &str) -> SecretSet {
    Secret::new(label, issued).unwrap().into()
}

/// The secret that every receiver here has unless a test says otherwise.
pub(crate) fn known() -> SecretSet {
    secrets("current", SECRET)
}

/// A valid envelope of `environment`.
pub(crate) fn envelope_in(environment: &str, id: &str) -> String {
    format!(
        r#"{{"id":"{id}","type":"{TYPE}","created":1787923100,"environment":"{environment}","data":{{"job_id":"j1","operation":"chat","status":"succeeded","credits_charged":3,"error_code":null,"result":{{"text":"{MARKER}"}}}}}}"#
    )
}

/// A valid envelope.
pub(crate) fn envelope(id: &str) -> String {
    envelope_in("live", id)
}

pub(crate) type Lines = Vec<(String, String)>;

/// The header of `body` signed at `at`.
pub(crate) fn signed_at(secrets: &SecretSet, at: u64, body: impl AsRef<[u8]>) -> Lines {
    vec![("Asixto-Signature".into(), sign(secrets, UnixTime::from_secs(at), body.as_ref()))]
}

/// The header of `body`, signed now.
pub(crate) fn signed(secrets: &SecretSet, body: impl AsRef<[u8]>) -> Lines {
    signed_at(secrets, NOW, body)
}

/// A clock that stands at [`NOW`].
pub(crate) fn clock() -> ManualClock {
    ManualClock::new(UnixTime::from_secs(NOW))
}

/// A receiver of [`known`] secrets at [`NOW`]: a place for its events is yet to be given.
pub(crate) fn builder() -> ReceiverBuilder {
    Receiver::builder().secrets(known()).clock(clock())
}

/// A receiver of `provider` with these secrets at [`NOW`]: a place for its events is yet to be given.
pub(crate) fn builder_of<P: Provider>(provider: &P, secrets: &SecretSet<P>) -> ReceiverBuilder<P> {
    Receiver::builder_for(provider.clone()).secrets(secrets.clone()).clock(clock())
}

/// One secret of a provider, labelled.
pub(crate) fn secrets_of<P: Provider>(label: &str, issued: &str) -> SecretSet<P> {
    Secret::issued(label, issued).unwrap().into()
}

/// The headers that `provider` puts on `body` at `at`, under this identifier or nonce.
pub(crate) fn headers_at<P: Provider>(
    provider: &P,
    secrets: &SecretSet<P>,
    at: u64,
    id: &str,
    body: impl AsRef<[u8]>,
) -> Lines {
    let message = Message::new(UnixTime::from_secs(at), body.as_ref()).with_id(id);
    let headers = provider.sign(secrets, message);
    headers.into_iter().map(|(name, value)| (name.into_owned(), value)).collect()
}

/// Has `receiver` admit a body with these headers.
pub(crate) fn post<P: Provider>(
    receiver: &Receiver<P>,
    headers: &dyn HeaderLines,
    body: impl Into<Bytes>,
) -> Admission<P> {
    block_on(receiver.admit(Delivery::new("POST", headers, body.into())))
}

/// The outcome of an answer, with its status.
#[track_caller]
pub(crate) fn outcome<P: Provider>(admission: Admission<P>) -> (Outcome, u16) {
    let answer = answered(admission);
    (answer.outcome(), answer.status())
}

/// Has `receiver` admit a body that is properly signed.
pub(crate) fn deliver(receiver: &Receiver, body: impl Into<Bytes>) -> Admission {
    let body = body.into();
    post(receiver, &signed(&known(), &body), body)
}

/// Has `receiver` process a delivery whose handler answers `status`: what is answered then, and whether a commit is
/// still to be made.
pub(crate) fn settle(receiver: &Receiver, status: u16) -> (Answer, bool) {
    let (_, ticket) = processed(deliver(receiver, envelope(ID)));
    let settled = block_on(receiver.settle(ticket, status));
    (settled.answer, settled.uncommitted.is_some())
}

/// The event that is to be processed.
#[track_caller]
pub(crate) fn processed<P: Provider>(admission: Admission<P>) -> (Event<P>, Ticket<P>) {
    match admission {
        Admission::Process(event, ticket) => (event, ticket),
        Admission::Answer(answer) => panic!("answered {answer:?} instead of processing"),
    }
}

/// The answer that was given instead.
#[track_caller]
pub(crate) fn answered<P: Provider>(admission: Admission<P>) -> Answer {
    match admission {
        Admission::Answer(answer) => answer,
        Admission::Process(event, _) => panic!("processed {event:?} instead of answering"),
    }
}

/// An answer's headers, in a form that is easy to compare.
pub(crate) fn headers(answer: &Answer) -> Vec<(&'static str, String)> {
    answer.headers().map(|(name, value)| (name, value.into_owned())).collect()
}

/// Runs a future to its end on this thread. Fakes wake at once or never, so one that waits in vain fails the test
/// instead of hanging it.
#[track_caller]
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    struct Woken(AtomicBool);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.store(true, Ordering::SeqCst);
        }
    }

    let woken = Arc::new(Woken(AtomicBool::new(true)));
    let waker = Waker::from(Arc::clone(&woken));
    let mut future = pin!(future);
    while woken.0.swap(false, Ordering::SeqCst) {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
    }
    panic!("nothing will ever wake this future");
}

/// Numbers that look random and are the same on every run (SplitMix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`, or 0.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % (bound.max(1) as u64)).unwrap()
    }
}
