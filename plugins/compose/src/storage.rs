//! Volumes and mounts.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::project::Project;
use crate::values;

#[cfg(test)]
mod tests;

/// Named volumes that a file declares.
#[derive(Debug, Default)]
pub(crate) struct Volumes(BTreeSet<String>);

impl Volumes {
    pub(crate) fn declare(&mut self, name: &str) {
        self.0.insert(name.to_owned());
    }
}

/// What a container mounts.
#[derive(Debug, Default)]
pub(crate) struct Mounts {
    volumes: Vec<Value>,
    mounts: Vec<Value>,
}

/// What lies behind a mount.
enum Backing {
    /// A path of the node. Where nothing is, the runtime makes a folder, as compose's does.
    Host { path: PathBuf },
    /// A folder that lives as long as the pod.
    Scratch,
    /// The same in memory.
    Memory { size: Option<String> },
}

impl Mounts {
    /// Volumes and mounts for the pod.
    pub(crate) fn finish(self) -> (Vec<Value>, Vec<Value>) {
        (self.volumes, self.mounts)
    }

    /// The service's `volumes`.
    pub(crate) fn add_volumes(
        &mut self,
        value: &Value,
        project: &Project<'_>,
        declared: &Volumes,
    ) -> Result<(), String> {
        let Value::Array(items) = value else { return Err("must be a list".to_owned()) };
        for item in items {
            match item {
                Value::Object(fields) => self.add_long(fields, project, declared)?,
                item => {
                    let text = values::plain(item)?;
                    self.add_short(&text, project, declared)
                        .map_err(|problem| format!("{text:?}: {problem}"))?;
                }
            }
        }
        Ok(())
    }

    /// The service's `tmpfs`: paths with `size=`.
    pub(crate) fn add_tmpfs(&mut self, value: &Value) -> Result<(), String> {
        for text in values::list(value)? {
            let (target, options) = text.split_once(':').unwrap_or((&text, ""));
            let mut size = None;
            for option in options.split(',').filter(|option| !option.is_empty()) {
                match option.split_once('=') {
                    Some(("size", amount)) => size = Some(values::bytes(&json!(amount))?),
                    _ => return Err(format!("{text:?}: the option {option:?} isn't supported")),
                }
            }
            self.add(target, Backing::Memory { size }, false, None)?;
        }
        Ok(())
    }

    /// The service's `shm_size`.
    pub(crate) fn add_shared_memory(&mut self, value: &Value) -> Result<(), String> {
        let size = Some(values::bytes(value)?);
        self.add("/dev/shm", Backing::Memory { size }, false, None)
    }

    /// `[source:]target[:options]`
    fn add_short(&mut self, text: &str, project: &Project<'_>, declared: &Volumes) -> Result<(), String> {
        let parts: Vec<&str> = text.split(':').collect();
        let (source, target, options) = match *parts.as_slice() {
            [target] => return self.add(target, Backing::Scratch, false, None),
            [source, target] => (source, target, ""),
            [source, target, options] => (source, target, options),
            _ => return Err("must be source:target with or without options".to_owned()),
        };
        let (mut read_only, mut propagation) = (false, None);
        for option in options.split(',').filter(|option| !option.is_empty()) {
            match option {
                "ro" => read_only = true,
                // The labels of SELinux are the runtime's own business, and nothing is copied into a path of the node.
                "rw" | "z" | "Z" | "nocopy" => {}
                "rshared" => propagation = Some("Bidirectional"),
                "rslave" => propagation = Some("HostToContainer"),
                "rprivate" => propagation = None,
                other => return Err(format!("the option {other:?} isn't supported")),
            }
        }
        let backing = if is_path(source) {
            Backing::Host { path: host_path(source, project)? }
        } else {
            named(source, project, declared)?
        };
        self.add(target, backing, read_only, propagation)
    }

    fn add_long(
        &mut self,
        fields: &Map<String, Value>,
        project: &Project<'_>,
        declared: &Volumes,
    ) -> Result<(), String> {
        let text = |field: &str| fields.get(field).map(values::plain).transpose();
        let kind = text("type")?.ok_or("type is missing")?;
        let target = text("target")?.ok_or("target is missing")?;
        let source = text("source")?;
        let read_only = fields.get("read_only").map(values::flag).transpose()?.unwrap_or(false);
        let known = ["type", "target", "source", "read_only", kind.as_str(), "consistency"];
        if let Some(other) = fields.keys().find(|field| !known.contains(&field.as_str())) {
            return Err(format!("{target}: {other} isn't supported"));
        }
        let options = |allowed: &[&str]| {
            let options = fields.get(&kind).and_then(Value::as_object);
            match options.into_iter().flatten().find(|(name, _)| !allowed.contains(&name.as_str())) {
                Some((name, _)) => Err(format!("{target}: {kind}.{name} isn't supported")),
                None => Ok(options),
            }
        };
        let (backing, propagation) = match (kind.as_str(), source) {
            ("bind", Some(source)) => {
                let options = options(&["create_host_path", "propagation", "selinux"])?;
                let propagation = options.and_then(|options| options.get("propagation"));
                let propagation = match propagation.map(values::plain).transpose()?.as_deref() {
                    None | Some("rprivate") => None,
                    Some("rshared") => Some("Bidirectional"),
                    Some("rslave") => Some("HostToContainer"),
                    Some(other) => {
                        return Err(format!("{target}: bind.propagation {other:?} isn't supported"));
                    }
                };
                (Backing::Host { path: host_path(&source, project)? }, propagation)
            }
            ("volume", Some(source)) => {
                options(&["nocopy"])?;
                (named(&source, project, declared)?, None)
            }
            ("volume", None) => (Backing::Scratch, None),
            ("tmpfs", None) => {
                let options = options(&["size"])?;
                let size = options.and_then(|options| options.get("size")).map(values::bytes).transpose()?;
                (Backing::Memory { size }, None)
            }
            (kind, _) => {
                return Err(format!("{target}: type {kind:?} isn't supported, or its source is wrong"));
            }
        };
        self.add(&target, backing, read_only, propagation)
    }

    fn add(
        &mut self,
        target: &str,
        backing: Backing,
        read_only: bool,
        propagation: Option<&str>,
    ) -> Result<(), String> {
        if !target.starts_with('/') {
            return Err(format!("{target:?} must be an absolute path"));
        }
        let name = format!("v{}", self.volumes.len());
        let source = match backing {
            Backing::Host { path } => json!({"name": name, "hostPath": {"path": path}}),
            Backing::Scratch => json!({"name": name, "emptyDir": {}}),
            Backing::Memory { size: None } => json!({"name": name, "emptyDir": {"medium": "Memory"}}),
            Backing::Memory { size: Some(size) } => {
                json!({"name": name, "emptyDir": {"medium": "Memory", "sizeLimit": size}})
            }
        };
        self.volumes.push(source);
        let mut mount = json!({"name": name, "mountPath": target});
        if read_only {
            mount["readOnly"] = json!(true);
        }
        if let Some(propagation) = propagation {
            mount["mountPropagation"] = json!(propagation);
        }
        self.mounts.push(mount);
        Ok(())
    }
}

fn is_path(source: &str) -> bool {
    source.starts_with(['/', '.', '~'])
}

/// Where a source is on the node. A relative path begins at the folder of the file, if the operator says where that is.
fn host_path(source: &str, project: &Project<'_>) -> Result<PathBuf, String> {
    if source.starts_with('/') {
        return Ok(PathBuf::from(source));
    }
    if source.starts_with('~') {
        return Err(format!(
            "{source:?} names a home folder, which the node doesn't have: it must be an absolute path"
        ));
    }
    let folder = project
        .folder
        .as_ref()
        .ok_or_else(|| format!("{source:?} is relative, and the plugin's configuration has no hostFolder"))?;
    let mut path = folder.clone();
    for part in Path::new(source).components() {
        match part {
            std::path::Component::CurDir => {}
            std::path::Component::Normal(part) => path.push(part),
            _ => return Err(format!("{source:?} leads out of the project's folder")),
        }
    }
    Ok(path)
}

fn named(name: &str, project: &Project<'_>, declared: &Volumes) -> Result<Backing, String> {
    if !declared.0.contains(name) {
        return Err(format!("the volume {name} isn't declared"));
    }
    match project.config.volumes.get(name) {
        Some(path) => Ok(Backing::Host { path: path.clone() }),
        None => Err(format!("the volume {name} isn't mapped to a path in the plugin's configuration")),
    }
}
