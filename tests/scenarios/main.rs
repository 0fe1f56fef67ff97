//! The whole agent on recording fakes and paused time: the scenarios that every world plays, and what only fakes can
//! show. Expected logs are the runtime's orders: seconds since the beginning, action, object.

mod admission;
mod contracts;
mod everywhere;
mod executor;
mod images;
mod lifecycle;
mod loop_health;
mod restarts;
mod support;
