//! URLs, as Kubernetes' library has them.

use std::rc::Rc;

use super::call::{Call, Function, Outcome};
use crate::url::Url;
use crate::value::{Key, Value};

pub(super) const FUNCTIONS: &[Function] = &[
    Function { name: "url", run: url, signatures: &["(string) url"] },
    Function { name: "isURL", run: is_url, signatures: &["(string) bool"] },
    Function { name: "getScheme", run: part, signatures: &["url.() string"] },
    Function { name: "getHost", run: part, signatures: &["url.() string"] },
    Function { name: "getHostname", run: part, signatures: &["url.() string"] },
    Function { name: "getPort", run: part, signatures: &["url.() string"] },
    Function { name: "getEscapedPath", run: part, signatures: &["url.() string"] },
    Function { name: "getQuery", run: query, signatures: &["url.() map(string,list(string))"] },
];

fn url(call: &Call<'_>) -> Outcome {
    call.converts()?;
    let [Value::String(text)] = call.args else { return call.unfit() };
    // Escaping makes three letters of one.
    call.budget.make(text.len().saturating_mul(4))?;
    match Url::parse(text) {
        Ok(url) => Ok(Value::Url(Rc::new(url))),
        Err(problem) => {
            let shown: String = text.chars().take(60).collect();
            Err(format!("{shown:?} is no URL: {problem}").into())
        }
    }
}

fn is_url(call: &Call<'_>) -> Outcome {
    call.converts()?;
    let [Value::String(text)] = call.args else { return call.unfit() };
    call.budget.make(text.len().saturating_mul(4))?;
    Ok(Value::Bool(Url::parse(text).is_ok()))
}

fn part(call: &Call<'_>) -> Outcome {
    let [Value::Url(url)] = call.args else { return call.unfit() };
    call.text(match call.name {
        "getScheme" => url.scheme.clone(),
        "getHost" => url.host.clone(),
        "getHostname" => url.hostname().to_owned(),
        "getPort" => url.port().to_owned(),
        _ => url.path.clone(),
    })
}

fn query(call: &Call<'_>) -> Outcome {
    let [Value::Url(url)] = call.args else { return call.unfit() };
    call.budget.make(url.query.len() * 2)?;
    let mut pairs = url.pairs();
    call.budget.make(pairs.len() * 4 * size_of::<Value>())?;
    // Names together, the values of each in their order.
    pairs.sort_by(|one, other| one.0.cmp(&other.0));
    let entries = pairs.chunk_by(|one, other| one.0 == other.0).map(|pairs| {
        let values = pairs.iter().map(|(_, value)| Value::text(value.as_str())).collect();
        (Key::String(pairs.first().map_or("", |(name, _)| name).into()), Value::list(values))
    });
    Ok(Value::of_entries(entries.collect()))
}
