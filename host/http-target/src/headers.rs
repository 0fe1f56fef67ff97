//! Headers of requests.

/// The spec's headers and the ones that are sent by default: `User-Agent` and `Accept`. A default one that the spec has as
/// empty isn't sent; of several `Host` headers the first counts, and it comes out under that name, in that case.
///
/// ```
/// # use witlet_http_target::headers;
/// let sent = headers(&[("host", "example.org"), ("accept", "")], "kube-probe/1.36");
/// let expected = [("Host", "example.org"), ("User-Agent", "kube-probe/1.36")];
/// assert_eq!(sent, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
/// ```
pub fn headers(given: &[(&str, &str)], user_agent: &str) -> Vec<(String, String)> {
    let first = |header_name: &str| given.iter().find(|(name, _)| name.eq_ignore_ascii_case(header_name));
    let mut headers: Vec<(String, String)> = Vec::with_capacity(given.len() + 2);
    for (name, value) in given {
        let of_default = ["User-Agent", "Accept"].iter().any(|known| name.eq_ignore_ascii_case(known));
        let undesired = of_default && first(name).is_some_and(|(_, first)| first.is_empty());
        let is_host = name.eq_ignore_ascii_case("Host");
        let other_host = is_host && (value.is_empty() || headers.iter().any(|(name, _)| name == "Host"));
        if !undesired && !other_host {
            let name = if is_host { "Host" } else { name };
            headers.push((name.to_owned(), (*value).to_owned()));
        }
    }
    for (name, value) in [("User-Agent", user_agent), ("Accept", "*/*")] {
        if first(name).is_none() {
            headers.push((name.to_owned(), value.to_owned()));
        }
    }
    headers
}
