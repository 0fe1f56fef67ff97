//! Endpoints about the agent's own process.

use std::os::unix::fs::PermissionsExt;

use http_body_util::Full;
use hyper::Method;
use hyper::body::Bytes;

use super::cluster::{Cluster, HELD_CHECKPOINT, running, web};
use super::soon;
use super::world::{SetUp, Who, World, request};
use crate::kubelet::EndpointSwitches;

async fn set_verbosity(world: &World, body: &str) -> (u16, String) {
    let admin = Who::token("admin");
    let request = request(Method::PUT, "/debug/flags/v", &admin.token);
    let request = request.map(|_| Full::new(Bytes::from(body.to_owned())));
    let reply = soon(world.request(request, &admin)).await;
    assert_eq!(reply.headers["x-content-type-options"], "nosniff");
    // That the endpoint is off is said by upstream's server, everything else by the endpoint's own handler.
    let media_type = if reply.code == 405 { "text/plain; charset=utf-8" } else { "text/plain" };
    assert_eq!(reply.headers["content-type"], media_type);
    (reply.code.as_u16(), reply.body)
}

fn verbosity(cluster: &Cluster) -> Option<u32> {
    *cluster.verbosity.lock().unwrap()
}

#[tokio::test]
async fn the_verbosity_is_set_by_a_number() {
    let world = World::new(SetUp::default()).await;
    let set = set_verbosity(&world, "6").await;
    assert_eq!(set, (200, "successfully set klog.logging.verbosity to 6\n".to_owned()));
    assert_eq!(verbosity(&world.cluster), Some(6));
    let refused = set_verbosity(&world, "99").await;
    assert_eq!(refused, (400, "the log is gone\n".to_owned()));
    let refused = set_verbosity(&world, "much").await;
    assert_eq!(refused, (400, "strconv.ParseUint: parsing \"much\": invalid syntax\n".to_owned()));
    let (code, words) = set_verbosity(&world, &"1".repeat(2000)).await;
    assert_eq!(code, 400, "{words}");
    for method in [Method::GET, Method::POST, Method::DELETE] {
        let refused = soon(world.ask(method.clone(), "/debug/flags/v", &Who::token("admin"))).await;
        assert_eq!((refused.code.as_u16(), &*refused.body), (406, "unsupported http method\n"), "{method}");
    }
    assert_eq!(verbosity(&world.cluster), Some(6), "what is refused changes nothing");
    world.stop().await;
}

#[tokio::test]
async fn pages_show_the_process_to_every_method() {
    let world = World::new(SetUp::default()).await;
    for method in [Method::GET, Method::POST, Method::PUT] {
        let flags = soon(world.ask(method.clone(), "/flagz", &Who::token("admin"))).await;
        assert_eq!(flags.code.as_u16(), 200, "{method}");
        assert!(flags.body.starts_with("\nkubelet flagz\nWarning: "), "{}", flags.body);
        assert!(flags.body.ends_with("\nv=2\n"), "{}", flags.body);
    }
    let status = soon(world.get("/statusz")).await.body;
    assert!(status.starts_with("\nkubelet statusz\nWarning: "), "{status}");
    assert!(status.contains("\nUp: 0 hr 00 min 00 sec\n"), "{status}");
    assert!(status.contains("\nBinary version: 1.36.0\nEmulation version: 1.36\n"), "{status}");
    world.stop().await;
}

#[tokio::test]
async fn what_is_switched_off_says_so_or_is_not_there() {
    let switches = EndpointSwitches {
        flagz: false,
        statusz: false,
        debug_flags: false,
        system_logs: false,
        system_log_query: true,
        profiling: false,
        checkpoint: false,
    };
    let world = World::new(SetUp { switches, ..SetUp::default() }).await;
    assert_eq!(set_verbosity(&world, "6").await, (405, "flags endpoint is disabled.\n".to_owned()));
    assert_eq!(verbosity(&world.cluster), None);
    let logs = soon(world.get("/logs/syslog?query=kubelet")).await;
    assert_eq!((logs.code.as_u16(), &*logs.body), (405, "logs endpoint is disabled.\n"));
    let profile = soon(world.get("/debug/pprof/cmdline")).await;
    assert_eq!((profile.code.as_u16(), &*profile.body), (405, "profiling endpoint is disabled.\n"));
    for path in ["/flagz", "/statusz", "/checkpoint/default/web/app"] {
        assert_eq!(soon(world.get(path)).await.code.as_u16(), 404, "{path}");
    }
    world.stop().await;
}

async fn checkpoint(world: &World, path: &str) -> (u16, String) {
    let reply = soon(world.ask(Method::POST, path, &Who::token("admin"))).await;
    (reply.code.as_u16(), reply.body.replace(&world.folder.path().display().to_string(), "ROOT"))
}

#[tokio::test]
async fn a_running_container_is_saved_below_the_root_folder() {
    let world = World::new(SetUp::default()).await;
    world.cluster.show(web("c-2", running(), None));
    let saved = checkpoint(&world, "/checkpoint/default/web/app").await;
    let items = r#"{"items":["ROOT/root/checkpoints/checkpoint-web_default-app-2026-06-01T12:00:00Z.tar"]}"#;
    assert_eq!(saved, (200, items.to_owned()));
    // Another one of the same second has a name of its own.
    let again = checkpoint(&world, "/checkpoint/default/web/app?timeout=x&timeout=300").await;
    assert_eq!(again, (200, items.replace(".tar", "-2.tar")));
    let asked = world.cluster.asked.lock().unwrap().clone();
    assert_eq!(
        asked,
        [
            "checkpoint c-2 None, the folder is there: true",
            "checkpoint c-2 Some(300s), the folder is there: true"
        ]
    );
    let mode = std::fs::metadata(world.folder.path().join("root/checkpoints")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    world.stop().await;
}

#[tokio::test]
async fn checkpoints_are_made_also_for_clients_that_are_gone() {
    let world = World::new(SetUp::default()).await;
    world.cluster.show(web("c-2", running(), None));
    let admin = Who::token("admin");
    let path = format!("/checkpoint/default/web/app?timeout={}", HELD_CHECKPOINT.as_secs());
    let under_way = || world.cluster.asked.lock().unwrap().len();
    // They go once the runtime saves their containers.
    for number in 1..=4 {
        let mut asking = Box::pin(world.ask(Method::POST, &path, &admin));
        soon(async {
            while under_way() < number {
                tokio::select! { _ = &mut asking => panic!("it is held"), () = tokio::task::yield_now() => {} }
            }
        })
        .await;
    }
    let folder = world.folder.path().join("root/checkpoints");
    let archives = || std::fs::read_dir(&folder).unwrap().count();
    assert_eq!((under_way(), archives()), (4, 0));
    // The next one is made after them, with a name of its own.
    world.cluster.checkpoints.0.add_permits(5);
    let saved = soon(world.ask(Method::POST, &path, &admin)).await;
    assert_eq!(saved.code.as_u16(), 200, "{}", saved.body);
    soon(async {
        while archives() < 5 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    world.stop().await;
}

#[tokio::test]
async fn checkpoints_are_refused_in_upstreams_words() {
    let world = World::new(SetUp::default()).await;
    world.cluster.show(web("c-2", running(), None));
    let failed = |why: &str| (500, format!("checkpointing of default/web/app failed ({why})"));
    for (path, expected) in [
        ("/checkpoint/default/none/app", (404, "pod does not exist".to_owned())),
        ("/checkpoint/default/web/none", (404, "container none does not exist".to_owned())),
        (
            "/checkpoint/default/web/app?timeout=1s",
            (404, "cannot parse value of timeout parameter".to_owned()),
        ),
        (
            "/checkpoint/default/web/app?timeout=-1",
            failed("CheckpointContainer requires the timeout value to be > 0"),
        ),
        ("/checkpoint/default/web/app?timeout=13", failed("CheckpointContainer: not found: no criu")),
    ] {
        assert_eq!(checkpoint(&world, path).await, expected, "{path}");
    }
    assert_eq!(soon(world.get("/checkpoint/default/web/app")).await.code.as_u16(), 405);
    world.stop().await;
}
