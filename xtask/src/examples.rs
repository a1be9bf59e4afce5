//! The examples as programs, started and stopped as a service is.

use std::env;

use asixto_webhook_conformance::{Kit, Program, Target, Version};
use asixto_webhook_core::{Environment, SecretSet};

use crate::shell::{self, Result, cargo};

/// The frameworks, as their examples are called.
pub(crate) const FRAMEWORKS: [&str; 4] = ["axum", "actix", "warp", "tower"];

/// Builds the examples of these frameworks.
pub(crate) fn build(frameworks: &[&str], quiet: bool) -> Result {
    let packages: Vec<_> = frameworks.iter().map(|framework| format!("--package=example-{framework}")).collect();
    let mut build = cargo(&["build"]);
    build.args(packages);
    if quiet {
        build.arg("--quiet");
    }
    shell::run(build)
}

/// An example that runs, and what it takes to check it.
pub(crate) struct Example {
    pub(crate) program: Program,
    secrets: SecretSet,
}

impl Example {
    pub(crate) fn start(framework: &str) -> Result<Self> {
        let secrets = [secret()?, secret()?];
        let binary = env::current_exe()?.with_file_name(format!("example-{framework}{}", env::consts::EXE_SUFFIX));
        let log = env::temp_dir().join(format!("asixto-webhook-{framework}-{}.log", std::process::id()));
        let variables = [("ASIXTO_WEBHOOK_SECRETS", secrets.join(",")), ("ASIXTO_WEBHOOK_DIAGNOSTICS", "1".to_owned())];
        let variables = variables.each_ref().map(|(name, value)| (*name, value.as_str()));
        Ok(Self { program: Program::start(&binary, &log, &variables)?, secrets: SecretSet::from_issued(&secrets)? })
    }

    pub(crate) fn target(&self, version: Version) -> Target {
        Target::new(self.program.address(), version).observed_at("/events")
    }

    pub(crate) fn kit(&self) -> Kit {
        Kit::new("/webhooks/asixto", self.secrets.clone(), Environment::Live)
    }

    /// Asks it to stop, and waits until it has.
    pub(crate) fn stop(self) -> Result {
        let status = self.program.stop()?;
        match cfg!(unix) && !status.success() {
            true => Err(format!("the example ended with {status} when it was asked to stop").into()),
            false => Ok(()),
        }
    }
}

fn secret() -> Result<String> {
    let mut bytes = [0; 24];
    getrandom::fill(&mut bytes)?;
    Ok("whsec_".to_owned() + &bytes.map(|byte| format!("{byte:02x}")).concat())
}
