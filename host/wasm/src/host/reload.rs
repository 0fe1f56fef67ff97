//! Notices changed files, ended quarantines and idle instances, once a second.
//!
//! Files are polled, not watched: editors, `kubectl cp`, ConfigMap mounts and network file systems replace files in
//! ways that watches miss, and one `stat` a second for a handful of files costs nothing.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, Weak};
use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior};
use witlet_core::event::{Event, EventObject, EventType};

use super::{FileError, MAINTENANCE_PERIOD, Shared};
use crate::plugin::{Plugin, Spec};
use witlet_core::error::one_line;

/// A plugin that didn't load is tried again after this long; each further time takes twice as long.
const RETRY_MIN: Duration = Duration::from_secs(10);
/// At most this long.
const RETRY_MAX: Duration = Duration::from_secs(300);

/// Changes whenever a file was written or replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fingerprint {
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

/// The file's fingerprint; none while it can't be looked at.
fn fingerprint(path: &Path) -> Option<Fingerprint> {
    let metadata = std::fs::metadata(path).ok()?;
    Some(Fingerprint {
        inode: metadata.ino(),
        size: metadata.size(),
        modified: (metadata.mtime(), metadata.mtime_nsec()),
        changed: (metadata.ctime(), metadata.ctime_nsec()),
    })
}

/// Remembers what the files were when they were last read.
pub(super) struct Watcher {
    plugins_file: Option<PathBuf>,
    seen: HashMap<PathBuf, Option<Fingerprint>>,
    retries: Retries,
}

/// When plugins that didn't load are tried again: what was missing may be there, the machine may be less busy.
#[derive(Debug, Default)]
struct Retries(HashMap<Arc<str>, Retry>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Retry {
    at: Instant,
    /// From the last try to this one; the next is twice as long.
    delay: Duration,
}

impl Retries {
    /// Whether it is time to try this plugin again.
    fn is_due(&self, plugin: &Plugin, now: Instant) -> bool {
        plugin.code.is_err() && self.0.get(&plugin.spec.name).is_some_and(|retry| retry.at <= now)
    }

    /// Notes the next time for each plugin that isn't loaded, and forgets all others.
    fn keep(&mut self, plugins: &[Arc<Plugin>], now: Instant) {
        let failed: Vec<Arc<str>> = plugins
            .iter()
            .filter(|plugin| plugin.code.is_err())
            .map(|plugin| plugin.spec.name.clone())
            .collect();
        self.note(&failed, now);
    }

    fn note(&mut self, failed: &[Arc<str>], now: Instant) {
        self.0.retain(|name, _| failed.contains(name));
        for name in failed {
            let retry = match self.0.get(name) {
                None => Retry { at: now + RETRY_MIN, delay: RETRY_MIN },
                Some(retry) if retry.at <= now => {
                    let delay = (retry.delay * 2).min(RETRY_MAX);
                    Retry { at: now + delay, delay }
                }
                Some(retry) => *retry,
            };
            self.0.insert(name.clone(), retry);
        }
    }
}

impl Watcher {
    /// Reads the configuration for the first time.
    pub(super) async fn start(shared: &Arc<Shared>) -> Result<(Vec<Spec>, Self), FileError> {
        // Looked at before they are read: a change in between is noticed later.
        let mut watcher = Self {
            plugins_file: shared.plugins_file.clone(),
            seen: HashMap::new(),
            retries: Retries::default(),
        };
        if let Some(path) = &watcher.plugins_file {
            watcher.seen.insert(path.clone(), fingerprint(path));
        }
        let specs = shared.read_specs()?;
        for path in specs.iter().filter_map(Spec::path) {
            let print = fingerprint(&path);
            watcher.seen.insert(path, print);
        }
        Ok((specs, watcher))
    }

    /// Looks after the plugins until the host is gone.
    pub(super) async fn run(mut self, shared: Weak<Shared>) {
        let mut ticks = tokio::time::interval(MAINTENANCE_PERIOD);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let Some(shared) = shared.upgrade() else { return };
            self.reload(&shared).await;
            shared.maintain();
        }
    }

    /// Whether the file changed since this was last asked. One that can't be looked at hasn't changed: it is in the
    /// middle of being replaced, or will be missed when it is read.
    fn changed(&mut self, path: &Path) -> bool {
        let now = fingerprint(path);
        if now.is_none() || self.seen.get(path) == Some(&now) {
            return false;
        }
        self.seen.insert(path.to_path_buf(), now);
        true
    }

    async fn reload(&mut self, shared: &Arc<Shared>) {
        let file_changed = match self.plugins_file.clone() {
            Some(path) => self.changed(&path),
            None => false,
        };
        if file_changed {
            self.reload_file(shared).await;
        }
        let mut plugins = shared.plugins().to_vec();
        let mut replaced = false;
        for plugin in &mut plugins {
            let changed = plugin.spec.path().is_some_and(|path| self.changed(&path));
            let due = changed || self.retries.is_due(plugin, Instant::now());
            if due && let Some(newer) = shared.reload_component(plugin).await {
                *plugin = newer;
                replaced = true;
            }
        }
        if replaced {
            shared.replace(plugins);
        }
        self.retries.keep(&shared.plugins(), Instant::now());
    }

    async fn reload_file(&mut self, shared: &Arc<Shared>) {
        match shared.read_specs() {
            Ok(specs) => {
                for path in specs.iter().filter_map(Spec::path) {
                    let print = fingerprint(&path);
                    self.seen.entry(path).or_insert(print);
                }
                shared.install(specs).await;
                *shared.file_error.lock().unwrap_or_else(PoisonError::into_inner) = None;
                tracing::info!("plugin configuration reloaded");
            }
            Err(error) => shared.report_file_error(&error),
        }
    }
}

impl Shared {
    /// The plugin with its file's new content. None if the content is the same or doesn't load; the plugin then
    /// stays, and says why.
    async fn reload_component(&self, plugin: &Arc<Plugin>) -> Option<Arc<Plugin>> {
        let newer = self.load(plugin.spec.clone(), Some(plugin.clone())).await;
        let same_content = match (&newer.code, &plugin.code) {
            (Ok(newer), Ok(old)) => newer.digest == old.digest,
            (Ok(_), Err(_)) | (Err(_), Ok(_) | Err(_)) => false,
        };
        if same_content {
            if !Arc::ptr_eq(&newer, plugin) {
                plugin.set_pending(None);
            }
            return None;
        }
        Some(newer)
    }

    fn report_file_error(&self, error: &FileError) {
        let message = one_line(error);
        tracing::error!(error = message, "plugin configuration not taken; the old one stays");
        self.events.record(Event {
            object: EventObject::Source {
                source: "plugins".to_owned(),
                place: self.plugins_file.as_deref().unwrap_or(Path::new("")).display().to_string(),
            },
            kind: EventType::Warning,
            reason: "PluginConfigurationInvalid".to_owned(),
            message: message.clone(),
        });
        *self.file_error.lock().unwrap_or_else(PoisonError::into_inner) = Some(message);
    }

    /// Lets deferred pods be asked for again when a quarantine is over, and drops instances that nobody needs.
    fn maintain(&self) {
        let now = Instant::now();
        let mut released = false;
        for plugin in self.plugins().iter() {
            released |= plugin.take_release(now);
            if let Ok(loaded) = &plugin.code {
                loaded.guests.shrink(now);
            }
        }
        if released {
            self.generation.send_modify(|generation| *generation += 1);
        }
    }
}

#[cfg(test)]
mod tests;
