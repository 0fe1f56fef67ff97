//! Limits are sums over the store.

use proptest::prelude::*;

use super::*;

fn limits() -> StoreLimits {
    StoreLimits::new(Limits::with_memory(1000))
}

#[test]
fn memories_of_one_store_are_summed() {
    let mut store = limits();
    assert!(store.memory_growing(0, 600, None).unwrap());
    assert!(!store.memory_growing(0, 401, None).unwrap(), "a second memory shares the limit");
    assert_eq!(store.hit(), Some(LimitHit::Memory));
    assert!(store.memory_growing(0, 400, None).unwrap());
    assert_eq!((store.memory_bytes(), store.memory_bytes_peak()), (1000, 1000));
}

#[test]
fn growth_that_the_system_refused_is_taken_back() {
    let mut store = limits();
    assert!(store.memory_growing(0, 600, None).unwrap());
    store.memory_grow_failed(wasmtime::Error::msg("no memory")).unwrap();
    assert_eq!(store.memory_bytes(), 0);
    assert_eq!(store.hit(), Some(LimitHit::Memory));
    assert!(store.memory_growing(0, 1000, None).unwrap());
}

#[test]
fn tables_are_limited_too() {
    let mut store = limits();
    let most = engine::POOL_TABLE_ELEMENTS;
    assert!(store.table_growing(0, most, None).unwrap());
    assert!(!store.table_growing(most, most + 1, None).unwrap());
    assert_eq!(store.hit(), Some(LimitHit::Table));
}

#[test]
fn needs_beyond_the_limits_are_reported_in_one_sentence() {
    let limits = Limits::with_memory(1 << 20);
    let cases = [
        (StaticNeeds { memories: 1, memory_bytes: 1 << 20, tables: 1, table_elements: 10 }, None),
        (
            StaticNeeds { memory_bytes: (1 << 20) + 1, ..StaticNeeds::default() },
            Some("needs 1048577 bytes of memory to start, but its limit is 1048576 bytes"),
        ),
        (StaticNeeds { memories: 5, ..StaticNeeds::default() }, Some("has 5 memories, but its limit is 4")),
        (StaticNeeds { tables: 17, ..StaticNeeds::default() }, Some("has 17 tables, but its limit is 16")),
        (
            StaticNeeds { table_elements: 40_001, ..StaticNeeds::default() },
            Some("needs tables of 40001 elements to start, but its limit is 40000 elements"),
        ),
    ];
    for (needs, expected) in cases {
        assert_eq!(
            needs.check(&limits).err().map(|error| error.to_string()).as_deref(),
            expected,
            "{needs:?}"
        );
    }
}

#[test]
fn deadlines_are_rounded_up_to_epochs() {
    let period = Duration::from_millis(2);
    for (milliseconds, expected) in [(0, 1), (1, 2), (2, 2), (3, 3), (100, 51)] {
        assert_eq!(epochs(Duration::from_millis(milliseconds), period), expected, "{milliseconds}");
    }
    assert_eq!(epochs(Duration::MAX, Duration::from_nanos(1)), u64::MAX);
}

#[test]
fn the_epoch_moves_while_someone_asks_for_it_and_not_for_ever_after() {
    let engine = engine::synchronous().expect("the engine");
    let ticker = EpochTicker::start(&engine, Duration::from_millis(1)).expect("a thread");
    let mut store = wasmtime::Store::new(&engine, ());
    let spin = wasmtime::Module::new(
        &engine,
        wat::parse_str("(module (func (export \"run\") (loop br 0)))").unwrap(),
    );
    let spin = wasmtime::Instance::new(&mut store, &spin.expect("a module"), &[]);
    store.set_epoch_deadline(ticker.deadline(Duration::from_millis(5)));
    // Enough for the thread to have parked at least once in most runs.
    for _ in 0..3 {
        drop(ticker.ticking());
    }
    let _ticking = ticker.ticking();
    let run = spin.expect("an instance").get_typed_func::<(), ()>(&mut store, "run").expect("a function");
    let error = run.call(&mut store, ()).expect_err("a loop ends by its deadline only");
    assert_eq!(error.downcast_ref::<wasmtime::Trap>(), Some(&wasmtime::Trap::Interrupt));
}

proptest! {
    #[test]
    fn no_sequence_of_growth_exceeds_the_limit(steps in prop::collection::vec((0_usize..800, 0_usize..800), 0..20)) {
        let mut store = limits();
        let mut sum = 0;
        for (current, more) in steps {
            if store.memory_growing(current, current + more, None).unwrap() {
                sum += more;
            }
            prop_assert_eq!(store.memory_bytes(), sum);
            prop_assert!(sum <= 1000);
        }
    }
}

#[test]
fn what_an_earlier_call_ran_into_is_forgotten() {
    let mut limits = StoreLimits::new(Limits::with_memory(1 << 20));
    assert!(matches!(limits.memory_growing(0, 2 << 20, None), Ok(false)));
    assert_eq!(limits.hit(), Some(LimitHit::Memory));
    limits.begin();
    assert_eq!(limits.hit(), None);
}
