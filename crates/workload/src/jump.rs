//! Far places of a generator's sequence, without walking there.
//!
//! A draw is linear over the bits of a state: the image of a word is the xor of the images of its
//! set bits. So any number of draws is a table of images, and tables are combined like powers.

use crate::rng::{Rng, WORDS_MAX};

/// Bits of a word of the wide generator; the narrow one uses the lower half.
const BITS_MAX: usize = 64;

/// Tables that stand for one digit of a distance.
const DIGITS: usize = 15;
const DIGIT_BITS: u32 = 4;

/// What a number of draws makes of each bit of each word.
type Images = [[u64; BITS_MAX]; WORDS_MAX];

/// Distances in multiples of a stride.
#[derive(Clone, Debug)]
pub(crate) struct Jumps {
    wide: bool,
    /// Per hexadecimal digit of the multiple, lowest first: the images of 1 to 15 of its units.
    digits: Vec<[Box<Images>; DIGITS]>,
}

/// Words of a state, and bits of a word.
fn shape(wide: bool) -> (usize, usize) {
    if wide { (5, 64) } else { (3, 32) }
}

/// The image of one word.
#[inline(always)]
fn image(images: &[u64], word: u64) -> u64 {
    let mut sum = 0;
    for (bit, image) in images.iter().enumerate() {
        sum ^= if word & 1 << bit == 0 { 0 } else { *image };
    }
    sum
}

/// The images of all words of a state.
#[inline(always)]
fn apply(images: &Images, state: &mut [u64; WORDS_MAX], wide: bool) {
    // Spelt out with constants, so that both widths are loops of known length.
    if wide {
        for (images, word) in images.iter().zip(state) {
            *word = image(images, *word);
        }
    } else {
        for (images, word) in images[..3].iter().zip(state) {
            *word = image(&images[..32], *word);
        }
    }
}

/// First `first`, then `second`.
fn combined(first: &Images, second: &Images, wide: bool) -> Box<Images> {
    let (words, bits) = shape(wide);
    let mut images = Box::new(*first);
    for bit in 0..bits {
        let mut state: [u64; WORDS_MAX] = std::array::from_fn(|word| first[word][bit]);
        apply(second, &mut state, wide);
        for word in 0..words {
            images[word][bit] = state[word];
        }
    }
    images
}

/// One draw.
fn single(wide: bool) -> Box<Images> {
    let (words, bits) = shape(wide);
    let mut images = Box::new([[0; BITS_MAX]; WORDS_MAX]);
    for word in 0..words {
        for bit in 0..bits {
            let mut state = [0; WORDS_MAX];
            state[word] = 1 << bit;
            let mut generator = Rng::from_words(&state, wide);
            generator.next();
            images[word][bit] = generator.words()[word];
        }
    }
    images
}

/// `draws` draws, at least one.
fn power(draws: u64, wide: bool) -> Box<Images> {
    let mut power = single(wide);
    let one = power.clone();
    for bit in (0..draws.ilog2()).rev() {
        power = combined(&power, &power, wide);
        if draws & 1 << bit != 0 {
            power = combined(&power, &one, wide);
        }
    }
    power
}

impl Jumps {
    /// Multiples of `stride` draws (at least one) up to the `largest`.
    pub(crate) fn new(wide: bool, stride: u64, largest: u64) -> Self {
        let mut unit = power(stride, wide);
        let mut digits = Vec::new();
        let mut left = largest;
        while left > 0 {
            let mut multiple = unit.clone();
            let tables: [Box<Images>; DIGITS] = std::array::from_fn(|_| {
                let table = multiple.clone();
                multiple = combined(&multiple, &unit, wide);
                table
            });
            digits.push(tables);
            unit = multiple;
            left >>= DIGIT_BITS;
        }
        Jumps { wide, digits }
    }

    /// The generator, `multiple` strides on. It has to be of the width of the jumps.
    pub(crate) fn ahead(&self, generator: &Rng, multiple: u64) -> Rng {
        let mut state = generator.words();
        let mut left = multiple;
        for tables in &self.digits {
            let digit = (left % (1 << DIGIT_BITS)) as usize;
            if digit != 0 {
                apply(&tables[digit - 1], &mut state, self.wide);
            }
            left >>= DIGIT_BITS;
        }
        Rng::from_words(&state, self.wide)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jump_ends_where_a_walk_does() {
        for wide in [false, true] {
            for stride in [1, 2, 7, 16] {
                let start = Rng::new(0x0123_4567_89ab_cdef, wide);
                let jumps = Jumps::new(wide, stride, 300);
                let mut walker = start.clone();
                for multiple in 0..=300 {
                    assert_eq!(
                        jumps.ahead(&start, multiple),
                        walker,
                        "{stride}, {multiple}"
                    );
                    (0..stride).for_each(|_| {
                        walker.next();
                    });
                }
            }
        }
    }

    #[test]
    fn jumps_add_up() {
        for wide in [false, true] {
            let start = Rng::new(99, wide);
            let jumps = Jumps::new(wide, 16, u64::MAX);
            let halfway = jumps.ahead(&start, 1 << 62);
            let further = jumps.ahead(&halfway, 12_345);
            assert_eq!(further, jumps.ahead(&start, (1 << 62) + 12_345));
            assert_ne!(further, halfway);
        }
    }
}
