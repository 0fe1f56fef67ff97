//! Words of the contract. They are open: hosts may have more than this SDK knows.

use std::fmt;

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$about:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$about])* $variant,)+
            /// A word that this SDK doesn't know: treat it as your policy demands.
            Other(String),
        }

        impl $name {
            /// All that this SDK knows.
            pub fn known() -> Vec<Self> {
                vec![$(Self::$variant),+]
            }

            /// The contract's word.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $word,)+
                    Self::Other(word) => word,
                }
            }
        }

        impl From<String> for $name {
            fn from(word: String) -> Self {
                match word.as_str() {
                    $($word => Self::$variant,)+
                    _ => Self::Other(word),
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

words! {
    /// What is about to happen to a pod.
    ///
    /// ```
    /// # use witlet_plugin_sdk_0_2::Operation;
    /// assert_eq!(Operation::from("update".to_owned()), Operation::Update);
    /// assert_eq!(Operation::from("fly".to_owned()), Operation::Other("fly".to_owned()));
    /// ```
    Operation {
        /// It is new to this node.
        Add = "add",
        /// It runs, and asks for other resources.
        Resize = "resize",
        /// It runs, and an image of it was changed.
        Update = "update",
        /// It runs, and was given ephemeral containers.
        Ephemeral = "ephemeral",
        /// A container of it is to start, and the image is on the node.
        ImageResolved = "image-resolved",
        /// It ran before the agent was started.
        Readmit = "readmit",
        /// It runs, and is asked about again.
        Recheck = "recheck",
    }
}

words! {
    /// What part a container plays in its pod.
    ContainerKind {
        /// Runs to its end before the next one starts.
        Init = "init",
        /// An init container with `restartPolicy: Always`.
        Sidecar = "sidecar",
        /// One of `spec.containers`.
        App = "app",
        /// Added to a running pod to look for a fault.
        Ephemeral = "ephemeral",
    }
}

words! {
    /// Which of a container's probes.
    ProbeKind {
        /// Whether it has started. Gates the other two.
        Startup = "startup",
        /// Whether it can serve.
        Readiness = "readiness",
        /// Whether it should live on.
        Liveness = "liveness",
    }
}

words! {
    /// Quality of service class.
    QosClass {
        /// Every container has limits for CPU and memory, and asks for exactly these.
        Guaranteed = "Guaranteed",
        /// Something is asked for or limited.
        Burstable = "Burstable",
        /// Nothing is.
        BestEffort = "BestEffort",
    }
}
