use alloc::{
    boxed::Box,
    format,
    string::{String, ToString},
    vec::Vec,
};

use insta::assert_snapshot;
use serde_json::value::RawValue;

use super::*;

fn raw(json: &str) -> Box<RawValue> {
    RawValue::from_string(json.into()).unwrap()
}

fn read(event_type: &str, json: &str) -> Result<Data, DataError> {
    Data::read(event_type, &raw(json))
}

fn job(json: &str) -> Result<Job, DataError> {
    read("job.succeeded", json).map(|data| match data {
        Data::JobSucceeded(job) => job,
        other => panic!("{other:?}"),
    })
}

/// A job with the required fields and `more` of them.
fn job_with(more: &str) -> Result<Job, DataError> {
    job(&format!(r#"{{"job_id":"j1","operation":"agent.turn","status":"succeeded"{more}}}"#))
}

fn credits(json: &str) -> Result<Credits, DataError> {
    read("credits.exhausted", json).map(|data| match data {
        Data::CreditsExhausted(credits) => credits,
        other => panic!("{other:?}"),
    })
}

fn certification(json: &str) -> Result<Certification, DataError> {
    read("certification.finished", json).map(|data| match data {
        Data::CertificationFinished(certification) => certification,
        other => panic!("{other:?}"),
    })
}

fn handoff(json: &str) -> Result<Handoff, DataError> {
    read("conversation.handoff_requested", json).map(|data| match data {
        Data::ConversationHandoffRequested(handoff) => handoff,
        other => panic!("{other:?}"),
    })
}

// F: the catalogue is closed.
#[test]
fn every_type_of_the_catalogue_is_known() {
    let mut types = EVENT_TYPES.to_vec();
    types.sort_unstable();
    types.dedup();
    assert_eq!(types.len(), 10);

    for event_type in EVENT_TYPES {
        // Each of them wants an object, which an unknown type does not.
        assert_eq!(read(event_type, "[]").unwrap_err().field(), "data", "{event_type}");
    }
}

// A4
#[test]
fn an_unknown_type_is_no_error_whatever_its_data() {
    for event_type in ["job.paused", "Job.Succeeded", "job.succeeded ", ""] {
        for data in ["{}", "[1]", "null", "1e400", r#""\ud800""#] {
            assert!(matches!(read(event_type, data), Ok(Data::Unknown)), "{event_type} {data}");
        }
    }
}

// F1
#[test]
fn job_succeeded() {
    let job = job(r#"{
        "job_id": "j1", "operation": "agent.turn", "status": "succeeded", "credits_charged": 12,
        "error_code": null, "result": {"text": "¡Hola!"}, "metadata": {"case": 7}
    }"#)
    .unwrap();
    assert_eq!(job.job_id, "j1");
    assert_eq!(job.operation, "agent.turn");
    assert_eq!(job.status, JobStatus::Succeeded);
    assert_eq!(job.credits_charged.and_then(|credits| credits.as_i64()), Some(12));
    assert_eq!(job.error_code, None);
    assert_eq!(job.result.unwrap().get(), r#"{"text": "¡Hola!"}"#);
    assert_eq!(job.metadata.unwrap().get(), r#"{"case": 7}"#);
    assert!(!job.metadata_omitted);
}

// F1
#[test]
fn job_failed() {
    let data = read(
        "job.failed",
        r#"{"job_id":"j1","operation":"agent.turn","status":"failed","credits_charged":null,"error_code":"upstream_timeout","result":null}"#,
    );
    let Ok(Data::JobFailed(job)) = data else { panic!("{data:?}") };
    assert_eq!(job.status, JobStatus::Failed);
    assert_eq!(job.credits_charged, None);
    assert_eq!(job.error_code.as_deref(), Some("upstream_timeout"));
    assert!(job.result.is_none());
    assert!(job.metadata.is_none());
}

// F1, H4
#[test]
fn metadata_that_did_not_fit() {
    let job = job_with(r#","metadata_omitted":true"#).unwrap();
    assert!(job.metadata_omitted);
    assert!(job.metadata.is_none());
}

// F2
#[test]
fn job_expired() {
    let data = read(
        "job.expired",
        r#"{"job_id":"j1","operation":"agent.turn","status":"expired","credits_charged":0,"error_code":"job_not_completed","metadata":{"case":7}}"#,
    );
    let Ok(Data::JobExpired(job)) = data else { panic!("{data:?}") };
    assert_eq!(job.status, JobStatus::Expired);
    assert_eq!(job.credits_charged.unwrap().as_str(), "0");
    assert_eq!(job.error_code.as_deref(), Some("job_not_completed"));
    assert_eq!(job.metadata.unwrap().get(), r#"{"case":7}"#);
}

// F3
#[test]
fn credits_of_all_three_types() {
    let json = r#"{"usage_percent":80.5,"used_credits":805,"total_available":1000,"overage_credits":0,"overage_spending_cap":250.00}"#;
    let expected = credits(json).unwrap();
    let text = |number: &Option<Number>| number.as_ref().map(ToString::to_string);
    assert_eq!(text(&expected.usage_percent).as_deref(), Some("80.5"));
    assert_eq!(text(&expected.used_credits).as_deref(), Some("805"));
    assert_eq!(text(&expected.total_available).as_deref(), Some("1000"));
    assert_eq!(text(&expected.overage_credits).as_deref(), Some("0"));
    assert_eq!(text(&expected.overage_spending_cap).as_deref(), Some("250.00"));

    let data = read("credits.threshold_reached", json);
    assert!(matches!(data, Ok(Data::CreditsThresholdReached(credits)) if credits == expected));
    let data = read("credits.spending_cap_reached", json);
    assert!(matches!(data, Ok(Data::CreditsSpendingCapReached(credits)) if credits == expected));
}

// F3
#[test]
fn a_figure_that_was_not_measured() {
    let credits = credits(r#"{"usage_percent":100}"#).unwrap();
    assert_eq!(credits.usage_percent.and_then(|percent| percent.as_f64()), Some(100.0));
    assert_eq!(credits.used_credits, None);
    assert_eq!(credits.overage_spending_cap, None);
}

// F4
#[test]
fn certification_finished() {
    let certification = certification(
        r#"{"run_id":"r1","server":"crm","status":"failed","failed_blocking_checks":["Idempotencia","Errores"],"suspended":true,"retired_tools":3}"#,
    )
    .unwrap();
    assert_eq!(certification.run_id, "r1");
    assert_eq!(certification.server, "crm");
    assert_eq!(certification.status, Verdict::Failed);
    assert_eq!(certification.failed_blocking_checks, ["Idempotencia", "Errores"]);
    assert!(certification.suspended);
    assert_eq!(certification.retired_tools.as_u64(), Some(3));
}

// F4
#[test]
fn inconclusive_is_not_failed() {
    let certification = certification(
        r#"{"run_id":"r1","server":"crm","status":"inconclusive","failed_blocking_checks":[],"suspended":false,"retired_tools":0}"#,
    )
    .unwrap();
    assert_eq!(certification.status, Verdict::Inconclusive);
    assert!(certification.failed_blocking_checks.is_empty());
}

// F5
#[test]
fn webhook_endpoint_disabled() {
    let data = read(
        "webhook_endpoint.disabled",
        r#"{"endpoint_id":"e1","url":"https://example.com/hook","reason":"sustained_failures","consecutive_failures":5,"last_success_at":"2026-08-27T09:00:00Z"}"#,
    );
    let Ok(Data::WebhookEndpointDisabled(endpoint)) = data else { panic!("{data:?}") };
    assert_eq!(endpoint.endpoint_id, "e1");
    assert_eq!(endpoint.url, "https://example.com/hook");
    assert_eq!(endpoint.reason, DisabledReason::SustainedFailures);
    assert_eq!(endpoint.consecutive_failures.as_i64(), Some(5));
    assert_eq!(endpoint.last_success_at.unwrap().as_str(), "2026-08-27T09:00:00Z");
}

// F6
#[test]
fn tool_disabled() {
    let data = read(
        "tool.disabled",
        r#"{"server":"crm","capability":"orders","tools":["order_find","order_cancel"],"reason":"sustained_outage","consecutive_failures":20,"last_success_at":null}"#,
    );
    let Ok(Data::ToolDisabled(tool)) = data else { panic!("{data:?}") };
    assert_eq!(tool.server, "crm");
    assert_eq!(tool.capability, "orders");
    assert_eq!(tool.tools, ["order_find", "order_cancel"]);
    assert_eq!(tool.reason, DisabledReason::SustainedOutage);
    assert_eq!(tool.consecutive_failures.as_i64(), Some(20));
    assert_eq!(tool.last_success_at, None);
}

// F7
#[test]
fn conversation_handoff_requested() {
    let handoff = handoff(
        r#"{"job_id":"j1","conversation_id":"c1","reason":"pide hablar con una persona","requested_at":"2026-08-28T13:20:00.5+02:00"}"#,
    )
    .unwrap();
    assert_eq!(handoff.job_id, "j1");
    assert_eq!(handoff.conversation_id.as_deref(), Some("c1"));
    assert_eq!(handoff.reason.as_deref(), Some("pide hablar con una persona"));
    assert_eq!(handoff.requested_at.to_string(), "2026-08-28T13:20:00.5+02:00");
}

// F7: the sender cuts the reason, the receiver does not care.
#[test]
fn a_reason_of_any_length() {
    let reason = "ñ".repeat(513);
    let json = format!(r#"{{"job_id":"j1","reason":"{reason}","requested_at":""}}"#);
    assert_eq!(handoff(&json).unwrap().reason, Some(reason));
}

// F7: a cut by UTF-16 units can split an emoji.
#[test]
fn half_a_surrogate_pair_costs_one_character_and_not_the_event() {
    let json = r#"{"job_id":"j1","reason":"gracias \ud83d\ude00 \ud83d","requested_at":""}"#;
    assert_eq!(handoff(json).unwrap().reason.as_deref(), Some("gracias 😀 \u{FFFD}"));

    let json = r#"{"job_id":"\udc00\ud800a","requested_at":"","\ud800":"an unknown field"}"#;
    assert_eq!(handoff(json).unwrap().job_id, "\u{FFFD}\u{FFFD}a");
}

// F8
#[test]
fn metadata_comes_back_byte_for_byte() {
    let metadata = r#"{ "z":1.10,	"a":1E+2, "n":12345678901234567890123, "ñ":"\u00f1\/", "a":null }"#;
    let job = job_with(&format!(r#","metadata": {metadata} "#)).unwrap();
    assert_eq!(job.metadata.unwrap().get(), metadata);
}

// F, A7
#[test]
fn depth_costs_no_stack() {
    let depth = 100_000;
    let deep = format!(r#"{{"a":{}{}}}"#, "[".repeat(depth), "]".repeat(depth));
    let job = job_with(&format!(r#","result":{deep},"metadata":{deep},"other":{deep}"#)).unwrap();
    assert_eq!(job.clone().result.unwrap().get(), deep);
}

// F
#[test]
fn an_absent_nullable_field_is_null() {
    let job = job_with("").unwrap();
    assert_eq!(job.credits_charged, None);
    assert_eq!(job.error_code, None);
    assert!(job.result.is_none());

    let handoff = handoff(r#"{"job_id":"j1","requested_at":"2026-08-28T13:20:00Z"}"#).unwrap();
    assert_eq!(handoff.conversation_id, None);
    assert_eq!(handoff.reason, None);
}

// F
#[test]
fn a_null_where_a_field_should_be_absent_is_absence() {
    assert_eq!(credits(r#"{"usage_percent":null}"#), credits("{}"));

    let job = job_with(r#","metadata":null,"metadata_omitted":null"#).unwrap();
    assert!(job.metadata.is_none());
    assert!(!job.metadata_omitted);
    assert!(!job_with(r#","metadata_omitted":false"#).unwrap().metadata_omitted);
}

// F
#[test]
fn unknown_fields_are_ignored() {
    let job = job_with(r#","priority":{"level":[1,2]},"Job_id":7,"":null"#).unwrap();
    assert_eq!(job.job_id, "j1");
}

// F
#[test]
fn unknown_words_are_kept() {
    let job = job(r#"{"job_id":"j1","operation":"o","status":"parked"}"#).unwrap();
    assert_eq!(job.status, JobStatus::Other("parked".into()));
    assert_eq!(job.status.as_str(), "parked");
    assert_eq!(job.status.to_string(), "parked");
    assert_eq!(JobStatus::Succeeded.to_string(), "succeeded");
}

// A8: inside `data` repeated names are the user's affair.
#[test]
fn the_last_of_a_repeated_name_counts() {
    let job = job_with(r#","job_id":7,"job_\u0069d":"j2""#).unwrap();
    assert_eq!(job.job_id, "j2");
}

#[test]
fn names_and_strings_are_unescaped() {
    let job = job_with(r#","\u0065rror_code":"a\nb\"\u00f1""#).unwrap();
    assert_eq!(job.error_code.as_deref(), Some("a\nb\"ñ"));
}

// F
#[test]
fn integers_keep_every_digit() {
    let charged = |json: &str| job_with(&format!(r#","credits_charged":{json}"#)).unwrap().credits_charged.unwrap();

    // The first integer that a float cannot hold.
    assert_eq!(charged("9007199254740993").as_i64(), Some(9_007_199_254_740_993));

    let least = charged("-9223372036854775808");
    assert_eq!((least.as_i64(), least.as_u64()), (Some(i64::MIN), None));

    let large = charged("18446744073709551615");
    assert_eq!((large.as_i64(), large.as_u64()), (None, Some(u64::MAX)));

    let huge = charged("18446744073709551616");
    assert_eq!((huge.as_u64(), huge.as_i128()), (None, Some(1 << 64)));

    let vast = "1".repeat(400);
    assert_eq!(charged(&vast).as_i128(), None);
    assert_eq!(charged(&vast).as_str(), vast);

    let zero = charged("-0");
    assert_eq!((zero.as_i64(), zero.as_u64(), zero.as_str()), (Some(0), Some(0), "-0"));
    assert_ne!(zero, charged("0"));

    assert_snapshot!(format!("{:?} {:>4}", charged("12"), charged("12")), @"Integer(12)   12");
}

// F3
#[test]
fn numbers_keep_their_text() {
    let percent = |json: &str| credits(&format!(r#"{{"usage_percent":{json}}}"#)).unwrap().usage_percent.unwrap();
    let tenth = percent("0.1000000000000000000000000000001");
    assert_eq!(tenth.as_str(), "0.1000000000000000000000000000001");
    assert_eq!((tenth.as_f64(), tenth.as_i64()), (Some(0.1), None));

    let five = percent("5.0");
    assert_eq!((five.as_f64(), five.as_i64(), five.as_i128()), (Some(5.0), None, None));

    assert_eq!(percent("1e3").as_f64(), Some(1000.0));
    assert_eq!(percent("-1E-2").as_f64(), Some(-0.01));
    assert_eq!(percent("9007199254740993").as_u64(), Some(9_007_199_254_740_993));
    assert_eq!(percent("1e400").as_f64(), None);
    assert_snapshot!(format!("{:?}", percent("1e400")), @"Number(1e400)");
}

#[cfg(feature = "jiff")]
#[test]
fn times_become_instants() {
    let time = |text: &str| {
        let json = format!(r#"{{"job_id":"j1","requested_at":"{text}"}}"#);
        handoff(&json).unwrap().requested_at
    };
    let expected = jiff::Timestamp::from_second(1_787_923_200).unwrap();
    for text in ["2026-08-28T13:20:00Z", "2026-08-28T15:20:00.000+02:00", "2026-08-28T132000+0000"] {
        assert_eq!(time(text).to_jiff(), Ok(expected), "{text}");
    }
    for text in ["", "2026-08-28T13:20:00", "2026-08-28", "yesterday"] {
        let time = time(text);
        assert!(time.to_jiff().is_err(), "{text}");
        assert_eq!(time.as_str(), text);
    }
    assert_snapshot!(
        time("yesterday").to_jiff().unwrap_err(),
        @"expected an ISO 8601 time with an offset from UTC, found other text"
    );
}

// F: a wrong JSON type.
#[test]
fn a_wrong_type_is_said() {
    assert_snapshot!(
        read("job.failed", "[]").unwrap_err(),
        @"expected `data` to be an object, found an array"
    );
    assert_snapshot!(
        read("credits.exhausted", "null").unwrap_err(),
        @"expected `data` to be an object, found null"
    );
    assert_snapshot!(
        job(r#"{"job_id":null}"#).unwrap_err(),
        @"expected `job_id` to be a string, found null"
    );
    assert_snapshot!(
        job(r#"{"job_id":"j1","operation":"o","status":true}"#).unwrap_err(),
        @"expected `status` to be a string, found a boolean"
    );
    assert_snapshot!(
        job_with(r#","credits_charged":"12""#).unwrap_err(),
        @"expected `credits_charged` to be an integer or null, found a string"
    );
    assert_snapshot!(
        job_with(r#","credits_charged":5.0"#).unwrap_err(),
        @"expected `credits_charged` to be an integer or null, found a number with a fraction or an exponent"
    );
    assert_snapshot!(
        job_with(r#","error_code":402"#).unwrap_err(),
        @"expected `error_code` to be a string or null, found an integer"
    );
    assert_snapshot!(
        job_with(r#","result":"done""#).unwrap_err(),
        @"expected `result` to be an object or null, found a string"
    );
    assert_snapshot!(
        job_with(r#","metadata":[]"#).unwrap_err(),
        @"expected `metadata` to be an object, found an array"
    );
    assert_snapshot!(
        job_with(r#","metadata_omitted":1"#).unwrap_err(),
        @"expected `metadata_omitted` to be a boolean, found an integer"
    );
    assert_snapshot!(
        credits(r#"{"usage_percent":"80"}"#).unwrap_err(),
        @"expected `usage_percent` to be a number, found a string"
    );
    assert_snapshot!(
        handoff(r#"{"job_id":"j1","requested_at":1787923200}"#).unwrap_err(),
        @"expected `requested_at` to be a string, found an integer"
    );
}

// F: a wrong JSON type, here of an array that could pass for the bytes of a string.
#[test]
fn an_array_is_no_string() {
    assert_snapshot!(
        job(r#"{"job_id":[106,49]}"#).unwrap_err(),
        @"expected `job_id` to be a string, found an array"
    );
}

// F4: each field has its own type.
#[test]
fn a_wrong_type_in_a_certification_is_said() {
    let with = |checks: &str, suspended: &str, retired: &str| {
        certification(&format!(
            r#"{{"run_id":"r1","server":"crm","status":"passed","failed_blocking_checks":{checks},"suspended":{suspended},"retired_tools":{retired}}}"#
        ))
        .map(|_| ())
    };
    assert_eq!(with("[]", "false", "0"), Ok(()));
    assert_snapshot!(
        with("null", "false", "0").unwrap_err(),
        @"expected `failed_blocking_checks` to be an array of strings, found null"
    );
    assert_snapshot!(
        with(r#""Errores""#, "false", "0").unwrap_err(),
        @"expected `failed_blocking_checks` to be an array of strings, found a string"
    );
    assert_snapshot!(
        with(r#"["Errores",7]"#, "false", "0").unwrap_err(),
        @"expected `failed_blocking_checks` to be an array of strings, found an array with an integer in it"
    );
    assert_snapshot!(
        with("[]", r#""false""#, "0").unwrap_err(),
        @"expected `suspended` to be a boolean, found a string"
    );
    assert_snapshot!(
        with("[]", "false", "1e0").unwrap_err(),
        @"expected `retired_tools` to be an integer, found a number with a fraction or an exponent"
    );
}

// F: a required field that is absent. In turn each type is given what it asks for, until it is content.
#[test]
fn every_required_field_is_missed_by_name() {
    let required: [(&str, &[(&str, &str)]); 10] = [
        ("job.succeeded", &[("job_id", "\"\""), ("operation", "\"\""), ("status", "\"\"")]),
        ("job.failed", &[("job_id", "\"\""), ("operation", "\"\""), ("status", "\"\"")]),
        ("job.expired", &[("job_id", "\"\""), ("operation", "\"\""), ("status", "\"\"")]),
        ("credits.threshold_reached", &[]),
        ("credits.exhausted", &[]),
        ("credits.spending_cap_reached", &[]),
        (
            "certification.finished",
            &[
                ("run_id", "\"\""),
                ("server", "\"\""),
                ("status", "\"\""),
                ("failed_blocking_checks", "[]"),
                ("suspended", "false"),
                ("retired_tools", "0"),
            ],
        ),
        (
            "webhook_endpoint.disabled",
            &[("endpoint_id", "\"\""), ("url", "\"\""), ("reason", "\"\""), ("consecutive_failures", "0")],
        ),
        (
            "tool.disabled",
            &[
                ("server", "\"\""),
                ("capability", "\"\""),
                ("tools", "[]"),
                ("reason", "\"\""),
                ("consecutive_failures", "0"),
            ],
        ),
        ("conversation.handoff_requested", &[("job_id", "\"\""), ("requested_at", "\"\"")]),
    ];
    assert_eq!(required.map(|(event_type, _)| event_type), EVENT_TYPES);

    for (event_type, fields) in required {
        let mut members = Vec::<String>::new();
        for (name, value) in fields {
            let error = read(event_type, &format!("{{{}}}", members.join(","))).unwrap_err();
            assert_eq!(error.field(), *name, "{event_type}");
            assert!(error.to_string().ends_with(", found no such field"), "{event_type}: {error}");
            members.push(format!("\"{name}\":{value}"));
        }
        let data = read(event_type, &format!("{{{}}}", members.join(",")));
        assert!(!matches!(data, Err(_) | Ok(Data::Unknown)), "{event_type}: {data:?}");
    }

    assert_snapshot!(
        job("{}").unwrap_err(),
        @"expected `job_id` to be a string, found no such field"
    );
}

// F: the sender's bytes appear in no error.
#[test]
fn an_error_quotes_nothing() {
    let error = job(r#"{"job_id":"j1","operation":{"secret-7f3a":"secret-7f3a"}}"#).unwrap_err();
    assert!(!format!("{error} {error:?}").contains("secret"), "{error:?}");
}
