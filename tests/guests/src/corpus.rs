//! The hostile corpus: plugins of every role that attack the node, and what must come of each.
//!
//! Words in braces stand for addresses that the tests fill in, see [`Attack::config`].

mod admission;
mod load;
mod pod_source;
mod probe;

/// What the plugin's entry says that it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Admission,
    Probe,
    /// `podSource:`
    PodSource,
}

/// Where its component is from.
#[derive(Clone, Copy, Debug)]
pub enum Origin {
    /// [`crate::INTRUDER`], which does what its configuration says.
    Intruder,
    /// [`crate::SOURCER`], which does what its configuration says.
    Sourcer,
    /// One of [`crate::HANDLERS`] or [`crate::FORGERS`], under the attack's own name.
    Written,
    /// Made for the purpose.
    Made(fn() -> Vec<u8>),
    /// Made for the purpose: how it begins, and how long it is with the zeros that follow.
    Sparse(fn() -> (Vec<u8>, u64)),
}

/// What must come of it.
#[derive(Clone, Copy, Debug)]
pub enum Expected {
    /// It isn't loaded, and its status says so in these words.
    Refused(&'static [&'static str]),
    /// Each call ends with an error of these words, until the plugin is in quarantine.
    Fails(&'static str),
    /// It answers, in these words, and nothing happened to it.
    Tells(&'static str),
    /// It is loaded or isn't, answers or doesn't: no other plugin notices.
    Bounded,
}

/// One attack.
#[derive(Clone, Copy, Debug)]
pub struct Attack {
    /// The plugin's name.
    pub name: &'static str,
    pub role: Role,
    /// Its component.
    pub origin: Origin,
    /// `config:` of its entry: for [`Origin::Intruder`] a text, else YAML. `{server}` stands for an address of the probed pod's where HTTP is served, `{stream}` for
    /// one where bytes come without end, `{sink}` for one where nothing is read, `{udp}` for one where datagrams are taken;
    /// `{other}` for another pod's, and `{host}` for the node's own, where a server listens that no plugin may reach; `{port}` for the
    /// port of those two.
    pub config: &'static str,
    /// `grants:` of its entry, as YAML in one line.
    pub grants: &'static str,
    /// How much memory it may have, if its entry says so.
    pub memory: &'static str,
    /// How long a call may take, in milliseconds.
    pub timeout: u32,
    /// What must come of it.
    pub expected: Expected,
}

/// How long a call may take of what should end by itself: the machine may be busy. Handlers may have no more.
const LONG: u32 = 10_000;
/// The same for probes and pod sources.
const LONGER: u32 = 60_000;
/// How long a call may take of what goes on until it is cut.
const SHORT: u32 = 100;
/// The same for probes and pod sources, which are cut less sharply.
const SECOND: u32 = 1000;

impl Attack {
    const fn written(name: &'static str, role: Role, timeout: u32, expected: Expected) -> Self {
        Self {
            name,
            role,
            origin: Origin::Written,
            config: "null",
            grants: "",
            memory: "",
            timeout,
            expected,
        }
    }

    const fn intruder(
        name: &'static str,
        role: Role,
        config: &'static str,
        timeout: u32,
        expected: Expected,
    ) -> Self {
        Self { name, role, origin: Origin::Intruder, config, grants: "", memory: "", timeout, expected }
    }

    const fn made(name: &'static str, make: fn() -> Vec<u8>, expected: Expected) -> Self {
        let origin = Origin::Made(make);
        Self {
            name,
            role: Role::Admission,
            origin,
            config: "null",
            grants: "",
            memory: "",
            timeout: LONG,
            expected,
        }
    }

    const fn granted(self, grants: &'static str) -> Self {
        Self { grants, ..self }
    }
}

/// All of them.
pub fn attacks() -> impl Iterator<Item = &'static Attack> {
    [load::ATTACKS, admission::ATTACKS, probe::ATTACKS, pod_source::ATTACKS].into_iter().flatten()
}
