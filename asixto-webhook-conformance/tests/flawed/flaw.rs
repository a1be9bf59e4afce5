//! What can be wrong with a receiver: one flaw at a time.

use std::time::{SystemTime, UNIX_EPOCH};

use jiff::Timestamp;

use crate::senders::Sender;

macro_rules! flaws {
    ($($(#[$of:meta])* $flaw:ident: $says:literal,)*) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Flaw { $($flaw),* }

        impl Flaw {
            /// Every flaw, with what the matrix calls it.
            pub(crate) const ALL: &[(Self, &str)] = &[$((Self::$flaw, $says)),*];
        }
    };
}

// Grouped by the file that has them.
flaws! {
    // http.rs
    MergesTrailers: "trailers become headers",
    RefusesChunked: "a body without a length is refused with 411",
    SmallBodyLimit: "the limit of the body is 100 kB",
    NoBodyLimit: "a body may be of any size",
    DiesOnLength: "the connection dies where more is announced than fits",
    NoBodyDeadline: "a body may take any time",
    ShortBodyDeadline: "a body may take a second",
    ShortHead: "the head may have 2 kB",
    // receiver.rs
    OneAtATime: "one connection at a time",
    JobsAlone: "of events of other things than jobs the work is done, and the answer is 500",
    Overloaded: "of more than ten deliveries at once the work is done, and the answer is 500",
    DropsAfterBurst: "after thirty deliveries at once no more work is done",
    Stalls: "one acknowledgement in sixteen takes 10.5 s",
    Moved: "the path is redirected",
    RedirectsSlash: "the path with a slash is redirected to the one without",
    GoneElsewhere: "a path that is not there is answered with 410",
    WrongClock: "the clock is ten minutes slow",
    AnyMethod: "any method will do",
    MethodNotFound: "another method is not found",
    NeedsJsonType: "only the content type of JSON is taken",
    InflatesFirst: "the body is inflated before the signature is checked",
    InflatesLater: "the body is inflated after the signature was checked",
    ReadsText: "the body is read as text, with line ends of one kind",
    ParsesFirst: "JSON is parsed before the signature is checked",
    ClaimsFirst: "the id is claimed before the signature is checked",
    ClaimsBeforeBody: "the id is claimed before the body is whole",
    DoneFirst: "an id is done before its work, which ends with the connection",
    RefusesNothing: "a bad signature is answered with 200",
    Crashes: "a bad header is answered with 500",
    CrashesOnBytes: "a header outside ASCII is answered with 500",
    CrashesOnNumbers: "a timestamp that is no number of 64 bits is answered with 500",
    Gone: "a bad signature is answered with 410",
    MovedAway: "a bad signature is answered with a redirect",
    Unauthorized: "a bad signature is answered with 401",
    TellsWhy: "the answer tells why",
    // signature.rs
    Trusts: "nothing is verified",
    MissingPasses: "a delivery without a signature passes",
    FirstHeader: "the first of several headers counts",
    LastHeader: "the last of several headers counts",
    JoinsHeaders: "several headers are joined",
    ExactName: "the name of the header has one spelling",
    ReadsAnyByte: "the header may have any byte",
    KeepsBlanks: "blanks around the parts are not trimmed",
    FixedOrder: "the timestamp has to come first",
    OneTimestampOfMany: "the first of two timestamps counts",
    RefusesBareParts: "a part without a value is refused",
    RefusesOtherParts: "parts of other versions are refused",
    AnyVersion: "a signature of any version counts",
    FewCandidates: "more than ten signatures are refused",
    SpoiltByOne: "one malformed signature spoils the others",
    FirstCandidate: "the first signature alone counts",
    LastCandidate: "the last signature alone counts",
    FirstSecret: "the first secret alone counts",
    LastSecret: "the last secret alone counts",
    AllSecrets: "every secret has to have signed",
    AnyCase: "hexadecimal digits may have any case",
    Prefix: "a signature is compared as far as it goes",
    FirstDigits: "the first sixteen digits of a signature are compared",
    ReformatsTimestamp: "the timestamp is read as a number, and signed as one",
    Reserialises: "JSON is written anew before it is verified",
    StripsPrefix: "the prefix of the secret is not part of the key",
    NoWindow: "a timestamp may have any age",
    OneSidedWindow: "a timestamp may lie in the future",
    NarrowWindow: "the window is 30 s",
    WideWindow: "the window is an hour",
    Milliseconds: "milliseconds pass for seconds",
    // envelope.rs
    NoEnvelope: "anything that is signed is taken",
    FirstId: "of two ids the first counts",
    LastId: "of two ids the last counts",
    MakesUpIds: "an id that is missing, or no text, is made up",
    EmptyIds: "an empty id is an id",
    PlainIds: "an id is of letters, digits, colons and dashes",
    ShortIds: "an id has 255 characters at most",
    AnyEnvironment: "any environment is taken",
    Floats: "numbers that no float holds are refused",
    ShallowData: "JSON may be 64 levels deep",
    NeedsResult: "a job without a result is refused",
    StrictFields: "fields outside of the envelope are refused",
    StrictTypes: "types outside of the catalogue are refused",
    // memory.rs
    NoDedup: "nothing is deduplicated",
    DedupByBody: "deduplicated by the body",
    DedupBySignature: "deduplicated by the signature",
    DedupByReplay: "deduplicated by what is replayed",
    DedupByJob: "deduplicated by the job",
    InOrder: "an event older than the last one is dropped",
    CheckThenInsert: "looked up, worked on, then remembered",
    RefusesDuplicates: "a duplicate is refused with 409",
    // senders.rs
    StandardTrusts: "Standard Webhooks: nothing is verified",
    StandardFirst: "Standard Webhooks: the first signature alone counts",
    StandardBare: "Standard Webhooks: a signature needs no version",
    CloudEventsId: "CloudEvents: deduplicated by the id alone",
    CloudEventsSource: "CloudEvents: a source may be missing",
    AgentForgets: "agent: nonces are not remembered",
    AgentDedupsNonces: "agent: deduplicated by the nonce",
    AgentTwoNonces: "agent: the first of two nonces counts",
    AgentAnyStart: "agent: a body may begin with anything",
}

/// A receiver's flaw, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Flawed(pub(crate) Option<Flaw>, pub(crate) Sender);

impl Flawed {
    pub(crate) fn has(self, flaw: Flaw) -> bool {
        self.0 == Some(flaw)
    }

    /// Whose deliveries it takes.
    pub(crate) fn sender(self) -> Sender {
        match self.0 {
            Some(Flaw::StandardTrusts | Flaw::StandardFirst | Flaw::StandardBare) => Sender::Standard,
            Some(Flaw::CloudEventsId | Flaw::CloudEventsSource) => Sender::CloudEvents,
            Some(Flaw::AgentForgets | Flaw::AgentDedupsNonces | Flaw::AgentTwoNonces | Flaw::AgentAnyStart) => {
                Sender::Agent
            }
            _ => self.1,
        }
    }

    /// What the receiver's clock says.
    pub(crate) fn now(self) -> Timestamp {
        let slow = if self.has(Flaw::WrongClock) { 600 } else { 0 };
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() - slow;
        Timestamp::from_second(now.try_into().unwrap()).unwrap()
    }
}
