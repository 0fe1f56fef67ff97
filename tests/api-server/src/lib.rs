//! A small API server for tests: in memory, in this process, with faults on demand.
#![forbid(unsafe_code)]

mod admin;
mod canonical;
mod client;
mod defaults;
mod delete;
mod discovery;
mod dispatch;
mod error;
mod events;
mod faults;
mod identity;
mod link;
mod lists;
mod node_rules;
mod patch;
mod path;
mod prepare;
mod quantity;
mod requests;
mod resources;
mod selector;
mod server;
mod service_accounts;
mod store;
mod subresources;
mod tokens;
mod validate;
mod value;
mod watches;
mod write;

pub use admin::Object;
pub use error::{ApiError, Cause};
pub use faults::{Effect, Fault};
pub use identity::Identity;
pub use link::Moment;
pub use requests::Request;
pub use server::{Admission, ApiServer, Clock, Options};

#[cfg(test)]
mod tests;
