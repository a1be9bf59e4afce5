//! What a server answers before the receiver is asked: the table of docs/servers.md, sent.
#![cfg(test)]

use std::net::SocketAddr;

use asixto_webhook_conformance::{ExchangeError, Version};
use parity::{Framework, PATIENCE, Server, builder};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

#[tokio::test(flavor = "multi_thread")]
async fn as_documented() {
    let table: Vec<Vec<&str>> = include_str!("../../docs/servers.md")
        .lines()
        .skip_while(|line| !line.starts_with("| request"))
        .skip(2)
        .take_while(|line| line.starts_with('|'))
        .map(|line| line.trim_matches('|').split(" | ").map(str::trim).collect())
        .collect();
    assert_eq!(table.len(), requests().len() + 1);
    for (column, framework) in (1..).zip(Framework::ALL) {
        let server = Server::start(framework, builder(), async |_| ()).await;
        for (row, (what, request)) in table.iter().zip(requests()) {
            assert_eq!((row[0], row[column]), (what, &*answer(server.address(), &request).await), "{framework}");
        }
        let long = server.kit.plain().request().header("x", "a".repeat(20_000));
        let answered = match server.send(Version::Http2, &long).await {
            Ok(response) if response.header("asixto-webhook-outcome").is_some() => "receiver".to_owned(),
            Ok(response) => response.status.to_string(),
            Err(ExchangeError::Http2 { .. }) => "reset".to_owned(),
            Err(error) => panic!("{framework}: {error}"),
        };
        let last = table.last().unwrap();
        assert_eq!((last[0], last[column]), ("HTTP/2, a header of 20 KB", &*answered), "{framework}");
    }
}

/// Heads, with a body of which no receiver makes anything.
fn requests() -> Vec<(&'static str, Vec<u8>)> {
    let post = |lines: &str| format!("POST /hook HTTP/1.1\r\n{lines}content-length: 0\r\n\r\n").into_bytes();
    let header = |size: usize| post(&format!("host: a\r\nx: {}\r\n", "a".repeat(size)));
    let lines = |count: usize| post(&format!("host: a\r\n{}", "x: a\r\n".repeat(count - 2)));
    let bare = |text: &str| text.as_bytes().to_vec();
    vec![
        ("no `Host`", post("")),
        ("two `Host` lines", post("host: a\r\nhost: b\r\n")),
        ("a header of 50 KB", header(50_000)),
        ("a header of 200 KB", header(200_000)),
        ("a header of 1 MB", header(1_000_000)),
        ("90 header lines", lines(90)),
        ("98 header lines", lines(98)),
        ("200 header lines", lines(200)),
        (
            "`Content-Length` and `Transfer-Encoding`",
            bare("POST /hook HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n"),
        ),
        ("two lengths that differ", post("host: a\r\ncontent-length: 4\r\n")),
        ("a length that is no number", bare("POST /hook HTTP/1.1\r\nhost: a\r\ncontent-length: x\r\n\r\n")),
        ("a NUL in a header", post("host: a\r\nx: a\0b\r\n")),
        (
            "a target of 70 KB",
            format!("POST /hook?{} HTTP/1.1\r\nhost: a\r\ncontent-length: 0\r\n\r\n", "a".repeat(70_000)).into_bytes(),
        ),
        (
            "a transfer coding beside `chunked`",
            bare("POST /hook HTTP/1.1\r\nhost: a\r\ntransfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n"),
        ),
        ("no HTTP", bare("nonsense\r\n\r\n")),
    ]
}

/// The status that comes back, or `receiver` where it is ours.
async fn answer(address: SocketAddr, request: &[u8]) -> String {
    let (mut reader, mut writer) = TcpStream::connect(address).await.unwrap().into_split();
    let request = request.to_vec();
    let writing = tokio::spawn(async move {
        // The server may have read enough before the end.
        _ = writer.write_all(&request).await;
        // An end of what is sent could be taken for a hang-up.
        std::future::pending::<()>().await;
    });
    let mut head = Vec::new();
    let reading = async {
        while !head.windows(4).any(|end| end == b"\r\n\r\n") {
            if reader.read_buf(&mut head).await.unwrap_or(0) == 0 {
                break;
            }
        }
    };
    timeout(PATIENCE, reading).await.unwrap();
    writing.abort();
    let head = String::from_utf8_lossy(&head).into_owned();
    if head.contains("asixto-webhook-outcome") {
        return "receiver".to_owned();
    }
    head.split(' ').nth(1).unwrap_or("closed").to_owned()
}
