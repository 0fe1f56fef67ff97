//! The source on folders of a disk.

use witlet_plugin_sdk::source::Snapshot;

use super::*;

fn config(folder: &Path) -> Config {
    Config { folder: Some(folder.to_owned()), ..Config::default() }
}

/// The names of the pods, or the error.
fn poll(config: &Config) -> Result<Vec<String>, String> {
    let poll = Compose::poll(None, config).map_err(|error| format!("{}: {}", error.reason, error.message))?;
    let pods = match poll.snapshot {
        Snapshot::Pods(pods) => pods,
        Snapshot::Empty => Vec::new(),
        Snapshot::Unchanged => return Err("unchanged".to_owned()),
    };
    let name = |pod: String| {
        let pod: serde_json::Value = serde_json::from_str(&pod).expect("JSON");
        pod["metadata"]["name"].as_str().expect("a name").to_owned()
    };
    Ok(pods.into_iter().map(name).collect())
}

#[test]
fn files_of_a_folder_are_projects_and_so_are_the_folders_in_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |path: &str, text: &str| fs::write(folder.path().join(path), text).expect("written");
    assert_eq!(poll(&config(folder.path())), Ok(Vec::new()), "an empty folder has no pods");
    write("blog.yaml", "services: {web: {image: a}}");
    write(".hidden.yaml", "nonsense");
    write("notes.txt", "nonsense");
    fs::create_dir(folder.path().join("shop")).expect("made");
    write("shop/compose.yml", "services: {web: {image: a}, db: {image: b}}");
    fs::create_dir(folder.path().join("empty")).expect("made");
    let names = ["blog-web", "shop-db", "shop-web"].map(str::to_owned).to_vec();
    assert_eq!(poll(&config(folder.path())), Ok(names));
    let one = Config { files: vec![folder.path().join("blog.yaml")], ..Config::default() };
    assert_eq!(poll(&one), Ok(vec!["blog-web".to_owned()]));
}

#[test]
fn one_bad_file_is_an_error_that_names_it_and_never_half_of_the_pods() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    fs::write(path("good.yaml"), "services: {web: {image: a}}").expect("written");
    fs::write(path("worse.yaml"), "services: {web: {image: a, build: .}}").expect("written");
    let expected = format!("Invalid: {}: service web: build isn't supported", path("worse.yaml").display());
    assert_eq!(poll(&config(folder.path())), Err(expected));
    fs::write(path("worse.yaml"), "name: good\nservices: {web: {image: a}}").expect("written");
    let error = poll(&Config { namespace: Some("n".to_owned()), ..config(folder.path()) });
    assert!(error.is_err_and(|error| error.contains("pod n/good-web is in")));
    fs::write(path("worse.yaml"), "#".repeat(1024 * 1024 + 1)).expect("written");
    assert!(poll(&config(folder.path())).is_err_and(|error| error.contains("more than 1048576 bytes")));
    fs::write(path("worse.yaml"), [0xff]).expect("written");
    assert!(poll(&config(folder.path())).is_err_and(|error| error.ends_with("is no text")));
}

#[test]
fn what_cannot_be_read_is_not_taken_for_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let missing = folder.path().join("missing");
    assert!(poll(&config(&missing)).is_err_and(|error| error.starts_with("Unavailable: ")));
    let one = Config { files: vec![missing], ..Config::default() };
    assert!(poll(&one).is_err_and(|error| error.starts_with("Unavailable: ")));
}

#[test]
fn many_problems_are_cut() {
    let error = invalid((0..50).map(|n| n.to_string()).collect());
    assert!(error.message.ends_with("19; and 30 more problems"));
}

#[test]
fn configurations_that_make_no_sense_are_refused() {
    let validate = |config: &Config| Compose::validate(config).map_err(|error| error.to_string());
    assert!(validate(&config(Path::new("/compose"))).is_ok());
    assert_eq!(validate(&Config::default()), Err("folder: one of folder and files is required".to_owned()));
    let both = Config { files: vec!["/a".into()], ..config(Path::new("/compose")) };
    assert!(validate(&both).is_err());
    assert_eq!(validate(&config(Path::new("compose"))), Err("path: compose isn't absolute".to_owned()));
}
