//! Whole lives of pods: containers end, probes fail, sandboxes die, specs change, between one plan and the next.

use k8s_openapi::api::core::v1::{ContainerResizePolicy, ResourceRequirements};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use super::*;
use crate::cgroup::CpuQuotaPolicy;
use crate::container::plan::resize::{Actuated, ResizeFacts, in_progress};
use crate::pod::allocation::ContainerResources;
use crate::runtime::CgroupDriver;

/// Something happens between two plans.
#[derive(Clone, Copy, Debug)]
enum Happening {
    /// Nothing: the plan is made again.
    Nothing,
    /// The running container at this place ends with this code.
    Ends(usize, i32),
    /// The running container at this place has passed its startup probe.
    Starts(usize),
    /// The running container at this place has failed its liveness probe.
    Sickens(usize),
    /// The sandbox dies with all that runs in it.
    SandboxDies,
    /// An app container gets another image.
    SpecChanges(usize),
    /// An app container gets so much CPU, in place or with a restart.
    Resizes(usize, u32, bool),
    /// The garbage collection leaves one dead instance of each container.
    GarbageGoes,
    /// The agent restarts: what probes found out is forgotten.
    AgentRestarts,
}

fn any_happening() -> impl Strategy<Value = Happening> {
    let code = prop::sample::select(vec![0, 0, 0, 1, 42, 43]);
    prop_oneof![
        2 => Just(Happening::Nothing),
        6 => (0..8usize, code).prop_map(|(place, code)| Happening::Ends(place, code)),
        4 => (0..8usize).prop_map(Happening::Starts),
        1 => (0..8usize).prop_map(Happening::Sickens),
        1 => Just(Happening::SandboxDies),
        1 => (0..APPS.len()).prop_map(Happening::SpecChanges),
        1 => (0..APPS.len(), 1..4u32, any::<bool>())
            .prop_map(|(index, cpu, restarts)| Happening::Resizes(index, cpu, restarts)),
        1 => Just(Happening::GarbageGoes),
        1 => Just(Happening::AgentRestarts),
    ]
}

/// A pod, its runtime, and what is true of it beyond what the runtime says.
struct Life {
    pod: Pod,
    seen: ObservedPod,
    probes: ProbeResults,
    /// Init containers that ended well, and sidecars that started, since the pod last started over.
    done: BTreeSet<String>,
    /// Highest restart count of each container so far.
    counts: BTreeMap<String, u32>,
    /// What running containers were given.
    actuated: Actuated,
}

impl Life {
    fn new(pod: Pod) -> Self {
        let seen = observed(Vec::new(), Vec::new());
        Self {
            pod,
            seen,
            probes: ProbeResults::new(),
            done: BTreeSet::new(),
            counts: BTreeMap::new(),
            actuated: Actuated::new(),
        }
    }

    fn resize_facts(&self) -> ResizeFacts<'_> {
        const UNKNOWN: &BTreeMap<ContainerId, i64> = &BTreeMap::new();
        ResizeFacts {
            actuated: &self.actuated,
            memory_usage: UNKNOWN,
            pod_cgroup: None,
            cpu_quota: CpuQuotaPolicy::default(),
            cgroup_driver: CgroupDriver::Cgroupfs,
        }
    }

    fn plan(&self) -> Plan {
        plan(PlanInput {
            pod: &self.pod,
            observed: &self.seen,
            backoff: &BackoffTable::new(CRASH),
            probes: &self.probes,
            restart_counts: &self.counts,
            resize: Some(self.resize_facts()),
            now: at(NOW),
        })
    }

    /// Carries the plan out and checks each start before it happens.
    fn sync(&mut self) -> Result<Plan, TestCaseError> {
        let plan = self.plan();
        for step in &plan.steps {
            match step {
                Step::CreateSandbox { .. } => self.done.clear(),
                Step::RemoveContainers(remove) if remove.reason == RemoveReason::RestartAll => {
                    self.done.clear()
                }
                Step::StartContainer(start) => self.check_start(start)?,
                Step::KillPod(_)
                | Step::KillContainers(_)
                | Step::RemoveContainers(_)
                | Step::WaitBackoff { .. }
                | Step::ResizeContainer(_)
                | Step::ResizePod(_) => {}
            }
            carry_out_step(&self.pod, &mut self.seen, step, 137);
            self.record(step);
        }
        self.note_started();
        let running = running_names(&self.seen);
        prop_assert_eq!(running.len(), running.iter().collect::<BTreeSet<_>>().len(), "one instance at most");
        Ok(plan)
    }

    /// What a container has been given is remembered.
    fn record(&mut self, step: &Step) {
        match step {
            Step::StartContainer(start) => {
                let spec = container_named(&self.pod, &start.name).expect("it was started");
                let id = self.seen.container(&start.name).expect("it was started").id.clone();
                self.actuated.insert(id, ContainerResources::of(&self.pod, &spec.container));
            }
            Step::ResizeContainer(resize) => {
                self.actuated.insert(resize.id.clone(), resize.actuated);
            }
            Step::KillPod(_)
            | Step::KillContainers(_)
            | Step::RemoveContainers(_)
            | Step::CreateSandbox { .. }
            | Step::WaitBackoff { .. }
            | Step::ResizePod(_) => {}
        }
    }

    /// A sidecar without a startup probe has started as soon as it runs.
    fn note_started(&mut self) {
        for found in containers(&self.pod).filter(|found| found.kind == ContainerKind::Sidecar) {
            let name = &found.container.name;
            let passed = self.seen.container(name).is_some_and(|newest| {
                let probed = self.probes.get(&newest.id).and_then(|probes| probes.startup);
                newest.state == ContainerRunState::Running
                    && (found.container.startup_probe.is_none() || probed == Some(ProbeResult::Success))
            });
            if passed {
                self.done.insert(name.clone());
            }
        }
    }

    fn check_start(&mut self, start: &StartContainer) -> Result<(), TestCaseError> {
        let name = &start.name;
        let twice = self.seen.containers.iter().any(|c| c.name == *name && c.state.may_run());
        prop_assert!(!twice, "{} would run twice", name);
        let ready = self.seen.sandboxes.iter().filter(|sandbox| sandbox.state == SandboxState::Ready).count();
        prop_assert_eq!(ready, 1, "{} would have no sandbox of its own", name);
        let before = match start.kind {
            ContainerKind::Init | ContainerKind::Sidecar => start.index,
            ContainerKind::App => init_containers(&self.pod).len(),
            ContainerKind::Ephemeral => 0,
        };
        for init in &init_containers(&self.pod)[..before] {
            prop_assert!(self.done.contains(&init.name), "{} would start before {} is done", name, init.name);
        }
        let expected = self.counts.get(name).map_or(0, |count| count + 1);
        prop_assert_eq!(start.restart_count, expected, "the count of {} goes on", name);
        self.counts.insert(name.clone(), start.restart_count);
        Ok(())
    }

    fn running(&mut self, place: usize) -> Option<&mut ObservedContainer> {
        let running = self.seen.containers.iter_mut().filter(|c| c.state == ContainerRunState::Running);
        running.into_iter().nth(place)
    }

    fn end(&mut self, place: usize, exit_code: i32) {
        let Some(running) = self.running(place) else { return };
        running.state = ContainerRunState::Exited;
        running.exit_code = exit_code;
        running.finished_at = Some(at(NOW));
        let name = running.name.clone();
        let init = container_named(&self.pod, &name).is_some_and(|found| found.kind == ContainerKind::Init);
        if init && exit_code == 0 {
            self.done.insert(name);
        }
    }

    fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::Nothing => {}
            Happening::Ends(place, exit_code) => self.end(place, exit_code),
            Happening::Starts(place) => {
                if let Some(id) = self.running(place).map(|running| running.id.clone()) {
                    self.probes.entry(id).or_default().startup = Some(ProbeResult::Success);
                    self.note_started();
                }
            }
            Happening::Sickens(place) => {
                if let Some(id) = self.running(place).map(|running| running.id.clone()) {
                    self.probes.entry(id).or_default().liveness = Some(ProbeResult::Failure);
                }
            }
            Happening::SandboxDies => {
                while self.running(0).is_some() {
                    self.end(0, 137);
                }
                let ready = self.seen.sandboxes.iter_mut();
                ready.for_each(|sandbox| sandbox.state = SandboxState::NotReady);
            }
            Happening::SpecChanges(index) => {
                if let Some(app) = spec(&mut self.pod).containers.get_mut(index) {
                    app.image = app.image.as_deref().map(|image| format!("{image}+"));
                }
            }
            Happening::Resizes(index, cpu, restarts) => {
                if let Some(app) = spec(&mut self.pod).containers.get_mut(index) {
                    let requests = BTreeMap::from([("cpu".to_owned(), Quantity(cpu.to_string()))]);
                    let policy = if restarts { "RestartContainer" } else { "NotRequired" };
                    app.resources =
                        Some(ResourceRequirements { requests: Some(requests), ..Default::default() });
                    app.resize_policy = Some(vec![ContainerResizePolicy {
                        resource_name: "cpu".to_owned(),
                        restart_policy: policy.to_owned(),
                    }]);
                }
            }
            Happening::GarbageGoes => {
                let mut kept = BTreeSet::new();
                self.seen.containers.retain(|container| {
                    container.state == ContainerRunState::Running || kept.insert(container.name.clone())
                });
            }
            Happening::AgentRestarts => self.probes.clear(),
        }
    }

    /// Init containers end well and sidecars start, so that nothing is waited for.
    fn settle(&mut self) {
        let names: Vec<(usize, String)> =
            running_names(&self.seen).into_iter().map(str::to_owned).enumerate().collect();
        for (place, name) in names.iter().rev() {
            match container_named(&self.pod, name).map(|found| found.kind) {
                Some(ContainerKind::Init) => self.end(*place, 0),
                Some(ContainerKind::Sidecar) => self.happen(Happening::Starts(*place)),
                Some(ContainerKind::App | ContainerKind::Ephemeral) | None => {}
            }
        }
    }

    /// Whether all app containers have ended and none of them runs again.
    fn is_over(&self) -> bool {
        app_containers(&self.pod).iter().all(|app| {
            self.seen.container(&app.name).is_some_and(|newest| {
                newest.state == ContainerRunState::Exited && !should_restart(&self.pod, app, newest.exit_code)
            })
        })
    }
}

proptest! {
    #[test]
    fn a_pod_keeps_its_order_through_all_that_happens_and_comes_to_rest(
        pod in any_pod(),
        happenings in prop::collection::vec(any_happening(), 0..40),
    ) {
        let mut life = Life::new(pod);
        for happening in happenings {
            life.sync()?;
            life.happen(happening);
        }
        // Sick containers recover with their restart, or with the agent's.
        life.happen(Happening::AgentRestarts);
        for _ in 0..2 * ROUNDS {
            life.sync()?;
            life.settle();
        }
        let rest = life.sync()?;
        prop_assert_eq!(render(&rest), Vec::<String>::new(), "nothing is left to do");
        prop_assert!(!in_progress(&life.pod, &life.seen, life.resize_facts()), "every resize is done");
        let running = running_names(&life.seen);
        if running.is_empty() {
            let gone = life.seen.sandboxes.iter().all(|sandbox| sandbox.state == SandboxState::NotReady);
            prop_assert!(gone, "a pod of which nothing runs has no sandbox");
        } else {
            for found in containers(&life.pod) {
                let name = found.container.name.as_str();
                let runs = running.contains(&name);
                let newest = life.seen.container(name);
                match found.kind {
                    ContainerKind::Init => prop_assert!(!runs, "{} has ended", name),
                    ContainerKind::Sidecar => prop_assert!(runs, "{} is kept running", name),
                    ContainerKind::App => prop_assert!(
                        runs || newest.is_some_and(|c| !should_restart(&life.pod, &found.container, c.exit_code)),
                        "{} runs or has ended for good", name
                    ),
                    ContainerKind::Ephemeral => prop_assert!(runs || newest.is_some(), "{} was started", name),
                }
            }
            prop_assert!(!life.is_over(), "what is over doesn't run");
        }
    }
}
