//! Every target over its corpus and a bounded number of changed inputs, on stable Rust.
//!
//! `FUZZ_RUNS` says how many inputs each target is given besides its corpus, `FUZZ_SEED` which ones. An input that fails is written
//! to `artifacts/TARGET` in the folder of the fuzz targets.
#![allow(clippy::panic, clippy::print_stderr, reason = "a test program, and this is its report")]
#![allow(clippy::assertions_on_constants, reason = "which features are on is known when it is built")]

use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use witlet_fuzz::mutate::{Random, changed};
use witlet_fuzz::{TARGETS, Target};

/// How many changed inputs each target gets unless `FUZZ_RUNS` says otherwise.
const RUNS: u64 = 2000;
/// An input that takes longer has hung. Far above what any input takes on the slowest machine.
const HANGS_AFTER: Duration = Duration::from_secs(120);

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn number(name: &str, usual: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name}={text:?} is no number")),
        Err(_) => usual,
    }
}

fn corpus(target: Target) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = folder().join("corpus").join(target.name);
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|cause| panic!("{}: {cause}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths.into_iter().map(|path| (path.clone(), std::fs::read(path).expect("a seed"))).collect()
}

/// Writes an input that failed, and says where.
fn keep(target: Target, input: &[u8]) -> String {
    let folder = folder().join("artifacts").join(target.name);
    let name = input
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    let path = folder.join(format!("crash-{name:016x}"));
    match std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(&path, input)) {
        Ok(()) => path.display().to_string(),
        Err(cause) => format!("nowhere ({}: {cause}); it is {}", path.display(), input.escape_ascii()),
    }
}

/// Ends the process, with the input kept, when nothing comes for too long: no thread can be ended otherwise.
fn watch_for_hangs(target: Target, current: Arc<Mutex<Vec<u8>>>) -> SyncSender<()> {
    let (beats, beat_receiver) = sync_channel(1024);
    std::thread::spawn(move || {
        loop {
            match beat_receiver.recv_timeout(HANGS_AFTER) {
                Ok(()) => {}
                Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => {
                    let input = current.lock().unwrap_or_else(PoisonError::into_inner);
                    let place = keep(target, &input);
                    // Not by the macro, whose output is the test's and would end with the process.
                    let words = format!("{}: an input hangs, and is kept as {place}\n", target.name);
                    let _ = std::io::stderr().write_all(words.as_bytes());
                    std::process::abort();
                }
            }
        }
    });
    beats
}

fn run(name: &str) {
    let Some(target) = witlet_fuzz::target(name) else {
        assert!(!(cfg!(feature = "engine") && cfg!(feature = "kubelet")), "there is no target {name}");
        return eprintln!("{name} isn't built: its feature is off");
    };
    let (runs, seed) = (number("FUZZ_RUNS", RUNS), number("FUZZ_SEED", 1));
    let corpus = corpus(target);
    assert!(!corpus.is_empty(), "{name} has no seeds");
    let current = Arc::new(Mutex::new(Vec::new()));
    let beats = watch_for_hangs(target, current.clone());
    let try_input = |input: &[u8], from: &str| {
        input.clone_into(&mut current.lock().unwrap_or_else(PoisonError::into_inner));
        beats.send(()).expect("the watch lives as long as this");
        if catch_unwind(AssertUnwindSafe(|| (target.run)(input))).is_err() {
            panic!("{name}: failed on {from}; the input is kept as {}", keep(target, input));
        }
    };
    for (path, input) in &corpus {
        try_input(input, &path.display().to_string());
    }
    let inputs: Vec<Vec<u8>> = corpus.into_iter().map(|(_, input)| input).collect();
    for index in 0..runs {
        let mut random = Random::new(seed.wrapping_mul(0x0001_0000_0000_01b3).wrapping_add(index));
        let input = changed(&inputs[random.below(inputs.len())], &inputs, target.words, &mut random);
        try_input(&input, &format!("run {index} of FUZZ_SEED={seed}"));
    }
}

macro_rules! targets {
    ($($name:ident),* $(,)?) => {
        $(#[test]
        fn $name() {
            run(stringify!($name));
        })*

        #[test]
        fn every_target_is_run_and_has_a_program_for_cargo_fuzz() {
            let run = [$(stringify!($name)),*];
            let manifest = std::fs::read_to_string(folder().join("Cargo.toml")).expect("a manifest");
            for target in TARGETS {
                assert!(run.contains(&target.name), "{} isn't run", target.name);
                let name = format!("name = \"{}\"", target.name);
                assert!(manifest.contains(&name), "{} is no program of cargo-fuzz", target.name);
                let program = folder().join("fuzz_targets").join(format!("{}.rs", target.name));
                let program = std::fs::read_to_string(&program).expect("a program");
                assert!(program.contains(&format!("\"{}\"", target.name)), "{} runs another target", target.name);
            }
        }
    };
}

targets!(
    cel,
    cel_rules,
    component,
    cri_lists,
    environment,
    image_references,
    kubeconfig,
    kubelet_configuration,
    log_lines,
    manifests,
    plugin_configuration,
    plugin_manifest,
    registry_answers,
    resolver_files,
    upgrades,
    watch_events,
);
