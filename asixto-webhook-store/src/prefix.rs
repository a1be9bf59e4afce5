//! What the names of tables begin with.

use crate::OpenError;

/// That of every store, unless another is named.
pub(crate) const DEFAULT: &str = "asixto_webhook_";

/// It goes into statements as it is, and so may be plain only.
pub(crate) fn check(prefix: &str) -> Result<(), OpenError> {
    let begins = prefix.bytes().next().is_none_or(|byte| byte.is_ascii_alphabetic());
    let plain = prefix.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    match begins && plain && prefix.len() <= 40 {
        true => Ok(()),
        false => Err(OpenError::told(format!(
            "expected a prefix of a letter and then letters, digits and `_`, 40 at most, found {prefix:?}"
        ))),
    }
}
