//! The daemon as a process, whatever happens to its log, its terminal and its folder. No runtime answers it here.

use std::fs::OpenOptions;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use witlet_harness::WAIT_TIMEOUT;

use crate::{scratch, witlet};

/// How long a start may take: the first one compiles all that is built in.
pub(crate) const START_TIMEOUT: Duration = Duration::from_secs(600);
/// How often something is checked that is waited for.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

struct Daemon {
    process: Owned,
    folder: tempfile::TempDir,
}

impl Daemon {
    /// Starts one that logs to `log`, and waits until it answers.
    fn start(log: Stdio) -> Self {
        let folder = scratch();
        let cache = witlet_harness::program::component_cache().expect("a test lies in a target folder");
        // A test run under `nohup` must not have the daemon ignore the terminal's end, too.
        let process = Command::new("env")
            .args(["--default-signal=HUP", env!("CARGO_BIN_EXE_witlet")])
            .args(arguments(folder.path(), "api.sock"))
            .env(witlet_harness::program::CACHE_VARIABLE, cache)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .expect("the binary runs");
        let daemon = Self { process: Owned(process), folder };
        daemon.answers();
        daemon
    }

    fn answers(&self) {
        let socket = self.folder.path().join("api.sock").display().to_string();
        wait_for("the daemon answers", START_TIMEOUT, || {
            (witlet(&["get", "node", "--api-socket", &socket]).code == 0).then_some(())
        });
    }

    fn signal(&self, signal: rustix::process::Signal) {
        let process = rustix::process::Pid::from_child(&self.process.0);
        rustix::process::kill_process(process, signal).expect("the daemon can be signalled");
    }

    /// It ends well after it was asked to.
    fn ends_well(self) {
        self.signal(rustix::process::Signal::TERM);
        let (status, _folder) = self.end();
        assert!(status.success(), "{status}");
    }

    /// How it ended, and what it left.
    fn end(mut self) -> (ExitStatus, tempfile::TempDir) {
        let status = wait_for("the daemon ends", WAIT_TIMEOUT, || {
            self.process.0.try_wait().expect("it is this program's child")
        });
        (status, self.folder)
    }
}

/// A process that doesn't outlive a failed test.
pub(crate) struct Owned(pub(crate) Child);

impl Drop for Owned {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn arguments(folder: &std::path::Path, socket: &str) -> Vec<String> {
    let flags = [
        ("--root-dir", "root"),
        ("--pod-logs-dir", "logs"),
        ("--pod-manifest-path", "pods"),
        ("--api-socket", socket),
    ];
    let mut arguments = vec!["run".to_owned(), "--node-name=node".to_owned()];
    for (flag, name) in flags {
        arguments.extend([flag.to_owned(), folder.join(name).display().to_string()]);
    }
    let endpoint = format!("unix://{}", folder.join("no-runtime.sock").display());
    arguments.extend(["--container-runtime-endpoint".to_owned(), endpoint]);
    arguments
}

#[allow(clippy::disallowed_methods, reason = "real processes take real time")]
pub(crate) fn wait_for<T>(what: &str, timeout: Duration, mut check: impl FnMut() -> Option<T>) -> T {
    let start = std::time::Instant::now();
    loop {
        if let Some(found) = check() {
            return found;
        }
        assert!(start.elapsed() < timeout, "never seen: {what}");
        std::thread::sleep(POLL_INTERVAL);
    }
}

#[test]
fn a_log_that_cannot_be_written_does_not_end_the_daemon() {
    let full = OpenOptions::new().write(true).open("/dev/full").expect("every Linux has it");
    let daemon = Daemon::start(full.into());
    daemon.answers();
    daemon.ends_well();
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    Daemon::start(writer.into()).ends_well();
}

#[test]
fn a_closed_terminal_and_an_impatient_operator_end_it_properly() {
    use rustix::process::Signal;
    for signals in [&[Signal::HUP][..], &[Signal::INT, Signal::INT, Signal::TERM]] {
        let daemon = Daemon::start(Stdio::null());
        signals.iter().for_each(|signal| daemon.signal(*signal));
        let (status, folder) = daemon.end();
        assert!(status.success(), "{signals:?}: {status}");
        assert!(!folder.path().join("api.sock").exists(), "the socket goes with it");
    }
}

#[test]
fn a_second_agent_with_the_same_folder_is_refused_and_reported_whose_it_is() {
    let daemon = Daemon::start(Stdio::null());
    let second = arguments(daemon.folder.path(), "second.sock");
    let answer = witlet(&second.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(answer.code, 1, "{}", answer.err);
    for word in [&daemon.process.0.id().to_string(), "--root-dir", "/root is in use by another witlet"] {
        assert!(answer.err.contains(word), "{word:?} isn't in: {}", answer.err);
    }
    daemon.answers();
    daemon.ends_well();
}

#[test]
fn relative_folders_are_enough_for_the_embedded_runtime() {
    let folder = scratch();
    let mut command = Command::new(env!("CARGO_BIN_EXE_witlet"));
    command.current_dir(folder.path()).stderr(Stdio::null()).args(["run", "--stop-pods-on-exit"]);
    command.args([
        "--container-runtime-endpoint",
        "embedded",
        "--root-dir",
        "root",
        "--image-root",
        "images",
    ]);
    command.args(["--pod-logs-dir", "logs", "--pod-manifest-path", "pods", "--api-socket", "api.sock"]);
    let daemon = Daemon { process: Owned(command.spawn().expect("the binary runs")), folder };
    daemon.answers();
    daemon.signal(rustix::process::Signal::TERM);
    let (status, folder) = daemon.end();
    assert!(status.success(), "{status}");
    assert!(!folder.path().join("root/runtime/runtime.sock").exists(), "the runtime ends, too");
}

#[test]
fn an_agent_that_does_not_start_leaves_no_runtime_behind() {
    let (flag, wrong) = ("--image-service-endpoint", "tcp://10.0.0.1:1");
    let folder = scratch();
    let mut arguments = arguments(folder.path(), "api.sock");
    arguments.pop();
    arguments.extend(["embedded", flag, wrong].map(str::to_owned));
    let answer = witlet(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(answer.code, 1, "{}", answer.err);
    assert!(answer.err.contains(wrong), "{}", answer.err);
    assert!(!folder.path().join("root/runtime").exists(), "{}", answer.err);
}
