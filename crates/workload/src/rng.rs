//! The two combined Tausworthe generators that every random decision of a job comes from.
//!
//! The recurrences are P. L'Ecuyer's (Mathematics of Computation 65, 1996, and 68, 1999); the
//! seeding (a chain of multiplications that starts from 53) is the one that fio's users know from
//! its repeatable traces.

/// 2⁻³², by which a 32-bit output becomes a fraction. Multiplying by it is exact.
const FRACTION_32: f64 = 1.0 / 4_294_967_296.0;
/// 2⁻⁶⁴, likewise for 64-bit outputs.
const FRACTION_64: f64 = 1.0 / 18_446_744_073_709_551_616.0;

/// Draws thrown away after seeding.
const WARM_UP_DRAWS: u32 = 6;

/// Three-word generator with 32-bit outputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taus32 {
    s: [u32; 3],
}

impl Taus32 {
    /// Seeds the generator. Only the low 32 bits of a master seed count.
    pub fn new(seed: u64) -> Self {
        #[allow(clippy::cast_possible_truncation)]
        let seed = seed as u32;
        let mut previous = 53_u32;
        let mut s = [0; 3];
        for (word, minimum) in s.iter_mut().zip([1, 7, 15]) {
            let value = previous.wrapping_mul(69069) ^ seed;
            previous = if value < minimum {
                value + minimum
            } else {
                value
            };
            *word = previous;
        }
        let mut generator = Taus32 { s };
        for _ in 0..WARM_UP_DRAWS {
            generator.next();
        }
        generator
    }

    /// Next output.
    #[inline(always)]
    pub(crate) fn next(&mut self) -> u32 {
        let [a, b, c] = self.s;
        let a = ((a & 0xffff_fffe) << 12) ^ (((a << 13) ^ a) >> 19);
        let b = ((b & 0xffff_fff8) << 4) ^ (((b << 2) ^ b) >> 25);
        let c = ((c & 0xffff_fff0) << 17) ^ (((c << 3) ^ c) >> 11);
        self.s = [a, b, c];
        a ^ b ^ c
    }

    /// ⌊`span` × output / 2³²⌋ in double precision.
    #[inline(always)]
    pub(crate) fn scaled(&mut self, span: f64) -> u64 {
        let fraction = f64::from(self.next()) * FRACTION_32;
        (span * fraction) as u64
    }

    /// Uniform in 1..=100: the draw behind every percentage.
    #[inline(always)]
    pub fn percent(&mut self) -> u32 {
        // 100 times an output has less than 53 bits, so the integer product is the exact one.
        1 + ((u64::from(self.next()) * 100) >> 32) as u32
    }
}

/// Five-word generator with 64-bit outputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Taus64 {
    s: [u64; 5],
}

impl Taus64 {
    /// Seeds the generator.
    pub(crate) fn new(seed: u64) -> Self {
        let mut previous = 53_u64;
        let mut s = [0; 5];
        for (word, minimum) in s.iter_mut().zip([1, 7, 15, 33, 49]) {
            let value = previous.wrapping_mul(6_906_969_069) ^ seed;
            previous = if value < minimum {
                value + minimum
            } else {
                value
            };
            *word = previous;
        }
        let mut generator = Taus64 { s };
        for _ in 0..WARM_UP_DRAWS {
            generator.next();
        }
        generator
    }

    /// Next output.
    #[inline(always)]
    pub(crate) fn next(&mut self) -> u64 {
        let [a, b, c, d, e] = self.s;
        let a = ((a & !0x1) << 10) ^ (((a << 1) ^ a) >> 53);
        let b = ((b & !0x1ff) << 5) ^ (((b << 24) ^ b) >> 50);
        let c = ((c & !0xfff) << 29) ^ (((c << 3) ^ c) >> 23);
        let d = ((d & !0x1_ffff) << 23) ^ (((d << 5) ^ d) >> 24);
        let e = ((e & !0x7f_ffff) << 8) ^ (((e << 3) ^ e) >> 33);
        self.s = [a, b, c, d, e];
        a ^ b ^ c ^ d ^ e
    }

    /// ⌊`span` × output / 2⁶⁴⌋ in double precision. An output near 2⁶⁴ rounds up, so the result
    /// can be `span` itself.
    #[inline(always)]
    pub(crate) fn scaled(&mut self, span: f64) -> u64 {
        let fraction = self.next() as f64 * FRACTION_64;
        (span * fraction) as u64
    }
}

/// Words of the larger state.
pub(crate) const WORDS_MAX: usize = 5;

/// A generator of either width.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Rng {
    /// 32-bit outputs.
    Narrow(Taus32),
    /// 64-bit outputs.
    Wide(Taus64),
}

impl Rng {
    /// Seeds a generator of the width asked for.
    pub(crate) fn new(seed: u64, wide: bool) -> Self {
        if wide {
            Rng::Wide(Taus64::new(seed))
        } else {
            Rng::Narrow(Taus32::new(seed))
        }
    }

    /// The generator whose state is `words`; the narrow one has three of 32 bits.
    pub(crate) fn from_words(words: &[u64; WORDS_MAX], wide: bool) -> Self {
        if wide {
            Rng::Wide(Taus64 { s: *words })
        } else {
            Rng::Narrow(Taus32 {
                s: [words[0] as u32, words[1] as u32, words[2] as u32],
            })
        }
    }

    /// Its state, as [`Rng::from_words`] takes it.
    pub(crate) fn words(&self) -> [u64; WORDS_MAX] {
        match self {
            Rng::Narrow(Taus32 { s: [a, b, c] }) => [(*a).into(), (*b).into(), (*c).into(), 0, 0],
            Rng::Wide(Taus64 { s }) => *s,
        }
    }

    /// Its outputs have 64 bits.
    pub(crate) fn is_wide(&self) -> bool {
        matches!(self, Rng::Wide(_))
    }

    /// Next output, widened to 64 bits.
    #[inline(always)]
    pub(crate) fn next(&mut self) -> u64 {
        match self {
            Rng::Narrow(generator) => u64::from(generator.next()),
            Rng::Wide(generator) => generator.next(),
        }
    }

    /// ⌊`span` × output / 2ʷ⌋ in double precision: the "integer below span" draw.
    #[inline(always)]
    pub(crate) fn scaled(&mut self, span: f64) -> u64 {
        match self {
            Rng::Narrow(generator) => generator.scaled(span),
            Rng::Wide(generator) => generator.scaled(span),
        }
    }

    /// Uniform in `low..=high`; always one draw.
    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        let mut span = high.wrapping_sub(low).wrapping_add(1);
        if let Rng::Narrow(_) = self {
            span &= u64::from(u32::MAX);
        }
        low.wrapping_add(self.scaled(span as f64))
    }

    /// Product of two outputs: the 64-bit seed of a buffer's contents.
    pub(crate) fn wide_seed(&mut self) -> u64 {
        let first = self.next();
        first.wrapping_mul(self.next())
    }
}
