//! Endpoints about the agent's own process.

use http_body_util::Full;
use hyper::Method;
use hyper::body::Bytes;

use super::cluster::Cluster;
use super::soon;
use super::world::{SetUp, Who, World, request};
use crate::kubelet::EndpointSwitches;

async fn set_verbosity(world: &World, body: &str) -> (u16, String) {
    let admin = Who::token("admin");
    let request = request(Method::PUT, "/debug/flags/v", &admin.token);
    let request = request.map(|_| Full::new(Bytes::from(body.to_owned())));
    let reply = soon(world.request(request, &admin)).await;
    assert_eq!(reply.headers["x-content-type-options"], "nosniff");
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
    };
    let world = World::new(SetUp { switches, ..SetUp::default() }).await;
    assert_eq!(set_verbosity(&world, "6").await, (405, "flags endpoint is disabled.\n".to_owned()));
    assert_eq!(verbosity(&world.cluster), None);
    let logs = soon(world.get("/logs/syslog?query=kubelet")).await;
    assert_eq!((logs.code.as_u16(), &*logs.body), (405, "logs endpoint is disabled.\n"));
    for path in ["/flagz", "/statusz"] {
        assert_eq!(soon(world.get(path)).await.code.as_u16(), 404, "{path}");
    }
    world.stop().await;
}
