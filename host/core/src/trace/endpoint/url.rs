//! Go's `url.Parse`, as far as its scheme and its errors go: upstream's validation shows them.

/// The scheme in lower case, or what Go says of a text that is no URL.
pub(super) fn scheme(text: &str) -> Result<String, String> {
    let text = text.split_once('#').map_or(text, |(before, _)| before);
    if text.bytes().any(|byte| byte < 0x20 || byte == 0x7f) {
        return Err("net/url: invalid control character in URL".to_owned());
    }
    let (scheme, rest) = split_scheme(text)?;
    let rest = rest.split_once('?').map_or(rest, |(before, _)| before);
    if !rest.starts_with('/') {
        if !scheme.is_empty() {
            // What has no slash is opaque.
            return Ok(scheme);
        }
        if rest.split('/').next().unwrap_or_default().contains(':') {
            return Err("first path segment in URL cannot contain colon".to_owned());
        }
    }
    let (authority, path) = match rest.strip_prefix("//") {
        Some(rest) if !scheme.is_empty() || !rest.starts_with('/') => {
            rest.split_at(rest.find('/').unwrap_or(rest.len()))
        }
        _ => ("", rest),
    };
    host(authority.rsplit_once('@').map_or(authority, |(_, host)| host))?;
    escapes(path)?;
    Ok(scheme)
}

/// Letters and digits before the first colon; no scheme where another letter comes before it.
fn split_scheme(text: &str) -> Result<(String, &str), String> {
    for (at, letter) in text.char_indices() {
        match letter {
            'a'..='z' | 'A'..='Z' => {}
            '0'..='9' | '+' | '-' | '.' if at > 0 => {}
            ':' if at == 0 => return Err("missing protocol scheme".to_owned()),
            ':' => return Ok((text[..at].to_ascii_lowercase(), &text[at + 1..])),
            _ => break,
        }
    }
    Ok((String::new(), text))
}

fn host(host: &str) -> Result<(), String> {
    let port = match host.strip_prefix('[') {
        Some(_) => {
            let end = host.rfind(']').ok_or_else(|| "missing ']' in host".to_owned())?;
            &host[end + 1..]
        }
        None => host.rfind(':').map_or("", |at| &host[at..]),
    };
    let digits = port.strip_prefix(':').unwrap_or(port);
    let is_port =
        port.is_empty() || (port.starts_with(':') && digits.bytes().all(|byte| byte.is_ascii_digit()));
    if !is_port {
        return Err(format!("invalid port {port:?} after host"));
    }
    escapes(host)?;
    match host.chars().find(|letter| letter.is_ascii() && !is_host(*letter)) {
        Some(letter) => Err(format!("invalid character {:?} in host name", letter.to_string())),
        None => Ok(()),
    }
}

fn is_host(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "-._~!$&'()*+,;=:[]<>\"%".contains(letter)
}

fn escapes(text: &str) -> Result<(), String> {
    for (at, _) in text.match_indices('%') {
        let escape: String = text[at..].chars().take(3).collect();
        let is_escape = escape.len() == 3 && escape[1..].bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_escape {
            return Err(format!("invalid URL escape {escape:?}"));
        }
    }
    Ok(())
}
