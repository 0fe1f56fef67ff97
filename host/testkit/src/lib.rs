//! witlet-testkit
