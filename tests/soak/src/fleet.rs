//! Many agents share one plugin file. A file that isn't one is pushed, a component is copied by half, a feature of tomorrow is
//! asked for, and agents reboot in the middle: no agent ends, no system pod waits, and what served goes on serving.
//!
//! The file's handler names no pods, and in the end it rejects every one that it is asked about. So what runs then are system pods, for no
//! other reason than that entries don't match those.
//!
//! `WITLET_OLDER_PROGRAM` (`make soak OLDER=…`) names the `witlet` of an earlier release: then every second agent runs it, and half of these are upgraded in the
//! middle, by a reboot while a bad file is there. The others go on with it to the end.

use std::fs;
use std::path::{Path, PathBuf};

use libtest_mimic::Failed;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use witlet_fake_cri::FakeCri;
use witlet_harness::fake_node::{POLL_INTERVAL, failed, pod, variant};
use witlet_harness::usage::{Usage, cpu_seconds};
use witlet_harness::{Daemon, DaemonOptions, HarnessError, WAIT_TIMEOUT, program};
use witlet_server::LocalClient;

/// Agents of the short form, and of the rehearsal.
const AGENTS_SHORT: usize = 4;
const AGENTS: usize = 200;
/// One of so many reboots.
const REBOOT_STEP: usize = 4;
/// One of so many begins with the older program, where there is one: those that reboot, and as many that don't.
const OLDER_STEP: usize = 2;
/// The bad file during which those that reboot are upgraded: before it, and after it, both programs start with such files.
const UPGRADED_AT: usize = 2;
/// Names the program of an earlier release.
const OLDER_VARIABLE: &str = "WITLET_OLDER_PROGRAM";
/// Agents that start at the same time.
const STARTS_AT_ONCE: usize = 8;
/// System pods from the start on: of the namespace `kube-system`, and of a priority class of the system.
const SYSTEM: [&str; 2] = ["system", "critical"];
const CRITICAL: &str = "system-node-critical";

/// One agent on a runtime of its own.
struct Agent {
    daemon: Daemon,
    cri: FakeCri,
    stop: CancellationToken,
    folder: PathBuf,
}

/// What an agent shows.
struct NodeView {
    pods: Vec<Value>,
    plugins: Vec<Value>,
    events: Vec<Value>,
}

impl NodeView {
    fn pod(&self, name: &str) -> Option<&Value> {
        // A static pod's name ends with its node's.
        let beginning = format!("{name}-node");
        self.pods
            .iter()
            .find(|pod| pod["metadata"]["name"].as_str().is_some_and(|full| full.starts_with(&beginning)))
    }

    fn runs(&self, name: &str) -> bool {
        self.pod(name).is_some_and(|pod| pod["status"]["phase"] == "Running")
    }

    fn all_run(&self, names: &[&str]) -> bool {
        names.iter().all(|name| self.runs(name))
    }

    /// Whether the handler has rejected the pod, by the second version of its configuration.
    fn rejected(&self, name: &str) -> bool {
        self.pod(name).is_some_and(|pod| pod["status"]["reason"] == "Version1")
    }

    fn judge(&self) -> &Value {
        self.plugins.iter().find(|plugin| plugin["name"] == "judge").unwrap_or(&Value::Null)
    }

    /// Whether the handler works with this version of its configuration, be it by the copy that was kept.
    fn judged_by(&self, digest: &str) -> bool {
        let judge = self.judge();
        judge["state"] == "Ready" && judge["digest"].as_str().is_some_and(|named| named.contains(digest))
    }

    /// Whether an event has these words.
    fn says(&self, words: &str) -> bool {
        self.events
            .iter()
            .any(|event| event["message"].as_str().is_some_and(|message| message.contains(words)))
    }

    fn container(&self, name: &str) -> Option<&str> {
        self.pod(name)?["status"]["containerStatuses"][0]["containerID"].as_str()
    }
}

impl Agent {
    fn start(
        folder: PathBuf,
        number: usize,
        plugins: &Path,
        program: PathBuf,
        servers: &mut JoinSet<()>,
    ) -> Result<Self, Failed> {
        fs::create_dir_all(&folder)?;
        let (cri, stop) = serve(&folder, servers);
        let endpoint = format!("unix://{}", folder.join("cri.sock").display());
        let mut options = DaemonOptions::below(&folder, program, endpoint);
        options.plugins = Some(plugins.to_owned());
        options.node_name = format!("node{number}");
        let daemon = Daemon::start(options).map_err(|error| failed(&error))?;
        let agent = Self { daemon, cri, stop, folder };
        agent.put("system", "kube-system")?;
        agent.put_critical("critical")?;
        agent.put("plain", "default")?;
        Ok(agent)
    }

    fn put(&self, name: &str, namespace: &str) -> Result<(), Failed> {
        self.write(name, &pod(namespace, name))
    }

    fn put_critical(&self, name: &str) -> Result<(), Failed> {
        let mut pod = pod("default", name);
        pod["spec"]["priorityClassName"] = json!(CRITICAL);
        self.write(name, &pod)
    }

    fn write(&self, name: &str, pod: &Value) -> Result<(), Failed> {
        self.daemon.write_manifest(&format!("{name}.json"), &pod.to_string()).map_err(|error| failed(&error))
    }

    /// A kill of the agent and of its runtime with all its pods.
    fn reboot(&mut self, servers: &mut JoinSet<()>) -> Result<(), Failed> {
        self.daemon.kill().map_err(|error| failed(&error))?;
        self.stop.cancel();
        fs::remove_file(self.folder.join("cri.sock"))?;
        (self.cri, self.stop) = serve(&self.folder, servers);
        self.daemon.launch().map_err(|error| failed(&error))
    }

    async fn items(&self, path: &str) -> Option<Vec<Value>> {
        let mut answer: Value = LocalClient::new(&self.daemon.api_socket()).get(path).await.ok()?;
        serde_json::from_value(answer["items"].take()).ok()
    }

    async fn view(&self) -> Option<NodeView> {
        Some(NodeView {
            pods: self.items("/pods").await?,
            plugins: self.items("/plugins").await?,
            events: self.items("/events").await?,
        })
    }

    /// Waits until it is as expected. That its process ended is a failure at once.
    async fn until(&mut self, what: &str, expected: impl Fn(&NodeView) -> bool) -> Result<NodeView, Failed> {
        let begun = Instant::now();
        loop {
            let view = self.view().await;
            if let Some(view) = view.filter(|view| expected(view)) {
                return Ok(view);
            }
            if !self.daemon.is_running().map_err(|error| failed(&error))? {
                return Err(Failed::from(format!("{what}: the agent ended\n{}", self.daemon.log())));
            }
            if begun.elapsed() >= WAIT_TIMEOUT {
                let problem = HarnessError::Late {
                    what: format!("{what} on {}", self.folder.display()),
                    seconds: WAIT_TIMEOUT.as_secs(),
                    last: self.daemon.log(),
                };
                return Err(failed(&problem));
            }
            sleep(POLL_INTERVAL).await;
        }
    }
}

/// Serves a runtime without pods.
fn serve(folder: &Path, servers: &mut JoinSet<()>) -> (FakeCri, CancellationToken) {
    let (cri, stop) = (FakeCri::default(), CancellationToken::new());
    let (served, socket, until) = (cri.clone(), folder.join("cri.sock"), stop.clone());
    servers.spawn(async move { drop(served.serve(&socket, until).await) });
    (cri, stop)
}

/// What no agent can take.
struct Push {
    what: &'static str,
    text: String,
    /// Words of the event that reports it.
    words: &'static str,
}

/// The programs of the fleet.
struct Programs {
    newest: PathBuf,
    /// Of an earlier release, if one is named.
    older: Option<PathBuf>,
}

impl Programs {
    fn of_environment() -> Result<Self, Failed> {
        let newest = program::witlet().map_err(|error| failed(&error))?;
        let older = std::env::var_os(OLDER_VARIABLE).map(PathBuf::from);
        match &older {
            Some(older) if !older.is_file() => {
                return Err(Failed::from(format!("{OLDER_VARIABLE}: {} isn't there", older.display())));
            }
            Some(older) => eprintln!("every second agent begins with {}", older.display()),
            None => eprintln!(
                "NOT SHOWN: a fleet whose upgrade is half-way, for {OLDER_VARIABLE} names no `witlet` of an earlier release \
                 (`make soak OLDER=path/to/witlet`)"
            ),
        }
        Ok(Self { newest, older })
    }

    /// What this agent begins with.
    fn first(&self, number: usize) -> &Path {
        let older = self.older.as_deref().filter(|_| number.is_multiple_of(OLDER_STEP));
        older.unwrap_or(&self.newest)
    }
}

/// The fleet and the folder that it shares.
struct Fleet {
    programs: Programs,
    agents: Vec<Agent>,
    shared: tempfile::TempDir,
    servers: JoinSet<()>,
}

/// Plays the rehearsal, in its short form with a few agents.
pub(crate) async fn play(all: bool) -> Result<(), Failed> {
    let count = if all { AGENTS } else { AGENTS_SHORT };
    let mut fleet = Fleet::start(count).await?;
    let outcome = fleet.rehearse().await;
    let ended = fleet.end().await;
    outcome.and(ended)
}

impl Fleet {
    async fn start(count: usize) -> Result<Self, Failed> {
        // Short: socket paths have at most 107 bytes.
        let shared = tempfile::Builder::new().prefix("wtf").tempdir_in("/tmp")?;
        fs::write(shared.path().join("judge-0.wasm"), variant(witlet_test_guests::WITNESS, 0))?;
        let programs = Programs::of_environment()?;
        let mut fleet = Self { programs, agents: Vec::new(), shared, servers: JoinSet::new() };
        fleet.push(&rules("./judge-0.wasm", false))?;
        let begun = Instant::now();
        for number in 0..count {
            let folder = fleet.shared.path().join(format!("n{number}"));
            let plugins = fleet.shared.path().join("plugins.yaml");
            let program = fleet.programs.first(number).to_owned();
            fleet.agents.push(Agent::start(folder, number, &plugins, program, &mut fleet.servers)?);
            // The machine has few processors: more at once only wait for one another.
            if let Some(earlier) = fleet.agents.len().checked_sub(STARTS_AT_ONCE) {
                fleet.agents[earlier].until("its first pods run", |view| view.runs("plain")).await?;
            }
        }
        let runs = |view: &NodeView| view.all_run(&SYSTEM) && view.runs("plain");
        fleet.everywhere("system and plain pods run", runs).await?;
        eprintln!("{count} agents run all pods after {:.1} s", begun.elapsed().as_secs_f64());
        Ok(fleet)
    }

    /// Writes the shared file in one step.
    fn push(&self, text: &str) -> Result<(), Failed> {
        let (next, place) = (self.shared.path().join("plugins.new"), self.shared.path().join("plugins.yaml"));
        fs::write(&next, text)?;
        fs::rename(next, place)?;
        Ok(())
    }

    async fn everywhere(
        &mut self,
        what: &str,
        expected: impl Fn(&NodeView) -> bool,
    ) -> Result<Vec<NodeView>, Failed> {
        let mut views = Vec::with_capacity(self.agents.len());
        for agent in &mut self.agents {
            views.push(agent.until(what, &expected).await?);
        }
        Ok(views)
    }

    async fn rehearse(&mut self) -> Result<(), Failed> {
        let first = self.everywhere("the handler judges", |view| view.judge()["state"] == "Ready").await?;
        let digest = first[0].judge()["digest"].as_str().unwrap_or_default().to_owned();
        fs::write(self.shared.path().join("judge-1.wasm"), half(&variant(witlet_test_guests::WITNESS, 1)))?;
        let good = rules("./judge-0.wasm", false);
        let tomorrow = good.replace("\"admission\"", "\"requires\":[\"of-tomorrow\"],\"admission\"");
        let pushes = [
            Push {
                what: "an unknown field",
                text: good.replace("\"admission\"", "\"admision\""),
                words: "admision",
            },
            Push { what: "half a line", text: "plugins: [{\"name".to_owned(), words: "plugins.yaml" },
            Push {
                what: "a component copied by half",
                text: rules("./judge-1.wasm", true),
                words: "unexpected end-of-file",
            },
            Push { what: "a feature of tomorrow", text: tomorrow, words: "of-tomorrow" },
        ];
        for (number, push) in pushes.iter().enumerate() {
            self.pushed_badly(push, number, &digest).await?;
        }
        self.taken().await
    }

    /// Pushes what no agent can take, while some reboot. All say what is wrong with it, and new pods of both kinds run by the rules that were.
    async fn pushed_badly(&mut self, push: &Push, number: usize, digest: &str) -> Result<(), Failed> {
        let Push { what, text, words } = push;
        let (system, plain) = (format!("system-{number}"), format!("plain-{number}"));
        let before = self.everywhere("it answers", |_| true).await?;
        let begun = Instant::now();
        self.push(text)?;
        for agent in self.agents.iter_mut().step_by(REBOOT_STEP) {
            if number == UPGRADED_AT {
                agent.daemon.upgrade(self.programs.newest.clone());
            }
            agent.reboot(&mut self.servers)?;
        }
        self.everywhere(&format!("{what} is reported"), |view| view.says(words)).await?;
        let reported = begun.elapsed();
        for agent in &self.agents {
            agent.put(&system, "kube-system")?;
            agent.put(&plain, "default")?;
        }
        let placed = Instant::now();
        self.everywhere("system pods run", |view| view.all_run(&[&system])).await?;
        let system_pods = placed.elapsed();
        let by_old_rules = |view: &NodeView| {
            view.judged_by(digest) && view.all_run(&SYSTEM) && view.all_run(&["plain", &system, &plain])
        };
        let after = self.everywhere(what, by_old_rules).await?;
        for (at, (was, is)) in before.iter().zip(&after).enumerate() {
            if at % REBOOT_STEP != 0 && was.container("plain") != is.container("plain") {
                return Err(Failed::from(format!("{what}: node{at}'s pods were touched")));
            }
        }
        eprintln!(
            "{what}: {} reboots; reported everywhere after {:.1} s; new system pods run everywhere {:.1} s after their manifests, all \
             pods by the old rules {:.1} s after the bad file",
            self.agents.len().div_ceil(REBOOT_STEP),
            reported.as_secs_f64(),
            system_pods.as_secs_f64(),
            begun.elapsed().as_secs_f64(),
        );
        Ok(())
    }

    /// A good file is taken everywhere. It rejects new pods, and no system pod, be it new or started again after a reboot.
    async fn taken(&mut self) -> Result<(), Failed> {
        fs::write(self.shared.path().join("judge-1.wasm"), variant(witlet_test_guests::WITNESS, 1))?;
        fs::write(self.shared.path().join("judge-2.wasm"), variant(witlet_test_guests::WITNESS, 2))?;
        let begun = Instant::now();
        self.push(&rules("./judge-2.wasm", true))?;
        let taken = |view: &NodeView| {
            let judge = view.judge();
            judge["state"] == "Ready"
                && judge["pending"].is_null()
                && judge["component"].as_str().is_some_and(|named| named.ends_with("judge-2.wasm"))
        };
        self.everywhere("the good file is taken", taken).await?;
        eprintln!("a good file is taken everywhere after {:.1} s", begun.elapsed().as_secs_f64());
        for agent in &self.agents {
            agent.put("system-z", "kube-system")?;
            agent.put_critical("critical-z")?;
            agent.put("plain-z", "default")?;
        }
        let new = ["system-z", "critical-z"];
        let judged = |view: &NodeView| view.all_run(&new) && view.rejected("plain-z");
        self.everywhere("the good file judges", judged).await?;
        let begun = Instant::now();
        for agent in self.agents.iter_mut().step_by(REBOOT_STEP) {
            agent.reboot(&mut self.servers)?;
        }
        let judged_again = |view: &NodeView| judged(view) && view.all_run(&SYSTEM);
        for agent in self.agents.iter_mut().step_by(REBOOT_STEP) {
            let rejects = |view: &NodeView| judged_again(view) && view.rejected("plain");
            agent.until("after a reboot only system pods run", rejects).await?;
        }
        self.everywhere("system pods run", judged_again).await?;
        eprintln!(
            "under a handler that rejects all that it is asked about, system pods run again {:.1} s after a reboot",
            begun.elapsed().as_secs_f64()
        );
        self.figures()
    }

    fn figures(&self) -> Result<(), Failed> {
        let (mut seconds, mut memory) = (0.0, Vec::new());
        for agent in &self.agents {
            let process = agent.daemon.pid().ok_or("the agent runs")?;
            seconds += cpu_seconds(process)?;
            memory.push(Usage::of(process)?.memory_kib / 1024);
        }
        memory.sort_unstable();
        let (median, most) = (memory[memory.len() / 2], memory[memory.len() - 1]);
        eprintln!(
            "{} agents: none ended; {seconds:.0} s of processor time since their last start; {median} MiB of memory in the middle, \
             {most} at most",
            self.agents.len()
        );
        Ok(())
    }

    async fn end(self) -> Result<(), Failed> {
        let Self { agents, mut servers, .. } = self;
        let mut ended = Ok(());
        for mut agent in agents {
            ended = ended.and(agent.daemon.stop().await.map_err(|error| failed(&error)));
            agent.stop.cancel();
        }
        while servers.join_next().await.is_some() {}
        ended
    }
}

/// A file whose handler rejects all pods that it is asked about, or none. It names none, and leaves none out.
fn rules(component: &str, rejects: bool) -> String {
    json!({
        "apiVersion": "witlet.dev/v1alpha1", "kind": "PluginConfiguration",
        "plugins": [{
            "name": "judge", "component": component, "config": {"version": u8::from(rejects), "rejects": rejects},
            "limits": {"timeout": "10s"}, "admission": {},
        }],
    })
    .to_string()
}

fn half(component: &[u8]) -> &[u8] {
    &component[..component.len() / 2]
}
