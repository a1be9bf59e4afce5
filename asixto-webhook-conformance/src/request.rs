//! What a probe sends: exact header lines, an exactly cut body, and the moments at which it stalls
//! or hangs up.

use core::time::Duration;

use bytes::Bytes;

/// A request, and the way in which it is sent.
///
/// Nothing is checked or put right: a length may lie, a header may repeat, a value may hold any
/// byte. What is added is `host` in front, and `content-length` or `transfer-encoding` at the end,
/// each only if no header of that name was given.
///
/// ```
/// use asixto_webhook_conformance::Request;
///
/// let split = Request::post("/webhooks")
///     .header("Content-Type", "application/json")
///     .chunked(vec!["{\"id\":".into(), "1}".into()]);
/// # let _ = split;
/// ```
#[derive(Debug, Clone)]
#[must_use = "a request does nothing until it is sent"]
pub struct Request {
    method: String,
    path: String,
    headers: Vec<(String, Vec<u8>)>,
    chunks: Vec<Bytes>,
    framing: Framing,
    length: Length,
    trailers: Vec<(String, Vec<u8>)>,
    /// In the order of the bytes after which they come.
    pauses: Vec<(usize, Duration)>,
    /// How many bytes of the body are sent at most.
    limit: usize,
    ended: Ended,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Framing {
    Sized,
    Chunked,
}

#[derive(Debug, Clone, Copy)]
enum Length {
    True,
    Announced(u64),
    Absent,
}

impl Request {
    /// A `POST` with an empty body.
    pub fn post(path: impl Into<String>) -> Self {
        Self {
            method: "POST".to_owned(),
            path: path.into(),
            headers: Vec::new(),
            chunks: Vec::new(),
            framing: Framing::Sized,
            length: Length::True,
            trailers: Vec::new(),
            pauses: Vec::new(),
            limit: usize::MAX,
            ended: Ended::Whole,
        }
    }

    /// Replaces the method.
    pub fn method(mut self, method: impl Into<String>) -> Self {
        self.method = method.into();
        self
    }

    /// Sends it to another path.
    pub fn at(mut self, path: impl FnOnce(&str) -> String) -> Self {
        self.path = path(&self.path);
        self
    }

    /// Adds one header line, after those that are there. HTTP/2 lowers the case of the name.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<Vec<u8>>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Sends this body in one piece, under a `content-length`.
    pub fn body(mut self, body: impl Into<Bytes>) -> Self {
        self.chunks = vec![body.into()];
        self.framing = Framing::Sized;
        self
    }

    /// Sends the body in these chunks: with `transfer-encoding: chunked` in HTTP/1.1, a `DATA` frame
    /// each in HTTP/2, as far as window and frame size let it. An empty chunk is left out, since it
    /// would end the body.
    pub fn chunked(mut self, chunks: Vec<Bytes>) -> Self {
        self.chunks = chunks;
        self.framing = Framing::Chunked;
        self
    }

    /// Adds one trailer line. HTTP/1.1 has a place for it only after a [`chunked`](Self::chunked)
    /// body, and leaves it out elsewhere.
    pub fn trailer(mut self, name: impl Into<String>, value: impl Into<Vec<u8>>) -> Self {
        self.trailers.push((name.into(), value.into()));
        self
    }

    /// Announces this `content-length`, whatever the body is; a chunked body keeps its
    /// `transfer-encoding` too.
    pub fn announce(mut self, length: u64) -> Self {
        self.length = Length::Announced(length);
        self
    }

    /// Leaves `content-length` out.
    pub fn without_length(mut self) -> Self {
        self.length = Length::Absent;
        self
    }

    /// Pauses once this many bytes of the body went out. It can be said several times; a pause
    /// beyond the end of the body is never reached.
    pub fn pause_after(mut self, sent: usize, pause: Duration) -> Self {
        self.pauses.push((sent, pause));
        self.pauses.sort_by_key(|(at, _)| *at);
        self
    }

    /// Sends no more than this many bytes of the body, nor its end, and keeps the connection open
    /// for the response. Of this and [`abort_after`](Self::abort_after), the last one said counts.
    pub fn stop_after(mut self, sent: usize) -> Self {
        (self.limit, self.ended) = (sent, Ended::Stopped);
        self
    }

    /// Sends no more than this many bytes of the body, nor its end, and then resets: the connection
    /// in HTTP/1.1, the stream in HTTP/2.
    pub fn abort_after(mut self, sent: usize) -> Self {
        (self.limit, self.ended) = (sent, Ended::Aborted);
        self
    }

    /// The body, if it is sent to its end, at once, and as it says.
    pub(crate) fn whole_body(&self) -> Option<Bytes> {
        let plain = matches!(self.length, Length::True) && self.pauses.is_empty() && self.trailers.is_empty();
        let whole = plain && self.ended == Ended::Whole;
        whole.then(|| self.chunks.concat().into())
    }

    pub(crate) fn headers(&self) -> &[(String, Vec<u8>)] {
        &self.headers
    }

    pub(crate) fn trailers(&self) -> &[(String, Vec<u8>)] {
        &self.trailers
    }

    pub(crate) fn verb(&self) -> &str {
        &self.method
    }

    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    pub(crate) fn is_chunked(&self) -> bool {
        self.framing == Framing::Chunked
    }

    pub(crate) fn aborts(&self) -> bool {
        self.ended == Ended::Aborted
    }

    pub(crate) fn names(&self, header: &str) -> bool {
        self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(header))
    }

    /// The `content-length` to add, if one is to be added.
    pub(crate) fn length(&self) -> Option<u64> {
        if self.names("content-length") {
            return None;
        }
        match (self.length, self.framing) {
            (Length::Announced(length), _) => Some(length),
            (Length::True, Framing::Sized) => Some(self.chunks.iter().map(|chunk| chunk.len() as u64).sum()),
            (Length::True, Framing::Chunked) | (Length::Absent, _) => None,
        }
    }

    /// What goes out after the head, in order, and how the sending ends after it.
    pub(crate) fn script(&self) -> (Vec<Step>, Ended) {
        let mut steps = Vec::new();
        let mut pauses = self.pauses.iter().peekable();
        let mut sent = 0;
        for chunk in &self.chunks {
            let mut opens = Some(chunk.len());
            let mut rest = chunk.clone();
            while !rest.is_empty() {
                while let Some((_, pause)) = pauses.next_if(|(at, _)| *at <= sent) {
                    steps.push(Step::Pause(*pause));
                }
                if sent == self.limit {
                    return (steps, self.ended);
                }
                let next = pauses.peek().map_or(self.limit, |(at, _)| self.limit.min(*at));
                let bytes = rest.split_to(rest.len().min(next - sent));
                sent += bytes.len();
                steps.push(Step::Data(Piece { opens: opens.take(), bytes, closes: rest.is_empty() }));
            }
        }
        let due = pauses.take_while(|(at, _)| *at <= sent);
        steps.extend(due.map(|(_, pause)| Step::Pause(*pause)));
        (steps, self.ended)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    Data(Piece),
    Pause(Duration),
}

/// Payload that goes out at once: a chunk, or the part of one between two marks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Piece {
    /// The length of the chunk that begins with this piece.
    pub(crate) opens: Option<usize>,
    pub(crate) bytes: Bytes,
    /// Whether the chunk ends with this piece.
    pub(crate) closes: bool,
}

/// How the sending of a request came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    Whole,
    Stopped,
    Aborted,
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAUSE: Duration = Duration::from_secs(1);

    fn piece(opens: Option<usize>, bytes: &'static str, closes: bool) -> Step {
        Step::Data(Piece { opens, bytes: bytes.into(), closes })
    }

    #[test]
    fn an_empty_body_has_no_steps() {
        assert_eq!(Request::post("/").script(), (vec![], Ended::Whole));
        assert_eq!(Request::post("/").body("").script(), (vec![], Ended::Whole));
        assert_eq!(Request::post("/").chunked(vec![Bytes::new()]).script(), (vec![], Ended::Whole));
    }

    #[test]
    fn pauses_and_limits_cut_a_chunk_but_not_its_framing() {
        let request = Request::post("/")
            .chunked(vec!["abcd".into(), "".into(), "ef".into()])
            .pause_after(4, PAUSE)
            .pause_after(1, PAUSE)
            .stop_after(5);
        let expected = vec![
            piece(Some(4), "a", false),
            Step::Pause(PAUSE),
            piece(None, "bcd", true),
            Step::Pause(PAUSE),
            piece(Some(2), "e", false),
        ];
        assert_eq!(request.script(), (expected, Ended::Stopped));
    }

    #[test]
    fn pauses_and_limits_at_the_edges() {
        let request = Request::post("/").body("ab");
        let whole = vec![piece(Some(2), "ab", true)];
        assert_eq!(request.clone().abort_after(0).script(), (vec![], Ended::Aborted));
        assert_eq!(request.clone().stop_after(2).script(), (whole.clone(), Ended::Stopped));
        assert_eq!(request.clone().stop_after(9).script(), (whole.clone(), Ended::Stopped));
        assert_eq!(request.clone().stop_after(9).abort_after(2).script(), (whole.clone(), Ended::Aborted));
        assert_eq!(request.clone().pause_after(3, PAUSE).script(), (whole.clone(), Ended::Whole));
        let paused = vec![piece(Some(2), "ab", true), Step::Pause(PAUSE)];
        assert_eq!(request.clone().pause_after(2, PAUSE).script(), (paused, Ended::Whole));
        let paused = vec![Step::Pause(PAUSE)];
        assert_eq!(request.pause_after(0, PAUSE).abort_after(0).script(), (paused, Ended::Aborted));
    }

    #[test]
    fn the_length_is_true_unless_told_otherwise() {
        let request = Request::post("/").body("abc");
        assert_eq!(request.length(), Some(3));
        assert_eq!(request.clone().announce(9).length(), Some(9));
        assert_eq!(request.clone().without_length().length(), None);
        assert_eq!(request.clone().header("Content-LENGTH", "7").length(), None);
        assert_eq!(request.clone().chunked(vec!["abc".into()]).length(), None);
        assert_eq!(request.chunked(vec!["abc".into()]).announce(2).length(), Some(2));
    }
}
