//! What the manifests say, and so what has to be on the node once everything is left to settle.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Pod;
use witlet_testkit::{ContainerBuilder, NOT_BEFORE_SECONDS, container, pod};

use crate::shape::{Shape, Version};

/// Which runtime is under the daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `witlet runtime`.
    Embedded,
    /// containerd with runc.
    Containerd,
}

impl Kind {
    /// The first word in the names of its cases.
    pub fn name(self) -> &'static str {
        match self {
            Self::Embedded => "embedded",
            Self::Containerd => "containerd",
        }
    }
}

/// What a pod is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Character {
    /// Runs until it is asked to stop.
    Sleeper,
    /// Two containers of that sort.
    Pair,
    /// Runs, and has to be killed.
    Stubborn,
    /// Fails again and again.
    Crasher,
    /// Runs once, and never again.
    Job,
    /// Is admitted after a while only.
    Deferred,
    /// Is refused.
    Refused,
    /// One of the random pods with everything; on containerd only.
    Varied(Shape),
}

impl Character {
    /// All but the random ones.
    pub const ALL: [Self; 7] =
        [Self::Sleeper, Self::Pair, Self::Stubborn, Self::Crasher, Self::Job, Self::Deferred, Self::Refused];

    /// The phase that it comes to and stays in.
    pub fn phase(self) -> &'static str {
        match self {
            Self::Sleeper | Self::Pair | Self::Stubborn | Self::Crasher | Self::Deferred => "Running",
            Self::Job => "Succeeded",
            Self::Refused => "Failed",
            Self::Varied(shape) => shape.phase(),
        }
    }

    /// The names of its containers that are to run all the time.
    pub fn runs(self) -> Vec<&'static str> {
        match self {
            Self::Sleeper | Self::Stubborn | Self::Deferred => vec!["app"],
            Self::Pair => vec!["app", "side"],
            Self::Crasher | Self::Job | Self::Refused => vec![],
            Self::Varied(shape) => shape.runs(),
        }
    }

    /// Whether one of them is ready.
    pub fn is_ready(self, container: &str) -> bool {
        match self {
            Self::Varied(shape) => shape.is_ready(container),
            Self::Sleeper | Self::Pair | Self::Stubborn | Self::Deferred => true,
            Self::Crasher | Self::Job | Self::Refused => false,
        }
    }

    /// Whether a container of it that could not be started stays so.
    pub fn is_never_tried_again(self) -> bool {
        matches!(self, Self::Varied(shape) if shape.is_never_tried_again())
    }

    /// Whether it begins again with a UID that it had before. What was stopped before an agent was killed has ended by itself
    /// in the eyes of the next one, and only what is always restarted begins again then.
    pub fn may_come_back(self) -> bool {
        match self {
            Self::Varied(shape) => shape.is_always_restarted(),
            Self::Sleeper | Self::Pair | Self::Stubborn | Self::Crasher => true,
            Self::Job | Self::Deferred | Self::Refused => true,
        }
    }

    /// What its main container said when it ended, if that is known.
    pub fn message(self) -> Option<&'static str> {
        match self {
            Self::Varied(shape) => shape.message(),
            Self::Sleeper | Self::Pair | Self::Stubborn | Self::Crasher | Self::Job => None,
            Self::Deferred | Self::Refused => None,
        }
    }

    /// Whether its sandbox is to be up.
    pub fn has_sandbox(self) -> bool {
        match self {
            Self::Sleeper | Self::Pair | Self::Stubborn | Self::Crasher | Self::Deferred => true,
            Self::Job | Self::Refused => false,
            Self::Varied(shape) => !shape.ends(),
        }
    }

    /// Whether a container, once there, stays the same one as long as the pod isn't touched.
    pub fn keeps(self, container: &str) -> bool {
        match self {
            Self::Sleeper | Self::Pair | Self::Stubborn | Self::Deferred | Self::Job => true,
            Self::Crasher | Self::Refused => false,
            Self::Varied(shape) => shape.keeps(container),
        }
    }

    /// Whether an edit of a pod with a UID of its own leaves it its sandbox, and leads to the same again.
    pub fn can_be_edited(self) -> bool {
        match self {
            Self::Sleeper | Self::Pair | Self::Stubborn | Self::Deferred => true,
            Self::Crasher | Self::Job | Self::Refused => false,
            Self::Varied(shape) => shape.can_be_edited(),
        }
    }
}

/// What was done to a pod since everything settled the last time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Touch {
    /// Nothing that it may notice.
    None,
    /// Its containers may have been replaced.
    Containers,
    /// All of it may have been replaced.
    All,
}

/// What was there of a pod when everything had settled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ids {
    /// The newest sandbox.
    pub sandbox: Option<String>,
    /// The newest container of each name.
    pub containers: BTreeMap<String, String>,
    /// How often the agent says that each was restarted. Not always 0: a pod that was edited, or was removed and came
    /// back with its UID, counts on, and so does one whose container's start was cut short with the runtime.
    pub restarts: BTreeMap<String, i32>,
}

/// A pod that a manifest has.
#[derive(Clone, Debug)]
pub struct ExpectedPod {
    /// As the manifest has it; see [`full_name`](crate::full_name).
    pub name: String,
    /// What it is to come to.
    pub character: Character,
    /// With one of its own a change is an update, else it is another pod.
    pub fixed_uid: bool,
    /// Value of a variable in its containers.
    pub variable: usize,
    /// Value of a label.
    pub label: usize,
    /// Of a varied pod: its limit of processor time, in steps.
    pub cpu: usize,
    /// What may have been replaced since the last settling.
    pub touch: Touch,
    /// What there was of it then.
    pub settled: Option<Ids>,
}

impl ExpectedPod {
    /// A pod that is new: all of it is still to come.
    pub fn new(name: String, character: Character, fixed_uid: bool) -> Self {
        Self { name, character, fixed_uid, variable: 0, label: 0, cpu: 0, touch: Touch::All, settled: None }
    }

    /// It may be another pod now.
    pub fn touch(&mut self) {
        self.touch = Touch::All;
    }

    /// Its containers may be others now.
    pub fn replace_containers(&mut self) {
        self.touch = self.touch.max(Touch::Containers);
    }

    /// Whether its limits are to change while it runs.
    pub fn can_be_resized(&self) -> bool {
        matches!(self.character, Character::Varied(shape) if self.fixed_uid && shape.can_be_resized())
    }

    /// The text of its manifest. `host_folder` is there for pods that use the host's.
    pub fn manifest(&self, kind: Kind, host_folder: &str) -> String {
        let Character::Varied(shape) = self.character else {
            return serde_json::to_string(&self.pod(kind)).unwrap_or_default();
        };
        let uid = self.fixed_uid.then(|| self.own_uid());
        let Self { variable, label, cpu, .. } = *self;
        let version = Version { variable, label, cpu, host_folder };
        shape.manifest(&self.name, uid.as_deref(), version).to_string()
    }

    fn own_uid(&self) -> String {
        format!("{}-fixed-uid", self.name)
    }

    fn pod(&self, kind: Kind) -> Pod {
        let containers: &[&str] = match self.character {
            Character::Pair => &["app", "side"],
            Character::Sleeper
            | Character::Stubborn
            | Character::Crasher
            | Character::Job
            | Character::Deferred
            | Character::Refused
            | Character::Varied(_) => &["app"],
        };
        let mut manifest = pod(&self.name).grace_seconds(1).label(("label", &format!("v{}", self.label)));
        for name in containers {
            let plays = plays(kind, self.character, name);
            manifest = manifest.container(plays.env("VARIABLE", &self.variable.to_string()));
        }
        if self.fixed_uid {
            manifest = manifest.uid(&self.own_uid());
        }
        match self.character {
            Character::Job => manifest.restart_policy("Never").build(),
            Character::Deferred => manifest.annotation(NOT_BEFORE_SECONDS, "2").build(),
            Character::Refused => {
                let mut manifest = manifest.build();
                let nowhere = BTreeMap::from([("example.com/place".to_owned(), "nowhere".to_owned())]);
                manifest.spec.get_or_insert_default().node_selector = Some(nowhere);
                manifest
            }
            Character::Sleeper
            | Character::Pair
            | Character::Stubborn
            | Character::Crasher
            | Character::Varied(_) => manifest.build(),
        }
    }
}

fn plays(kind: Kind, character: Character, name: &str) -> ContainerBuilder {
    match kind {
        Kind::Embedded => match character {
            Character::Sleeper
            | Character::Pair
            | Character::Deferred
            | Character::Refused
            | Character::Varied(_) => container(name, "file:http-server.wasm").args(&["0".to_owned()]),
            Character::Stubborn => container(name, "file:stubborn.wasm"),
            Character::Crasher => container(name, "file:crasher.wasm"),
            Character::Job => container(name, "file:worker.wasm").args(&["0".into(), "1".into(), "1".into()]),
        },
        Kind::Containerd => {
            let script = match character {
                Character::Sleeper
                | Character::Pair
                | Character::Deferred
                | Character::Refused
                | Character::Varied(_) => "trap 'exit 0' TERM; while :; do sleep 0.3; done",
                Character::Stubborn => "trap '' TERM; sleep 3600",
                Character::Crasher => "echo all is well so far; sleep 0.5; exit 1",
                Character::Job => "echo done",
            };
            container(name, witlet_harness::BUSYBOX_IMAGE).command(&[
                "/bin/sh".to_owned(),
                "-c".to_owned(),
                script.to_owned(),
            ])
        }
    }
}
