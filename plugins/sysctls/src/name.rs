//! Names of sysctls: their two spellings, their form, and the namespace they belong to.

/// The most characters of a name (upstream's `SysctlMaxLength`).
const LENGTH_MAX: usize = 253;

/// What a sysctl is set for: the pod, if it has such a namespace of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Namespace {
    /// Interprocess communication.
    Ipc,
    /// Network.
    Net,
}

impl Namespace {
    /// As upstream's messages have it.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Ipc => "ipc",
            Self::Net => "net",
        }
    }

    /// The namespace of a sysctl, or of all whose names begin so (dots separate). Others aren't known to have one.
    pub(crate) fn of(name: &str) -> Option<Self> {
        if name == "kernel.sem"
            || ["kernel.shm", "kernel.msg", "fs.mqueue."].iter().any(|p| name.starts_with(p))
        {
            Some(Self::Ipc)
        } else if name.starts_with("net.") {
            Some(Self::Net)
        } else {
            None
        }
    }
}

/// The spelling with dots. In the other one slashes separate, and a dot is part of a name (sysctl(8)): the first
/// separator tells which it is.
pub(crate) fn with_dots(name: &str) -> String {
    if name.find(['.', '/']).is_none_or(|first| name[first..].starts_with('.')) {
        return name.to_owned();
    }
    let exchanged = name.chars().map(|letter| match letter {
        '/' => '.',
        '.' => '/',
        other => other,
    });
    exchanged.collect()
}

/// Whether this is a name, or a beginning of names with `*` at its very end, in either spelling. Segments are small
/// letters, digits, `-` and `_`, beginning and ending with a letter or digit.
pub(crate) fn is_pattern(text: &str) -> bool {
    let whole = text.strip_suffix('*').unwrap_or(text);
    let is_prefix = whole.len() < text.len();
    if text.len() > LENGTH_MAX {
        return false;
    }
    let mut segments = whole.split(['.', '/']).peekable();
    while let Some(segment) = segments.next() {
        let last = segments.peek().is_none();
        // What stands right before the `*` may be empty, and may end in `-` or `_`.
        let good =
            if last && is_prefix { segment.is_empty() || begins_well(segment) } else { is_segment(segment) };
        if !good {
            return false;
        }
    }
    true
}

fn is_segment(segment: &str) -> bool {
    begins_well(segment) && segment.ends_with(|last: char| last.is_ascii_alphanumeric())
}

fn begins_well(segment: &str) -> bool {
    let plain = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit();
    segment.starts_with(plain)
        && segment.chars().all(|letter| plain(letter) || letter == '-' || letter == '_')
}

#[cfg(test)]
mod tests;
