//! witlet-plugin-node-affinity
