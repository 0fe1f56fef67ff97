//! URLs, as Go's `net/url` reads those that Kubernetes' library takes: absolute ones, and absolute paths.

/// The parts of a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    pub(crate) scheme: String,
    /// Host and port, without the user.
    pub(crate) host: String,
    /// Escaped.
    pub(crate) path: String,
    /// As it was written, without the question mark.
    pub(crate) query: String,
    /// What else tells one URL from another: user and fragment.
    rest: (String, String),
}

impl Url {
    /// Reads a URL; an error says what is wrong with it.
    pub(crate) fn parse(text: &str) -> Result<Self, &'static str> {
        if text.is_empty() {
            return Err("it is empty");
        }
        if text.bytes().any(|byte| byte.is_ascii_control()) {
            return Err("it has a control character");
        }
        let (text, fragment) = text.split_once('#').unwrap_or((text, ""));
        let (scheme, after) = scheme(text)?;
        let (after, query) = after.split_once('?').unwrap_or((after, ""));
        if !after.starts_with('/') {
            // `mailto:a@b` has no path.
            return match scheme {
                "" => Err("it is neither absolute nor an absolute path"),
                _ => Ok(Self::of(scheme, "", "", query, (after, fragment))),
            };
        }
        let authority =
            if scheme.is_empty() && after.starts_with("///") { None } else { after.strip_prefix("//") };
        let (authority, path) = match authority {
            Some(rest) => rest.find('/').map_or((rest, ""), |at| rest.split_at(at)),
            None => ("", after),
        };
        let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
        check_host(host)?;
        let is_user = |letter: char| letter.is_ascii_alphanumeric() || "-._:~!$&'()*+,;=%@".contains(letter);
        if !user.chars().all(is_user) {
            return Err("its user has a character that can't stand there");
        }
        check_escapes(path)?;
        check_escapes(user)?;
        Ok(Self::of(scheme, host, path, query, (user, fragment)))
    }

    fn of(scheme: &str, host: &str, path: &str, query: &str, rest: (&str, &str)) -> Self {
        Self {
            scheme: scheme.to_ascii_lowercase(),
            host: host.to_owned(),
            path: escaped(path),
            query: query.to_owned(),
            rest: (rest.0.to_owned(), rest.1.to_owned()),
        }
    }

    /// The host without port and brackets.
    pub(crate) fn hostname(&self) -> &str {
        match self.host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((address, _)) => address,
            None => self.host.rsplit_once(':').map_or(&*self.host, |(name, _)| name),
        }
    }

    /// The port; empty if there is none.
    pub(crate) fn port(&self) -> &str {
        let behind = self.host.rsplit_once(']').map_or(&*self.host, |(_, behind)| behind);
        behind.rsplit_once(':').map_or("", |(_, port)| port)
    }

    /// Names and values of the query, unescaped, in its order. What isn't escaped right is left out.
    pub(crate) fn pairs(&self) -> Vec<(String, String)> {
        let pairs = self.query.split('&').filter(|pair| !pair.is_empty() && !pair.contains(';'));
        let pairs = pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")));
        pairs.filter_map(|(name, value)| Some((unescaped(name)?, unescaped(value)?))).collect()
    }
}

fn scheme(text: &str) -> Result<(&str, &str), &'static str> {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "+-.".contains(letter);
    match text.find(|letter| !is_letter(letter)) {
        Some(0) if text.starts_with(':') => Err("its scheme is missing"),
        Some(at)
            if text[at..].starts_with(':') && text.starts_with(|first: char| first.is_ascii_alphabetic()) =>
        {
            Ok((&text[..at], &text[at + 1..]))
        }
        _ => Ok(("", text)),
    }
}

fn check_host(host: &str) -> Result<(), &'static str> {
    let is_port = |port: &str| port.bytes().all(|digit| digit.is_ascii_digit());
    if let Some(rest) = host.strip_prefix('[') {
        let (address, behind) = rest.split_once(']').ok_or("its address has no closing bracket")?;
        let address = address.split_once("%25").map_or(address, |(address, _)| address);
        if address.parse::<std::net::Ipv6Addr>().is_err() {
            return Err("what is between the brackets is no address");
        }
        let is_good = behind.is_empty() || behind.strip_prefix(':').is_some_and(is_port);
        return if is_good { Ok(()) } else { Err("its port is no number") };
    }
    if let Some((_, port)) = host.split_once(':')
        && !is_port(port)
    {
        return Err("its port is no number");
    }
    let is_host = |letter: char| {
        letter.is_ascii_alphanumeric() || !letter.is_ascii() || "-._~!$&'()*+,;=:%\"<>".contains(letter)
    };
    if !host.chars().all(is_host) {
        return Err("its host has a character that can't stand there");
    }
    Ok(())
}

fn check_escapes(text: &str) -> Result<(), &'static str> {
    let is_escape =
        |part: &str| part.len() >= 2 && part.bytes().take(2).all(|digit| digit.is_ascii_hexdigit());
    if text.split('%').skip(1).all(is_escape) { Ok(()) } else { Err("an escape isn't % and two digits") }
}

/// A path with all escaped that has to be.
fn escaped(path: &str) -> String {
    let mut made = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~$&+,/:;=@!'()*%[]".contains(&byte) {
            made.push(byte.into());
        } else {
            made.push_str(&format!("%{byte:02X}"));
        }
    }
    made
}

/// A part of a query; none if an escape is wrong.
fn unescaped(text: &str) -> Option<String> {
    let mut made = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        made.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digits = [bytes.next()?, bytes.next()?];
                u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
            }
            other => other,
        });
    }
    Some(String::from_utf8_lossy(&made).into_owned())
}
