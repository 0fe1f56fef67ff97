//! What a request to the node's endpoints asks for, and in which words it is refused.
//!
//! Rules of the kubelet's `server/auth.go`, with fine-grained authorization as it is since 1.36.

#[cfg(test)]
mod tests;

/// The user of requests that bring no credentials, where such are allowed.
pub const ANONYMOUS: &str = "system:anonymous";
/// The group of such requests.
pub const UNAUTHENTICATED: &str = "system:unauthenticated";
/// The group of all authenticated users.
pub const AUTHENTICATED: &str = "system:authenticated";

/// The answer to a request whose sender isn't known.
pub const UNAUTHORIZED: &str = "Unauthorized";

/// The part of a node that stands for all endpoints which have none of their own.
const PROXY: &str = "proxy";

/// Paths (with everything below them) and the subresources that are asked about in turn, until one is allowed.
const SUBRESOURCES: [(&str, &[&str]); 10] = [
    ("/stats", &["stats"]),
    ("/metrics", &["metrics"]),
    ("/logs", &["log"]),
    ("/checkpoint", &["checkpoint"]),
    ("/statusz", &["statusz"]),
    ("/flagz", &["configz"]),
    ("/configz", &["configz", PROXY]),
    ("/healthz", &["healthz", PROXY]),
    ("/pods", &["pods", PROXY]),
    ("/runningpods", &["pods", PROXY]),
];

/// The API's verb for a method; empty for methods that have none, which no one is ever allowed by name.
pub fn verb(method: &str) -> &'static str {
    match method {
        "POST" => "create",
        "GET" => "get",
        "PUT" => "update",
        "PATCH" => "patch",
        "DELETE" => "delete",
        _ => "",
    }
}

/// The subresources of the node to be asked about for this path, in this order.
pub fn subresources(path: &str) -> &'static [&'static str] {
    let mut known = SUBRESOURCES.iter();
    known.find(|(root, _)| is_below(path, root)).map_or(&[PROXY], |(_, subresources)| *subresources)
}

/// Whether the path is `root` or leads below it.
fn is_below(path: &str, root: &str) -> bool {
    path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The token of an `Authorization` header; none if it brings none.
pub fn bearer_token(authorization: &str) -> Option<&str> {
    let mut parts = authorization.trim().split(' ');
    let scheme = parts.next()?;
    let token = parts.next()?;
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

/// The groups of someone who proved who they are: their own and the one of all authenticated users (upstream:
/// `AuthenticatedGroupAdder`).
pub fn with_authenticated(mut groups: Vec<String>) -> Vec<String> {
    if !groups.iter().any(|group| group == AUTHENTICATED || group == UNAUTHENTICATED) {
        groups.push(AUTHENTICATED.to_owned());
    }
    groups
}

/// The answer to a user who may not do this.
pub fn forbidden(user: &str, verb: &str, subresources: &[&str]) -> String {
    let all = subresources.join(" ");
    format!("Forbidden (user={user}, verb={verb}, resource=nodes, subresource(s)=[{all}])\n")
}

/// The answer if no one could say whether the user may do this.
pub fn undecided(user: &str, verb: &str, subresources: &[&str]) -> String {
    let first = subresources.first().copied().unwrap_or(PROXY);
    format!("Authorization error (user={user}, verb={verb}, resource=nodes, subresource={first})")
}
