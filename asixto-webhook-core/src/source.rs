//! Where a receiver's secrets come from: fixed, swapped while it runs, or looked up per tenant.

use alloc::{boxed::Box, sync::Arc};
use core::{error::Error, fmt, future::Future};

use crate::{
    BoxFuture,
    log::Chain,
    provider::{Asixto, Provider},
    secret::SecretSet,
};

/// Gives the secrets that are valid now for a scope.
///
/// Implemented by [`SecretSet`] (fixed), [`RotatingSecrets`] (swapped without a restart) and [`lookup`] (one
/// set per tenant, from wherever they are kept).
#[diagnostic::on_unimplemented(
    message = "`{Self}` gives no secrets",
    label = "expected a `SecretSet`, `RotatingSecrets` or `lookup(…)`",
    note = "make a set of a secret's text with `SecretSet::from_issued([text])?`"
)]
pub trait SecretSource<P: Provider = Asixto>: Send + Sync {
    /// The secrets of `scope`; `None` for a scope that does not exist.
    ///
    /// An unknown scope costs a MAC like any other and is answered like a signature that does not match, so a
    /// sender cannot find out which scopes exist. A failure is answered with 503: the sender tries again.
    fn secrets<'a>(&'a self, scope: &'a str) -> BoxFuture<'a, Result<Option<SecretSet<P>>, Unavailable>>;

    /// Whether each scope has secrets of its own. One set for all of them would let a delivery that was made for one
    /// scope be a new event in every other.
    fn is_per_scope(&self) -> bool {
        true
    }
}

impl<P: Provider, S: SecretSource<P> + ?Sized> SecretSource<P> for Arc<S> {
    fn secrets<'a>(&'a self, scope: &'a str) -> BoxFuture<'a, Result<Option<SecretSet<P>>, Unavailable>> {
        (**self).secrets(scope)
    }

    fn is_per_scope(&self) -> bool {
        (**self).is_per_scope()
    }
}

impl<P: Provider> SecretSource<P> for SecretSet<P> {
    fn secrets<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Option<SecretSet<P>>, Unavailable>> {
        Box::pin(core::future::ready(Ok(Some(self.clone()))))
    }

    fn is_per_scope(&self) -> bool {
        false
    }
}

/// Secrets that can be replaced while deliveries arrive, without a restart or a moment of loss.
///
/// Clones share the set: keep one, give the other to the receiver.
///
/// ```
/// use asixto_webhook_core::{RotatingSecrets, Secret, SecretSet};
///
/// let old = Secret::new("2026-05", "whsec_b2xkIHNlY3JldA")?;
/// let new = Secret::new("2026-11", "whsec_bmV3IHNlY3JldA")?;
///
/// let secrets = RotatingSecrets::new(old.clone().into());
/// secrets.replace(SecretSet::new([new.clone(), old])?); // issued and deployed: either is accepted
/// secrets.replace(new.into()); // the old one is revoked
/// # Ok::<(), asixto_webhook_core::SecretError>(())
/// ```
#[cfg(feature = "std")]
pub struct RotatingSecrets<P: Provider = Asixto>(Arc<std::sync::RwLock<SecretSet<P>>>);

#[cfg(feature = "std")]
impl<P: Provider> RotatingSecrets<P> {
    /// Starts with `secrets`.
    #[must_use]
    pub fn new(secrets: SecretSet<P>) -> Self {
        Self(Arc::new(std::sync::RwLock::new(secrets)))
    }

    /// Puts `secrets` in the place of the present ones, for every delivery verified from now on.
    pub fn replace(&self, secrets: SecretSet<P>) {
        // A set is swapped whole, so a panic elsewhere cannot have left half of one behind the lock.
        *self.0.write().unwrap_or_else(std::sync::PoisonError::into_inner) = secrets;
    }

    /// The present secrets.
    #[must_use]
    pub fn current(&self) -> SecretSet<P> {
        self.0.read().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }
}

#[cfg(feature = "std")]
impl<P: Provider> SecretSource<P> for RotatingSecrets<P> {
    fn secrets<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Option<SecretSet<P>>, Unavailable>> {
        Box::pin(core::future::ready(Ok(Some(self.current()))))
    }

    fn is_per_scope(&self) -> bool {
        false
    }
}

#[cfg(feature = "std")]
impl<P: Provider> Clone for RotatingSecrets<P> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

#[cfg(feature = "std")]
impl<P: Provider> fmt::Debug for RotatingSecrets<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RotatingSecrets").field(&self.current()).finish()
    }
}

/// A source that asks `find` for the secrets of each scope: many tenants on one route.
///
/// ```
/// use asixto_webhook_core::{SecretSet, lookup};
///
/// # #[derive(Clone)]
/// # struct Db;
/// # impl Db {
/// #     async fn find(&self, name: &str) -> Result<Option<(String, String)>, std::io::Error> {
/// #         Ok(name.eq_ignore_ascii_case("acme").then(|| ("acme".into(), "whsec_Zm9vYmFyYmF6cXV4".into())))
/// #     }
/// # }
/// # let db = Db;
/// let source = lookup(move |tenant: String| {
///     let db = db.clone(); // a pool, say: every future takes its own handle along
///     async move {
///         // An unknown tenant is `None`, a database that is down an error.
///         let Some((name, issued)) = db.find(&tenant).await? else { return Ok(None) };
///         // The name as the database spells it, since it finds `ACME` as well.
///         Ok(Some(SecretSet::from_issued([issued])?.for_scope(name)))
///     }
/// });
/// # let _: &dyn asixto_webhook_core::SecretSource = &source;
/// ```
pub fn lookup<P, F, R>(find: F) -> impl SecretSource<P> + 'static
where
    P: Provider,
    F: Fn(alloc::string::String) -> R + Send + Sync + 'static,
    R: Future<Output = Result<Option<SecretSet<P>>, Unavailable>> + Send + 'static,
{
    Lookup(find)
}

struct Lookup<F>(F);

impl<P, F, R> SecretSource<P> for Lookup<F>
where
    P: Provider,
    F: Fn(alloc::string::String) -> R + Send + Sync,
    R: Future<Output = Result<Option<SecretSet<P>>, Unavailable>> + Send + 'static,
{
    fn secrets<'a>(&'a self, scope: &'a str) -> BoxFuture<'a, Result<Option<SecretSet<P>>, Unavailable>> {
        Box::pin((self.0)(scope.into()))
    }
}

/// The secrets cannot be had now. The cause is for the log; the sender learns nothing of it.
#[derive(Debug)]
pub struct Unavailable(Box<dyn Error + Send + Sync>);

impl Unavailable {
    /// With what went wrong.
    pub fn new(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self(cause.into())
    }
}

/// So that `?` works in a look-up. (For the same reason this type is no `Error` itself.)
impl<E: Into<Box<dyn Error + Send + Sync>>> From<E> for Unavailable {
    fn from(cause: E) -> Self {
        Self::new(cause)
    }
}

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the secrets are unavailable: {}", Chain(&*self.0))
    }
}
