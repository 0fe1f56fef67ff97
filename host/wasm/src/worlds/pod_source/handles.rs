//! What guests hold of a call to a pod source, whatever version of the contract they were built against.

/// Where a source says what it thinks of its configuration. It is lent for the call alone.
#[derive(Debug)]
#[allow(unreachable_pub, reason = "the generated bindings re-export it")]
pub struct SetupHandle;
/// Where a source says what it has. It is lent for the call alone.
#[derive(Debug)]
#[allow(unreachable_pub, reason = "the generated bindings re-export it")]
pub struct AnswerHandle;
/// The news of the call. They are lent for the call alone.
#[derive(Debug)]
#[allow(unreachable_pub, reason = "the generated bindings re-export it")]
pub struct NewsHandle;

/// One of the news, in the store's table. Its number is that of the call, so that one which a warm guest kept is noticed.
#[derive(Debug)]
#[allow(unreachable_pub, reason = "the generated bindings re-export it")]
pub struct ChangePart {
    pub(super) serial: u32,
    pub(super) index: usize,
}
