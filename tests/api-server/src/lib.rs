//! A small API server for tests: in memory, in this process, with faults on demand.
#![forbid(unsafe_code)]

mod admin;
mod aggregated;
mod authority;
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
mod node_authorizer;
mod node_rules;
mod patch;
mod path;
mod prepare;
mod proxy;
mod quantity;
mod requests;
mod resources;
mod reviews;
mod selector;
mod serve;
mod server;
mod service_accounts;
mod signing;
mod store;
mod subresources;
mod tokens;
mod translate;
mod validate;
mod value;
mod watches;
pub mod webhook;
mod write;

pub use admin::Object;
pub use authority::Issued;
pub use error::{ApiError, Cause};
pub use faults::{Effect, Fault};
pub use identity::Identity;
pub use link::Moment;
pub use requests::Request;
pub use serve::Security;
pub use server::{Admission, ApiServer, Clock, Options};
pub use witlet_server::spdy;

#[cfg(test)]
mod tests;
