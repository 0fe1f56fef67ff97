//! witlet-plugin-node-resources
