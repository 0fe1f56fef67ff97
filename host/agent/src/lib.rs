//! witlet-agent
