//! A small API server for tests: in memory, in this process, with faults on demand.
#![forbid(unsafe_code)]
