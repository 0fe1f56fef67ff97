//! The daemon called as the kubelet, for what only a kubelet's configuration has.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use libtest_mimic::Failed;
use serde_json::{Value, json};

use super::{Cluster, Ground, NODE, TOKEN, failed, free_address};
use crate::{DaemonOptions, asks_for_systemd, cgroups, tunables};

impl Cluster {
    /// `witlet kubelet` with these fields of its configuration in addition to those that say where everything is. Images are left alone
    /// unless the fields say otherwise: the disk may be nearly full.
    pub async fn start_as_kubelet(ground: Ground, fields: &Value) -> Result<Self, Failed> {
        let kubeconfig = ground.kubeconfig("kubelet.conf", &json!({"token": TOKEN}))?;
        let listens = [free_address().await?, free_address().await?];
        let config = write_config(&ground, listens, fields)?;
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
        line.extend(cgroups::flags(&ground.endpoint));
        options.command_line = Some(tunables::with_copies(line));
        let cluster = Self::launch(ground, options, listens).await?;
        cluster.node_ready().await?;
        Ok(cluster)
    }

    /// Kills the daemon, and starts it again with these fields in place of those before.
    pub fn restart_with_fields(&mut self, fields: &Value) -> Result<(), Failed> {
        write_config(&self.ground, [self.healthz, self.server], fields)?;
        self.daemon.kill_and_restart().map_err(failed)
    }
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
