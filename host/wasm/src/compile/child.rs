//! The compiling child: reads a component from its standard input, writes code to its standard output.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::process::ExitCode;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, Signal, getpid, kill_process, setrlimit};

use super::{COMPILE_COMMAND, COMPONENT_BYTES_MAX, CompileLimits};
use crate::engine::{self, EngineKind};

/// The component was refused (`EX_DATAERR` of sysexits).
pub(super) const EXIT_INVALID: i32 = 65;
/// The arguments were wrong (`EX_USAGE`).
const EXIT_USAGE: u8 = 64;
/// Reading or writing failed, or the engine couldn't be made (`EX_IOERR`).
const EXIT_IO: u8 = 74;
/// Stack of the thread that waits for the parent's end.
const WATCH_STACK_BYTES: usize = 64 << 10;

/// The command line that [`child_main`] understands, the command word included.
pub(super) fn arguments(kind: EngineKind, limits: &CompileLimits, niceness: u8) -> [OsString; 6] {
    let cpu_seconds = limits.cpu.as_millis().div_ceil(1000);
    [
        COMPILE_COMMAND.into(),
        kind.name().into(),
        limits.memory_bytes.to_string().into(),
        cpu_seconds.to_string().into(),
        limits.output_bytes.to_string().into(),
        niceness.to_string().into(),
    ]
}

struct Task {
    kind: EngineKind,
    memory_bytes: u64,
    cpu_seconds: u64,
    output_bytes: u64,
    /// How much nicer than its parent the child is.
    niceness: u8,
}

fn parse(arguments: impl IntoIterator<Item = OsString>) -> Option<Task> {
    let mut words = arguments.into_iter().map(|word| word.into_string().ok());
    let task = Task {
        kind: EngineKind::from_name(&words.next()??)?,
        memory_bytes: words.next()??.parse().ok()?,
        cpu_seconds: words.next()??.parse().ok()?,
        output_bytes: words.next()??.parse().ok()?,
        niceness: words.next()??.parse().ok()?,
    };
    words.next().is_none().then_some(task)
}

/// The child's whole life, given the arguments after the command word. Limits itself first: whatever the component
/// does to the compiler, this process ends.
pub fn child_main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let Some(task) = parse(arguments) else {
        say("usage: compile-component KIND MEMORY_BYTES CPU_SECONDS OUTPUT_BYTES NICENESS <component >code");
        return ExitCode::from(EXIT_USAGE);
    };
    if let Err(error) = limit(&task) {
        say(&format!("limit the compiler: {error}"));
        return ExitCode::from(EXIT_IO);
    }
    if let Err(error) = end_with_parent() {
        say(&format!("watch the parent: {error}"));
        return ExitCode::from(EXIT_IO);
    }
    let mut wasm = Vec::new();
    if let Err(error) = std::io::stdin().lock().take(COMPONENT_BYTES_MAX as u64).read_to_end(&mut wasm) {
        if error.kind() == std::io::ErrorKind::OutOfMemory {
            // As an allocation that fails in the compiler ends it: the parent knows this end.
            std::process::abort();
        }
        say(&format!("read the component: {error}"));
        return ExitCode::from(EXIT_IO);
    }
    let engine = match engine::compiling(task.kind) {
        Ok(engine) => engine,
        Err(error) => {
            say(&format!("{error}: {}", error.cause));
            return ExitCode::from(EXIT_IO);
        }
    };
    let code = match engine.precompile_component(&wasm) {
        Ok(code) => code,
        Err(error) => {
            say(&format!("{error:#}"));
            return u8::try_from(EXIT_INVALID).map_or(ExitCode::FAILURE, ExitCode::from);
        }
    };
    let mut output = std::io::stdout().lock();
    match output.write_all(&code).and_then(|()| output.flush()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("write the code: {error}"));
            ExitCode::from(EXIT_IO)
        }
    }
}

/// Ends this process as soon as its standard error, a pipe, has no reader: its parent was killed, no one takes the code,
/// and a daemon that falls again and again mustn't leave a compiler behind each time.
fn end_with_parent() -> std::io::Result<()> {
    let watch = || {
        let stderr = std::io::stderr();
        loop {
            let mut ends = [PollFd::new(&stderr, PollFlags::empty())];
            match poll(&mut ends, None) {
                Ok(_) | Err(Errno::INTR) => {}
                // Without a watch the limits are left.
                Err(_) => return,
            }
            if ends.iter().any(|end| !end.revents().is_empty())
                && kill_process(getpid(), Signal::KILL).is_err()
            {
                return;
            }
        }
    };
    // Its stack counts against the compiler's memory.
    std::thread::Builder::new().name("parent".to_owned()).stack_size(WATCH_STACK_BYTES).spawn(watch).map(drop)
}

fn limit(task: &Task) -> rustix::io::Result<()> {
    let both = |value| Rlimit { current: Some(value), maximum: Some(value) };
    setrlimit(Resource::As, both(task.memory_bytes))?;
    // The soft limit's signal tells the parent why; the hard one, a second later, is for a handler that stays.
    setrlimit(
        Resource::Cpu,
        Rlimit { current: Some(task.cpu_seconds), maximum: Some(task.cpu_seconds.saturating_add(1)) },
    )?;
    setrlimit(Resource::Fsize, both(task.output_bytes))?;
    setrlimit(Resource::Core, both(0))?;
    rustix::process::nice(task.niceness.into())?;
    Ok(())
}

/// The parent reads the standard error; if it is gone no one reads the message.
fn say(message: &str) {
    let written = writeln!(std::io::stderr(), "{message}");
    drop(written);
}
