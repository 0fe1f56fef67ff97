//! Which sysctls a pod may set.

use crate::name::{Namespace, is_pattern, with_dots};

/// Version of a kernel: the first two numbers.
pub(crate) type Kernel = (u32, u32);

/// Safe sysctls, with the kernel from which on each belongs to a namespace where older ones are still about (upstream:
/// `safe_sysctls.go`, `pkg/util/kernel/constants.go`). A kernel whose version is unknown is an old one.
const SAFE: [(&str, Option<Kernel>); 12] = [
    ("kernel.shm_rmid_forced", None),
    ("net.ipv4.ip_local_port_range", None),
    ("net.ipv4.tcp_syncookies", None),
    ("net.ipv4.ping_group_range", None),
    ("net.ipv4.ip_unprivileged_port_start", None),
    ("net.ipv4.ip_local_reserved_ports", Some((3, 16))),
    ("net.ipv4.tcp_keepalive_time", Some((4, 5))),
    ("net.ipv4.tcp_fin_timeout", Some((4, 6))),
    ("net.ipv4.tcp_keepalive_intvl", Some((4, 5))),
    ("net.ipv4.tcp_keepalive_probes", Some((4, 5))),
    ("net.ipv4.tcp_rmem", Some((4, 15))),
    ("net.ipv4.tcp_wmem", Some((4, 15))),
];

/// Which of its namespaces a pod shares with the host.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Shared {
    pub(crate) net: bool,
    pub(crate) ipc: bool,
}

impl Shared {
    fn has(self, namespace: Namespace) -> bool {
        match namespace {
            Namespace::Ipc => self.ipc,
            Namespace::Net => self.net,
        }
    }
}

/// What the operator allows: a sysctl, or all whose names begin so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pattern {
    /// With dots, without the `*`.
    name: String,
    is_prefix: bool,
    namespace: Namespace,
}

impl Pattern {
    /// The error says what is wrong, for the operator.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if !is_pattern(text) {
            return Err(format!(
                "{text:?} is neither a sysctl's name nor the beginning of one with a * at its end"
            ));
        }
        let dotted = with_dots(text);
        let name = dotted.strip_suffix('*').unwrap_or(&dotted);
        let namespace =
            Namespace::of(name).ok_or_else(|| format!("{text:?} isn't known to be namespaced"))?;
        Ok(Self { name: name.to_owned(), is_prefix: name.len() < dotted.len(), namespace })
    }
}

/// The first two numbers of a kernel's release, such as `5.15.0-75-generic`.
pub(crate) fn kernel(release: &str) -> Option<Kernel> {
    let number = |text: &str| {
        let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
        text[..end].parse().ok()
    };
    let (major, rest) = release.split_once('.')?;
    Some((major.parse().ok()?, number(rest)?))
}

/// Whether a pod that shares these namespaces may set this sysctl. The error is upstream's, after `forbidden sysctl: `.
pub(crate) fn check(
    name: &str,
    kernel: Option<Kernel>,
    allowed: &[Pattern],
    shared: Shared,
) -> Result<(), String> {
    let name = with_dots(name);
    let is_safe = SAFE.iter().any(|(safe, since)| {
        *safe == name && since.is_none_or(|since| kernel.is_some_and(|kernel| kernel >= since))
    });
    let namespace = if is_safe {
        Namespace::of(&name)
    } else {
        let exact = allowed.iter().find(|pattern| !pattern.is_prefix && pattern.name == name);
        let prefix = || allowed.iter().find(|pattern| pattern.is_prefix && name.starts_with(&pattern.name));
        exact.or_else(prefix).map(|pattern| pattern.namespace)
    };
    match namespace {
        None => Err(format!("{name:?} not allowlisted")),
        Some(namespace) if shared.has(namespace) => {
            Err(format!("{name:?} not allowed with host {} enabled", namespace.as_str()))
        }
        Some(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests;
