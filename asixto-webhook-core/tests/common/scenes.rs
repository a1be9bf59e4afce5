//! One delivery for each outcome.

use std::time::Duration;

use asixto_webhook_core::{Accepted, Answer, BodyFault, Bytes, Delivery, Environment, Held, Outcome, ReceiverBuilder};

use super::{
    FORGED_SECRET, ID, Lines, NOW, answered, block_on, builder, deliver, envelope, envelope_in,
    fakes::{FakeInbox, FakeSource, FakeStore, Found, Says},
    known, post, processed, secrets, settle, signed, signed_at,
};

/// Ends a delivery of the id [`ID`] in `outcome`, at a receiver that `configure` has the last word on.
pub(crate) fn play(outcome: Outcome, configure: impl FnOnce(ReceiverBuilder) -> ReceiverBuilder) -> Answer {
    let body = Bytes::from(envelope(ID));
    let good = signed(&known(), &body);
    let receiver = |builder: ReceiverBuilder| configure(builder).build().unwrap();
    // For whatever ends before the store: one that is asked all the same panics.
    let storeless = || builder().dedup(FakeStore::untouched());
    let with = |store: FakeStore| builder().dedup(store);
    match outcome {
        Outcome::MethodNotAllowed => {
            let receiver = receiver(storeless());
            answered(block_on(receiver.admit(Delivery::new("GET", &good, body))))
        }
        Outcome::BodyTooLarge => receiver(storeless()).broken_body(None, &good, &body, BodyFault::TooLarge),
        Outcome::BodyTimeout => receiver(storeless()).broken_body(None, &good, &body, BodyFault::Timeout),
        Outcome::BodyAborted => receiver(storeless()).broken_body(None, &good, &body, BodyFault::Aborted),
        Outcome::MissingHeader => answered(post(&receiver(storeless()), &Lines::new(), body)),
        Outcome::RepeatedHeader => answered(post(&receiver(storeless()), &[good.clone(), good].concat(), body)),
        Outcome::MalformedHeader => answered(post(&receiver(storeless()), &[("asixto-signature", "t=1")], body)),
        Outcome::NoSecret => answered(post(&receiver(storeless().secrets(FakeSource::new(Says::Fails))), &good, body)),
        Outcome::SignatureMismatch => {
            answered(post(&receiver(storeless()), &signed(&secrets("forged", FORGED_SECRET), &body), body))
        }
        Outcome::OutsideWindow => answered(post(&receiver(storeless()), &signed_at(&known(), NOW - 301, &body), body)),
        Outcome::InvalidEnvelope => {
            let body = format!(r#"{{"id":"{ID}","type":"job.succeeded"}}"#);
            answered(deliver(&receiver(storeless()), body))
        }
        Outcome::WrongEnvironment => {
            let receiver = receiver(storeless().environment(Environment::Live));
            answered(deliver(&receiver, envelope_in("test", ID)))
        }
        Outcome::StoreUnavailable => answered(deliver(&receiver(with(FakeStore::default().claim(Says::Fails))), body)),
        Outcome::Stored => {
            answered(deliver(&receiver(builder().inbox(FakeInbox::new(Says::This(Accepted::Stored)))), body))
        }
        // Asixto has no nonces, but an inbox can say so all the same.
        Outcome::NonceReused => {
            answered(deliver(&receiver(builder().inbox(FakeInbox::new(Says::This(Accepted::NonceReused)))), body))
        }
        Outcome::Duplicate => {
            answered(deliver(&receiver(with(FakeStore::default().claim(Says::This(Found::Done)))), body))
        }
        Outcome::Conflict => {
            answered(deliver(&receiver(with(FakeStore::default().claim(Says::This(Found::Conflict)))), body))
        }
        Outcome::InFlight => {
            let found = Found::InFlight(Duration::from_secs(12));
            answered(deliver(&receiver(with(FakeStore::default().claim(Says::This(found)))), body))
        }
        Outcome::Processed => settle(&receiver(with(FakeStore::fresh().commit(Says::This(Held::Yes)))), 204).0,
        Outcome::HandlerFailed => settle(&receiver(with(FakeStore::fresh().release(Says::This(Held::Yes)))), 422).0,
        Outcome::HandlerSlow => {
            let receiver = receiver(with(FakeStore::fresh()));
            let (_, ticket) = processed(deliver(&receiver, body));
            receiver.slow(&ticket)
        }
        unknown => panic!("no scene ends in {unknown}"),
    }
}
