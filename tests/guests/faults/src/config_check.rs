//! Whether the plugin is content with its configuration.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use witlet_plugin_sdk::Error;

use crate::{Config, admission, probe, source};

/// Faults of this part.
const FAULTS: &[&str] = &["validate-unwraps", "validate-reads-the-clock", "validate-spins"];
/// 2027-01-01T00:00:00Z
const LICENCE_ENDS: Duration = Duration::from_secs(1_798_761_600);

pub(crate) fn validate(config: &Config) -> Result<(), Error> {
    let known = [FAULTS, admission::FAULTS, probe::FAULTS, source::FAULTS].concat();
    match config.fault() {
        "" => {}
        "validate-unwraps" => _ = config.milli_cpu_max().unwrap(),
        "validate-reads-the-clock" => in_licence()?,
        "validate-spins" if config.milli_cpu_max().is_none() => spin(),
        fault if known.contains(&fault) => {}
        fault => return Err(Error::invalid("fault", format!("no one knows {fault}"))),
    }
    if config.milli_cpu_max().is_none_or(|max| max < 1) {
        return Err(Error::invalid("milliCpuMax", "isn't a number above 0"));
    }
    if config.label.is_empty() {
        return Err(Error::invalid("label", "is empty"));
    }
    if !config.folder.starts_with('/') {
        return Err(Error::invalid("folder", "isn't an absolute path"));
    }
    Ok(())
}

#[allow(clippy::disallowed_methods, reason = "it is the fault")]
fn in_licence() -> Result<(), Error> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    if now < LICENCE_ENDS { Ok(()) } else { Err(Error::nothing_found("the licence has ended")) }
}

pub(crate) fn spin() -> ! {
    loop {
        std::hint::spin_loop();
    }
}
