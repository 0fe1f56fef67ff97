//! The node's lease in `kube-node-lease`.
