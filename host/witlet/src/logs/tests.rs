//! What a log is asked for with.

use clap::Parser as _;

use super::*;
use crate::cli::{Cli, Command};

fn asked(arguments: &[&str]) -> String {
    let line = [&["witlet", "logs", "web"], arguments].concat();
    let Command::Logs(args) = Cli::try_parse_from(line).expect("a command line").command else {
        panic!("it is `witlet logs`")
    };
    let of = |text: &str| text.to_owned();
    request(&Target { namespace: of("default"), pod: of("web-node1"), container: of("app") }, &args)
}

#[test]
fn flags_become_the_options_of_the_api() {
    let path = |query: &str| format!("/containerLogs/default/web-node1/app?{query}");
    for (arguments, query) in [
        (&[][..], ""),
        (&["-f", "--tail", "20"], "follow=true&tailLines=20"),
        (&["--tail", "-1"], ""),
        (&["--tail=0", "--timestamps"], "timestamps=true&tailLines=0"),
        (&["-p", "--since", "90s"], "previous=true&sinceSeconds=90"),
        (&["--since-time", "2026-06-01T12:00:00Z"], "sinceTime=2026-06-01T12:00:00Z"),
        (&["--limit-bytes", "100"], "limitBytes=100"),
    ] {
        assert_eq!(asked(arguments), path(query), "{arguments:?}");
    }
}
