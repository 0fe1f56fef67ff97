//! `witlet top` in a terminal: printed again and again, resized, ended, and the terminal as it was before.

use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use libtest_mimic::Failed;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tokio::time::timeout;
use witlet_api_server::Admission;
use witlet_harness::cluster::{Cluster, Ground};
use witlet_harness::terminal::Terminal;
use witlet_harness::{WAIT_TIMEOUT, poll_until};
use witlet_server::PluginView;

use crate::inspect::with_plugins;
use crate::{scratch, witlet};

/// What begins and ends a screen of its own without a cursor, and what begins and ends what is printed.
const ENTER: &str = "\x1b[?1049h\x1b[?25l";
const LEAVE: &str = "\x1b[?25h\x1b[?1049l";
const HOME: &str = "\x1b[H";
const CLEAR_REST: &str = "\x1b[J";

/// One plugin that is called after the number of requests: each check is another one.
#[derive(Default)]
struct Counted(AtomicU64);

impl PluginView for Counted {
    fn plugins(&self) -> Vec<Value> {
        let number = self.0.fetch_add(1, Ordering::Relaxed) + 1;
        vec![json!({"name": format!("node-{number}"), "digest": "0", "roles": [{"role": "probe"}]})]
    }
}

/// `witlet top plugins` in a terminal.
struct Top {
    terminal: Terminal,
    folder: tempfile::TempDir,
}

impl Top {
    /// Starts it. The terminal's modes before and after are kept, and the process's number.
    fn start(socket: &Path, term: &str, interval: &str) -> Self {
        let folder = scratch();
        let line = format!(
            "cd '{folder}'; stty -g > before; \
             sh -c 'echo $$ > pid; exec env --default-signal=HUP {witlet} top plugins --interval {interval} --api-socket {socket}'; \
             code=$?; stty -g > after; exit $code",
            folder = folder.path().display(),
            witlet = env!("CARGO_BIN_EXE_witlet"),
            socket = socket.display(),
        );
        let terminal = Terminal::start(&line, folder.path(), |command| {
            command.env("TERM", term);
        });
        Self { terminal: terminal.expect("a terminal"), folder }
    }

    /// What comes before these words.
    async fn until(&mut self, words: &str) -> String {
        let seen = timeout(WAIT_TIMEOUT, self.terminal.until("", words)).await;
        seen.map_err(|_| format!("never seen: {words:?}")).expect("it's shown in time").expect("it goes on")
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.folder.path().join(name)).expect("the shell has written it")
    }

    /// It has ended with 0, and the terminal is as it was; returns what was seen last.
    async fn ends(self) -> String {
        let Self { terminal, folder } = self;
        let (code, seen) = timeout(WAIT_TIMEOUT, terminal.end()).await.expect("it ends").expect("it ends");
        assert_eq!(code, Some(0), "{seen:?}");
        let modes =
            |name: &str| fs::read_to_string(folder.path().join(name)).expect("the shell has written it");
        assert_eq!(modes("after"), modes("before"));
        seen
    }
}

/// Has the terminal ask an agent with [`Counted`] plugins.
fn with_agent(play: impl AsyncFnOnce(&Path) + Send + 'static) {
    with_plugins(Arc::new(Counted::default()), |socket| {
        tokio::runtime::Runtime::new().expect("a runtime").block_on(play(socket));
    });
}

#[test]
fn a_screen_is_printed_again_and_ends_with_a_key() {
    with_agent(async |socket| {
        let mut top = Top::start(socket, "xterm", "500ms");
        top.until(ENTER).await;
        // A first check of rates takes two requests.
        for words in ["1 plugins in their roles", "node-2", CLEAR_REST, HOME, "node-3", CLEAR_REST] {
            top.until(words).await;
        }
        top.terminal.press("x").await.expect("it runs");
        top.until("node-5").await;
        top.terminal.press("q").await.expect("it runs");
        let last = top.ends().await;
        assert!(last.ends_with(LEAVE), "{last:?}");
    });
}

#[test]
fn a_screen_fits_its_terminal_also_when_that_changes() {
    with_agent(async |socket| {
        let mut top = Top::start(socket, "xterm", "1h");
        for words in [ENTER, "node-2", CLEAR_REST] {
            top.until(words).await;
        }
        top.terminal.resize(3, 21).expect("the file can be written");
        // Rows and columns change one after the other, and each is a signal.
        let fits = ["1 plugins in their ro", "", "… 2 more"];
        loop {
            top.until(HOME).await;
            let screen = top.until(CLEAR_REST).await;
            let lines = screen.split('\n').map(|line| line.trim_end_matches('\r').trim_end_matches("\x1b[K"));
            if lines.eq(fits) {
                break;
            }
        }
        // Ctrl-C is a key here.
        top.terminal.press("\x03").await.expect("it runs");
        let last = top.ends().await;
        assert!(last.ends_with(LEAVE), "{last:?}");
    });
}

#[test]
fn a_signal_ends_a_screen_and_leaves_the_terminal_as_it_was() {
    with_agent(async |socket| {
        for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
            let mut top = Top::start(socket, "xterm", "500ms");
            top.until(ENTER).await;
            top.until(CLEAR_REST).await;
            let process = top.text("pid").trim().parse().ok().and_then(Pid::from_raw).expect("a number");
            kill_process(process, signal).expect("it runs");
            let last = top.ends().await;
            assert!(last.ends_with(LEAVE), "{signal:?}: {last:?}");
        }
    });
}

#[test]
fn without_control_of_the_cursor_the_table_is_printed_once() {
    with_agent(async |socket| {
        for term in ["dumb", ""] {
            let seen = Top::start(socket, term, "500ms").ends().await;
            assert!(seen.starts_with("NAME") && seen.contains("node-"), "{term:?}: {seen:?}");
            assert!(!seen.contains('\x1b'), "{term:?}: {seen:?}");
        }
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_node_has_and_what_it_evicts_at_is_shown_by_a_live_agent() -> Result<(), Failed> {
    let ground = Ground::new(Admission { node_rules: true, ..Admission::default() }).await?;
    let thresholds = vec!["--eviction-hard=memory.available<1Mi".to_owned()];
    let cluster = Cluster::start_with_token(ground, Ipv4Addr::LOCALHOST, thresholds).await?;
    cluster.node_ready().await?;
    let socket = cluster.daemon.api_socket().display().to_string();
    // Thresholds are shown once the node was measured.
    let shown = async || {
        let node = witlet(&["get", "node", "--api-socket", &socket]);
        node.out.contains("EVICTS BELOW").then_some(node)
    };
    let node = poll_until(WAIT_TIMEOUT, shown).await.ok_or("no threshold is ever shown")?;
    let row = |name: &str| node.out.lines().find(|line| line.starts_with(name)).unwrap_or_default();
    let heads = "RESOURCE CAPACITY SYSTEM KUBE EVICTION ALLOCATABLE REQUESTED USED";
    assert_eq!(row("RESOURCE").split_whitespace().collect::<Vec<_>>().join(" "), heads, "{}", node.err);
    assert!(row("memory").contains("GiB"), "{}", node.out);
    assert!(row("EVICTS BELOW").contains("AWAY"), "{}", node.out);
    cluster.end().await
}
