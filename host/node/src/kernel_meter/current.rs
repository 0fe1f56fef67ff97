//! Whether what is known of a cgroup is what it is now, and what is kept of a check.

use std::path::Path;
use std::sync::PoisonError;

use jiff::Timestamp;
use witlet_core::stats::cadvisor::CgroupDetails;
use witlet_core::stats::cgroup_usage::{Activity, CgroupUsage};
use witlet_core::stats::freshness::{
    Reading, UNCHANGED_MAX, is_quiet, limits_are_known, quiet_figures_are_known, reading,
};
use witlet_core::stats::network::{InterfaceUsage, interfaces};

use super::cache::{
    KnownCgroup, KnownCgroups, KnownDetails, KnownLimits, ListedProcesses, is_fresh, seen_from_above,
};
use super::files::CgroupFiles;
use super::{MeterReading, PROCESSES};

impl MeterReading<'_> {
    /// The processes of a cgroup whose usage was checked before: while nothing happens, none comes or goes.
    pub(super) fn listed(&self, cgroup: &Path) -> ListedProcesses {
        if let Some(known) = self.lock_known().get(cgroup).and_then(|known| known.processes) {
            return known;
        }
        let controller = if self.is_v2 { "" } else { "memory" };
        let listed = CgroupFiles::new(&self.folders, cgroup).read(controller, PROCESSES).unwrap_or_default();
        let listed = ListedProcesses::of(&listed);
        if let Some(known) = self.lock_known().get_mut(cgroup) {
            known.processes = Some(listed);
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
        let network = interfaces(&self.read_of_process(listed.first?, "net/dev")?);
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
        let usage = self.known_usage(cgroup, files)?;
        let now = self.clock.now();
        let all = self.lock_known();
        let known = all.get(cgroup)?.details.as_ref().filter(|known| limits_are_known(known.at, now))?;
        Some(CgroupDetails { usage, ..known.details.clone() })
    }

    /// Returns the figures of a cgroup whose processes have done nothing since they were read, and its first process then.
    pub(super) fn quiet_details(
        &self,
        cgroup: &Path,
        files: &CgroupFiles<'_>,
    ) -> Option<(KnownDetails, Option<u32>)> {
        let now = self.clock.now();
        let (usage, known, first) = {
            let all = self.lock_known();
            let KnownCgroup { usage, details, limits, .. } = all.get(cgroup)?;
            let known = details.as_ref().filter(|known| quiet_figures_are_known(known.all_at, now))?;
            let first = limits.and_then(|limits| Some(limits.open_files?.0));
            (*usage, known.clone(), first)
        };
        is_quiet(&usage, self.activity(files)).then_some((known, first))
    }

    /// What hardly changes of a cgroup, if it was read of late.
    pub(super) fn known_limits(&self, cgroup: &Path, now: Timestamp) -> Option<KnownLimits> {
        self.lock_known().get(cgroup)?.limits.filter(|known| limits_are_known(known.at, now))
    }

    /// Keeps the usage that was read just now. Figures that were read before are kept only if nothing has happened since.
    pub(super) fn keep(&self, cgroup: &Path, usage: CgroupUsage) {
        let read_at = self.clock.now();
        let mut all = self.lock_known();
        let known = all.take(cgroup);
        let (limits, network, details) = known
            .map(|known| {
                let details = known.details.filter(|_| is_quiet(&known.usage, usage.activity()));
                (known.limits, known.network, details)
            })
            .unwrap_or_default();
        let known = KnownCgroup { read_at, usage, details, limits, processes: None, network };
        all.put(cgroup, known);
    }

    /// Keeps all figures that were read just now; at `all_at` those that only processes change.
    pub(super) fn keep_details(
        &self,
        cgroup: &Path,
        details: &CgroupDetails,
        all_at: Option<Timestamp>,
        limits: KnownLimits,
        processes: ListedProcesses,
    ) {
        let read_at = self.clock.now();
        let mut all = self.lock_known();
        let network = all.take(cgroup).and_then(|known| known.network);
        let kept = KnownDetails { details: details.clone(), at: read_at, all_at: all_at.unwrap_or(read_at) };
        let known = KnownCgroup {
            read_at,
            usage: details.usage,
            details: Some(kept),
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
