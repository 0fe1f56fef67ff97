//! Tunables of the kernel: a program that is called as the kubelet writes them, and tests leave the machine as it is.

/// Shell commands for a mount namespace of their own: the program that comes after them writes copies of the tunables. They end
/// with `exit 1` where a copy can't be mounted.
pub const COPY_TUNABLES: &str = r#"for file in vm/overcommit_memory vm/panic_on_oom kernel/panic kernel/panic_on_oops \
kernel/keys/root_maxkeys kernel/keys/root_maxbytes; do
    copy=$(mktemp) && cat "/proc/sys/$file" > "$copy" && mount --bind "$copy" "/proc/sys/$file" && rm "$copy" || exit 1
done
"#;

/// Runs a program with copies of the tunables: arguments for `unshare` before the program's path and arguments.
pub fn with_copies(rest: impl IntoIterator<Item = String>) -> Vec<String> {
    with_copies_and("", rest)
}

/// The same after these shell commands, each of which ends with a line.
pub fn with_copies_and(commands: &str, rest: impl IntoIterator<Item = String>) -> Vec<String> {
    let script = format!("{COPY_TUNABLES}{commands}exec \"$0\" \"$@\"");
    let outer = ["--mount", "--propagation", "slave", "--", "sh", "-c", script.as_str()];
    outer.map(str::to_owned).into_iter().chain(rest).collect()
}
