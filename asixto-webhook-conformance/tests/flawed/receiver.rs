//! A receiver that shares no line with the library, and is right unless it is told to be wrong.

use std::{
    io::{self, Read},
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::SeqCst},
    },
    time::Duration,
};

use flate2::read::GzDecoder;
use sha2::{Digest, Sha256};
use tokio::{net::TcpListener, task::AbortHandle, time::sleep};

use crate::{
    envelope::{self, Envelope},
    flaw::{Flaw, Flawed},
    http::{Answer, BodyFault, Connection, Head},
    memory::{Memory, State},
    senders::{self, Sender},
    signature::{self, Refusal},
};

pub(crate) const PATH: &str = "/webhooks/asixto";
pub(crate) const SECRETS: [&str; 2] =
    ["whsec_dGhlIG9sZCBzZWNyZXQgb2YgYSByZWNlaXZlcg", "whsec_dGhlIG5ldyBzZWNyZXQgb2YgYSByZWNlaXZlcg"];

/// How long the work takes: so long that copies sent at once meet.
const WORK: Duration = Duration::from_millis(30);

#[derive(Debug)]
struct Receiver {
    flawed: Flawed,
    memory: Memory,
    /// How many deliveries are being answered, and how many have been.
    present: AtomicU64,
    past: AtomicU64,
    latest: AtomicU64,
    worn_out: AtomicBool,
}

/// Starts a receiver on a free port. It ends with the runtime, or when it is told to.
pub(crate) async fn start(flawed: Flawed) -> (SocketAddr, AbortHandle) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let receiver = Arc::new(Receiver {
        flawed,
        memory: Memory::default(),
        present: AtomicU64::default(),
        past: AtomicU64::default(),
        latest: AtomicU64::default(),
        worn_out: AtomicBool::default(),
    });
    let accepting = tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (receiver, mut connection) = (receiver.clone(), Connection::new(stream, flawed));
            let serving = tokio::spawn(async move { while receiver.serve(&mut connection).await.is_ok() {} });
            if flawed.has(Flaw::OneAtATime) {
                _ = serving.await;
            }
        }
    });
    (address, accepting.abort_handle())
}

impl Receiver {
    /// One request, from its first byte to the answer.
    async fn serve(self: &Arc<Self>, connection: &mut Connection) -> io::Result<()> {
        let mut head = connection.head().await?;
        let (answer, close) = match self.early(&head) {
            Some(answer) => (answer, true),
            None => match connection.body(&mut head).await {
                Ok(body) if self.flawed.has(Flaw::DoneFirst) => tokio::select! {
                    answer = self.answer(&head, body) => (answer, false),
                    () = connection.gone() => return Err(io::ErrorKind::ConnectionAborted.into()),
                },
                Ok(body) => (self.answer(&head, body).await, false),
                Err(BodyFault::Refused(status)) => (Answer::new(status), true),
                Err(BodyFault::Gone(part)) => {
                    self.broken_off(&part);
                    return Err(io::ErrorKind::ConnectionAborted.into());
                }
            },
        };
        connection.answer(&answer, close).await
    }

    /// What is answered without reading the body.
    fn early(&self, head: &Head) -> Option<Answer> {
        let path = head.path.split('?').next();
        match (head.method.as_str(), path, self.flawed.0) {
            ("GET", Some("/events"), _) => Some(Answer { body: self.memory.events(), ..Answer::new(200) }),
            (_, Some(PATH), Some(Flaw::Moved)) => Some(Answer::new(308).with("location: /webhooks\r\n")),
            ("POST", Some(PATH), _) | (_, Some(PATH), Some(Flaw::AnyMethod)) => None,
            (_, Some(PATH), Some(Flaw::MethodNotFound)) => Some(Answer::new(404)),
            (_, Some(PATH), _) => Some(Answer::new(405).with("allow: POST\r\n")),
            (_, Some("/webhooks/asixto/"), Some(Flaw::RedirectsSlash)) => {
                Some(Answer::new(308).with("location: /webhooks/asixto\r\n"))
            }
            (_, _, Some(Flaw::GoneElsewhere)) => Some(Answer::new(410)),
            _ => Some(Answer::new(404)),
        }
    }

    async fn answer(self: &Arc<Self>, head: &Head, body: Vec<u8>) -> Answer {
        let present = self.present.fetch_add(1, SeqCst);
        let answer = match self.admit(head, body) {
            Ok((key, envelope)) => {
                let dies = match self.flawed.0 {
                    Some(Flaw::Overloaded) => present > 10,
                    Some(Flaw::JobsAlone) => !envelope.event_type.starts_with("job."),
                    _ => false,
                };
                let answer = self.process(key, envelope).await;
                if dies { Answer::new(500) } else { answer }
            }
            Err(answer) => answer,
        };
        self.present.fetch_sub(1, SeqCst);
        if present > 30 {
            self.worn_out.store(true, SeqCst);
        }
        if self.past.fetch_add(1, SeqCst) % 16 == 15 && self.flawed.has(Flaw::Stalls) {
            sleep(Duration::from_millis(10_500)).await;
        }
        answer
    }

    /// From the body to the envelope. B11
    fn admit(&self, head: &Head, mut body: Vec<u8>) -> Result<(String, Envelope), Answer> {
        let flawed = self.flawed;
        let json = head.header("content-type").is_some_and(|content| content.starts_with("application/json"));
        if flawed.has(Flaw::NeedsJsonType) && !json {
            return Err(Answer::new(415));
        }
        if flawed.has(Flaw::InflatesFirst) {
            body = inflated(head, body)?;
        }
        if flawed.has(Flaw::ReadsText) {
            body = String::from_utf8_lossy(&body).replace("\r\n", "\n").into_bytes();
        }
        let unverified = envelope::open(&body, flawed);
        if unverified.is_none() && flawed.has(Flaw::ParsesFirst) {
            return Err(Answer::new(422));
        }
        if let Some(Envelope { id, .. }) = unverified
            && flawed.has(Flaw::ClaimsFirst)
            && self.memory.claim(&id, State::Done).is_some()
        {
            return Err(Answer::new(200));
        }
        if flawed.sender() != Sender::Asixto {
            return senders::admit(head, &body, &self.memory, flawed).ok_or_else(|| Answer::new(400));
        }
        signature::verify("Asixto-Signature", &head.headers, &body, &SECRETS, flawed)
            .map_err(|refusal| self.refused(refusal))?;
        if flawed.has(Flaw::InflatesLater) {
            body = inflated(head, body)?;
        }
        let envelope = envelope::open(&body, flawed).ok_or_else(|| Answer::new(400))?;
        let key = match flawed.0 {
            Some(Flaw::DedupByBody) => format!("{:?}", Sha256::digest(&body)),
            Some(Flaw::DedupBySignature) => head.header("asixto-signature").unwrap_or_default().to_owned(),
            Some(Flaw::DedupByJob) => envelope.job.clone().unwrap_or_else(|| envelope.id.clone()),
            Some(Flaw::DedupByReplay) => envelope.replay_of.clone().unwrap_or_else(|| envelope.id.clone()),
            _ => envelope.id.clone(),
        };
        Ok((key, envelope))
    }

    fn refused(&self, refusal: Refusal) -> Answer {
        match (self.flawed.0, refusal) {
            (Some(Flaw::RefusesNothing), Refusal::Signature) => Answer::new(200),
            (Some(Flaw::Unauthorized), Refusal::Signature) => Answer::new(401),
            (Some(Flaw::Gone), Refusal::Signature) => Answer::new(410),
            (Some(Flaw::MovedAway), Refusal::Signature) => Answer::new(302).with("location: /login\r\n"),
            (Some(Flaw::Crashes), Refusal::Missing | Refusal::Malformed) => Answer::new(500),
            (Some(Flaw::CrashesOnBytes), Refusal::NotAscii) => Answer::new(500),
            (Some(Flaw::CrashesOnNumbers), Refusal::NotANumber) => Answer::new(500),
            (Some(Flaw::TellsWhy), why) => Answer { body: format!("refused: {why:?}"), ..Answer::new(400) },
            _ => Answer::new(400),
        }
    }

    /// Claim, work, remember. E5
    async fn process(self: &Arc<Self>, key: String, envelope: Envelope) -> Answer {
        let known = match self.flawed.0 {
            Some(Flaw::NoDedup | Flaw::ClaimsFirst) => None,
            Some(Flaw::CheckThenInsert) => self.memory.known(&key),
            _ => self.memory.claim(&key, State::InFlight),
        };
        match known {
            Some(State::InFlight) => return Answer::new(503).with("retry-after: 1\r\n"),
            Some(State::Done) if self.flawed.has(Flaw::RefusesDuplicates) => return Answer::new(409),
            Some(State::Done) => return Answer::new(200),
            None => {}
        }
        let late = self.latest.fetch_max(envelope.created, SeqCst) > envelope.created;
        let dropped = late && self.flawed.has(Flaw::InOrder)
            || self.worn_out.load(SeqCst) && self.flawed.has(Flaw::DropsAfterBurst);
        if self.flawed.has(Flaw::DoneFirst) {
            self.memory.done(&key);
            sleep(WORK).await;
            self.memory.ran(&envelope.id);
            return Answer::new(200);
        }
        let receiver = self.clone();
        // It outlives its client.
        let work = tokio::spawn(async move {
            sleep(WORK).await;
            if !dropped {
                receiver.memory.ran(&envelope.id);
            }
            receiver.memory.done(&key);
        });
        work.await.unwrap();
        Answer::new(200)
    }

    fn broken_off(&self, part: &[u8]) {
        let part = String::from_utf8_lossy(part);
        if let Some(id) = part.split("\"id\":\"").nth(1).and_then(|rest| rest.split('"').next())
            && self.flawed.has(Flaw::ClaimsBeforeBody)
        {
            self.memory.done(id);
        }
    }
}

/// The body without the encoding that it claims to have.
fn inflated(head: &Head, body: Vec<u8>) -> Result<Vec<u8>, Answer> {
    if head.header("content-encoding") != Some("gzip") {
        return Ok(body);
    }
    let mut plain = Vec::new();
    let inflated = GzDecoder::new(body.as_slice()).take(1_000_000).read_to_end(&mut plain);
    inflated.map(|_| plain).map_err(|_| Answer::new(400))
}
