//! A plugin on the asynchronous engine, and the calls into it.

use std::fmt;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{AcquireError, OwnedSemaphorePermit};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};
use wasmtime::{Store, UpdateDeadline};
use witlet_core::probe::ProbeOutcome;
use witlet_core::sources::plugin::{PodNews, PollResponse, SourceFault};
use witlet_ports::trace;

use super::checked::Checked;
use super::functions::{CheckParameters, Function, Notify, Poll, Probe, Validate, beyond_max};
use super::instance::{AsyncInstance, Handle};
use super::metered::{Metered, TooBusy};
use super::state::StateExcess;
use super::{GRACE, Linked, Machine, Share, cpu_limit, state};
use crate::guest::async_guest::{AsyncState, GuestSetting};
use crate::limits::{HANDLES_MAX, Limits, PooledLimits, Usage};
use crate::plugin::call::{CallError, classify, ran_out, reply_result};
use crate::plugin::pool::{InstancePool, Pooled};
use crate::role::Role;
use crate::wasi::async_host::ConnectionBudget;
use crate::worlds::pod_source::{Feedback, NotTaken};
use crate::worlds::probe::facts::ProbeFacts;
use crate::worlds::remarks::Warnings;

/// A linked plugin with its limits and its kept instances.
pub(crate) struct AsyncPlugin {
    pub(super) machine: Arc<Machine>,
    pub(super) share: Share,
    pub(super) setting: Arc<GuestSetting>,
    pub(super) linked: Linked,
    pub(super) limits: Limits,
    /// Of the pool, for one instance.
    pub(super) slots: u32,
    pub(super) source_timeout: Duration,
    pub(super) validate_timeout: Duration,
    pub(super) pool: InstancePool<AsyncInstance>,
    pub(super) checked: Mutex<Checked>,
}

impl fmt::Debug for AsyncPlugin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AsyncPlugin").field("name", &self.setting.name).finish_non_exhaustive()
    }
}

/// What a call came to, and what it took.
#[derive(Debug)]
pub(crate) struct AsyncCalled<T> {
    pub(crate) result: Result<T, CallError>,
    pub(crate) memory_bytes_peak: usize,
    pub(crate) cpu: Duration,
    /// How long it ran or could have, had it had a processor.
    pub(crate) runnable: Duration,
    /// How long it waited before it began: for a thread of the plugins', and for slots.
    pub(crate) waited: Duration,
}

impl<T> AsyncCalled<T> {
    fn map<U>(self, made: impl FnOnce(T) -> U) -> AsyncCalled<U> {
        let Self { result, memory_bytes_peak, cpu, runnable, waited } = self;
        AsyncCalled { result: result.map(made), memory_bytes_peak, cpu, runnable, waited }
    }
}

/// How a call ended.
enum CallEnd<T> {
    /// With an answer or an error.
    By(Result<T, CallError>),
    /// Its time was over while it waited for something.
    Waiting,
}

impl AsyncPlugin {
    /// Whether it has this role.
    pub(crate) fn has(&self, role: Role) -> bool {
        match role {
            Role::Admission => false,
            Role::Probe => self.linked.prober.is_some(),
            Role::PodSource => self.linked.source.is_some(),
        }
    }

    /// Returns what it wants to receive of its pods, if it is a pod source.
    pub(crate) fn feedback(&self) -> Feedback {
        self.linked.source.as_ref().map_or(Feedback::None, |source| source.feedback())
    }

    /// Asks it in this role whether it is content with its configuration, and what it warns of.
    pub(crate) async fn validate(self: &Arc<Self>, role: Role) -> Result<Warnings, CallError> {
        self.call(Validate(role), self.validate_timeout).await.finish(self.validate_timeout).result
    }

    /// Returns what it has said about these parameters, if it was asked.
    pub(crate) fn checked(&self, parameters: &str) -> Option<Result<(), String>> {
        self.checked.lock().unwrap_or_else(PoisonError::into_inner).get(parameters)
    }

    /// Asks whether a probe with these parameters makes sense, and keeps the answer. `probe_time` is how long the probe has that waits for
    /// it.
    pub(crate) async fn check_parameters(
        self: &Arc<Self>,
        parameters: &Arc<str>,
        probe_time: Duration,
    ) -> AsyncCalled<()> {
        let function = CheckParameters { parameters: parameters.clone(), probe_time };
        let called = self.call(function, self.validate_timeout).await.finish(self.validate_timeout);
        let called = called.map(|warnings| self.report_parameters(&warnings));
        let answer = match &called.result {
            Ok(()) => Ok(()),
            Err(CallError::Refused { words }) => Err(words.clone()),
            // What else happened says nothing about the parameters.
            Err(_) => return called,
        };
        self.keep_checked(parameters, answer);
        called
    }

    fn report_parameters(&self, warnings: &Warnings) {
        let plugin = &*self.setting.name;
        for warning in &warnings.kept {
            tracing::warn!(plugin, warning, "Plugin warned of a probe's parameters");
        }
        if warnings.left_out > 0 {
            tracing::warn!(plugin, left_out = warnings.left_out, "Left out warnings of the plugin");
        }
    }

    /// Keeps what is known about these parameters, be it from the plugin or without asking it.
    pub(crate) fn keep_checked(&self, parameters: &Arc<str>, answer: Result<(), String>) {
        self.checked.lock().unwrap_or_else(PoisonError::into_inner).keep(parameters.clone(), answer);
    }

    /// Probes. One that waits for something when its time is over has failed, and so has one that passes too late.
    pub(crate) async fn probe(self: &Arc<Self>, facts: Arc<ProbeFacts>) -> AsyncCalled<ProbeOutcome> {
        let (timeout, deadline) = (facts.request.timeout, facts.deadline());
        let Call { ended, at, usage } = self.call(Probe(facts), timeout).await;
        let late = at > deadline;
        let result = match self.within_state(ended).await {
            CallEnd::By(Ok(ProbeOutcome::Success(_) | ProbeOutcome::Warning(_))) if late => {
                match overtime(timeout, usage.runnable(), usage.cpu()) {
                    TimeoutCause::Waited => Ok(no_answer(timeout)),
                    TimeoutCause::Computed => Err(CallError::Timeout { limit: timeout }),
                    TimeoutCause::Crowded => Err(CallError::Busy),
                }
            }
            CallEnd::By(result) => result,
            CallEnd::Waiting => Ok(no_answer(timeout)),
        };
        usage.with(result)
    }

    /// Asks a pod source what it has now.
    pub(crate) async fn poll(
        self: &Arc<Self>,
        cursor: Option<&str>,
    ) -> AsyncCalled<Result<PollResponse, SourceFault>> {
        let cursor = cursor.map(str::to_owned);
        self.call_source(Poll(cursor)).await
    }

    /// Passes news of its pods to a pod source.
    pub(crate) async fn notify(self: &Arc<Self>, news: Arc<[PodNews]>) -> AsyncCalled<Result<(), NotTaken>> {
        self.call_source(Notify(news)).await
    }

    async fn call_source<F: Function>(self: &Arc<Self>, function: F) -> AsyncCalled<F::Output> {
        let Call { ended, at, usage } = self.call(function, self.source_timeout).await;
        let ended = self.within_state(ended).await;
        Call { ended, at, usage }.finish(self.source_timeout)
    }

    /// Returns how many instances are kept in this role.
    pub(crate) fn warm(&self, role: Role) -> usize {
        self.pool.count(role)
    }

    /// See [`InstancePool::shrink`].
    pub(crate) fn shrink(&self, now: Instant) {
        self.pool.shrink(now);
    }

    /// See [`InstancePool::retire`].
    pub(crate) fn retire(&self) {
        self.pool.retire();
    }

    /// Asks on the plugins' threads. A caller that goes away cancels the call.
    async fn call<F: Function>(self: &Arc<Self>, function: F, timeout: Duration) -> Call<F::Output> {
        let usage = Arc::new(Usage::default());
        let Some(threads) = self.machine.threads.handle() else {
            return Call { ended: CallEnd::By(Err(CallError::Host)), at: Instant::now(), usage };
        };
        let asked = Instant::now();
        let deadline = asked + timeout;
        let mut task = JoinSet::new();
        let (plugin, counted) = (self.clone(), usage.clone());
        task.spawn_on(
            // What the guest has the host do belongs to the call's span.
            trace::inherit(async move {
                counted.add_waited(asked.elapsed());
                let ended = plugin.call_here(function, counted, deadline, timeout).await;
                // Taken here: the task that awaits this one may not run at once.
                (ended, Instant::now())
            }),
            threads,
        );
        let (ended, at) = match task.join_next().await {
            Some(Ok(ended)) => ended,
            Some(Err(error)) => {
                tracing::error!(%error, plugin = &*self.setting.name, "Task of a plugin call failed");
                (CallEnd::By(Err(CallError::Host)), Instant::now())
            }
            None => (CallEnd::By(Err(CallError::Host)), Instant::now()),
        };
        Call { ended, at, usage }
    }

    async fn call_here<F: Function>(
        self: &Arc<Self>,
        function: F,
        usage: Arc<Usage>,
        deadline: Instant,
        timeout: Duration,
    ) -> CallEnd<F::Output> {
        let limit = cpu_limit(timeout);
        let beyond = function.beyond(timeout);
        let most = if self.setting.prolongs_calls { beyond_max(timeout) } else { beyond };
        // Where that counts for a call, it counts as well that it waited for its first turn.
        let handed_over = if beyond.is_zero() { None } else { deadline.checked_sub(timeout) };
        let queued = handed_over.map_or(Duration::ZERO, |since| since.elapsed());
        let calling = self.call_instance(&function, usage.clone(), deadline);
        let mut metered = pin!(Metered::new(calling, &self.machine.ticker, usage.clone(), limit));
        let did = || overtime(timeout, queued + usage.runnable(), usage.cpu());
        let mut more = Duration::ZERO;
        let ended = loop {
            let ended = tokio::select! {
                biased;
                ended = timeout_at(deadline + GRACE + more, metered.as_mut()) => ended,
                excess = self.outgrown_state() => return CallEnd::By(Err(CallError::State(excess))),
            };
            match more_time(most, timeout, more, did()) {
                Some(longer) if ended.is_err() => more = longer,
                Some(_) | None => break ended,
            }
        };
        match ended {
            Ok(Ok(result)) => CallEnd::By(result),
            Ok(Err(TooBusy)) => CallEnd::By(Err(CallError::Timeout { limit: timeout })),
            Err(_elapsed) => match did() {
                TimeoutCause::Computed => CallEnd::By(Err(CallError::Timeout { limit: timeout })),
                TimeoutCause::Crowded => CallEnd::By(Err(CallError::Busy)),
                TimeoutCause::Waited => CallEnd::Waiting,
            },
        }
    }

    /// Ends when the plugin's folder has so much in it that its call is cut; never without such a folder.
    async fn outgrown_state(&self) -> StateExcess {
        match &self.setting.state_folder {
            Some(folder) => state::outgrown(folder).await,
            None => std::future::pending().await,
        }
    }

    /// An answer doesn't count of a guest that keeps more than it may. What it says of its configuration does: else one
    /// that has too much couldn't be loaded, and never clear it up.
    async fn within_state<T>(&self, ended: CallEnd<T>) -> CallEnd<T> {
        let Some(folder) = &self.setting.state_folder else { return ended };
        match state::excess(folder).await {
            Some(excess) => CallEnd::By(Err(CallError::State(excess))),
            None => ended,
        }
    }

    /// Calls a kept instance or a fresh one.
    async fn call_instance<F: Function>(
        &self,
        function: &F,
        usage: Arc<Usage>,
        deadline: Instant,
    ) -> Result<F::Output, CallError> {
        let kept = self.pool.take(function.role());
        let has_begun = kept.is_some();
        if let Some(pooled) = kept {
            let result = self.call_kept(pooled, function, usage.clone(), deadline).await;
            if !ran_out(&result) {
                return result;
            }
        }
        // No slot until the deadline says nothing about this plugin: others hold them.
        let waits = Instant::now();
        let slots = timeout_at(deadline, self.free_slots())
            .await
            .map_err(|_elapsed| CallError::Busy)?
            .map_err(|_closed| CallError::Host)?;
        if !has_begun {
            usage.add_waited(waits.elapsed());
        }
        let mut store = self.store();
        store.data_mut().begin(usage.clone(), deadline);
        function.begin(store.data_mut());
        let instantiated = match function.role() {
            Role::Probe => match &self.linked.prober {
                Some(pre) => pre.instantiate(&mut store).await.map(Handle::Prober),
                None => return Err(CallError::Host),
            },
            Role::PodSource => match &self.linked.source {
                Some(pre) => pre.instantiate(&mut store).await.map(Handle::Source),
                None => return Err(CallError::Host),
            },
            Role::Admission => return Err(CallError::Host),
        };
        let handle = instantiated.map_err(|error| self.failure(&error, store.data()))?;
        self.call_begun(Pooled::new(AsyncInstance { store, handle, _slots: slots }), function).await
    }

    async fn call_kept<F: Function>(
        &self,
        mut pooled: Pooled<AsyncInstance>,
        function: &F,
        usage: Arc<Usage>,
        deadline: Instant,
    ) -> Result<F::Output, CallError> {
        let store = &mut pooled.instance.store;
        let state = store.data_mut();
        state.begin(usage, deadline);
        function.begin(state);
        store.set_epoch_deadline(1);
        self.call_begun(pooled, function).await
    }

    async fn call_begun<F: Function>(
        &self,
        mut pooled: Pooled<AsyncInstance>,
        function: &F,
    ) -> Result<F::Output, CallError> {
        let replied = function.call(&mut pooled.instance).await;
        let state = pooled.instance.store.data_mut();
        match replied {
            Ok(reply) => {
                if state.end() {
                    self.pool.keep(pooled);
                }
                reply_result(reply)
            }
            // An instance that trapped can't be entered again.
            Err(error) => {
                let failure = self.failure(&error, state);
                state.end();
                Err(failure)
            }
        }
    }

    /// Acquires the plugin's own share first: while it waits for that, it holds no slot that another plugin could use.
    async fn free_slots(&self) -> Result<(OwnedSemaphorePermit, OwnedSemaphorePermit), AcquireError> {
        let own = self.share.slots.clone().acquire_many_owned(self.slots).await?;
        let all = self.machine.slots.clone().acquire_many_owned(self.slots).await?;
        Ok((own, all))
    }

    fn store(&self) -> Store<AsyncState> {
        let limits = PooledLimits::new(self.limits, self.share.memory.clone());
        let budget = ConnectionBudget::new(self.share.connections.clone(), self.machine.connections.clone());
        let state = AsyncState::new(self.setting.clone(), limits, budget);
        let mut store = Store::new(&self.machine.engine, state);
        store.limiter(|state| &mut state.limits);
        store.set_hostcall_fuel(self.limits.hostcall_bytes_max);
        store.set_max_component_handles(HANDLES_MAX);
        store.set_epoch_deadline(1);
        store.epoch_deadline_callback(|store| {
            store.data().limits.note_yield();
            Ok(UpdateDeadline::Yield(1))
        });
        store
    }

    fn failure(&self, error: &wasmtime::Error, state: &AsyncState) -> CallError {
        // Others have the memory that it may have: no fault of its own.
        if state.limits.crowded() {
            return CallError::Busy;
        }
        classify(error, state.limits.hit(), &self.limits, self.source_timeout)
    }
}

/// What a guest did that had no answer in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TimeoutCause {
    Computed,
    /// It would have computed, and others had the processors.
    Crowded,
    /// It waited for something.
    Waited,
}

/// Decides why a call took too long: by its time, how much of it it could have run, and how much it did.
pub(super) fn overtime(time: Duration, runnable: Duration, cpu: Duration) -> TimeoutCause {
    if runnable < time / 2 {
        TimeoutCause::Waited
    } else if cpu < time / 4 {
        TimeoutCause::Crowded
    } else {
        TimeoutCause::Computed
    }
}

/// How long beyond its time a call may go on that had `more` already, of at most `most`; none if it ends. What a guest computed while
/// others had the processors says nothing of it, so it goes on until that says something: else one that loops is never found out on a
/// crowded machine.
pub(super) fn more_time(
    most: Duration,
    time: Duration,
    more: Duration,
    did: TimeoutCause,
) -> Option<Duration> {
    let goes_on = did == TimeoutCause::Crowded && more < most;
    goes_on.then(|| (more + time / 4).min(most))
}

fn no_answer(timeout: Duration) -> ProbeOutcome {
    ProbeOutcome::Failure(format!("no answer within {}", seconds(timeout)))
}

/// `1s`, `200ms`: seconds where they are whole.
fn seconds(time: Duration) -> String {
    match time.subsec_millis() {
        0 => format!("{}s", time.as_secs()),
        _ => format!("{}ms", time.as_millis()),
    }
}

/// A call that has ended.
struct Call<T> {
    ended: CallEnd<T>,
    at: Instant,
    usage: Arc<Usage>,
}

impl<T> Call<T> {
    /// Waiting for too long is as bad as computing for too long.
    fn finish(self, limit: Duration) -> AsyncCalled<T> {
        let Self { ended, at: _, usage } = self;
        usage.with(match ended {
            CallEnd::By(result) => result,
            CallEnd::Waiting => Err(CallError::Timeout { limit }),
        })
    }
}

impl Usage {
    fn with<T>(&self, result: Result<T, CallError>) -> AsyncCalled<T> {
        let (memory_bytes_peak, cpu) = (self.memory_bytes_peak(), self.cpu());
        AsyncCalled { result, memory_bytes_peak, cpu, runnable: self.runnable(), waited: self.waited() }
    }
}
