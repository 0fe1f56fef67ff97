//! Which instances are kept, without an engine.

use std::time::Duration;

use super::*;

#[derive(Debug, PartialEq, Eq)]
struct Fake {
    role: Role,
    number: u32,
    memory_bytes: usize,
}

impl Instance for Fake {
    fn role(&self) -> Role {
        self.role
    }

    fn memory_bytes(&self) -> usize {
        self.memory_bytes
    }
}

const WARM: Warm = Warm { max: 2, uses: 3, idle: Duration::from_secs(10) };

fn fake(role: Role, number: u32) -> Pooled<Fake> {
    Pooled::new(Fake { role, number, memory_bytes: 10 })
}

fn pool(warm: Option<Warm>, slots: u32, shared: usize) -> InstancePool<Fake> {
    InstancePool::new(warm, 100, slots, Arc::new(Semaphore::new(shared)))
}

fn taken(pool: &InstancePool<Fake>, role: Role) -> Option<u32> {
    pool.take(role).map(|pooled| pooled.instance.number)
}

#[test]
fn instances_are_kept_by_role_and_the_last_used_is_taken_first() {
    let pool = pool(Some(WARM), 1, 10);
    for number in 1..=3 {
        pool.keep(fake(Role::Probe, number));
    }
    pool.keep(fake(Role::PodSource, 4));
    assert_eq!(
        (pool.count(Role::Probe), pool.count(Role::PodSource), pool.count(Role::Admission)),
        (2, 1, 0)
    );
    assert_eq!(
        [Role::Probe, Role::Probe, Role::Probe].map(|role| taken(&pool, role)),
        [Some(2), Some(1), None]
    );
    assert_eq!(taken(&pool, Role::PodSource), Some(4));
}

#[test]
fn an_instance_is_dropped_after_its_uses_or_once_it_has_grown() {
    let pool = pool(Some(WARM), 1, 10);
    pool.keep(fake(Role::Probe, 1));
    pool.keep(pool.take(Role::Probe).expect("it was used once"));
    pool.keep(pool.take(Role::Probe).expect("it was used twice"));
    assert_eq!(pool.count(Role::Probe), 0, "it was used three times");
    for (memory_bytes, kept) in [(75, 1), (76, 0)] {
        pool.keep(Pooled::new(Fake { role: Role::Probe, number: 1, memory_bytes }));
        assert_eq!(pool.count(Role::Probe), kept, "{memory_bytes} of 100 bytes");
        pool.take(Role::Probe);
    }
}

#[test]
fn kept_instances_of_all_plugins_share_slots() {
    let shared = Arc::new(Semaphore::new(3));
    let pools = [2, 1].map(|slots| InstancePool::new(Some(WARM), 100, slots, shared.clone()));
    pools[0].keep(fake(Role::Admission, 1));
    pools[0].keep(fake(Role::Admission, 2));
    assert_eq!(
        (pools[0].count(Role::Admission), shared.available_permits()),
        (1, 1),
        "one slot isn't enough"
    );
    pools[1].keep(fake(Role::Admission, 3));
    assert_eq!((pools[1].count(Role::Admission), shared.available_permits()), (1, 0));
    pools[0].keep(pools[0].take(Role::Admission).expect("one is kept"));
    assert_eq!(shared.available_permits(), 0, "an instance in a call holds its slots");
    pools[0].retire();
    assert_eq!(shared.available_permits(), 2);
}

#[test]
fn nothing_is_kept_without_warm_or_after_retiring() {
    let none = pool(None, 1, 10);
    none.keep(fake(Role::Probe, 1));
    assert_eq!(none.count(Role::Probe), 0);
    let retired = pool(Some(WARM), 1, 10);
    retired.keep(fake(Role::Probe, 1));
    let in_use = retired.take(Role::Probe).expect("one is kept");
    retired.keep(fake(Role::Probe, 2));
    retired.retire();
    retired.keep(in_use);
    assert_eq!(retired.count(Role::Probe), 0);
}

#[tokio::test(start_paused = true)]
async fn instances_that_were_idle_for_long_are_dropped() {
    let pool = pool(Some(WARM), 1, 10);
    pool.keep(fake(Role::Probe, 1));
    tokio::time::advance(Duration::from_secs(5)).await;
    pool.keep(fake(Role::Probe, 2));
    tokio::time::advance(Duration::from_secs(5)).await;
    pool.shrink(Instant::now());
    assert_eq!((pool.count(Role::Probe), taken(&pool, Role::Probe)), (1, Some(2)));
}
