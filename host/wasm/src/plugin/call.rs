//! Calls into a plugin: a fresh or warm instance, a deadline around everything, and errors that say what happened.

mod error;

pub use error::{CallError, WaitedIn};

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;
use wasmtime::{Engine, PoolConcurrencyLimitError, Store, Trap};
use witlet_core::admission::Verdict;
use witlet_ports::Clock;

use super::Spec;
use super::config::Warm;
use crate::engine::POOL_SLOTS;
use crate::guest::{Given, GrantedSecrets, GuestLog, GuestState, printable};
use crate::limits::{EpochTicker, HANDLES_MAX, LimitHit, Limits, StoreLimits};
use crate::wasi::WouldBlock;
use crate::worlds::Unfit;
use crate::worlds::admission::facts::RequestFacts;
use crate::worlds::admission::{Handler, HandlerPre, MESSAGE_BYTES_MAX, Reply};

/// Questions about pods that may run at once, each on a thread of its own.
pub(crate) const WORKERS_MAX: usize = 4;
/// Plugins that may validate their configuration at once, on other threads than those: plugins that hang while they
/// are loaded keep nobody else from answering.
pub(crate) const VALIDATORS_MAX: usize = 2;
/// Shadows that are asked at once, on another thread than those.
pub(crate) const SHADOWS_MAX: usize = 1;
/// How many slots of the pool's memories instances may hold while they wait for their next call; the rest is for fresh
/// ones.
pub(crate) const WARM_MEMORIES_MAX: usize = POOL_SLOTS as usize / 2;
/// Time between two ticks of the epoch: how exactly a guest's deadline is kept.
pub(crate) const EPOCH_PERIOD: Duration = Duration::from_millis(2);
/// How long after its deadline a call is given up that the epoch didn't end, because it isn't in the guest.
pub(crate) const WALL_SLACK: Duration = Duration::from_millis(50);

/// A linked handler with its limits, and the instances of it that wait for their next call.
pub(crate) struct InstancePool {
    log: GuestLog,
    config: Arc<str>,
    pre: HandlerPre,
    limits: Limits,
    timeout: Duration,
    warm: Option<Warm>,
    secrets: GrantedSecrets,
    /// How much later than it is `validate` is told that it is.
    clock_ahead: Duration,
    /// Goes into random numbers.
    random_salt: Arc<str>,
    /// Of one instance.
    memories: u32,
    idle: Mutex<Idle>,
}

impl fmt::Debug for InstancePool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InstancePool").field("name", &self.log.plugin()).finish_non_exhaustive()
    }
}

/// Instances that wait for their next call.
#[derive(Default)]
struct Idle {
    guests: Vec<Guest>,
    /// Nothing is kept any more: another version of the plugin runs.
    retired: bool,
}

/// One instance.
struct Guest {
    store: Store<GuestState>,
    handler: Handler,
    uses: u64,
    last_used: Instant,
    /// Its share of [`WARM_MEMORIES_MAX`], once it was kept.
    share: Option<OwnedSemaphorePermit>,
}

/// What a call came to, and what it took.
pub(crate) struct Called<T> {
    pub(crate) result: Result<T, CallError>,
    pub(crate) memory_bytes_peak: usize,
    /// CPU time, where it was measured.
    pub(crate) cpu: Duration,
}

impl InstancePool {
    pub(crate) fn new(
        spec: &Spec,
        given: &Given,
        timeout: Duration,
        pre: HandlerPre,
        limits: Limits,
        memories: u32,
    ) -> Self {
        Self {
            log: GuestLog::new(spec.name.clone(), given.log.clone()),
            config: spec.config.clone(),
            pre,
            limits,
            timeout,
            warm: spec.warm,
            secrets: GrantedSecrets::new(given.secrets.clone(), spec.grants.secrets.clone()),
            clock_ahead: given.clock_ahead,
            random_salt: given.random_salt.clone(),
            memories,
            idle: Mutex::default(),
        }
    }

    /// How many instances wait.
    pub(crate) fn warm(&self) -> usize {
        self.idle().guests.len()
    }

    /// Drops instances that have waited too long.
    pub(crate) fn shrink(&self, now: Instant) {
        let Some(warm) = &self.warm else { return };
        self.idle().guests.retain(|guest| now.saturating_duration_since(guest.last_used) < warm.idle);
    }

    /// Drops all instances that wait, and keeps none from now on: neither those that are in use now.
    pub(crate) fn retire(&self) {
        let mut idle = self.idle();
        idle.retired = true;
        let dropped = std::mem::take(&mut idle.guests);
        // Unmapping them takes time that a call needn't wait for.
        drop(idle);
        drop(dropped);
    }

    fn idle(&self) -> MutexGuard<'_, Idle> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take_warm(&self) -> Option<Guest> {
        self.idle().guests.pop()
    }

    /// Keeps an instance for the next call, unless it has served its time, has grown too large, or there are enough, of
    /// this plugin's or of all together.
    fn keep(&self, mut guest: Guest, shares: &Arc<Semaphore>) {
        let Some(warm) = &self.warm else { return };
        guest.uses += 1;
        let memory = guest.store.data().limits.memory_bytes();
        if guest.uses >= warm.uses || has_grown(memory, self.limits.memory_bytes_max) {
            return;
        }
        if guest.share.is_none() {
            match shares.clone().try_acquire_many_owned(self.memories.max(1)) {
                Ok(share) => guest.share = Some(share),
                Err(_none_left) => return,
            }
        }
        guest.last_used = Instant::now();
        let mut idle = self.idle();
        if !idle.retired && idle.guests.len() < warm.max {
            idle.guests.push(guest);
        }
    }

    fn store(&self, engine: &Engine, now: jiff::Timestamp) -> Store<GuestState> {
        let limits = StoreLimits::new(self.limits);
        let mut state = GuestState::new(limits, self.log.of_instance(), self.config.clone(), now);
        state.secrets = self.secrets.clone();
        state.random_salt = self.random_salt.clone();
        let mut store = Store::new(engine, state);
        store.limiter(|state| &mut state.limits);
        store.set_hostcall_fuel(self.limits.hostcall_bytes_max);
        store.set_max_component_handles(HANDLES_MAX);
        store.epoch_deadline_trap();
        store
    }

    fn failed<T>(&self, error: &wasmtime::Error, state: &GuestState) -> Called<T> {
        Called {
            result: Err(classify(error, state.limits.hit(), &self.limits, self.timeout)),
            memory_bytes_peak: state.limits.memory_bytes_peak(),
            cpu: Duration::ZERO,
        }
    }
}

/// Gives the engine's error its name. `hit` is the limit that the guest ran into, `timeout` what it was given.
pub(super) fn classify(
    error: &wasmtime::Error,
    hit: Option<LimitHit>,
    limits: &Limits,
    timeout: Duration,
) -> CallError {
    if let Some(waited) = error.downcast_ref::<WouldBlock>() {
        return CallError::WouldBlock(WaitedIn::new(*waited));
    }
    if let Some(exit) = error.downcast_ref::<wasmtime_wasi::I32Exit>() {
        return CallError::Exited { code: exit.0 };
    }
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
    // A guest that isn't given memory mostly traps by itself: the limit is the reason.
    match hit {
        Some(LimitHit::Memory) => return CallError::OutOfMemory { limit: limits.memory_bytes_max },
        Some(LimitHit::Table) => return CallError::OutOfTable { limit: limits.table_elements_max },
        None => {}
    }
    // The innermost cause says what; those around it are a backtrace of many lines.
    let message = error.root_cause().to_string();
    // The engine has no type for it.
    if message.contains("fuel allocated for hostcalls has been exhausted") {
        return CallError::TooMuchData { limit: limits.hostcall_bytes_max };
    }
    CallError::Trap { message: printable(&message, MESSAGE_BYTES_MAX) }
}

/// Whether an instance with this much memory isn't worth keeping: the next call would soon run into the limit. Above three
/// quarters of the limit it is dropped.
pub(crate) fn has_grown(memory_bytes: usize, limit: usize) -> bool {
    memory_bytes > limit / 4 * 3
}

/// Calls guests on an engine, synchronously on the thread it is given.
#[derive(Clone)]
pub(crate) struct Caller {
    engine: Engine,
    ticker: Arc<EpochTicker>,
    workers: Arc<Semaphore>,
    validators: Arc<Semaphore>,
    shadows: Arc<Semaphore>,
    shares: Arc<Semaphore>,
    clock: Arc<dyn Clock>,
}

impl Caller {
    pub(crate) fn new(engine: Engine, ticker: Arc<EpochTicker>, clock: Arc<dyn Clock>) -> Self {
        let workers = Arc::new(Semaphore::new(WORKERS_MAX));
        let validators = Arc::new(Semaphore::new(VALIDATORS_MAX));
        let shares = Arc::new(Semaphore::new(WARM_MEMORIES_MAX));
        let shadows = Arc::new(Semaphore::new(SHADOWS_MAX));
        Self { engine, ticker, workers, validators, shadows, shares, clock }
    }

    /// Asks the plugin whether it is content with its configuration.
    pub(crate) async fn validate(&self, guests: &Arc<InstancePool>) -> Result<(), CallError> {
        let caller = self.clone();
        let guests = guests.clone();
        // However long the others take, nobody waits for this one.
        let permit = self.validators.clone().acquire_owned().await.map_err(|_closed| CallError::Host)?;
        on_thread(permit, guests.timeout, move || caller.validate_here(&guests)).await?.result
    }

    /// Asks the plugin about a pod. Returns within twice its deadline and [`WALL_SLACK`]: once for a thread, once for
    /// the answer.
    pub(crate) async fn admit(
        &self,
        guests: &Arc<InstancePool>,
        facts: &Arc<RequestFacts>,
    ) -> Result<Called<Verdict>, CallError> {
        let caller = self.clone();
        let guests = guests.clone();
        let facts = facts.clone();
        // No thread for so long says nothing about this plugin: others hold them.
        let permit = tokio::time::timeout(guests.timeout, self.workers.clone().acquire_owned())
            .await
            .map_err(|_elapsed| CallError::Busy)?
            .map_err(|_closed| CallError::Host)?;
        on_thread(permit, guests.timeout, move || caller.admit_measured(&guests, &facts)).await
    }

    /// Asks a shadow about a pod, one shadow at a time, on a thread that no verdict that counts waits for.
    pub(crate) async fn admit_shadow(
        &self,
        guests: &Arc<InstancePool>,
        facts: &Arc<RequestFacts>,
    ) -> Result<Called<Verdict>, CallError> {
        let (caller, guests, facts) = (self.clone(), guests.clone(), facts.clone());
        let permit = self.shadows.clone().acquire_owned().await.map_err(|_closed| CallError::Host)?;
        on_thread(permit, guests.timeout, move || caller.admit_measured(&guests, &facts)).await
    }

    /// As [`Self::admit_here`], with the CPU time.
    pub(crate) fn admit_measured(&self, guests: &InstancePool, facts: &Arc<RequestFacts>) -> Called<Verdict> {
        let before = thread_cpu();
        let called = self.admit_here(guests, facts);
        Called { cpu: thread_cpu().saturating_sub(before), ..called }
    }

    fn validate_here(&self, guests: &InstancePool) -> Called<()> {
        let _ticking = self.ticker.ticking();
        let now = self.clock.now();
        // A time that can't be told is the newest that can.
        let now = now.checked_add(guests.clock_ahead).unwrap_or(jiff::Timestamp::MAX);
        let mut store = guests.store(&self.engine, now);
        store.set_epoch_deadline(self.ticker.deadline(guests.timeout));
        let replied = guests
            .pre
            .instantiate(&mut store)
            .and_then(|handler| handler.validate(&mut store, &guests.config));
        store.data().log.end();
        match replied {
            Ok(reply) => finish(reply, &store),
            Err(error) => guests.failed(&error, store.data()),
        }
    }

    /// Asks on the caller's own thread: for benchmarks, and for [`Self::admit`].
    pub(crate) fn admit_here(&self, guests: &InstancePool, facts: &Arc<RequestFacts>) -> Called<Verdict> {
        let _ticking = self.ticker.ticking();
        if let Some(guest) = guests.take_warm() {
            let called = self.ask(guests, guest, facts);
            // What other questions left behind may be why it ran out: a fresh instance has the whole memory.
            if !matches!(called.result, Err(CallError::OutOfMemory { .. } | CallError::OutOfTable { .. })) {
                return called;
            }
        }
        let mut store = guests.store(&self.engine, facts.now);
        store.data_mut().begin(facts.clone());
        // One deadline for instantiation and call together.
        store.set_epoch_deadline(self.ticker.deadline(guests.timeout));
        match guests.pre.instantiate(&mut store) {
            Ok(handler) => {
                let guest = Guest { store, handler, uses: 0, last_used: Instant::now(), share: None };
                self.ask_begun(guests, guest)
            }
            Err(error) => guests.failed(&error, store.data()),
        }
    }

    fn ask(&self, guests: &InstancePool, mut guest: Guest, facts: &Arc<RequestFacts>) -> Called<Verdict> {
        guest.store.data_mut().begin(facts.clone());
        guest.store.set_epoch_deadline(self.ticker.deadline(guests.timeout));
        self.ask_begun(guests, guest)
    }

    fn ask_begun(&self, guests: &InstancePool, mut guest: Guest) -> Called<Verdict> {
        let replied = guest.handler.admit(&mut guest.store);
        guest.store.data_mut().end();
        match replied {
            Ok(reply) => {
                let called = finish(reply, &guest.store);
                guests.keep(guest, &self.shares);
                called
            }
            // An instance that trapped can't be entered again.
            Err(error) => guests.failed(&error, guest.store.data()),
        }
    }
}

/// CPU time that this thread has used.
fn thread_cpu() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    // Neither is ever negative, and nanoseconds are less than a second.
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Runs a call on a thread of the runtime's. The thread and its permit are held until the call ends, though its caller
/// may have given up before; so no more threads can hang than there are permits.
async fn on_thread<T: Send + 'static>(
    permit: OwnedSemaphorePermit,
    limit: Duration,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, CallError> {
    let task = tokio::task::spawn_blocking(move || {
        let result = work();
        drop(permit);
        result
    });
    match tokio::time::timeout(limit + WALL_SLACK, task).await {
        Ok(Ok(result)) => Ok(result),
        Ok(Err(error)) => {
            tracing::error!(%error, "a call into a plugin ended the host's thread");
            Err(CallError::Host)
        }
        Err(_elapsed) => Err(CallError::Timeout { limit }),
    }
}

fn finish<T>(reply: Reply<T>, store: &Store<GuestState>) -> Called<T> {
    let result = match reply {
        Reply::Answer(answer) => Ok(answer),
        Reply::Refusal(words) => Err(CallError::Refused { words: printable(&words, MESSAGE_BYTES_MAX) }),
        Reply::Malformed(fault) => Err(CallError::BadAnswer { fault: printable(&fault, MESSAGE_BYTES_MAX) }),
    };
    let memory_bytes_peak = store.data().limits.memory_bytes_peak();
    Called { result, memory_bytes_peak, cpu: Duration::ZERO }
}
