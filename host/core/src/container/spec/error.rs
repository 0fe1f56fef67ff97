//! Why a spec can't be turned into something that the runtime can make.

use thiserror::Error;

use super::env::{ALL_BYTES_MAX, EnvFileProblem, TEXT_BYTES_MAX};
use crate::network::dns::ResolvConfError;
use crate::network::hostname::HostnameError;
use crate::pod::fields::FieldError;

/// Why a spec can't be turned into something that the runtime can make.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum SpecError {
    /// An environment variable asks for what the pod doesn't have.
    #[error("environment variable {variable} of container {container}")]
    Field {
        container: String,
        variable: String,
        #[source]
        cause: FieldError,
    },
    /// A config map or secret doesn't exist, and isn't optional.
    #[error("{kind} {name:?} not found")]
    NoObject {
        /// `configmap` or `secret`.
        kind: &'static str,
        name: String,
    },
    /// A config map or secret doesn't have a key, which isn't optional.
    #[error("couldn't find key {key} in {kind} {namespace}/{name}")]
    NoKey {
        /// `ConfigMap` or `Secret`.
        kind: &'static str,
        namespace: String,
        name: String,
        key: String,
    },
    /// A secret's value can't be a variable's.
    #[error("key {key} of secret {secret} is not UTF-8")]
    NotText { secret: String, key: String },
    /// A variable can't be had from a file.
    #[error("environment file {path} of volume {volume}")]
    EnvFile {
        volume: String,
        path: String,
        #[source]
        problem: EnvFileProblem,
    },
    /// The spec uses something that this release doesn't do.
    #[error("{field} is not supported by this release")]
    Unsupported {
        /// Path of the field in the pod.
        field: String,
    },
    /// A text is longer, with its variables, than a process can be given.
    #[error("container {container}: {text} is longer than {TEXT_BYTES_MAX} bytes")]
    TooLong { container: String, text: String },
    /// Its texts are, with their variables, more than a process can be given.
    #[error(
        "container {container}: variables, command and arguments come to more than {ALL_BYTES_MAX} bytes together"
    )]
    TooMuch { container: String },
    /// A port isn't one.
    #[error("container {container}: port {port} is not between 1 and 65535")]
    Port { container: String, port: i32 },
    /// `hostIP` of a port isn't an address.
    #[error("container {container}: hostIP {ip:?} is not an IP address")]
    HostIp { container: String, ip: String },
    /// The seccomp profile can't be used.
    #[error("seccomp profile of container {container}: {problem}")]
    Seccomp {
        container: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The AppArmor profile can't be used.
    #[error("AppArmor profile of container {container}: {problem}")]
    AppArmor {
        container: String,
        /// What is wrong with it.
        problem: String,
    },
    /// `runAsNonRoot` forbids it, in upstream's words.
    #[error("{problem} (pod: {pod:?}, container: {container})")]
    RunAsRoot {
        container: String,
        /// The pod as upstream names it: `name_namespace(uid)`.
        pod: String,
        /// Whose root it would be.
        problem: String,
    },
    /// A quantity isn't one.
    #[error("container {container}: {resource} {quantity:?} is not a quantity")]
    Quantity {
        container: String,
        /// Such as `limits.memory`.
        resource: String,
        quantity: String,
    },
    /// The pod's machine can't be named as it asks.
    #[error(transparent)]
    Hostname(#[from] HostnameError),
    /// The host's resolv.conf is no good.
    #[error(transparent)]
    ResolvConf(#[from] ResolvConfError),
    /// No one knows the pod's runtime class.
    #[error("runtimeclass.node.k8s.io {name:?} not found")]
    RuntimeClass { name: String },
    /// The pod wants ids of its own, and none are left, in upstream's words.
    #[error("create user namespace: could not find an empty slot to allocate a user namespace")]
    NoUserNamespace,
    /// The pod wants ids of its own, and its runtime can't give containers any, in upstream's words.
    #[error("can't set `spec.hostUsers: false`, {} does not support user namespaces{}", of_handler(handler),
        if *is_unknown { format!(": the handler {handler:?} is not known") } else { String::new() })]
    NoUserNamespaces {
        /// The handler of its runtime class; empty is the default one.
        handler: String,
        /// The runtime names its handlers, and this one isn't among them.
        is_unknown: bool,
    },
}

fn of_handler(handler: &str) -> String {
    match handler {
        "" => "runtime".to_owned(),
        name => format!("RuntimeClass handler {name:?}"),
    }
}
