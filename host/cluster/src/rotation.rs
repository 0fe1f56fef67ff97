//! Client certificates that are renewed before they end.
