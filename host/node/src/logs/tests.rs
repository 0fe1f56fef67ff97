//! What is a log of ours.

use super::*;

#[test]
fn a_log_lies_two_folders_below_that_of_all_logs() {
    let logs = Path::new("/var/log/pods");
    for (path, expected) in [
        ("/var/log/pods/ns_web_u-1/app/0.log", true),
        ("/var/log/pods/ns_web_u-1/app/0.log.20260101-000000.gz", true),
        ("/var/log/pods/ns_web_u-1/app", false),
        ("/var/log/pods/ns_web_u-1/app/inner/0.log", false),
        ("/var/log/pods/unknown/app/0.log", false),
        ("/var/log/pods/a_b_c_d/app/0.log", false),
        ("/var/log/pods/ns_web_u-1/../app/0.log", false),
        ("/var/log/pods/ns_web_u-1/app/.hidden", false),
        ("/var/log/other/ns_web_u-1/app/0.log", false),
        ("/var/log/podsx/ns_web_u-1/app/0.log", false),
        ("var/log/pods/ns_web_u-1/app/0.log", false),
        ("", false),
    ] {
        assert_eq!(is_log(Path::new(path), logs), expected, "{path}");
        assert_eq!(check_log(Path::new(path), logs).is_ok(), expected, "{path}");
    }
}

#[test]
fn a_device_is_not_opened() {
    let error = open_regular(Path::new("/dev"), &["null"]).expect_err("a device");
    assert_eq!(error.to_string(), "not a regular file");
    assert!(open_regular(Path::new("/gone"), &["x"]).expect("no folder is no error").is_none());
    assert!(open_regular(Path::new("/dev"), &["gone"]).expect("no file is no error").is_none());
}
