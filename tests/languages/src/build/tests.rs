//! Building, with a project whose Makefile needs no tools.

use std::collections::BTreeMap;
use std::path::Path;

use witlet_templates::Language;

use super::{BuildError, Toolchain, end_of};
use crate::project::Project;

fn toolchain(output: &Path) -> Toolchain {
    Toolchain::of_test(Language::C, output)
}

fn project(makefile: &str) -> Project {
    let files = BTreeMap::from([("Makefile".to_owned(), (makefile.as_bytes().to_vec(), false))]);
    Project { language: Language::C, name: "plugin".to_owned(), files, in_place: None, cases: None }
}

const WITLET: &str = "/bin/witlet";
const GOOD: &str = "build:\n\techo built >> plugin.wasm\ntest:\n\techo $(WITLET) with $(TOOLS)\n";

#[test]
fn the_same_files_are_built_once() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let toolchain = toolchain(folder.path());
    let first = toolchain.build(&project(GOOD), Path::new(WITLET)).expect("it builds");
    let second = toolchain.build(&project(GOOD), Path::new(WITLET)).expect("it builds");
    assert_eq!((first.kept, second.kept), (false, true));
    assert_eq!(std::fs::read_to_string(&second.component).expect("a component"), "built\n");
    let other =
        toolchain.build(&project(&format!("{GOOD}# changed\n")), Path::new(WITLET)).expect("it builds");
    assert!(!other.kept && other.component != first.component);
}

#[test]
fn a_project_that_failed_is_built_again() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let toolchain = toolchain(folder.path());
    for _ in 0..2 {
        let error = toolchain
            .build(&project("build:\n\techo of no use\n\tfalse\n"), Path::new(WITLET))
            .expect_err("it fails");
        assert!(
            matches!(&error, BuildError::Failed { output, .. } if output.contains("of no use")),
            "{error}"
        );
    }
    let error = toolchain.build(&project("build:\n"), Path::new(WITLET)).expect_err("it makes nothing");
    assert!(matches!(error, BuildError::NoComponent { .. }), "{error}");
}

#[test]
fn its_tests_get_the_witlet_and_the_tools() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let toolchain = toolchain(folder.path());
    let built = toolchain.build(&project(GOOD), Path::new(WITLET)).expect("it builds");
    let printed = toolchain.test(&built, Path::new(WITLET)).expect("its tests pass");
    assert!(printed.contains("/bin/witlet with ") && !printed.contains("with \n"), "{printed}");
}

#[test]
fn the_end_of_an_output_begins_with_a_line() {
    assert_eq!(end_of("one\ntwo\nthree", 100), "one\ntwo\nthree");
    assert_eq!(end_of("one\ntwo\nthree", 8), "three");
    assert_eq!(end_of("ääää", 3), "ä");
}
