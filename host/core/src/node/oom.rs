//! Processes that the kernel ended because the machine was out of memory, by the messages of its log (upstream:
//! `oom/oom_watcher_linux.go`, cAdvisor's `oomparser`).

/// Reason of the node's event (upstream: `systemOOMEvent`).
pub const SYSTEM_OOM: &str = "SystemOOM";
/// The cgroup of the machine as a whole.
const ROOT: &str = "/";

/// A process that ended because the machine as a whole was out of memory, and no cgroup had reached its limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SystemOom {
    /// Name and id, if the kernel gave both.
    victim: Option<(String, u32)>,
}

impl SystemOom {
    /// Message of the node's event.
    pub fn message(&self) -> String {
        match &self.victim {
            Some((process, pid)) => {
                format!("System OOM encountered, victim process: {process}, pid: {pid}")
            }
            None => "System OOM encountered".to_owned(),
        }
    }
}

/// Follows the kernel's log, one message after the other.
#[derive(Clone, Debug, Default)]
pub struct OomReader {
    /// The cgroup that is out of memory, while the kernel reports it.
    reported: Option<String>,
}

impl OomReader {
    /// Takes the next message in. A report has many: it begins with who asked for memory, and ends with the victim.
    pub fn read(&mut self, message: &str) -> Option<SystemOom> {
        if message.contains("invoked oom-killer:") {
            self.reported = Some(ROOT.to_owned());
            return None;
        }
        let cgroup = self.reported.as_mut()?;
        if let Some(limited) = limited_before_5_0(message) {
            *cgroup = limited.to_owned();
            return None;
        }
        let victim = match summary(message) {
            Some((limited, victim)) => {
                *cgroup = limited.to_owned();
                victim
            }
            None => killed(message)?,
        };
        let cgroup = self.reported.take()?;
        (cgroup == ROOT).then_some(SystemOom { victim })
    }
}

/// Process and its id.
type Victim = Option<(String, u32)>;

/// The cgroup in `Task in /a killed as a result of limit of /b`.
fn limited_before_5_0(message: &str) -> Option<&str> {
    message
        .split_once("Task in ")?
        .1
        .split_once(" killed as a result of limit of ")
        .map(|(_, limited)| limited)
}

/// Cgroup and victim in `oom-kill:constraint=CONSTRAINT_MEMCG,…,oom_memcg=/b,task_memcg=/b/a,task=app,pid=7,uid=0`. Where the machine
/// is out of memory the line names no cgroup, and the victim follows.
fn summary(message: &str) -> Option<(&str, Victim)> {
    let (cgroup, rest) = message
        .split_once("oom-kill:constraint=")?
        .1
        .split_once(",oom_memcg=")?
        .1
        .split_once(",task_memcg=")?;
    let (process, pid) = rest.split_once(",task=")?.1.rsplit_once(",uid=")?.0.rsplit_once(",pid=")?;
    Some((cgroup, pid.parse().ok().map(|pid| (process.to_owned(), pid))))
}

/// The victim in `Out of memory: Killed process 7 (app) total-vm:…`.
fn killed(message: &str) -> Option<Victim> {
    let (pid, rest) = message.split_once("Killed process ")?.1.split_once(" (")?;
    let (process, _) = rest.rsplit_once(')')?;
    Some(pid.parse().ok().map(|pid| (process.to_owned(), pid)))
}

#[cfg(test)]
mod tests;
