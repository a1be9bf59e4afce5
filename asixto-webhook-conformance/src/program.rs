//! A receiver as a program of its own: started on a free port, stopped as an orchestrator would.

use std::{
    error::Error,
    fs::File,
    io::{self, BufRead, BufReader},
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

/// A running program that serves as a receiver.
///
/// It is told where to listen by `ASIXTO_WEBHOOK_LISTEN`, and says where it does by a line on its output that contains
/// `http://ADDRESS:PORT`. Dropped, it is killed.
#[derive(Debug)]
pub struct Program {
    process: Child,
    address: SocketAddr,
    log: PathBuf,
}

impl Program {
    /// Starts `binary` on a free port with these variables, and with its errors written to the file `log`.
    ///
    /// # Errors
    /// Where it cannot be started, or ends before it listens.
    pub fn start(binary: &Path, log: &Path, variables: &[(&str, &str)]) -> Result<Self, Box<dyn Error>> {
        let mut process = Command::new(binary)
            .env("ASIXTO_WEBHOOK_LISTEN", "127.0.0.1:0")
            .envs(variables.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(File::create(log)?)
            .spawn()
            .map_err(|error| format!("{}: {error}", binary.display()))?;
        let mut line = String::new();
        if let Some(output) = process.stdout.take() {
            BufReader::new(output).read_line(&mut line)?;
        }
        let address = line.split("http://").nth(1).and_then(|rest| rest.split(['/', '\n']).next()?.parse().ok());
        match address {
            Some(address) => Ok(Self { process, address, log: log.to_owned() }),
            None => {
                _ = process.kill();
                let status = process.wait()?;
                Err(format!("{} did not start ({status}); its log is {}", binary.display(), log.display()).into())
            }
        }
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The file that its errors are written to.
    #[must_use]
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// Asks it to stop, and waits until it has finished its work.
    ///
    /// # Errors
    /// Where it has not ended after 30 seconds.
    pub fn stop(mut self) -> io::Result<ExitStatus> {
        self.ask_to_stop()?;
        let patience = Instant::now() + Duration::from_secs(30);
        while Instant::now() < patience {
            if let Some(status) = self.process.try_wait()? {
                return Ok(status);
            }
            thread::sleep(Duration::from_millis(5));
        }
        Err(io::Error::new(io::ErrorKind::TimedOut, "expected the program to end, found it running"))
    }

    /// Sends the signal that asks a program to stop; where there are no signals, kills it.
    ///
    /// # Errors
    /// Where that fails.
    pub fn ask_to_stop(&mut self) -> io::Result<()> {
        if cfg!(unix) {
            Command::new("kill").arg(self.process.id().to_string()).status().map(drop)
        } else {
            self.process.kill()
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // Nothing to do where it has ended.
        _ = self.process.kill();
        _ = self.process.wait();
    }
}
