//! witlet-test-guests
