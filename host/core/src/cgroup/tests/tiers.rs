//! Weights of the classes (`TestQOSCPUConfigUpdate` in `qos_container_manager_linux_test.go`).

use crate::cgroup::{
    ResourceConfig, Tier, TierMemory, TierPod, cpu_shares, first_tier_resources, tier_configs,
};

fn of(tier: Tier, cpu_milli: i64) -> TierPod {
    TierPod { tier, cpu_milli, memory_bytes: 0 }
}

#[test]
fn burstable_weighs_what_its_pods_ask_for() {
    use Tier::{BestEffort, Burstable, Guaranteed};
    let cases: [(&str, &[TierPod], i64); 5] = [
        ("guaranteed pods only", &[of(Guaranteed, 1_000)], 2),
        ("burstable pods only", &[of(Burstable, 1_000)], 1_024),
        ("besteffort pods only", &[of(BestEffort, 0)], 2),
        (
            "guaranteed and burstable pods",
            &[of(Guaranteed, 1_000), of(Burstable, 1_000), of(Burstable, 2_000)],
            3_072,
        ),
        ("besteffort and burstable pods", &[of(BestEffort, 0), of(Burstable, 1_000)], 1_024),
    ];
    for (name, pods, shares) in cases {
        let configs = tier_configs(pods, &[], TierMemory::default());
        let shares_of =
            |tier| configs.iter().find(|(of, _)| *of == tier).and_then(|(_, config)| config.cpu_shares);
        assert_eq!(shares_of(Burstable), Some(shares), "{name}");
        assert_eq!((shares_of(BestEffort), shares_of(Guaranteed)), (Some(2), None), "{name}");
    }
}

#[test]
fn huge_pages_have_no_bound_in_the_tiers() {
    for tier in Tier::ALL {
        let first = first_tier_resources(tier, &[2 << 20]);
        assert_eq!(first.hugepages[&(2 << 20)], 1 << 62);
        assert_eq!(first.cpu_shares, (tier == Tier::BestEffort).then(|| cpu_shares(0)));
        assert_eq!(
            ResourceConfig { hugepages: [].into(), cpu_shares: None, ..first },
            ResourceConfig::default()
        );
    }
    let configs = tier_configs(&[], &[1 << 30], TierMemory::default());
    assert!(configs.iter().all(|(_, config)| config.hugepages.contains_key(&(1 << 30))));
}
