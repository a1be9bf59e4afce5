//! The documents say what is there.
#![expect(clippy::unwrap_used, reason = "helpers of tests assert by panicking too")]

use std::{
    fs,
    path::{Path, PathBuf},
};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// The files of the project that end so.
fn files(ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            if path.is_dir() && name != "target" && !name.starts_with('.') {
                folders.push(path);
            } else if name.ends_with(ending) {
                found.push(path);
            }
        }
    }
    found
}

#[test]
fn links_lead_somewhere() {
    let mut checked = 0;
    for document in files(".md") {
        let text = fs::read_to_string(&document).unwrap();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next()) {
            if link.is_empty() || link.contains("://") {
                continue;
            }
            assert!(document.parent().unwrap().join(link).exists(), "{}: {link}", document.display());
            checked += 1;
        }
    }
    assert!(checked > 20, "only {checked} links were found");
}

#[test]
fn the_readme_names_every_outcome_and_variable() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    for outcome in asixto_webhook_core::Outcome::ALL {
        assert!(readme.contains(&format!("`{outcome}`")), "{outcome}");
    }
    for event_type in asixto_webhook_core::EVENT_TYPES {
        assert!(readme.contains(&format!("`{event_type}`")), "{event_type}");
    }
    let config = fs::read_to_string(root().join("examples/support/src/config.rs")).unwrap();
    let variables: Vec<String> = config
        .split("\"ASIXTO_WEBHOOK_")
        .skip(1)
        .map(|rest| rest.chars().take_while(char::is_ascii_uppercase).collect())
        .collect();
    assert!(variables.len() >= 5, "only {variables:?} were found");
    for variable in variables {
        assert!(readme.contains(&format!("`ASIXTO_WEBHOOK_{variable}`")), "{variable}");
    }
    for command in ["cargo xtask demo", "cargo xtask test", "asixto-webhook check"] {
        assert!(readme.contains(command), "{command}");
    }
}

#[test]
fn the_log_is_described() {
    let page = fs::read_to_string(root().join("asixto-webhook-axum/src/lib.rs")).unwrap();
    let code = fs::read_to_string(root().join("asixto-webhook-core/src/log.rs")).unwrap();
    let section = page.split_once("//! # The log\n").unwrap().1.split_once("//! # ").unwrap().0;
    for outcome in asixto_webhook_core::Outcome::ALL {
        assert_eq!(section.matches(&format!("`{outcome}`")).count(), 1, "{outcome}");
    }
    let fields = code.split_once("tracing::Level::$level,").unwrap().1.split_once("\"webhook delivery\"").unwrap().0;
    let fields: Vec<_> = fields.lines().filter_map(|line| line.trim().split_once(" = ")).collect();
    assert_eq!(fields.len(), 11);
    for (field, _) in fields {
        assert!(section.contains(&format!("`{field}`")), "{field}");
    }
}

#[test]
fn every_crate_introduces_itself() {
    let (readme, changelog) = (
        fs::read_to_string(root().join("README.md")).unwrap(),
        fs::read_to_string(root().join("CHANGELOG.md")).unwrap(),
    );
    let mut crates = 0;
    for entry in fs::read_dir(root()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if name.starts_with("asixto-webhook-") {
            assert!(path.join("README.md").exists(), "{name} has no README.md");
            assert!(readme.contains(&format!("`{name}`")), "README.md does not name {name}");
            assert!(changelog.contains(&format!("`{name}`")), "CHANGELOG.md does not name {name}");
            crates += 1;
        }
    }
    assert!(crates >= 6);
}

/// Errors teach, and code is finished.
#[test]
fn no_unfinished_code() {
    let sources = files(".rs");
    assert!(sources.len() > 100, "only {} sources were found", sources.len());
    for path in sources.into_iter().filter(|path| !path.ends_with("tidy.rs")) {
        let text = fs::read_to_string(&path).unwrap();
        for mark in ["todo!(", "unimplemented!(", "dbg!(", "#[ignore", "FIXME", "XXX"] {
            assert!(!text.contains(mark), "{}: {mark}", path.display());
        }
    }
}
