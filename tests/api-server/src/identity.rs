//! Who sends a request.

use std::collections::BTreeMap;

/// A user, as authentication found it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// Name, such as `system:node:worker1`; empty for anonymous.
    pub user: String,
    /// UID; empty if it has none.
    pub uid: String,
    /// Groups, without `system:authenticated`, which every authenticated user is in.
    pub groups: Vec<String>,
    /// What else is known.
    pub extra: BTreeMap<String, Vec<String>>,
}

impl Identity {
    /// A user in groups.
    pub fn new(user: &str, groups: &[&str]) -> Self {
        let groups = groups.iter().map(|&group| group.to_owned()).collect();
        Self { user: user.to_owned(), groups, ..Self::default() }
    }

    /// Who may do everything.
    pub fn admin() -> Self {
        Self::new("kubernetes-admin", &["system:masters"])
    }

    /// A node agent of this name.
    pub fn node(name: &str) -> Self {
        Self::new(&format!("system:node:{name}"), &["system:nodes"])
    }

    /// A service account.
    pub fn service_account(namespace: &str, name: &str) -> Self {
        let groups = ["system:serviceaccounts".to_owned(), format!("system:serviceaccounts:{namespace}")];
        Self {
            user: format!("system:serviceaccount:{namespace}:{name}"),
            groups: groups.into(),
            ..Self::default()
        }
    }

    /// Unauthenticated: answered 401.
    pub fn anonymous() -> Self {
        Self::default()
    }

    /// Whether this is unauthenticated.
    pub fn is_anonymous(&self) -> bool {
        self.user.is_empty()
    }

    /// The node that this user is, by upstream's rule: name and group must agree.
    pub fn node_name(&self) -> Option<&str> {
        let name = self.user.strip_prefix("system:node:")?;
        self.groups.iter().any(|group| group == "system:nodes").then_some(name)
    }

    /// Whether no rule holds for this user.
    pub fn is_admin(&self) -> bool {
        self.groups.iter().any(|group| group == "system:masters")
    }

    /// Groups as reviews tell them.
    pub(crate) fn all_groups(&self) -> Vec<String> {
        let mut groups = self.groups.clone();
        if !self.is_anonymous() && !groups.iter().any(|group| group == "system:authenticated") {
            groups.push("system:authenticated".to_owned());
        }
        groups
    }
}
