//! Tests of what the outcome of a hook's command means.

use super::*;

#[test]
fn a_command_passes_only_with_exit_code_0_and_its_words_are_cut() {
    let command = || vec!["sh".to_owned(), "-c".to_owned(), "false".to_owned()];
    let output = |exit_code, stdout: &[u8], stderr: &[u8]| ExecOutput {
        exit_code,
        stdout: stdout.to_vec(),
        stderr: stderr.to_vec(),
    };
    assert!(judge(command(), output(0, b"", b"noise")).is_ok());
    let failure = judge(command(), output(3, b"out", b"err")).expect_err("it failed");
    let text = r#"command 'sh -c false' exited with 3: , message: "outerr""#;
    assert_eq!(failure.to_string(), text);
    let flood = vec![b'x'; 10 * 1024 * 1024];
    let failure = judge(command(), output(1, &flood, &flood)).expect_err("it failed");
    assert!(failure.to_string().len() < OUTPUT_BYTES_MAX + 100);
}
