//! What a change has to pass besides the tests.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::shell::{Result, cargo, has, output, run as run_command};

pub(crate) fn run() -> Result {
    let metadata = cargo(&["metadata", "--no-deps", "--format-version", "1"]);
    let Metadata { packages } = serde_json::from_str(&output(metadata)?)?;

    run_command(cargo(&["fmt", "--all", "--check"]))?;
    run_command(cargo(&["clippy", "--workspace", "--all-features", "--all-targets", "--", "-D", "warnings"]))?;
    let mut docs = cargo(&["doc", "--workspace", "--all-features", "--no-deps"]);
    docs.env("RUSTDOCFLAGS", "-D warnings");
    run_command(docs)?;
    for package in packages.iter().filter(|package| package.is_published()) {
        check_alone(package, None)?;
        for feature in package.features.keys().filter(|feature| *feature != "default") {
            check_alone(package, Some(feature.as_str()))?;
        }
    }
    if has("deny") {
        run_command(cargo(&["deny", "check", "bans", "licenses", "sources"]))?;
    } else {
        eprintln!("\nskipped: cargo deny, which is not installed (`cargo install cargo-deny`)");
    }
    let mut package = cargo(&["package", "--workspace", "--allow-dirty"]);
    for unpublished in packages.iter().filter(|package| !package.is_published()) {
        package.args(["--exclude", &unpublished.name]);
    }
    run_command(package)
}

fn check_alone(package: &Package, feature: Option<&str>) -> Result {
    let mut check = cargo(&["check", "--quiet", "--package", &package.name, "--no-default-features"]);
    if let Some(feature) = feature {
        check.args(["--features", feature]);
    }
    run_command(check)
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    features: BTreeMap<String, Vec<String>>,
    /// The registries it may go to: all of them, unless there is a list.
    publish: Option<Vec<String>>,
}

impl Package {
    fn is_published(&self) -> bool {
        self.publish.is_none()
    }
}
