//! `make watch` of projects in each language, with a make that only says that it was called in place of the one that tests.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;

use witlet_harness::WAIT_TIMEOUT;
use witlet_templates::{Language, Role};

use crate::Project;

/// What is called instead of `make test`. It fails while the project has the file `fails`, which isn't watched.
const TESTS: &str = "echo tested\ntest ! -e fails\n";
/// The end of a round.
const WAITS: &str = "watch: waiting for a change, Ctrl-C ends";

/// Lines that wait to be read.
const LINES_MAX: usize = 64;

/// A `make watch` in a process group of its own.
struct Watching {
    make: Child,
    lines: mpsc::Receiver<String>,
}

impl Watching {
    fn start(project: &Path, tests: &Path) -> Self {
        let mut make = Command::new("make")
            .args(["watch", "WITLET=sh", "WATCH_SECONDS=0"])
            .arg(format!("MAKE=sh {}", tests.display()))
            // An outer make's are meant for it.
            .env_remove("MAKEFLAGS")
            .env_remove("MFLAGS")
            .env_remove("MAKELEVEL")
            .current_dir(project)
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("make can be started");
        let printed = BufReader::new(make.stdout.take().expect("it is piped"));
        let (sender, lines) = mpsc::sync_channel(LINES_MAX);
        // Ends with what it reads from.
        std::thread::spawn(move || {
            for line in printed.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Self { make, lines }
    }

    /// What it prints until it waits for a change.
    fn round(&self) -> Vec<String> {
        let mut round = Vec::new();
        loop {
            let line = self.lines.recv_timeout(WAIT_TIMEOUT).expect("it waits for a change");
            if line == WAITS {
                return round;
            }
            round.push(line);
        }
    }

    /// Sends the signal to all of its processes, as a terminal does, and waits until all have ended, because each holds the output.
    fn end(mut self, signal: &str) -> ExitStatus {
        assert!(signal_group(self.make.id(), signal), "the signal can be sent");
        loop {
            match self.lines.recv_timeout(WAIT_TIMEOUT) {
                Ok(_) => {}
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
                Err(mpsc::RecvTimeoutError::Timeout) => panic!("a process is left"),
            }
        }
        self.make.wait().expect("it has ended")
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        if self.make.try_wait().is_ok_and(|ended| ended.is_none()) {
            // What has ended meanwhile needs none.
            let _sent = signal_group(self.make.id(), "KILL");
        }
    }
}

fn signal_group(leader: u32, signal: &str) -> bool {
    let sent = Command::new("sh").args(["-c", &format!("kill -{signal} -{leader}")]).status();
    sent.is_ok_and(|sent| sent.success())
}

/// A source in each language.
fn source(language: Language) -> &'static str {
    match language {
        Language::Rust => "src/lib.rs",
        Language::C => "src/policy.c",
        Language::Python => "app.py",
        Language::JavaScript => "src/policy.ts",
        Language::Go => "main.go",
        Language::Cpp => "src/policy.cpp",
    }
}

#[test]
fn a_watch_tests_after_each_change_and_ends_by_a_signal() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let tests = folder.path().join("tests.sh");
    fs::write(&tests, TESTS).expect("a temporary folder");
    for language in Language::ALL {
        let project = folder.path().join(language.as_str());
        let made = Project::template(language, Role::Admission, "my-plugin").expect("a project");
        for (path, (contents, _)) in &made.files {
            write(&project.join(path), contents);
        }
        let watching = Watching::start(&project, &tests);
        assert_eq!(
            watching.round(),
            ["tested", "watch: passed"],
            "{language}: the first time nothing has to change"
        );
        write(&project.join("fails"), b"");
        let changed = project.join(source(language));
        let text = fs::read(&changed).expect("the template has it");
        replace(&changed, &[&text[..], b"\n"].concat(), folder.path());
        assert_eq!(watching.round(), ["tested", "watch: FAILED"], "{language}: a failure doesn't end it");
        fs::remove_file(project.join("fails")).expect("it is there");
        // The file that was there before.
        replace(&changed, &text, folder.path());
        assert_eq!(watching.round(), ["tested", "watch: passed"], "{language}");
        fs::remove_file(project.join("cases.yaml")).expect("it is there");
        assert_eq!(
            watching.round(),
            ["tested", "watch: passed"],
            "{language}: a file that is gone is a change"
        );
        // Ctrl-C's own signal is ignored by what a shell starts in the background, tests among it. Both are handled alike.
        assert!(!watching.end("TERM").success(), "{language}: it has no end of its own");
    }
}

fn write(path: &Path, contents: &[u8]) {
    fs::create_dir_all(path.parent().expect("it is below a folder")).expect("a temporary folder");
    fs::write(path, contents).expect("a temporary folder");
}

/// Puts other contents in a file's place at once: what is seen between two writes would be a change of its own.
fn replace(path: &Path, contents: &[u8], folder: &Path) {
    let whole = folder.join("whole");
    write(&whole, contents);
    fs::rename(whole, path).expect("both are in one folder");
}
