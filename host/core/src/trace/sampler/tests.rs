//! Which traces are sampled.

use super::*;

fn id(low: u64) -> TraceId {
    TraceId::new(1 << 64 | u128::from(low)).expect("not zero")
}

/// The bound of a half: ids whose lower half is below 2^63 are sampled.
#[test]
fn a_share_of_the_traces_is_sampled_by_the_lower_half_of_their_ids() {
    let half = 1_u64 << 63;
    let cases: &[(u32, u64, bool)] = &[
        (0, 0, false),
        (0, u64::MAX, false),
        (1, 0, true),
        // A millionth of 2^63, twice, because the last bit doesn't count.
        (1, 18_446_744_073_707, true),
        (1, 18_446_744_073_708, false),
        (500_000, half - 1, true),
        (500_000, half, false),
        (999_999, u64::MAX, false),
        (1_000_000, u64::MAX, true),
    ];
    for (rate, low, sampled) in cases {
        assert_eq!(Sampler::per_million(*rate).samples(None, id(*low)), *sampled, "{rate} {low}");
    }
}

#[test]
fn the_parent_decides_where_there_is_one() {
    for (rate, parent) in [(0, true), (0, false), (1_000_000, true), (1_000_000, false)] {
        let sampler = Sampler::per_million(rate);
        assert_eq!(sampler.samples(Some(parent), id(u64::MAX)), parent, "{rate} {parent}");
    }
}

#[test]
fn about_the_desired_share_of_random_ids_is_sampled() {
    // A generator of full period stands for chance (splitmix).
    let mut state = 7_u64;
    let mut next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    };
    let sampler = Sampler::per_million(100_000);
    let sampled = (0..10_000).filter(|_| sampler.samples(None, TraceId::of_random([next(), next()]))).count();
    assert!((900..1_100).contains(&sampled), "{sampled}");
}
