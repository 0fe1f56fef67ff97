//! Whether containerd can run here.

use std::fmt;
use std::path::Path;

use crate::release::Release;
use crate::shell::{self, find_program};

/// Set to `1`, it turns a skip into a failure: for CI, where everything is installed.
pub const REQUIRE_VARIABLE: &str = "WITLET_REQUIRE_CONTAINERD";

/// Programs, with the Debian package that has them.
const PROGRAMS: [(&str, &str); 7] = [
    ("containerd", "containerd"),
    ("containerd-shim-runc-v2", "containerd"),
    ("ctr", "containerd"),
    ("runc", "runc"),
    ("ip", "iproute2"),
    ("nsenter", "util-linux"),
    ("tar", "tar"),
];

/// Network plugins that the tests' network is made of.
const CNI_PLUGINS: [&str; 4] = ["bridge", "host-local", "loopback", "portmap"];

/// Why containerd can't run here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skip(String);

impl fmt::Display for Skip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why containerd can't run here; none if it can.
pub fn skip_reason() -> Option<Skip> {
    if !rustix::process::geteuid().is_root() {
        return Some(Skip("containerd needs root".to_owned()));
    }
    for (program, package) in PROGRAMS {
        if find_program(program).is_none() {
            return Some(Skip(format!("{program} isn't installed (Debian package {package})")));
        }
    }
    for plugin in CNI_PLUGINS {
        if !Path::new(crate::config::CNI_PLUGIN_FOLDER).join(plugin).exists() {
            return Some(Skip(format!(
                "the network plugin {plugin} isn't installed (Debian package containernetworking-plugins)"
            )));
        }
    }
    if crate::image::busybox().is_none() {
        return Some(Skip("a static busybox isn't installed (Debian package busybox-static)".to_owned()));
    }
    match shell::run("unshare", &["--net", "--mount", "true"]) {
        Ok(_) => None,
        Err(error) => Some(Skip(format!("this machine allows no new namespaces: {error}"))),
    }
}

/// Why features of containerd 2.x can't be seen here; none if they can.
pub fn features_skip_reason() -> Option<Skip> {
    without_features("has no user namespaces and policies of groups yet")
}

/// Why no image can be pinned here; none if one can.
pub fn pins_skip_reason() -> Option<Skip> {
    without_features("pins no images, or not yet by its configuration")
}

fn without_features(lacks: &str) -> Option<Skip> {
    match Release::installed() {
        Ok(release) if release.has_features() => None,
        Ok(Release { major, minor }) => Some(Skip(format!("containerd {major}.{minor} {lacks}"))),
        Err(error) => Some(Skip(error.to_string())),
    }
}

/// Whether a skip is a failure here.
pub fn is_required() -> bool {
    std::env::var_os(REQUIRE_VARIABLE).is_some_and(|value| value == "1")
}
