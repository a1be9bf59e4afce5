//! Looks up what a receiver's handler ran for.

use core::{fmt, time::Duration};
use std::process::Stdio;

use tokio::{
    process::Command,
    time::{Instant, sleep, timeout},
};

use crate::{
    ExchangeError, Request,
    judge::PATIENCE,
    target::{Observer, Target, Version, send},
};

/// How long an effect may come after its acknowledgement: a receiver works in its own queue.
pub(crate) const LATE: Duration = Duration::from_secs(5);

/// How often the handler has run for an id, once it has run `times` or is not waited for any more.
pub(crate) async fn observed(
    target: &Target,
    observer: &Observer,
    id: &str,
    times: u32,
    deadline: Instant,
) -> Result<u32, Unobserved> {
    loop {
        let found = runs(&listed(target, observer).await?, id)?;
        if found >= times || Instant::now() >= deadline {
            return Ok(found);
        }
        sleep(Duration::from_millis(20)).await;
    }
}

async fn listed(target: &Target, observer: &Observer) -> Result<Vec<u8>, Unobserved> {
    let (at, path) = match observer {
        Observer::Path(path) => (target.clone(), path),
        Observer::Server(peer, path) => (Target { peer: peer.clone(), version: Version::Http1, observer: None }, path),
        Observer::Command(command) => return printed(command).await,
    };
    let response = send(&at, &Request::post(path).method("GET").without_length()).await.map_err(Unobserved::Silent)?;
    match response.status {
        200 => Ok(response.body),
        status => Err(Unobserved::Status(status)),
    }
}

async fn printed(command: &str) -> Result<Vec<u8>, Unobserved> {
    let (shell, flag) = if cfg!(windows) { ("cmd", "/C") } else { ("sh", "-c") };
    let running = Command::new(shell).args([flag, command]).stdin(Stdio::null()).kill_on_drop(true).output();
    match timeout(PATIENCE, running).await {
        Ok(Ok(output)) if output.status.success() => Ok(output.stdout),
        _ => Err(Unobserved::Command),
    }
}

/// A list has an object with `id` and `times` for each event, or the id of an event as often as the handler ran.
fn runs(listed: &[u8], id: &str) -> Result<u32, Unobserved> {
    let events: Vec<serde_json::Value> = serde_json::from_slice(listed).map_err(|_| Unobserved::NoList)?;
    let mut runs = 0_u32;
    for event in &events {
        // A count under another name would be taken for none at all, and every receiver for a good one.
        let (named, times) = match (event.as_str(), event.get("id"), event.get("times")) {
            (Some(named), ..) => (named, 1),
            (None, Some(named), Some(times)) => (named.as_str().ok_or(Unobserved::NoList)?, count(times)?),
            _ => return Err(Unobserved::NoList),
        };
        runs = runs.saturating_add(if named == id { times } else { 0 });
    }
    Ok(runs)
}

fn count(times: &serde_json::Value) -> Result<u32, Unobserved> {
    times.as_u64().and_then(|times| u32::try_from(times).ok()).ok_or(Unobserved::NoList)
}

/// Why the effects are not known.
#[derive(Debug)]
pub(crate) enum Unobserved {
    Silent(ExchangeError),
    Status(u16),
    NoList,
    Command,
}

impl fmt::Display for Unobserved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Silent(error) => write!(f, "not observed: {error}"),
            Self::Status(status) => write!(f, "not observed: expected a list, found status {status}"),
            Self::NoList => {
                f.write_str("not observed: expected a JSON list of objects with `id` and `times`, or of ids")
            }
            Self::Command => f.write_str("not observed: the command failed"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_tells_how_often() {
        let listed = br#"[{"id":"a","times":2},{"id":"b","times":1,"more":null},"c","c",{"id":"d","times":0}]"#;
        for (id, times) in [("a", 2), ("b", 1), ("c", 2), ("d", 0), ("e", 0)] {
            assert_eq!(runs(listed, id).unwrap(), times, "{id}");
        }
        for listed in [
            "",
            "{}",
            "[",
            "[1]",
            r#"[{"id":"a"}]"#,
            r#"[{"id":"a","runs":13}]"#,
            r#"[{"id":1,"times":1}]"#,
            r#"[{"id":"a","times":-1}]"#,
            r#"[{"id":"a","times":"2"}]"#,
        ] {
            assert!(matches!(runs(listed.as_bytes(), "a"), Err(Unobserved::NoList)), "{listed}");
        }
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_command_tells_as_well() {
        let target = Target::new(([127, 0, 0, 1], 9).into(), Version::Http1);
        let command = |text: &str| Observer::Command(text.to_owned());
        assert_eq!(
            observed(&target, &command(r#"echo '[{"id":"a","times":3}]'"#), "a", 3, Instant::now()).await.unwrap(),
            3
        );
        for broken in ["exit 1", "no-such-command-here 2>/dev/null"] {
            let error = observed(&target, &command(broken), "a", 1, Instant::now()).await.unwrap_err();
            assert_eq!(error.to_string(), "not observed: the command failed");
        }
        assert!(matches!(
            observed(&target, &Observer::Path("/".into()), "a", 1, Instant::now()).await,
            Err(Unobserved::Silent(_))
        ));
    }
}
