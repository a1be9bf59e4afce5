//! PostgreSQL.

use std::{
    fs,
    net::TcpStream,
    os::unix::{fs::chown, process::CommandExt},
    path::PathBuf,
    process::{Child, Command, Stdio},
};

use crate::{folder::Folder, free_port, installed, until};

/// Where Debian puts the programs of each version.
const ELSEWHERE: [&str; 4] = [
    "/usr/lib/postgresql/17/bin",
    "/usr/lib/postgresql/16/bin",
    "/usr/lib/postgresql/15/bin",
    "/usr/lib/postgresql/14/bin",
];

/// A server of its own, which is stopped when this is dropped.
#[derive(Debug)]
pub struct Postgres {
    program: PathBuf,
    folder: Folder,
    port: u16,
    running: Option<Child>,
}

impl Postgres {
    /// Starts one. `None` where it is not installed.
    #[must_use]
    pub fn start() -> Option<Self> {
        let (program, initdb) = (installed("postgres", &ELSEWHERE)?, installed("initdb", &ELSEWHERE)?);
        let folder = Folder::new("pg");
        if let Some(user) = other_user() {
            chown(folder.path(), Some(user), None).unwrap();
        }
        let data = folder.path().join("data");
        let mut made = as_other(&initdb);
        made.arg("-D").arg(&data).args(["-U", "test", "-A", "trust", "-E", "UTF8", "--no-sync", "--locale=C"]);
        let output = made.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let mut server = Self { program, folder, port: free_port(), running: None };
        server.start_again();
        Some(server)
    }

    /// How it is reached.
    #[must_use]
    pub fn url(&self) -> String {
        format!("postgres://test@127.0.0.1:{}/postgres", self.port)
    }

    /// Its port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Stops it at once, as a crash does: what was not written is lost.
    pub fn kill(&mut self) {
        let Some(mut running) = self.running.take() else { return };
        // It ends its children, which a killed one does not.
        let pid = rustix::process::Pid::from_child(&running);
        _ = rustix::process::kill_process(pid, rustix::process::Signal::QUIT);
        running.wait().unwrap();
    }

    /// Starts it again, with what it had written.
    pub fn start_again(&mut self) {
        let data = self.folder.path().join("data");
        _ = fs::remove_file(data.join("postmaster.pid"));
        let mut server = as_other(&self.program);
        server.arg("-D").arg(&data).arg("-k").arg(self.folder.path());
        server.args(["-p", &self.port.to_string(), "-c", "listen_addresses=127.0.0.1", "-c", "max_connections=200"]);
        self.running = Some(server.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
        // Once its files are in order it says so in the last line of this one.
        let status = data.join("postmaster.pid");
        until("PostgreSQL", || {
            fs::read_to_string(&status).is_ok_and(|text| text.lines().last().is_some_and(|line| line.trim() == "ready"))
                && TcpStream::connect(("127.0.0.1", self.port)).is_ok()
        });
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.kill();
    }
}

/// PostgreSQL does not run as root: as somebody who may do nothing else.
fn other_user() -> Option<u32> {
    const NOBODY: u32 = 65534;
    rustix::process::geteuid().is_root().then_some(NOBODY)
}

fn as_other(program: &PathBuf) -> Command {
    let mut command = Command::new(program);
    command.current_dir("/").stdin(Stdio::null());
    if let Some(user) = other_user() {
        command.uid(user).gid(user);
    }
    command
}
