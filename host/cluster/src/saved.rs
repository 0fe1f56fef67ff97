//! The last set of pods on disk, for a start without an API server.
