//! The list behind `GET /events`.
#![cfg(test)]

use asixto_webhook_core::testing::event;
use example_support::Handled;

#[test]
fn the_last_thousand() {
    let handled = Handled::default();
    let record = |id: u32| {
        let body = format!(r#"{{"id":"{id}","type":"x.y","created":1,"environment":"test","data":null}}"#);
        handled.record(&event(body).unwrap());
    };
    (0..1001).for_each(record);
    [1000, 1].into_iter().for_each(record);
    let entries: Vec<_> = handled.entries().iter().map(|entry| format!("{entry:?}")).collect();
    assert_eq!(entries.len(), 1000);
    for (entry, expected) in [(&entries[0], ["id: \"1\"", "times: 2"]), (&entries[998], ["id: \"999\"", "times: 1"])] {
        assert!(expected.iter().all(|part| entry.contains(part)), "{entry}");
    }
    assert!(entries[999].contains("times: 2"));
}
