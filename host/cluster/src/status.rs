//! The status manager: what the agent knows of pods, written to the API server.
