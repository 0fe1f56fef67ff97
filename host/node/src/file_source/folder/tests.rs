//! The folder's rules as a script of checks and what they lead to.

use super::*;

fn manifest(name: &str, image: &str) -> FileState {
    let text = format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}}}\nspec: {{containers: [{{name: a, image: '{image}'}}]}}\n"
    );
    FileState::Content(text.into_bytes())
}

fn broken() -> FileState {
    FileState::Content(b"kind: Pod\n  x".to_vec())
}

fn files(states: &[(&str, FileState)]) -> Listing {
    Listing::Files(states.iter().map(|(path, state)| ((*path).to_owned(), state.clone())).collect())
}

struct Script(Folder);

impl Script {
    fn new() -> Self {
        Self(Folder::new(SourceName::file(), "n".into(), "/pods".into()))
    }

    /// The set as `name image`, or `-` for no new set; then the places and reasons reported.
    fn scan(&mut self, listing: Listing) -> (String, Vec<String>) {
        let outcome = self.0.observe(listing);
        let pods = outcome.pods.map_or("-".to_owned(), |pods| {
            let shown = pods.iter().map(|pod| {
                let image = pod.spec.as_ref().and_then(|spec| spec.containers[0].image.clone());
                format!("{} {}", PodFullName::of(pod).name, image.unwrap_or_default())
            });
            shown.collect::<Vec<_>>().join(", ")
        });
        let reports =
            outcome.reports.iter().map(|report| format!("{} {}", report.place, report.reason.as_str()));
        (pods, reports.collect())
    }

    #[track_caller]
    fn expect(&mut self, listing: Listing, pods: &str, reports: &[&str]) {
        let found = self.scan(listing);
        assert_eq!((found.0.as_str(), found.1), (pods, reports.iter().map(ToString::to_string).collect()));
    }
}

#[test]
fn sets_are_sent_when_they_change_and_only_then() {
    let mut script = Script::new();
    script.expect(files(&[]), "", &[]);
    script.expect(files(&[]), "-", &[]);
    script.expect(files(&[("/b", manifest("b", "1")), ("/a", manifest("a", "1"))]), "a-n 1, b-n 1", &[]);
    script.expect(files(&[("/a", FileState::Unchanged), ("/b", FileState::Unchanged)]), "-", &[]);
    script.expect(files(&[("/a", manifest("a", "1")), ("/b", FileState::Unchanged)]), "-", &[]);
    script.expect(files(&[("/a", manifest("a", "2")), ("/b", FileState::Unchanged)]), "a-n 2, b-n 1", &[]);
    script.expect(files(&[("/b", FileState::Unchanged)]), "b-n 1", &[]);
}

#[test]
fn a_comment_is_no_change() {
    let mut script = Script::new();
    let FileState::Content(mut bytes) = manifest("a", "1") else { unreachable!("content") };
    script.expect(files(&[("/a", FileState::Content(bytes.clone()))]), "a-n 1", &[]);
    bytes.extend_from_slice(b"# a comment\n");
    script.expect(files(&[("/a", FileState::Content(bytes))]), "-", &[]);
}

#[test]
fn a_broken_file_is_reported_once_and_keeps_its_last_good_pods() {
    let mut script = Script::new();
    script.expect(files(&[("/a", manifest("a", "1")), ("/b", manifest("b", "1"))]), "a-n 1, b-n 1", &[]);
    script.expect(
        files(&[("/a", broken()), ("/b", manifest("b", "2"))]),
        "a-n 1, b-n 2",
        &["/a InvalidManifest"],
    );
    script.expect(files(&[("/a", FileState::Unchanged), ("/b", FileState::Unchanged)]), "-", &[]);
    script.expect(files(&[("/a", broken()), ("/b", FileState::Unchanged)]), "-", &[]);
    let other = FileState::Content(b"kind: Other\napiVersion: v1\n".to_vec());
    script.expect(files(&[("/a", other), ("/b", FileState::Unchanged)]), "-", &["/a InvalidManifest"]);
    script.expect(files(&[("/a", manifest("a", "3")), ("/b", FileState::Unchanged)]), "a-n 3, b-n 2", &[]);
    script.expect(files(&[("/a", broken()), ("/b", FileState::Unchanged)]), "-", &["/a InvalidManifest"]);
    script.expect(files(&[("/b", FileState::Unchanged)]), "b-n 2", &[]);
}

#[test]
fn a_set_is_complete_once_every_file_was_understood() {
    let mut folder = Script::new().0;
    let mut scan = |states: &[(&str, FileState)]| {
        let outcome = folder.observe(files(states));
        (outcome.pods.map(|pods| pods.len()), outcome.complete)
    };
    assert_eq!(scan(&[("/a", broken()), ("/b", manifest("b", "1"))]), (Some(1), false));
    assert_eq!(scan(&[("/a", broken()), ("/b", broken())]), (None, false));
    assert_eq!(scan(&[("/a", manifest("a", "1")), ("/b", broken())]), (Some(2), true));
    assert_eq!(scan(&[("/a", broken()), ("/b", broken())]), (None, true));
    assert_eq!(scan(&[("/a", broken()), ("/c", broken())]), (Some(1), false));
    assert_eq!(scan(&[("/a", broken())]), (Some(1), true));
}

#[test]
fn a_file_cut_short_removes_nothing() {
    let mut script = Script::new();
    script.expect(files(&[("/a", manifest("a", "1"))]), "a-n 1", &[]);
    script.expect(files(&[("/a", FileState::Content(Vec::new()))]), "-", &["/a InvalidManifest"]);
    script.expect(files(&[("/a", manifest("a", "1"))]), "-", &[]);
}

#[test]
fn an_unreadable_file_keeps_its_pods_and_is_read_when_it_can_be() {
    let mut script = Script::new();
    script.expect(files(&[("/a", manifest("a", "1"))]), "a-n 1", &[]);
    let unreadable = FileState::Unreadable("no".into());
    script.expect(files(&[("/a", unreadable.clone())]), "-", &["/a FailedRead"]);
    script.expect(files(&[("/a", unreadable)]), "-", &[]);
    script.expect(files(&[("/a", manifest("a", "1"))]), "-", &[]);
    assert_eq!(script.0.reported.len(), 0);
}

#[test]
fn a_missing_folder_is_an_empty_set_and_one_that_comes_later_is_taken_up() {
    let mut script = Script::new();
    script.expect(Listing::Missing, "", &["/pods FailedRead"]);
    script.expect(Listing::Missing, "-", &[]);
    script.expect(files(&[("/a", manifest("a", "1"))]), "a-n 1", &[]);
    script.expect(Listing::Missing, "", &["/pods FailedRead"]);
}

#[test]
fn a_folder_that_cannot_be_listed_changes_nothing() {
    let mut script = Script::new();
    script.expect(Listing::Unreadable("no".into()), "-", &["/pods FailedRead"]);
    script.expect(files(&[("/a", manifest("a", "1"))]), "a-n 1", &[]);
    script.expect(Listing::Unreadable("no".into()), "-", &["/pods FailedRead"]);
    script.expect(Listing::Unreadable("no".into()), "-", &[]);
    script.expect(files(&[("/a", FileState::Unchanged)]), "-", &[]);
}

#[test]
fn a_broken_file_is_not_reported_again_after_its_folder_was_unreadable() {
    let mut script = Script::new();
    script.expect(files(&[("/a", broken())]), "", &["/a InvalidManifest"]);
    script.expect(Listing::Unreadable("no".into()), "-", &["/pods FailedRead"]);
    script.expect(files(&[("/a", FileState::Unchanged)]), "-", &[]);
}

#[test]
fn of_two_files_with_one_pod_the_first_by_path_wins_until_it_goes() {
    let mut script = Script::new();
    let both = files(&[("/b", manifest("web", "b")), ("/a", manifest("web", "a"))]);
    script.expect(both.clone(), "web-n a", &["/b FailedValidation"]);
    script.expect(both, "-", &[]);
    script.expect(files(&[("/b", FileState::Unchanged)]), "web-n b", &[]);
    script.expect(
        files(&[("/a", manifest("web", "a")), ("/b", FileState::Unchanged)]),
        "web-n a",
        &["/b FailedValidation"],
    );
}

#[test]
fn what_is_no_file_is_reported_once_and_takes_the_pods_of_the_file_it_was() {
    let mut script = Script::new();
    script.expect(files(&[("/a", manifest("a", "1"))]), "a-n 1", &[]);
    let odd = files(&[("/a", FileState::NoFile("is a pipe"))]);
    script.expect(odd.clone(), "", &["/a NotAFile"]);
    script.expect(odd.clone(), "-", &[]);
    assert!(script.0.observe(odd).complete, "there is nothing more to know of it");
    script.expect(files(&[("/a", manifest("a", "1"))]), "a-n 1", &[]);
}

#[test]
fn a_file_that_was_removed_and_is_there_again_was_gone_in_between() {
    let mut folder = Script::new().0;
    let names = |pods: Option<Vec<Arc<Pod>>>| {
        pods.map(|pods| pods.iter().map(|pod| PodFullName::of(pod).name.to_string()).collect::<Vec<_>>())
    };
    let mut scan = |removed: &[&str], listing: Listing| {
        let removed = removed.iter().map(|name| (*name).to_owned()).collect();
        let outcome = folder.observe_after(&removed, listing);
        (names(outcome.between), names(outcome.pods))
    };
    let set = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
    let (a, b) = (manifest("a", "1"), ("/b", FileState::Unchanged));
    let both = || files(&[("/a", a.clone()), ("/b", manifest("b", "1"))]);
    assert_eq!(scan(&["/a"], both()), (None, set(&["a-n", "b-n"])), "it was never seen");
    let again = || files(&[("/a", a.clone()), b.clone()]);
    assert_eq!(scan(&[], again()), (None, None), "it was replaced by renaming");
    assert_eq!(scan(&["/a", "/c"], again()), (set(&["b-n"]), set(&["a-n", "b-n"])));
    let unchanged = || files(&[("/a", FileState::Unchanged), b.clone()]);
    assert_eq!(scan(&["/a"], unchanged()), (None, None), "that was taken in before");
    assert_eq!(scan(&[], again()), (None, None), "it was read before its removal is known");
    assert_eq!(scan(&["/a"], unchanged()), (set(&["b-n"]), set(&["a-n", "b-n"])));
    let changed = files(&[("/a", manifest("a", "2")), b.clone()]);
    assert_eq!(scan(&["/a"], changed), (None, set(&["a-n", "b-n"])), "it is another pod");
    assert_eq!(scan(&["/a"], unchanged()), (None, None), "that one was never gone");
    assert_eq!(scan(&["/a"], files(std::slice::from_ref(&b))), (None, set(&["b-n"])));
    assert_eq!(scan(&["/b"], Listing::Missing), (None, set(&[])));
}

#[test]
fn a_pod_says_when_it_was_seen_first_until_its_file_goes() {
    let mut folder = Script::new().0;
    let time = |second: i64| Timestamp::from_second(second).expect("in range");
    let mut seen = |second: i64, removed: &[&str], listing: Listing| {
        folder.note_time(time(second));
        let outcome = folder.observe_after(&removed.iter().map(|name| (*name).to_owned()).collect(), listing);
        let at = |pod: &Arc<Pod>| first_seen(pod).map(str::to_owned);
        outcome.pods.map(|pods| pods.iter().filter_map(at).collect::<Vec<_>>())
    };
    let at =
        |seconds: &[i64]| Some(seconds.iter().map(|second| time(*second).to_string()).collect::<Vec<_>>());
    let (a, b) = (manifest("a", "1"), manifest("b", "1"));
    assert_eq!(seen(1, &[], files(&[("/a", a.clone())])), at(&[1]));
    let comment = FileState::Content([&bytes_of(&a)[..], b"\n\n"].concat());
    assert_eq!(seen(2, &[], files(&[("/a", comment.clone())])), None, "it means the same");
    assert_eq!(seen(3, &[], files(&[("/a", FileState::Unchanged), ("/b", b)])), at(&[1, 3]));
    let both = || files(&[("/a", comment.clone()), ("/b", FileState::Unchanged)]);
    assert_eq!(seen(4, &["/a"], both()), at(&[4, 3]), "it starts over");
    let other = files(&[("/a", manifest("a", "2")), ("/b", FileState::Unchanged)]);
    assert_eq!(seen(5, &[], other), at(&[5, 3]), "it is another pod");
}

fn bytes_of(state: &FileState) -> Vec<u8> {
    match state {
        FileState::Content(bytes) => bytes.clone(),
        other => panic!("no content: {other:?}"),
    }
}
