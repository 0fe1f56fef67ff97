//! The time zone of the log's text: that of the process, found as Go finds it, for klog prints local time.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use jiff::tz::TimeZone;

/// The machine's zone.
const LOCAL_FILE: &str = "/etc/localtime";

/// Folders of zones by name.
const FOLDERS: &[&str] =
    &["/usr/share/zoneinfo", "/usr/share/lib/zoneinfo", "/usr/lib/locale/TZ", "/etc/zoneinfo"];

/// The longest zone file that is read; upstream's limit is 10 MiB, and files that there are have less than 4 KiB.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// The zone that the environment or the machine names; UTC if it can't be read.
pub(super) fn local() -> TimeZone {
    let name = std::env::var_os("TZ").map(|name| name.to_string_lossy().into_owned());
    let found = files(name.as_deref()).into_iter().find_map(|file| read(&file));
    found.unwrap_or(TimeZone::UTC)
}

/// Where the zone of this `TZ` may lie; nowhere for UTC.
pub(super) fn files(name: Option<&str>) -> Vec<PathBuf> {
    let Some(name) = name else { return vec![PathBuf::from(LOCAL_FILE)] };
    let name = name.strip_prefix(':').unwrap_or(name);
    // Names that lead out of the folders are none.
    if name.is_empty() || name == "UTC" || Path::new(name).components().any(|part| part.as_os_str() == "..") {
        return Vec::new();
    }
    if Path::new(name).is_absolute() {
        return vec![PathBuf::from(name)];
    }
    FOLDERS.iter().map(|folder| Path::new(folder).join(name)).collect()
}

fn read(file: &Path) -> Option<TimeZone> {
    let mut data = Vec::new();
    File::open(file).ok()?.take(FILE_BYTES_MAX).read_to_end(&mut data).ok()?;
    TimeZone::tzif("Local", &data).ok()
}
