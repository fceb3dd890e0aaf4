//! One file of a stream: its region, cursors and random state.

use crate::geometry::FileGeometry;
use crate::lfsr::Lfsr;
use crate::map::RandomMap;
use crate::rank::RankDistribution;

/// Start of the last operation, when there is none.
pub(super) const NONE: u64 = u64::MAX;

/// Whether a file takes operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Closed,
    Open,
    /// At its end, but operations are outstanding.
    Closing,
}

/// Blocks to draw from, also as a floating-point number.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Span {
    pub(super) blocks: u64,
    pub(super) blocks_f64: f64,
}

impl Span {
    pub(super) fn new(blocks: u64) -> Self {
        Span {
            blocks,
            blocks_f64: blocks as f64,
        }
    }
}

#[derive(Debug)]
pub(super) struct File {
    pub(super) state: State,
    /// Has no further operation in this pass.
    pub(super) done: bool,
    /// Operations handed out and not completed.
    pub(super) outstanding: u32,
    /// What relative offsets count from: the region's start, or that of the strided zone.
    pub(super) base: u64,
    /// Length of the region.
    pub(super) len: u64,
    /// Size of the file.
    pub(super) real: u64,
    /// End of the region, as lengths are fitted to it.
    pub(super) region_end: u64,
    /// Position behind the last operation, per direction.
    pub(super) position: [u64; 3],
    /// Start of the last operation, per direction.
    pub(super) last: [u64; 3],
    pub(super) spans: [Span; 3],
    pub(super) map: Option<RandomMap>,
    pub(super) lfsr: Option<Lfsr>,
    pub(super) rank: Option<Box<RankDistribution>>,
    /// Start of the region at the start of a pass after the first.
    pub(super) start: u64,
    /// Lowest and highest position written since the last `sync_file_range`.
    pub(super) written: Option<(u64, u64)>,
    pub(super) name: Box<[u8]>,
}

impl File {
    pub(super) fn new(geometry: &FileGeometry) -> Self {
        File {
            state: State::Closed,
            done: false,
            outstanding: 0,
            base: geometry.start,
            len: geometry.len,
            real: geometry.real_size,
            region_end: geometry.len.saturating_add(geometry.later_start),
            position: [geometry.start; 3],
            last: [NONE; 3],
            spans: [Span::default(); 3],
            map: None,
            lfsr: None,
            rank: None,
            start: geometry.later_start,
            written: None,
            name: geometry.name.as_slice().into(),
        }
    }

    /// In trimwrite jobs: every trim of the file has had its write.
    #[inline(always)]
    pub(super) fn trim_is_next(&self) -> bool {
        self.last[super::WRITE] == self.last[super::TRIM]
    }

    /// Bytes of the region that exist.
    pub(super) fn usable(&self) -> u64 {
        self.len.min(self.real)
    }

    /// Starts the file over.
    pub(super) fn rewind(&mut self) {
        self.position = [self.base; 3];
        self.last = [NONE; 3];
        if let Some(map) = &mut self.map {
            map.clear();
        } else if let Some(lfsr) = &mut self.lfsr {
            lfsr.restart();
        }
    }

    /// The path as shown to people.
    pub(super) fn display(&self) -> String {
        String::from_utf8_lossy(&self.name).into_owned()
    }
}
