//! Flags and what they come to.

use clap::Parser;

use super::*;
use crate::cli::{Cli, Command};

fn args(flags: &[&str]) -> RunArgs {
    let words = ["witlet", "run"].iter().chain(flags);
    match Cli::try_parse_from(words).expect("the command line makes sense").command {
        Command::Run(args) => *args,
        _ => unreachable!("it says run"),
    }
}

#[test]
fn what_is_not_given_is_as_upstream_has_it() {
    let args = args(&[]);
    assert_eq!(image_pulls(&args.pods), ImagePullLimits::default());
    assert_eq!(log_limits(&args.pods).expect("the defaults make sense"), LogLimits::default());
    assert_eq!(resolv_conf(&args.pods), Some(PathBuf::from("/etc/resolv.conf")));
    assert_eq!(container_logs_dir(&args), PathBuf::from("/var/log/containers"));
}

#[test]
fn flags_say_what_pods_get() {
    let args = args(&[
        "--cluster-dns=10.0.0.10,fd00::10",
        "--runtime-classes=gvisor=runsc",
        "--resolv-conf=",
        "--serialize-image-pulls=false",
        "--max-parallel-image-pulls=3",
        "--container-log-max-size=1Gi",
        "--pod-logs-dir=/srv/logs",
    ]);
    let host = host_settings(&args).expect("the flags make sense");
    assert_eq!(host.cluster_dns.len(), 2);
    assert_eq!(host.runtime_classes["gvisor"], "runsc");
    assert_eq!(resolv_conf(&args.pods), None);
    let pulls = image_pulls(&args.pods);
    assert_eq!((pulls.serialize, pulls.parallel_max), (false, Some(3)));
    assert_eq!(log_limits(&args.pods).expect("it is a size").bytes_max, 1 << 30);
    assert_eq!(container_logs_dir(&args), PathBuf::from("/srv/containers"));
}

#[test]
fn what_makes_no_sense_is_refused_by_the_name_of_its_flag() {
    for (flag, part) in [
        ("--runtime-classes=gvisor", "--runtime-classes: \"gvisor\" isn't CLASS=HANDLER"),
        ("--runtime-classes==runsc", "--runtime-classes: \"=runsc\" isn't CLASS=HANDLER"),
    ] {
        let error = host_settings(&args(&[flag])).expect_err("it makes no sense");
        assert_eq!(error.to_string(), part);
    }
    for size in ["0", "-1Mi", "large", ""] {
        let flag = format!("--container-log-max-size={size}");
        let error = log_limits(&args(&[&flag]).pods).expect_err("it is no size");
        assert!(error.to_string().starts_with("--container-log-max-size: "), "{error}");
    }
}
