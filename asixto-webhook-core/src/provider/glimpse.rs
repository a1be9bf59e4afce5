//! Id and type of a body that nobody vouches for yet.

use alloc::borrow::Cow;
use core::fmt;

use serde::de::{Deserializer as _, Error as _, IgnoredAny, MapAccess, Visitor};

use super::Glimpse;
use crate::json::{self, Wtf8};

/// Reads these two fields from whatever came, even if it breaks off, and stops as soon as it has them.
pub(super) fn glimpse<'b>(body: &'b [u8], id: Option<&str>, event_type: &str) -> Glimpse<'b> {
    struct Glance<'g, 'de> {
        seen: &'g mut Glimpse<'de>,
        id: Option<&'g str>,
        event_type: &'g str,
    }

    impl<'de> Visitor<'de> for Glance<'_, 'de> {
        type Value = ();

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
            while let Some(Wtf8(name)) = map.next_key()? {
                if self.id.is_some_and(|id| *id.as_bytes() == *name) {
                    self.seen.id = json::text_lossy(map.next_value()?).map(Cow::Owned);
                } else if *name == *self.event_type.as_bytes() {
                    self.seen.event_type = json::text_lossy(map.next_value()?).map(Cow::Owned);
                } else {
                    map.next_value::<IgnoredAny>()?;
                }
                if (self.seen.id.is_some() || self.id.is_none()) && self.seen.event_type.is_some() {
                    return Err(A::Error::custom("seen enough"));
                }
            }
            Ok(())
        }
    }

    let mut seen = Glimpse::default();
    let glance = Glance { seen: &mut seen, id, event_type };
    // An error is no news: the body is not trusted, and may have broken off.
    let _ = serde_json::Deserializer::from_slice(body).deserialize_map(glance);
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    /// K10: what stands beside the id, and what comes after it, does not keep it from the log.
    #[test]
    fn best_effort() {
        for body in [
            r#"{"id":"1","type":"t"}"#,
            r#"{"\ud800":1,"x":[{}],"id":"1","type":"t","id":"2"}"#,
            r#"{"type":"t","id":"1","data":{"cut o"#,
        ] {
            let seen = glimpse(body.as_bytes(), Some("id"), "type");
            assert_eq!((seen.id.as_deref(), seen.event_type.as_deref()), (Some("1"), Some("t")), "{body}");
        }
        let seen = glimpse(b"not JSON", Some("id"), "type");
        assert!(seen.id.is_none() && seen.event_type.is_none());
    }
}
