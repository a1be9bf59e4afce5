//! The layer: a receiver, and what a request does not say about itself.

use std::{fmt, marker::PhantomData, sync::Arc, time::Duration};

use asixto_webhook_core::{Asixto, ConfigError, Receiver, provider::Provider};
use asixto_webhook_runtime::{Driver, Undrained};
use bytes::Bytes;
use http::request::Parts;
use http_body_util::Full;
use tower::Layer;

use crate::service::Webhook;

/// Puts a receiver before a service, which then sees verified events only.
///
/// Clones share everything, and all layers of one receiver share what is running: keep one to
/// [`drain`](Self::drain) on shutdown. A second receiver has a drain of its own.
pub struct WebhookLayer<P: Provider = Asixto, B = Full<Bytes>> {
    pub(crate) driver: Driver<P>,
    pub(crate) scope: Option<Arc<ScopeOf>>,
    body: PhantomData<fn() -> B>,
}

pub(crate) type ScopeOf = dyn Fn(&Parts) -> String + Send + Sync;

impl<P: Provider> WebhookLayer<P> {
    /// A layer for `receiver`. The service gets its requests with a [`Full`] body.
    #[must_use]
    pub fn new(receiver: &Receiver<P>) -> Self {
        Self { driver: Driver::new(receiver), scope: None, body: PhantomData }
    }
}

impl<P: Provider, B> WebhookLayer<P, B> {
    /// Gives the service its requests with another type of body, for a service that takes one type only.
    #[must_use]
    pub fn restore_as<T: From<Bytes>>(self) -> WebhookLayer<P, T> {
        WebhookLayer { driver: self.driver, scope: self.scope, body: PhantomData }
    }

    /// Takes the scope (the tenant) from each request, for many tenants on one route: secrets are looked up for it,
    /// and ids are unique within it. Take it from the path, never from something a sender can vary, such as `Host`.
    ///
    /// One tenant has to be one text, or a captured delivery is a new event under each of its names. A look-up that finds the same tenant for `acme` and
    /// `ACME` says which it is with [`SecretSet::for_scope`](asixto_webhook_core::SecretSet::for_scope).
    ///
    /// An empty text is a scope that nobody knows; a panic is answered 500.
    ///
    /// # Errors
    /// [`ConfigError::SharedSecrets`] where the receiver has one set of secrets for all scopes.
    pub fn scope_from(mut self, scope: impl Fn(&Parts) -> String + Send + Sync + 'static) -> Result<Self, ConfigError> {
        self.driver.receiver().check_scopes()?;
        self.scope = Some(Arc::new(scope));
        Ok(self)
    }

    /// Waits until every delivery that was admitted is settled: the last step of a graceful shutdown, after the
    /// server has stopped. Handlers whose sender hung up, or was answered before they ended, are among them.
    ///
    /// # Errors
    /// [`Undrained`] if some are still running after `limit`. Their claims end with their leases, and the sender
    /// comes back for them.
    pub async fn drain(&self, limit: Duration) -> Result<(), Undrained> {
        self.driver.drain(limit).await
    }
}

impl<S, P: Provider, B> Layer<S> for WebhookLayer<P, B> {
    type Service = Webhook<S, P, B>;

    fn layer(&self, inner: S) -> Self::Service {
        Webhook { inner, layer: self.clone() }
    }
}

impl<P: Provider> From<&Receiver<P>> for WebhookLayer<P> {
    fn from(receiver: &Receiver<P>) -> Self {
        Self::new(receiver)
    }
}

impl<P: Provider, B> Clone for WebhookLayer<P, B> {
    fn clone(&self) -> Self {
        Self { driver: self.driver.clone(), scope: self.scope.clone(), body: PhantomData }
    }
}

impl<P: Provider, B> fmt::Debug for WebhookLayer<P, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebhookLayer").field("driver", &self.driver).finish_non_exhaustive()
    }
}
