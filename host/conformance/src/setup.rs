//! How a plugin is loaded.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use witlet_wasm::plugin::config::{
    self, ConfigError, Grants, MEMORY_BYTES_DEFAULT, SOURCE_TIMEOUT_DEFAULT, TIMEOUT_DEFAULT, Warm,
};
use witlet_wasm::role::Role;

use crate::cases::model::CaseFile;
use crate::environment::address::placed;
use crate::environment::commands::ExecAnswer;
use crate::environment::folders::Made;
use crate::plan::Plan;

/// How a plugin is loaded in one role. Change what is to be different, and load it.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    pub(crate) role: Role,
    /// `config:` of its entry; `${ADDRESS}` stands for [`Self::address`].
    pub(crate) config: Value,
    /// For one call of an admission handler or a pod source; a probe's question brings its own.
    pub(crate) timeout: Duration,
    pub(crate) memory_bytes: usize,
    /// Whether instances are kept; none for a fresh one per call.
    pub(crate) warm: Option<Warm>,
    /// `grants:` of its entry, as a PluginConfiguration has them; `files` are those of [`Self::guest_paths`] in addition.
    pub(crate) grants: Value,
    /// Values of secrets, whether they are granted or not.
    pub(crate) secrets: BTreeMap<String, Vec<u8>>,
    /// Data next to its configuration.
    pub(crate) data: BTreeMap<String, Vec<u8>>,
    /// What commands of probes come to. Others can't be run.
    pub(crate) execs: Vec<ExecAnswer>,
    /// Folders that a pod source finds, empty at first, in addition to those that the grants name.
    pub(crate) guest_paths: Vec<String>,
    /// In which order files of folders are made, where that matters.
    pub(crate) made: Option<Made>,
    /// What `${ADDRESS}` stands for.
    pub(crate) address: Option<IpAddr>,
    /// How much later than it is its clocks say that it is; in `admit` they stand at the question's time.
    pub(crate) clock_ahead: Duration,
    /// Has random numbers of an admission handler follow from this and the pod's UID.
    pub(crate) random_salt: Arc<str>,
    /// The roles of the component, as far as grants depend on them.
    pub(crate) roles: Vec<Role>,
}

/// What an entry of a PluginConfiguration is called here, and where it is: names that errors don't need.
const ENTRY: &str = "plugins[0].";

impl Setup {
    /// Creates a setup without configuration, grants and data.
    pub(crate) fn new(role: Role) -> Self {
        let (timeout, memory_bytes) = match role {
            Role::Admission | Role::Probe => (TIMEOUT_DEFAULT, MEMORY_BYTES_DEFAULT),
            Role::PodSource => (SOURCE_TIMEOUT_DEFAULT, config::SOURCE_MEMORY_BYTES_DEFAULT),
        };
        Self {
            role,
            config: Value::Null,
            timeout,
            memory_bytes,
            warm: None,
            grants: Value::Null,
            secrets: BTreeMap::new(),
            data: BTreeMap::new(),
            execs: Vec::new(),
            guest_paths: Vec::new(),
            made: None,
            address: None,
            clock_ahead: Duration::ZERO,
            random_salt: Arc::default(),
            roles: vec![role],
        }
    }

    /// As the plan says, else the role's first case file, else with nothing. `roles` are those that are examined.
    pub(crate) fn of_plan(plan: &Plan, roles: Vec<Role>, role: Role) -> Result<Self, String> {
        let file = plan.cases.iter().find(|file| file.role == role);
        let mut setup = match file {
            Some(file) => Self::of_case(plan, roles, file, None)?,
            None => {
                let mut setup = Self { roles, ..Self::new(role) };
                setup.limit(&plan.limits)?;
                setup
            }
        };
        if let Some(config) = &plan.config {
            setup.config = config.clone();
        }
        if !plan.grants.is_null() {
            setup.grants = plan.grants.clone();
        }
        setup.secrets.extend(plan.secrets.clone());
        // Refuses what can't be taken before anything is loaded with it.
        setup.grants()?;
        Ok(setup)
    }

    /// As a file says, or its case with this `config`.
    pub(crate) fn of_case(
        plan: &Plan,
        roles: Vec<Role>,
        file: &CaseFile,
        config: Option<&Value>,
    ) -> Result<Self, String> {
        let mut setup = Self { roles, ..Self::new(file.role) };
        let of_file = if file.config.is_null() { plan.config.as_ref() } else { Some(&file.config) };
        setup.config = config.or(of_file).cloned().unwrap_or_default();
        setup.grants = if file.grants.is_null() { &plan.grants } else { &file.grants }.clone();
        setup.secrets = plan.secrets.clone();
        setup.secrets.extend(file.secrets.clone());
        setup.data = file.data.clone();
        setup.guest_paths = file.guest_paths();
        setup.limit(&file.limits)?;
        setup.limit(&plan.limits)?;
        setup.grants()?;
        Ok(setup)
    }

    /// Where servers listen at this address.
    pub(crate) fn at(&self, address: IpAddr) -> Self {
        Self { address: Some(address), ..self.clone() }
    }

    /// Takes `limits:` of an entry, where it says something. Of a component with several roles the timeout is for those that have one.
    fn limit(&mut self, limits: &Value) -> Result<(), String> {
        if limits.is_null() {
            return Ok(());
        }
        let mut limits = limits.clone();
        if self.role == Role::Probe
            && let Some(limits) = limits.as_object_mut()
        {
            limits.remove("timeout");
        }
        let entry = self.entry(&[self.role], &json!({"limits": limits}))?;
        if let Some(role) = entry.admission {
            (self.timeout, self.memory_bytes) = (role.timeout, role.memory_bytes);
        }
        if let Some(role) = entry.probe {
            self.memory_bytes = role.memory_bytes;
        }
        if let Some(role) = entry.pod_source {
            (self.timeout, self.memory_bytes) = (role.timeout, role.memory_bytes);
        }
        Ok(())
    }

    /// The grants without folders of the kit's own.
    pub(crate) fn grants(&self) -> Result<Grants, String> {
        if self.grants.is_null() {
            return Ok(Grants::default());
        }
        // A place for what isn't known yet: any address will do for checking it.
        let address = self.address.unwrap_or(IpAddr::from([127, 0, 0, 1]));
        Ok(self.entry(&self.roles, &json!({"grants": placed(&self.grants, address)}))?.grants)
    }

    /// Returns what a PluginConfiguration makes of these fields of an entry that names these roles.
    fn entry(&self, roles: &[Role], fields: &Value) -> Result<config::PluginEntry, String> {
        let mut entry = json!({"name": "tested", "component": "./tested.wasm"});
        for role in roles {
            entry[role.as_str()] = match role {
                Role::Admission | Role::Probe => json!({}),
                Role::PodSource => json!({"allow": {"namespaces": ["*"]}}),
            };
        }
        if let (Some(entry), Some(fields)) = (entry.as_object_mut(), fields.as_object()) {
            entry.extend(fields.clone());
        }
        let grants = |name: &str| fields.get("grants").and_then(|grants| grants.get(name));
        let granted = ["secrets", "tlsAuthorities"].map(grants).into_iter().flatten();
        let granted = granted.filter_map(Value::as_array).flatten().chain(grants("tlsClientCertificate"));
        let names: BTreeSet<&str> = granted.filter_map(Value::as_str).collect();
        let secrets: Vec<Value> =
            names.into_iter().map(|name| json!({"name": name, "file": "value"})).collect();
        let file = json!({
            "apiVersion": config::API_VERSION, "kind": config::KIND, "secrets": secrets, "plugins": [entry],
        });
        let parsed = config::parse(&file.to_string(), config::Shipped::default());
        let entry = parsed.map(|parsed| parsed.plugins.into_iter().next());
        match entry {
            Ok(Some(entry)) => Ok(entry),
            Ok(None) => Err("limits and grants can't be read".to_owned()),
            Err(ConfigError::Field { field, problem }) => {
                let field = field.strip_prefix(ENTRY).unwrap_or(&field);
                Err(format!("{field}: {problem}"))
            }
            Err(error @ (ConfigError::TooLarge | ConfigError::Syntax { .. })) => Err(error.to_string()),
        }
    }

    /// The configuration as the plugin gets it.
    pub(crate) fn placed_config(&self) -> Value {
        match self.address {
            Some(address) => placed(&self.config, address),
            None => self.config.clone(),
        }
    }
}
