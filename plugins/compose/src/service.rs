//! A service as a pod with one container.

use serde_json::{Map, Value, json};

use crate::project::{Pod, Project, is_nothing};
use crate::storage::{Mounts, Volumes};
use crate::{network, values};

#[cfg(test)]
mod tests;

/// What compose waits for a container to stop.
const STOP_GRACE_SECONDS: i64 = 10;
/// Compose's defaults for health checks.
const CHECK_SECONDS: i64 = 30;
const CHECK_RETRIES: i64 = 3;

/// A service on its way to be a pod.
pub(crate) struct Service<'a> {
    project: &'a Project<'a>,
    volumes: &'a Volumes,
    name: &'a str,
    pod: Map<String, Value>,
    pod_security: Map<String, Value>,
    container: Map<String, Value>,
    security: Map<String, Value>,
    annotations: Map<String, Value>,
    resources: [Map<String, Value>; 2],
    mounts: Mounts,
    pod_name: String,
    runs: bool,
}

/// Which of the two maps of resources.
const LIMITS: usize = 0;
const REQUESTS: usize = 1;

impl<'a> Service<'a> {
    pub(crate) fn new(project: &'a Project<'a>, volumes: &'a Volumes, name: &'a str) -> Self {
        Self {
            project,
            volumes,
            name,
            pod: Map::new(),
            pod_security: Map::new(),
            container: Map::new(),
            security: Map::new(),
            annotations: Map::new(),
            resources: [Map::new(), Map::new()],
            mounts: Mounts::default(),
            pod_name: format!("{}-{name}", project.name),
            runs: true,
        }
    }

    /// The pod; none if the service isn't to run, or can't be one.
    pub(crate) fn pod(mut self, service: &Value, problems: &mut Vec<String>) -> Option<Pod> {
        let Value::Object(fields) = service else {
            problems.push("must be a map".to_owned());
            return None;
        };
        // Compose restarts nothing unless asked to.
        self.pod.insert("restartPolicy".to_owned(), json!("Never"));
        self.pod.insert("terminationGracePeriodSeconds".to_owned(), json!(STOP_GRACE_SECONDS));
        self.pod.insert("automountServiceAccountToken".to_owned(), json!(false));
        self.pod.insert("enableServiceLinks".to_owned(), json!(false));
        for (field, value) in fields {
            if let Err(problem) = self.take(field, value) {
                problems.push(problem);
            }
        }
        if !fields.contains_key("image") {
            problems.push("image is missing".to_owned());
        }
        if !values::is_label(self.name) || !values::is_label(&self.pod_name) {
            let problem =
                format!("{:?} can't be a pod's name: lower-case letters, digits and `-`", self.pod_name);
            problems.push(problem);
        }
        (problems.is_empty() && self.runs).then(|| self.finish())
    }

    fn finish(mut self) -> Pod {
        let labels = json!({
            "app.kubernetes.io/name": self.name,
            "app.kubernetes.io/part-of": self.project.name,
        });
        let [limits, requests] = self.resources;
        self.container.insert("name".to_owned(), json!(self.name));
        self.container.insert("resources".to_owned(), json!({"limits": limits, "requests": requests}));
        self.container.insert("securityContext".to_owned(), Value::Object(self.security));
        let (volumes, mounts) = self.mounts.finish();
        self.container.insert("volumeMounts".to_owned(), json!(mounts));
        self.pod.insert("volumes".to_owned(), json!(volumes));
        self.pod.insert("securityContext".to_owned(), Value::Object(self.pod_security));
        self.pod.insert("containers".to_owned(), json!([self.container]));
        let metadata = json!({
            "name": self.pod_name, "namespace": self.project.namespace, "labels": labels,
            "annotations": self.annotations,
        });
        let manifest = json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": self.pod});
        Pod { namespace: self.project.namespace.clone(), name: self.pod_name, manifest }
    }

    /// One field of the service. What no pod has is refused by its name.
    fn take(&mut self, field: &str, value: &Value) -> Result<(), String> {
        if field.starts_with("x-") {
            return Ok(());
        }
        let taken = match field {
            "image" | "command" | "entrypoint" | "environment" | "working_dir" | "tty" | "stdin_open"
            | "pull_policy" => self.take_container(field, value),
            "user" | "read_only" | "cap_add" | "cap_drop" | "privileged" | "security_opt" | "sysctls"
            | "group_add" => self.take_security(field, value),
            "volumes" => {
                let (project, volumes) = (self.project, self.volumes);
                self.mounts.add_volumes(value, project, volumes)
            }
            "tmpfs" => self.mounts.add_tmpfs(value),
            "shm_size" => self.mounts.add_shared_memory(value),
            "ports" => network::ports(value).map(|ports| self.add_ports(ports)),
            "expose" => network::exposed(value).map(|ports| self.add_ports(ports)),
            "extra_hosts" | "hostname" | "network_mode" | "pid" | "ipc" | "dns" | "dns_search"
            | "userns_mode" => network::of_pod(field, value, &mut self.pod),
            "restart" | "stop_grace_period" | "healthcheck" | "profiles" | "scale" => {
                self.take_life(field, value)
            }
            "labels" | "annotations" => self.add_annotations(value),
            "container_name" => values::plain(value).map(|name| self.pod_name = name),
            "deploy" => self.take_deploy(value),
            "mem_limit" => self.add_resource(LIMITS, "memory", values::bytes(value)),
            "mem_reservation" => self.add_resource(REQUESTS, "memory", values::bytes(value)),
            "cpus" => self.add_resource(LIMITS, "cpu", values::cpus(value)),
            _ if is_nothing(value) => Ok(()),
            _ => return Err(format!("{field} isn't supported")),
        };
        taken.map_err(|problem| format!("{field}: {problem}"))
    }

    fn set(&mut self, field: &str, value: Value) {
        self.container.insert(field.to_owned(), value);
    }

    fn take_container(&mut self, field: &str, value: &Value) -> Result<(), String> {
        match field {
            "image" => self.set("image", json!(values::plain(value)?)),
            "command" if value.is_null() => {}
            "command" => self.set("args", json!(escaped(values::command(value)?))),
            "entrypoint" if value.is_null() => {}
            "entrypoint" => self.set("command", json!(escaped(values::command(value)?))),
            "working_dir" => self.set("workingDir", json!(values::plain(value)?)),
            "tty" => self.set("tty", json!(values::flag(value)?)),
            "stdin_open" => self.set("stdin", json!(values::flag(value)?)),
            "pull_policy" => {
                let policy = match values::plain(value)?.as_str() {
                    "always" => "Always",
                    "missing" | "if_not_present" => "IfNotPresent",
                    "never" => "Never",
                    other => return Err(format!("{other:?} isn't supported")),
                };
                self.set("imagePullPolicy", json!(policy));
            }
            // The environment: a name without a value takes the variable's, if that is set, as compose takes its own's.
            _ => {
                let mut variables = Vec::new();
                for (name, value) in values::map(value)? {
                    let value = value.or_else(|| self.project.config.variables.get(&name).cloned());
                    variables.extend(value.map(|value| json!({"name": name, "value": escape(&value)})));
                }
                self.set("env", json!(variables));
            }
        }
        Ok(())
    }

    fn take_security(&mut self, field: &str, value: &Value) -> Result<(), String> {
        let capabilities = |value| -> Result<Vec<String>, String> {
            let names = values::list(value)?.into_iter();
            Ok(names.map(|name| name.strip_prefix("CAP_").map_or(name.clone(), str::to_owned)).collect())
        };
        match field {
            "user" => {
                let user = values::plain(value)?;
                let (user, group) = user.split_once(':').map_or((user.as_str(), None), |(u, g)| (u, Some(g)));
                let id = |text: &str| {
                    text.parse::<u32>()
                        .map_err(|_| format!("{text:?} must be a number: a pod knows no names"))
                };
                self.security.insert("runAsUser".to_owned(), json!(id(user)?));
                if let Some(group) = group {
                    self.security.insert("runAsGroup".to_owned(), json!(id(group)?));
                }
            }
            "read_only" => {
                self.security.insert("readOnlyRootFilesystem".to_owned(), json!(values::flag(value)?));
            }
            "privileged" => {
                self.security.insert("privileged".to_owned(), json!(values::flag(value)?));
            }
            "cap_add" | "cap_drop" => {
                let list = if field == "cap_add" { "add" } else { "drop" };
                let all = self.security.entry("capabilities").or_insert_with(|| json!({}));
                all[list] = json!(capabilities(value)?);
            }
            "sysctls" => {
                let mut all = Vec::new();
                for (name, value) in values::map(value)? {
                    let value = value.ok_or_else(|| format!("{name} has no value"))?;
                    all.push(json!({"name": name, "value": value}));
                }
                self.pod_security.insert("sysctls".to_owned(), json!(all));
            }
            "group_add" => {
                let id = |text: String| {
                    text.parse::<u32>()
                        .map_err(|_| format!("{text:?} must be a number: a pod knows no names"))
                };
                let groups = values::list(value)?.into_iter().map(id).collect::<Result<Vec<_>, _>>()?;
                self.pod_security.insert("supplementalGroups".to_owned(), json!(groups));
            }
            _ => {
                for option in values::list(value)? {
                    self.add_security_option(&option)?;
                }
            }
        }
        Ok(())
    }

    fn add_security_option(&mut self, option: &str) -> Result<(), String> {
        let (name, value) = option.split_once([':', '=']).unwrap_or((option, ""));
        let (field, value) = match (name, value) {
            ("no-new-privileges", "" | "true") => ("allowPrivilegeEscalation", json!(false)),
            ("no-new-privileges", "false") => return Ok(()),
            ("seccomp", "unconfined") => ("seccompProfile", json!({"type": "Unconfined"})),
            ("apparmor", "unconfined") => ("appArmorProfile", json!({"type": "Unconfined"})),
            ("apparmor", profile) if !profile.is_empty() => {
                ("appArmorProfile", json!({"type": "Localhost", "localhostProfile": profile}))
            }
            _ => return Err(format!("{option:?} isn't supported")),
        };
        self.security.insert(field.to_owned(), value);
        Ok(())
    }

    fn take_life(&mut self, field: &str, value: &Value) -> Result<(), String> {
        match field {
            "restart" => {
                let policy = match values::plain(value)?.as_str() {
                    "no" => "Never",
                    "always" | "unless-stopped" => "Always",
                    "on-failure" => "OnFailure",
                    other => return Err(format!("{other:?} isn't supported")),
                };
                self.pod.insert("restartPolicy".to_owned(), json!(policy));
            }
            "stop_grace_period" => {
                let seconds = values::seconds(value)?;
                self.pod.insert("terminationGracePeriodSeconds".to_owned(), json!(seconds));
            }
            "profiles" => {
                let profiles = values::list(value)?;
                let chosen = &self.project.config.profiles;
                self.runs &= profiles.is_empty() || profiles.iter().any(|name| chosen.contains(name));
            }
            "scale" => self.set_replicas(value)?,
            _ => {
                if let Some(probe) = readiness(value)? {
                    self.set("readinessProbe", probe);
                }
            }
        }
        Ok(())
    }

    fn set_replicas(&mut self, value: &Value) -> Result<(), String> {
        match values::number(value)? {
            0 => self.runs = false,
            1 => {}
            more => return Err(format!("replicas must be 0 or 1 on one node, found {more}")),
        }
        Ok(())
    }

    fn add_annotations(&mut self, value: &Value) -> Result<(), String> {
        for (name, value) in values::map(value)? {
            if name.is_empty()
                || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_./".contains(&byte))
            {
                return Err(format!("{name:?} can't be the name of an annotation"));
            }
            self.annotations.insert(name, json!(value.unwrap_or_default()));
        }
        Ok(())
    }

    fn add_ports(&mut self, ports: Vec<Value>) {
        let all = self.container.entry("ports").or_insert_with(|| json!([]));
        if let Value::Array(all) = all {
            // A port may be exposed and published.
            for port in ports {
                let same = |other: &Value| {
                    other["containerPort"] == port["containerPort"] && other["protocol"] == port["protocol"]
                };
                if port.get("hostPort").is_some() {
                    all.retain(|other| !same(other) || other.get("hostPort").is_some());
                    all.push(port);
                } else if !all.iter().any(same) {
                    all.push(port);
                }
            }
        }
    }

    fn add_resource(
        &mut self,
        kind: usize,
        name: &str,
        amount: Result<String, String>,
    ) -> Result<(), String> {
        self.resources[kind].insert(name.to_owned(), json!(amount?));
        Ok(())
    }

    /// `deploy.resources`.
    fn take_resources(&mut self, value: &Value) -> Result<(), String> {
        let not_a_map = |path: &str| format!("{path} must be a map");
        for (list, amounts) in value.as_object().ok_or_else(|| not_a_map("resources"))? {
            let kind = match list.as_str() {
                _ if is_nothing(amounts) => continue,
                "limits" => LIMITS,
                "reservations" => REQUESTS,
                other => return Err(format!("resources.{other} isn't supported")),
            };
            for (name, amount) in
                amounts.as_object().ok_or_else(|| not_a_map(&format!("resources.{list}")))?
            {
                match name.as_str() {
                    "cpus" => self.add_resource(kind, "cpu", values::cpus(amount))?,
                    "memory" => self.add_resource(kind, "memory", values::bytes(amount))?,
                    other => return Err(format!("resources.{list}.{other} isn't supported")),
                }
            }
        }
        Ok(())
    }

    fn take_deploy(&mut self, value: &Value) -> Result<(), String> {
        let Value::Object(fields) = value else { return Err("must be a map".to_owned()) };
        for (field, value) in fields {
            match field.as_str() {
                _ if is_nothing(value) => {}
                "replicas" => self.set_replicas(value)?,
                "resources" => self.take_resources(value)?,
                other => return Err(format!("{other} isn't supported")),
            }
        }
        Ok(())
    }
}

/// A pod would take `$(NAME)` for a variable.
fn escape(text: &str) -> String {
    text.replace("$(", "$$(")
}

fn escaped(words: Vec<String>) -> Vec<String> {
    words.iter().map(|word| escape(word)).collect()
}

/// A health check as a readiness probe. A start period needs nothing: what isn't ready yet stays so until its first success.
fn readiness(value: &Value) -> Result<Option<Value>, String> {
    let Value::Object(fields) = value else { return Err("must be a map".to_owned()) };
    if fields.get("disable").map(values::flag).transpose()? == Some(true) {
        return Ok(None);
    }
    let (mut period, mut timeout, mut retries) = (CHECK_SECONDS, CHECK_SECONDS, CHECK_RETRIES);
    let mut command = None;
    for (field, value) in fields {
        match field.as_str() {
            "disable" | "start_period" => {}
            "interval" => period = values::seconds(value)?,
            "timeout" => timeout = values::seconds(value)?,
            "retries" => retries = values::number(value)?,
            "test" => match value {
                Value::String(script) => command = Some(vec!["/bin/sh".into(), "-c".into(), script.clone()]),
                Value::Array(_) => {
                    let mut words = values::list(value)?.into_iter();
                    command = match (words.next().as_deref(), words.collect::<Vec<_>>()) {
                        (Some("NONE"), _) => return Ok(None),
                        (Some("CMD"), words) if !words.is_empty() => Some(words),
                        (Some("CMD-SHELL"), words) if words.len() == 1 => {
                            Some(vec!["/bin/sh".into(), "-c".into(), words[0].clone()])
                        }
                        _ => return Err("test: must begin with NONE, CMD or CMD-SHELL".to_owned()),
                    };
                }
                _ => return Err("test: must be a text or a list".to_owned()),
            },
            other => return Err(format!("{other} isn't supported")),
        }
    }
    let command = command.ok_or("has no test: that of the image isn't known here")?;
    Ok(Some(json!({
        "exec": {"command": escaped(command)},
        "periodSeconds": period.max(1), "timeoutSeconds": timeout.max(1), "failureThreshold": retries.max(1),
    })))
}
