//! The config maps and secrets that pods of this node use, watched one by one.
