//! The frameworks, each as its users use it.

mod actix;
mod axum;
mod tower;
mod warp;

use std::{fmt, net::TcpListener};

use asixto_webhook_core::{BoxFuture, provider::Provider};

use crate::server::{Drain, Service};

/// A framework that there is an adapter for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "their names say it")]
pub enum Framework {
    Axum,
    Actix,
    Warp,
    Tower,
}

impl Framework {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Axum, Self::Actix, Self::Warp, Self::Tower];

    /// Serves until `stop`, and then ends in the order that the adapter's documentation gives.
    pub(crate) fn serve<P: Provider>(
        self,
        service: Service<P>,
        listener: TcpListener,
        stop: impl Future<Output = ()> + Send + 'static,
    ) -> (Drain, BoxFuture<'static, ()>) {
        match self {
            Self::Axum => axum::serve(service, listener, stop),
            Self::Actix => actix::serve(service, listener, stop),
            Self::Warp => warp::serve(service, listener, stop),
            Self::Tower => tower::serve(service, listener, stop),
        }
    }
}

impl fmt::Display for Framework {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Axum => "axum",
            Self::Actix => "actix",
            Self::Warp => "warp",
            Self::Tower => "tower",
        })
    }
}

/// The tenant of a path.
fn tenant(path: &str) -> String {
    path.rsplit('/').next().unwrap_or_default().to_owned()
}
