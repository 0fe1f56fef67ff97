//! witlet-node
