//! The services of the cluster, for the environment of containers.
