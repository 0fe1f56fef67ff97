//! no-latest-tag
