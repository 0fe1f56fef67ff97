//! containerd as a process of the test's own.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use tempfile::TempDir;
use tokio::time::Instant;
use witlet_contracts::{Commands, Environment, Offers, Processes, Workload};
use witlet_ports::{Clock, Runtime};

use crate::WAIT_TIMEOUT;
use crate::image::{ABSENT_IMAGE, BUSYBOX_IMAGE, PAUSE_IMAGE, write_archive};
use crate::network::{self, NetworkNamespace};
use crate::registry::Registry;
use crate::release::Release;
use crate::shell::{HarnessError, io, run, system_path};
use crate::{config, sweep};

/// How often something is checked that is waited for.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// How long a server in a pod may take to accept, and between two bytes.
const HTTP_TIMEOUT: Duration = Duration::from_secs(5);

/// Longest answer of a server in a pod.
const HTTP_BYTES_MAX: u64 = 1024 * 1024;

/// How much of its log is shown when it failed, in lines.
const LOG_TAIL_LINES: usize = 20;

/// The machine's clock, for clients under test.
#[derive(Debug)]
pub struct TestClock;

impl Clock for TestClock {
    #[allow(clippy::disallowed_methods, reason = "the one place where tests on real runtimes take the time")]
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}

/// A running containerd with its pods. [`Containerd::stop`] ends it in good order; dropping it ends it by force.
#[derive(Debug)]
pub struct Containerd {
    process: Option<Child>,
    /// Dropped after the process: fields are dropped in their order.
    network: NetworkNamespace,
    folder: TempDir,
    release: Release,
}

impl Containerd {
    /// Starts one in a folder and a network of its own, with [`BUSYBOX_IMAGE`] and [`PAUSE_IMAGE`]. Ask
    /// [`crate::skip_reason`] first.
    pub async fn start() -> Result<Self, HarnessError> {
        Self::start_on(None).await
    }

    /// The same with all of its images and writable layers on a disk of this size, in MiB.
    pub async fn start_on_disk_of(mebi: u64) -> Result<Self, HarnessError> {
        Self::start_on(Some(mebi)).await
    }

    async fn start_on(disk: Option<u64>) -> Result<Self, HarnessError> {
        let release = Release::installed()?;
        // Short: socket paths have at most 107 bytes.
        let folder = tempfile::Builder::new().prefix("wctd").tempdir_in("/tmp");
        let folder = folder.map_err(io("make a folder"))?;
        let name = folder.path().file_name().map(|name| name.to_string_lossy().into_owned());
        let network = NetworkNamespace::create(name.unwrap_or_else(|| "wctd".to_owned()))?;
        let mut containerd = Self { process: None, network, folder, release };
        let at = |name: &str| containerd.folder.path().join(name);
        // An empty folder of registries: those on the loopback are asked in the clear, and there are no others.
        for name in ["cni", "logs", "work", "registries"] {
            fs::create_dir_all(at(name)).map_err(io(format!("make {name}")))?;
        }
        if let Some(mebi) = disk {
            let root = containerd.image_disk();
            fs::create_dir_all(&root).map_err(io("make containerd's folder"))?;
            let size = format!("size={mebi}m");
            run("mount", &["-t", "tmpfs", "-o", &size, "tmpfs", &*root.to_string_lossy()])?;
        }
        let snapshotter = match disk {
            Some(_) => snapshotter(&containerd.image_disk()),
            None => snapshotter(&at("work")),
        };
        let text =
            config::containerd(containerd.folder.path(), snapshotter, release, config::asks_for_systemd());
        fs::write(at("config.toml"), text).map_err(io("write config.toml"))?;
        let text = config::network(containerd.folder.path());
        fs::write(at("cni/10-witlet.conflist"), text).map_err(io("write the network's configuration"))?;
        let archive = write_archive(&at("work"))?;
        containerd.launch().await?;
        containerd.ctr(&["images", "import", "--snapshotter", snapshotter, &*archive.to_string_lossy()])?;
        containerd.wait_for_images().await?;
        Ok(containerd)
    }

    /// What `--container-runtime-endpoint` takes.
    pub fn endpoint(&self) -> String {
        format!("unix://{}", self.socket().display())
    }

    /// A folder for the logs of pods.
    pub fn log_root(&self) -> PathBuf {
        self.folder.path().join("logs")
    }

    /// The folder that its images and writable layers are in.
    pub fn image_disk(&self) -> PathBuf {
        self.folder.path().join("root")
    }

    /// Runs `ctr` on what the kubelet's side sees.
    fn ctr(&self, arguments: &[&str]) -> Result<String, HarnessError> {
        let socket = self.socket();
        let socket = socket.to_string_lossy();
        let all: Vec<&str> = ["-a", &*socket, "-n", "k8s.io"].iter().chain(arguments).copied().collect();
        run("ctr", &all)
    }

    /// Sets a label of an image, as `<name>=<value>`; without a value it is removed.
    pub fn label_image(&self, image: &str, label: &str) -> Result<(), HarnessError> {
        self.ctr(&["images", "label", image, label]).map(drop)
    }

    /// Whether its sandbox image is one that may never be removed.
    pub fn pins_its_sandbox_image(&self) -> bool {
        self.release >= config::FIRST_WITH_FEATURES
    }

    /// The network namespace that containerd, its bridge and pods on the host's network are in: for
    /// `nsenter --net=`. Pods can be reached from there and from nowhere else.
    pub fn network_namespace(&self) -> PathBuf {
        self.network.path()
    }

    /// What a daemon on it must be configured with, because it doesn't say so itself.
    pub fn daemon_arguments(&self) -> Vec<String> {
        match config::asks_for_systemd() && self.release < config::FIRST_WITH_FEATURES {
            true => vec!["--cgroup-driver=systemd".to_owned()],
            false => Vec::new(),
        }
    }

    /// The folder that everything of it is in.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// A program of the system to be run in the network namespace.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net={}", self.network_namespace().display())).arg(program);
        command.env("PATH", system_path()).stdin(Stdio::null());
        command
    }

    /// What pods leave on the machine if they aren't cleaned up after: mounts (network namespaces among them), addresses
    /// that are taken, network links, and shims under which something runs. Some of it is there without any pod: compare with before.
    pub fn remains(&self) -> Result<BTreeSet<String>, HarnessError> {
        let folder = self.folder.path();
        let mut links = self.in_network(network::links)?.map_err(io("list network links"))?;
        links.retain(|link| link != config::BRIDGE);
        let addresses = network::addresses(&folder.join("addresses")).map_err(io("list addresses"))?;
        let named = |what: &'static str, names: Vec<String>| {
            names.into_iter().map(move |name| format!("{what} {name}"))
        };
        // That of the daemon's root folder isn't any pod's (`DaemonOptions::below`).
        let root = folder.join("agent");
        let mounts = sweep::mount_points(folder).into_iter().filter(|path| *path != root);
        let mounts = mounts.map(|path| path.display().to_string());
        Ok(named("mount", mounts.collect())
            .chain(named("address", addresses))
            .chain(named("network link", links))
            .chain(named("shim", sweep::busy_shims_of(&self.socket())))
            .collect())
    }

    /// Runs this on a thread of its own where the pods can be reached.
    pub fn in_network<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, HarnessError> {
        let namespace = File::open(self.network_namespace()).map_err(io("open the network namespace"))?;
        let enter = move || {
            // Only this thread moves, and it ends below.
            move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))
                .map_err(|errno| io("enter the network namespace")(errno.into()))?;
            Ok(work())
        };
        std::thread::scope(|scope| match scope.spawn(enter).join() {
            Ok(done) => done,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    }

    /// What an HTTP server in a pod answers to `GET <path>`: the head and the body, as they came.
    pub fn http_get(&self, address: SocketAddr, path: &str) -> Result<String, HarnessError> {
        let request = format!("GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n");
        let answer = self.in_network(|| {
            let mut stream = TcpStream::connect_timeout(&address, HTTP_TIMEOUT)?;
            stream.set_read_timeout(Some(HTTP_TIMEOUT))?;
            stream.write_all(request.as_bytes())?;
            let mut answer = String::new();
            stream.take(HTTP_BYTES_MAX).read_to_string(&mut answer)?;
            Ok(answer)
        })?;
        answer.map_err(io(format!("GET http://{address}{path}")))
    }

    /// A client of it.
    pub fn runtime(&self) -> Result<Runtime, HarnessError> {
        witlet_cri::connect(&self.endpoint(), Arc::new(TestClock))
            .map_err(|error| HarnessError::Answer(error.to_string()))
    }

    /// What it offers to the contract suite, together with a registry if there is one.
    pub fn environment(&self, registry: Option<&Registry>) -> Environment {
        Environment {
            log_root: self.log_root(),
            sleeper: shell("trap 'exit 0' TERM; while :; do sleep 0.1; done"),
            processes: Some(Processes {
                exits_with: Arc::new(|code| shell(&format!("exit {code}"))),
                ignores_stop: shell("trap '' TERM; sleep 600"),
                writes: Some(shell("echo to stdout; echo to stderr >&2; printf 'no end'")),
            }),
            pullable_image: registry.map(Registry::open_image),
            absent_image: ABSENT_IMAGE.to_owned(),
            offers: Offers {
                commands: Some(Commands {
                    commands_in: shell("trap 'exit 0' TERM; while :; do sleep 0.1; done"),
                    writes: script("echo to stdout; echo to stderr >&2"),
                    fails: (script("exit 3"), 3),
                    never_ends: script("sleep 600"),
                }),
                writes_to: Some(Arc::new(|path| shell(&format!("echo something >> {path}")))),
                writes_on: Some(shell("while :; do echo tick; sleep 0.2; done")),
                changes_limits: true,
                // cgroup v2, or v1.
                prints_memory_limit: Some(script(
                    "cat /sys/fs/cgroup/memory.max || cat /sys/fs/cgroup/memory/memory.limit_in_bytes",
                )),
                tells_events: self.release >= config::FIRST_WITH_EVENTS,
                registry: registry.map(|registry| witlet_contracts::Registry {
                    private_image: registry.private_image(),
                    auth: registry.auth(),
                    absent_image: registry.absent_image(),
                }),
                removable_image: registry.map(Registry::removable_image),
            },
            addresses: true,
            timeout: WAIT_TIMEOUT,
        }
    }

    /// Ends containerd without its containers, as an upgrade does, and doesn't start it again.
    pub async fn terminate(&mut self) -> Result<(), HarnessError> {
        let Some(mut process) = self.process.take() else { return Ok(()) };
        let pid = i32::try_from(process.id()).ok().and_then(Pid::from_raw);
        if let Some(pid) = pid {
            kill_process(pid, Signal::TERM).map_err(|errno| io("end containerd")(errno.into()))?;
        }
        let deadline = Instant::now() + WAIT_TIMEOUT;
        while process.try_wait().map_err(io("wait for containerd"))?.is_none() {
            if Instant::now() >= deadline {
                process.kill().map_err(io("kill containerd"))?;
                process.wait().map_err(io("wait for containerd"))?;
                return Err(self.late("containerd's end".to_owned(), String::new()));
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        Ok(())
    }

    /// Kills containerd as `kill -9` does, and doesn't start it again; its containers run on.
    pub fn kill(&mut self) -> Result<(), HarnessError> {
        if let Some(mut process) = self.process.take() {
            process.kill().map_err(io("kill containerd"))?;
            process.wait().map_err(io("wait for containerd"))?;
        }
        Ok(())
    }

    /// Whether it was started and not ended since.
    pub fn is_running(&self) -> bool {
        self.process.is_some()
    }

    /// Starts containerd, after [`Containerd::terminate`] or [`Containerd::kill`], on the same socket and folders.
    pub async fn launch(&mut self) -> Result<(), HarnessError> {
        let log = OpenOptions::new().create(true).append(true).open(self.log());
        let log: File = log.map_err(io("open containerd's log"))?;
        let mut command = self.command("containerd");
        command
            .arg("--config")
            .arg(self.folder.path().join("config.toml"))
            .stdout(log.try_clone().map_err(io("share containerd's log"))?)
            .stderr(log);
        self.process = Some(command.spawn().map_err(io("start containerd"))?);
        let runtime = self.runtime()?;
        let deadline = Instant::now() + WAIT_TIMEOUT;
        loop {
            let last = match runtime.info.status().await {
                Ok(status) => match status.failing("RuntimeReady").or(status.failing("NetworkReady")) {
                    None => return Ok(()),
                    Some(failing) => failing,
                },
                Err(error) => error.to_string(),
            };
            let ended = match &mut self.process {
                Some(process) => process.try_wait().map_err(io("check containerd"))?,
                None => None,
            };
            if ended.is_some() || Instant::now() >= deadline {
                return Err(self.late("containerd's start".to_owned(), last));
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Ends containerd and starts it again; its containers run on.
    pub async fn restart(&mut self) -> Result<(), HarnessError> {
        self.terminate().await?;
        self.launch().await
    }

    /// Removes all pods, ends containerd, and fails if something of them runs on.
    pub async fn stop(mut self) -> Result<(), HarnessError> {
        let runtime = self.runtime()?;
        let answer = |error: witlet_ports::RuntimeError| HarnessError::Answer(error.to_string());
        let pods = runtime.view.list_pods().await.map_err(answer)?;
        for sandbox in pods.iter().flat_map(|pod| &pod.sandboxes) {
            runtime.sandboxes.stop(&sandbox.id).await.map_err(answer)?;
            runtime.sandboxes.remove(&sandbox.id).await.map_err(answer)?;
        }
        self.terminate().await?;
        let deadline = Instant::now() + WAIT_TIMEOUT;
        while !sweep::busy_shims_of(&self.socket()).is_empty() {
            if Instant::now() >= deadline {
                return Err(self.late("the end of all that shims run".to_owned(), String::new()));
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        Ok(())
    }

    /// The CRI part learns of imported images by an event.
    async fn wait_for_images(&self) -> Result<(), HarnessError> {
        let runtime = self.runtime()?;
        let deadline = Instant::now() + WAIT_TIMEOUT;
        for image in [BUSYBOX_IMAGE, PAUSE_IMAGE] {
            loop {
                let last = match runtime.images.status(image).await {
                    Ok(Some(_)) => break,
                    Ok(None) => "it isn't there".to_owned(),
                    Err(error) => error.to_string(),
                };
                if Instant::now() >= deadline {
                    return Err(self.late(format!("the import of {image}"), last));
                }
                tokio::time::sleep(POLL_INTERVAL).await;
            }
        }
        Ok(())
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("containerd.sock")
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("containerd.log")
    }

    fn late(&self, what: String, last: String) -> HarnessError {
        let log = fs::read_to_string(self.log()).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        let tail = lines[lines.len().saturating_sub(LOG_TAIL_LINES)..].join("\n");
        HarnessError::Late { what, seconds: WAIT_TIMEOUT.as_secs(), last: format!("{last}\n{tail}") }
    }
}

impl Drop for Containerd {
    fn drop(&mut self) {
        if let Some(mut process) = self.process.take() {
            drop(process.kill());
            drop(process.wait());
        }
        sweep::shims(&self.socket());
        sweep::shim_sockets(self.folder.path());
        sweep::mounts(self.folder.path());
        crate::cgroups::remove(&self.endpoint());
    }
}

/// A busybox shell that runs a script.
fn shell(script: &str) -> Workload {
    Workload {
        image: BUSYBOX_IMAGE.to_owned(),
        command: vec!["/bin/sh".to_owned(), "-c".to_owned()],
        args: vec![script.to_owned()],
    }
}

/// A command that runs a script.
fn script(script: &str) -> Vec<String> {
    ["/bin/sh", "-c", script].map(str::to_owned).to_vec()
}

/// overlayfs where the file system below allows it, else plain copies.
fn snapshotter(work: &Path) -> &'static str {
    let [lower, upper, scratch, merged] = ["lower", "upper", "scratch", "merged"].map(|name| work.join(name));
    for folder in [&lower, &upper, &scratch, &merged] {
        if fs::create_dir_all(folder).is_err() {
            return "native";
        }
    }
    let options =
        format!("lowerdir={},upperdir={},workdir={}", lower.display(), upper.display(), scratch.display());
    let target = merged.to_string_lossy();
    if run("mount", &["-t", "overlay", "overlay", "-o", &options, &target]).is_err() {
        return "native";
    }
    drop(run("umount", &[&*target]));
    "overlayfs"
}
