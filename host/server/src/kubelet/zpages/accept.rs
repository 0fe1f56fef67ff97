//! Which form of a page a client's `Accept` asks for, by upstream's negotiation.

use std::cmp::Ordering;

/// The group of the pages' objects.
pub(super) const GROUP: &str = "config.k8s.io";

/// A form that a page can be had in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Text,
    Object(Version, Encoding),
}

/// A version of a page's object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    V1Alpha1,
    V1Beta1,
}

impl Version {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::V1Alpha1 => "v1alpha1",
            Self::V1Beta1 => "v1beta1",
        }
    }
}

/// How an object is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    Json,
    Yaml,
}

impl Encoding {
    pub(super) fn media_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Yaml => "application/yaml",
        }
    }
}

/// The form of a page of this kind for a client that sends this header, empty if it sends none; none if it takes nothing that there is.
pub(super) fn negotiate(accept: &str, kind: &str) -> Option<Form> {
    if accept.trim().is_empty() {
        return Some(Form::Text);
    }
    let mut clauses: Vec<Clause<'_>> = accept.split(',').filter_map(Clause::parse).collect();
    clauses.sort_by(Clause::by_preference);
    clauses.iter().find_map(|clause| clause.form(kind))
}

/// A media type with its parameters.
struct Clause<'a> {
    main: &'a str,
    sub: &'a str,
    quality: f64,
    parameters: Vec<(&'a str, &'a str)>,
}

impl<'a> Clause<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let mut parts = text.split(';').map(str::trim);
        let (main, sub) = match parts.next()? {
            "*" => ("*", "*"),
            media_type => media_type.split_once('/')?,
        };
        let (mut quality, mut parameters) = (1.0, Vec::new());
        for (name, value) in parts.filter_map(|part| part.split_once('=')) {
            match name.trim() {
                "q" => {
                    let parsed = value.trim().parse().ok();
                    // `nan` parses, too, and would be preferred to all others.
                    quality = parsed.filter(|quality| (0.0..=1.0).contains(quality)).unwrap_or(0.0);
                }
                name => parameters.push((name, value.trim())),
            }
        }
        Some(Self { main: main.trim(), sub: sub.trim(), quality, parameters })
    }

    /// Quality first, then what is said more exactly.
    fn by_preference(&self, other: &Self) -> Ordering {
        let vague = |clause: &Self| (clause.main == "*", clause.sub == "*");
        other.quality.total_cmp(&self.quality).then_with(|| vague(self).cmp(&vague(other)))
    }

    fn takes(&self, main: &str, sub: &str) -> bool {
        (self.main == main && (self.sub == sub || self.sub == "*")) || (self.main == "*" && self.sub == "*")
    }

    fn parameter(&self, name: &str) -> Option<&'a str> {
        self.parameters.iter().rev().find(|(found, _)| *found == name).map(|(_, value)| *value)
    }

    /// The first form that this clause allows. Objects have to be asked for by kind, group and version.
    fn form(&self, kind: &str) -> Option<Form> {
        let is_set = |name| self.parameter(name).is_some_and(|value| !value.is_empty());
        if is_set("sv") || is_set("stream") {
            return None;
        }
        let asked = (self.parameter("as"), self.parameter("g"), self.parameter("v"));
        let version = match asked {
            (None, None, None) => return self.takes("text", "plain").then_some(Form::Text),
            (Some(asked), Some(GROUP), Some("v1beta1")) if asked == kind => Version::V1Beta1,
            (Some(asked), Some(GROUP), Some("v1alpha1")) if asked == kind => Version::V1Alpha1,
            _ => return None,
        };
        let encodings = [("json", Encoding::Json), ("yaml", Encoding::Yaml)];
        let (_, encoding) = encodings.into_iter().find(|(sub, _)| self.takes("application", sub))?;
        Some(Form::Object(version, encoding))
    }
}
