//! Whose headers are these? The expected sender's, and those of any other that this crate knows.

use alloc::{boxed::Box, format, string::String, vec::Vec};

use zeroize::Zeroizing;

use super::{
    headers::{View, shown},
    secrets,
};
use crate::{
    headers::{HeaderFault, HeaderLines, Headers},
    provider::{Agent, Asixto, CloudEvents, Message, Provider, StandardWebhooks, Unidentified},
    secret::{Secret, SecretSet},
    signature::Signed,
    time::UnixTime,
};

/// A sender as the search sees it.
pub(super) trait Scheme {
    /// In the words of a report.
    fn describe(&self) -> String;

    /// As [`Provider::signed`].
    fn signed<'h>(&self, headers: Headers<'h>) -> Result<Signed<'h>, HeaderFault>;

    /// The key of a text that this sender takes.
    fn key(&self, text: &str) -> Option<Zeroizing<Vec<u8>>>;
}

/// The expected sender, and behind it those others whose headers came.
pub(super) fn schemes<P: Provider>(expected: &P, view: &View, lines: &dyn HeaderLines) -> Vec<Box<dyn Scheme>> {
    fn known<P: Provider>(provider: P) -> (&'static str, Box<dyn Scheme>) {
        (P::NAME, Box::new(Sender(provider, format!("`{}`", P::NAME))))
    }
    let siblings = [known(Asixto), known(StandardWebhooks), known(Agent::new(|_| Err(Unidentified)))];
    let siblings = siblings.into_iter().filter(|(name, _)| *name != P::NAME).map(|(_, sibling)| sibling);
    // Of CloudEvents' senders any may have sent a header that is not the expected one's.
    let named = view.others().iter().filter_map(|(name, _)| {
        let description = format!("a sender whose header is `{}`", shown(name));
        let rival: Box<dyn Scheme> = Box::new(Sender(CloudEvents::new(name).ok()?, description));
        Some(rival)
    });
    let rivals = siblings.chain(named).filter(|rival| rival.signed(Headers::new(lines)).is_ok());
    let (_, own) = known(expected.clone());
    core::iter::once(own).chain(rivals).collect()
}

/// The names of a provider's headers, in lower case, as it writes them itself.
pub(super) fn names<P: Provider>(provider: &P) -> Vec<String> {
    let nobody = SecretSet::from(Secret::of_key(b""));
    let lines = provider.sign(&nobody, Message::new(UnixTime::from_secs(0), b""));
    lines.into_iter().map(|(name, _)| name.to_ascii_lowercase()).collect()
}

/// A provider and what a report calls it.
struct Sender<P>(P, String);

impl<P: Provider> Scheme for Sender<P> {
    fn describe(&self) -> String {
        self.1.clone()
    }

    fn signed<'h>(&self, headers: Headers<'h>) -> Result<Signed<'h>, HeaderFault> {
        self.0.signed(headers)
    }

    fn key(&self, text: &str) -> Option<Zeroizing<Vec<u8>>> {
        secrets::issued::<P>(text).ok()
    }
}
