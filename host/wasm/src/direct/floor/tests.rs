//! The module is what it is said to be, and runs on the engines of all roles.

use super::{Floor, MODULE};
use crate::role::Role;

#[test]
fn the_module_writes_a_word_and_nothing_else() {
    let text = r#"(module (memory (export "memory") 1 1)
        (func (export "run") (i32.store (i32.const 8) (i32.const 1))))"#;
    assert_eq!(wat::parse_str(text).expect("it is correct"), MODULE);
}

#[tokio::test]
async fn the_module_runs_on_the_engine_of_each_role() {
    for role in [Role::Admission, Role::Probe, Role::PodSource] {
        let floor = Floor::new(role).expect("there is capacity for an engine");
        for _ in 0..3 {
            floor.call().await.expect("it does nothing wrong");
        }
    }
}
