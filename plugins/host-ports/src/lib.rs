//! witlet-plugin-host-ports
