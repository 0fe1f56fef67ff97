//! witlet-containerd
