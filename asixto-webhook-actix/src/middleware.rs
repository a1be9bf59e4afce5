//! The middleware: a receiver, and what a request does not say about itself.

use std::{
    fmt,
    future::{Ready, ready},
    rc::Rc,
    sync::Arc,
    time::Duration,
};

use actix_web::{
    Error, HttpRequest,
    body::{EitherBody, MessageBody},
    dev::{Service, ServiceRequest, ServiceResponse, Transform},
};
use asixto_webhook_core::{Asixto, ConfigError, Receiver, provider::Provider};
use asixto_webhook_runtime::{Driver, Undrained};

use crate::service::WebhookService;

/// Puts a receiver before a resource, whose handlers then see verified events only.
///
/// Make one outside of the factory of the app, and give every worker a clone: clones share everything, and all
/// middlewares of one receiver share what is running. Keep one to [`drain`](Self::drain) on shutdown. A second receiver
/// has a drain of its own.
pub struct WebhookMiddleware<P: Provider = Asixto> {
    pub(crate) driver: Driver<P>,
    pub(crate) scope: Option<Arc<ScopeOf>>,
}

pub(crate) type ScopeOf = dyn Fn(&HttpRequest) -> String + Send + Sync;

impl<P: Provider> WebhookMiddleware<P> {
    /// A middleware for `receiver`.
    #[must_use]
    pub fn new(receiver: &Receiver<P>) -> Self {
        Self { driver: Driver::new(receiver), scope: None }
    }

    /// Takes the scope (the tenant) from each request, for many tenants on one route: secrets are looked up for it,
    /// and ids are unique within it. Take it from the path, never from something a sender can vary, such as `Host`.
    ///
    /// One tenant has to be one text, or a captured delivery is a new event under each of its names. A look-up that
    /// finds the same tenant for `acme` and `ACME` says which it is with
    /// [`SecretSet::for_scope`](asixto_webhook_core::SecretSet::for_scope).
    ///
    /// An empty text is a scope that nobody knows; a panic is answered 500.
    ///
    /// # Errors
    /// [`ConfigError::SharedSecrets`] where the receiver has one set of secrets for all scopes.
    pub fn scope_from(
        mut self,
        scope: impl Fn(&HttpRequest) -> String + Send + Sync + 'static,
    ) -> Result<Self, ConfigError> {
        self.driver.receiver().check_scopes()?;
        self.scope = Some(Arc::new(scope));
        Ok(self)
    }

    /// Waits until every delivery that was admitted is settled: the step of a graceful shutdown that comes *before*
    /// the server stops, since its workers take their tasks with them. Handlers whose sender hung up, or was answered
    /// before they ended, are among them.
    ///
    /// # Errors
    /// [`Undrained`] if some are still running after `limit`. Their claims end with their leases, and the sender
    /// comes back for them.
    pub async fn drain(&self, limit: Duration) -> Result<(), Undrained> {
        self.driver.drain(limit).await
    }
}

impl<S, B, P> Transform<S, ServiceRequest> for WebhookMiddleware<P>
where
    S: Service<ServiceRequest, Response = ServiceResponse<B>, Error = Error> + 'static,
    S::Future: 'static,
    B: MessageBody + 'static,
    P: Provider,
{
    /// With the [`Outcome`](asixto_webhook_core::Outcome) in its extensions, for metrics: never for the sender.
    type Response = ServiceResponse<EitherBody<B>>;
    type Error = Error;
    type Transform = WebhookService<S, P>;
    type InitError = ();
    type Future = Ready<Result<Self::Transform, ()>>;

    fn new_transform(&self, inner: S) -> Self::Future {
        ready(Ok(WebhookService { inner: Rc::new(inner), middleware: self.clone() }))
    }
}

impl<P: Provider> Clone for WebhookMiddleware<P> {
    fn clone(&self) -> Self {
        Self { driver: self.driver.clone(), scope: self.scope.clone() }
    }
}

impl<P: Provider> fmt::Debug for WebhookMiddleware<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebhookMiddleware").field("driver", &self.driver).finish_non_exhaustive()
    }
}
