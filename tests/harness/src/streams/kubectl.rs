//! kubectl, where it is, and a terminal to run it in.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

/// Names the kubectl to be tried, instead of the one of PATH.
pub const KUBECTL_VARIABLE: &str = "WITLET_KUBECTL";

const PROGRAM: &str = "kubectl";

/// Runs a command in a terminal (util-linux).
const TERMINAL: &str = "script";

/// kubectl speaks SPDY with these as `false`, WebSockets otherwise.
const ROADS: [&str; 2] = ["KUBECTL_REMOTE_COMMAND_WEBSOCKETS", "KUBECTL_PORT_FORWARD_WEBSOCKETS"];

/// How long keys are waited upon before they are pressed again.
const PRESS_AGAIN: Duration = Duration::from_millis(500);

/// Rows and columns of a new terminal.
pub const TERMINAL_SIZE: (u16, u16) = (33, 99);

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

    /// Runs it in a terminal of [`TERMINAL_SIZE`]. No argument may have a quote.
    pub fn terminal(&self, arguments: &[&str]) -> Result<Terminal, String> {
        let resize = tempfile::NamedTempFile::new_in(&self.home).map_err(|error| error.to_string())?;
        let (rows, columns) = TERMINAL_SIZE;
        let words: Vec<String> = arguments.iter().map(|word| format!("'{word}'")).collect();
        // A file tells the terminal its size; kubectl gets the shell's own process number.
        let line = format!(
            "stty rows {rows} cols {columns}; t=$(tty); \
             (while kill -0 $$ 2>/dev/null; do test -s {file} && stty -F $t $(cat {file}) && : > {file}; sleep 0.1; done) & \
             exec '{program}' {words}",
            file = resize.path().display(),
            program = self.program.to_string_lossy(),
            words = words.join(" "),
        );
        let mut command = Command::new(TERMINAL);
        command.args(["-q", "-e", "-c", &line, "/dev/null"]);
        self.furnish(&mut command);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(|error| format!("{TERMINAL}: {error}"))?;
        let (keys, screen) = (child.stdin.take().ok_or("no input")?, child.stdout.take().ok_or("no output")?);
        Ok(Terminal { keys, screen, child, resize, seen: String::new() })
    }
}

fn program() -> OsString {
    let named = std::env::var_os(KUBECTL_VARIABLE).filter(|named| !named.is_empty());
    named.unwrap_or_else(|| PROGRAM.into())
}

/// What is typed, and what is seen.
#[derive(Debug)]
pub struct Terminal {
    keys: ChildStdin,
    screen: ChildStdout,
    child: Child,
    resize: tempfile::NamedTempFile,
    seen: String,
}

impl Terminal {
    /// Presses these keys once.
    pub async fn press(&mut self, keys: &str) -> Result<(), String> {
        self.keys.write_all(keys.as_bytes()).await.map_err(|error| format!("{error} after {:?}", self.seen))
    }

    /// Gives the terminal another size.
    pub fn resize(&self, rows: u16, columns: u16) -> Result<(), String> {
        let size = format!("rows {rows} cols {columns}\n");
        std::fs::write(self.resize.path(), size).map_err(|error| error.to_string())
    }

    /// Presses these keys again and again until the words are seen; what came before them is forgotten. The terminal shows the
    /// keys, too: words that are in them prove nothing.
    pub async fn until(&mut self, keys: &str, words: &str) -> Result<(), String> {
        loop {
            self.press(keys).await?;
            let pause = tokio::time::sleep(PRESS_AGAIN);
            tokio::pin!(pause);
            loop {
                if let Some(at) = self.seen.find(words) {
                    self.seen.drain(..at + words.len());
                    return Ok(());
                }
                let mut bytes = [0; 1024];
                let read = tokio::select! {
                    () = &mut pause => break,
                    read = self.screen.read(&mut bytes) => read.map_err(|error| error.to_string())?,
                };
                if read == 0 {
                    return Err(format!("it ended before {words:?}: {:?}", self.seen));
                }
                self.seen.push_str(&String::from_utf8_lossy(&bytes[..read]));
            }
        }
    }

    /// Waits for the end: the exit code, and what was seen last.
    pub async fn end(mut self) -> Result<(Option<i32>, String), String> {
        let mut rest = Vec::new();
        self.screen.read_to_end(&mut rest).await.map_err(|error| error.to_string())?;
        self.seen.push_str(&String::from_utf8_lossy(&rest));
        let status = self.child.wait().await.map_err(|error| error.to_string())?;
        Ok((status.code(), self.seen))
    }
}
