//! Runs cargo, and says what it runs.

use std::{
    env,
    error::Error,
    path::Path,
    process::{Command, Stdio},
    time::Instant,
};

pub(crate) type Result<T = ()> = std::result::Result<T, Box<dyn Error>>;

/// Cargo, as it runs this task, in the workspace's root.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."));
    cargo.args(arguments).current_dir(root);
    cargo
}

/// Runs a command to its end.
pub(crate) fn run(mut command: Command) -> Result {
    let line = line(&command);
    eprintln!("\n$ {line}");
    let begun = Instant::now();
    let status = command.status().map_err(|error| format!("`{line}`: {error}"))?;
    if !status.success() {
        return Err(format!("`{line}` failed with {status}").into());
    }
    eprintln!("  done in {:.1} s", begun.elapsed().as_secs_f64());
    Ok(())
}

/// What a command prints.
pub(crate) fn output(mut command: Command) -> Result<String> {
    let line = line(&command);
    let output = command.stderr(Stdio::inherit()).output().map_err(|error| format!("`{line}`: {error}"))?;
    if !output.status.success() {
        return Err(format!("`{line}` failed with {}", output.status).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// Whether cargo has a subcommand of this name.
pub(crate) fn has(subcommand: &str) -> bool {
    let mut probe = cargo(&[subcommand, "--version"]);
    probe.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

fn line(command: &Command) -> String {
    let arguments = command.get_args().map(|argument| argument.to_string_lossy());
    ["cargo".into()].into_iter().chain(arguments).collect::<Vec<_>>().join(" ")
}
