//! Which cases are carried out.

use super::*;

#[test]
fn cases_are_chosen_by_their_names() {
    let all = ["one", "two", "three"];
    let of = |names: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        chosen(&all, &names, |name| name)
    };
    assert_eq!(of(&[]), Ok(all.to_vec()));
    // In the files' order, each once.
    assert_eq!(of(&["three", "one", "three"]), Ok(vec!["one", "three"]));
    assert_eq!(of(&["one", "four"]), Err(Some("four".to_owned())));
    assert_eq!(chosen::<&str>(&[], &[], |name| name), Err(None));
}
