//! One and the same receiver on every framework.
//!
//! The suites in `tests` are written once, against a [`Server`], and [`everywhere`] runs them on each framework: what
//! one adapter promises, all of them keep.

#![expect(
    clippy::unwrap_used,
    clippy::missing_panics_doc,
    clippy::missing_errors_doc,
    reason = "made for tests, which assert by panicking"
)]
#![expect(clippy::exhaustive_enums, reason = "nobody else uses it")]

mod frameworks;
mod seams;
mod server;

pub use frameworks::Framework;
pub use seams::{Captured, Effects, Scripted, Works, until};
pub use server::{Answered, BOTH, PATIENCE, SECOND, SECRET, Server, Service, builder, kit, outcome, secrets};

/// Runs each of these tests, functions of a [`Framework`], on every framework.
#[macro_export]
macro_rules! everywhere {
    ($($test:ident),+ $(,)?) => {
        $(mod $test {
            use $crate::Framework;

            $crate::everywhere!(@one $test, axum, Axum);
            $crate::everywhere!(@one $test, actix, Actix);
            $crate::everywhere!(@one $test, warp, Warp);
            $crate::everywhere!(@one $test, tower, Tower);
        })+
    };
    (@one $test:ident, $name:ident, $framework:ident) => {
        #[tokio::test(flavor = "multi_thread")]
        async fn $name() {
            super::$test(Framework::$framework).await;
        }
    };
}
