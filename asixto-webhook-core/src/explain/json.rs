//! JSON written anew without being understood: numbers keep their text, members their order, depth costs no stack.

use alloc::{borrow::Cow, vec::Vec};

use serde_json::value::RawValue;

/// How a serializer writes what stands between tokens, and strings.
#[derive(Debug, Clone, Copy)]
pub(super) struct Style {
    /// The blanks of one level; `None` for everything on one line.
    pub(super) indent: Option<&'static [u8]>,
    pub(super) comma: &'static [u8],
    pub(super) colon: &'static [u8],
    /// Whether lists stay on one line, with blanks inside of all brackets.
    pub(super) lists_inline: bool,
    pub(super) strings: Strings,
}

impl Style {
    pub(super) const COMPACT: Self =
        Self { indent: None, comma: b",", colon: b":", lists_inline: false, strings: Strings::Kept };
}

/// How a serializer writes strings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Strings {
    /// As they came.
    Kept,
    /// With the escapes that JSON demands, and these.
    Escaping {
        /// Everything outside visible ASCII.
        non_ascii: bool,
        /// The slash.
        slash: bool,
        /// What would be markup in HTML.
        html: bool,
    },
    /// As .NET escapes by default, in upper case.
    DotNet,
}

impl Strings {
    /// Whether a character is escaped that need not be.
    fn escapes(self, unit: Unit) -> bool {
        match (self, unit) {
            (Self::Kept, _) => false,
            (_, Unit::Half(_)) => true,
            (Self::DotNet, Unit::Char(char)) => char > '~' || "\"<>&'+`".contains(char),
            (Self::Escaping { slash, .. }, Unit::Char('/')) => slash,
            (Self::Escaping { html: true, .. }, Unit::Char('<' | '>' | '&' | '\u{2028}' | '\u{2029}')) => true,
            (Self::Escaping { non_ascii, .. }, Unit::Char(char)) => non_ascii && char > '~',
        }
    }
}

/// A valid [`document`] in another style; `None` where it would grow past `most` bytes.
pub(super) fn rewrite(document: &str, style: Style, most: usize) -> Option<Vec<u8>> {
    let mut rest = document.as_bytes();
    let mut writer = Writer { out: Vec::with_capacity(rest.len().min(most)), open: Vec::new(), depth: 0, style };
    while let [first, tail @ ..] = rest {
        rest = match first {
            b' ' | b'\t' | b'\r' | b'\n' => tail,
            b'"' => {
                let (string, after) = string(rest, 1);
                writer.string(string);
                after
            }
            b'{' | b'[' => {
                let inside = tail.trim_ascii_start();
                writer.out.push(*first);
                match inside {
                    [close @ (b'}' | b']'), after @ ..] => {
                        writer.out.extend_from_slice(if style.lists_inline { b" " } else { b"" });
                        writer.out.push(*close);
                        after
                    }
                    _ => {
                        writer.open(*first);
                        inside
                    }
                }
            }
            b'}' | b']' => {
                writer.close();
                writer.out.push(*first);
                tail
            }
            b',' => {
                writer.out.extend_from_slice(style.comma);
                writer.line();
                tail
            }
            b':' => {
                writer.out.extend_from_slice(style.colon);
                tail
            }
            other => {
                writer.out.push(*other);
                tail
            }
        };
        if writer.out.len().saturating_add(writer.margin()) > most {
            return None;
        }
    }
    Some(writer.out)
}

struct Writer {
    out: Vec<u8>,
    /// Whether each that is open is a list on one line, the innermost last.
    open: Vec<bool>,
    /// How many others are open.
    depth: usize,
    style: Style,
}

impl Writer {
    /// What the next line would begin with, in bytes.
    fn margin(&self) -> usize {
        self.style.indent.map_or(0, |blanks| blanks.len().saturating_mul(self.depth))
    }

    fn open(&mut self, bracket: u8) {
        let is_inline = self.style.lists_inline && bracket == b'[';
        self.open.push(is_inline);
        self.depth += usize::from(!is_inline);
        self.line();
    }

    fn close(&mut self) {
        let is_inline = self.open.last() == Some(&true);
        self.depth = self.depth.saturating_sub(usize::from(!is_inline));
        self.line();
        self.open.pop();
    }

    fn line(&mut self) {
        if self.open.last() == Some(&true) {
            self.out.push(b' ');
        } else if let Some(blanks) = self.style.indent {
            self.out.push(b'\n');
            for _ in 0..self.depth {
                self.out.extend_from_slice(blanks);
            }
        }
    }

    fn string(&mut self, string: &[u8]) {
        match (self.style.strings, core::str::from_utf8(string)) {
            (strings @ (Strings::Escaping { .. } | Strings::DotNet), Ok(text)) => {
                self.out.push(b'"');
                for unit in units(text) {
                    self.unit(unit, strings.escapes(unit));
                }
                self.out.push(b'"');
            }
            _ => self.out.extend_from_slice(string),
        }
    }

    fn unit(&mut self, unit: Unit, escaped: bool) {
        let short = |letter| [b'\\', letter];
        match unit {
            Unit::Half(half) => self.hex(half),
            Unit::Char('"') if escaped => self.hex(0x22),
            Unit::Char('"') => self.out.extend(short(b'"')),
            Unit::Char('\\') => self.out.extend(short(b'\\')),
            Unit::Char('\u{8}') => self.out.extend(short(b'b')),
            Unit::Char('\u{c}') => self.out.extend(short(b'f')),
            Unit::Char('\n') => self.out.extend(short(b'n')),
            Unit::Char('\r') => self.out.extend(short(b'r')),
            Unit::Char('\t') => self.out.extend(short(b't')),
            Unit::Char('/') if escaped => self.out.extend(short(b'/')),
            Unit::Char(char) if escaped || char < ' ' => {
                for half in char.encode_utf16(&mut [0; 2]) {
                    self.hex(*half);
                }
            }
            Unit::Char(char) => self.out.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }

    fn hex(&mut self, unit: u16) {
        self.out.extend_from_slice(b"\\u");
        for shift in [12, 8, 4, 0] {
            let digit = char::from_digit(u32::from(unit >> shift) & 0xf, 16).unwrap_or('0');
            let digit = if self.style.strings == Strings::DotNet { digit.to_ascii_uppercase() } else { digit };
            self.out.extend_from_slice(digit.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }
}

/// A character of a string, or half a surrogate pair, which JSON allows and Unicode does not.
#[derive(Clone, Copy)]
enum Unit {
    Char(char),
    Half(u16),
}

/// The text of a string in quotes, unescaped.
fn units(string: &str) -> impl Iterator<Item = Unit> {
    let inner = string.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or_default();
    let mut rest = inner.chars();
    core::iter::from_fn(move || {
        let char = rest.next()?;
        if char != '\\' {
            return Some(Unit::Char(char));
        }
        Some(match rest.next()? {
            'b' => Unit::Char('\u{8}'),
            'f' => Unit::Char('\u{c}'),
            'n' => Unit::Char('\n'),
            'r' => Unit::Char('\r'),
            't' => Unit::Char('\t'),
            'u' => {
                let first = unit(&mut rest)?;
                let mut ahead = rest.clone();
                let second = (ahead.next() == Some('\\') && ahead.next() == Some('u')).then(|| unit(&mut ahead));
                match char::decode_utf16([first].into_iter().chain(second.flatten())).next()? {
                    Ok(char) => {
                        if char > '\u{ffff}' {
                            rest = ahead;
                        }
                        Unit::Char(char)
                    }
                    Err(_) => Unit::Half(first),
                }
            }
            itself => Unit::Char(itself),
        })
    })
}

/// Four hexadecimal digits.
fn unit(rest: &mut core::str::Chars<'_>) -> Option<u16> {
    (0..4).try_fold(0, |sum, _| Some((sum << 4) | u16::try_from(rest.next()?.to_digit(16)?).ok()?))
}

/// Up to the quote that ends a string and with it, and what stands behind; the search begins at `at`.
fn string(json: &[u8], mut at: usize) -> (&[u8], &[u8]) {
    loop {
        match json.get(at) {
            Some(b'\\') => at += 2,
            Some(b'"') | None => break,
            Some(_) => at += 1,
        }
    }
    json.split_at_checked(at + 1).unwrap_or((json, b""))
}

/// Valid JSON, as text. Nothing recurses: `serde_json` passes over a raw value without a stack.
pub(super) fn document(json: &[u8]) -> Option<&str> {
    let value: &RawValue = serde_json::from_slice(json).ok()?;
    Some(value.get())
}

/// Whether it stops being JSON only by its end.
pub(super) fn breaks_off(json: &[u8]) -> bool {
    let read: Result<&RawValue, _> = serde_json::from_slice(json);
    !json.is_empty() && read.is_err_and(|error| error.is_eof())
}

/// Whether the names of every object stand in alphabetical order, and one has enough of them to be no accident.
pub(super) fn sorted(json: &[u8]) -> bool {
    const TELLING: usize = 4;
    let Some(mut rest) = document(json).map(str::as_bytes) else { return false };
    // For each level that is open: the last name, and how many there were.
    let mut open: Vec<(&[u8], usize)> = Vec::new();
    let mut telling = false;
    while let [first, tail @ ..] = rest {
        rest = tail;
        match first {
            b'{' | b'[' => open.push((b"", 0)),
            b'}' | b']' => telling |= open.pop().is_some_and(|(_, names)| names >= TELLING),
            b'"' => {
                let (text, after) = string(tail, 0);
                rest = after;
                let is_name = after.trim_ascii_start().starts_with(b":");
                if let Some((last, names)) = open.last_mut().filter(|_| is_name) {
                    if text < *last {
                        return false;
                    }
                    (*last, *names) = (text, *names + 1);
                }
            }
            _ => {}
        }
    }
    telling
}

/// The text of a document that is one string.
pub(super) fn text(json: &[u8]) -> Option<Cow<'_, str>> {
    let value: &RawValue = serde_json::from_slice(json).ok()?;
    crate::json::text(value)
}

#[cfg(test)]
mod tests {
    use alloc::{format, string::String, vec};
    use std::string::ToString;

    use proptest::{collection, prelude::*, sample::select, test_runner::Config};
    use serde_json::Value;

    use super::*;

    const MOST: usize = 1 << 20;
    const COMPACT: Style = Style::COMPACT;

    fn rewritten(json: &str, style: Style) -> String {
        String::from_utf8(rewrite(document(json.as_bytes()).unwrap(), style, MOST).unwrap()).unwrap()
    }

    fn any_style() -> impl Strategy<Value = Style> {
        let strings = prop_oneof![
            Just(Strings::Kept),
            Just(Strings::DotNet),
            any::<[bool; 3]>().prop_map(|[non_ascii, slash, html]| Strings::Escaping { non_ascii, slash, html }),
        ];
        let indent = select(vec![None, Some(&b"  "[..]), Some(b"\t")]);
        (indent, any::<[bool; 2]>(), strings).prop_map(|(indent, [spaced, lists_inline], strings)| {
            let (comma, colon): (&[u8], &[u8]) = if spaced { (b", ", b": ") } else { (b",", b":") };
            Style { indent, comma, colon, lists_inline, strings }
        })
    }

    /// Any value, with the characters that serializers differ in.
    fn value() -> impl Strategy<Value = Value> {
        let text = "[a/<>&\"\\\\\n\t\u{1}\u{7f}é\u{2028}\u{fffd}😀]{0,8}";
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            text.prop_map(Value::from),
        ];
        leaf.prop_recursive(5, 40, 6, move |inner| {
            prop_oneof![
                collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                collection::vec((text, inner), 0..6).prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #![proptest_config(Config { failure_persistence: None, ..Config::with_cases(512) })]

        /// The text changes, what it says does not; and whoever knows the style gets from one text to the other.
        #[test]
        fn any_style_says_the_same(value in value(), first in any_style(), second in any_style()) {
            let json = value.to_string();
            let once = rewritten(&json, first);
            prop_assert_eq!(&serde_json::from_str::<Value>(&once).unwrap(), &value);
            let twice = rewritten(&once, second);
            prop_assert_eq!(&serde_json::from_str::<Value>(&twice).unwrap(), &value);
            // What other serializers write is written, not only something that reads the same.
            let plain = Strings::Escaping { non_ascii: false, slash: false, html: false };
            prop_assert_eq!(rewritten(&twice, Style { strings: plain, ..COMPACT }), json);
            let pretty = Style { indent: Some(b"  "), colon: b": ", strings: plain, ..COMPACT };
            prop_assert_eq!(rewritten(&twice, pretty), format!("{value:#}"));
        }
    }

    #[test]
    fn what_is_not_understood_is_kept() {
        let json = r#" { "b" : 1.50E+2 , "b":[ ],"a" :{ } , "\ud800\u0041" : -0.0 } "#;
        assert_eq!(rewritten(json, COMPACT), r#"{"b":1.50E+2,"b":[],"a":{},"\ud800\u0041":-0.0}"#);
        let plain = Strings::Escaping { non_ascii: false, slash: true, html: false };
        let style = Style { strings: plain, ..COMPACT };
        assert_eq!(rewritten(r#"["\uD800A\uD83D\uDE00\/\u001F\u0022"]"#, style), r#"["\ud800A😀\/\u001f\""]"#);
        for wrong in ["", "{", "[1,]", "{} {}", "\"\u{1}\"", "nul"] {
            assert!(document(wrong.as_bytes()).is_none(), "{wrong}");
        }
    }

    #[test]
    fn depth_and_growth_are_bounded() {
        let deep = "[".repeat(100_000) + &"]".repeat(100_000);
        assert_eq!(rewritten(&deep, COMPACT), deep);
        let pretty = Style { indent: Some(b"    "), ..COMPACT };
        assert!(rewrite(&deep, pretty, MOST).is_none());
        assert!(!sorted(deep.as_bytes()) && !breaks_off(deep.as_bytes()));
        assert!(breaks_off(&deep.as_bytes()[..150_000]));
    }

    #[test]
    fn sorted_names() {
        assert!(sorted(br#"{"a":{"z":["y","b"]},"b":"a","c":[{"b":1,"c":1}],"d":"a"}"#));
        for no in
            [r#"{"a":1,"b":2}"#, r#"{"a":1,"b":2,"d":3,"c":4}"#, r#"{"a":{"d":1,"c":1},"b":1,"c":1,"d":1}"#, "[1", "[]"]
        {
            assert!(!sorted(no.as_bytes()), "{no}");
        }
    }
}
