//! The connection to the API server: credentials, TLS, deadlines, request rate.
