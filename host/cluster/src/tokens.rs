//! Service account tokens for pods, refreshed before they end.
