//! What leaves the node for a guest or a hook: what was granted, names, connections, TLS and HTTP.
//!
//! A [`Reach`] says what one call may connect to; an [`Egress`] resolves names, connects and sends within it.
#![forbid(unsafe_code)]

mod connect;
mod download;
mod egress;
mod error;
pub mod grant;
mod hook;
pub mod http;
mod material;
pub mod name;
mod namespace;
pub mod reach;
pub mod resolve;
pub mod secret;
mod special;
mod stream;
#[cfg(test)]
mod testing;
mod tls;

pub use connect::ConnectError;
pub use download::{
    DOWNLOAD_TIME_MAX, Download, DownloadError, DownloadUrl, DownloadUrlError, Downloaded, REDIRECTS_MAX,
    RedirectError, Validators,
};
pub use egress::Egress;
pub use error::LookupError;
pub use grant::{GrantError, NetworkGrant, TlsPolicy};
pub use hook::HttpHooks;
pub use http::{BodyError, RequestError, ResponseBody, SendError, SendLimits};
pub use material::{NamedPem, TlsMaterial};
pub use namespace::LoopbackError;
pub use reach::Reach;
pub use resolve::{Resolve, ResolveError, SystemResolver};
pub use secret::{SecretError, read_secret};
pub use stream::{Connection, READ_BYTES_MAX, StreamError};
pub use tls::{AuthorityError, ClientCertificateError, TlsError};
