//! Whether what is known of a cgroup is what it is now, and what is kept of a check.

use std::path::Path;
use std::sync::PoisonError;

use jiff::Timestamp;
use witlet_core::stats::cadvisor::CgroupDetails;
use witlet_core::stats::cgroup_usage::{Activity, CgroupUsage};
use witlet_core::stats::freshness::{Reading, UNCHANGED_MAX, limits_are_known, reading};
use witlet_core::stats::network::{InterfaceUsage, interfaces};

use super::cache::{KnownCgroup, KnownCgroups, KnownLimits, ListedProcesses, is_fresh, seen_from_above};
use super::files::CgroupFiles;
use super::{MeterReading, PROCESSES};
use crate::node_readings::kernel::read;

impl MeterReading<'_> {
    /// The processes of a cgroup whose usage was checked before: while nothing happens, none comes or goes.
    pub(super) fn listed(&self, cgroup: &Path) -> ListedProcesses {
        if let Some(known) = self.lock_known().get(cgroup).and_then(|known| known.processes.clone()) {
            return known;
        }
        let controller = if self.is_v2 { "" } else { "memory" };
        let listed = CgroupFiles::new(&self.folders, cgroup).read(controller, PROCESSES).unwrap_or_default();
        let listed = ListedProcesses::of(&listed);
        if let Some(known) = self.lock_known().get_mut(cgroup) {
            known.processes = Some(listed.clone());
        }
        listed
    }

    /// Traffic of the network that these processes of a cgroup are in. It moves while they do nothing.
    pub(super) fn network_of(&self, cgroup: &Path, listed: &ListedProcesses) -> Option<Vec<InterfaceUsage>> {
        let now = self.clock.now();
        if let Some(KnownCgroup { network: Some((at, known)), .. }) = self.lock_known().get(cgroup)
            && is_fresh(*at, now)
        {
            return Some(known.clone());
        }
        let network = interfaces(&read(&self.kernel.proc.join(format!("{}/net/dev", listed.first?)))?);
        if let Some(known) = self.lock_known().get_mut(cgroup) {
            known.network = Some((now, network.clone()));
        }
        Some(network)
    }

    /// What is known of a cgroup, if that is what it uses now.
    pub(super) fn known_usage(&self, cgroup: &Path, files: &CgroupFiles<'_>) -> Option<CgroupUsage> {
        let now = self.clock.now();
        let (usage, seen_by_others) = {
            let all = self.lock_known();
            let KnownCgroup { read_at, usage, .. } = all.get(cgroup)?;
            match reading(usage, *read_at, now) {
                Reading::Nothing => return Some(*usage),
                Reading::All => return None,
                Reading::Activity => (*usage, seen_from_above(&all, cgroup, usage.at, now)),
            }
        };
        let at = match seen_by_others {
            Some(at) => at,
            None if self.activity(files) == usage.activity() => now,
            None => return None,
        };
        let usage = CgroupUsage { at, ..usage };
        if let Some(known) = self.lock_known().get_mut(cgroup) {
            known.usage = usage;
        }
        Some(usage)
    }

    fn activity(&self, files: &CgroupFiles<'_>) -> Activity {
        match self.is_v2 {
            true => Activity::of_v2(|file| files.read("", file)),
            false => Activity::of_v1(|controller, file| files.read(controller, file)),
        }
    }

    /// Returns all figures that are known of a cgroup, if they are those of now.
    pub(super) fn known_details(&self, cgroup: &Path, files: &CgroupFiles<'_>) -> Option<CgroupDetails> {
        self.lock_known().get(cgroup)?.details.as_ref()?;
        let usage = self.known_usage(cgroup, files)?;
        let details = self.lock_known().get(cgroup)?.details.clone()?;
        Some(CgroupDetails { usage, ..details })
    }

    /// What hardly changes of a cgroup, if it was read of late.
    pub(super) fn known_limits(&self, cgroup: &Path, now: Timestamp) -> Option<KnownLimits> {
        self.lock_known().get(cgroup)?.limits.filter(|known| limits_are_known(known.at, now))
    }

    /// Keeps the usage that was read just now. All figures that were read before aren't those of now.
    pub(super) fn keep(&self, cgroup: &Path, usage: CgroupUsage) {
        let read_at = self.clock.now();
        let mut all = self.lock_known();
        let (limits, network) =
            all.take(cgroup).map(|known| (known.limits, known.network)).unwrap_or_default();
        let known = KnownCgroup { read_at, usage, details: None, limits, processes: None, network };
        all.put(cgroup, known);
    }

    /// Keeps all figures that were read just now.
    pub(super) fn keep_details(
        &self,
        cgroup: &Path,
        details: &CgroupDetails,
        limits: KnownLimits,
        processes: ListedProcesses,
    ) {
        let read_at = self.clock.now();
        let mut all = self.lock_known();
        let network = all.take(cgroup).and_then(|known| known.network);
        let known = KnownCgroup {
            read_at,
            usage: details.usage,
            details: Some(details.clone()),
            limits: Some(limits),
            processes: Some(processes),
            network,
        };
        all.put(cgroup, known);
    }

    pub(super) fn lock_known(&self) -> std::sync::MutexGuard<'_, KnownCgroups> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets what wasn't asked about for as long as it may be shown.
    pub(super) fn forget_gone(&self) {
        let now = self.clock.now();
        let is_recent = |known: &KnownCgroup| now.duration_since(known.usage.at).abs() <= UNCHANGED_MAX;
        self.lock_known().keep(is_recent);
    }
}
