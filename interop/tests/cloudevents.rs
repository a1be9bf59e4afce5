//! CloudEvents, against the SDK of the project: what it writes is read here field for field, and what is read here it
//! reads as well.
#![cfg(test)]

mod common;

use asixto_webhook_core::{
    Admission, Event as Received, SecretSet,
    provider::{CloudEvents, Provider},
    testing,
};
use base64::{Engine, prelude::BASE64_STANDARD};
use cloudevents::{
    AttributesReader, Data, Event, EventBuilder, EventBuilderV10,
    event::{ExtensionValue, SpecVersion},
};
use common::{admit, lines, mac, signed};
use serde_json::{Value, json};

const ISSUED: &str = "acme-shared-secret";
const NOW: u64 = 1_787_923_200;

fn acme() -> CloudEvents {
    CloudEvents::new("Acme-Signature").unwrap()
}

/// The event behind a body that is signed by us, and by another implementation of the MAC.
fn receive(body: &str) -> Received<CloudEvents> {
    let secrets = SecretSet::from_issued([ISSUED]).unwrap();
    let ours = signed(&acme(), &secrets, "", NOW, body);
    let mac = mac(ISSUED.as_bytes(), &[NOW.to_string().as_bytes(), b".", body.as_bytes()]);
    let theirs = lines([("acme-signature", format!("t={NOW},v1={}", common::hex(&mac)))]);
    assert_eq!(ours, theirs);
    match admit(&acme(), &secrets, &theirs, body, NOW) {
        Admission::Process(event, _) => event,
        Admission::Answer(answer) => panic!("{answer:?}: {body}"),
    }
}

/// Whether both read the same from one body.
#[track_caller]
fn assert_same(theirs: &Event, ours: &Received<CloudEvents>) {
    let body = String::from_utf8_lossy(ours.body());
    assert_eq!(theirs.specversion(), SpecVersion::V10, "{body}");
    assert_eq!((theirs.id(), theirs.source().as_str(), theirs.ty()), (ours.id(), ours.source(), ours.event_type()));
    assert_eq!(theirs.subject(), ours.subject(), "{body}");
    assert_eq!(theirs.datacontenttype(), ours.datacontenttype(), "{body}");
    // They normalize what they read.
    let (time, schema) =
        (theirs.time().map(|time| time.timestamp_micros()), theirs.dataschema().map(|url| url.as_str()));
    let parse = |text: &str| {
        serde_json::from_value::<Event>(
            json!({"specversion":"1.0","id":"1","source":"s","type":"t","time":text,"dataschema":"x:y"}),
        )
    };
    assert_eq!(time, ours.time().map(|time| parse(time).unwrap().time().unwrap().timestamp_micros()), "{body}");
    assert_eq!(schema, ours.dataschema(), "{body}");

    let value = |raw: &str| serde_json::from_str::<Value>(raw).unwrap();
    let data = ours.raw_data().map(|raw| value(raw.get()));
    match theirs.data() {
        None => assert_eq!((data, ours.data_base64()), (None, None), "{body}"),
        Some(Data::Json(json)) => assert_eq!((data.as_ref(), ours.data_base64()), (Some(json), None), "{body}"),
        Some(Data::String(text)) => assert_eq!(data, Some(json!(text)), "{body}"),
        Some(Data::Binary(bytes)) => {
            assert_eq!(&BASE64_STANDARD.decode(ours.data_base64().unwrap()).unwrap(), bytes, "{body}");
            assert_eq!(data, None, "{body}");
        }
    }
    let json = |extension: &ExtensionValue| match extension {
        ExtensionValue::String(text) => json!(text),
        ExtensionValue::Boolean(truth) => json!(truth),
        ExtensionValue::Integer(number) => json!(number),
    };
    let mut here: Vec<_> = ours.extensions().map(|(name, raw)| (name.to_owned(), value(raw.get()))).collect();
    let mut there: Vec<_> = theirs.iter_extensions().map(|(name, value)| (name.to_owned(), json(value))).collect();
    here.sort_by(|a, b| a.0.cmp(&b.0));
    there.sort_by(|a, b| a.0.cmp(&b.0));
    assert_eq!(here, there, "{body}");
    for (name, expected) in there {
        assert_eq!(value(ours.extension(&name).unwrap().get()), expected, "{body}");
    }
}

fn minimal() -> EventBuilderV10 {
    EventBuilderV10::new().id("evt_4410").source("https://api.acme.com/charges").ty("com.acme.charge.refunded")
}

// M1: every attribute, every kind of data and every type of extension that the SDK writes.
#[test]
fn what_they_write_is_read() {
    let events = [
        minimal(),
        minimal().time("2026-10-03T14:00:00Z"),
        minimal().time("2026-10-03T16:00:00.123456+02:00").subject("ch_123"),
        minimal().source("/relative?a=b#c").id("ñ \" \\ \n 🦀").ty("t").subject("\u{0}\u{7f}\u{2028}"),
        minimal().data("application/json", json!({"charge_id": "ch_123", "amount": 4900, "nested": [null, 1.5, {}]})),
        minimal().data("application/json", json!(null)),
        minimal().data("application/vnd.acme+json", json!("text")),
        minimal().data("application/json", json!([])),
        minimal().data("text/plain", "plain \"text\""),
        minimal().data("application/xml", String::from("<a>ñ</a>")),
        minimal().data("application/octet-stream", (0..=255).collect::<Vec<u8>>()),
        minimal().data("application/octet-stream", Vec::<u8>::new()),
        minimal().data("text/plain", ""),
        minimal().data("image/png", Vec::<u8>::from(*b"\x89PNG")),
        minimal().data_with_schema("application/json", "https://schemas.acme.com/charge?v=1", json!({"a": 1})),
        minimal()
            .extension("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
            .extension("empty", "")
            .extension("sampled", true)
            .extension("dry", false)
            .extension("sequence", i64::MAX)
            .extension("weight", i64::MIN)
            .extension("zero", 0)
            .data("application/json", json!({})),
    ];
    for builder in events {
        let theirs = builder.build().unwrap();
        let body = serde_json::to_string(&theirs).unwrap();
        let ours = receive(&body);
        assert_same(&theirs, &ours);
        // And again from what they read themselves.
        assert_same(&serde_json::from_str(&body).unwrap(), &ours);
        assert_eq!(ours.specversion(), "1.0");
    }
}

fn here(body: &str) -> Option<Received<CloudEvents>> {
    testing::event_of(&acme(), "testing", &common::Lines::new(), body.to_owned()).ok()
}

fn there(body: &str) -> Option<Event> {
    serde_json::from_str(body).ok()
}

// M1: bodies that neither of us wrote: what is read here is read there, to the same effect.
#[test]
fn what_is_read_here_is_read_there() {
    let with = |members: &str| format!(r#"{{"specversion":"1.0","id":"1","source":"/s","type":"t"{members}}}"#);
    for body in [
        with(""),
        with(" , \"subject\" : \"s\" "),
        with(r#","subject":null,"time":null,"datacontenttype":null,"dataschema":null"#),
        with(r#","trace":null,"other":"x""#),
        with(r#","data":{"a":[1,2.5,"x",null,true]}"#),
        with(r#","data":null"#),
        with(r#","data":"text""#),
        with(r#","data":"text","datacontenttype":"text/plain""#),
        with(r#","data_base64":"AP8=","datacontenttype":"application/octet-stream""#),
        with(r#","data_base64":"","datacontenttype":"application/octet-stream""#),
        with(r#","time":"2026-10-03T14:00:00+02:00""#),
        with(r#","dataschema":"https://x.example/s?a#b""#),
        r#"{"type":"\u0074","\u0073ource":"\/s","id":"\ud83e\udd80","specversion":"1.0"}"#.to_owned(),
    ] {
        let (ours, theirs) = (here(&body).expect(&body), there(&body).expect(&body));
        assert_same(&theirs, &ours);
    }
    for body in [
        "{}".to_owned(),
        "[]".to_owned(),
        "null".to_owned(),
        String::new(),
        with("").replace("1.0", "2.0"),
        with("").replace("\"1.0\"", "1.0"),
        with("").replace("\"specversion\"", "\"specVersion\""),
        with("").replace("\"id\":\"1\"", "\"id\":1"),
        with("").replace("\"id\":\"1\"", "\"id\":null"),
        with("").replace("\"source\":\"/s\",", ""),
        with("").replace("\"type\":\"t\"", "\"type\":[]"),
        with(r#","subject":7"#),
        with("") + "{}",
    ] {
        assert!(here(&body).is_none() && there(&body).is_none(), "{body}");
    }
}

// M1, M4, A8: where we differ, and why.
#[test]
fn where_we_differ() {
    let with = |members: &str| format!(r#"{{"specversion":"1.0","id":"1","source":"/s","type":"t"{members}}}"#);
    // An event that is known by nothing, or by one of two values, cannot be deduplicated.
    for body in [
        with("").replace("\"id\":\"1\"", "\"id\":\"\""),
        with("").replace("\"source\":\"/s\"", "\"source\":\"\""),
        with(r#","id":"2""#),
        with(r#","source":"/other""#),
        with("").replace("1.0", "0.3"),
    ] {
        assert!(here(&body).is_none() && there(&body).is_some(), "{body}");
    }
    // What cannot be interpreted is given as it came: it is no reason to lose an event.
    for body in [
        with(r#","time":"yesterday""#),
        with(r#","dataschema":"relative""#),
        with(r#","data_base64":"not base64""#),
        with(r#","ratio":1.5"#),
        with(r#","nested":{"a":1}"#),
        with(r#","data":{},"data_base64":"AA==""#),
        with(r#","data":{},"datacontenttype":"text/plain""#),
    ] {
        assert!(here(&body).is_some() && there(&body).is_none(), "{body}");
    }
    assert_eq!(CloudEvents::NAME, "cloudevents");
}
