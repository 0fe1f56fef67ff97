//! TLS bootstrap: a client certificate for a node that has only a bootstrap token.
