//! What headers say of a WebSocket.

use hyper::{HeaderMap, header};

/// Whether a request wants to become one.
pub(super) fn is_websocket(headers: &HeaderMap) -> bool {
    let upgrade = headers.get(header::UPGRADE).and_then(|value| value.to_str().ok());
    upgrade.is_some_and(|upgrade| upgrade.eq_ignore_ascii_case("websocket"))
}

/// The values that name its protocols, each any number of them.
pub(super) fn protocols(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    headers.get_all(header::SEC_WEBSOCKET_PROTOCOL).iter().filter_map(|value| value.to_str().ok())
}
