//! Events to the API: correlated, rate limited, sent one after the other.
