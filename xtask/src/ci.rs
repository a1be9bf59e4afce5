//! What a change has to pass besides the tests.

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
        run_command(cargo(&["deny", "--offline", "check", "bans", "licenses", "sources"]))?;
    } else {
        eprintln!("\nskipped: cargo deny, which is not installed (`cargo install cargo-deny`)");
    }
    run_command(cargo(&["package", "--workspace", "--allow-dirty"]))
}

/// Every published package without features, and with each of its features alone.
fn features() -> Result<Vec<(String, Option<String>)>> {
    let metadata: serde_json::Value =
        serde_json::from_str(&output(cargo(&["metadata", "--no-deps", "--format-version", "1"]))?)?;
    let mut found = Vec::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let Some(name) = package["name"].as_str().filter(|name| name.starts_with("asixto-webhook-")) else { continue };
        let features = package["features"].as_object().into_iter().flatten().map(|(feature, _)| feature);
        found.push((name.to_owned(), None));
        found.extend(
            features.filter(|feature| *feature != "default").map(|feature| (name.to_owned(), Some(feature.clone()))),
        );
    }
    Ok(found)
}
