//! Pods of this node, from the API server: the source named `api`.
