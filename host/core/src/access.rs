//! What a request to the node's endpoints asks for, and in which words it is refused.
//!
//! Rules of the kubelet's `server/auth.go`, with fine-grained authorization as it is since 1.36.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use thiserror::Error;

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

/// What a protocol of a WebSocket begins with whose rest is a bearer token: browsers can't set `Authorization`.
const TOKEN_PROTOCOL: &str = "base64url.bearer.authorization.k8s.io.";

/// The token among the values of a WebSocket's `Sec-WebSocket-Protocol`; none if there is none.
///
/// # Errors
/// When it is none, there are several, or no other protocol is left to agree on.
pub fn websocket_token<'a>(
    values: impl IntoIterator<Item = &'a str>,
) -> Result<Option<String>, InvalidToken> {
    let (tokens, others): (Vec<&str>, Vec<&str>) =
        protocols(values).partition(|protocol| protocol.starts_with(TOKEN_PROTOCOL));
    let encoded = match tokens[..] {
        [] => return Ok(None),
        [one] => one.strip_prefix(TOKEN_PROTOCOL).unwrap_or_default(),
        _ => return Err(InvalidToken),
    };
    let bytes = URL_SAFE_NO_PAD.decode(encoded).map_err(|_| InvalidToken)?;
    let token = String::from_utf8(bytes).map_err(|_| InvalidToken)?;
    match (token.is_empty(), others.is_empty()) {
        (true, _) => Ok(None),
        (false, false) => Ok(Some(token)),
        (false, true) => Err(InvalidToken),
    }
}

/// Whether a token is among a WebSocket's protocols.
pub fn brings_token<'a>(values: impl IntoIterator<Item = &'a str>) -> bool {
    protocols(values).any(|protocol| protocol.starts_with(TOKEN_PROTOCOL))
}

/// A WebSocket's protocols without the token, for those who have no need of it; none where nothing is left.
pub fn without_token<'a>(values: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let others: Vec<&str> =
        protocols(values).filter(|protocol| !protocol.starts_with(TOKEN_PROTOCOL)).collect();
    (!others.is_empty()).then(|| others.join(","))
}

fn protocols<'a>(values: impl IntoIterator<Item = &'a str>) -> impl Iterator<Item = &'a str> {
    values.into_iter().flat_map(|value| value.split(',')).map(str::trim)
}

/// A WebSocket's token that can't be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the WebSocket's protocols must have one bearer token and another protocol")]
pub struct InvalidToken;

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
