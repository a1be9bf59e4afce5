//! What each of the ten event types carries in `data`.
//!
//! Reading is lenient where the sender may grow and strict where a mistake would be silent: unknown
//! fields are ignored, a nullable field that is absent is `None`, a word outside a known list is kept as
//! text; a value of another JSON type, or a required field that is absent, is a [`DataError`].

use alloc::{boxed::Box, string::String, vec::Vec};

use serde_json::value::RawValue;

mod number;
mod read;
#[cfg(test)]
mod tests;
mod time;
mod words;

pub use number::{Integer, Number};
pub use read::DataError;
use read::Object;
pub use time::Time;
#[cfg(feature = "jiff")]
pub use time::TimeError;
pub use words::{DisabledReason, JobStatus, Verdict};

/// Everything that follows from the list of types. A name stands in the list below and nowhere else.
macro_rules! catalogue {
    ($($(#[$doc:meta])* $name:literal => $variant:ident($content:ident),)*) => {
        /// The names of all event types. The sender's catalogue is closed: an endpoint can subscribe to
        /// these and to no other.
        pub const EVENT_TYPES: [&str; 10] = [$($name),*];

        /// The content of an event, typed by the event's type.
        ///
        /// ```
        /// # use asixto_webhook_core::Data;
        /// fn credits_to_book(data: &Data) -> Option<i64> {
        ///     match data {
        ///         // Expired is not failed, but it can have been charged too.
        ///         Data::JobSucceeded(job) | Data::JobFailed(job) => job.credits_charged.as_ref()?.as_i64(),
        ///         Data::JobExpired(job) => job.credits_charged.as_ref()?.as_i64(),
        ///         _ => None,
        ///     }
        /// }
        /// ```
        #[derive(Debug, Clone)]
        #[non_exhaustive]
        pub enum Data {
            $(#[doc = concat!("`", $name, "`: ")] $(#[$doc])* $variant($content),)*
            /// A type that this version does not know. The event still has its type as text and its data
            /// as raw JSON.
            Unknown,
        }

        impl Data {
            /// Types `data` by `event_type`. An unknown type is no error, whatever its data looks like.
            pub(crate) fn read(event_type: &str, data: &RawValue) -> Result<Self, DataError> {
                Ok(match event_type {
                    $($name => Self::$variant($content::read(&Object::of(data)?)?),)*
                    _ => Self::Unknown,
                })
            }
        }
    };
}

catalogue! {
    /// A job ended well.
    "job.succeeded" => JobSucceeded(Job),
    /// A job failed; [`Job::error_code`] says how.
    "job.failed" => JobFailed(Job),
    /// A job ran out of time before it was complete, and its reserved credits were freed. Nothing is
    /// there to diagnose: ask for it again.
    "job.expired" => JobExpired(ExpiredJob),
    /// The company's consumption crossed one of the warning thresholds of its balance.
    "credits.threshold_reached" => CreditsThresholdReached(Credits),
    /// The company's balance is used up: operations are refused with `402` until it is topped up.
    "credits.exhausted" => CreditsExhausted(Credits),
    /// The spending cap for additional consumption is reached: operations are refused with `402` until
    /// the cap is raised. Topping up the balance does not help.
    "credits.spending_cap_reached" => CreditsSpendingCapReached(Credits),
    /// A certification run of your MCP server ended. Comes to endpoints of the environment `test`.
    "certification.finished" => CertificationFinished(Certification),
    /// Another of your webhook endpoints was switched off because its deliveries kept failing. It stays
    /// off until you ask for it to be switched on.
    "webhook_endpoint.disabled" => WebhookEndpointDisabled(DisabledEndpoint),
    /// The agent is no longer offered the tools of one capability of your MCP server, because the server
    /// was down for long. Comes to endpoints of the environment `live`. The tools return by themselves
    /// when the server answers again, and no event says that they did.
    "tool.disabled" => ToolDisabled(DisabledTool),
    /// The agent asked for a person to take over the conversation.
    "conversation.handoff_requested" => ConversationHandoffRequested(Handoff),
}

/// A job that succeeded or failed.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Job {
    /// The job, as named in the `202` that accepted it.
    pub job_id: String,
    /// The operation that started the job, by the code that `GET /v1/jobs/{job_id}` gives.
    pub operation: String,
    /// How the job ended: the second half of the event's type.
    pub status: JobStatus,
    /// The credits that were settled, not those that were reserved: the figure to reconcile with, by
    /// [`Integer::as_i64`]. `None` if the job did not get as far as settling, which is not the same as zero.
    pub credits_charged: Option<Integer>,
    /// The error's code from the API's list of errors. `None` if there was no error.
    pub error_code: Option<String>,
    /// The published result, a JSON object whose shape depends on the operation; the same that
    /// `GET /v1/jobs/{job_id}` gives. Byte for byte as sent: `serde_json::from_str(result.get())` reads it into a type
    /// of yours.
    pub result: Option<Box<RawValue>>,
    /// Your own `metadata` of the request, a JSON object of at most 4 KB. It is kept byte for byte as
    /// sent, so the order of keys and every digit of a number survive. `None` if the request had none,
    /// or if [`metadata_omitted`](Self::metadata_omitted).
    pub metadata: Option<Box<RawValue>>,
    /// The request had `metadata`, but there was no room for it beside the result. What the job gave can
    /// be read again at `GET /v1/jobs/{job_id}`.
    pub metadata_omitted: bool,
}

impl Job {
    fn read(data: &Object<'_>) -> Result<Self, DataError> {
        Ok(Self {
            job_id: data.required("job_id")?,
            operation: data.required("operation")?,
            status: data.required("status")?,
            credits_charged: data.nullable("credits_charged")?,
            error_code: data.nullable("error_code")?,
            result: data.nullable("result")?,
            metadata: data.optional("metadata")?,
            metadata_omitted: data.optional("metadata_omitted")?.unwrap_or(false),
        })
    }
}

/// A job that expired. It has no result.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ExpiredJob {
    /// The job, as named in the `202` that accepted it.
    pub job_id: String,
    /// The operation that started the job, by the code that `GET /v1/jobs/{job_id}` gives.
    pub operation: String,
    /// Always [`JobStatus::Expired`].
    pub status: JobStatus,
    /// The credits that were really charged: the figure to reconcile with. Almost always zero, because a
    /// job that expires frees what it had reserved, but not always: do not take the zero for granted.
    pub credits_charged: Option<Integer>,
    /// Always `job_not_completed`.
    pub error_code: Option<String>,
    /// Your own `metadata` of the request, under the same rules as [`Job::metadata`].
    pub metadata: Option<Box<RawValue>>,
    /// The request had `metadata`, but there was no room for it.
    pub metadata_omitted: bool,
}

impl ExpiredJob {
    fn read(data: &Object<'_>) -> Result<Self, DataError> {
        Ok(Self {
            job_id: data.required("job_id")?,
            operation: data.required("operation")?,
            status: data.required("status")?,
            credits_charged: data.nullable("credits_charged")?,
            error_code: data.nullable("error_code")?,
            metadata: data.optional("metadata")?,
            metadata_omitted: data.optional("metadata_omitted")?.unwrap_or(false),
        })
    }
}

/// The figures behind a notice about credits.
///
/// The balance is the whole company's, so a notice can stem from consumption that never passed through
/// the API. A figure that was not measured for this notice is `None`: unknown, not zero. Which threshold
/// was crossed is not said, and both of them come as the same event: decide by
/// [`usage_percent`](Self::usage_percent).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Credits {
    /// How much of the balance is consumed, in percent.
    pub usage_percent: Option<Number>,
    /// Credits consumed in the current period.
    pub used_credits: Option<Number>,
    /// Credits available in the current period.
    pub total_available: Option<Number>,
    /// Additional consumption so far, beyond the balance.
    pub overage_credits: Option<Number>,
    /// The spending cap in force for that additional consumption.
    pub overage_spending_cap: Option<Number>,
}

impl Credits {
    fn read(data: &Object<'_>) -> Result<Self, DataError> {
        Ok(Self {
            usage_percent: data.optional("usage_percent")?,
            used_credits: data.optional("used_credits")?,
            total_available: data.optional("total_available")?,
            overage_credits: data.optional("overage_credits")?,
            overage_spending_cap: data.optional("overage_spending_cap")?,
        })
    }
}

/// How a certification run of your MCP server ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Certification {
    /// The run: what to quote when you ask about its verdict.
    pub run_id: String,
    /// Your MCP server, by the identifier that you gave it when you registered it.
    pub server: String,
    /// The verdict. [`Verdict::Inconclusive`] is not a failure of your server.
    pub status: Verdict,
    /// The blocking checks that failed, by the names that the documentation gives them. Empty if none
    /// did.
    pub failed_blocking_checks: Vec<String>,
    /// Whether this run withdrew tools that were already published, because of a regression.
    pub suspended: bool,
    /// How many tools were withdrawn: zero unless [`suspended`](Self::suspended).
    pub retired_tools: Integer,
}

impl Certification {
    fn read(data: &Object<'_>) -> Result<Self, DataError> {
        Ok(Self {
            run_id: data.required("run_id")?,
            server: data.required("server")?,
            status: data.required("status")?,
            failed_blocking_checks: data.required("failed_blocking_checks")?,
            suspended: data.required("suspended")?,
            retired_tools: data.required("retired_tools")?,
        })
    }
}

/// A webhook endpoint of yours that was switched off: never the one that receives this event.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DisabledEndpoint {
    /// The endpoint that was switched off.
    pub endpoint_id: String,
    /// The destination that no longer receives.
    pub url: String,
    /// Always [`DisabledReason::SustainedFailures`].
    pub reason: DisabledReason,
    /// Deliveries that used up all their attempts since the last success. Deliveries, not attempts.
    pub consecutive_failures: Integer,
    /// When a delivery last succeeded; `None` if none ever did.
    pub last_success_at: Option<Time>,
}

impl DisabledEndpoint {
    fn read(data: &Object<'_>) -> Result<Self, DataError> {
        Ok(Self {
            endpoint_id: data.required("endpoint_id")?,
            url: data.required("url")?,
            reason: data.required("reason")?,
            consecutive_failures: data.required("consecutive_failures")?,
            last_success_at: data.nullable("last_success_at")?,
        })
    }
}

/// Tools of your MCP server that the agent is no longer offered, until the server answers again.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DisabledTool {
    /// Your MCP server, by the identifier that you gave it when you registered it.
    pub server: String,
    /// The capability whose tools were withdrawn.
    pub capability: String,
    /// The withdrawn tools, by the names under which the agent saw them.
    pub tools: Vec<String>,
    /// Always [`DisabledReason::SustainedOutage`].
    pub reason: DisabledReason,
    /// Failed calls to your server in a row.
    pub consecutive_failures: Integer,
    /// When a call was last answered; `None` if none ever was.
    pub last_success_at: Option<Time>,
}

impl DisabledTool {
    fn read(data: &Object<'_>) -> Result<Self, DataError> {
        Ok(Self {
            server: data.required("server")?,
            capability: data.required("capability")?,
            tools: data.required("tools")?,
            reason: data.required("reason")?,
            consecutive_failures: data.required("consecutive_failures")?,
            last_success_at: data.nullable("last_success_at")?,
        })
    }
}

/// The agent's request that a person take over.
///
/// The same signal is inside the result of the `job.succeeded` of that turn. The two are deliveries with
/// ids of their own, so deduplication lets both through: if you act on both, match them by
/// [`job_id`](Self::job_id).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Handoff {
    /// The turn in which the agent asked.
    pub job_id: String,
    /// Your own identifier of the conversation, from the request. `None` if that had none.
    pub conversation_id: Option<String>,
    /// Why, in the agent's words. The sender cuts it at 512 characters; this library does not check
    /// that. `None` if the agent gave no reason.
    pub reason: Option<String>,
    /// When the agent asked.
    pub requested_at: Time,
}

impl Handoff {
    fn read(data: &Object<'_>) -> Result<Self, DataError> {
        Ok(Self {
            job_id: data.required("job_id")?,
            conversation_id: data.nullable("conversation_id")?,
            reason: data.nullable("reason")?,
            requested_at: data.required("requested_at")?,
        })
    }
}
