//! witlet-proto
