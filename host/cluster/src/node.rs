//! The node object: registration and status.
