//! Which file systems are one, and what that means for the node's disk (`buildSignalToRankFunc`, `buildSignalToNodeReclaimFuncs`).

use super::signal::{Signal, StarvedResource};

#[cfg(test)]
mod tests;

/// How the agent's folder, images and writable layers are spread over file systems.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Filesystems {
    #[default]
    Single,
    /// Images and writable layers are on one of their own.
    DedicatedImages,
    /// Images and writable layers are on different ones.
    Split,
}

/// What the node itself can give back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeReclaim {
    /// Remove all containers that have ended, and all of pods that have.
    Containers,
    /// Remove all images that nothing uses.
    Images,
}

/// Which disk of a pod counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    pub rootfs: bool,
    pub logs: bool,
    pub volumes: bool,
}

impl Filesystems {
    /// How they lie to each other, by what identifies the file systems of the agent's folder, of images and of writable layers
    /// (upstream: `HasDedicatedImageFs`, `diskInfoProvider`). Where writable layers have a file system of their own, apart from the
    /// other two, upstream, too, counts them as split.
    pub fn of<T: PartialEq>(node: &T, images: &T, containers: &T) -> Self {
        if images != containers {
            Self::Split
        } else if images != node {
            Self::DedicatedImages
        } else {
            Self::Single
        }
    }

    /// Returns what is tried, in this order, before a pod is evicted.
    pub fn reclaims(self, signal: Signal) -> &'static [NodeReclaim] {
        use NodeReclaim::{Containers, Images};
        let of_disk =
            matches!(signal.resource(), StarvedResource::EphemeralStorage | StarvedResource::Inodes);
        match self {
            _ if !of_disk => &[],
            Self::Single => &[Containers, Images],
            Self::DedicatedImages if is_of_node(signal) => &[],
            Self::DedicatedImages => &[Containers, Images],
            Self::Split if is_of_images(signal) => &[Images],
            Self::Split => &[Containers],
        }
    }

    /// Which disk of the pods is on the file system of the signal.
    pub fn measured(self, signal: Signal) -> Measured {
        match self {
            Self::Single => Measured { rootfs: true, logs: true, volumes: true },
            Self::DedicatedImages if is_of_node(signal) => {
                Measured { rootfs: false, logs: true, volumes: true }
            }
            Self::DedicatedImages => Measured { rootfs: true, logs: false, volumes: false },
            // A pod has nothing there: images aren't its own.
            Self::Split if is_of_images(signal) => Measured::default(),
            Self::Split => Measured { rootfs: true, logs: true, volumes: true },
        }
    }
}

fn is_of_node(signal: Signal) -> bool {
    matches!(signal, Signal::NodeFsAvailable | Signal::NodeFsInodesFree)
}

fn is_of_images(signal: Signal) -> bool {
    matches!(signal, Signal::ImageFsAvailable | Signal::ImageFsInodesFree)
}
