//! Log-linear latency histogram: 29 groups of 64 buckets over nanoseconds.
//!
//! Values below 128 ns have a bucket each; above, every power of two is cut into 64 equal
//! buckets (1.6 % wide). The last bucket takes everything from 2^34 ns (17 s) on.
//! Layout: `docs/statistics.md`.

/// Buckets of a histogram.
pub const BUCKETS: usize = 29 * 64;

/// The bucket that counts a latency of `ns` nanoseconds.
#[inline(always)]
pub fn bucket_of(ns: u64) -> usize {
    // `ns >> exponent` lies in 64..128 (below 128 ns in 0..128, with exponent 0), so the sum
    // needs no case distinction.
    let exponent = (ns | 127).ilog2() - 6;
    let index = exponent as usize * 64 + (ns >> exponent) as usize;
    index.min(BUCKETS - 1)
}

/// The latency in nanoseconds that a bucket stands for: its middle.
pub fn bucket_value(bucket: usize) -> u64 {
    debug_assert!(bucket < BUCKETS);
    if bucket < 128 {
        return bucket as u64;
    }
    let exponent = (bucket / 64 - 1) as u32;
    let step = (bucket % 64) as u64;
    (1u64 << (exponent + 6)) + (step << exponent) + (1u64 << (exponent - 1))
}
