//! Clients of a node's streams: SPDY and WebSockets by hand, and kubectl.

pub mod http;
pub mod kubectl;
pub mod spdy;
pub mod websocket;
