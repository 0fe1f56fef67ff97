//! Addresses for pods: one of 127.88.0.0/16 for each, which Linux answers on without any set-up.

use std::collections::BTreeSet;
use std::io;
use std::net::Ipv4Addr;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

use thiserror::Error;

/// The first two bytes of every pod's address.
const NETWORK: [u8; 2] = [127, 88];
/// The network in the usual notation, for messages.
pub(crate) const NETWORK_NAME: &str = "127.88.0.0/16";
/// The first host part that is given out; 0 is the network itself.
const FIRST: u16 = 1;
/// The last host part that is given out; the one after it is the broadcast address.
const LAST: u16 = u16::MAX - 1;

/// No address could be given.
#[derive(Debug, Error)]
pub(crate) enum AddressError {
    /// Every address is taken.
    #[error("no free address in {NETWORK_NAME}")]
    Exhausted,
    /// The kernel refused the mark that keeps others away from the address.
    #[error("failed to claim {address}")]
    Claim {
        address: Ipv4Addr,
        /// What the kernel said.
        #[source]
        cause: io::Error,
    },
}

/// Whether an address belongs to some pod of an embedded runtime.
pub(crate) fn is_pod_address(address: Ipv4Addr) -> bool {
    host_part(address).is_some()
}

fn address_of(host: u16) -> Ipv4Addr {
    let [high, low] = host.to_be_bytes();
    Ipv4Addr::new(NETWORK[0], NETWORK[1], high, low)
}

fn host_part(address: Ipv4Addr) -> Option<u16> {
    let [first, second, high, low] = address.octets();
    let host = u16::from_be_bytes([high, low]);
    ([first, second] == NETWORK && (FIRST..=LAST).contains(&host)).then_some(host)
}

/// Which addresses are free. Going round instead of taking the lowest keeps a pod from getting the address that the
/// last one has just left, which its clients may still be talking to.
#[derive(Debug)]
pub(crate) struct AddressPool {
    taken: BTreeSet<u16>,
    next: u16,
}

impl Default for AddressPool {
    fn default() -> Self {
        Self { taken: BTreeSet::new(), next: FIRST }
    }
}

impl AddressPool {
    /// Takes a free address; `None` when there is none.
    pub(crate) fn take(&mut self) -> Option<Ipv4Addr> {
        let free = (self.next..=LAST).chain(FIRST..self.next).find(|host| !self.taken.contains(host))?;
        self.taken.insert(free);
        self.next = if free == LAST { FIRST } else { free + 1 };
        Some(address_of(free))
    }

    /// Gives an address back. One that isn't taken stays free.
    pub(crate) fn give_back(&mut self, address: Ipv4Addr) {
        if let Some(host) = host_part(address) {
            self.taken.remove(&host);
        }
    }
}

/// Holds an address against every other embedded runtime in the network namespace: the mark is an abstract unix
/// socket, which has the same scope as the address and goes away with the process, however it ends.
#[derive(Debug)]
pub(crate) struct Claim {
    address: Ipv4Addr,
    _mark: UnixListener,
}

impl Claim {
    /// The address.
    pub(crate) fn address(&self) -> Ipv4Addr {
        self.address
    }
}

fn mark(address: Ipv4Addr) -> io::Result<UnixListener> {
    UnixListener::bind_addr(&SocketAddr::from_abstract_name(format!("witlet/pod-address/{address}"))?)
}

/// Takes an address that no other runtime holds. Those that others hold are passed over, and may be had another time.
pub(crate) fn claim(pool: &mut AddressPool) -> Result<Claim, AddressError> {
    let mut passed_over = Vec::new();
    let claimed = loop {
        let Some(address) = pool.take() else { break Err(AddressError::Exhausted) };
        match mark(address) {
            Ok(mark) => break Ok(Claim { address, _mark: mark }),
            Err(cause) => {
                passed_over.push(address);
                if cause.kind() != io::ErrorKind::AddrInUse {
                    break Err(AddressError::Claim { address, cause });
                }
            }
        }
    };
    passed_over.into_iter().for_each(|address| pool.give_back(address));
    claimed
}

#[cfg(test)]
mod tests;
