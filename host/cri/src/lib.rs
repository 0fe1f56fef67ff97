//! witlet-cri
