//! Reports of kernels before and after 5.0.

use super::*;

const BEGINNING: &str =
    "stress invoked oom-killer: gfp_mask=0x100cca(GFP_HIGHUSER_MOVABLE), order=0, oom_score_adj=1000";
const TASKS: &str = "[    421]     0   421     4321      512    61440        0          -997 containerd";
const OF_POD: &str = "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=cri-1,mems_allowed=0,oom_memcg=/kubepods/pod1,\
                      task_memcg=/kubepods/pod1/2,task=stress,pid=17,uid=0";
const OF_ROOT: &str = "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/,task_memcg=/kubepods/pod1/2,\
                       task=a,b,pid=19,uid=0";
const GLOBAL: &str = "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,task_memcg=/kubepods/pod1/2,\
                      task=stress,pid=18,uid=0";
const KILLED: &str = "Out of memory: Killed process 18 (stress) total-vm:5242880kB, anon-rss:4194304kB, file-rss:4kB, oom_score_adj:1000";

/// The messages of all reports.
fn reported(log: &[&str]) -> Vec<String> {
    let mut reader = OomReader::default();
    log.iter().filter_map(|message| reader.read(message)).map(|oom| oom.message()).collect()
}

#[test]
fn only_a_machine_that_is_out_of_memory_is_reported() {
    let victim = |of: &str| format!("System OOM encountered, victim process: {of}");
    let cases: [(&str, &[&str], Vec<String>); 10] = [
        ("the machine", &[BEGINNING, TASKS, GLOBAL, KILLED], vec![victim("stress, pid: 18")]),
        ("its root cgroup", &[BEGINNING, TASKS, OF_ROOT, KILLED], vec![victim("a,b, pid: 19")]),
        ("a pod", &[BEGINNING, TASKS, OF_POD, KILLED], vec![]),
        (
            "a pod, then the machine",
            &[BEGINNING, OF_POD, KILLED, BEGINNING, GLOBAL, KILLED],
            vec![victim("stress, pid: 18")],
        ),
        (
            "a pod, before 5.0",
            &[BEGINNING, "Task in /kubepods/pod1/2 killed as a result of limit of /kubepods/pod1", KILLED],
            vec![],
        ),
        (
            "the root, before 5.0",
            &[BEGINNING, "Task in /kubepods/pod1/2 killed as a result of limit of /", KILLED],
            vec![victim("stress, pid: 18")],
        ),
        (
            "a name with parentheses",
            &[BEGINNING, "Killed process 5 (a (b)) total-vm:1kB"],
            vec![victim("a (b), pid: 5")],
        ),
        (
            "no id",
            &[BEGINNING, "Killed process 99999999999 (a) total-vm:1kB"],
            vec!["System OOM encountered".to_owned()],
        ),
        ("no beginning", &[GLOBAL, KILLED], vec![]),
        ("no end", &[BEGINNING, TASKS, GLOBAL], vec![]),
    ];
    for (claim, log, expected) in cases {
        assert_eq!(reported(log), expected, "{claim}");
    }
}
