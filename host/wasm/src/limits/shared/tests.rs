//! Stores that draw from one pool.

use super::*;

fn store(pool: &Arc<MemoryPool>) -> PooledLimits {
    PooledLimits::new(Limits::with_memory(1000), pool.clone())
}

#[test]
fn a_store_that_goes_gives_everything_back() {
    let pool = Arc::new(MemoryPool::new(10_000));
    let mut one = store(&pool);
    assert!(one.memory_growing(0, 600, None).unwrap());
    assert!(one.memory_growing(600, 1000, None).unwrap());
    let mut other = store(&pool);
    assert!(other.memory_growing(0, 500, None).unwrap());
    assert_eq!(pool.taken(), 1500);
    drop(one);
    assert_eq!(pool.taken(), 500);
    drop(other);
    assert_eq!(pool.taken(), 0);
}

#[test]
fn what_the_store_or_the_system_refuses_stays_in_the_pool() {
    let pool = Arc::new(MemoryPool::new(10_000));
    let mut one = store(&pool);
    assert!(!one.memory_growing(0, 1001, None).unwrap());
    assert_eq!((pool.taken(), one.hit(), one.crowded()), (0, Some(LimitHit::Memory), false));
    // A second refusal of the system's takes nothing back that was never taken.
    assert!(one.memory_growing(0, 700, None).unwrap());
    one.memory_grow_failed(wasmtime::Error::msg("no memory")).unwrap();
    assert_eq!((pool.taken(), one.memory_bytes()), (0, 0));
}

#[test]
fn an_empty_pool_is_no_ones_own_limit() {
    let pool = Arc::new(MemoryPool::new(1200));
    let mut one = store(&pool);
    assert!(one.memory_growing(0, 1000, None).unwrap());
    let mut other = store(&pool);
    assert!(!other.memory_growing(0, 201, None).unwrap());
    assert_eq!((other.crowded(), other.hit()), (true, None));
    drop(one);
    assert!(other.memory_growing(0, 201, None).unwrap());
}

#[test]
fn who_wants_more_than_its_own_limit_can_not_say_that_others_have_it() {
    let pool = Arc::new(MemoryPool::new(1200));
    let mut one = store(&pool);
    assert!(!one.memory_growing(0, 4 << 30, None).unwrap());
    assert_eq!((pool.taken(), one.hit(), one.crowded()), (0, Some(LimitHit::Memory), false));
}

#[test]
fn what_the_pool_does_not_have_is_not_counted_as_the_store_s() {
    let pool = Arc::new(MemoryPool::new(1200));
    let mut one = store(&pool);
    assert!(one.memory_growing(0, 500, None).unwrap());
    let mut other = store(&pool);
    assert!(other.memory_growing(0, 600, None).unwrap());
    assert!(!other.memory_growing(600, 800, None).unwrap());
    assert_eq!((other.memory_bytes(), other.crowded(), pool.taken()), (600, true, 1100));
    drop(other);
    assert_eq!(pool.taken(), 500);
}

#[test]
fn who_has_its_share_leaves_the_rest_to_others() {
    let whole = Arc::new(MemoryPool::new(2000));
    let share = || Arc::new(MemoryPool::share(whole.clone(), 1500));
    let (greedy, modest) = (share(), share());
    let mut stores = [store(&greedy), store(&greedy), store(&modest)];
    assert!(stores[0].memory_growing(0, 1000, None).unwrap());
    assert!(!stores[1].memory_growing(0, 501, None).unwrap(), "its share is used up");
    assert!(stores[1].memory_growing(0, 500, None).unwrap());
    assert!(!stores[2].memory_growing(0, 501, None).unwrap(), "of what is left");
    assert_eq!((modest.taken(), whole.taken()), (0, 1500));
    assert!(stores[2].memory_growing(0, 500, None).unwrap());
    drop(stores);
    assert_eq!((greedy.taken(), modest.taken(), whole.taken()), (0, 0, 0));
}

#[test]
fn the_usage_of_a_call_begins_with_what_a_used_instance_has() {
    let pool = Arc::new(MemoryPool::new(10_000));
    let mut one = store(&pool);
    let first = Arc::new(Usage::default());
    one.begin(first.clone());
    assert!(one.memory_growing(0, 300, None).unwrap());
    let second = Arc::new(Usage::default());
    one.begin(second.clone());
    assert_eq!((first.memory_bytes_peak(), second.memory_bytes_peak()), (300, 300));
    assert!(one.memory_growing(300, 400, None).unwrap());
    assert_eq!((first.memory_bytes_peak(), second.memory_bytes_peak()), (300, 400));
    assert_eq!(second.add_cpu(Duration::from_millis(2)), Duration::from_millis(2));
    assert_eq!(second.add_cpu(Duration::from_millis(3)), Duration::from_millis(5));
    assert_eq!((first.cpu(), second.cpu()), (Duration::ZERO, Duration::from_millis(5)));
}

#[test]
fn giving_way_is_reported_once() {
    let usage = Usage::default();
    assert!(!usage.take_yielded());
    usage.note_yield();
    assert!(usage.take_yielded() && !usage.take_yielded());
    usage.add_runnable(Duration::from_millis(5));
    usage.add_runnable(Duration::from_millis(2));
    assert_eq!(usage.runnable(), Duration::from_millis(7));
}
