//! Volumes on a server that doesn't answer: a process that checks them waits in the kernel, and can't be interrupted.

use std::fs::{self, File, OpenOptions};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use serde_json::json;
use witlet_core::pod::PodUid;
use witlet_core::volume::{HostPathCheck, SubPath, VolumeKind, VolumeSetUp};
use witlet_node::DiskUsage;
use witlet_ports::{StorageMeter as _, VolumeError, Volumes};

use crate::{Case, Fixture};

pub(crate) const CASES: &[Case] = &[
    (
        "a_volume_that_hangs_takes_one_thread_however_often_it_is_tried",
        a_volume_that_hangs_takes_one_thread_however_often_it_is_tried,
    ),
    (
        "a_volume_that_hangs_takes_one_thread_however_often_it_is_measured",
        a_volume_that_hangs_takes_one_thread_however_often_it_is_measured,
    ),
];

/// Times that the volume is tried: far more than the threads that a case has otherwise.
const TRIES: usize = 40;
/// What doesn't hang is done by then.
const WAIT_TIMEOUT: Duration = Duration::from_secs(300);

/// A file system whose server never says a word. It ends when the file is closed.
fn silent_server(at: &Path) -> File {
    let device = OpenOptions::new().read(true).write(true).open("/dev/fuse").expect("/dev/fuse");
    let options = format!("fd={},rootmode=40000,user_id=0,group_id=0", device.as_raw_fd());
    let options = std::ffi::CString::new(options).expect("no NUL");
    let flags = rustix::mount::MountFlags::empty();
    rustix::mount::mount("silent", at, "fuse", flags, options.as_c_str()).expect("mounted");
    device
}

/// Threads of this case. Other cases run next to it, and have threads of their own; a thread that ends meanwhile has no name.
fn threads(fixture: &Fixture) -> usize {
    let tasks = fs::read_dir("/proc/self/task").expect("threads");
    let names = tasks.filter_map(|task| fs::read_to_string(task.ok()?.path().join("comm")).ok());
    names.filter(|name| name.trim_end() == fixture.thread_name).count()
}

fn a_volume_that_hangs_takes_one_thread_however_often_it_is_tried(fixture: &Fixture) {
    let at = fixture.at("server");
    fs::create_dir(&at).expect("made");
    let server = silent_server(&at);
    let hangs = VolumeSetUp {
        name: "v".to_owned(),
        kind: VolumeKind::HostPath { path: at.join("data"), check: HostPathCheck::Directory },
        ownership: None,
    };
    fixture.tokio.block_on(async {
        for _ in 0..TRIES {
            let tried = fixture.volumes.set_up(&fixture.uid, &hangs);
            tokio::time::timeout(Duration::from_millis(5), tried).await.expect_err("it hangs");
        }
        // A path below such a volume is looked for there, too.
        let below = SubPath { volume: "v".into(), container: "app".into(), index: 0, path: "data".into() };
        for _ in 0..TRIES {
            let tried = fixture.volumes.sub_path(&fixture.uid, &at, &below);
            tokio::time::timeout(Duration::from_millis(5), tried).await.expect_err("it hangs");
        }
        let threads = threads(fixture);
        assert!((1..TRIES / 2).contains(&threads), "{threads} threads");
        let fine = VolumeSetUp { kind: VolumeKind::EmptyDir, ..hangs.clone() };
        let other = PodUid::from("u-2");
        let other = tokio::time::timeout(WAIT_TIMEOUT, fixture.volumes.set_up(&other, &fine)).await;
        other.expect("no one holds it up").expect("set up");
        // The pod ends all the same.
        let ended = tokio::time::timeout(WAIT_TIMEOUT, fixture.volumes.tear_down(&fixture.uid)).await;
        ended.expect("nothing of the pod's own hangs").expect("torn down");
        drop(server);
        let reported = tokio::time::timeout(WAIT_TIMEOUT, fixture.volumes.set_up(&fixture.uid, &hangs)).await;
        let reported = reported.expect("the pod's turn comes").expect_err("the server is gone");
        assert!(matches!(reported, VolumeError::HostPathMissing { .. }), "{reported}");
    });
}

fn a_volume_that_hangs_takes_one_thread_however_often_it_is_measured(fixture: &Fixture) {
    let at = fixture.set_up("v", VolumeKind::EmptyDir, None).expect("set up");
    let server = silent_server(&at);
    let pod = |uid: &PodUid| {
        let pod = json!({
            "metadata": {"name": "p", "namespace": "ns", "uid": uid},
            "spec": {"containers": [], "volumes": [{"name": "v", "emptyDir": {}}]},
        });
        serde_json::from_value::<Pod>(pod).expect("a pod")
    };
    let meter = DiskUsage::new(fixture.folder.path(), &fixture.at("logs"));
    fixture.tokio.block_on(async {
        let hangs = pod(&fixture.uid);
        for _ in 0..TRIES {
            let tried = meter.measure(&hangs);
            tokio::time::timeout(Duration::from_millis(5), tried).await.expect_err("it hangs");
        }
        let threads = threads(fixture);
        assert!(threads < TRIES / 2, "{threads} threads");
        let other = tokio::time::timeout(WAIT_TIMEOUT, meter.measure(&pod(&PodUid::from("u-2")))).await;
        other.expect("no other pod waits for it");
        drop(server);
        let measured = tokio::time::timeout(WAIT_TIMEOUT, meter.measure(&hangs)).await;
        measured.expect("the pod's turn comes");
    });
}
