//! The daemon called as the kubelet, for what only a kubelet's configuration has.

use std::future::ready;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use libtest_mimic::Failed;
use serde_json::{Value, json};

use super::{Cluster, Ground, NODE, TOKEN, failed, free_address};
use crate::{Daemon, DaemonOptions, WAIT_TIMEOUT, asks_for_systemd, cgroups, poll_until, tunables};

impl Cluster {
    /// `witlet kubelet` with these fields of its configuration in addition to those that say where everything is. Images are left alone
    /// unless the fields say otherwise: the disk may be nearly full.
    pub async fn start_as_kubelet(ground: Ground, fields: &Value) -> Result<Self, Failed> {
        Self::start_as_kubelet_after("", ground, fields).await
    }

    /// The same after these shell commands in the daemon's mount namespace, each of which ends with a line.
    pub async fn start_as_kubelet_after(
        commands: &str,
        ground: Ground,
        fields: &Value,
    ) -> Result<Self, Failed> {
        let listens = [free_address().await?, free_address().await?];
        let options = options(&ground, listens, fields, commands)?;
        let cluster = Self::launch(ground, options, listens).await?;
        cluster.node_ready().await?;
        Ok(cluster)
    }

    /// The same where the start is to fail: what the daemon said until it ended.
    pub async fn refused_as_kubelet_after(
        commands: &str,
        ground: Ground,
        fields: &Value,
    ) -> Result<String, Failed> {
        let listens = [free_address().await?, free_address().await?];
        let mut daemon = Daemon::start(options(&ground, listens, fields, commands)?).map_err(failed)?;
        // Whether it still runs can be a failure of its own.
        let ended = poll_until(WAIT_TIMEOUT, || {
            let running = daemon.is_running();
            ready((!matches!(running, Ok(true))).then_some(running))
        });
        match ended.await {
            Some(running) => running.map_err(failed)?,
            None => return Err(format!("it started with {fields}:\n{}", daemon.log()).into()),
        };
        let log = daemon.log();
        ground.end().await?;
        Ok(log)
    }

    /// Kills the daemon, and starts it again with these fields in place of those before.
    pub fn restart_with_fields(&mut self, fields: &Value) -> Result<(), Failed> {
        write_config(&self.ground, [self.healthz, self.server], fields)?;
        self.daemon.kill_and_restart().map_err(failed)
    }
}

/// How it is started. A `cgroupRoot` of the fields goes before the test's own.
fn options(
    ground: &Ground,
    listens: [SocketAddr; 2],
    fields: &Value,
    commands: &str,
) -> Result<DaemonOptions, Failed> {
    let kubeconfig = ground.kubeconfig("kubelet.conf", &json!({"token": TOKEN}))?;
    let config = write_config(ground, listens, fields)?;
    let program = crate::program::witlet().map_err(failed)?;
    let mut options = DaemonOptions::below(ground.folder.path(), "unshare", &*ground.endpoint);
    let mut line = vec![
        program.display().to_string(),
        "kubelet".to_owned(),
        format!("--config={}", config.display()),
        format!("--kubeconfig={}", kubeconfig.display()),
        format!("--root-dir={}", options.root.display()),
        format!("--api-socket={}", options.root.join("api.sock").display()),
        format!("--container-runtime-endpoint={}", ground.endpoint),
        format!("--hostname-override={NODE}"),
    ];
    if fields.get("cgroupRoot").is_none() {
        line.extend(cgroups::flags(&ground.endpoint));
    }
    options.command_line = Some(tunables::with_copies_and(commands, line));
    Ok(options)
}

fn write_config(
    ground: &Ground,
    [healthz, server]: [SocketAddr; 2],
    fields: &Value,
) -> Result<PathBuf, Failed> {
    let mut config = json!({
        "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
        "address": Ipv4Addr::LOCALHOST, "port": server.port(), "healthzPort": healthz.port(),
        "authentication": {"x509": {"clientCAFile": ground.path("ca.crt")}},
        "podLogsDir": ground.path("pod-logs"), "failCgroupV1": false, "failSwapOn": false,
        "imageGCHighThresholdPercent": 100,
        "cgroupDriver": if asks_for_systemd() { "systemd" } else { "cgroupfs" },
    });
    if let (Some(config), Some(fields)) = (config.as_object_mut(), fields.as_object()) {
        config.extend(fields.clone());
    }
    let path = ground.path("config.yaml");
    std::fs::write(&path, config.to_string())?;
    Ok(path)
}
