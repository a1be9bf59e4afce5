//! Changes a field of a body and no other byte of a value: numbers keep every digit, names their order.

use std::{borrow::Cow, fmt};

use asixto_webhook_core::RawValue;
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};

use crate::console::Failure;

/// One change of a body.
#[derive(Debug, Clone)]
pub(super) struct Edit {
    /// Names and indexes, from the outside in.
    path: Vec<String>,
    /// The value as JSON; without one the field is removed.
    value: Option<String>,
}

impl Edit {
    /// `PATH=VALUE`. What is no JSON is a string.
    pub(super) fn set(text: &str) -> Result<Self, String> {
        let (path, value) = text.split_once('=').ok_or("expected PATH=VALUE, such as data.credits_charged=5")?;
        let value = match serde_json::from_str::<&RawValue>(value) {
            Ok(json) => json.get().to_owned(),
            Err(_) => quoted(value),
        };
        let edit = Self { value: Some(value), ..Self::unset(path)? };
        // It is signed, and reported, under that id.
        if edit.text("id").is_some_and(|id| !id.is_empty()) {
            Err("expected the id of the event by --id".to_owned())
        } else {
            Ok(edit)
        }
    }

    /// The text that it gives this field of the envelope.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        let is_named = matches!(&self.path[..], [only] if only == name);
        serde_json::from_str(self.value.as_deref().filter(|_| is_named)?).ok()
    }

    /// `PATH`.
    pub(super) fn unset(path: &str) -> Result<Self, String> {
        let path: Vec<_> = path.split('.').map(str::to_owned).collect();
        if path.iter().any(String::is_empty) {
            return Err("expected names with dots between them, such as data.credits_charged".to_owned());
        }
        Ok(Self { path, value: None })
    }

    /// The JSON text, changed.
    pub(super) fn apply(&self, json: &str) -> Result<String, Failure> {
        self.at(json, 0).map_err(|error| Failure::new(format!("{}: {error}", self.path.join("."))))
    }

    fn at(&self, json: &str, depth: usize) -> Result<String, String> {
        let here = match depth {
            0 => "the body".to_owned(),
            _ => format!("`{}`", self.path.get(..depth).unwrap_or_default().join(".")),
        };
        let mut fields =
            Fields::of(json).ok_or_else(|| format!("expected {here} to be an object or an array, found neither"))?;
        let Some(name) = self.path.get(depth) else { return Ok(json.to_owned()) };
        let is_last = depth + 1 == self.path.len();
        let known = fields.names.iter().position(|known| known == name);
        match (known, &self.value) {
            (Some(place), None) if is_last => fields.remove(place),
            (Some(place), value) => {
                if let Some(found) = fields.values.get_mut(place) {
                    let changed = if is_last { value.clone() } else { Some(self.at(found, depth + 1)?) };
                    *found = Cow::Owned(changed.unwrap_or_default());
                }
            }
            // The next free index, or any name.
            (None, Some(value)) if is_last && (!fields.is_array || *name == fields.names.len().to_string()) => {
                fields.names.push(name.clone());
                fields.values.push(Cow::Owned(value.clone()));
            }
            (None, _) => {
                return Err(format!("expected `{name}` in {here}, found {}", fields.listed()));
            }
        }
        Ok(fields.to_string())
    }
}

/// The fields of an object, or the elements of an array under their indexes.
struct Fields<'j> {
    is_array: bool,
    names: Vec<String>,
    values: Vec<Cow<'j, str>>,
}

impl<'j> Fields<'j> {
    fn of(json: &'j str) -> Option<Self> {
        if let Ok(elements) = serde_json::from_str::<Vec<&RawValue>>(json) {
            let names = (0..elements.len()).map(|index| index.to_string()).collect();
            let values = elements.into_iter().map(|value| Cow::Borrowed(value.get())).collect();
            return Some(Self { is_array: true, names, values });
        }
        serde_json::from_str(json).ok()
    }

    fn remove(&mut self, place: usize) {
        self.names.remove(place);
        self.values.remove(place);
    }

    fn listed(&self) -> String {
        match (&self.names[..], self.is_array) {
            ([], true) => "an empty array".to_owned(),
            ([], false) => "an empty object".to_owned(),
            ([_], true) => "an array with one element, 0".to_owned(),
            (names, true) => format!("an array with the elements 0 to {}", names.len() - 1),
            (names, false) => names.join(", "),
        }
    }
}

impl<'de: 'j, 'j> Deserialize<'de> for Fields<'j> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;

        impl<'de> Visitor<'de> for Object {
            type Value = Fields<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Fields { is_array: false, names: Vec::new(), values: Vec::new() };
                while let Some((name, value)) = map.next_entry::<String, &RawValue>()? {
                    fields.names.push(name);
                    fields.values.push(Cow::Borrowed(value.get()));
                }
                Ok(fields)
            }
        }

        deserializer.deserialize_map(Object)
    }
}

/// Compact JSON.
impl fmt::Display for Fields<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (open, close) = if self.is_array { ('[', ']') } else { ('{', '}') };
        write!(f, "{open}")?;
        for (place, (name, value)) in self.names.iter().zip(&self.values).enumerate() {
            let comma = if place > 0 { "," } else { "" };
            match self.is_array {
                true => write!(f, "{comma}{value}")?,
                false => write!(f, "{comma}{}:{value}", quoted(name))?,
            }
        }
        write!(f, "{close}")
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &str = r#"{"id":"1","data":{"n":9007199254740993, "x":1.50,"é":[1,2.0,{"a":null}],"o":{}}}"#;

    fn set(text: &str) -> Result<String, String> {
        Edit::set(text).unwrap().apply(BODY).map_err(|error| error.to_string())
    }

    fn unset(path: &str) -> Result<String, String> {
        Edit::unset(path).unwrap().apply(BODY).map_err(|error| error.to_string())
    }

    #[test]
    fn a_field_is_set() {
        let data = |inside: &str| Ok(format!(r#"{{"id":"1","data":{{{inside}}}}}"#));
        assert_eq!(
            set("id="),
            Ok(BODY
                .replacen(r#""1""#, r#""""#, 1)
                .replace(", ", ",")
                .replace(r#"":9007199254740993,"x"#, r#"":9007199254740993, "x"#))
        );
        assert_eq!(set("data.n=5"), data(r#""n":5,"x":1.50,"é":[1,2.0,{"a":null}],"o":{}"#));
        assert_eq!(
            set("data.x=123456789012345678901234567890.10"),
            data(r#""n":9007199254740993,"x":123456789012345678901234567890.10,"é":[1,2.0,{"a":null}],"o":{}"#)
        );
        assert_eq!(
            set("data.é.2.a=it's \"text\""),
            data(r#""n":9007199254740993,"x":1.50,"é":[1,2.0,{"a":"it's \"text\""}],"o":{}"#)
        );
        assert_eq!(set("data.é.3=true"), data(r#""n":9007199254740993,"x":1.50,"é":[1,2.0,{"a":null},true],"o":{}"#));
        assert_eq!(
            set("data.o.new={ \"a\" : 1 }"),
            data(r#""n":9007199254740993,"x":1.50,"é":[1,2.0,{"a":null}],"o":{"new":{ "a" : 1 }}"#)
        );
        assert_eq!(set("data=a=b"), Ok(r#"{"id":"1","data":"a=b"}"#.to_owned()));
    }

    #[test]
    fn a_field_is_removed() {
        assert_eq!(unset("data"), Ok(r#"{"id":"1"}"#.to_owned()));
        assert_eq!(
            unset("data.é.0"),
            Ok(r#"{"id":"1","data":{"n":9007199254740993,"x":1.50,"é":[2.0,{"a":null}],"o":{}}}"#.to_owned())
        );
    }

    #[test]
    fn a_wrong_path_is_told() {
        insta::assert_snapshot!(set("data.meta.x=1").unwrap_err(), @"data.meta.x: expected `meta` in `data`, found n, x, é, o");
        insta::assert_snapshot!(set("data.n.x=1").unwrap_err(), @"data.n.x: expected `data.n` to be an object or an array, found neither");
        insta::assert_snapshot!(set("data.é.4=1").unwrap_err(), @"data.é.4: expected `4` in `data.é`, found an array with the elements 0 to 2");
        insta::assert_snapshot!(unset("data.o.x").unwrap_err(), @"data.o.x: expected `x` in `data.o`, found an empty object");
        insta::assert_snapshot!(unset("type").unwrap_err(), @"type: expected `type` in the body, found id, data");
        insta::assert_snapshot!(Edit::set("data.x").unwrap_err(), @"expected PATH=VALUE, such as data.credits_charged=5");
        insta::assert_snapshot!(Edit::set("=1").unwrap_err(), @"expected names with dots between them, such as data.credits_charged");
        insta::assert_snapshot!(Edit::unset("data..x").unwrap_err(), @"expected names with dots between them, such as data.credits_charged");
    }
}
