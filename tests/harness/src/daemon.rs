//! The `witlet` daemon as a process, on any runtime.

use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::mount::{UnmountFlags, unmount};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio::time::Instant;

use crate::WAIT_TIMEOUT;
use crate::program::{self, CACHE_VARIABLE};
use crate::shell::{HarnessError, io};

/// How often something is checked that is waited for.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// How much of its log is shown when something failed, in lines.
const LOG_TAIL_LINES: usize = 30;

/// How the daemon is started. Every path is the test's own.
#[derive(Clone, Debug)]
pub struct DaemonOptions {
    /// The `witlet` program.
    pub program: PathBuf,
    /// Folder of manifests; made if it isn't there.
    pub manifests: PathBuf,
    /// The agent's own folder; holds its socket and its log too.
    pub root: PathBuf,
    /// Folder for the logs of pods.
    pub pod_logs: PathBuf,
    /// `unix:///path`, or `embedded`.
    pub endpoint: String,
    /// Name of the node, which ends the names of static pods.
    pub node_name: String,
    /// A plugin configuration.
    pub plugins: Option<PathBuf>,
    /// A network namespace to run in (see [`crate::Containerd::network_namespace`]), for daemons that must reach pods.
    pub network_namespace: Option<PathBuf>,
    /// More arguments of `witlet run`.
    pub arguments: Vec<String>,
    /// The whole command line in place of `witlet run` with all that is above, for daemons that are called otherwise.
    pub command_line: Option<Vec<String>>,
    /// More environment, such as `RUST_LOG`.
    pub environment: Vec<(String, String)>,
}

impl DaemonOptions {
    /// Everything below one folder, without plugins.
    pub fn below(folder: &Path, program: impl Into<PathBuf>, endpoint: impl Into<String>) -> Self {
        Self {
            program: program.into(),
            manifests: folder.join("manifests"),
            root: folder.join("agent"),
            pod_logs: folder.join("pod-logs"),
            endpoint: endpoint.into(),
            node_name: "node1".to_owned(),
            plugins: None,
            network_namespace: None,
            arguments: Vec::new(),
            command_line: None,
            environment: Vec::new(),
        }
    }
}

/// A running daemon. Killed when dropped, without its pods.
#[derive(Debug)]
pub struct Daemon {
    options: DaemonOptions,
    process: Option<Child>,
}

impl Daemon {
    /// Starts `witlet run`. Doesn't wait until it answers: see [`Daemon::wait_for_pods`].
    pub fn start(options: DaemonOptions) -> Result<Self, HarnessError> {
        for folder in [&options.manifests, &options.root, &options.pod_logs] {
            fs::create_dir_all(folder).map_err(io(format!("make {}", folder.display())))?;
        }
        let mut daemon = Self { options, process: None };
        daemon.launch()?;
        Ok(daemon)
    }

    /// Starts another program in its place from the next [`Daemon::launch`] on.
    pub fn upgrade(&mut self, program: PathBuf) {
        self.options.program = program;
    }

    /// Starts it again, after [`Daemon::kill`] or [`Daemon::stop`], with the same options.
    pub fn launch(&mut self) -> Result<(), HarnessError> {
        let options = &self.options;
        let log = OpenOptions::new().create(true).append(true).open(self.log_path());
        let log = log.map_err(io("open the daemon's log"))?;
        let mut command = match &options.network_namespace {
            Some(namespace) => {
                let mut command = Command::new("nsenter");
                command.arg(format!("--net={}", namespace.display())).arg(&options.program);
                command
            }
            None => Command::new(&options.program),
        };
        match &options.command_line {
            Some(line) => command.args(line),
            None => command.args(self.run_arguments()),
        };
        command.env(CACHE_VARIABLE, program::component_cache()?);
        command.envs(options.environment.iter().map(|(key, value)| (key, value)));
        command
            .stdin(Stdio::null())
            .stdout(log.try_clone().map_err(io("share the daemon's log"))?)
            .stderr(log);
        self.process = Some(command.spawn().map_err(io("start the daemon"))?);
        Ok(())
    }

    /// `run` and where everything is.
    fn run_arguments(&self) -> Vec<OsString> {
        let options = &self.options;
        let socket = self.api_socket();
        let paths = [
            ("--pod-manifest-path", options.manifests.as_path()),
            ("--root-dir", &options.root),
            ("--pod-logs-dir", &options.pod_logs),
            ("--container-runtime-endpoint", Path::new(&options.endpoint)),
            ("--node-name", Path::new(&options.node_name)),
            ("--api-socket", &socket),
        ];
        // The machine that runs tests may be short of anything.
        let evicts = options.arguments.iter().any(|argument| argument.starts_with("--eviction-hard"));
        let none = (!evicts).then(|| OsString::from("--eviction-hard="));
        let plugins = options.plugins.iter().map(|plugins| ("--plugins", plugins.as_path()));
        let named = paths.into_iter().chain(plugins);
        let words = named.flat_map(|(flag, value)| [flag.into(), value.as_os_str().to_owned()]);
        let more = options.arguments.iter().map(OsString::from);
        let cgroups = crate::cgroups::flags(&options.endpoint).into_iter().map(OsString::from);
        std::iter::once("run".into()).chain(words).chain(none).chain(more).chain(cgroups).collect()
    }

    /// Kills it as `kill -9` does; its pods run on.
    pub fn kill(&mut self) -> Result<(), HarnessError> {
        if let Some(mut process) = self.process.take() {
            process.kill().map_err(io("kill the daemon"))?;
            process.wait().map_err(io("wait for the daemon"))?;
        }
        Ok(())
    }

    /// Asks it to end (SIGTERM) and waits until it has, with success.
    pub async fn stop(&mut self) -> Result<(), HarnessError> {
        let Some(mut process) = self.process.take() else { return Ok(()) };
        if let Some(pid) = i32::try_from(process.id()).ok().and_then(Pid::from_raw) {
            kill_process(pid, Signal::TERM).map_err(|errno| io("ask the daemon to end")(errno.into()))?;
        }
        let deadline = Instant::now() + WAIT_TIMEOUT;
        loop {
            match process.try_wait().map_err(io("wait for the daemon"))? {
                Some(status) if status.success() => return Ok(()),
                Some(status) => {
                    return Err(HarnessError::Answer(format!(
                        "the daemon ended with {status}\n{}",
                        self.log_tail()
                    )));
                }
                None if Instant::now() >= deadline => {
                    self.process = Some(process);
                    self.kill()?;
                    return Err(self.late("the daemon's end", WAIT_TIMEOUT, ""));
                }
                None => tokio::time::sleep(POLL_INTERVAL).await,
            }
        }
    }

    /// Kills it and starts it again.
    pub fn kill_and_restart(&mut self) -> Result<(), HarnessError> {
        self.kill()?;
        self.launch()
    }

    /// Kills it and starts it again with these arguments in place of its own. Another daemon in its place wouldn't do: the end of the
    /// first would take its mounts and cgroups away.
    pub fn restart_with(&mut self, arguments: Vec<String>) -> Result<(), HarnessError> {
        self.kill()?;
        self.options.arguments = arguments;
        self.launch()
    }

    /// Kills it and starts another program in its place, with this whole command line.
    pub fn replace(&mut self, command_line: Vec<String>) -> Result<(), HarnessError> {
        self.kill()?;
        self.options.command_line = Some(command_line);
        self.launch()
    }

    /// Writes a manifest into its folder, in one step so that it is never seen half.
    pub fn write_manifest(&self, file: &str, content: &str) -> Result<(), HarnessError> {
        // Hidden files are ignored.
        let hidden = self.options.manifests.join(format!(".{file}.new"));
        fs::write(&hidden, content).map_err(io(format!("write {}", hidden.display())))?;
        fs::rename(&hidden, self.options.manifests.join(file)).map_err(io(format!("rename to {file}")))
    }

    /// Removes a manifest from its folder.
    pub fn remove_manifest(&self, file: &str) -> Result<(), HarnessError> {
        fs::remove_file(self.options.manifests.join(file)).map_err(io(format!("remove {file}")))
    }

    /// What `witlet get <what> -o json` prints (`pods`, `events`, `node`, `plugins`).
    pub async fn get(&self, what: &str) -> Result<Value, HarnessError> {
        let mut command = tokio::process::Command::new(&self.options.program);
        command.args(["get", what, "-o", "json", "--api-socket"]).arg(self.api_socket());
        command.stdin(Stdio::null()).kill_on_drop(true);
        let output = command.output().await.map_err(io("run witlet get"))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            return Err(HarnessError::Program { command: format!("witlet get {what}"), said });
        }
        serde_json::from_slice(&output.stdout)
            .map_err(|error| HarnessError::Answer(format!("witlet get {what} -o json: {error}")))
    }

    /// The pods as the daemon shows them: `items` of `get pods -o json`.
    pub async fn pods(&self) -> Result<Vec<Value>, HarnessError> {
        match self.get("pods").await?.get_mut("items").map(Value::take) {
            Some(Value::Array(pods)) => Ok(pods),
            other => Err(HarnessError::Answer(format!("witlet get pods -o json: items is {other:?}"))),
        }
    }

    /// Waits until the pods are as expected, and returns them. A daemon that doesn't answer yet is asked again.
    pub async fn wait_for_pods(
        &self,
        what: &str,
        expected: impl FnMut(&[Value]) -> bool,
    ) -> Result<Vec<Value>, HarnessError> {
        self.wait_for_pods_within(what, WAIT_TIMEOUT, expected).await
    }

    async fn wait_for_pods_within(
        &self,
        what: &str,
        timeout: Duration,
        mut expected: impl FnMut(&[Value]) -> bool,
    ) -> Result<Vec<Value>, HarnessError> {
        let deadline = Instant::now() + timeout;
        loop {
            let last = match self.pods().await {
                Ok(pods) if expected(&pods) => return Ok(pods),
                Ok(pods) => pods.iter().map(summary).collect::<Vec<_>>().join("\n"),
                Err(error) => error.to_string(),
            };
            if Instant::now() >= deadline {
                return Err(self.late(what, timeout, &last));
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Its local API.
    pub fn api_socket(&self) -> PathBuf {
        self.options.root.join("api.sock")
    }

    /// What it logged, since its first start.
    pub fn log(&self) -> String {
        fs::read_to_string(self.log_path()).unwrap_or_default()
    }

    /// Whether its process goes on. One that ended by itself is none that [`Daemon::kill`] or [`Daemon::stop`] has to end.
    pub fn is_running(&mut self) -> Result<bool, HarnessError> {
        let Some(process) = &mut self.process else { return Ok(false) };
        Ok(process.try_wait().map_err(io("check the daemon's process"))?.is_none())
    }

    /// Its process id while it runs.
    pub fn pid(&self) -> Option<u32> {
        self.process.as_ref().map(Child::id)
    }

    fn log_path(&self) -> PathBuf {
        self.options.root.join("daemon.log")
    }

    fn log_tail(&self) -> String {
        let log = self.log();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(LOG_TAIL_LINES)..].join("\n")
    }

    fn late(&self, what: &str, timeout: Duration, last: &str) -> HarnessError {
        HarnessError::Late {
            what: what.to_owned(),
            seconds: timeout.as_secs(),
            last: format!("{last}\n{}", self.log_tail()),
        }
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        drop(self.kill());
        // The daemon makes its root folder a mount where `/` is private, and leaves it so.
        let _ = unmount(&self.options.root, UnmountFlags::DETACH);
        crate::cgroups::remove(&self.options.endpoint);
    }
}

/// Name and status of a pod, for people.
fn summary(pod: &Value) -> String {
    format!("{} {}", pod["metadata"]["name"], pod["status"])
}

#[cfg(test)]
mod tests;
