//! Commands in addition to a container's own program.

use std::time::{Duration, Instant};

use libtest_mimic::Trial;
use tonic::Code;
use witlet_proto::cri::*;

use crate::client::{Runtime, eventually, program};
use crate::on_shared;

/// How many commands are timed, for the figure that is printed.
const COMMANDS: u32 = 100;

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        on_shared("a_command_is_the_component_run_again_in_the_same_pod", same_pod),
        on_shared("a_command_that_does_not_end_is_killed_when_its_time_is_over", too_long),
        on_shared("a_command_that_no_one_waits_for_is_killed", abandoned),
        on_shared("a_commands_output_is_bounded", flood),
        on_shared("a_command_ends_with_its_container", container_ends),
        on_shared("a_commands_memory_counts_with_the_containers", memory),
        on_shared("commands_are_refused_where_they_make_no_sense", refused),
        on_shared("a_handler_can_run_commands_too", in_a_handler),
    ]
}

async fn same_pod(runtime: Runtime) {
    let pod = runtime.pod().await;
    let mut own = program("subject", &["bind-and-wait", "0.0.0.0:7000"]);
    own.environment = vec![("A".to_owned(), "1".to_owned())];
    own.mounts = vec![runtime.folder_mount("of-commands", "/data", false)];
    let id = runtime.run(&pod, "own", own).await;
    runtime.says(&id, "bound").await;

    let shown = runtime.exec(&id, &["any-name", "show"], 60).await.expect("it runs");
    let output = String::from_utf8(shown.stdout).expect("text");
    assert_eq!(shown.exit_code, 0);
    assert!(output.contains("arguments [\"any-name\", \"show\"]"), "{output}");
    assert!(output.contains("(\"A\", \"1\")") && output.contains("HOSTNAME"), "{output}");
    assert!(output.ends_with("without an end"), "{output}");
    assert_eq!(shown.stderr, b"to the other output\n");

    let run = async |words: &[&str]| {
        let ran = runtime.exec(&id, words, 60).await.expect("it runs");
        (ran.exit_code, String::from_utf8(ran.stdout).expect("text"))
    };
    let begin = Instant::now();
    for _ in 0..COMMANDS {
        assert_eq!(run(&["subject", "flood", "0"]).await, (0, String::new()));
    }
    eprintln!("{COMMANDS} commands one after the other took {:?}", begin.elapsed());
    assert_eq!(run(&["subject", "append", "/data/note"]).await, (0, "written\n".to_owned()));
    let note = std::fs::read_to_string(runtime.folder.join("of-commands/note")).expect("a file");
    assert_eq!(note, "written by a workload\n");
    let (code, output) = run(&["subject", "connect", "127.0.0.1:7000"]).await;
    assert!(output.contains(&format!("from {} to {}:7000", pod.address, pod.address)), "{code} {output}");
    let (code, output) = run(&["subject", "bind", "0.0.0.0:7000"]).await;
    assert_eq!((code, output.contains("AddrInUse")), (1, true), "{output}");
    // Its standard input has ended, so that it doesn't wait for it.
    let (code, output) = run(&["subject", "read-input"]).await;
    assert_eq!((code, output.as_str()), (0, "waiting\nasked to stop after 0 bytes\n"));
    let ran = runtime.exec(&id, &["subject", "recurse"], 60).await.expect("it runs");
    assert_eq!(ran.exit_code, 134);
    assert!(String::from_utf8_lossy(&ran.stderr).contains("wasm trap"), "{ran:?}");
    assert!(!runtime.raw_log(&id).await.contains("written"), "output of commands isn't the container's");
    let status = runtime.status(&id).await.expect("a status");
    assert_eq!(status.state(), ContainerState::ContainerRunning, "it doesn't mind");
}

async fn too_long(runtime: Runtime) {
    let pod = runtime.pod().await;
    let id = runtime.run(&pod, "own", program("subject", &["read-input"])).await;
    for words in [&["subject", "spin"], &["subject", "wait-forever"]] {
        let begin = Instant::now();
        let late = runtime.exec(&id, words, 1).await.expect_err("it doesn't end");
        assert_eq!(late.code(), Code::DeadlineExceeded, "{late}");
        assert!(late.message().contains("took longer than 1s and was killed"), "{late}");
        assert!(begin.elapsed() >= Duration::from_secs(1));
        eventually("it is gone", async || (runtime.programs(&pod.id).await == 1).then_some(())).await;
    }
    assert_eq!(runtime.exec(&id, &["subject", "flood", "1"], 60).await.expect("it runs").exit_code, 0);
}

async fn abandoned(runtime: Runtime) {
    let pod = runtime.pod().await;
    let id = runtime.run(&pod, "own", program("subject", &["read-input"])).await;
    let programs = async |count| (runtime.programs(&pod.id).await == count).then_some(());
    let mut waiting = tokio::task::JoinSet::new();
    let mut ask = |command: &'static str| {
        let (runtime, id) = (runtime.clone(), id.clone());
        waiting.spawn(async move { runtime.exec(&id, &["subject", command], 0).await });
    };
    ask("spin");
    // There are only so many places for commands.
    for _ in 1..8 {
        ask("wait-forever");
    }
    eventually("all places are taken", async || programs(9).await).await;
    for _ in 0..4 {
        let refused = runtime.exec(&id, &["subject", "wait-forever"], 0).await.expect_err("no place is left");
        assert_eq!(refused.code(), Code::ResourceExhausted, "{refused}");
    }
    // They come back when no client waits any more.
    waiting.shutdown().await;
    eventually("they are gone", async || programs(1).await).await;
    assert_eq!(runtime.exec(&id, &["subject", "flood", "1"], 60).await.expect("it runs").exit_code, 0);
}

async fn flood(runtime: Runtime) {
    let pod = runtime.pod().await;
    let id = runtime.run(&pod, "own", program("subject", &["read-input"])).await;
    let ran = runtime.exec(&id, &["subject", "pour", "40"], 300).await.expect("it runs");
    assert_eq!(ran.exit_code, 0, "it isn't held up");
    let kept = ran.stdout.len() + ran.stderr.len();
    assert_eq!(kept, (16 << 20) - (64 << 10));
    assert!(ran.stdout.len() >= 7 << 20 && ran.stderr.len() >= 7 << 20, "both have their part");
}

async fn container_ends(runtime: Runtime) {
    let pod = runtime.pod().await;
    let id = runtime.run(&pod, "own", program("subject", &["read-input"])).await;
    let command = ["subject", "spin"];
    let (ran, stopped) = tokio::join!(runtime.exec(&id, &command, 600), async {
        eventually("both run", async || (runtime.programs(&pod.id).await == 2).then_some(())).await;
        runtime.stop(&id, 60).await
    });
    stopped.expect("it stops");
    assert_eq!(ran.expect("it ended").exit_code, 137);
    let late = runtime.exec(&id, &["subject", "show"], 1).await.expect_err("nothing runs any more");
    assert_eq!(late.code(), Code::FailedPrecondition, "{late}");
}

async fn memory(runtime: Runtime) {
    let pod = runtime.pod().await;
    let mut own = program("subject", &["read-input"]);
    own.memory = 16 << 20;
    let id = runtime.run(&pod, "own", own).await;
    runtime.says(&id, "waiting").await;
    let ran = runtime.exec(&id, &["subject", "eat"], 60).await.expect("it runs");
    assert_eq!(ran.exit_code, 137);
    let words = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(words.contains("exceeded its memory limit of 16777216 bytes"), "{words}");
    let status = runtime.status(&id).await.expect("a status");
    assert_eq!(status.state(), ContainerState::ContainerRunning, "who asked is who is killed");
}

async fn refused(runtime: Runtime) {
    let pod = runtime.pod().await;
    let id = runtime.create(&pod, "own", program("worker", &["0", "1", "1"])).await.expect("a container");
    let refusal = async |id: &str, words: &[&str]| {
        runtime.exec(id, words, 1).await.expect_err("it makes no sense").code()
    };
    assert_eq!(refusal("not-there", &["x"]).await, Code::NotFound);
    assert_eq!(refusal(&id, &["worker"]).await, Code::FailedPrecondition, "it isn't started");
    assert_eq!(refusal(&id, &[]).await, Code::InvalidArgument);
}

async fn in_a_handler(runtime: Runtime) {
    let pod = runtime.pod().await;
    let id = runtime.run(&pod, "own", program("proxy", &[])).await;
    let ran = runtime.exec(&id, &["proxy", "x"], 60).await.expect("it runs");
    assert_eq!((ran.exit_code, ran.stdout.as_slice()), (0, &b"arguments [\"proxy\", \"x\"]\n"[..]));
}
