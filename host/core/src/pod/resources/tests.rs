//! Resources, host ports and classes of service.
