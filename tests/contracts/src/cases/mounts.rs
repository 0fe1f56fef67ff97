//! What is promised of the host's folders in containers.

use std::path::PathBuf;

use witlet_core::runtime::{ContainerSpec, Mount, MountPropagation, SandboxId};

use crate::fixture::{Fixture, TestPod, Verdict, ensure};

/// Where the folder is in containers.
const MOUNTED_AT: &str = "/mounted";

/// A folder of this pod's own.
async fn folder(fixture: &Fixture<'_>, pod: &TestPod) -> Verdict<PathBuf> {
    let folder = fixture.environment.log_root.join(format!("mounted-{}", pod.uid));
    tokio::fs::create_dir_all(&folder).await?;
    Ok(folder)
}

/// A container that writes a file of this name to the folder.
fn writer(
    fixture: &Fixture<'_>,
    pod: &TestPod,
    name: &str,
    file: &str,
    mount: Mount,
) -> Verdict<ContainerSpec> {
    let Some(writes_to) = &fixture.environment.offers.writes_to else {
        return Err("the case ran without what it needs".to_owned().into());
    };
    let mut config = pod.container(name, 0, &writes_to(&format!("{MOUNTED_AT}/{file}")));
    config.mounts.push(mount);
    Ok(config)
}

fn mount(host_path: PathBuf) -> Mount {
    Mount {
        container_path: MOUNTED_AT.into(),
        host_path,
        read_only: false,
        recursive_read_only: false,
        propagation: MountPropagation::Private,
        selinux_relabel: false,
    }
}

async fn exit_code(
    fixture: &Fixture<'_>,
    pod: &TestPod,
    sandbox: &SandboxId,
    config: &ContainerSpec,
) -> Verdict<i32> {
    let id = fixture.start(sandbox, pod, config).await?;
    Ok(fixture.exited(pod, &id).await?.exit_code)
}

pub(super) async fn a_mounted_folder_is_shared_with_the_host_and_other_containers(
    fixture: &Fixture<'_>,
) -> Verdict {
    let pod = fixture.pod();
    let folder = folder(fixture, &pod).await?;
    let sandbox = fixture.run(&pod).await?;
    let mut sizes = Vec::new();
    for name in ["one", "two"] {
        let config = writer(fixture, &pod, name, "note", mount(folder.clone()))?;
        let code = exit_code(fixture, &pod, &sandbox, &config).await?;
        ensure!(code == 0, "{name} couldn't write: exit code {code}");
        sizes.push(tokio::fs::metadata(folder.join("note")).await?.len());
    }
    ensure!(0 < sizes[0] && sizes[0] < sizes[1], "the file's sizes were {sizes:?}");
    Ok(())
}

pub(super) async fn a_read_only_mount_can_not_be_written(fixture: &Fixture<'_>) -> Verdict {
    let pod = fixture.pod();
    let folder = folder(fixture, &pod).await?;
    let sandbox = fixture.run(&pod).await?;
    let read_only = Mount { read_only: true, ..mount(folder.clone()) };
    let config = writer(fixture, &pod, "app", "note", read_only)?;
    let code = exit_code(fixture, &pod, &sandbox, &config).await?;
    ensure!(code != 0, "it could write to what is read-only");
    ensure!(!tokio::fs::try_exists(folder.join("note")).await?, "it wrote to what is read-only");
    Ok(())
}

pub(super) async fn mounts_are_reported_as_they_were_asked_for(fixture: &Fixture<'_>) -> Verdict {
    let pod = fixture.pod();
    let folder = folder(fixture, &pod).await?;
    let sandbox = fixture.run(&pod).await?;
    let asked = Mount { read_only: true, ..mount(folder) };
    let config = writer(fixture, &pod, "app", "note", asked.clone())?;
    let id = fixture.create(&sandbox, &pod, &config).await?;
    let reported = fixture.inspect_container(&pod, &id).await?.mounts;
    let found = reported.iter().find(|mount| mount.container_path == asked.container_path);
    ensure!(found == Some(&asked), "asked for {asked:?}, reported {reported:?}");
    Ok(())
}
