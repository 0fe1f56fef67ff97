//! Where an API server finds a webhook, as `--print-webhook` takes it.

#[cfg(test)]
mod tests;

/// Where an API server finds the webhook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum WebhookTarget {
    /// By a URL with a host.
    Url(String),
    /// By a service of the cluster, port 443.
    Service { namespace: String, name: String },
}

impl WebhookTarget {
    /// `https://HOST[:PORT]` or `NAMESPACE/NAME`.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let expected =
            || format!("expected https://HOST[:PORT] or NAMESPACE/NAME of a service, found {text:?}");
        if let Some(host) = text.strip_prefix("https://") {
            let host = host.strip_suffix('/').unwrap_or(host);
            let is_host = !host.is_empty()
                && !host.contains(|char: char| char.is_whitespace() || "/?#@".contains(char));
            return if is_host { Ok(Self::Url(format!("https://{host}"))) } else { Err(expected()) };
        }
        let is_name = |name: &str| {
            let is_label = |char: char| char.is_ascii_lowercase() || char.is_ascii_digit() || char == '-';
            (1..=63).contains(&name.len()) && name.chars().all(is_label)
        };
        match text.split_once('/') {
            Some((namespace, name)) if is_name(namespace) && is_name(name) => {
                Ok(Self::Service { namespace: namespace.to_owned(), name: name.to_owned() })
            }
            _ => Err(expected()),
        }
    }
}
