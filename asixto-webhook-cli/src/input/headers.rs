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
            for (line, number) in text.split(|byte| *byte == b'\n').zip(1_usize..) {
                let is_first = number == 1 && (line.starts_with(b"POST ") || line.starts_with(b"HTTP/"));
                if !line.trim_ascii().is_empty() && !is_first {
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
