//! Plugins in every language: templates and examples build and keep their contracts, every function of the contracts is called,
//! and tutorials do what they say. A language whose toolchain is absent counts as ignored, with the reason.
#![forbid(unsafe_code)]

mod attacks;
mod contracts;
mod guests;
mod measured;
mod side_by_side;

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::OnceLock;

use libtest_mimic::{Arguments, Failed, Trial};
use witlet_harness::program;
use witlet_languages::{
    Absent, HTTPS_LANGUAGES, HTTPS_ROLES, Project, ProjectError, REQUIRE_VARIABLE, Toolchain, examples,
    is_required, repository, tutorial,
};
use witlet_templates::{Language, Role};

/// How many projects are made at the same time: a build, or the compiling of an interpreter, keeps all processors busy.
const BUILDS_MAX: usize = 1;

/// Set to `all`, it has the suite try every language, with examples and tutorials, as `make test-node` does. Set to names of languages, with
/// commas between them, it has the suite do that with these alone.
const LANGUAGES_VARIABLE: &str = "WITLET_LANGUAGES";

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    let threads = arguments.test_threads.unwrap_or(BUILDS_MAX);
    arguments.test_threads = Some(threads.min(BUILDS_MAX));
    let languages = match asked().as_deref().map_or(Ok(vec![Language::Rust]), chosen) {
        Ok(languages) => languages,
        Err(unknown) => {
            report(&unknown);
            return ExitCode::FAILURE;
        }
    };
    let built = match program::witlet() {
        Ok(built) => built,
        Err(_) if arguments.list => PathBuf::new(),
        Err(error) => {
            report(&error);
            return ExitCode::FAILURE;
        }
    };
    // Where it can't be kept, it is used as it is.
    let kept = if arguments.list { None } else { keep_witlet(&built) };
    if kept.is_none() {
        drop(WITLET.set(built));
    }
    let mut trials = vec![
        Trial::test("the_vectors_call_every_function_of_the_contracts", contracts::all_are_called),
        Trial::test("the_vectors_call_every_function_of_contract_0_2", contracts::all_of_0_2_are_called),
        Trial::test("every_guest_program_is_used_by_a_test", guests::all_are_used),
        Trial::test("the_measured_page_has_every_language_and_role", measured::page_is_complete),
    ];
    let mut found = Vec::new();
    for language in languages {
        match Toolchain::find(language) {
            Ok(toolchain) => {
                found.push(toolchain.clone());
                trials.extend(of_language(language, Some(toolchain)));
            }
            Err(absent) if is_required() => trials.push(required(absent)),
            Err(absent) => {
                skipped(&absent);
                trials.extend(of_language(language, None));
            }
        }
    }
    // It builds the examples, too.
    if asked().is_some() && !found.is_empty() {
        let name = "plugins_of_0_1_and_0_2_of_all_languages_are_served_next_to_each_other";
        trials.push(Trial::test(name, move || side_by_side::are_served(&found)));
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

#[allow(clippy::print_stderr, reason = "the report of a test program")]
fn report(error: &dyn Display) {
    eprintln!("FAILED: {error}");
}

#[allow(clippy::print_stderr, reason = "the report of a test program")]
fn skipped(absent: &Absent) {
    eprintln!("SKIPPED: {absent}");
}

/// What [`LANGUAGES_VARIABLE`] says. Without it Rust alone is tried, whose tools are there.
fn asked() -> Option<String> {
    std::env::var(LANGUAGES_VARIABLE).ok().filter(|asked| !asked.is_empty())
}

/// All languages, or those of the names.
fn chosen(asked: &str) -> Result<Vec<Language>, String> {
    if asked == "all" {
        return Ok(Language::ALL.to_vec());
    }
    let named = asked.split(',').map(|name| {
        Language::parse(name).ok_or_else(|| format!("{LANGUAGES_VARIABLE}: there is no language {name:?}"))
    });
    named.collect()
}

/// A test that fails, because nothing was to be absent here.
fn required(absent: Absent) -> Trial {
    Trial::test(format!("{}_can_be_built", absent.language), move || {
        Err(format!("{REQUIRE_VARIABLE} is set, and {absent}").into())
    })
}

/// All tests of a language; ignored without its tools.
fn of_language(language: Language, toolchain: Option<Toolchain>) -> Vec<Trial> {
    let trial = |name: String, run: fn(&Toolchain, &str) -> Result<(), Failed>, argument: &'static str| {
        let toolchain = toolchain.clone();
        let ignored = toolchain.is_none();
        let run = move || match toolchain {
            Some(toolchain) => run(&toolchain, argument),
            None => Err("its toolchain is absent".into()),
        };
        Trial::test(name.replace('-', "_"), run).with_ignored_flag(ignored)
    };
    let mut trials = Vec::new();
    for role in Role::ALL {
        trials.push(trial(
            format!("a_new_{language}_{role}_plugin_passes_its_tests_untouched"),
            template,
            role.as_str(),
        ));
    }
    // Those and the tutorials take minutes for each language.
    let all = asked().is_some();
    for name in examples(language).filter(|_| all) {
        trials.push(trial(format!("the_{language}_example_{name}_answers_the_shared_cases"), example, name));
    }
    trials.push(trial(
        format!("the_{language}_guest_gives_and_gets_what_every_function_says"),
        all_functions,
        "",
    ));
    trials.push(trial(
        format!("the_{language}_guest_of_0_2_gives_and_gets_what_every_function_says"),
        all_functions_0_2,
        "",
    ));
    trials.push(trial(
        format!("a_{language}_guest_that_attacks_is_bounded_and_named"),
        attacks::are_bounded,
        "",
    ));
    trials.push(trial(
        format!("a_{language}_guest_of_0_2_that_attacks_is_bounded_and_named"),
        attacks::of_0_2_are_bounded,
        "",
    ));
    if matches!(language, Language::C | Language::Cpp) {
        let name = format!("the_{language}_sdk_says_of_manifests_what_the_host_says");
        trials.push(trial(name, sdk_tests, ""));
    }
    if HTTPS_LANGUAGES.contains(&language) {
        for role in HTTPS_ROLES {
            trials.push(trial(
                format!("a_{language}_{role}_plugin_asks_by_https_those_whom_its_authorities_know"),
                https,
                role.as_str(),
            ));
        }
    }
    if language == Language::Go {
        trials.push(trial("what_gos_runtime_promises_holds_in_a_component".to_owned(), go_runtime, ""));
    }
    if all {
        trials.push(trial(
            format!("the_{language}_tutorial_ends_in_a_plugin_that_a_daemon_uses"),
            follow,
            "",
        ));
    }
    trials
}

/// This build's program. A build while the suite runs puts another one next to it.
fn witlet() -> &'static Path {
    WITLET.get().map_or(Path::new("witlet"), PathBuf::as_path)
}

/// See [`witlet`].
static WITLET: OnceLock<PathBuf> = OnceLock::new();

/// Gives the program a name of the suite's own for as long as the folder is there.
fn keep_witlet(built: &Path) -> Option<tempfile::TempDir> {
    let folder = tempfile::tempdir_in(built.parent()?).ok()?;
    let kept = folder.path().join("witlet");
    std::fs::hard_link(built, &kept).ok()?;
    WITLET.set(kept).ok()?;
    Some(folder)
}

fn template(toolchain: &Toolchain, role: &str) -> Result<(), Failed> {
    let role = Role::parse(role).ok_or("unknown role")?;
    // A name of its own for each: projects in Rust share a folder for what they build.
    passes(toolchain, Project::template(toolchain.language(), role, &format!("new-{role}")))
}

fn example(toolchain: &Toolchain, name: &str) -> Result<(), Failed> {
    passes(toolchain, Project::example(toolchain.language(), name))
}

fn sdk_tests(toolchain: &Toolchain, _argument: &str) -> Result<(), Failed> {
    let projects = Project::sdk_tests(toolchain.language()).map_err(reported)?;
    if projects.is_empty() {
        return Err("the SDK has no tests that need a project".into());
    }
    projects.into_iter().try_for_each(|project| passes(toolchain, Ok(project)))
}

fn https(toolchain: &Toolchain, role: &str) -> Result<(), Failed> {
    let role = Role::parse(role).ok_or("unknown role")?;
    passes(toolchain, Project::https(toolchain.language(), role))
}

fn go_runtime(toolchain: &Toolchain, _argument: &str) -> Result<(), Failed> {
    passes(toolchain, Project::go_runtime())
}

/// Builds a project, and has it test itself with the kit.
fn passes(toolchain: &Toolchain, project: Result<Project, ProjectError>) -> Result<(), Failed> {
    let built = toolchain.build(&project.map_err(reported)?, witlet()).map_err(reported)?;
    toolchain.test(&built, witlet()).map(drop).map_err(reported)
}

/// Builds the guest that calls everything, and asks it what the host's own vectors say.
fn all_functions(toolchain: &Toolchain, _argument: &str) -> Result<(), Failed> {
    let project = Project::all_functions(toolchain.language()).map_err(reported)?;
    let built = toolchain.build(&project, witlet()).map_err(reported)?;
    carry_out(&built.component, &host_vectors(), &["--limits", r#"{"memory": "64Mi", "timeout": "10s"}"#])
}

/// The same with contract 0.2.
fn all_functions_0_2(toolchain: &Toolchain, _argument: &str) -> Result<(), Failed> {
    for guest in Project::all_functions_0_2(toolchain.language()).map_err(reported)? {
        let built = toolchain.build(&guest.project, witlet()).map_err(reported)?;
        let vectors = host_vectors_0_2().join(guest.vectors);
        carry_out(&built.component, &vectors, &["--grants", guest.grants])?;
    }
    Ok(())
}

/// Asks a guest what vectors say.
fn carry_out(component: &Path, vectors: &Path, more: &[&str]) -> Result<(), Failed> {
    let output = Command::new(witlet())
        .args(["plugin", "test"])
        .arg(component)
        .arg("--cases")
        .arg(vectors)
        .args(["--only", "load,vectors"])
        .args(more)
        .output()
        .map_err(reported)?;
    if output.status.success() {
        return Ok(());
    }
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Err(format!("{}{}", text(&output.stdout), text(&output.stderr)).into())
}

/// What a host must answer to guests, and get from them.
pub(crate) fn host_vectors() -> PathBuf {
    repository().join("host/conformance/vectors/host")
}

/// The same of contract 0.2.
pub(crate) fn host_vectors_0_2() -> PathBuf {
    repository().join("host/conformance/vectors/host-0.2")
}

/// Follows the language's chapter in an empty folder, with the tools that are installed.
fn follow(toolchain: &Toolchain, _argument: &str) -> Result<(), Failed> {
    let chapter = repository().join(format!("docs/src/authors/{}.md", toolchain.language()));
    let folder = tempfile::tempdir().map_err(reported)?;
    tutorial::follow(&chapter, folder.path(), witlet(), &toolchain.variables()).map_err(reported)
}

/// An error with its causes.
fn reported(error: impl std::error::Error) -> Failed {
    let causes = std::iter::successors(error.source(), |cause| (*cause).source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}")).into()
}
