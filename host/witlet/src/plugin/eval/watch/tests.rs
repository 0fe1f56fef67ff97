//! Which files are watched, and which of their changes are noticed.

use clap::Parser as _;

use super::*;
use crate::cli::{Cli, Command, Plugin};

fn args(words: &[&str]) -> EvalArgs {
    let cli = Cli::try_parse_from(["witlet", "plugin", "eval"].iter().chain(words)).expect("a command line");
    let Command::Plugin(Plugin::Eval(args)) = cli.command else { panic!("another command") };
    *args
}

#[test]
fn all_files_are_watched_that_can_be_read_again() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let plugins = folder.path().join("plugins.yaml");
    let text = "apiVersion: witlet.dev/v1alpha1\nkind: PluginConfiguration\nsecrets: [{name: s, file: secret}]\nplugins:\n\
                - {name: a, component: ./a.wasm, admission: {}}\n- {name: b, component: 'builtin:image-policy', admission: {}}\n";
    std::fs::write(&plugins, text).expect("written");
    let names = |words: &[&str]| {
        let files = inputs(&args(words)).into_iter();
        let name = |path: PathBuf| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        files.map(name).collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join(" ")
    };
    let plugins = plugins.display().to_string();
    assert_eq!(names(&["-", "web.yaml", "--plugins", &plugins]), "a.wasm plugins.yaml secret web.yaml");
    assert_eq!(names(&["web.yaml", "--plugins", "/nonexistent.yaml"]), "nonexistent.yaml web.yaml");
    let single = ["w.yaml", "--component", "a.wasm", "--config", "@c.json", "--node", "n", "--others", "o"];
    assert_eq!(names(&single), "a.wasm c.json n o w.yaml");
    assert_eq!(names(&["w.yaml", "--component", "builtin:image-policy", "--config", "{}"]), "w.yaml");
    assert_eq!(names(&["--recording", "call.json"]), "call.json");
    for (words, expected) in [
        (&["w.yaml", "-"][..], true),
        (&["w.yaml", "--component", "a.wasm", "--config", "@-"], true),
        (&["w.yaml", "--others", "-"], true),
        (&["w.yaml"], false),
    ] {
        assert_eq!(has_standard_input(&args(words)), expected, "{words:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_file_that_is_written_replaced_made_or_removed_is_a_change() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (file, other) = (folder.path().join("web.yaml"), folder.path().join("new.yaml"));
    let write = |path: &Path, text: &str| std::fs::write(path, text).expect("written");
    write(&file, "1");
    let mut watch = FileWatch::new();
    let changes: [(&str, &dyn Fn()); 4] = [
        ("written", &|| write(&file, "22")),
        ("made", &|| write(&other, "1")),
        ("replaced", &|| std::fs::rename(&other, &file).expect("renamed")),
        ("removed", &|| std::fs::remove_file(&file).expect("removed")),
    ];
    for (what, change) in changes {
        watch.follow([file.clone(), other.clone()].into());
        change();
        let noticed = tokio::time::timeout(witlet_harness::WAIT_TIMEOUT, watch.changed()).await;
        assert!(noticed.is_ok(), "{what}");
    }
}
