//! Does the core do any IO, and does any wire constant stand outside its provider?
#![cfg(test)]

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// What the core may be made of: hashes, bytes, JSON and the facade of a log. No clock, socket, entropy or runtime.
const ALLOWED: [&str; 25] = [
    "asixto-webhook-core",
    "base64ct",
    "block-buffer",
    "bytes",
    "cfg-if",
    "cmov",
    "cpufeatures",
    "crypto-common",
    "ctutils",
    "digest",
    "hmac",
    "hybrid-array",
    "itoa",
    "memchr",
    "pin-project-lite",
    "serde",
    "serde_core",
    "serde_json",
    "sha2",
    "subtle",
    "tracing",
    "tracing-core",
    "typenum",
    "zeroize",
    // Writes floats for `serde_json`.
    "zmij",
];

/// The packages that the core is linked with.
fn packages(features: &[&str]) -> Vec<String> {
    // One platform, so that the answer is the same on every other; the rest differ in how they detect a CPU.
    let tree = ["tree", "-p", "asixto-webhook-core", "-e", "normal", "--prefix", "none", "--offline"];
    let output = Command::new(env!("CARGO"))
        .args(tree)
        .args(["--target", "x86_64-unknown-linux-gnu", "--format", "{p}"])
        .args(features)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let listed = String::from_utf8(output.stdout).unwrap();
    let mut names: Vec<_> = listed.lines().filter_map(|line| Some(line.split_once(' ')?.0.to_owned())).collect();
    names.sort_unstable();
    names.dedup();
    names
}

fn strangers(features: &[&str], more: &[&str]) -> Vec<String> {
    let mut names = packages(features);
    assert!(names.iter().any(|name| name == "hmac"), "the list is not the core's: {names:?}");
    names.retain(|name| !ALLOWED.contains(&name.as_str()) && !more.contains(&name.as_str()));
    names
}

// Rules of the house: no clock, no socket, no entropy, no runtime.
#[test]
fn the_core_links_nothing_that_does_io() {
    assert_eq!(strangers(&["--no-default-features"], &[]), [""; 0]);
    // `std` is a clock and a lock of the standard library; `tracing` then keeps its callsites in a cell.
    assert_eq!(strangers(&[], &["once_cell"]), [""; 0]);
    // `jiff` reads text; its clock and its time zones are features that stay off.
    assert_eq!(strangers(&["--all-features"], &["once_cell", "jiff", "jiff-core"]), [""; 0]);
}

/// The files under `src`, by their path in it.
fn sources() -> Vec<(PathBuf, String)> {
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    walk(&root, &mut found);
    assert!(found.len() > 20, "the sources were not found");
    let read = |path: PathBuf| (path.strip_prefix(&root).unwrap().to_owned(), fs::read_to_string(path).unwrap());
    found.into_iter().map(read).filter(|(path, _)| path.file_name().unwrap() != "tests.rs").collect()
}

/// The lines of code in a file: without comments, and without what is compiled for tests only.
fn code(source: &str) -> Vec<&str> {
    let mut lines = source.lines().peekable();
    let mut code = Vec::new();
    while let Some(line) = lines.next() {
        if line.trim() == "#[cfg(test)]" {
            // The item behind it: one line, or as far as the brace that closes it.
            let indent = line.len() - line.trim_start().len();
            let item = lines.next().unwrap();
            if item.ends_with('{') {
                while lines.next().is_some_and(|line| line.trim_end() != format!("{:indent$}}}", "")) {}
            }
        } else if !line.trim_start().starts_with("//") {
            code.push(line.split(" // ").next().unwrap());
        }
    }
    code
}

/// Where a piece of text stands in code, in any casing.
fn places(text: &str) -> Vec<String> {
    let mut places = Vec::new();
    for (path, source) in sources() {
        for line in code(&source).into_iter().filter(|line| line.to_ascii_lowercase().contains(text)) {
            places.push(format!("{}: {}", path.display().to_string().replace('\\', "/"), line.trim()));
        }
    }
    places
}

// The search itself: it leaves out comments and tests, and nothing else.
#[test]
fn the_search_sees_code_only() {
    let source = "a // b\n//! c\n    /// d\n#[cfg(test)]\nmod tests {\n    e\n}\n#[cfg(test)]\nmod f;\ng\n    #[cfg(test)]\n    fn h() {\n    }\ni";
    assert_eq!(code(source), ["a", "g", "i"]);
    assert_eq!(places("pub struct verifier"), ["verify.rs: pub struct Verifier<P: Provider = Asixto> {"]);
    assert_eq!(places("receive signed webhooks"), [""; 0]);
    assert_eq!(places("published_vectors"), [""; 0]);
}

// Rules of the house: the operating system is asked for the time in one place, and for nothing else.
#[test]
fn the_core_asks_the_system_for_the_time_only() {
    let clocks = places("std::time");
    assert!(!clocks.is_empty() && clocks.iter().all(|place| place.starts_with("time.rs: ")), "{clocks:#?}");
    for module in ["net", "thread", "fs", "io", "env", "process", "os"] {
        assert_eq!(places(&format!("std::{module}")), [""; 0]);
    }
    for word in ["instant", "println", "eprintln", "spawn", "tokio", "getrandom"] {
        assert_eq!(places(word), [""; 0]);
    }
}

/// What is on the wire of each sender, and where it stands.
const WIRE: [(&[&str], &[&str]); 6] = [
    (&["asixto-signature", "\"replay_of\"", "\"environment\"", "job.succeeded"], &["provider/asixto/"]),
    // Two senders' secrets look alike.
    (&["whsec_"], &["provider/asixto/", "provider/standard.rs"]),
    // A grammar that two senders have in common.
    (&["\"v1=\"", "v1=", "\"t=\""], &["provider/timestamped.rs"]),
    (&["webhook-id", "webhook-timestamp", "webhook-signature", "\"v1,\"", "v1,"], &["provider/standard.rs"]),
    (
        &["-delivery-attempt", "\"-signature\"", "\"specversion\"", "\"source\"", "\"data_base64\"", "\"1.0\""],
        &["provider/cloudevents.rs"],
    ),
    (&["x-agent-timestamp", "x-agent-nonce", "x-agente-nonce", "x-agent-signature", "b\"_-\""], &["provider/agent.rs"]),
];

// Rules of the house: no wire constant of a provider stands outside its file.
#[test]
fn wire_constants_stand_with_their_provider() {
    for (constants, homes) in WIRE {
        for constant in constants {
            let places = places(constant);
            for home in homes {
                let found = places.iter().any(|place| place.starts_with(home));
                assert!(found, "{constant} does not stand in {home}: the search is at fault");
            }
            let at_home = |place: &&String| homes.iter().any(|home| place.starts_with(home));
            let strays: Vec<_> = places.iter().filter(|place| !at_home(place)).collect();
            assert!(strays.is_empty(), "{strays:#?}");
        }
    }
}

// Rules of the house: each provider is a file or a folder of its own, and none knows another.
#[test]
fn providers_are_siblings() {
    let names = ["asixto", "standard", "cloudevents", "agent"];
    let files: Vec<_> = sources().into_iter().filter(|(path, _)| path.starts_with("provider")).collect();
    for name in names {
        let home = Path::new("provider").join(name);
        let is_home = |path: &Path| path.starts_with(&home) || path == home.with_extension("rs");
        assert!(files.iter().any(|(path, _)| is_home(path)), "{name} was not found");
        for (path, source) in files.iter().filter(|(path, _)| is_home(path)) {
            for other in names.into_iter().filter(|other| *other != name) {
                let strays: Vec<_> =
                    code(source).into_iter().filter(|line| line.contains(&format!("{other}::"))).collect();
                assert!(strays.is_empty(), "{}: {strays:?}", path.display());
            }
        }
    }
}
