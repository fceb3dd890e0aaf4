//! The cpuio engine: each request burns CPU time. No system calls but the clock's.

use std::hint::{black_box, spin_loop};
use std::time::{Duration, Instant};

use crate::{Outcome, Queued};

/// Numbers in an array that is sorted: 1 MiB.
const NUMBERS: usize = 262_144;

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Burn {
    /// Spins for this many microseconds.
    Spin(u64),
    /// Sorts the same numbers four times, in different orders.
    Sort,
}

/// See the module's head.
pub struct Burner {
    burn: Burn,
    load_percent: u64,
    numbers: Vec<u32>,
    /// Pause after the last request, where that is measured.
    pause_us: Option<u64>,
    /// The job is to end: a request may last for seconds.
    stopped: Box<dyn Fn() -> bool>,
}

impl std::fmt::Debug for Burner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Burner")
            .field("burn", &self.burn)
            .finish_non_exhaustive()
    }
}

/// The numbers to sort: two multiply-with-carry generators.
fn numbers() -> Vec<u32> {
    let (mut w, mut z) = (521_288_629_u32, 362_436_069_u32);
    let mut next = || {
        z = 36969_u32.wrapping_mul(z & 0xffff).wrapping_add(z >> 16);
        w = 18000_u32.wrapping_mul(w & 0xffff).wrapping_add(w >> 16);
        (z << 16).wrapping_add(w)
    };
    (0..NUMBERS).map(|_| next()).collect()
}

impl Burner {
    /// An engine whose requests take `load_percent` of the time, pauses included. A request ends
    /// early once `stopped` says so.
    pub fn new(burn: Burn, load_percent: u32, stopped: impl Fn() -> bool + 'static) -> Self {
        let numbers = match burn {
            Burn::Spin(_) => Vec::new(),
            Burn::Sort => numbers(),
        };
        Burner {
            burn,
            load_percent: u64::from(load_percent.clamp(1, 100)),
            numbers,
            pause_us: None,
            stopped: Box::new(stopped),
        }
    }

    pub(crate) fn pause_us(&self) -> Option<u64> {
        self.pause_us
    }

    pub(crate) fn run(&mut self) -> Queued {
        let start = Instant::now();
        match self.burn {
            Burn::Spin(us) => {
                let length = Duration::from_micros(us);
                while start.elapsed() < length && !(self.stopped)() {
                    for _ in 0..64 {
                        spin_loop();
                    }
                }
            }
            Burn::Sort => {
                self.sort();
                let us = start.elapsed().as_micros() as u64;
                self.pause_us = Some(us * (100 - self.load_percent) / self.load_percent);
            }
        }
        Queued::Completed(Outcome::default())
    }

    fn sort(&mut self) {
        let steps: [fn(&mut [u32]); 4] = [
            |numbers| numbers.sort_unstable(),
            |numbers| numbers.sort_unstable_by(|a, b| b.cmp(a)),
            |numbers| {
                let mut bytes: Vec<u8> = numbers.iter().flat_map(|n| n.to_ne_bytes()).collect();
                bytes.sort_unstable();
                for (number, word) in numbers.iter_mut().zip(bytes.as_chunks::<4>().0) {
                    *number = u32::from_ne_bytes(*word);
                }
            },
            |numbers| numbers.sort_unstable_by(|a, b| b.cmp(a)),
        ];
        for step in steps {
            if (self.stopped)() {
                return;
            }
            step(&mut self.numbers);
            black_box(&mut self.numbers);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::rc::Rc;

    use super::*;

    #[test]
    fn spins_as_long_as_asked() {
        let mut burner = Burner::new(Burn::Spin(3000), 50, || false);
        let start = Instant::now();
        assert_eq!(burner.run(), Queued::Completed(Outcome::default()));
        assert!(start.elapsed() >= Duration::from_micros(3000));
        assert_eq!(burner.pause_us(), None);
    }

    #[test]
    fn ends_when_the_job_is_to_end() {
        let asked = Rc::new(Cell::new(0));
        let seen = Rc::clone(&asked);
        let mut burner = Burner::new(Burn::Spin(u64::MAX / 2), 50, move || {
            seen.set(seen.get() + 1);
            seen.get() > 10
        });
        burner.run();
        assert_eq!(asked.get(), 11);
    }

    #[test]
    fn a_sort_decides_its_pause() {
        let mut burner = Burner::new(Burn::Sort, 50, || false);
        assert_eq!(burner.numbers.len() * 4, 1 << 20);
        burner.run();
        assert!(burner.pause_us().is_some_and(|us| us > 0));
        // The last order is descending.
        assert!(burner.numbers.is_sorted_by(|a, b| a >= b));
        let mut full = Burner::new(Burn::Sort, 100, || false);
        full.run();
        assert_eq!(full.pause_us(), Some(0));
    }

    #[test]
    fn the_first_numbers_are_those_of_the_generator() {
        let all = numbers();
        let z = 36969_u32
            .wrapping_mul(362_436_069 & 0xffff)
            .wrapping_add(362_436_069 >> 16);
        let w = 18000_u32
            .wrapping_mul(521_288_629 & 0xffff)
            .wrapping_add(521_288_629 >> 16);
        assert_eq!(all[0], (z << 16).wrapping_add(w));
        assert_ne!(all[0], all[1]);
    }
}
