//! Calls of systemd's manager over D-Bus, each bounded in time, on one connection that is made again when it breaks.

use std::fmt;
use std::io;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use serde::Serialize;
use tokio::sync::broadcast;
use tokio::task::JoinSet;
use tokio::time::timeout;
use witlet_core::cgroup::{UnitProperty, UnitValue, systemd_release};
use witlet_core::container::backoff::BackoffPolicy;
use witlet_ports::CgroupError;
use zbus::message::Type as MessageType;
use zbus::{
    Connection, DBusError as _, DynamicType, MatchRule, Message, MessageStream, ObjectPath, OwnedObjectPath,
    OwnedVariant, Variant, connection,
};

use super::private::{NAME, PrivateSocket};

const PATH: &str = "/org/freedesktop/systemd1";
const MANAGER: &str = "org.freedesktop.systemd1.Manager";
const PROPERTIES: &str = "org.freedesktop.DBus.Properties";
const UNIT_EXISTS: &str = "org.freedesktop.systemd1.UnitExists";
/// What happens to a job of the same unit that waits: it goes.
const REPLACE: &str = "replace";
/// How a job ends that did what it was to do.
const DONE: &str = "done";
/// An answer, and a connection, take no longer than this.
const CALL_TIMEOUT: Duration = Duration::from_secs(30);
/// A job takes no longer than this (upstream: the same).
const JOB_TIMEOUT: Duration = Duration::from_secs(30);
/// A socket whose queue is full is tried this often (upstream: the same).
const DIALS_MAX: u32 = 7;
/// The pauses between them.
const DIAL_PAUSES: BackoffPolicy =
    BackoffPolicy { initial: Duration::from_millis(100), max: Duration::from_millis(3200) };
/// A call is made again on a new connection this often; a restarting systemd breaks one.
const REDIALS_MAX: u32 = 3;
/// How many ended jobs a call that waits for its own may be behind by.
const JOBS_MAX: usize = 1024;

/// Where systemd is reached.
#[derive(Clone, Debug)]
pub(super) enum Address {
    /// On the system's message bus.
    SystemBus,
    /// On a socket of its own.
    Private(PathBuf),
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SystemBus => f.write_str("the message bus"),
            Self::Private(path) => write!(f, "{}", path.display()),
        }
    }
}

/// Asks systemd for what is to be done to units.
pub(super) struct Systemd {
    addresses: Vec<Address>,
    session: tokio::sync::Mutex<Option<Arc<Session>>>,
}

/// One connection.
struct Session {
    connection: Connection,
    release: u32,
    /// Jobs that ended, from the task that receives them. Closed with the connection.
    ended: broadcast::Receiver<JobEnd>,
    _reader: JoinSet<()>,
}

#[derive(Clone, Debug)]
struct JobEnd {
    job: OwnedObjectPath,
    result: String,
}

/// Why a call gave nothing.
enum CallError {
    /// systemd isn't reached at all.
    Away(CgroupError),
    /// It is to be made again on a new connection.
    Closed(String),
    /// systemd's answer, by the name of the error.
    Refused { name: String, problem: String },
    /// No answer, or one that can't be read.
    Failed(String),
}

impl CallError {
    fn of(self, call: &'static str, unit: &str) -> CgroupError {
        match self {
            Self::Away(error) => error,
            Self::Closed(problem) | Self::Failed(problem) => failed(call, unit, problem),
            Self::Refused { name, problem } => failed(call, unit, format!("{name}: {problem}")),
        }
    }
}

/// How a job ended; none if it took too long.
type JobResult = Option<String>;

impl Systemd {
    pub(super) fn new(addresses: Vec<Address>) -> Self {
        Self { addresses, session: tokio::sync::Mutex::default() }
    }

    /// Returns its release; 0 if it says none.
    pub(super) async fn release(&self) -> Result<u32, CgroupError> {
        Ok(self.session().await?.release)
    }

    /// Starts a transient unit, and waits until it is there. One that is there already is fine.
    pub(super) async fn start(&self, unit: &str, properties: &[UnitProperty]) -> Result<(), CgroupError> {
        const CALL: &str = "StartTransientUnit";
        // No other units are made with it.
        let others: Vec<(&str, Vec<(&str, Variant<'_>)>)> = Vec::new();
        let problem = match self.job(CALL, &(unit, REPLACE, on_the_wire(properties), others)).await {
            Ok(Some(result)) if result == DONE => return Ok(()),
            Err(CallError::Refused { name, .. }) if name == UNIT_EXISTS => return Ok(()),
            Err(error) => return Err(error.of(CALL, unit)),
            Ok(Some(result)) => format!("error creating systemd unit `{unit}`: got `{result}`"),
            Ok(None) => format!("Timeout waiting for systemd to create {unit}"),
        };
        self.reset_failed(unit).await;
        Err(failed(CALL, unit, problem))
    }

    /// Sets properties of a unit until it ends.
    pub(super) async fn set(&self, unit: &str, properties: &[UnitProperty]) -> Result<(), CgroupError> {
        const CALL: &str = "SetUnitProperties";
        let is_runtime = true;
        let set = self.call(CALL, &(unit, is_runtime, on_the_wire(properties))).await;
        set.map_err(|error| error.of(CALL, unit))
    }

    /// Stops a unit, and waits until it is gone. One that isn't there is fine.
    pub(super) async fn stop(&self, unit: &str) -> Result<(), CgroupError> {
        const CALL: &str = "StopUnit";
        match self.job(CALL, &(unit, REPLACE)).await {
            Ok(Some(result)) if result == DONE => {}
            Ok(Some(result)) => tracing::warn!(unit, result, "Failed to remove systemd unit"),
            Ok(None) => {
                let problem = format!("Timed out while waiting for systemd to remove {unit}");
                return Err(failed(CALL, unit, problem));
            }
            // As upstream has it: whatever it is, the folders are removed.
            Err(CallError::Refused { name, problem }) => {
                tracing::debug!(unit, name, problem, "No unit to stop");
            }
            Err(error) => return Err(error.of(CALL, unit)),
        }
        self.reset_failed(unit).await;
        Ok(())
    }

    /// A failed unit stays until it is reset. One that hasn't failed is left as it is.
    async fn reset_failed(&self, unit: &str) {
        const CALL: &str = "ResetFailedUnit";
        if let Err(error) = self.call(CALL, &(unit,)).await {
            tracing::debug!(error = %error.of(CALL, unit), "No failed unit to reset");
        }
    }

    /// Makes a call, again on a new connection if the one before broke.
    async fn call<B>(&self, member: &'static str, body: &B) -> Result<(), CallError>
    where
        B: Serialize + DynamicType + Sync,
    {
        let mut redials = 0;
        loop {
            let session = self.session().await.map_err(CallError::Away)?;
            match session.call(MANAGER, member, body).await {
                Err(CallError::Closed(_)) if redials < REDIALS_MAX => self.forget(&session).await,
                answer => return answer.map(|_| ()),
            }
            redials += 1;
        }
    }

    /// As [`Systemd::call`], and waits for the end of the job that it gives.
    async fn job<B>(&self, member: &'static str, body: &B) -> Result<JobResult, CallError>
    where
        B: Serialize + DynamicType + Sync,
    {
        let mut redials = 0;
        loop {
            let session = self.session().await.map_err(CallError::Away)?;
            match session.job(member, body).await {
                Err(CallError::Closed(_)) if redials < REDIALS_MAX => self.forget(&session).await,
                ended => return ended,
            }
            redials += 1;
        }
    }

    /// The connection, made if there is none or the one before broke.
    async fn session(&self) -> Result<Arc<Session>, CgroupError> {
        let mut session = self.session.lock().await;
        if let Some(session) = session.as_ref().filter(|session| !session.connection.is_closed()) {
            return Ok(session.clone());
        }
        let made = Arc::new(self.dial().await?);
        *session = Some(made.clone());
        Ok(made)
    }

    /// The next call makes a new connection, unless another one has made it already.
    async fn forget(&self, broken: &Arc<Session>) {
        let mut session = self.session.lock().await;
        if session.as_ref().is_some_and(|current| Arc::ptr_eq(current, broken)) {
            *session = None;
        }
    }

    /// Tries the addresses in order, again while their queues are full.
    async fn dial(&self) -> Result<Session, CgroupError> {
        let mut tries = 1;
        loop {
            let mut problems = Vec::new();
            let mut is_full = false;
            for address in &self.addresses {
                match Session::open(address).await {
                    Ok(session) => return Ok(session),
                    Err(error) => {
                        is_full |= kind(&error) == Some(io::ErrorKind::WouldBlock);
                        problems.push(format!("{address}: {error}"));
                    }
                }
            }
            if !is_full || tries >= DIALS_MAX {
                return Err(CgroupError::SystemdAway { problem: problems.join("; ") });
            }
            tokio::time::sleep(DIAL_PAUSES.after(tries)).await;
            tries += 1;
        }
    }
}

impl Session {
    async fn open(address: &Address) -> zbus::Result<Self> {
        let build = async {
            let builder = match address {
                Address::SystemBus => connection::Builder::system(),
                Address::Private(path) => {
                    connection::Builder::socket(PrivateSocket::connect(path).await?).p2p()
                }
            };
            builder.method_timeout(CALL_TIMEOUT).build().await
        };
        let made = timeout(CALL_TIMEOUT, build).await;
        let connection = made.unwrap_or_else(|_| Err(io::Error::from(io::ErrorKind::TimedOut).into()))?;
        let rule = MatchRule::builder()
            .msg_type(MessageType::Signal)
            .sender(NAME)
            .path(PATH)
            .interface(MANAGER)
            .member("JobRemoved")
            .build()?;
        let signals = MessageStream::for_match_rule(rule, &connection, NonZeroUsize::new(JOBS_MAX)).await?;
        let (sender, ended) = broadcast::channel(JOBS_MAX);
        let mut reader = JoinSet::new();
        reader.spawn(read_jobs(signals, sender));
        let version =
            connection.call_method(Some(NAME), PATH, Some(PROPERTIES), "Get", &(MANAGER, "Version")).await?;
        let version: OwnedVariant = version.body().deserialize()?;
        let version = String::try_from(version).unwrap_or_default();
        let release = systemd_release(&version).unwrap_or_default();
        Ok(Self { connection, release, ended, _reader: reader })
    }

    async fn call<B>(&self, interface: &str, member: &str, body: &B) -> Result<Message, CallError>
    where
        B: Serialize + DynamicType + Sync,
    {
        let answer = self.connection.call_method(Some(NAME), PATH, Some(interface), member, body).await;
        answer.map_err(|error| match &error {
            zbus::Error::MethodError(name, problem, _) => {
                CallError::Refused { name: name.to_string(), problem: problem.clone().unwrap_or_default() }
            }
            zbus::Error::FDO(error) => CallError::Refused {
                name: error.name().to_string(),
                problem: error.description().unwrap_or_default().to_owned(),
            },
            _ if self.is_broken_by(&error) => CallError::Closed(error.to_string()),
            _ => CallError::Failed(error.to_string()),
        })
    }

    /// An answer that takes too long breaks nothing.
    fn is_broken_by(&self, error: &zbus::Error) -> bool {
        let is_late = kind(error) == Some(io::ErrorKind::TimedOut);
        self.connection.is_closed() || kind(error).is_some() && !is_late
    }

    async fn job<B>(&self, member: &str, body: &B) -> Result<JobResult, CallError>
    where
        B: Serialize + DynamicType + Sync,
    {
        // Before the call: the job may end before its answer is read.
        let mut ended = self.ended.resubscribe();
        let answer = self.call(MANAGER, member, body).await?;
        let job: OwnedObjectPath =
            answer.body().deserialize().map_err(|error| CallError::Failed(error.to_string()))?;
        let waited = timeout(JOB_TIMEOUT, async {
            loop {
                match ended.recv().await {
                    Ok(end) if end.job == job => return Ok(end.result),
                    Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => {}
                    Err(broadcast::error::RecvError::Closed) => {
                        let problem = "the connection broke while a job was waited for";
                        return Err(CallError::Closed(problem.to_owned()));
                    }
                }
            }
        });
        waited.await.ok().transpose()
    }
}

/// Passes on which jobs ended until the connection breaks.
async fn read_jobs(mut signals: MessageStream, ended: broadcast::Sender<JobEnd>) {
    while let Some(Ok(signal)) = signals.next().await {
        let body = signal.body();
        let Ok((_, job, _, result)) = body.deserialize::<(u32, ObjectPath<'_>, &str, &str)>() else {
            continue;
        };
        let end = JobEnd { job: job.into(), result: result.to_owned() };
        // It is for those who wait only.
        let _unheard = ended.send(end);
    }
}

fn on_the_wire(properties: &[UnitProperty]) -> Vec<(&'static str, Variant<'_>)> {
    let all = properties.iter().map(|property| {
        let value = match &property.value {
            UnitValue::Bool(value) => Variant::from(*value),
            UnitValue::Text(text) => Variant::from(text.as_str()),
            UnitValue::Texts(texts) => Variant::from(texts.clone()),
            UnitValue::Number(number) => Variant::from(*number),
            UnitValue::Bytes(bytes) => Variant::from(bytes.clone()),
        };
        (property.name, value)
    });
    all.collect()
}

fn failed(call: &'static str, unit: &str, problem: String) -> CgroupError {
    CgroupError::Systemd { call, unit: unit.to_owned(), problem }
}

fn kind(error: &zbus::Error) -> Option<io::ErrorKind> {
    match error {
        zbus::Error::InputOutput(error) | zbus::Error::Connection(error, _) => Some(error.kind()),
        _ => None,
    }
}
