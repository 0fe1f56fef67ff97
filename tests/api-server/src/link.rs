//! Whether the server can be reached, and whether it answers.

use tokio::sync::watch;

/// The state of the connection to all clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Link {
    /// Nothing can be reached.
    pub(crate) is_down: bool,
    /// Everything hangs.
    pub(crate) is_held: bool,
    /// Watches of earlier rounds end.
    pub(crate) round: u64,
}

/// Waits until the server goes down.
pub(crate) async fn down(mut link: watch::Receiver<Link>) {
    if link.wait_for(|link| link.is_down).await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// When the kill hook holds the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Before the request did anything.
    Before,
    /// After the request did what it asks for, before its answer.
    After,
}

/// From which request on everything hangs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hold {
    pub(crate) n: u64,
    pub(crate) moment: Moment,
}
