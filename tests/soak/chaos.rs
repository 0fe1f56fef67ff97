//! What is done to the world, in which order, and what is then asked of it.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::time::Duration;

use libtest_mimic::Failed;
use tokio::time::{Instant, sleep};

use crate::losses::{Loss, count, doubles, ids};
use crate::model::{Character, Kind, Touch, Wanted};
use crate::process::Usage;
use crate::random::Random;
use crate::world::{Swapped, World, failed};

/// How many pods there are at most.
const PODS_MAX: usize = 14;

/// The longest pause between two actions.
const PAUSE_MAX: Duration = Duration::from_millis(900);

/// The most actions that the daemon or containerd stays away for.
const AWAY_MAX: usize = 3;

/// How long everything may take to settle. The slowest settling is among the figures.
const SETTLE_PATIENCE: Duration = Duration::from_secs(120);

/// How long nothing may be lost before it counts as settled: more than a round of the clean-up and a relist.
const QUIET: Duration = Duration::from_millis(3500);

/// How often is looked while it settles.
const LOOK_INTERVAL: Duration = Duration::from_millis(250);

/// What can be done.
#[derive(Clone, Copy, Debug)]
enum Action {
    Add,
    Edit,
    Label,
    Remove,
    Return,
    KillDaemon,
    KillRuntime,
    Break,
    Repair,
    Swap,
    BreakPluginFile,
}

/// Each as often as it is to be chosen.
const ACTIONS: &[(Action, usize)] = &[
    (Action::Add, 18),
    (Action::Edit, 16),
    (Action::Label, 8),
    (Action::Remove, 11),
    (Action::Return, 6),
    (Action::KillDaemon, 14),
    (Action::KillRuntime, 8),
    (Action::Break, 10),
    (Action::Repair, 6),
    (Action::Swap, 12),
    (Action::BreakPluginFile, 4),
];

/// What was done and seen.
#[derive(Clone, Debug, Default)]
pub(crate) struct Figures {
    pub(crate) rounds: usize,
    pub(crate) daemon_kills: usize,
    pub(crate) runtime_kills: usize,
    pub(crate) pods_added: usize,
    pub(crate) edits: usize,
    pub(crate) removals: usize,
    pub(crate) breaks: usize,
    pub(crate) swaps: usize,
    /// At the last count that was taken when all should have settled.
    pub(crate) lost: usize,
    /// Looks in the midst of it all at which a pod was there twice for a moment.
    pub(crate) doubles_seen: usize,
    pub(crate) longest_pause: Duration,
    pub(crate) slowest_settling: Duration,
    pub(crate) daemon: Usage,
    pub(crate) runtime: Usage,
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rounds, daemon_kills, runtime_kills, pods_added, edits, removals, breaks, swaps, .. } =
            self;
        write!(
            f,
            "{rounds} rounds, {daemon_kills} kills of the daemon, {runtime_kills} of the runtime; {pods_added} \
             pods added, {edits} edited, {removals} removed, {breaks} manifests broken, {swaps} plugins swapped; \
             lost: {} (two of a pod were seen for a moment {} times); longest pause of the loop {:.1} ms, slowest \
             settling {:.1} s; the daemon took at most {}",
            self.lost,
            self.doubles_seen,
            self.longest_pause.as_secs_f64() * 1e3,
            self.slowest_settling.as_secs_f64(),
            self.daemon,
        )?;
        if self.runtime == Usage::default() { Ok(()) } else { write!(f, ", its runtime {}", self.runtime) }
    }
}

/// A world that is hit.
pub(crate) struct Chaos {
    pub(crate) world: World,
    random: Random,
    wanted: BTreeMap<String, Wanted>,
    /// Pods that were removed, to come back.
    removed: Vec<Wanted>,
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
    pub(crate) fn new(world: World, seed: u64) -> Self {
        Self {
            world,
            random: Random::new(seed),
            wanted: BTreeMap::new(),
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

    /// One pod of each character.
    pub(crate) fn populate(&mut self) -> Result<(), Failed> {
        Character::ALL.into_iter().try_for_each(|character| self.add_one(character))
    }

    /// Does so many things, and has it all settle.
    pub(crate) async fn round(&mut self, actions: usize) -> Result<(), Failed> {
        for _ in 0..actions {
            let action = self.choose();
            self.act(action).await?;
            self.come_back().await?;
            if self.random.chance(70) {
                let most = usize::try_from(PAUSE_MAX.as_millis()).unwrap_or_default();
                sleep(Duration::from_millis(self.random.below(most) as u64)).await;
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
        loop {
            let now = Instant::now();
            let lost = match self.world.look().await {
                Some(seen) => count(&self.wanted, &seen),
                None => vec![Loss { pod: "the node".to_owned(), what: "it doesn't answer".to_owned() }],
            };
            if lost.is_empty() {
                if now >= *quiet_since.get_or_insert(now) + QUIET {
                    break;
                }
            } else {
                quiet_since = None;
                if now >= begun + SETTLE_PATIENCE {
                    return Err(self.tell(&lost));
                }
            }
            sleep(LOOK_INTERVAL).await;
        }
        self.figures.slowest_settling = self.figures.slowest_settling.max(begun.elapsed());
        self.take_stock().await
    }

    /// What is there now is what has to stay.
    async fn take_stock(&mut self) -> Result<(), Failed> {
        let seen = self.world.look().await.ok_or("the node answered a moment ago")?;
        for wanted in self.wanted.values_mut() {
            wanted.touch = Touch::None;
            wanted.settled = Some(ids(&wanted.name, &seen));
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

    fn tell(&mut self, losses: &[Loss]) -> Failed {
        self.figures.lost = losses.len();
        let lines: Vec<String> = losses.iter().map(ToString::to_string).collect();
        let logs: Vec<String> = losses
            .iter()
            .take(3)
            .map(|loss| format!("{}:\n{}", loss.pod, self.world.log_of(&loss.pod)))
            .collect();
        Failed::from(format!(
            "lost {} in round {}:\n{}\nwhat was done in the round before:\n{}\nwhat was done:\n{}\nthe daemon's \
             log of them:\n{}\n{}",
            losses.len(),
            self.figures.rounds,
            lines.join("\n"),
            self.story_before.join("\n"),
            self.story.join("\n"),
            logs.join("\n"),
            self.figures,
        ))
    }

    fn choose(&mut self) -> Action {
        let all: usize = ACTIONS.iter().map(|(_, weight)| weight).sum();
        let mut at = self.random.below(all);
        for (action, weight) in ACTIONS {
            match at.checked_sub(*weight) {
                Some(rest) => at = rest,
                None => return *action,
            }
        }
        Action::Add
    }

    fn names(&self, which: impl Fn(&Wanted) -> bool) -> Vec<String> {
        self.wanted.values().filter(|wanted| which(wanted)).map(|wanted| wanted.name.clone()).collect()
    }

    async fn act(&mut self, action: Action) -> Result<(), Failed> {
        let names = self.names(|_| true);
        let name = self.random.pick(&names).cloned();
        self.story.push(format!("{action:?}, perhaps of {name:?}"));
        match (action, name) {
            (Action::Add, _) | (Action::Edit | Action::Label | Action::Remove | Action::Break, None) => {
                let character = self.random.pick(&Character::ALL).copied().unwrap_or(Character::Sleeper);
                self.add_one(character)
            }
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
        if self.wanted.len() >= PODS_MAX {
            return Ok(());
        }
        let name = format!("p{}", self.named);
        self.named += 1;
        let wanted = Wanted::new(name.clone(), character, self.random.chance(40));
        self.wanted.insert(name.clone(), wanted);
        self.figures.pods_added += 1;
        self.story.push(format!("added {name}, a {character:?}"));
        if self.random.chance(20) { self.break_manifest(&name) } else { self.write(&name) }
    }

    fn edit(&mut self, name: &str) -> Result<(), Failed> {
        let Some(wanted) = self.wanted.get_mut(name) else { return Ok(()) };
        // Few values, so that what a pod was before comes back.
        wanted.variable = self.random.below(3);
        if wanted.fixed_uid && wanted.character.keeps_containers() && wanted.character.has_sandbox() {
            wanted.replace_containers();
        } else {
            wanted.touch();
        }
        self.figures.edits += 1;
        self.write(name)
    }

    fn label(&mut self, name: &str) -> Result<(), Failed> {
        let Some(wanted) = self.wanted.get_mut(name) else { return Ok(()) };
        wanted.label = self.random.below(3);
        if !wanted.fixed_uid {
            wanted.touch();
        }
        self.figures.edits += 1;
        self.write(name)
    }

    fn remove(&mut self, name: &str) -> Result<(), Failed> {
        if let Some(mut wanted) = self.wanted.remove(name) {
            wanted.touch();
            wanted.settled = None;
            self.removed.push(wanted);
            self.figures.removals += 1;
            fs::remove_file(self.world.manifest(name))?;
        }
        Ok(())
    }

    /// The pod that was removed last is wanted again.
    fn bring_back(&mut self) -> Result<(), Failed> {
        let Some(wanted) = self.removed.pop().filter(|_| self.wanted.len() < PODS_MAX) else { return Ok(()) };
        let name = wanted.name.clone();
        self.story.push(format!("brought {name} back"));
        self.wanted.insert(name.clone(), wanted);
        self.write(&name)
    }

    /// Leaves half of the manifest, as an editor or a copy in progress does. What runs goes on.
    fn break_manifest(&mut self, name: &str) -> Result<(), Failed> {
        let Some(wanted) = self.wanted.get(name) else { return Ok(()) };
        let text = wanted.manifest(self.world.kind);
        let half = 1 + self.random.below(text.len() - 1);
        self.figures.breaks += 1;
        fs::write(self.world.manifest(name), &text[..half])?;
        Ok(())
    }

    fn write(&mut self, name: &str) -> Result<(), Failed> {
        let Some(wanted) = self.wanted.get(name) else { return Ok(()) };
        let text = wanted.manifest(self.world.kind);
        if self.random.chance(50) {
            fs::write(self.world.manifest(name), text)?;
            return Ok(());
        }
        self.world.daemon.write_manifest(&format!("{name}.json"), &text).map_err(|error| failed(&error))
    }

    fn repair_all(&mut self) -> Result<(), Failed> {
        for wanted in self.wanted.values() {
            fs::write(self.world.manifest(&wanted.name), wanted.manifest(self.world.kind))?;
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
                for wanted in self.wanted.values_mut() {
                    // What has ended stays as it is.
                    if wanted.character.has_sandbox() {
                        wanted.touch();
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
