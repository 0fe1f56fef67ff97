//! Mirror pods: what the API shows of static pods.
