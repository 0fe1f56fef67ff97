//! A terminal to run a program in.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

/// Runs a command in a terminal (util-linux).
const PROGRAM: &str = "script";

/// How long keys are waited upon before they are pressed again.
const PRESS_AGAIN: Duration = Duration::from_millis(500);

/// Rows and columns of a new terminal.
const SIZE: (u16, u16) = (33, 99);

/// What is typed, and what is seen.
#[derive(Debug)]
pub struct Terminal {
    keys: ChildStdin,
    screen: ChildStdout,
    child: Child,
    resize: tempfile::NamedTempFile,
    seen: Vec<u8>,
}

impl Terminal {
    /// Has a shell run this line in a terminal of 33 rows and 99 columns; `furnish` gives it its environment. A file in `folder` is how it
    /// receives another size.
    pub fn start(line: &str, folder: &Path, furnish: impl FnOnce(&mut Command)) -> Result<Self, String> {
        let resize = tempfile::NamedTempFile::new_in(folder).map_err(|error| error.to_string())?;
        let (rows, columns) = SIZE;
        let line = format!(
            "stty rows {rows} cols {columns}; t=$(tty); \
             (while kill -0 $$ 2>/dev/null; do test -s {file} && stty -F $t $(cat {file}) && : > {file}; sleep 0.1; done) & \
             {line}",
            file = resize.path().display(),
        );
        let mut command = Command::new(PROGRAM);
        command.args(["-q", "-e", "-c", &line, "/dev/null"]).kill_on_drop(true);
        furnish(&mut command);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(|error| format!("{PROGRAM}: {error}"))?;
        let (keys, screen) = (child.stdin.take().ok_or("no input")?, child.stdout.take().ok_or("no output")?);
        Ok(Self { keys, screen, child, resize, seen: Vec::new() })
    }

    /// Presses these keys once.
    pub async fn press(&mut self, keys: &str) -> Result<(), String> {
        self.keys
            .write_all(keys.as_bytes())
            .await
            .map_err(|error| format!("{error} after {:?}", text(&self.seen)))
    }

    /// Gives the terminal another size.
    pub fn resize(&self, rows: u16, columns: u16) -> Result<(), String> {
        let size = format!("rows {rows} cols {columns}\n");
        std::fs::write(self.resize.path(), size).map_err(|error| error.to_string())
    }

    /// Presses these keys again and again until the words are seen, and returns what came before them. The terminal shows the keys,
    /// too: words that are in them prove nothing.
    pub async fn until(&mut self, keys: &str, words: &str) -> Result<String, String> {
        loop {
            self.press(keys).await?;
            let pause = tokio::time::sleep(PRESS_AGAIN);
            tokio::pin!(pause);
            loop {
                if let Some(at) = self.seen.windows(words.len()).position(|seen| seen == words.as_bytes()) {
                    let before = text(&self.seen[..at]);
                    self.seen.drain(..at + words.len());
                    return Ok(before);
                }
                let mut bytes = [0; 1024];
                let read = tokio::select! {
                    () = &mut pause => break,
                    read = self.screen.read(&mut bytes) => read.map_err(|error| error.to_string())?,
                };
                if read == 0 {
                    return Err(format!("it ended before {words:?}: {:?}", text(&self.seen)));
                }
                self.seen.extend_from_slice(&bytes[..read]);
            }
        }
    }

    /// Waits for the end: the exit code, and what was seen last.
    pub async fn end(mut self) -> Result<(Option<i32>, String), String> {
        self.screen.read_to_end(&mut self.seen).await.map_err(|error| error.to_string())?;
        let status = self.child.wait().await.map_err(|error| error.to_string())?;
        Ok((status.code(), text(&self.seen)))
    }
}

fn text(seen: &[u8]) -> String {
    String::from_utf8_lossy(seen).into_owned()
}
