//! What can be inspected.

use super::*;

#[test]
fn every_component_that_ships_is_inspected_by_its_name_and_others_are_named() {
    for builtin in shipped() {
        let path = PathBuf::from(format!("builtin:{}", builtin.name));
        let wasm = read(&path).expect("it ships");
        let inspection = inspect(&wasm).expect("it is a component");
        assert!(inspection.obstacles.is_empty(), "{}: {:?}", builtin.name, inspection.obstacles);
        assert!(for_people(&path, &inspection).starts_with(&format!("builtin:{}\n", builtin.name)));
    }
    let error = read(Path::new("builtin:nobody")).expect_err("nobody ships that");
    let words = error.to_string();
    assert!(words.starts_with("\"nobody\" isn't shipped; these are: sysctls, "), "{words}");
    assert!(words.ends_with(", http-bundle"), "{words}");
}
