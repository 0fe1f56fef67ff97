//! Random pods with everything that a pod may have on its node, which find out by themselves whether they got it: a
//! container that misses something exits, and so isn't what it has to be.

mod manifest;

use crate::random::Random;

pub(crate) use manifest::{cpu_limit, cpu_limit_milli};

/// What its main container comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Course {
    /// Runs on.
    Runs,
    /// Runs on, and is never ready.
    NeverReady,
    /// Does what it has to, and isn't to be restarted for it.
    Done,
    /// Does what it has to, and is restarted for it.
    DoneAgain,
    /// Fails for good.
    Fails,
    /// Fails again and again.
    FailsAgain,
    /// Fails again and again, for only a rule of the container restarts it.
    FailsByRule,
    /// Its liveness probe fails.
    Unhealthy,
    /// An init container fails for good.
    InitFails,
    /// An init container fails again and again.
    InitFailsAgain,
    /// Isn't done in the pod's time.
    Overdue,
}

/// With the share of each among a hundred.
const COURSES: [(Course, usize); 11] = [
    (Course::Runs, 56),
    (Course::NeverReady, 4),
    (Course::Done, 8),
    (Course::DoneAgain, 4),
    (Course::Fails, 4),
    (Course::FailsAgain, 4),
    (Course::FailsByRule, 4),
    (Course::Unhealthy, 4),
    (Course::InitFails, 4),
    (Course::InitFailsAgain, 4),
    (Course::Overdue, 4),
];

/// How something is probed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Check {
    Exec,
    Http,
    Tcp,
}

/// What is done after the start or before the stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hook {
    Exec,
    Http,
    Sleep,
    /// Doesn't return.
    Hangs,
}

/// Where a termination message comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Message {
    File,
    Logs,
}

/// What is random about a pod. The same shape is the same pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    pub(crate) course: Course,
    policy: &'static str,
    inits: usize,
    sidecar: bool,
    /// A second container next to the main one.
    second_container: bool,
    readiness: Option<Check>,
    liveness: Option<Check>,
    startup: Option<Check>,
    post_start: Option<Hook>,
    pre_stop: Option<Hook>,
    message: Message,
    memory: bool,
    /// Runs as another user, in a group that its volumes have.
    user: bool,
    host_path: bool,
    downward: bool,
    sub_path: bool,
    host_network: bool,
    grace_seconds: usize,
}

/// What of a pod changes in its life.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Version<'a> {
    pub(crate) variable: usize,
    pub(crate) label: usize,
    /// In steps above the least.
    pub(crate) cpu: usize,
    /// A folder of the host that has a file `hello`.
    pub(crate) host_folder: &'a str,
}

impl Shape {
    /// Any. A `sturdy` one comes to the same whatever becomes of a single container: what was cut short is tried again.
    pub fn random(random: &mut Random, sturdy: bool) -> Self {
        let course = loop {
            let course = course(random.below(100));
            if !sturdy || matches!(course, Course::Runs | Course::FailsAgain | Course::InitFailsAgain) {
                break course;
            }
        };
        let any_policy = || if sturdy { &["Always"][..] } else { &["Always", "OnFailure", "Never"] };
        let policies: &[&'static str] = match course {
            Course::Runs | Course::NeverReady | Course::Overdue => any_policy(),
            Course::Done => &["OnFailure", "Never"],
            Course::DoneAgain | Course::Unhealthy => &["Always"],
            Course::Fails | Course::InitFails => &["Never"],
            Course::FailsAgain if sturdy => &["Always"],
            Course::FailsAgain | Course::InitFailsAgain => &["Always", "OnFailure"],
            Course::FailsByRule => &["Never", "OnFailure"],
        };
        let policy = random.pick(policies).copied().unwrap_or("Always");
        let host_network = random.chance(10);
        let serves = course == Course::Runs && !host_network;
        let checks: &[Check] = if serves { &[Check::Exec, Check::Http, Check::Tcp] } else { &[Check::Exec] };
        let runs = course == Course::Runs;
        let mut check =
            |percent| (runs && random.chance(percent)).then(|| random.pick(checks).copied()).flatten();
        let (readiness, liveness, startup) = (check(40), check(30), check(20));
        let starts: &[Hook] = &[Hook::Exec, Hook::Sleep];
        let post_start = (runs && random.chance(25)).then(|| random.pick(starts).copied()).flatten();
        let stops: &[Hook] = match serves {
            true => &[Hook::Exec, Hook::Sleep, Hook::Hangs, Hook::Http],
            false => &[Hook::Exec, Hook::Sleep, Hook::Hangs],
        };
        let pre_stop = (runs && random.chance(30)).then(|| random.pick(stops).copied()).flatten();
        Self {
            course,
            policy,
            inits: [0, 0, 1, 2][random.below(4)],
            sidecar: random.chance(25),
            second_container: random.chance(15),
            readiness,
            liveness,
            startup,
            post_start,
            pre_stop,
            message: if random.chance(50) { Message::File } else { Message::Logs },
            memory: random.chance(30),
            user: random.chance(30),
            host_path: random.chance(25),
            downward: random.chance(40),
            sub_path: random.chance(25),
            host_network,
            grace_seconds: 1 + random.below(3),
        }
    }

    /// One with nothing but its course.
    #[cfg(test)]
    pub(crate) fn plain(course: Course, policy: &'static str) -> Self {
        Self {
            course,
            policy,
            inits: 0,
            sidecar: false,
            second_container: false,
            readiness: None,
            liveness: None,
            startup: None,
            post_start: None,
            pre_stop: None,
            message: Message::File,
            memory: false,
            user: false,
            host_path: false,
            downward: false,
            sub_path: false,
            host_network: false,
            grace_seconds: 1,
        }
    }

    /// The phase that it comes to and stays in.
    pub(crate) fn phase(self) -> &'static str {
        match self.course {
            Course::Runs
            | Course::NeverReady
            | Course::DoneAgain
            | Course::FailsAgain
            | Course::FailsByRule
            | Course::Unhealthy => "Running",
            // What runs next to it isn't done.
            Course::Done | Course::Fails if self.second_container => "Running",
            Course::Done => "Succeeded",
            Course::Fails | Course::InitFails | Course::Overdue => "Failed",
            Course::InitFailsAgain => "Pending",
        }
    }

    /// Whether it is over for good.
    pub(crate) fn ends(self) -> bool {
        matches!(self.phase(), "Succeeded" | "Failed")
    }

    /// The names of its containers that are to run all the time.
    pub(crate) fn runs(self) -> Vec<&'static str> {
        if self.ends() {
            return Vec::new();
        }
        let sidecar = self.sidecar.then_some("sidecar");
        let second_container =
            (self.second_container && self.course != Course::InitFailsAgain).then_some("sidecar");
        let main = matches!(self.course, Course::Runs | Course::NeverReady).then_some("app");
        main.into_iter().chain(second_container).chain(sidecar).collect()
    }

    /// Whether a container that runs is ready.
    pub(crate) fn is_ready(self, container: &str) -> bool {
        container != "app" || self.course != Course::NeverReady
    }

    /// Whether a container, once there, stays the same one as long as the pod isn't touched.
    pub(crate) fn keeps(self, container: &str) -> bool {
        match self.course {
            Course::Runs | Course::NeverReady | Course::Done | Course::Fails => true,
            Course::InitFails | Course::Overdue => true,
            Course::DoneAgain | Course::FailsAgain | Course::FailsByRule | Course::Unhealthy => {
                container != "app"
            }
            Course::InitFailsAgain => container != "last",
        }
    }

    /// Whether an edit in place leads to the same again, also if it is cut short.
    pub(crate) fn can_be_edited(self) -> bool {
        self.course == Course::Runs && self.policy == "Always"
    }

    /// Whether a container of it that could not be started stays so.
    pub(crate) fn is_never_tried_again(self) -> bool {
        self.policy == "Never" || self.course == Course::FailsByRule
    }

    /// Whether its containers are restarted however they end.
    pub(crate) fn is_always_restarted(self) -> bool {
        self.policy == "Always"
    }

    /// Whether its limits can change while it runs.
    pub(crate) fn can_be_resized(self) -> bool {
        matches!(self.course, Course::Runs | Course::NeverReady)
    }

    /// The termination message of its main container, once that has ended for good.
    pub(crate) fn message(self) -> Option<&'static str> {
        match (self.course, self.message) {
            (Course::Done, Message::File) | (Course::Fails, Message::File | Message::Logs) => {
                Some("last words")
            }
            (Course::Done, Message::Logs) => Some(""),
            _ => None,
        }
    }
}

fn course(mut at: usize) -> Course {
    for (course, share) in COURSES {
        match at.checked_sub(share) {
            Some(rest) => at = rest,
            None => return course,
        }
    }
    Course::Runs
}
