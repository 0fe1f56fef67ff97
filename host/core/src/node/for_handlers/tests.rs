//! What handlers see next to the machine's own facts.

use jiff::Timestamp;

use super::*;
use crate::node::conditions::{Pressures, pressures_of, set_pressures};

#[test]
fn handlers_see_the_machine_with_what_the_agent_knows() {
    let (machine, mut agent) = (Arc::new(NodeFacts::default()), Node::default());
    let plain = for_handlers(&machine, &agent, ObservedNode::default());
    assert!(Arc::ptr_eq(&plain, &machine), "nothing is copied where nothing is known");
    let pressures = Pressures { memory: Some(true), disk: Some(false), pid: Some(false) };
    let conditions = agent.status.get_or_insert_default().conditions.get_or_insert_default();
    set_pressures(conditions, pressures, Timestamp::UNIX_EPOCH);
    let observed =
        ObservedNode { used: Arc::new([("memory".to_owned(), 5)].into()), ..ObservedNode::default() };
    let seen = for_handlers(&machine, &agent, observed.clone());
    assert_eq!((pressures_of(&seen.node), &seen.observed), (pressures, &observed));
    assert_eq!(for_handlers(&seen, &agent, ObservedNode::default()).observed, ObservedNode::default());
}
