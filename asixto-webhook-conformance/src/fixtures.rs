//! Deliveries of every type, as a gateway would write them: compact JSON with plausible values.
//!
//! The job in `job.succeeded` and in `conversation.handoff_requested` is the same one, so that a
//! receiver can be seen to match the two. The inside of `result` is an illustration: its shape depends on
//! the operation.
//!
//! Every [`Sender`] wraps the same events into its own envelope.

mod sender;

use std::collections::BTreeMap;

use serde_json::{Value, value::RawValue};

use asixto_webhook_core::Asixto;
pub use asixto_webhook_core::EVENT_TYPES;

pub use self::sender::{Fixture, MessageId, Sender, agent};

/// The body of a delivery, its keys in the order of the contract; `None` for an unknown type.
///
/// `id` and `environment` may be any text, also text that a receiver has to refuse.
pub fn envelope(event_type: &str, id: &str, created: u64, environment: &str) -> Option<String> {
    let data = data(event_type)?;
    Some(Asixto.body(&Fixture { event_type, id, created, environment, data }))
}

/// A manual replay of a delivery: the same body with `new_id` as its id and, as the last key, `replay_of`
/// with the id that it had. All other bytes stay, those of `data` above all.
///
/// A replay of a replay keeps its `replay_of`, which names the original of both. `None` if `original` is
/// no object with an id that is a string.
pub fn replay(original: &str, new_id: &str) -> Option<String> {
    let members: BTreeMap<String, &RawValue> = serde_json::from_str(original).ok()?;
    let old_id = members.get("id")?.get();
    if !old_id.starts_with('"') {
        return None;
    }

    // The raw value is a part of `original`: its address says where, even if the same text is elsewhere.
    let start = old_id.as_ptr().addr().checked_sub(original.as_ptr().addr())?;
    let before = original.get(..start)?;
    let after = original.get(start + old_id.len()..)?;

    let new_id = quoted(new_id);
    if members.contains_key("replay_of") {
        return Some(format!("{before}{new_id}{after}"));
    }
    let after = after.trim_end().strip_suffix('}')?;
    Some(format!(r#"{before}{new_id}{after},"replay_of":{old_id}}}"#))
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// `data` of a type, with every key that the type has, save those that a sender may leave out: of these
/// there are some with and some without. `None` for an unknown type.
pub fn data(event_type: &str) -> Option<&'static str> {
    Some(match event_type {
        "job.succeeded" => concat!(
            r#"{"job_id":"job_01k3qz7v9m4t2x8c5n6b","operation":"agent.turn","status":"succeeded","#,
            r#""credits_charged":12,"error_code":null,"#,
            r#""result":{"text":"¡Listo, Begoña! Tu devolución de 1.249,90 € está en camino 🚚. ¿Algo más?","#,
            r#""usage":{"input_tokens":1834,"output_tokens":212}},"#,
            // What a parser that goes through floats or re-serializes would spoil.
            r#""metadata":{"expediente":"2026-004417","folio":9007199254740993,"importe":1249.90,"#,
            r#""cliente":{"nombre":"Bego\u00f1a Núñez","vip":true},"canal":"whatsapp","agente":null}}"#,
        ),
        "job.failed" => concat!(
            r#"{"job_id":"job_01k3qz9d2h7r5w1f8g3s","operation":"agent.turn","status":"failed","#,
            r#""credits_charged":null,"error_code":"mcp_server_unavailable","result":null}"#,
        ),
        "job.expired" => concat!(
            r#"{"job_id":"job_01k3r04n6y8p3j5k7d2a","operation":"document.extract","status":"expired","#,
            r#""credits_charged":0,"error_code":"job_not_completed","#,
            r#""metadata":{"expediente":"2026-004420","prioridad":2}}"#,
        ),
        "credits.threshold_reached" => r#"{"usage_percent":80.25,"used_credits":80250,"total_available":100000}"#,
        "credits.exhausted" => concat!(
            r#"{"usage_percent":100,"used_credits":100000,"total_available":100000,"#,
            r#""overage_credits":0}"#,
        ),
        "credits.spending_cap_reached" => concat!(
            r#"{"usage_percent":125.5,"used_credits":125500,"total_available":100000,"#,
            r#""overage_credits":25500,"overage_spending_cap":25500.00}"#,
        ),
        "certification.finished" => concat!(
            r#"{"run_id":"run_01k3r0m8c4v6b2n9x5z7","server":"crm-andino","status":"failed","#,
            r#""failed_blocking_checks":["Idempotencia de las herramientas de escritura","#,
            r#""Errores con código del contrato"],"suspended":true,"retired_tools":2}"#,
        ),
        "webhook_endpoint.disabled" => concat!(
            r#"{"endpoint_id":"whe_01k2m5t7q9w3e6r8y4u1","#,
            r#""url":"https://hooks.andino.example/asixto?canal=principal","#,
            r#""reason":"sustained_failures","consecutive_failures":5,"#,
            r#""last_success_at":"2026-08-27T09:41:07.318Z"}"#,
        ),
        "tool.disabled" => concat!(
            r#"{"server":"crm-andino","capability":"orders","#,
            r#""tools":["buscar_pedido","cancelar_pedido","consultar_envio"],"#,
            r#""reason":"sustained_outage","consecutive_failures":20,"last_success_at":null}"#,
        ),
        "conversation.handoff_requested" => concat!(
            r#"{"job_id":"job_01k3qz7v9m4t2x8c5n6b","conversation_id":"wa:+34600111222","#,
            r#""reason":"La clienta pide hablar con una persona: «esto ya lo expliqué dos veces» 😤","#,
            r#""requested_at":"2026-08-28T13:19:58.204Z"}"#,
        ),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const CREATED: u64 = 1_787_923_200;

    fn keys(value: &Value) -> Vec<&str> {
        let mut keys: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
        keys.sort_unstable();
        keys
    }

    fn body(event_type: &str) -> String {
        envelope(event_type, "9f1c3a70", CREATED, "live").unwrap()
    }

    // A2, A4–A6
    #[test]
    fn the_envelope_has_five_keys() {
        for event_type in EVENT_TYPES {
            let body = body(event_type);
            let value: Value = serde_json::from_str(&body).unwrap();
            assert_eq!(keys(&value), ["created", "data", "environment", "id", "type"]);
            assert_eq!(value["id"], "9f1c3a70");
            assert_eq!(value["type"], event_type);
            assert_eq!(value["created"], CREATED);
            assert_eq!(value["environment"], "live");
            assert!(body.starts_with(r#"{"id":"9f1c3a70","type":""#), "{body}");
            assert!(!body.contains('\n'), "{body}");
        }
    }

    // F: no other key, and none missing save those that may be absent.
    #[test]
    fn data_has_the_keys_of_its_type() {
        let expected: [(&str, &[&str]); 10] = [
            (
                "job.succeeded",
                &["credits_charged", "error_code", "job_id", "metadata", "operation", "result", "status"],
            ),
            ("job.failed", &["credits_charged", "error_code", "job_id", "operation", "result", "status"]),
            ("job.expired", &["credits_charged", "error_code", "job_id", "metadata", "operation", "status"]),
            ("credits.threshold_reached", &["total_available", "usage_percent", "used_credits"]),
            ("credits.exhausted", &["overage_credits", "total_available", "usage_percent", "used_credits"]),
            (
                "credits.spending_cap_reached",
                &["overage_credits", "overage_spending_cap", "total_available", "usage_percent", "used_credits"],
            ),
            (
                "certification.finished",
                &["failed_blocking_checks", "retired_tools", "run_id", "server", "status", "suspended"],
            ),
            ("webhook_endpoint.disabled", &["consecutive_failures", "endpoint_id", "last_success_at", "reason", "url"]),
            ("tool.disabled", &["capability", "consecutive_failures", "last_success_at", "reason", "server", "tools"]),
            ("conversation.handoff_requested", &["conversation_id", "job_id", "reason", "requested_at"]),
        ];
        assert_eq!(expected.map(|(event_type, _)| event_type), EVENT_TYPES);
        for (event_type, expected) in expected {
            let value: Value = serde_json::from_str(&body(event_type)).unwrap();
            assert_eq!(keys(&value["data"]), expected, "{event_type}");
        }
    }

    // F1, F2: the status is the second half of the type.
    #[test]
    fn a_job_has_the_status_of_its_type() {
        for status in ["succeeded", "failed", "expired"] {
            let value: Value = serde_json::from_str(&body(&format!("job.{status}"))).unwrap();
            assert_eq!(value["data"]["status"], status);
        }
    }

    // F7
    #[test]
    fn a_handoff_is_of_the_job_that_succeeded() {
        let job_id = |event_type| {
            let value: Value = serde_json::from_str(&body(event_type)).unwrap();
            value["data"]["job_id"].clone()
        };
        assert_eq!(job_id("conversation.handoff_requested"), job_id("job.succeeded"));
    }

    #[test]
    fn an_unknown_type_has_no_fixture() {
        assert_eq!(envelope("job.paused", "1", CREATED, "live"), None);
    }

    #[test]
    fn an_odd_id_is_quoted() {
        let id = "a\"b\\c\n😀\u{0}";
        let body = envelope("job.failed", id, CREATED, "live").unwrap();
        let value: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(value["id"], id);
    }

    // G1
    #[test]
    fn a_replay_changes_the_id_and_says_what_it_repeats() {
        for event_type in EVENT_TYPES {
            let original = body(event_type);
            let expected = original.replacen(r#""9f1c3a70""#, r#""9f1c3a70:r1""#, 1);
            let expected = format!(r#"{},"replay_of":"9f1c3a70"}}"#, &expected[..expected.len() - 1]);
            assert_eq!(replay(&original, "9f1c3a70:r1"), Some(expected));
        }
    }

    // G1: no byte of `data` moves, not even where the id is written like another value of the body.
    #[test]
    fn a_replay_keeps_every_other_byte() {
        let original = "{ \"type\":\"type\",\n\"data\":{\"id\":\"type\", \"n\":1.0}, \"\\u0069d\" : \"type\" }\n";
        let expected = "{ \"type\":\"type\",\n\"data\":{\"id\":\"type\", \"n\":1.0}, \"\\u0069d\" : \"new\" ,\"replay_of\":\"type\"}";
        assert_eq!(replay(original, "new").as_deref(), Some(expected));
    }

    // G4
    #[test]
    fn a_replay_of_a_replay_names_the_original() {
        let first = replay(&body("job.failed"), "9f1c3a70:r1").unwrap();
        let second = replay(&first, "9f1c3a70:r2").unwrap();
        assert_eq!(second, first.replacen(":r1", ":r2", 1));
    }

    #[test]
    fn what_has_no_id_has_no_replay() {
        for original in ["", "[]", "{}", r#"{"id":7}"#, r#"{"id":null}"#, r#"{"id":"1""#] {
            assert_eq!(replay(original, "2"), None, "{original}");
        }
    }
}
