//! The real daemon as a node of a cluster: an API server on a socket, a runtime that answers at once, and what others see.

pub(crate) mod cgroup_start;
pub(crate) mod evicted;
pub(crate) mod images;
mod joins;
mod killed;
pub(crate) mod kubectl;
mod node;
pub(crate) mod oom;
mod outage;
mod plugins;
pub(crate) mod prometheus;
pub(crate) mod promtool;
mod refused;
mod statics;
pub(crate) mod swap;
pub(crate) mod with_kubelet;

use futures::future::BoxFuture;
use k8s_openapi::api::coordination::v1::Lease;
use libtest_mimic::Failed;
use witlet_cluster::SAVED_PODS;

use witlet_harness::cluster::{Cluster, NODE, Runtime, container, failed, get, is_true};

/// A test with a cluster of its own.
pub(crate) type Test = fn() -> BoxFuture<'static, Result<(), Failed>>;

/// A test that is given containerd's endpoint, and is played in containerd's network.
pub(crate) type ContainerdTest = fn(String) -> BoxFuture<'static, Result<(), Failed>>;

/// What only root may, in a mount namespace of its own: see [`why_not_in_place`].
pub(crate) const IN_PLACE: &[(&str, Test)] =
    &[("a_node_starts_as_the_kubelet_with_what_kubeadm_writes", || Box::pin(joins::as_the_kubelet()))];

/// What needs promtool: see [`promtool::why_not`].
pub(crate) const WITH_PROMTOOL: &[(&str, Test)] = &[
    ("promtool_has_no_finding_about_the_metrics_of_a_node", || Box::pin(promtool::has_no_finding())),
    ("incidents_that_promtool_plays_to_the_rules_fire_their_alerts", || {
        Box::pin(async { promtool::plays_incidents_to_the_rules() })
    }),
];

/// What needs Prometheus: see [`prometheus::why_not`].
pub(crate) const WITH_PROMETHEUS: &[(&str, Test)] =
    &[("prometheus_stores_all_metrics_of_a_node", || Box::pin(prometheus::stores_all()))];

/// Why a daemon can't be put where a kubelet is, on this machine.
pub(crate) fn why_not_in_place() -> Option<&'static str> {
    let unshared = std::process::Command::new("unshare")
        .args(["--mount", "--propagation", "private", "true"])
        .stderr(std::process::Stdio::null())
        .status();
    let may = unshared.is_ok_and(|status| status.success());
    (!may).then_some("`unshare --mount` isn't there or isn't allowed, which root may")
}

/// All others that need no real runtime.
pub(crate) const TESTS: &[(&str, Test)] = &[
    ("pods_of_an_api_server_run_and_go_with_their_objects", || Box::pin(pods_come_and_go())),
    ("pods_run_again_after_the_machine_restarts_without_an_api_server", || {
        Box::pin(pods_run_again_without_it())
    }),
    ("an_api_server_that_is_away_for_a_minute_misses_nothing", || Box::pin(outage::a_minute())),
    ("a_node_joins_with_a_bootstrap_token_and_renews_its_certificate", || Box::pin(joins::bootstraps())),
    ("a_node_whose_object_is_deleted_registers_again_under_its_pods", || Box::pin(node::registers_again())),
    ("a_daemon_that_is_killed_while_pods_start_and_go_loses_none", || {
        Box::pin(killed::while_pods_come_and_go())
    }),
    ("pods_that_the_shipped_handlers_refuse_say_why", || Box::pin(refused::by_the_shipped_handlers())),
    ("a_plugin_file_with_an_error_is_shown_at_the_api_server_until_it_is_mended", || {
        Box::pin(plugins::a_broken_file_is_shown_until_it_is_mended())
    }),
    ("mirrors_follow_static_pods_whatever_is_done_to_them", || Box::pin(statics::mirrors_follow())),
];

/// A pod that is bound to the node runs and is reported; one that is deleted goes, and its object with it.
async fn pods_come_and_go() -> Result<(), Failed> {
    let cluster = Cluster::start().await?;
    let node = cluster.node_ready().await?;
    let info = node.status.and_then(|status| status.node_info).unwrap_or_default();
    if !info.kubelet_version.starts_with("v1.36.0") {
        return Err(format!("tools compare the version {:?}", info.kubelet_version).into());
    }
    cluster.until("it has its lease", |c| c.api().get::<Lease>("kube-node-lease", NODE)).await?;
    let healthz = get(cluster.healthz, "/healthz").await?;
    if !healthz.starts_with("HTTP/1.1 200") || !healthz.ends_with("ok") {
        return Err(format!("/healthz answers {healthz}").into());
    }
    cluster.create("web")?;
    cluster.ready("web").await?;
    cluster.until("its start was reported", |c| (c.event_count("web", "Started") == 1).then_some(())).await?;
    if cluster.cri().running() != 1 {
        return Err(format!("{} containers run", cluster.cri().running()).into());
    }
    cluster.asks_who_may("web").await?;
    let gets = cluster.api().count("get pods");
    if gets != 0 {
        return Err(format!("statuses cost {gets} reads").into());
    }
    cluster.delete("web", None)?;
    cluster.until("its object is gone", |c| c.pod("web").is_none().then_some(())).await?;
    cluster.until("so is its sandbox", |c| (c.cri().sandboxes() == 0).then_some(())).await?;
    cluster.end().await
}

/// The machine restarts while the API server is away: the pods of the last set run again, and are reported when it is back.
async fn pods_run_again_without_it() -> Result<(), Failed> {
    let mut cluster = Cluster::start().await?;
    cluster.create("web")?;
    let before = container(&cluster.ready("web").await?);
    let saved = cluster.ground.path("agent/witlet/state").join(SAVED_PODS);
    cluster
        .until("the last set is on disk", |_| {
            let text = std::fs::read_to_string(&saved).ok()?;
            text.contains("\"web\"").then_some(())
        })
        .await?;
    cluster.daemon.kill().map_err(failed)?;
    let socket = cluster.ground.path("cri.sock");
    cluster.ground.runtime.end(&socket).await?;
    cluster.api().down();
    cluster.ground.runtime = Runtime::start(socket);
    cluster.daemon.launch().map_err(failed)?;
    cluster.until("it runs again, on its last word", |c| (c.cri().running() == 1).then_some(())).await?;
    cluster.api().up();
    cluster
        .until("its new container is reported", |c| {
            let pod = c.pod("web")?;
            let after = container(&pod)?;
            // Times have whole seconds, and a machine that answers at once may be back within one.
            let is_new = before.as_ref().is_none_or(|before| before.0 != after.0);
            (is_new && is_true(&pod, "Ready")).then_some(())
        })
        .await?;
    cluster.create("late")?;
    cluster.ready("late").await?;
    cluster.end().await
}
