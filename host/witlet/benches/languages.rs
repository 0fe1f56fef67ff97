//! The example plugins of every language, measured by `witlet plugin bench` on the same questions: size, loading, calls in fresh
//! and kept instances, memory. Prints one JSON object a line, and rewrites the table of the book's page.
//!
//! Needs the languages' toolchains (`make languages`): without all of them nothing is measured, and the page stays as it is.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark talks to its user")]

use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

use serde_json::{Value, json};
use witlet_languages::measured::{Contract, PAGE, Row, rewrite, table};
use witlet_languages::{Built, EXAMPLES, EXAMPLES_0_2, LANGUAGES_0_2, Project, Toolchain, repository};
use witlet_templates::{Language, Role};

/// Calls in the instance that is kept.
const CALLS: u32 = 20_000;
/// The same for all, as much as the most demanding language needs.
const LIMITS: &str = r#"{"memory": "128Mi"}"#;
/// What stands next to the table.
const COMMAND: &str = "make bench";

fn main() -> ExitCode {
    // `cargo test --benches` only wants to know that it builds.
    if std::env::args().any(|word| word == "--test") {
        return ExitCode::SUCCESS;
    }
    match measure() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let causes = std::iter::successors(error.source(), |cause| (*cause).source());
            let text = causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"));
            eprintln!("languages benchmark: {text}");
            ExitCode::FAILURE
        }
    }
}

fn measure() -> Result<(), Box<dyn Error>> {
    let mut toolchains = Vec::new();
    for language in Language::ALL {
        toolchains.push(Toolchain::find(language)?);
    }
    let (mut rows, mut floors) = (Vec::new(), Vec::new());
    let of =
        |contract, examples: [(&'static str, Role); 3]| examples.map(|(name, role)| (contract, name, role));
    let examples = [of(Contract::V0_1, EXAMPLES), of(Contract::V0_2, EXAMPLES_0_2)].concat();
    for (contract, name, role) in examples {
        let has_it = |toolchain: &&Toolchain| {
            let language = toolchain.language();
            contract == Contract::V0_1 || language == Language::Rust || LANGUAGES_0_2.contains(&language)
        };
        for toolchain in toolchains.iter().filter(has_it) {
            let project = Project::example(toolchain.language(), name)?;
            let built = toolchain.build(&project, Path::new(env!("CARGO_BIN_EXE_witlet")))?;
            eprintln!("languages benchmark: {} {name}", toolchain.language());
            let benchmark = bench(&built)?;
            let result = &benchmark["results"][0];
            let role_name = contract.role(role).replace(' ', "-");
            report(toolchain.language(), &role_name, &benchmark["component"]["sizeBytes"], result);
            floors.push((role, number(&result["floor"]["p50Seconds"])?));
            rows.push(Row { contract, ..row(toolchain.language(), role, &benchmark)? });
        }
    }
    let path = repository().join(PAGE);
    let page = fs::read_to_string(&path)?;
    let figures = format!("{}\n{}", table(&rows), surroundings(&floors));
    let written = rewrite(&page, &figures).ok_or_else(|| format!("{PAGE} has no place for figures"))?;
    fs::write(&path, written)?;
    eprintln!("languages benchmark: {PAGE} is rewritten");
    Ok(())
}

/// What `witlet plugin bench` says of a component.
fn bench(built: &Built) -> Result<Value, Box<dyn Error>> {
    let cases = built.cases.as_deref().unwrap_or(Path::new("cases.yaml"));
    let output = Command::new(env!("CARGO_BIN_EXE_witlet"))
        .args(["plugin", "bench", "-o", "json", "--limits", LIMITS, "--calls", &CALLS.to_string(), "--cases"])
        .arg(cases)
        .arg(&built.component)
        .output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// One line for each figure.
fn report(language: Language, role: &str, size: &Value, result: &Value) {
    let floor = result["floor"]["p50Seconds"].as_f64();
    let line = |name: &str, unit: &str, value: Option<f64>, floor: Option<f64>| {
        let ratio = value.zip(floor).map(|(value, floor)| value / floor);
        let name = format!("languages/{language}/{role}/{name}");
        println!(
            "{}",
            json!({"name": name, "unit": unit, "value": value, "floor": floor, "ratio": ratio, "budget": null})
        );
    };
    let at = |path: &str| result.pointer(path).and_then(Value::as_f64);
    line("size", "bytes", size.as_f64(), None);
    line("load/compiled", "seconds", at("/load/compiledSeconds"), None);
    line("load/cached", "seconds", at("/load/cachedSeconds"), None);
    for kind in ["fresh", "warm"] {
        for (percentile, floor) in [("p50", floor), ("p99", at("/floor/p99Seconds"))] {
            let value = at(&format!("/{kind}/{percentile}Seconds"));
            line(&format!("{kind}/{percentile}"), "seconds", value, floor);
        }
    }
    line("memory/first", "bytes", at("/warm/memoryBytesFirst"), None);
    line("memory/last", "bytes", at("/warm/memoryBytesLast"), None);
}

/// The row of the page.
fn row(language: Language, role: Role, benchmark: &Value) -> Result<Row, Box<dyn Error>> {
    let at = |path: &str| benchmark.pointer(path).ok_or_else(|| format!("there is no figure {path}"));
    let time = |path: &str| Ok::<_, Box<dyn Error>>(duration(number(at(&format!("/results/0/{path}"))?)?));
    let size = |path: &str| Ok::<_, Box<dyn Error>>(bytes(number(at(path)?)?));
    let figures = [
        size("/component/sizeBytes")?,
        time("load/compiledSeconds")?,
        time("load/cachedSeconds")?,
        time("fresh/p50Seconds")?,
        time("fresh/p99Seconds")?,
        time("warm/p50Seconds")?,
        time("warm/p99Seconds")?,
        size("/results/0/warm/memoryBytesFirst")?,
        size("/results/0/warm/memoryBytesLast")?,
    ];
    Ok(Row { language, role, contract: Contract::V0_1, figures })
}

fn number(value: &Value) -> Result<f64, String> {
    value.as_f64().ok_or_else(|| format!("{value} is no figure"))
}

/// What the figures were measured on, with what, and next to what.
fn surroundings(floors: &[(Role, f64)]) -> String {
    let floor = |role: Role| {
        let of_role = floors.iter().filter(|(other, _)| *other == role).map(|(_, seconds)| *seconds);
        format!("{} ({role})", duration(of_role.fold(f64::INFINITY, f64::min)))
    };
    let optimised = if cfg!(debug_assertions) { "a debug build" } else { "a release build" };
    format!(
        "Measured by `{COMMAND}` with {optimised} on {}. A module that does nothing took {} in a fresh instance, half of the time, \
         in the same run.\n",
        machine(),
        Role::ALL.map(floor).join(", "),
    )
}

/// Processors of this machine.
fn machine() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let models: Vec<&str> = info
        .lines()
        .filter_map(|line| Some(line.strip_prefix("model name")?.split_once(':')?.1.trim()))
        .collect();
    match models.first() {
        Some(model) => format!("{} × {model}", models.len()),
        None => "a machine that doesn't say what it is".to_owned(),
    }
}

/// With two or three digits, in the unit that fits.
fn duration(seconds: f64) -> String {
    let (value, unit) = match seconds {
        ..1e-3 => (seconds * 1e6, "µs"),
        ..1.0 => (seconds * 1e3, "ms"),
        _ => (seconds, "s"),
    };
    if value < 10.0 { format!("{value:.1} {unit}") } else { format!("{value:.0} {unit}") }
}

/// As quantities have it.
fn bytes(bytes: f64) -> String {
    let (kib, mib) = (1024.0, 1024.0 * 1024.0);
    if bytes < mib { format!("{:.0} KiB", bytes / kib) } else { format!("{:.1} MiB", bytes / mib) }
}
