//! What a path of the API means.

use percent_encoding::percent_decode_str;

use crate::resources::{self, Resource};

/// What a request is about.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) resource: &'static Resource,
    /// Namespace; empty for the cluster, or all namespaces.
    pub(crate) namespace: String,
    /// Name; empty for the collection.
    pub(crate) name: String,
    /// Subresource; empty for the object.
    pub(crate) subresource: String,
    /// What follows `proxy`, with its slash; empty for others.
    pub(crate) rest: String,
}

/// A path, read.
#[derive(Clone, Debug)]
pub(crate) enum Path {
    /// Of objects.
    Objects(Target),
    /// Of something else, such as `/version`.
    Other,
}

/// Reads a path; none if nothing serves it.
pub(crate) fn parse(path: &str) -> Option<Path> {
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    let (group, version, rest) = match parts.as_slice() {
        ["api", version, rest @ ..] if !rest.is_empty() => ("", *version, rest),
        ["apis", group, version, rest @ ..] if !rest.is_empty() => (*group, *version, rest),
        _ => return Some(Path::Other),
    };
    let (namespace, rest) = match rest {
        // `namespaces/NAME`, `namespaces/NAME/status` and `finalize` are about the namespace itself.
        ["namespaces", name, resource, rest @ ..] if !matches!(*resource, "status" | "finalize") => {
            let mut all = vec![*resource];
            all.extend_from_slice(rest);
            (*name, all)
        }
        other => ("", other.to_vec()),
    };
    let resource = resources::find(group, version, rest.first()?)?;
    if !namespace.is_empty() && !resource.namespaced {
        return None;
    }
    let name = rest.get(1).copied().unwrap_or_default();
    if !name.is_empty() && resource.namespaced && namespace.is_empty() {
        return None;
    }
    let subresource = rest.get(2).copied().unwrap_or_default();
    let tail = rest.get(3..).unwrap_or_default();
    if !tail.is_empty() && subresource != "proxy" {
        return None;
    }
    let mut after: String = tail.iter().map(|part| format!("/{part}")).collect();
    if subresource == "proxy" && path.ends_with('/') {
        after.push('/');
    }
    Some(Path::Objects(Target {
        resource,
        namespace: decoded(namespace),
        name: decoded(name),
        subresource: subresource.to_owned(),
        rest: after,
    }))
}

/// A segment without percent signs; what can't be decoded stays.
fn decoded(segment: &str) -> String {
    percent_decode_str(segment).decode_utf8_lossy().into_owned()
}

/// The query's pairs, decoded, in order.
pub(crate) fn query(query: &str) -> Vec<(String, String)> {
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decoded(&key.replace('+', " ")), decoded(&value.replace('+', " ")))
        })
        .collect()
}
