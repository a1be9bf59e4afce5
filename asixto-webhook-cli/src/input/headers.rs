//! Header lines, as typed or as copied from a log.

use std::path::PathBuf;

use clap::Args;

use crate::console::{Console, Failure};

#[derive(Args)]
pub(crate) struct HeaderArgs {
    /// A header line of the delivery; may be repeated
    #[arg(long = "header", short = 'H', value_name = "'NAME: VALUE'")]
    lines: Vec<String>,
    /// File with the delivery's header lines, one a line, as a log or `sign` wrote them; `-` is standard input
    #[arg(long = "headers-file", value_name = "FILE")]
    file: Option<PathBuf>,
}

impl HeaderArgs {
    /// The lines, each as name and value, in the order given: those of the file last.
    pub(crate) fn read(&self, console: &mut Console) -> Result<Vec<(String, Vec<u8>)>, Failure> {
        let mut headers = Vec::new();
        for line in &self.lines {
            headers.push(header(line.as_bytes()).ok_or_else(|| malformed("--header"))?);
        }
        if let Some(path) = &self.file {
            let text = console.read(path, "the header lines")?;
            let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&text);
            for (line, number) in text.split(|byte| *byte == b'\n').zip(1_usize..) {
                if let Some(line) = recorded(line) {
                    headers.push(header(line).ok_or_else(|| malformed(&format!("line {number} of the headers")))?);
                }
            }
        }
        if headers.is_empty() {
            return Err(Failure::new(
                "expected the header lines of the delivery, found none: give them with --header or --headers-file",
            ));
        }
        Ok(headers)
    }
}

/// What a record of a request has for a header line: not the request line, nor what `curl -v` puts before lines, nor the
/// names that HTTP/2 has instead of a request line.
fn recorded(line: &[u8]) -> Option<&[u8]> {
    let line = line.trim_ascii();
    let line = [b"> ", b"< "].iter().find_map(|mark| line.strip_prefix(*mark)).unwrap_or(line);
    let is_remark =
        line.is_empty() || line == b">" || line == b"<" || line.starts_with(b"* ") || line.starts_with(b":");
    // Of a request, `POST /hook HTTP/1.1`, or of an answer.
    let mut words = line.split(|byte| *byte == b' ');
    let is_method = |word: &[u8]| word.iter().all(u8::is_ascii_uppercase);
    let is_first = line.starts_with(b"HTTP/")
        || words.next().is_some_and(is_method) && words.next_back().is_some_and(|last| last.starts_with(b"HTTP/"));
    (!is_remark && !is_first).then_some(line)
}

/// Name and value of a line. Not its blanks, which are none of the value's.
fn header(line: &[u8]) -> Option<(String, Vec<u8>)> {
    let colon = line.iter().position(|byte| *byte == b':')?;
    let (name, value) = line.split_at_checked(colon)?;
    let name = str::from_utf8(name).ok().filter(|name| !name.is_empty() && name.trim() == *name)?;
    Some((name.to_owned(), value.get(1..)?.trim_ascii().to_vec()))
}

/// Without the line, which may hold a signature.
fn malformed(place: &str) -> Failure {
    Failure::new(format!("{place}: expected `Name: value`, found another text"))
}
