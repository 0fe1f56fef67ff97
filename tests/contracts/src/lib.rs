//! witlet-contracts
