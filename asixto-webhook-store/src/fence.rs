//! What tells one claim from every other.

use asixto_webhook_core::StoreError;

/// A number that no other claim has: of 64 random bits.
pub(crate) fn fence() -> Result<i64, StoreError> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).map_err(StoreError::unavailable)?;
    Ok(i64::from_ne_bytes(bytes))
}
