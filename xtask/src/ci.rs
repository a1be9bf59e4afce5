//! What a change has to pass besides the tests.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::shell::{Result, cargo, has, output, run as run_command};

pub(crate) fn run() -> Result {
    run_command(cargo(&["fmt", "--all", "--check"]))?;
    run_command(cargo(&["clippy", "--workspace", "--all-features", "--all-targets", "--", "-D", "warnings"]))?;
    let mut docs = cargo(&["doc", "--workspace", "--all-features", "--no-deps"]);
    docs.env("RUSTDOCFLAGS", "-D warnings");
    run_command(docs)?;
    for (package, feature) in features()? {
        let mut check = vec!["check", "--quiet", "--package", &package, "--no-default-features"];
        if let Some(feature) = &feature {
            check.extend(["--features", feature]);
        }
        run_command(cargo(&check))?;
    }
    if has("deny") {
        run_command(cargo(&["deny", "check", "bans", "licenses", "sources"]))?;
    } else {
        eprintln!("\nskipped: cargo deny, which is not installed (`cargo install cargo-deny`)");
    }
    run_command(cargo(&["package", "--workspace", "--allow-dirty"]))
}

/// Every published package without features, and with each of its features alone.
fn features() -> Result<Vec<(String, Option<String>)>> {
    let metadata: Metadata =
        serde_json::from_str(&output(cargo(&["metadata", "--no-deps", "--format-version", "1"]))?)?;
    let mut found = Vec::new();
    for Package { name, features } in metadata.packages {
        if name.starts_with("asixto-webhook-") {
            found.push((name.clone(), None));
            let alone = features.into_keys().filter(|feature| feature != "default");
            found.extend(alone.map(|feature| (name.clone(), Some(feature))));
        }
    }
    Ok(found)
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    features: BTreeMap<String, Vec<String>>,
}
