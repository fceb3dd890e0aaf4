//! The two hash functions that enter the sequence of operations.

/// 2⁶⁴ divided by the golden ratio, as a multiplier that scatters ranks and fills buffers.
pub(crate) const GOLDEN_64: u64 = 0x61C8_8646_80B5_83EB;

/// Start value of [`name_hash`].
const GOLDEN_32: u32 = 0x61C8_8647;

/// Scatters the rank that a skewed distribution drew, so that popular blocks are not neighbours.
#[inline(always)]
pub(crate) fn rank_hash(rank: u64) -> u64 {
    rank.wrapping_mul(GOLDEN_64)
}

/// Hash of a file name: Bob Jenkins' lookup3, byte-wise, with a fixed start.
///
/// Blocks of twelve bytes add only their bytes 0, 4 and 8. That is weaker than lookup3, and kept:
/// the seeds of the files' distributions depend on it.
pub(crate) fn name_hash(name: &[u8]) -> u32 {
    let start = GOLDEN_32.wrapping_add(name.len() as u32);
    let (mut a, mut b, mut c) = (start, start, start);
    let mut rest = name;
    while rest.len() > 12 {
        a = a.wrapping_add(u32::from(rest[0]));
        b = b.wrapping_add(u32::from(rest[4]));
        c = c.wrapping_add(u32::from(rest[8]));
        (a, b, c) = mix(a, b, c);
        rest = &rest[12..];
    }
    if rest.is_empty() {
        return c;
    }
    let mut tail = [0_u8; 12];
    tail[..rest.len()].copy_from_slice(rest);
    let word = |at: usize| u32::from_le_bytes([tail[at], tail[at + 1], tail[at + 2], tail[at + 3]]);
    finish(
        a.wrapping_add(word(0)),
        b.wrapping_add(word(4)),
        c.wrapping_add(word(8)),
    )
}

/// lookup3's reversible mix of three words.
fn mix(mut a: u32, mut b: u32, mut c: u32) -> (u32, u32, u32) {
    for (first, second, third) in [(4, 6, 8), (16, 19, 4)] {
        a = a.wrapping_sub(c) ^ c.rotate_left(first);
        c = c.wrapping_add(b);
        b = b.wrapping_sub(a) ^ a.rotate_left(second);
        a = a.wrapping_add(c);
        c = c.wrapping_sub(b) ^ b.rotate_left(third);
        b = b.wrapping_add(a);
    }
    (a, b, c)
}

/// lookup3's final mix; the third word is the hash.
fn finish(mut a: u32, mut b: u32, mut c: u32) -> u32 {
    c = (c ^ b).wrapping_sub(b.rotate_left(14));
    a = (a ^ c).wrapping_sub(c.rotate_left(11));
    b = (b ^ a).wrapping_sub(a.rotate_left(25));
    c = (c ^ b).wrapping_sub(b.rotate_left(16));
    a = (a ^ c).wrapping_sub(c.rotate_left(4));
    b = (b ^ a).wrapping_sub(a.rotate_left(14));
    (c ^ b).wrapping_sub(b.rotate_left(24))
}
