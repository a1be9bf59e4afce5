//! The README's examples, run by a shell.

use std::{env, fs, path::Path, process::Command};

use crate::harness::{BINARY, SECRETS, Server, VARIABLE};

#[test]
fn examples() {
    let readme = include_str!("../../README.md");
    let blocks: Vec<_> = readme.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    let (installs, examples): (Vec<_>, Vec<_>) = blocks.into_iter().partition(|block| block.starts_with("cargo "));
    assert_eq!((installs.len(), examples.len()), (1, 7));

    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("readme");
    fs::create_dir_all(&folder).unwrap();
    let program = Path::new(BINARY).parent().unwrap().to_str().unwrap();
    let path = format!("{program}:{}", env::var("PATH").unwrap());
    let server = Server::asixto();
    for example in examples {
        let script = example.replace("http://127.0.0.1:3000/webhooks/asixto", &server.url);
        let output = Command::new("sh")
            .args(["-eu", "-c", &script])
            .env("PATH", &path)
            .env(VARIABLE, SECRETS[0])
            .current_dir(&folder)
            .output()
            .unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success() && told.is_empty(), "{script}\n{told}");
        if example.contains("doctor") {
            let shown = format!("```text\n{}```", String::from_utf8(output.stdout).unwrap());
            assert!(readme.contains(&shown), "{shown}");
        }
    }
    assert!(server.events().len() > 10, "{}", server.events().len());
}
