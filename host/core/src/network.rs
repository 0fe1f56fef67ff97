//! What a pod sees of its network: name servers, hosts file and host name.

use std::time::Duration;

pub use witlet_http_target::host_port;

pub mod dns;
pub mod hostname;
pub mod hosts;

/// How long a server asks to wait by this value of `Retry-After`. Only seconds count: like client-go's, and a date needs both clocks
/// to agree.
pub fn retry_after(value: &str) -> Option<Duration> {
    value.trim().parse().ok().map(Duration::from_secs)
}

#[cfg(test)]
mod tests {
    //! What a server's header asks for.

    use super::*;

    #[test]
    fn seconds_count_and_dates_do_not() {
        for (value, expected) in [
            ("0", Some(0)),
            (" 120 ", Some(120)),
            ("-1", None),
            ("1.5", None),
            ("", None),
            ("Wed, 21 Oct 2026 07:28:00 GMT", None),
        ] {
            assert_eq!(retry_after(value), expected.map(Duration::from_secs), "{value:?}");
        }
    }
}
