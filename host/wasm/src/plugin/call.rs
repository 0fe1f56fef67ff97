//! Calls into a plugin: a fresh or warm instance, a deadline around everything, and errors that say what happened.

mod error;
#[cfg(test)]
mod tests;

pub use error::{CallError, WaitedIn};

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::Instant;
use wasmtime::{Engine, PoolConcurrencyLimitError, Store, Trap, UpdateDeadline};
use witlet_core::admission::Verdict;
use witlet_ports::Clock;

use super::Spec;
use super::pool::{Instance, InstancePool, Pooled};
use crate::engine::POOL_SLOTS;
use crate::guest::data::Data;
use crate::guest::known_node::KnownNode;
use crate::guest::{CallProgress, GrantedSecrets, GuestLog, GuestServices, GuestState, printable};
use crate::limits::{EpochTicker, HANDLES_MAX, LimitHit, Limits, StoreLimits, epochs, thread_cpu};
use crate::metrics::custom::CustomMetrics;
use crate::role::Role;
use crate::wasi::WouldBlock;
use crate::worlds::Unfit;
use crate::worlds::admission::answer::Remarks;
use crate::worlds::admission::facts::RequestFacts;
use crate::worlds::admission::setup::Setup;
use crate::worlds::admission::{Answered, Handler, HandlerPre, MESSAGE_BYTES_MAX, Reply};

/// Questions about pods that may run at once, each on a thread of its own.
pub(crate) const WORKERS_MAX: usize = 4;
/// Plugins that may validate their configuration at once, on other threads than those: plugins that hang while they
/// are loaded keep no one else from answering.
pub(crate) const VALIDATORS_MAX: usize = 2;
/// Shadows that are asked at once, on another thread than those.
pub(crate) const SHADOWS_MAX: usize = 1;
/// How many slots of the pool's memories instances may hold while they wait for their next call; the rest is for fresh
/// ones.
pub(crate) const WARM_SLOTS_MAX: usize = POOL_SLOTS as usize / 2;
/// Time between two ticks of the epoch: how exactly a guest's deadline is kept.
pub(crate) const EPOCH_PERIOD: Duration = Duration::from_millis(2);
/// How long after its deadline a call is given up that the epoch didn't end, because it isn't in the guest.
pub(crate) const WALL_SLACK: Duration = Duration::from_millis(50);
/// How often a call may go on for another timeout where it is judged by its own time: until then it has a hundredth of a
/// processor at least, or the machine does nothing else.
const PROLONGATIONS_MAX: u32 = 100;

/// A linked handler with its limits and its kept instances.
pub(crate) struct SyncPlugin {
    log: GuestLog,
    config: Arc<str>,
    pre: Box<dyn HandlerPre>,
    limits: Limits,
    timeout: Duration,
    /// Whether a call that other programs left without a processor goes on.
    prolongs_calls: bool,
    secrets: GrantedSecrets,
    data: Arc<[Data]>,
    metrics: Arc<CustomMetrics>,
    node: KnownNode,
    /// How much later than it is `validate` sees.
    clock_ahead: Duration,
    /// Goes into random numbers.
    random_salt: Arc<str>,
    pool: InstancePool<SyncInstance>,
}

impl fmt::Debug for SyncPlugin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SyncPlugin").field("name", &self.log.plugin()).finish_non_exhaustive()
    }
}

/// An instance on the synchronous engine.
struct SyncInstance {
    store: Store<GuestState>,
    handler: Box<dyn Handler>,
}

impl Instance for SyncInstance {
    fn role(&self) -> Role {
        Role::Admission
    }

    fn memory_bytes(&self) -> usize {
        self.store.data().limits.memory_bytes()
    }
}

/// What a call came to, and what it took.
pub(crate) struct Called<T> {
    pub(crate) result: Result<T, CallError>,
    /// What the contract doesn't allow of the answer, of which the host made one that it does.
    pub(crate) fault: Option<String>,
    /// What stands next to the answer.
    pub(crate) remarks: Remarks,
    pub(crate) memory_bytes_peak: usize,
    /// CPU time, where it was measured.
    pub(crate) cpu: Duration,
    /// How long it waited for its turn and a thread, where it had to.
    pub(crate) waited: Duration,
}

impl<T> Called<T> {
    /// Why there was no call.
    pub(crate) fn without_call(error: CallError) -> Self {
        Self {
            result: Err(error),
            fault: None,
            remarks: Remarks::default(),
            memory_bytes_peak: 0,
            cpu: Duration::ZERO,
            waited: Duration::ZERO,
        }
    }

    /// The result by the contract's word: an answer that it doesn't allow is none.
    pub(crate) fn strict(self) -> Result<T, CallError> {
        match self.fault {
            Some(fault) => Err(CallError::BadAnswer { fault }),
            None => self.result,
        }
    }
}

impl SyncPlugin {
    /// `memories` are those of one instance.
    pub(crate) fn new(
        spec: &Spec,
        given: &GuestServices,
        timeout: Duration,
        pre: Box<dyn HandlerPre>,
        limits: Limits,
        memories: u32,
        caller: &Caller,
    ) -> Self {
        let warm_slots = caller.warm_slots.clone();
        Self {
            log: GuestLog::new(spec.name.clone(), given.log.clone()),
            config: spec.config.clone(),
            pre,
            limits,
            timeout,
            prolongs_calls: given.prolongs_calls,
            secrets: GrantedSecrets::new(given.secrets.clone(), spec.grants.secrets.clone()),
            data: spec.data.clone(),
            metrics: given.metrics.plugin(&spec.name).custom().clone(),
            node: given.node.clone(),
            clock_ahead: given.clock_ahead,
            random_salt: given.random_salt.clone(),
            pool: InstancePool::new(spec.warm, limits.memory_bytes_max, memories, warm_slots),
        }
    }

    /// Returns how many instances are kept.
    pub(crate) fn warm(&self) -> usize {
        self.pool.count(Role::Admission)
    }

    /// See [`InstancePool::shrink`].
    pub(crate) fn shrink(&self, now: Instant) {
        self.pool.shrink(now);
    }

    /// See [`InstancePool::retire`].
    pub(crate) fn retire(&self) {
        self.pool.retire();
    }

    /// How long a call is waited for at most that `prolongs`, which may go on while other programs have the processors.
    fn wait(&self, prolongs: bool) -> CallWait {
        let timeout = self.timeout;
        let most = if prolongs { timeout * (PROLONGATIONS_MAX + 1) } else { timeout };
        CallWait { start: None, most, timeout }
    }

    fn store(&self, caller: &Caller, now: jiff::Timestamp, prolongs: bool) -> Store<GuestState> {
        let limits = StoreLimits::new(self.limits);
        let mut state = GuestState::new(limits, self.log.of_instance(), self.config.clone(), now);
        state.secrets = self.secrets.clone();
        state.data = self.data.clone();
        state.metrics = self.metrics.clone();
        state.node = self.node.clone();
        state.random_salt = self.random_salt.clone();
        let mut store = Store::new(&caller.engine, state);
        store.limiter(|state| &mut state.limits);
        store.set_hostcall_fuel(self.limits.hostcall_bytes_max);
        store.set_max_component_handles(HANDLES_MAX);
        if prolongs {
            let (timeout, period) = (self.timeout, caller.ticker.period());
            store.epoch_deadline_callback(move |mut store| {
                let more = more_time(timeout, store.data_mut().progress());
                more.map(|more| UpdateDeadline::Continue(epochs(more, period))).ok_or(Trap::Interrupt.into())
            });
        } else {
            store.epoch_deadline_trap();
        }
        store
    }

    fn failed<T>(&self, error: &wasmtime::Error, state: &GuestState) -> Called<T> {
        let error = classify(error, state.limits.hit(), &self.limits, self.timeout);
        Called { memory_bytes_peak: state.limits.memory_bytes_peak(), ..Called::without_call(error) }
    }
}

/// How much longer a call may run whose time is over; none if that was its own doing. A handler waits for nothing, so what it
/// didn't use of a processor by now others had.
fn more_time(timeout: Duration, progress: CallProgress) -> Option<Duration> {
    let CallProgress { cpu, prolongations } = progress;
    let is_crowded = cpu < timeout * 3 / 4 && prolongations < PROLONGATIONS_MAX;
    is_crowded.then(|| timeout - cpu)
}

/// Gives the engine's error its name. `hit` is the limit that the guest ran into, `timeout` what it was given.
pub(super) fn classify(
    error: &wasmtime::Error,
    hit: Option<LimitHit>,
    limits: &Limits,
    timeout: Duration,
) -> CallError {
    if let Some(unfit) = error.downcast_ref::<Unfit>() {
        return CallError::Mismatch { message: printable(&unfit.0, MESSAGE_BYTES_MAX) };
    }
    if error.downcast_ref::<PoolConcurrencyLimitError>().is_some() {
        return CallError::Busy;
    }
    match error.downcast_ref::<Trap>() {
        Some(Trap::Interrupt) => return CallError::Timeout { limit: timeout },
        Some(Trap::StackOverflow) => return CallError::StackOverflow,
        Some(_) | None => {}
    }
    // A guest that isn't given memory mostly ends by itself, be it that it traps, exits or waits for its last words to be taken, as Go's
    // runtime does: the limit is the reason.
    match hit {
        Some(LimitHit::Memory) => return CallError::OutOfMemory { limit: limits.memory_bytes_max },
        Some(LimitHit::Table) => return CallError::OutOfTable { limit: limits.table_elements_max },
        None => {}
    }
    if let Some(waited) = error.downcast_ref::<WouldBlock>() {
        return CallError::WouldBlock(WaitedIn::new(*waited));
    }
    if let Some(exit) = error.downcast_ref::<wasmtime_wasi::I32Exit>() {
        return CallError::Exited { code: exit.0 };
    }
    // The innermost cause says what; those around it are a backtrace of many lines.
    let message = error.root_cause().to_string();
    // The engine has no type for it.
    if message.contains("fuel allocated for hostcalls has been exhausted") {
        return CallError::TooMuchData { limit: limits.hostcall_bytes_max };
    }
    CallError::Trap { message: printable(&message, MESSAGE_BYTES_MAX) }
}

/// Returns what a guest replied, refusals and replies that the contract doesn't allow as errors.
pub(super) fn reply_result<T>(reply: Reply<T>) -> Result<T, CallError> {
    match reply {
        Reply::Answer(answer) | Reply::Sanitized { answer, .. } => Ok(answer),
        Reply::Refusal(words) => Err(CallError::Refused { words: printable(&words, MESSAGE_BYTES_MAX) }),
        Reply::Malformed(fault) => Err(CallError::BadAnswer { fault: printable(&fault, MESSAGE_BYTES_MAX) }),
    }
}

/// Whether a call ended because the instance had no memory or table elements left. What other calls left behind may be why:
/// a fresh instance has all of them.
pub(super) fn ran_out<T>(result: &Result<T, CallError>) -> bool {
    matches!(result, Err(CallError::OutOfMemory { .. } | CallError::OutOfTable { .. }))
}

/// Calls plugin on an engine, synchronously on the thread it is given.
#[derive(Clone)]
pub(crate) struct Caller {
    engine: Engine,
    ticker: Arc<EpochTicker>,
    workers: Arc<Semaphore>,
    validators: Arc<Semaphore>,
    shadows: Arc<Semaphore>,
    /// Slots that kept instances may hold together.
    warm_slots: Arc<Semaphore>,
    clock: Arc<dyn Clock>,
}

impl Caller {
    pub(crate) fn new(engine: Engine, ticker: Arc<EpochTicker>, clock: Arc<dyn Clock>) -> Self {
        let workers = Arc::new(Semaphore::new(WORKERS_MAX));
        let validators = Arc::new(Semaphore::new(VALIDATORS_MAX));
        let warm_slots = Arc::new(Semaphore::new(WARM_SLOTS_MAX));
        let shadows = Arc::new(Semaphore::new(SHADOWS_MAX));
        Self { engine, ticker, workers, validators, shadows, warm_slots, clock }
    }

    /// Asks the plugin whether it is content with its configuration, and about what it is to be asked. It is judged by its own time: no pod
    /// waits for this answer, while one that a busy machine cut short keeps the plugin out until it is tried again.
    pub(crate) async fn validate(&self, plugin: &Arc<SyncPlugin>) -> Result<Setup, CallError> {
        let caller = self.clone();
        let plugin = plugin.clone();
        // However long the others take, no one waits for this one.
        let permit = self.validators.clone().acquire_owned().await.map_err(|_closed| CallError::Host)?;
        on_thread(permit, plugin.wait(true), move || caller.validate_here(&plugin)).await?.result
    }

    /// Asks the plugin about a pod. Returns within twice the time that a call is waited for and [`WALL_SLACK`]: once for its turn and
    /// a thread, once for the answer.
    pub(crate) async fn admit(
        &self,
        plugin: &Arc<SyncPlugin>,
        facts: &Arc<RequestFacts>,
    ) -> Result<Called<Verdict>, CallError> {
        let caller = self.clone();
        let plugin = plugin.clone();
        let facts = facts.clone();
        let asked = Instant::now();
        let wait = plugin.wait(plugin.prolongs_calls).beginning(asked);
        // No turn for so long says nothing about this plugin: others hold them.
        let permit = tokio::time::timeout(wait.most, self.workers.clone().acquire_owned())
            .await
            .map_err(|_elapsed| CallError::Busy)?
            .map_err(|_closed| CallError::Host)?;
        on_thread(permit, wait, move || caller.admit_measured(&plugin, &facts, asked)).await
    }

    /// Asks a shadow about a pod, one shadow at a time, on a thread that no verdict that counts waits for.
    pub(crate) async fn admit_shadow(
        &self,
        plugin: &Arc<SyncPlugin>,
        facts: &Arc<RequestFacts>,
    ) -> Result<Called<Verdict>, CallError> {
        let (caller, plugin, facts) = (self.clone(), plugin.clone(), facts.clone());
        let asked = Instant::now();
        let permit = self.shadows.clone().acquire_owned().await.map_err(|_closed| CallError::Host)?;
        let wait = plugin.wait(plugin.prolongs_calls);
        on_thread(permit, wait, move || caller.admit_measured(&plugin, &facts, asked)).await
    }

    /// As [`Self::admit_here`], with the CPU time and the time since it was asked for.
    fn admit_measured(
        &self,
        plugin: &SyncPlugin,
        facts: &Arc<RequestFacts>,
        asked: Instant,
    ) -> Called<Verdict> {
        let (waited, before) = (asked.elapsed(), thread_cpu());
        let called = self.admit_here(plugin, facts);
        Called { cpu: thread_cpu().saturating_sub(before), waited, ..called }
    }

    fn validate_here(&self, plugin: &SyncPlugin) -> Called<Setup> {
        let _ticking = self.ticker.ticking();
        let now = self.clock.now();
        // A time that can't be represented is the newest that can.
        let now = now.checked_add(plugin.clock_ahead).unwrap_or(jiff::Timestamp::MAX);
        let mut store = plugin.store(self, now, true);
        store.set_epoch_deadline(self.ticker.deadline(plugin.timeout));
        let replied = plugin
            .pre
            .instantiate(&mut store)
            .and_then(|handler| handler.validate(&mut store, &plugin.config));
        store.data().log.end();
        match replied {
            Ok(reply) => finish(reply, Remarks::default(), &store),
            Err(error) => plugin.failed(&error, store.data()),
        }
    }

    /// Asks on the caller's own thread: for benchmarks, and for [`Self::admit`].
    pub(crate) fn admit_here(&self, plugin: &SyncPlugin, facts: &Arc<RequestFacts>) -> Called<Verdict> {
        let _ticking = self.ticker.ticking();
        if let Some(pooled) = plugin.pool.take(Role::Admission) {
            let called = self.ask(plugin, pooled, facts);
            if !ran_out(&called.result) {
                return called;
            }
        }
        let mut store = plugin.store(self, facts.now, plugin.prolongs_calls);
        store.data_mut().begin(facts.clone());
        // One deadline for instantiation and call together.
        store.set_epoch_deadline(self.ticker.deadline(plugin.timeout));
        match plugin.pre.instantiate(&mut store) {
            Ok(handler) => ask_begun(plugin, Pooled::new(SyncInstance { store, handler })),
            Err(error) => plugin.failed(&error, store.data()),
        }
    }

    fn ask(
        &self,
        plugin: &SyncPlugin,
        mut pooled: Pooled<SyncInstance>,
        facts: &Arc<RequestFacts>,
    ) -> Called<Verdict> {
        let store = &mut pooled.instance.store;
        store.data_mut().begin(facts.clone());
        store.set_epoch_deadline(self.ticker.deadline(plugin.timeout));
        ask_begun(plugin, pooled)
    }
}

fn ask_begun(plugin: &SyncPlugin, mut pooled: Pooled<SyncInstance>) -> Called<Verdict> {
    let SyncInstance { store, handler } = &mut pooled.instance;
    let replied = handler.admit(&mut *store);
    store.data_mut().end();
    match replied {
        Ok(Answered { reply, remarks }) => {
            let called = finish(reply, remarks, store);
            plugin.pool.keep(pooled);
            called
        }
        // An instance that trapped can't be entered again.
        Err(error) => plugin.failed(&error, store.data()),
    }
}

/// How long a call is waited for.
#[derive(Clone, Copy)]
struct CallWait {
    /// Until when it must have begun; none if it may begin whenever there is a thread.
    start: Option<Instant>,
    /// Once it has begun, until it is given up.
    most: Duration,
    /// What it was given.
    timeout: Duration,
}

impl CallWait {
    /// For a call that has to begin, too: within the same time, which is longer where others may have the processor.
    fn beginning(self, now: Instant) -> Self {
        Self { start: Some(now + self.most), ..self }
    }
}

/// Runs a call on a thread of the runtime's. The thread and its permit are held until the call ends, though its caller
/// may have given up before; so no more threads can hang than there are permits.
async fn on_thread<T: Send + 'static>(
    permit: OwnedSemaphorePermit,
    wait: CallWait,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, CallError> {
    let (begun, begins) = oneshot::channel();
    let task = tokio::task::spawn_blocking(move || {
        // The caller may have given up.
        let _no_one_waits = begun.send(());
        let result = work();
        drop(permit);
        result
    });
    // All threads may be held by other work, such as writes to a slow disk: that is no answer of this plugin's.
    if let Some(start) = wait.start
        && tokio::time::timeout_at(start, begins).await.is_err()
    {
        task.abort();
        return Err(CallError::Busy);
    }
    match tokio::time::timeout(wait.most + WALL_SLACK, task).await {
        Ok(Ok(result)) => Ok(result),
        Ok(Err(error)) => {
            tracing::error!(%error, "Plugin call ended its thread");
            Err(CallError::Host)
        }
        Err(_elapsed) => Err(CallError::Timeout { limit: wait.timeout }),
    }
}

fn finish<T>(reply: Reply<T>, remarks: Remarks, store: &Store<GuestState>) -> Called<T> {
    let memory_bytes_peak = store.data().limits.memory_bytes_peak();
    let fault = match &reply {
        Reply::Sanitized { fault, .. } => Some(printable(fault, MESSAGE_BYTES_MAX)),
        Reply::Answer(_) | Reply::Refusal(_) | Reply::Malformed(_) => None,
    };
    let (cpu, waited) = (Duration::ZERO, Duration::ZERO);
    Called { result: reply_result(reply), fault, remarks, memory_bytes_peak, cpu, waited }
}
