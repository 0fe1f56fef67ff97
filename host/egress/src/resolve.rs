//! Names to addresses: the node's own resolver, on a bounded number of threads.

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use thiserror::Error;
use tokio::sync::Semaphore;

use crate::name::HostName;

#[cfg(test)]
mod tests;

/// How many names are looked up at the same time. A name server that is silent holds a lookup, and with it one of the
/// threads that all work on the disk shares, for half a minute: long after its caller gave up.
pub const LOOKUPS_MAX: usize = 16;
/// How many of them one plugin may have, so that no one's silent name servers keep others waiting.
pub const LOOKUPS_SHARE: usize = 4;
/// So long a lookup is waited for.
pub const LOOKUP_TIME_MAX: Duration = Duration::from_secs(10);
/// So many addresses of a name are used.
pub const ADDRESSES_MAX: usize = 16;

/// A name without addresses.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ResolveError {
    /// The resolver says that there are none, or can't say, in its words.
    #[error("lookup {name}: {words}")]
    Failed {
        name: String,
        /// What the resolver says.
        words: String,
    },
    /// No answer in time.
    #[error("lookup {name}: no answer in time")]
    Timeout { name: String },
}

/// Resolves names.
#[async_trait]
pub trait Resolve: Send + Sync {
    /// The name's addresses in the order of preference. May be waited for in vain.
    async fn resolve(&self, name: &HostName) -> Result<Vec<IpAddr>, ResolveError>;
}

/// The resolver of the node: `/etc/hosts`, name servers, search domains, whatever its `nsswitch.conf` says.
#[derive(Clone, Debug)]
pub struct SystemResolver {
    /// Permits for all lookups.
    all: Arc<Semaphore>,
    /// Capacity for one plugin's.
    own: Arc<Semaphore>,
}

impl SystemResolver {
    /// One for the node.
    pub fn new() -> Self {
        Self::with_capacity(LOOKUPS_MAX, LOOKUPS_SHARE)
    }

    /// The same with a share of its own, for one more plugin.
    pub fn share(&self) -> Self {
        Self { all: self.all.clone(), own: Arc::new(Semaphore::new(LOOKUPS_SHARE)) }
    }

    fn with_capacity(all: usize, own: usize) -> Self {
        Self { all: Arc::new(Semaphore::new(all)), own: Arc::new(Semaphore::new(own)) }
    }

    /// Looks up a name next to the async threads, once there is capacity. It is taken until the lookup has really
    /// ended, whether a caller still waits for it or not.
    async fn on_own_thread<T: Send + 'static>(
        &self,
        look_up: impl FnOnce() -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        let own = self.own.clone().acquire_owned().await.map_err(io::Error::other)?;
        let all = self.all.clone().acquire_owned().await.map_err(io::Error::other)?;
        let inspecting = tokio::task::spawn_blocking(move || {
            let _capacity = (own, all);
            look_up()
        });
        inspecting.await.map_err(io::Error::other)?
    }
}

impl SystemResolver {
    /// Resolves the name by this function, which may block.
    async fn resolve_by<A>(
        &self,
        name: &HostName,
        look_up: impl FnOnce() -> io::Result<A> + Send + 'static,
    ) -> Result<Vec<IpAddr>, ResolveError>
    where
        A: Iterator<Item = SocketAddr> + Send + 'static,
    {
        match tokio::time::timeout(LOOKUP_TIME_MAX, self.on_own_thread(look_up)).await {
            Ok(Ok(found)) => {
                let mut addresses = Vec::new();
                for ip in found.map(|found| found.ip()) {
                    if !addresses.contains(&ip) && addresses.len() < ADDRESSES_MAX {
                        addresses.push(ip);
                    }
                }
                Ok(addresses)
            }
            Ok(Err(error)) => Err(ResolveError::Failed { name: name.to_string(), words: words(&error) }),
            Err(_) => Err(ResolveError::Timeout { name: name.to_string() }),
        }
    }
}

impl Default for SystemResolver {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait]
impl Resolve for SystemResolver {
    async fn resolve(&self, name: &HostName) -> Result<Vec<IpAddr>, ResolveError> {
        let asked = name.as_str().to_owned();
        self.resolve_by(name, move || (asked.as_str(), 0).to_socket_addrs()).await
    }
}

/// The resolver's words without what the library says before them.
fn words(error: &io::Error) -> String {
    let text = error.to_string();
    text.strip_prefix("failed to lookup address information: ").unwrap_or(&text).to_owned()
}
