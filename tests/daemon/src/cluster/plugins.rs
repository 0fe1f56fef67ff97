//! A plugin file with an error, as people see it at the API server, and until it is mended.

use std::net::Ipv4Addr;
use std::path::Path;

use k8s_openapi::api::core::v1::{Node, NodeCondition};
use libtest_mimic::Failed;
use witlet_api_server::Admission;

use witlet_harness::cluster::{Cluster, Ground, NODE, is_ready};

/// Refuses each image that pods of this suite have; `more` stands in the entry, too.
fn write(file: &Path, more: &str) -> Result<(), Failed> {
    let entry = format!(
        "{{name: images, component: 'builtin:image-policy', admission: {{}}, config: {{allow: [elsewhere.example.com]}}{more}}}"
    );
    let text = format!("apiVersion: witlet.dev/v1alpha1\nkind: PluginConfiguration\nplugins:\n- {entry}\n");
    let new = file.with_extension("new");
    std::fs::write(&new, text)?;
    Ok(std::fs::rename(&new, file)?)
}

fn condition(cluster: &Cluster) -> Option<NodeCondition> {
    let node = cluster.api().get::<Node>("", NODE).filter(is_ready)?;
    let conditions = node.status?.conditions?;
    conditions.into_iter().find(|condition| condition.type_ == "PluginsReady")
}

/// Waits until the node, which stays ready, has the condition with this status and these words.
async fn shows(cluster: &Cluster, status: &str, words: &str) -> Result<(), Failed> {
    let is_shown = |condition: &NodeCondition| {
        condition.status == status && condition.message.as_ref().is_some_and(|it| it.contains(words))
    };
    let what = format!("PluginsReady is {status} with {words:?}");
    let shown = cluster.until(&what, |cluster| condition(cluster).filter(is_shown)).await;
    shown.map(|_| ()).map_err(|error| {
        Failed::from(format!("{:?}\n{}", condition(cluster), error.message().unwrap_or_default()))
    })
}

/// At the start and as an edit: a condition and an event of the node name it, and no pod is refused for it.
pub(super) async fn a_broken_file_is_shown_until_it_is_mended() -> Result<(), Failed> {
    const BROKEN: &str = ", colour: red";
    let ground = Ground::new(Admission { node_rules: true, ..Admission::default() }).await?;
    let file = ground.path("plugins.yaml");
    write(&file, BROKEN)?;
    let more = vec![format!("--plugins={}", file.display())];
    let cluster = Cluster::start_with_token(ground, Ipv4Addr::LOCALHOST, more).await?;
    shows(&cluster, "False", "colour").await?;
    let reports = |cluster: &Cluster| cluster.event_count(NODE, "PluginConfigurationInvalid");
    cluster.until("an event of the node says so", |c| (reports(c) > 0).then_some(())).await?;
    cluster.create("web")?;
    cluster.ready("web").await?;

    write(&file, "")?;
    shows(&cluster, "True", "all configured plugins are loaded").await?;
    cluster.create("late")?;
    let message = cluster
        .until("the plugin refuses a pod", |c| {
            c.pod("late")?.status.filter(|status| status.phase.as_deref() == Some("Failed"))?.message
        })
        .await?;
    if !message.contains("(plugin images, sha256:") {
        return Err(cluster.failure(&format!("the refusal doesn't say whose it is: {message}")));
    }

    let before = reports(&cluster);
    write(&file, BROKEN)?;
    shows(&cluster, "False", "colour").await?;
    cluster.until("an event says so again", |c| (reports(c) > before).then_some(())).await?;
    write(&file, "")?;
    shows(&cluster, "True", "all configured plugins are loaded").await?;
    if cluster.cri().starts().len() != 1 {
        return Err(cluster.failure("a pod was touched that runs"));
    }
    cluster.end().await
}
