//! What a profile is, by field and by annotation.

/// Value of the annotation for no profile.
pub(crate) const UNCONFINED: &str = "unconfined";

/// `appArmorProfile` of a pod or a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Profile {
    /// `RuntimeDefault`, `Localhost` or `Unconfined`.
    pub(crate) kind: String,
    /// Of a profile of the host.
    pub(crate) name: Option<String>,
}

impl Profile {
    /// What an annotation's value says; none where it is malformed, which upstream leaves to the runtime.
    pub(crate) fn annotated(value: &str) -> Option<Self> {
        let (kind, name) = match value.strip_prefix("localhost/") {
            Some(name) => ("Localhost", Some(name.to_owned())),
            None if value == "runtime/default" => ("RuntimeDefault", None),
            None if value == UNCONFINED => ("Unconfined", None),
            None => return None,
        };
        Some(Self { kind: kind.to_owned(), name })
    }

    /// Whether the host has to do something for it.
    pub(crate) fn confines(&self) -> bool {
        self.kind != "Unconfined"
    }

    /// A profile of the host without a name.
    pub(crate) fn lacks_name(&self) -> bool {
        self.kind == "Localhost" && self.name.as_deref().is_none_or(|name| name.trim().is_empty())
    }
}
