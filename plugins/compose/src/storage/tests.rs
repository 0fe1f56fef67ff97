//! Volumes in all their forms.

use super::*;
use crate::Config;

/// `source → target` of each volume, or the error.
fn show(
    fill: impl FnOnce(&mut Mounts, &Project<'_>, &Volumes) -> Result<(), String>,
) -> Result<String, String> {
    let config =
        Config { volumes: [("data".to_owned(), PathBuf::from("/srv/data"))].into(), ..Config::default() };
    let folder = Some(PathBuf::from("/etc/compose/shop"));
    let project = Project { name: "p".to_owned(), namespace: "p".to_owned(), folder, config: &config };
    let mut declared = Volumes::default();
    declared.declare("data");
    declared.declare("other");
    let mut mounts = Mounts::default();
    fill(&mut mounts, &project, &declared)?;
    let (volumes, mounts) = mounts.finish();
    let lines = volumes.iter().zip(&mounts).map(|(volume, mount)| {
        assert_eq!(volume["name"], mount["name"]);
        let source = match (&volume["hostPath"]["path"], &volume["emptyDir"]) {
            (Value::String(path), _) => path.clone(),
            (_, empty) => empty.to_string(),
        };
        let read_only = if mount["readOnly"] == json!(true) { " ro" } else { "" };
        let propagation =
            mount["mountPropagation"].as_str().map(|word| format!(" {word}")).unwrap_or_default();
        format!("{source} → {}{read_only}{propagation}", mount["mountPath"].as_str().unwrap_or_default())
    });
    Ok(lines.collect::<Vec<_>>().join("; "))
}

#[test]
fn volumes_in_short_and_long_form() {
    for (written, expected) in [
        (json!(["/srv/a:/a"]), Ok("/srv/a → /a")),
        (json!(["/srv/a:/a:ro,Z"]), Ok("/srv/a → /a ro")),
        (json!(["/srv/a:/a:rshared"]), Ok("/srv/a → /a Bidirectional")),
        (json!(["./conf:/conf"]), Ok("/etc/compose/shop/conf → /conf")),
        (json!(["data:/data"]), Ok("/srv/data → /data")),
        (json!(["/cache"]), Ok("{} → /cache")),
        (
            json!([{"type": "bind", "source": "/a", "target": "/b", "read_only": true, "bind": {"propagation": "rslave"}}]),
            Ok("/a → /b ro HostToContainer"),
        ),
        (
            json!([{"type": "volume", "source": "data", "target": "/d", "volume": {"nocopy": true}}]),
            Ok("/srv/data → /d"),
        ),
        (json!([{"type": "volume", "target": "/d"}]), Ok("{} → /d")),
        (
            json!([{"type": "tmpfs", "target": "/t", "tmpfs": {"size": "1m"}}]),
            Ok("{\"medium\":\"Memory\",\"sizeLimit\":\"1Mi\"} → /t"),
        ),
        (
            json!(["other:/data"]),
            Err("\"other:/data\": the volume other isn't mapped to a path in the plugin's configuration"),
        ),
        (json!(["undeclared:/data"]), Err("\"undeclared:/data\": the volume undeclared isn't declared")),
        (json!(["../x:/x"]), Err("\"../x:/x\": \"../x\" leads out of the project's folder")),
        (
            json!(["~/x:/x"]),
            Err(
                "\"~/x:/x\": \"~/x\" names a home folder, which the node doesn't have: it must be an absolute path",
            ),
        ),
        (json!(["/a:b"]), Err("\"/a:b\": \"b\" must be an absolute path")),
        (json!(["/a:/b:cached"]), Err("\"/a:/b:cached\": the option \"cached\" isn't supported")),
        (
            json!([{"type": "npipe", "source": "a", "target": "/b"}]),
            Err("/b: type \"npipe\" isn't supported, or its source is wrong"),
        ),
        (
            json!([{"type": "volume", "source": "data", "target": "/d", "volume": {"subpath": "x"}}]),
            Err("/d: volume.subpath isn't supported"),
        ),
        (json!("x"), Err("must be a list")),
    ] {
        let found = show(|mounts, project, declared| mounts.add_volumes(&written, project, declared));
        assert_eq!(found.as_deref().map_err(String::as_str), expected, "{written}");
    }
}

#[test]
fn folders_in_memory() {
    let tmpfs = |value: Value| show(|mounts, _, _| mounts.add_tmpfs(&value));
    assert_eq!(tmpfs(json!("/run")).as_deref(), Ok("{\"medium\":\"Memory\"} → /run"));
    assert_eq!(
        tmpfs(json!(["/run:size=64m", "/tmp"])).as_deref(),
        Ok("{\"medium\":\"Memory\",\"sizeLimit\":\"64Mi\"} → /run; {\"medium\":\"Memory\"} → /tmp")
    );
    assert!(tmpfs(json!("/run:mode=755")).is_err());
    assert_eq!(
        show(|mounts, _, _| mounts.add_shared_memory(&json!("64m"))).as_deref(),
        Ok("{\"medium\":\"Memory\",\"sizeLimit\":\"64Mi\"} → /dev/shm")
    );
}
