//! What is done to the world, in which order, and what is then asked of it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::Duration;
use witlet_harness::WAIT_TIMEOUT;

use libtest_mimic::Failed;
use tokio::time::{Instant, sleep};
use witlet_loss_checks::{Character, ExpectedPod, Kind, Loss, Random, Shape, Touch, count, doubles, ids};

use crate::figures::Figures;
use crate::workload_pattern::{Action, WorkloadPattern};
use crate::world::{Swapped, World, failed};

/// The longest pause between two actions.
const PAUSE_MAX: Duration = Duration::from_millis(900);

/// The most actions that the daemon or containerd stays away for.
const AWAY_MAX: usize = 3;

/// Random pods that there are from the beginning, in addition to the others.
const RANDOM_AT_FIRST: usize = 4;

/// How often the daemon is killed while many pods come or go, in a hundred of them.
const KILL_PERCENT: usize = 4;

/// How long nothing may be lost before it counts as settled: more than a round of the clean-up and a relist.
const QUIET: Duration = Duration::from_millis(3500);

/// How often is checked while it settles.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// What is lost when nothing is known of any pod.
const THE_NODE: &str = "the node";

/// A world that is hit.
pub(crate) struct Chaos {
    pub(crate) world: World,
    pattern: WorkloadPattern,
    random: Random,
    expected: BTreeMap<String, ExpectedPod>,
    /// Pods that were removed, to come back.
    removed: Vec<ExpectedPod>,
    named: usize,
    daemon_away: Option<usize>,
    runtime_away: Option<usize>,
    plugin_file_broken: bool,
    /// Whether the daemon, and what dies with it, may be killed.
    pub(crate) kills: bool,
    pub(crate) figures: Figures,
    /// What was done since all had settled.
    story: Vec<String>,
    /// What was done in the round before.
    story_before: Vec<String>,
}

impl Chaos {
    pub(crate) fn new(world: World, pattern: WorkloadPattern, seed: u64) -> Self {
        Self {
            world,
            pattern,
            random: Random::new(seed),
            expected: BTreeMap::new(),
            removed: Vec::new(),
            named: 0,
            daemon_away: None,
            runtime_away: None,
            plugin_file_broken: false,
            kills: true,
            figures: Figures::default(),
            story: Vec::new(),
            story_before: Vec::new(),
        }
    }

    /// One pod of each character, and some that are random.
    pub(crate) fn populate(&mut self) -> Result<(), Failed> {
        Character::ALL.into_iter().try_for_each(|character| self.add_one(character))?;
        let random = if self.pattern.varied > 0 { RANDOM_AT_FIRST } else { 0 };
        (0..random).try_for_each(|_| {
            let shape = Shape::random(&mut self.random, self.pattern.sturdy);
            self.add_one(Character::Varied(shape))
        })
    }

    /// As many pods as there may be, while the daemon is killed now and then.
    pub(crate) async fn stress(&mut self) -> Result<(), Failed> {
        while self.expected.len() < self.pattern.pods_max {
            let character = self.character();
            self.add_one(character)?;
            self.perhaps_kill_daemon().await?;
        }
        Ok(())
    }

    /// All pods go, while the daemon is killed now and then.
    pub(crate) async fn scatter(&mut self) -> Result<(), Failed> {
        for name in self.names(|_| true) {
            self.remove(&name)?;
            self.perhaps_kill_daemon().await?;
        }
        self.settle().await
    }

    async fn perhaps_kill_daemon(&mut self) -> Result<(), Failed> {
        if self.random.chance(KILL_PERCENT) {
            self.kill_daemon().await?;
            sleep(self.pause()).await;
        }
        self.come_back().await
    }

    fn pause(&mut self) -> Duration {
        let most = usize::try_from(PAUSE_MAX.as_millis()).unwrap_or_default();
        Duration::from_millis(self.random.below(most) as u64)
    }

    fn character(&mut self) -> Character {
        if self.random.chance(self.pattern.varied) {
            return Character::Varied(Shape::random(&mut self.random, self.pattern.sturdy));
        }
        self.random.pick(&Character::ALL).copied().unwrap_or(Character::Sleeper)
    }

    /// Waits until nothing is left that wasn't there before.
    pub(crate) async fn nothing_remains(&mut self, before: &BTreeSet<String>) -> Result<(), Failed> {
        match self.world.left_since(before, self.pattern.timeout).await {
            left if left.is_empty() => Ok(()),
            left => Err(Failed::from(format!("left:\n{}\n{}", left.join("\n"), self.figures))),
        }
    }

    /// Kills the daemon and the runtime, whatever else is chosen. They come back in the round that follows.
    pub(crate) async fn strike(&mut self) -> Result<(), Failed> {
        self.story.push("both are killed".to_owned());
        // With the embedded runtime the daemon is killed as well.
        self.kill_runtime().await?;
        self.kill_daemon().await
    }

    /// Does so many things, and has it all settle.
    pub(crate) async fn round(&mut self, actions: usize) -> Result<(), Failed> {
        for _ in 0..actions {
            let action = self.choose();
            self.act(action).await?;
            self.come_back().await?;
            if self.random.chance(70) {
                sleep(self.pause()).await;
            }
            self.note_doubles().await;
        }
        self.figures.rounds += 1;
        self.settle().await
    }

    /// Takes all pods away, and has that settle.
    pub(crate) async fn drain(&mut self) -> Result<(), Failed> {
        for name in self.names(|_| true) {
            self.remove(&name)?;
        }
        self.settle().await
    }

    /// Repairs everything, and waits until nothing is lost, and stays so.
    pub(crate) async fn settle(&mut self) -> Result<(), Failed> {
        self.repair_all()?;
        (self.daemon_away, self.runtime_away) = (self.daemon_away.map(|_| 0), self.runtime_away.map(|_| 0));
        self.come_back().await?;
        let begun = Instant::now();
        let mut quiet_since: Option<Instant> = None;
        let mut is_restarted = false;
        loop {
            let now = Instant::now();
            if !is_restarted && now >= begun + WAIT_TIMEOUT {
                is_restarted = self.world.restart_stuck_containerd().await?;
                self.figures.runtime_kills += usize::from(is_restarted);
            }
            let lost = match self.world.view().await {
                Some(seen) => count(&self.expected, &seen),
                None => vec![Loss { pod: THE_NODE.to_owned(), what: "it doesn't answer".to_owned() }],
            };
            if lost.is_empty() {
                if now >= *quiet_since.get_or_insert(now) + QUIET {
                    break;
                }
            } else {
                quiet_since = None;
                if now >= begun + self.pattern.timeout {
                    return Err(self.tell(&lost));
                }
            }
            sleep(POLL_INTERVAL).await;
        }
        self.figures.slowest_settling = self.figures.slowest_settling.max(begun.elapsed());
        self.take_stock().await
    }

    /// What is there now is what has to stay.
    async fn take_stock(&mut self) -> Result<(), Failed> {
        let seen = self.world.seen(self.pattern.timeout).await?;
        for expected in self.expected.values_mut() {
            expected.touch = Touch::None;
            expected.settled = Some(ids(&expected.name, &seen));
        }
        self.story_before = std::mem::take(&mut self.story);
        self.note_pause().await;
        self.figures.daemon = self.figures.daemon.max(self.world.daemon_usage()?);
        if let Some(usage) = self.world.runtime_usage().await {
            self.figures.runtime = self.figures.runtime.max(usage);
        }
        Ok(())
    }

    /// The loop's longest pause, which ends with the daemon.
    async fn note_pause(&mut self) {
        let stats = self.world.ask("/stats").await.unwrap_or_default();
        let pause = Duration::from_secs_f64(stats["longestPauseSeconds"].as_f64().unwrap_or_default());
        self.figures.longest_pause = self.figures.longest_pause.max(pause);
    }

    async fn note_doubles(&mut self) {
        if let Some(listed) = self.world.listed().await {
            let doubles = doubles(&listed);
            self.figures.doubles_seen += usize::from(!doubles.is_empty());
            self.story.extend(doubles.iter().map(|double| format!("seen: {double}")));
        }
    }

    fn tell(&mut self, lost: &[Loss]) -> Failed {
        self.figures.lost = lost.len();
        let lines: Vec<String> = lost.iter().map(ToString::to_string).collect();
        let logs: Vec<String> = lost
            .iter()
            .take(3)
            .map(|loss| {
                let named = if loss.pod == THE_NODE { "" } else { &loss.pod };
                format!("{}:\n{}", loss.pod, self.world.log_of(named))
            })
            .collect();
        Failed::from(format!(
            "lost {} in round {}:\n{}\nwhat was done in the round before:\n{}\nwhat was done:\n{}\nthe daemon's \
             log of them:\n{}\n{}",
            lost.len(),
            self.figures.rounds,
            lines.join("\n"),
            self.story_before.join("\n"),
            self.story.join("\n"),
            logs.join("\n"),
            self.figures,
        ))
    }

    fn choose(&mut self) -> Action {
        let actions = self.pattern.actions;
        let all: usize = actions.iter().map(|(_, weight)| weight).sum();
        let mut at = self.random.below(all);
        for (action, weight) in actions {
            match at.checked_sub(*weight) {
                Some(rest) => at = rest,
                None => return *action,
            }
        }
        Action::Add
    }

    fn names(&self, which: impl Fn(&ExpectedPod) -> bool) -> Vec<String> {
        self.expected
            .values()
            .filter(|expected| which(expected))
            .map(|expected| expected.name.clone())
            .collect()
    }

    async fn act(&mut self, action: Action) -> Result<(), Failed> {
        let names = self.names(|expected| !matches!(action, Action::Resize) || expected.can_be_resized());
        let name = self.random.pick(&names).cloned();
        self.story.push(format!("{action:?}, perhaps of {name:?}"));
        match (action, name) {
            (Action::Add, _)
            | (Action::Edit | Action::Label | Action::Resize | Action::Remove | Action::Break, None) => {
                let character = self.character();
                self.add_one(character)
            }
            (Action::Resize, Some(name)) => self.resize(&name),
            (Action::Edit, Some(name)) => self.edit(&name),
            (Action::Label, Some(name)) => self.label(&name),
            (Action::Remove, Some(name)) => self.remove(&name),
            (Action::Return, _) => self.bring_back(),
            (Action::Break, Some(name)) => self.break_manifest(&name),
            (Action::Repair, _) => self.repair_all(),
            (Action::Swap, _) => {
                let plugin = self.random.pick(&Swapped::ALL).copied().unwrap_or(Swapped::Good);
                self.figures.swaps += 1;
                self.plugin_file_broken = false;
                self.world.swap(plugin)
            }
            (Action::BreakPluginFile, _) => {
                // Without an older one to go on with, the daemon doesn't start; once it answers it has one.
                if self.world.ask("/stats").await.is_none() {
                    return Ok(());
                }
                self.plugin_file_broken = true;
                self.world.break_plugin_file()
            }
            (Action::KillDaemon, _) => self.kill_daemon().await,
            (Action::KillRuntime, _) => self.kill_runtime().await,
        }
    }

    fn add_one(&mut self, character: Character) -> Result<(), Failed> {
        if self.expected.len() >= self.pattern.pods_max {
            return Ok(());
        }
        let name = format!("p{}", self.named);
        self.named += 1;
        let expected = ExpectedPod::new(name.clone(), character, self.random.chance(40));
        self.expected.insert(name.clone(), expected);
        self.figures.pods_added += 1;
        self.figures.stress = self.figures.stress.max(self.expected.len());
        self.story.push(format!("added {name}, a {character:?}"));
        let half = self.pattern.varied < 100 && self.random.chance(20);
        if half { self.break_manifest(&name) } else { self.write(&name) }
    }

    fn edit(&mut self, name: &str) -> Result<(), Failed> {
        let Some(expected) = self.expected.get_mut(name) else { return Ok(()) };
        if expected.fixed_uid && expected.character.can_be_edited() {
            expected.replace_containers();
        } else if expected.fixed_uid && matches!(expected.character, Character::Varied(_)) {
            // A container that is to be replaced, and whose replacement is cut short, has ended for good.
            return Ok(());
        } else {
            expected.touch();
        }
        // Few values, so that what a pod was before comes back.
        expected.variable = match expected.character.may_come_back() {
            true => self.random.below(3),
            false => expected.variable + 1,
        };
        self.figures.edits += 1;
        self.write(name)
    }

    /// New limits for what runs on: nothing of the pod is replaced.
    fn resize(&mut self, name: &str) -> Result<(), Failed> {
        let Some(expected) = self.expected.get_mut(name).filter(|expected| expected.can_be_resized()) else {
            return Ok(());
        };
        expected.cpu = self.random.below(3);
        self.story.push(format!("{name} gets limit {}", expected.cpu));
        self.figures.resizes += 1;
        self.write(name)
    }

    fn label(&mut self, name: &str) -> Result<(), Failed> {
        let Some(expected) = self.expected.get_mut(name) else { return Ok(()) };
        expected.label = match expected.character.may_come_back() {
            true => self.random.below(3),
            false => expected.label + 1,
        };
        if !expected.fixed_uid {
            expected.touch();
        }
        self.figures.edits += 1;
        self.write(name)
    }

    fn remove(&mut self, name: &str) -> Result<(), Failed> {
        if let Some(mut expected) = self.expected.remove(name) {
            expected.touch();
            expected.settled = None;
            if expected.character.may_come_back() {
                self.removed.push(expected);
            }
            self.figures.removals += 1;
            fs::remove_file(self.world.manifest(name))?;
        }
        Ok(())
    }

    /// The pod that was removed last is desired again.
    fn bring_back(&mut self) -> Result<(), Failed> {
        let Some(expected) = self.removed.pop().filter(|_| self.expected.len() < self.pattern.pods_max)
        else {
            return Ok(());
        };
        let name = expected.name.clone();
        self.story.push(format!("brought {name} back"));
        self.expected.insert(name.clone(), expected);
        self.write(&name)
    }

    /// Leaves half of the manifest, as an editor or a copy in progress does. What runs goes on.
    fn break_manifest(&mut self, name: &str) -> Result<(), Failed> {
        let Some(expected) = self.expected.get(name) else { return Ok(()) };
        let text = expected.manifest(self.world.kind, &self.world.host_folder());
        let half = 1 + self.random.below(text.len() - 1);
        self.figures.breaks += 1;
        fs::write(self.world.manifest(name), &text[..half])?;
        Ok(())
    }

    fn write(&mut self, name: &str) -> Result<(), Failed> {
        let Some(expected) = self.expected.get(name) else { return Ok(()) };
        let text = expected.manifest(self.world.kind, &self.world.host_folder());
        if self.random.chance(50) {
            fs::write(self.world.manifest(name), text)?;
            return Ok(());
        }
        self.world.daemon.write_manifest(&format!("{name}.json"), &text).map_err(|error| failed(&error))
    }

    fn repair_all(&mut self) -> Result<(), Failed> {
        for expected in self.expected.values() {
            fs::write(
                self.world.manifest(&expected.name),
                expected.manifest(self.world.kind, &self.world.host_folder()),
            )?;
        }
        self.plugin_file_broken = false;
        self.world.swap(Swapped::Good)
    }

    async fn kill_daemon(&mut self) -> Result<(), Failed> {
        if !self.kills || self.daemon_away.is_some() {
            return Ok(());
        }
        self.note_pause().await;
        self.world.daemon.kill().map_err(|error| failed(&error))?;
        self.figures.daemon_kills += 1;
        self.leave_daemon();
        Ok(())
    }

    fn leave_daemon(&mut self) {
        self.daemon_away = Some(self.random.below(AWAY_MAX));
    }

    /// Workloads outlive containerd, and not the embedded runtime.
    async fn kill_runtime(&mut self) -> Result<(), Failed> {
        match self.world.kind {
            Kind::Containerd if self.runtime_away.is_none() => {
                let containerd = self.world.containerd.as_mut().ok_or("containerd doesn't run")?;
                containerd.kill().map_err(|error| failed(&error))?;
                self.figures.runtime_kills += 1;
                self.runtime_away = Some(self.random.below(AWAY_MAX));
            }
            Kind::Embedded if self.kills && self.daemon_away.is_none() => {
                self.world.cut_power().await?;
                self.figures.daemon_kills += 1;
                self.figures.runtime_kills += 1;
                self.leave_daemon();
                for expected in self.expected.values_mut() {
                    // What has ended stays as it is.
                    if expected.character.has_sandbox() {
                        expected.touch();
                    }
                }
            }
            Kind::Containerd | Kind::Embedded => {}
        }
        Ok(())
    }

    /// Starts again what was away for long enough.
    async fn come_back(&mut self) -> Result<(), Failed> {
        match self.runtime_away {
            Some(0) => {
                self.runtime_away = None;
                if let Some(containerd) = self.world.containerd.as_mut() {
                    containerd.launch().await.map_err(|error| failed(&error))?;
                }
            }
            Some(actions) => self.runtime_away = Some(actions - 1),
            None => {}
        }
        match self.daemon_away {
            Some(0) => {
                self.daemon_away = None;
                if self.plugin_file_broken {
                    self.plugin_file_broken = false;
                    self.world.swap(Swapped::Good)?;
                }
                self.story.push("the daemon starts".to_owned());
                self.world.daemon.launch().map_err(|error| failed(&error))
            }
            Some(actions) => {
                self.daemon_away = Some(actions - 1);
                Ok(())
            }
            None => Ok(()),
        }
    }
}
