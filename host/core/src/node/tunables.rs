//! Tunables of the kernel that pods rely on (`setupKernelTunables` in `cm/container_manager_linux.go`).

/// Names below `/proc/sys`, and the values that they are to have: memory may be promised beyond what there is, running out of it
/// ends a process and not the machine, a machine that panics or stumbles starts again, and keys suffice for all containers.
pub const TUNABLES: [(&str, i64); 6] = [
    ("vm/overcommit_memory", 1),
    ("vm/panic_on_oom", 0),
    ("kernel/panic", 10),
    ("kernel/panic_on_oops", 1),
    ("kernel/keys/root_maxkeys", 1_000_000),
    ("kernel/keys/root_maxbytes", 25_000_000),
];

/// What is done about tunables that have other values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TunablePolicy {
    #[default]
    Leave,
    /// They end the start (`protectKernelDefaults`).
    Check,
    Write,
}

/// Returns what is to be written, by what was read: a value for each of [`TUNABLES`], or why there is none.
///
/// # Errors
/// With all that can't be read, or may not have another value.
pub fn tunables_to_write(
    policy: TunablePolicy,
    found: &[(&'static str, Result<i64, String>)],
) -> Result<Vec<(&'static str, i64)>, Vec<String>> {
    let (mut writes, mut problems) = (Vec::new(), Vec::new());
    for (name, expected) in TUNABLES {
        let read = found.iter().find(|(found, _)| *found == name).map(|(_, value)| value);
        match (read, policy) {
            (None, _) | (_, TunablePolicy::Leave) => {}
            (Some(Err(problem)), _) => problems.push(problem.clone()),
            (Some(Ok(value)), _) if *value == expected => {}
            (Some(Ok(value)), TunablePolicy::Check) => problems.push(format!(
                "invalid kernel flag: {name}, expected value: {expected}, actual value: {value}"
            )),
            (Some(Ok(_)), TunablePolicy::Write) => writes.push((name, expected)),
        }
    }
    if problems.is_empty() { Ok(writes) } else { Err(problems) }
}

#[cfg(test)]
mod tests {
    //! What is written or refused.

    use super::*;

    fn all_good() -> Vec<(&'static str, Result<i64, String>)> {
        TUNABLES.map(|(name, value)| (name, Ok(value))).to_vec()
    }

    #[test]
    fn what_differs_is_left_refused_or_written() {
        let mut found = all_good();
        assert_eq!(tunables_to_write(TunablePolicy::Check, &found), Ok(Vec::new()));
        assert_eq!(tunables_to_write(TunablePolicy::Write, &found), Ok(Vec::new()));
        found[0].1 = Ok(0);
        found[2].1 = Ok(-1);
        assert_eq!(tunables_to_write(TunablePolicy::Leave, &found), Ok(Vec::new()));
        let refused = tunables_to_write(TunablePolicy::Check, &found).expect_err("two differ");
        assert_eq!(
            refused,
            [
                "invalid kernel flag: vm/overcommit_memory, expected value: 1, actual value: 0",
                "invalid kernel flag: kernel/panic, expected value: 10, actual value: -1",
            ]
        );
        assert_eq!(
            tunables_to_write(TunablePolicy::Write, &found),
            Ok(vec![("vm/overcommit_memory", 1), ("kernel/panic", 10)])
        );
        found[2].1 = Err("open /proc/sys/kernel/panic: permission denied".to_owned());
        for policy in [TunablePolicy::Check, TunablePolicy::Write] {
            let refused = tunables_to_write(policy, &found).expect_err("one can't be read");
            assert!(
                refused.contains(&"open /proc/sys/kernel/panic: permission denied".to_owned()),
                "{policy:?}"
            );
        }
        assert_eq!(tunables_to_write(TunablePolicy::Leave, &found), Ok(Vec::new()));
    }
}
