//! A request as a line for a shell, where curl can send it.

use crate::Request;

/// The longest body that is worth a line.
const LONGEST: usize = 8 * 1024;

impl Request {
    /// The command that sends this request to `origin` (`https://example.com`) by curl. Its signature ages: it holds for
    /// as long as the receiver's window is open.
    ///
    /// `None` where curl cannot send it as it is, such as a body that stops half-way, or bytes that a line cannot hold.
    #[must_use]
    pub fn curl(&self, origin: &str) -> Option<String> {
        let body = self.whole_body()?;
        let body = str::from_utf8(&body).ok().filter(|body| body.len() <= LONGEST && !body.contains('\0'))?;
        let mut line = "curl -i".to_owned();
        if self.verb() != "POST" || body.is_empty() {
            line += &format!(" -X {}", quoted(self.verb()));
        }
        for (name, value) in self.headers() {
            let value = str::from_utf8(value).ok()?;
            // A header without a value is written so.
            let field = if value.is_empty() { format!("{name};") } else { format!("{name}: {value}") };
            line += &format!(" -H {}", quoted(&field));
        }
        if self.is_chunked() {
            line += " -H 'Transfer-Encoding: chunked'";
        }
        if !body.is_empty() {
            line += &format!(" --data-binary {}", quoted(body));
        }
        Some(line + " " + &quoted(&format!("{origin}{}", self.path())))
    }
}

/// As one word of a shell.
fn quoted(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:=@,".contains(&byte);
    match text.bytes().all(plain) && !text.is_empty() {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_a_shell_reads() {
        let request = Request::post("/hook?a=b").header("X-Sig", "t=1,v1=0").header("X-Empty", "").body("it's");
        assert_eq!(
            request.curl("http://127.0.0.1:9").unwrap(),
            r"curl -i -H 'X-Sig: t=1,v1=0' -H 'X-Empty;' --data-binary 'it'\''s' 'http://127.0.0.1:9/hook?a=b'"
        );
        let chunked = Request::post("/").chunked(vec!["a".into(), "b".into()]).curl("http://x").unwrap();
        assert_eq!(chunked, "curl -i -H 'Transfer-Encoding: chunked' --data-binary ab http://x/");
        assert_eq!(Request::post("/").method("GET").curl("http://x").unwrap(), "curl -i -X GET http://x/");
    }

    #[test]
    fn what_curl_cannot_send() {
        let body = || Request::post("/").body("abcd");
        for request in [
            body().stop_after(2),
            body().abort_after(2),
            body().announce(9),
            body().without_length(),
            body().header("X-Raw", vec![0xff]),
            body().body(vec![0xff]),
            body().body(vec![b' '; LONGEST + 1]),
            Request::post("/").chunked(vec!["a".into()]).trailer("X", "y"),
        ] {
            assert_eq!(request.curl("http://x"), None, "{request:?}");
        }
    }
}
