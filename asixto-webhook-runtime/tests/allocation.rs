//! What a body costs in memory: what has arrived of it, and never what it promises.
#![cfg(test)]

mod common;

use std::{
    future::Future,
    pin::pin,
    task::{Context, Poll, Waker},
};

use allocation_counter::{AllocationInfo, measure};
use asixto_webhook_runtime::core::{Bytes, NoDedup};
use common::{Head, over};
use tokio::time::Instant;

/// H4: 256 KiB and 1 KiB of room.
const LIMIT: u64 = 263_168;

/// What it takes to collect `chunks`, after which nothing comes any more.
fn cost(announced: u64, chunks: &[Bytes]) -> AllocationInfo {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    let _inside = runtime.enter();
    let (driver, head) = (over(&NoDedup), Head::of(b""));
    measure(|| {
        let mut chunks = chunks.iter();
        let next = |_: &mut Context<'_>| match chunks.next() {
            Some(chunk) => Poll::Ready(Some(Ok::<_, ()>(chunk.clone()))),
            None => Poll::Pending,
        };
        let mut collecting = pin!(driver.collect(Instant::now(), &head, Some(announced), next));
        let _ = collecting.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    })
}

// Nothing is allocated on a sender's word.
#[test]
fn an_announced_length_costs_nothing() {
    let chunks = [Bytes::from_static(b"{\"id\":"), Bytes::from_static(b"1")];
    let usual = cost(7, &chunks).bytes_max;
    assert!(usual < 4096, "{usual}");
    for announced in [LIMIT, LIMIT + 1, 2 * 1024 * 1024 + 1, u64::from(u32::MAX), u64::MAX] {
        let found = cost(announced, &chunks).bytes_max;
        assert!(found <= usual, "{announced}: {found} bytes instead of {usual}");
    }
}

// A body in one piece is not copied, and one in many costs no more than a small multiple of itself.
#[test]
fn a_body_costs_what_has_arrived() {
    let whole = [Bytes::from(vec![b' '; 200_000])];
    let found = cost(200_000, &whole).bytes_total;
    assert!(found < 4096, "{found}");

    let pieces: Vec<_> = whole[0].chunks(100).map(Bytes::copy_from_slice).collect();
    let found = cost(200_000, &pieces).bytes_max;
    assert!((200_000..600_000).contains(&found), "{found}");
}
