//! kubectl, where it is.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use crate::terminal::Terminal;

/// Names the kubectl to be tried, instead of the one of PATH.
pub const KUBECTL_VARIABLE: &str = "WITLET_KUBECTL";

const PROGRAM: &str = "kubectl";

/// kubectl speaks SPDY with these as `false`, WebSockets otherwise.
const ROADS: [&str; 2] = ["KUBECTL_REMOTE_COMMAND_WEBSOCKETS", "KUBECTL_PORT_FORWARD_WEBSOCKETS"];

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Its exit code; none if a signal ended it.
    pub code: Option<i32>,
    /// What it printed.
    pub out: String,
    /// What it said on its standard error.
    pub said: String,
}

/// kubectl for one cluster.
#[derive(Clone, Debug)]
pub struct Kubectl {
    program: OsString,
    kubeconfig: PathBuf,
    home: PathBuf,
    by_websockets: bool,
}

impl Kubectl {
    /// Which one would be run, by its version; an error says why none can be.
    pub fn version() -> Result<String, String> {
        let program = program();
        let shown = program.to_string_lossy().into_owned();
        let asked = std::process::Command::new(program).args(["version", "--client"]).output();
        match asked {
            Ok(output) if output.status.success() => {
                let said = String::from_utf8_lossy(&output.stdout).into_owned();
                Ok(said.lines().next().unwrap_or_default().to_owned())
            }
            Ok(output) => Err(format!("{shown} doesn't work: {}", output.status)),
            Err(error) => Err(format!("{shown} can't be run: {error}")),
        }
    }

    /// With this configuration, and nothing of the user's own: what it keeps goes below `home`.
    pub fn new(kubeconfig: &Path, home: &Path, by_websockets: bool) -> Self {
        let (kubeconfig, home) = (kubeconfig.to_owned(), home.to_owned());
        Self { program: program(), kubeconfig, home, by_websockets }
    }

    /// A command line, without input; it ends when it is dropped.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(arguments);
        self.furnish(&mut command);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn furnish(&self, command: &mut Command) {
        command.env("KUBECONFIG", &self.kubeconfig).env("HOME", &self.home).kill_on_drop(true);
        for name in ROADS {
            command.env(name, self.by_websockets.to_string());
        }
    }

    /// Runs it to its end with this input.
    pub async fn run(&self, arguments: &[&str], input: &str) -> Result<Ended, String> {
        let failed = |error: std::io::Error| error.to_string();
        let mut child = self.command(arguments).stdin(Stdio::piped()).spawn().map_err(failed)?;
        if let Some(mut stdin) = child.stdin.take() {
            match stdin.write_all(input.as_bytes()).await {
                // It may have ended without reading.
                Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => {}
                written => written.map_err(failed)?,
            }
        }
        let output = child.wait_with_output().await.map_err(failed)?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok(Ended { code: output.status.code(), out: text(&output.stdout), said: text(&output.stderr) })
    }

    /// Runs it in a terminal. No argument may have a quote.
    pub fn terminal(&self, arguments: &[&str]) -> Result<Terminal, String> {
        let words: Vec<String> = arguments.iter().map(|word| format!("'{word}'")).collect();
        // kubectl gets the shell's own process number.
        let line = format!("exec '{}' {}", self.program.to_string_lossy(), words.join(" "));
        Terminal::start(&line, &self.home, |command| self.furnish(command))
    }
}

fn program() -> OsString {
    let named = std::env::var_os(KUBECTL_VARIABLE).filter(|named| !named.is_empty());
    named.unwrap_or_else(|| PROGRAM.into())
}
