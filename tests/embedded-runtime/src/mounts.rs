//! What containers see of the node's files.

use std::os::unix::fs::symlink;
use std::path::Path;

use libtest_mimic::Trial;
use witlet_proto::cri::*;

use crate::client::{Folders, Runtime, program};
use crate::{alone, on_shared};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        on_shared("a_mounted_folder_can_be_used_and_others_cannot", folders),
        on_shared("containers_of_a_pod_share_a_volume_in_their_order", in_order),
        on_shared("single_files_are_mounted_and_a_termination_message_arrives", files),
        on_shared("no_link_leads_out_of_a_volume", escape),
        on_shared("mounts_that_cannot_be_had_end_the_container_with_words", broken),
        alone("private_folders_end_with_their_containers", private),
    ]
}

async fn folders(runtime: Runtime) {
    let pod = runtime.pod().await;
    let mut fixed = runtime.folder_mount("mounted", "/fixed", true);
    fixed.recursive_read_only = true;
    let all = vec![runtime.folder_mount("mounted", "/data/", false), fixed];
    for (name, path, expected) in [
        ("inside", "/data/note", (0, "stdout F written")),
        ("fixed", "/fixed/note", (1, "stdout F open: PermissionDenied")),
        ("upwards", "/data/../note", (1, "stdout F open: PermissionDenied")),
        ("elsewhere", "/tmp/note", (1, "stdout F open: NotFound")),
    ] {
        let mut append = program("subject", &["append", path]);
        append.mounts = all.clone();
        let id = runtime.run(&pod, name, append).await;
        let status = runtime.end(&id).await;
        let lines = runtime.output(&id).await;
        assert_eq!(status.exit_code, expected.0, "{name}: {lines:?} {}", status.message);
        assert_eq!(lines, [expected.1], "{name}");
        assert_eq!(status.mounts, all, "they are reported as they were asked for");
    }
    let note = std::fs::read_to_string(runtime.folder.join("mounted/note")).expect("a file");
    assert_eq!(note, "written by a workload\n");
}

/// As an agent runs init containers: one after the other, each to its end.
async fn in_order(runtime: Runtime) {
    let pod = runtime.pod().await;
    let volume = runtime.folder_mount("ordered", "/data", false);
    let with_volume = |image: &str, arguments: &[&str]| {
        let mut one = program(image, arguments);
        one.mounts = vec![volume.clone()];
        one
    };
    for (name, steps) in [
        ("first", &["append", "/data/order", "first"][..]),
        ("second", &["exists", "/data/order", "append", "/data/order", "second"]),
        ("third", &["read", "/data/order", "append", "/data/order", "third", "exit", "0"]),
    ] {
        let id = runtime.run(&pod, name, with_volume("probe_target", steps)).await;
        assert_eq!(runtime.end(&id).await.exit_code, 0, "{name}: {}", runtime.raw_log(&id).await);
    }
    // A main container that fails, and is made again as the next attempt.
    for attempt in 0..2 {
        let again = with_volume("probe_target", &["append", "/data/order", "main", "exit", "4"]);
        let id = runtime.create_attempt(&pod, "main", attempt, again).await.expect("a container");
        runtime.start(&id).await.expect("it starts");
        let status = runtime.end(&id).await;
        assert_eq!((status.exit_code, status.metadata.expect("a name").attempt), (4, attempt));
    }
    let order = std::fs::read_to_string(runtime.folder.join("ordered/order")).expect("a file");
    assert_eq!(order, "first\nsecond\nthird\nmain\nmain\n");
}

async fn files(runtime: Runtime) {
    let pod = runtime.pod().await;
    let message = runtime.file_mount("message", "/dev/termination-log", false);
    let hosts = runtime.file_mount("hosts", "/etc/hosts", true);
    std::fs::write(&hosts.host_path, "127.88.0.1 web\n").expect("a file");
    let mut leave = program("probe_target", &["read", "/etc/hosts", "message", "goodbye", "exit", "3"]);
    leave.mounts = vec![message.clone(), hosts.clone()];
    let id = runtime.run(&pod, "leave", leave).await;
    let status = runtime.end(&id).await;
    assert_eq!(status.exit_code, 3, "{}", runtime.raw_log(&id).await);
    assert_eq!(runtime.output(&id).await, ["stdout F 127.88.0.1 web"]);
    assert_eq!(status.mounts, [message.clone(), hosts.clone()]);
    assert_eq!(std::fs::read_to_string(&message.host_path).expect("a file"), "goodbye");

    let mut change = program("probe_target", &["write", "/etc/hosts", "changed"]);
    change.mounts = vec![hosts.clone()];
    let id = runtime.run(&pod, "change", change).await;
    assert_eq!(runtime.end(&id).await.exit_code, 1, "it may only be read");
    assert_eq!(std::fs::read_to_string(&hosts.host_path).expect("a file"), "127.88.0.1 web\n");

    // A command sees the same files.
    let mut wait = program("probe_target", &["wait"]);
    wait.mounts = vec![message.clone()];
    let id = runtime.run(&pod, "wait", wait).await;
    let ran = runtime.exec(&id, &["probe-target", "message", "by a command"], 60).await.expect("it runs");
    assert_eq!(ran.exit_code, 0, "{ran:?}");
    assert_eq!(std::fs::read_to_string(&message.host_path).expect("a file"), "by a command");
    runtime.stop(&id, 60).await.expect("it stops");

    // On another filesystem a file can't be linked: what was written is there when the container has ended.
    let elsewhere = tempfile::Builder::new().tempfile_in("/dev/shm").expect("a file");
    let device = |path: &Path| std::os::unix::fs::MetadataExt::dev(&std::fs::metadata(path).expect("a file"));
    assert_ne!(device(elsewhere.path()), device(&runtime.folder), "/dev/shm is a filesystem of its own");
    let mut leave = program("probe_target", &["message", "from afar"]);
    leave.mounts = vec![Mount {
        container_path: "/dev/termination-log".to_owned(),
        host_path: elsewhere.path().to_string_lossy().into_owned(),
        ..Default::default()
    }];
    let id = runtime.run(&pod, "afar", leave).await;
    assert_eq!(runtime.end(&id).await.exit_code, 0);
    assert_eq!(std::fs::read_to_string(elsewhere.path()).expect("a file"), "from afar");
}

async fn escape(runtime: Runtime) {
    let pod = runtime.pod().await;
    let secret = runtime.folder.join("secret-of-the-node");
    std::fs::write(&secret, "secret").expect("a file");
    for (name, read_only) in [("writable", false), ("fixed", true)] {
        let volume = runtime.folder_mount(&format!("escape-{name}"), "/data", read_only);
        let folder = Path::new(&volume.host_path);
        symlink(&secret, folder.join("made-by-the-node")).expect("a link");
        symlink(&runtime.folder, folder.join("folder-of-the-node")).expect("a link");
        let message = runtime.file_mount(&format!("escape-{name}-message"), "/dev/termination-log", false);
        for (place, from) in [("volume", "/data"), ("files", "/dev")] {
            let mut prisoner = program("subject", &["escape", from, &secret.to_string_lossy()]);
            prisoner.mounts = vec![volume.clone(), message.clone()];
            let id = runtime.run(&pod, &format!("{name}-{place}"), prisoner).await;
            let status = runtime.end(&id).await;
            let log = runtime.raw_log(&id).await;
            assert_eq!(status.exit_code, 0, "{name} {place}: {log}");
            assert!(log.contains("tried 16 ways"), "{log}");
            let made = log.matches(": made").count();
            assert_eq!(made > 0, place == "files" || !read_only, "{name} {place}: {log}");
        }
        assert_eq!(std::fs::read_to_string(&message.host_path).expect("a file"), "");
    }
    assert_eq!(std::fs::read_to_string(&secret).expect("a file"), "secret");
}

async fn broken(runtime: Runtime) {
    let pod = runtime.pod().await;
    let absent =
        Mount { container_path: "/x".to_owned(), host_path: "/not/there".to_owned(), ..Default::default() };
    let device = Mount { host_path: "/dev/null".to_owned(), ..absent.clone() };
    let folder = runtime.folder_mount("broken", "/data", false);
    let inside = runtime.file_mount("broken-file", "/data/file", false);
    for (name, mounts, words) in [
        ("absent", vec![absent], "mount /not/there: No such file"),
        ("device", vec![device], "mount /dev/null: it is neither a folder nor a regular file"),
        ("nested", vec![folder.clone(), inside], "can't be mounted into /data"),
        ("twice", vec![folder.clone(), folder], "/data is mounted twice"),
    ] {
        let mut one = program("subject", &["show"]);
        one.mounts = mounts;
        let id = runtime.run(&pod, name, one).await;
        let status = runtime.end(&id).await;
        assert_eq!((status.exit_code, status.reason.as_str()), (128, "StartError"), "{name}");
        assert!(status.message.contains(words), "{name}: {}", status.message);
    }
}

async fn private() {
    let folders = Folders::new();
    let (mut process, runtime) = folders.start().await;
    let count = || std::fs::read_dir(folders.path("root/mounts")).expect("a folder").count();
    let pod = runtime.pod().await;
    let mut wait = program("probe_target", &["write", "/dev/mine", "1234", "print", "ready", "wait"]);
    wait.mounts = vec![runtime.file_mount("message", "/dev/termination-log", false)];
    let one = runtime.run(&pod, "one", wait.clone()).await;
    let other = runtime.run(&pod, "other", wait).await;
    runtime.says(&one, "ready").await;
    assert_eq!(count(), 2);
    let layer = runtime.stats(&one).await.expect("stats").writable_layer.expect("a layer");
    let value = |value: Option<UInt64Value>| value.expect("a number").value;
    assert_eq!((value(layer.used_bytes), value(layer.inodes_used)), (4, 2));
    runtime.stop(&one, 60).await.expect("it stops");
    runtime.remove(&one).await.expect("it is removed");
    crate::client::eventually("one is left", async || (count() == 1).then_some(())).await;
    assert_eq!(runtime.status(&other).await.expect("a status").state(), ContainerState::ContainerRunning);
    process.kill().expect("it runs");
    process.wait().expect("it ended");
    let (mut process, _runtime) = folders.start().await;
    assert_eq!(count(), 0, "what a killed runtime left is cleared away");
    process.kill().expect("it runs");
    process.wait().expect("it ended");
}
