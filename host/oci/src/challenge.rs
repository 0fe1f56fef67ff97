//! How a registry wants to be asked: its challenge (RFC 9110 section 11.6.1) and the answer to it (the distribution project's token
//! specification).

use serde::Deserialize;
use witlet_core::image::docker_config::encode_auth;
use witlet_core::runtime::ImageAuth;

/// How much of a challenge is read.
const CHALLENGE_BYTES_MAX: usize = 4 << 10;

/// What a registry answers to a request without the right credentials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Challenge {
    /// User and password with each request.
    Basic,
    /// A token from a token server.
    Bearer {
        /// Where tokens are had: a URL.
        realm: String,
        service: Option<String>,
        scope: Option<String>,
    },
}

/// What a request for a blob or manifest carries.
#[derive(Clone, PartialEq, Eq)]
pub enum Credential {
    Basic(String),
    Bearer(String),
}

impl Credential {
    /// The value of the header `Authorization`.
    pub fn header(&self) -> String {
        match self {
            Self::Basic(encoded) => format!("Basic {encoded}"),
            Self::Bearer(token) => format!("Bearer {token}"),
        }
    }
}

/// What to do about a challenge.
#[derive(Clone, PartialEq, Eq)]
pub enum Step {
    /// Ask again with this.
    Use(Credential),
    /// Get a token first.
    Token(TokenRequest),
    /// There is nothing to answer with.
    NoCredentials,
}

/// A request for a token.
#[derive(Clone, PartialEq, Eq)]
pub struct TokenRequest {
    pub realm: String,
    /// Names and values, not escaped.
    pub parameters: Vec<(&'static str, String)>,
    /// User and password; none asks anonymously.
    pub basic: Option<String>,
    /// Whether the parameters go as a form (an identity token among them) instead of in the URL.
    pub form: bool,
}

/// Reads the header `WWW-Authenticate`. The best of several challenges in it counts: a token above a password.
pub fn parse(header: &str) -> Option<Challenge> {
    let header = header.get(..CHALLENGE_BYTES_MAX.min(header.len()))?;
    let mut basic = None;
    for (scheme, parameters) in schemes(header) {
        let value = |name: &str| {
            parameters.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.clone())
        };
        if scheme.eq_ignore_ascii_case("bearer")
            && let Some(realm) = value("realm")
        {
            return Some(Challenge::Bearer { realm, service: value("service"), scope: value("scope") });
        }
        if scheme.eq_ignore_ascii_case("basic") {
            basic = Some(Challenge::Basic);
        }
    }
    basic
}

type Parameters = Vec<(String, String)>;

/// White space in a header (RFC 9110 section 5.6.3).
const SPACES: [char; 2] = [' ', '\t'];
/// What stands between schemes and parameters.
const BETWEEN: [char; 3] = [' ', '\t', ','];

/// `scheme key=value, key="value", scheme …`, with spaces around `=` where a server writes some (RFC 9110 section 11.2).
fn schemes(header: &str) -> Vec<(String, Parameters)> {
    let mut found: Vec<(String, Parameters)> = Vec::new();
    let mut rest = header.trim_start_matches(BETWEEN);
    while !rest.is_empty() {
        let end = rest.find([' ', '\t', '=', ',']).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        if let Some(value) = after.trim_start_matches(SPACES).strip_prefix('=') {
            let (value, after) = take_value(value.trim_start_matches(SPACES));
            if let Some((_, parameters)) = found.last_mut() {
                parameters.push((word.to_owned(), value));
            }
            rest = after;
        } else {
            found.push((word.to_owned(), Vec::new()));
            rest = after;
        }
        rest = rest.trim_start_matches(BETWEEN);
    }
    found
}

fn take_value(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find(BETWEEN).unwrap_or(text.len());
        return (text[..end].to_owned(), &text[end..]);
    };
    let mut value = String::new();
    let mut letters = quoted.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return (value, &quoted[at + 1..]),
            '\\' => value.extend(letters.next().map(|(_, letter)| letter)),
            letter => value.push(letter),
        }
    }
    (value, "")
}

/// What a token is to allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Pull,
    Push,
}

/// The answer to a challenge with these credentials, or with none. `repository` is what is to be pulled or pushed.
pub fn answer(challenge: &Challenge, auth: Option<&ImageAuth>, repository: &str, action: Action) -> Step {
    let basic = auth
        .filter(|auth| !auth.username.is_empty() || !auth.password.is_empty())
        .map(|auth| encode_auth(&auth.username, &auth.password));
    match challenge {
        Challenge::Basic => basic.map_or(Step::NoCredentials, |basic| Step::Use(Credential::Basic(basic))),
        Challenge::Bearer { realm, service, scope } => {
            if let Some(auth) = auth.filter(|auth| !auth.registry_token.is_empty()) {
                return Step::Use(Credential::Bearer(auth.registry_token.clone()));
            }
            let mut parameters: Vec<_> = service.iter().map(|service| ("service", service.clone())).collect();
            // The first request of a push only checks, and what it is challenged for wouldn't do for the rest.
            let scope = match (action, scope) {
                (Action::Pull, Some(scope)) => scope.clone(),
                (Action::Pull, None) => format!("repository:{repository}:pull"),
                (Action::Push, Some(_) | None) => format!("repository:{repository}:pull,push"),
            };
            parameters.push(("scope", scope));
            let identity = auth.map(|auth| auth.identity_token.clone()).filter(|token| !token.is_empty());
            let form = identity.is_some();
            if let Some(token) = identity {
                parameters.push(("grant_type", "refresh_token".to_owned()));
                parameters.push(("refresh_token", token));
                parameters.push(("client_id", "witlet".to_owned()));
            }
            let basic = basic.filter(|_| !form);
            Step::Token(TokenRequest { realm: realm.clone(), parameters, basic, form })
        }
    }
}

/// Names and values as a query or a form has them (`application/x-www-form-urlencoded`).
pub fn encode(parameters: &[(&str, String)]) -> String {
    let escape = |text: &str| {
        let mut escaped = String::with_capacity(text.len());
        for byte in text.bytes() {
            match byte {
                b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                    escaped.push(char::from(byte));
                }
                byte => escaped.push_str(&format!("%{byte:02X}")),
            }
        }
        escaped
    };
    let pairs = parameters.iter().map(|(name, value)| format!("{}={}", escape(name), escape(value)));
    pairs.collect::<Vec<_>>().join("&")
}

/// The token in the answer to a request for one. Says nothing of what is wrong with it, because it is secret.
pub fn token(answer: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct TokenResponse {
        token: Option<String>,
        access_token: Option<String>,
    }
    let answer: TokenResponse = serde_json::from_slice(answer).ok()?;
    let token = answer.token.filter(|token| !token.is_empty()).or(answer.access_token)?;
    // What can't stand in a header is no token.
    let fits = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic());
    fits.then_some(token)
}

#[cfg(test)]
mod tests;
