//! What a pod sees of its network: name servers, hosts file and host name.

pub mod dns;
pub mod hostname;
pub mod hosts;
