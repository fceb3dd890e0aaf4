//! Linear feedback shift register: visits every block once without memory.

use crate::StreamError;

/// Feedback taps of each width from 3 to 63 (a maximal-length polynomial per width, as published
/// in the usual tables).
#[rustfmt::skip]
const TAPS: [&[u32]; 61] = [
    &[3, 2], &[4, 3], &[5, 3], &[6, 5], &[7, 6], &[8, 6, 5, 4], &[9, 5], &[10, 7], &[11, 9],
    &[12, 6, 4, 1], &[13, 4, 3, 1], &[14, 5, 3, 1], &[15, 14], &[16, 15, 13, 4], &[17, 14],
    &[18, 11], &[19, 6, 2, 1], &[20, 17], &[21, 19], &[22, 21], &[23, 18], &[24, 23, 22, 17],
    &[25, 22], &[26, 6, 2, 1], &[27, 5, 2, 1], &[28, 25], &[29, 27], &[30, 6, 4, 1], &[31, 28],
    &[32, 31, 29, 1], &[33, 20], &[34, 27, 2, 1], &[35, 33], &[36, 25], &[37, 5, 4, 3, 2, 1],
    &[38, 6, 5, 1], &[39, 35], &[40, 38, 21, 19], &[41, 38], &[42, 41, 20, 19],
    &[43, 42, 38, 37], &[44, 43, 18, 17], &[45, 44, 42, 41], &[46, 45, 26, 25], &[47, 42],
    &[48, 47, 21, 20], &[49, 40], &[50, 49, 24, 23], &[51, 50, 36, 35], &[52, 49],
    &[53, 52, 38, 37], &[54, 53, 18, 17], &[55, 31], &[56, 55, 35, 34], &[57, 50], &[58, 39],
    &[59, 58, 38, 37], &[60, 59], &[61, 60, 46, 45], &[62, 61, 6, 5], &[63, 62],
];

/// Widths with taps.
const WIDTH_MIN: u32 = 3;
const WIDTH_MAX: u32 = 63;

/// Largest spin that the register takes.
const SPIN_MAX: u64 = 15;

/// XNOR register over `blocks` values.
#[derive(Clone, Debug)]
pub(crate) struct Lfsr {
    value: u64,
    start: u64,
    taps: u64,
    high: u64,
    blocks: u64,
    handed_out: u64,
    spin: u64,
    /// Steps until the extra step that keeps the cycles of a spun register apart; 0 is never.
    countdown: u64,
    countdown_reload: u64,
}

impl Lfsr {
    /// Register over `0..blocks`, started from `seed`, that skips `spin` values between two.
    pub(crate) fn new(blocks: u64, seed: u64, spin: u64) -> Result<Self, StreamError> {
        let width = (u64::BITS - blocks.leading_zeros()).max(WIDTH_MIN);
        if width > WIDTH_MAX {
            return Err(StreamError::LfsrTooLong { blocks });
        }
        if spin > SPIN_MAX {
            return Err(StreamError::LfsrSpin { spin });
        }
        let period = (1_u64 << width) - 1;
        let start = seed & period;
        if start == period {
            // All ones is the one state that an XNOR register never leaves.
            return Err(StreamError::LfsrStart { blocks });
        }
        let taps = TAPS[(width - WIDTH_MIN) as usize]
            .iter()
            .fold(0, |mask, tap| mask | 1 << (tap - 1));
        let countdown_reload = countdown_reload(period, spin);
        Ok(Lfsr {
            value: start,
            start,
            taps,
            high: 1 << (width - 1),
            blocks,
            handed_out: 0,
            spin,
            countdown: countdown_reload + 1,
            countdown_reload,
        })
    }

    /// Next value below `blocks`; `None` when all were handed out.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<u64> {
        if self.handed_out >= self.blocks {
            return None;
        }
        self.handed_out += 1;
        loop {
            let mut steps = self.spin + 1;
            if self.countdown > 0 {
                self.countdown -= 1;
                if self.countdown == 0 {
                    steps += 1;
                    self.countdown = self.countdown_reload;
                }
            }
            for _ in 0..steps {
                let feedback = if self.value & 1 == 0 { self.taps } else { 0 };
                self.value = ((self.value >> 1) | self.high) ^ feedback;
            }
            if self.value < self.blocks {
                return Some(self.value);
            }
        }
    }

    /// Starts over. The countdown goes on where it is: a first pass takes its extra step, later
    /// ones do not, so they begin one value earlier in the cycle.
    pub(crate) fn restart(&mut self) {
        self.handed_out = 0;
        self.value = self.start;
    }
}

/// Values between two extra steps; 0 when the spin needs none.
fn countdown_reload(period: u64, spin: u64) -> u64 {
    let stride = spin + 1;
    let (quotient, remainder) = (period / stride, period % stride);
    (1..=spin)
        .find(|i| (remainder * i).is_multiple_of(stride))
        .map_or(0, |i| quotient * i + (remainder * i) / stride)
}
