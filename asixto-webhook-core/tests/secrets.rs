//! Which secrets are taken, can they be swapped under load, and can anything be got out of one?
#![cfg(test)]
#![cfg(feature = "std")]

mod common;

use std::{
    borrow::Borrow,
    fmt::{Display, LowerHex, UpperHex},
    hash::Hash,
    ops::Deref,
    time::Duration,
};

use asixto_webhook_core::{
    Bytes, ConfigError, Delivery, Outcome, Receiver, RotatingSecrets, Secret, SecretError, SecretSet, SecretSource,
    UnixTime, Verified, Verifier, VerifyError, lookup, sign,
};
use asixto_webhook_store::MemoryStore;
use common::{
    ID, NEW_SECRET, NOW, SECRET, answered, block_on, builder, envelope,
    fakes::{FakeSource, FakeStore, Says},
    post, processed, secrets, signed,
};
use static_assertions::{assert_impl_all, assert_not_impl_any};

// D3: nothing prints one, stores one, compares one outside of constant time, or gives its text back.
assert_not_impl_any!(Secret: Display, LowerHex, UpperHex, ToString, serde::Serialize, PartialEq, PartialOrd, Hash);
assert_not_impl_any!(Secret: AsRef<str>, AsRef<[u8]>, Borrow<str>, Deref, Into<String>, Into<Vec<u8>>, Into<Bytes>);
assert_not_impl_any!(SecretSet: Display, ToString, serde::Serialize, PartialEq, PartialOrd, Hash, AsRef<[Secret]>, Deref);
assert_not_impl_any!(RotatingSecrets: Display, ToString, serde::Serialize, PartialEq, PartialOrd, Hash, Deref);
assert_impl_all!(Secret: Send, Sync, Clone);
assert_impl_all!(SecretSet: Send, Sync, Clone);
assert_impl_all!(RotatingSecrets: Send, Sync, Clone, SecretSource);
assert_impl_all!(dyn SecretSource: Send, Sync);

fn refusal(issued: &str) -> SecretError {
    Secret::new("current", issued).unwrap_err()
}

// D3: each refusal has an error of its own.
#[test]
fn no_text() {
    assert_eq!(refusal(""), SecretError::Empty);
}

// D3
#[test]
fn padded() {
    for blank in [" ", "\n", "\r\n", "\t", "\u{a0}", "\u{2003}"] {
        for text in [blank.to_owned(), format!("{SECRET}{blank}"), format!("{blank}{SECRET}"), format!("whsec_{blank}")]
        {
            assert_eq!(refusal(&text), SecretError::Padded, "{blank:?}");
        }
    }
}

// D3
#[test]
fn quoted() {
    for quote in ['"', '\'', '`'] {
        let texts = [
            format!("{quote}{SECRET}{quote}"),
            format!("{quote}{SECRET}"),
            format!("{SECRET}{quote}"),
            format!("{quote}{quote}"),
            quote.to_string(),
        ];
        for text in texts {
            assert_eq!(refusal(&text), SecretError::Quoted, "{quote}");
        }
    }
}

// D3
#[test]
fn wrongly_prefixed() {
    for text in
        ["Zm9vYmFyYmF6cXV4", "WHSEC_Zm9vYmFy", "whsec-Zm9vYmFy", "whsec", "x whsec_Zm9vYmFy", "\u{feff}whsec_Zm9v"]
    {
        assert_eq!(refusal(text), SecretError::WrongPrefix { expected: "whsec_" }, "{text}");
    }
}

// D3: what a formatted text does to a secret that is copied from it.
#[test]
fn not_ascii() {
    for text in ["whsec_Zm9v\u{200b}", "whsec_Zm9v\u{201d}", "whsec_Zm\u{ad}9v", "whsec_\u{2013}Zm9v"] {
        assert_eq!(refusal(text), SecretError::NotAscii, "{text:?}");
    }
}

// D3
#[test]
fn prefix_only() {
    assert_eq!(refusal("whsec_"), SecretError::PrefixOnly { prefix: "whsec_" });
}

// D3: a refusal never shows the value.
#[test]
fn a_refusal_does_not_show_the_value() {
    let body = &SECRET["whsec_".len()..];
    for text in [format!("{SECRET} "), format!("\"{SECRET}\""), body.to_owned(), format!("WHSEC_{body}")] {
        let error = refusal(&text);
        for window in body.as_bytes().windows(8) {
            let window = str::from_utf8(window).unwrap();
            assert!(!error.to_string().contains(window) && !format!("{error:?}").contains(window), "{error}");
        }
    }
}

// D1, D3: a label for the logs, which is not the secret.
#[test]
fn labels() {
    for label in ["", " ", "\t\n"] {
        assert_eq!(Secret::new(label, SECRET).unwrap_err(), SecretError::NoLabel, "{label:?}");
    }
    for label in
        [SECRET.to_owned(), format!("prod {SECRET}"), SECRET[6..].to_owned(), format!("ends in {}", &SECRET[10..18])]
    {
        assert_eq!(Secret::new(&label, SECRET).unwrap_err(), SecretError::LabelShowsSecret);
    }
    assert_eq!(Secret::new("2026-11", SECRET).unwrap().label(), "2026-11");
}

// D1: any number from 1.
#[test]
fn sets() {
    let secret = |label: &str, issued: &str| Secret::new(label, issued).unwrap();
    let refusal = |secrets: Vec<Secret>| SecretSet::new(secrets).unwrap_err();
    assert_eq!(refusal(vec![]), SecretError::NoSecrets);
    assert_eq!(refusal(vec![secret("a", SECRET), secret("a", NEW_SECRET)]), SecretError::RepeatedLabel);
    assert_eq!(refusal(vec![secret("a", SECRET), secret("b", SECRET)]), SecretError::RepeatedSecret);
    let third = secret("c", "whsec_third");
    assert_eq!(refusal(vec![secret("a", SECRET), third.clone(), secret("b", SECRET)]), SecretError::RepeatedSecret);
    let set = SecretSet::new([secret("a", SECRET), secret("b", NEW_SECRET), third]).unwrap();
    assert_eq!(set.iter().map(Secret::label).collect::<Vec<_>>(), ["a", "b", "c"]);
}

// D1, D3: straight from a list, labelled by place.
#[test]
fn from_a_list() {
    let set: SecretSet = SecretSet::from_issued([SECRET, NEW_SECRET]).unwrap();
    assert_eq!(set.iter().map(Secret::label).collect::<Vec<_>>(), ["1", "2"]);
    let refusal = |issued: &[&str]| {
        let error = SecretSet::<asixto_webhook_core::Asixto>::from_issued(issued).unwrap_err();
        (error.place(), error.error())
    };
    assert_eq!(refusal(&[]), (None, SecretError::NoSecrets));
    assert_eq!(refusal(&[SECRET, ""]), (Some(2), SecretError::Empty));
    assert_eq!(refusal(&[SECRET, SECRET]), (None, SecretError::RepeatedSecret));
    assert_eq!(refusal(&[" whsec_x", SECRET]), (Some(1), SecretError::Padded));
}

// B2: the key is the text as issued, so a secret in another encoding of the same bytes is another secret.
#[test]
fn the_text_is_the_key() {
    let padded = secrets("a", "whsec_Zm9v");
    for other in ["whsec_Zm9v=", "whsec_zm9v", "whsec_Zm9vo", "whsec_foo"] {
        let header = [("asixto-signature", sign(&secrets("b", other), UnixTime::from_secs(NOW), b"{}"))];
        let result = Verifier::new(padded.clone()).verify(&header, b"{}", UnixTime::from_secs(NOW));
        assert_eq!(result, Err(VerifyError::SignatureMismatch), "{other}");
    }
}

fn old() -> Secret {
    Secret::new("old", SECRET).unwrap()
}

fn new() -> Secret {
    Secret::new("new", NEW_SECRET).unwrap()
}

/// The label of the secret by which a receiver takes a delivery that `sender` signed; `None` if it is a mismatch.
fn taken(receiver: &Receiver, sender: &SecretSet) -> Option<String> {
    let body = envelope(ID);
    match post(receiver, &signed(sender, &body), body) {
        asixto_webhook_core::Admission::Process(event, _) => Some(event.verified().secret().to_owned()),
        asixto_webhook_core::Admission::Answer(answer) => {
            assert_eq!(answer.outcome(), Outcome::SignatureMismatch);
            None
        }
    }
}

// D1, D2, D4: through a whole rotation, seen by a receiver that is never rebuilt.
#[test]
fn a_rotation() {
    let rotating = RotatingSecrets::new(old().into());
    let receiver = builder().secrets(rotating.clone()).dedup(asixto_webhook_core::NoDedup).build().unwrap();
    let both = || SecretSet::new([new(), old()]).unwrap();
    // The sender signs with the old one, while both are active with both in either order, and then with the new one.
    let senders = [old().into(), both(), SecretSet::new([old(), new()]).unwrap(), new().into()];
    let seen = || senders.iter().map(|sender| taken(&receiver, sender)).collect::<Vec<_>>();
    let some = |label: &str| Some(label.to_owned());

    assert_eq!(seen(), [some("old"), some("old"), some("old"), None]);
    rotating.replace(both());
    assert_eq!(seen(), [some("old"), some("new"), some("new"), some("new")]);
    rotating.replace(new().into());
    assert_eq!(seen(), [None, some("new"), some("new"), some("new")]);
    assert_eq!(rotating.current().iter().map(Secret::label).collect::<Vec<_>>(), ["new"]);
}

// D4: any thread can swap the set, and a panic elsewhere does not lock it up.
#[test]
fn a_swap_from_another_thread() {
    let rotating = RotatingSecrets::new(old().into());
    let elsewhere = rotating.clone();
    std::thread::spawn(move || elsewhere.replace(new().into())).join().unwrap();
    assert_eq!(rotating.current().iter().map(Secret::label).collect::<Vec<_>>(), ["new"]);
}

// D1: the label says which one matched, wherever it stands in the set.
#[test]
fn the_label_of_the_match() {
    let set = SecretSet::new([old(), new(), Secret::new("spare", "whsec_spare").unwrap()]).unwrap();
    for secret in [old(), new(), Secret::new("x", "whsec_spare").unwrap()] {
        let label = if secret.label() == "x" { "spare" } else { secret.label() };
        let header = [("asixto-signature", sign(&secret.clone().into(), UnixTime::from_secs(NOW), b"{}"))];
        let verified = Verifier::new(set.clone()).verify(&header, b"{}", UnixTime::from_secs(NOW));
        assert_eq!(verified.as_ref().map(Verified::secret), Ok(label));
    }
}

/// The outcome of a delivery for `tenant` that is signed with `sender`.
fn for_tenant(receiver: &Receiver, tenant: &str, sender: &SecretSet) -> Result<String, Outcome> {
    let body = Bytes::from(envelope(ID));
    let lines = signed(sender, &body);
    match block_on(receiver.admit(Delivery::new("POST", &lines, body).scope(tenant))) {
        asixto_webhook_core::Admission::Process(event, _) => Ok(event.scope().to_owned()),
        asixto_webhook_core::Admission::Answer(answer) => Err(answer.outcome()),
    }
}

// D1, E1: each tenant has its own secrets, and nobody's opens another's door.
#[test]
fn a_lookup_per_tenant() {
    let source = lookup(|tenant: String| async move {
        match tenant.as_str() {
            "acme" => Ok(Some(SecretSet::from_issued([SECRET])?)),
            "globex" => Ok(Some(SecretSet::from_issued([NEW_SECRET])?)),
            // A row with a secret that is none.
            "broken" => Ok(Some(SecretSet::from_issued(["changeme"])?)),
            _ => Ok(None),
        }
    });
    let receiver = builder().secrets(source).dedup(asixto_webhook_core::NoDedup).build().unwrap();
    assert_eq!(for_tenant(&receiver, "acme", &old().into()), Ok("acme".to_owned()));
    assert_eq!(for_tenant(&receiver, "globex", &new().into()), Ok("globex".to_owned()));
    assert_eq!(for_tenant(&receiver, "acme", &new().into()), Err(Outcome::SignatureMismatch));
    assert_eq!(for_tenant(&receiver, "globex", &old().into()), Err(Outcome::SignatureMismatch));
    assert_eq!(for_tenant(&receiver, "initech", &old().into()), Err(Outcome::SignatureMismatch));
    assert_eq!(for_tenant(&receiver, "broken", &old().into()), Err(Outcome::NoSecret));
}

// E1: a look-up that finds one tenant under several spellings says which it is: it is one scope, with one key an event.
#[test]
fn a_scope_in_its_one_spelling() {
    let source = lookup(|tenant: String| async move {
        let known = tenant.eq_ignore_ascii_case("acme");
        Ok(known.then(|| SecretSet::from(old()).for_scope("acme")))
    });
    let receiver = builder().secrets(source).dedup(MemoryStore::default()).build().unwrap();
    let scope = |tenant: &str| for_tenant(&receiver, tenant, &old().into());
    assert_eq!(scope("ACME"), Ok("acme".to_owned()));
    // Still claimed: the same event, whatever its sender calls the tenant.
    for tenant in ["acme", "Acme", "ACME"] {
        assert_eq!(scope(tenant), Err(Outcome::InFlight), "{tenant}");
    }
}

// D1: an empty scope is nobody's, and no source is trusted to know that.
#[test]
fn an_empty_scope() {
    let source = lookup(|_| async { Ok(Some(SecretSet::from(old()))) });
    let receiver = builder().secrets(source).dedup(asixto_webhook_core::NoDedup).build().unwrap();
    assert_eq!(for_tenant(&receiver, "", &old().into()), Err(Outcome::SignatureMismatch));
    assert_eq!(for_tenant(&receiver, " ", &old().into()), Ok(" ".to_owned()));
}

// C1: a tolerance that could not be kept is refused, as a receiver's builder refuses it.
#[test]
fn a_verifiers_tolerance() {
    let with = |tolerance| Verifier::new(old()).tolerance(tolerance).map(drop);
    let millis = Duration::from_millis;
    assert_eq!(with(millis(1_000)), Ok(()));
    assert_eq!(with(millis(86_400_000)), Ok(()));
    assert!(matches!(with(millis(1_500)), Err(ConfigError::FractionalTolerance { .. })));
    for tolerance in [Duration::ZERO, millis(86_401_000), Duration::from_secs(u64::MAX)] {
        assert!(matches!(with(tolerance), Err(ConfigError::OutOfRange { setting: "tolerance", .. })), "{tolerance:?}");
    }
}

// D1: a source behind a pointer is a source.
#[test]
fn a_shared_source() {
    let source = std::sync::Arc::new(FakeSource::new(Says::This(Some(old().into()))));
    let receiver = builder().secrets(std::sync::Arc::clone(&source)).dedup(FakeStore::fresh()).build().unwrap();
    let body = envelope(ID);
    let (event, _) = processed(post(&receiver, &signed(&old().into(), &body), body.clone()));
    assert_eq!(event.verified().secret(), "old");
    assert_eq!(answered(post(&receiver, &signed(&new().into(), &body), body)).outcome(), Outcome::SignatureMismatch);
    assert_eq!(source.asked().len(), 2);
}
