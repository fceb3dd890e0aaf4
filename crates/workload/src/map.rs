//! The random map: which blocks of a file were used in this pass.
//!
//! One bit per block, and above it levels of 64-fold summaries whose bits mean "this word is
//! full", so that the next free block is found in a few steps however full the map is.
//!
//! ```text
//! level 0   one bit per block          |1011...|1111...|0000...|  words of 64
//! level 1   one bit per level-0 word   |01 ...                 |
//! level 2   one bit per level-1 word   |0 ...                  |
//! ```

/// Most levels that a map of 2⁶⁴ blocks needs.
const LEVELS_MAX: usize = 11;

/// Bit map with summaries.
#[derive(Clone, Debug)]
pub(crate) struct RandomMap {
    /// All levels, one after the other.
    words: Vec<u64>,
    /// First word of each level; one more entry marks the end of the last.
    starts: [usize; LEVELS_MAX + 1],
    levels: usize,
    blocks: u64,
    /// Blocks in words that have no bits behind the last block.
    whole_words_end: u64,
    used: bool,
}

/// Words of each level of a map over `blocks`, level 0 first.
fn level_words(blocks: u64) -> impl Iterator<Item = u64> {
    let mut last = false;
    std::iter::successors(Some(blocks.div_ceil(64).max(1)), |words| {
        Some(words.div_ceil(64))
    })
    .take_while(move |words| !std::mem::replace(&mut last, *words == 1))
}

impl RandomMap {
    /// Bytes that a map over `blocks` takes.
    pub(crate) fn bytes(blocks: u64) -> u64 {
        level_words(blocks).map(|words| words * 8).sum()
    }

    /// An empty map; `None` when the memory cannot be had. Pages are touched on first use only.
    pub(crate) fn new(blocks: u64) -> Option<Self> {
        let mut starts = [0; LEVELS_MAX + 1];
        let mut levels = 0;
        for words in level_words(blocks) {
            starts[levels + 1] = starts[levels] + usize::try_from(words).ok()?;
            levels += 1;
        }
        let total = starts[levels];
        // The zeroed allocation below ends the program when it fails; this one reports it.
        let mut probe: Vec<u64> = Vec::new();
        probe.try_reserve_exact(total).ok()?;
        drop(probe);
        Some(RandomMap {
            words: vec![0; total],
            starts,
            levels,
            blocks,
            whole_words_end: blocks & !63,
            used: false,
        })
    }

    /// Forgets all blocks.
    pub(crate) fn clear(&mut self) {
        if self.used {
            self.words.fill(0);
            self.used = false;
        }
    }

    /// The block if it is free, else the first free one behind it, else the first free one of all.
    /// `None` when there is none, or no such block.
    #[inline(always)]
    pub(crate) fn free_from(&self, block: u64) -> Option<u64> {
        // One test for both: a branch on whether the block itself is free would be a coin toss.
        if let Some(word) = self.words.get((block >> 6) as usize)
            && block < self.whole_words_end
        {
            let free = !word >> (block & 63);
            if free != 0 {
                return Some(block + u64::from(free.trailing_zeros()));
            }
        }
        self.search(block)
    }

    /// [`RandomMap::free_from`] beyond the block's own word.
    #[inline(never)]
    fn search(&self, block: u64) -> Option<u64> {
        if block >= self.blocks {
            return None;
        }
        self.first_free_from(block)
            .or_else(|| self.first_free_from(0))
    }

    /// First free block at or behind `from`.
    fn first_free_from(&self, from: u64) -> Option<u64> {
        let mut level = 0;
        let mut position = from as usize;
        // Up: until a word of this level has a clear bit at or behind the position.
        loop {
            let at = position >> 6;
            if at < self.level_len(level) {
                let free = !self.words[self.starts[level] + at] & (u64::MAX << (position & 63));
                if free != 0 {
                    position = (at << 6) + free.trailing_zeros() as usize;
                    break;
                }
            }
            level += 1;
            if level == self.levels {
                return None;
            }
            position = at + 1;
        }
        // Down: each summary bit names a word with a clear bit.
        while level > 0 {
            level -= 1;
            if position >= self.level_len(level) {
                return None;
            }
            let word = self.words[self.starts[level] + position];
            position = (position << 6) + (!word).trailing_zeros() as usize;
        }
        let block = position as u64;
        (block < self.blocks).then_some(block)
    }

    fn level_len(&self, level: usize) -> usize {
        self.starts[level + 1] - self.starts[level]
    }

    /// Uses one block that is known to be free.
    #[inline(always)]
    pub(crate) fn take_one(&mut self, block: u64) {
        let at = (block >> 6) as usize;
        self.used = true;
        if let Some(word) = self.words.get_mut(at) {
            *word |= 1 << (block & 63);
            if *word == u64::MAX {
                self.word_is_full(at);
            }
        }
    }

    /// Uses blocks from `block` on until `count` are used or one was used before; how many were.
    /// Bits behind the last block, but in its word, count as free blocks; others do not exist.
    pub(crate) fn take(&mut self, block: u64, count: u64) -> u64 {
        self.used = true;
        let mut taken = 0;
        while taken < count {
            let next = block + taken;
            let (at, bit) = ((next >> 6) as usize, next & 63);
            if at >= self.starts[1] {
                break;
            }
            let free_run = u64::from((self.words[at] >> bit).trailing_zeros()).min(64 - bit);
            let run = free_run.min(count - taken);
            if run == 0 {
                break;
            }
            self.words[at] |= (u64::MAX >> (64 - run)) << bit;
            if self.words[at] == u64::MAX {
                self.word_is_full(at);
            }
            taken += run;
            if bit + run < 64 {
                break;
            }
        }
        taken
    }

    /// Frees a block.
    pub(crate) fn release(&mut self, block: u64) {
        if block >= self.blocks {
            return;
        }
        let mut at = block as usize;
        for level in 0..self.levels {
            self.words[self.starts[level] + (at >> 6)] &= !(1 << (at & 63));
            at >>= 6;
        }
    }

    /// Marks a full word of level 0 in the summaries.
    #[inline(never)]
    fn word_is_full(&mut self, mut at: usize) {
        for level in 1..self.levels {
            let word = &mut self.words[self.starts[level] + (at >> 6)];
            *word |= 1 << (at & 63);
            if *word != u64::MAX {
                break;
            }
            at >>= 6;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A plain map with the same meaning.
    struct Model(Vec<bool>, u64);

    impl Model {
        fn new(blocks: u64) -> Self {
            Model(
                vec![false; blocks.div_ceil(64).max(1) as usize * 64],
                blocks,
            )
        }
        fn next_free(&self, block: u64) -> Option<u64> {
            (block + 1..self.1)
                .chain(0..self.1)
                .find(|b| !self.0[*b as usize])
        }
        fn take(&mut self, block: u64, count: u64) -> u64 {
            let mut taken = 0;
            while taken < count && self.0.get((block + taken) as usize) == Some(&false) {
                self.0[(block + taken) as usize] = true;
                taken += 1;
            }
            taken
        }
    }

    #[test]
    fn agrees_with_a_plain_map_until_full() {
        for blocks in [1, 2, 63, 64, 65, 100, 4095, 4096, 4097, 64 * 64 * 64 + 5] {
            let mut map = RandomMap::new(blocks).expect("small map");
            let mut model = Model::new(blocks);
            let mut generator = crate::rng::Taus32::new(blocks);
            for round in 0.. {
                let drawn = generator.scaled(blocks as f64);
                let found = map.free_from(drawn);
                let expected = if model.0[drawn as usize] {
                    model.next_free(drawn)
                } else {
                    Some(drawn)
                };
                assert_eq!(found, expected, "{blocks} blocks, round {round}");
                let Some(block) = found else { break };
                let count = 1 + generator.scaled(200.0);
                assert_eq!(
                    map.take(block, count),
                    model.take(block, count),
                    "{blocks} blocks, round {round}"
                );
            }
            map.clear();
            assert_eq!(map.free_from(blocks - 1), Some(blocks - 1));
        }
    }

    #[test]
    fn single_blocks_fill_every_level() {
        let blocks = 64 * 64 + 3;
        let mut map = RandomMap::new(blocks).expect("small map");
        for step in 0..blocks {
            let block = step * 61 % blocks;
            assert_eq!(map.free_from(block), Some(block));
            map.take_one(block);
        }
        assert_eq!(map.free_from(5), None);
        map.release(4000);
        assert_eq!(map.free_from(5), Some(4000));
        assert_eq!(map.free_from(4001), Some(4000));
        map.clear();
        assert_eq!(
            map.free_from(1 << 40),
            None,
            "there are no blocks behind the map"
        );
    }

    #[test]
    fn size_is_a_bit_per_block_and_a_sixtyfourth() {
        let blocks = 1_u64 << 35;
        let bytes = RandomMap::bytes(blocks);
        assert!(
            bytes >= blocks / 8 && bytes < blocks / 8 + blocks / 8 / 60,
            "{bytes}"
        );
        assert_eq!(RandomMap::bytes(0), 8);
    }
}
