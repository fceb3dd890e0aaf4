//! Which file serves the next operation.

use ferrio_options::{FileService, JobSpec};

use super::file::{File, State};
use super::{FileEvents, OpStream};
use crate::rank::{RankDistribution, RankKind, ZetaCache};
use crate::rng::Rng;
use crate::seeds::{Purpose, Seeds};

/// Values of the distribution per file.
const RANGES_PER_FILE: u64 = 1 << RANGE_SHIFT;
const RANGE_SHIFT: u32 = 10;

/// Draws of a skewed choice, after which any file that can be used is taken: those that can be
/// drawn may all be unusable.
const RANK_DRAWS_MAX: u32 = 100_000;

/// How files take turns.
#[derive(Debug)]
enum Service {
    RoundRobin,
    Sequential,
    Random(Rng),
    Rank(Box<RankDistribution>),
}

impl Service {
    fn new(spec: FileService, files: usize, wide: bool, seeds: &Seeds) -> Self {
        let seed = seeds[Purpose::FileChoice as usize];
        let rank = |kind, center| {
            let ranges = files as u64 * RANGES_PER_FILE;
            let mut sums = ZetaCache::default();
            Service::Rank(Box::new(RankDistribution::new(
                kind,
                ranges,
                center,
                seed as u32,
                false,
                &mut sums,
            )))
        };
        match spec {
            FileService::RoundRobin { .. } => Service::RoundRobin,
            FileService::Sequential { .. } => Service::Sequential,
            FileService::Random { .. } => Service::Random(Rng::new(seed, wide)),
            FileService::Zipf { theta, center } => rank(RankKind::Zipf(theta), center),
            FileService::Pareto { h, center } => rank(RankKind::Pareto(h), center),
            FileService::Normal { deviation, center } => rank(RankKind::Normal(deviation), center),
        }
    }
}

/// The choice of files.
#[derive(Debug)]
pub(super) struct Picker {
    spec: FileService,
    service: Service,
    /// Operations a visit, at least 1.
    count: u64,
    cursor: usize,
    in_service: Option<usize>,
    turns_left: u64,
    /// Files that may be open at a time.
    open_max: usize,
    pub(super) open: usize,
    pub(super) done: usize,
    /// Closing files whose last operation completed.
    pub(super) to_close: usize,
}

/// Answer of the choice.
pub(super) enum Pick {
    File(usize),
    Busy,
    None,
}

impl Picker {
    pub(super) fn new(job: &JobSpec, files: usize, wide: bool, seeds: &Seeds) -> Self {
        let spec = job.target.service;
        let count = match spec {
            FileService::RoundRobin { count }
            | FileService::Sequential { count }
            | FileService::Random { count } => count,
            FileService::Zipf { .. } | FileService::Pareto { .. } | FileService::Normal { .. } => 1,
        };
        Picker {
            spec,
            service: Service::new(spec, files, wide, seeds),
            count: u64::from(count.max(1)),
            cursor: 0,
            in_service: None,
            turns_left: 0,
            open_max: match job.target.openfiles as usize {
                0 => files,
                limit => limit,
            },
            open: 0,
            done: 0,
            to_close: 0,
        }
    }

    /// Starts the choice's draws over; cursor and file in service stay.
    pub(super) fn reseed(&mut self, files: usize, wide: bool, seeds: &Seeds) {
        self.service = Service::new(self.spec, files, wide, seeds);
    }

    /// Files that end are used again at once.
    pub(super) fn reuses_files(&self) -> bool {
        matches!(self.service, Service::Rank(_))
    }
}

impl OpStream {
    /// Chooses a file and opens it if need be.
    pub(super) fn pick_file(&mut self, events: &mut impl FileEvents) -> Pick {
        if self.picker.to_close > 0 {
            self.close_ended(events);
        }
        // A file that cannot be opened counts as done, so the number of turns is bounded.
        loop {
            if self.picker.done >= self.files.len() {
                return Pick::None;
            }
            if let Some(current) = self
                .picker
                .in_service
                .filter(|file| self.files[*file].state == State::Open)
            {
                if matches!(self.picker.service, Service::Sequential) {
                    return Pick::File(current);
                }
                if self.picker.turns_left > 0 {
                    self.picker.turns_left -= 1;
                    return Pick::File(current);
                }
            }
            let Some(index) = self.candidate() else {
                return Pick::Busy;
            };
            match self.files[index].state {
                State::Open => {}
                State::Closing => return Pick::Busy,
                State::Closed if self.picker.open >= self.picker.open_max => return Pick::Busy,
                State::Closed => {
                    if !self.open_file(index, events) {
                        continue;
                    }
                }
            }
            self.picker.in_service = Some(index);
            self.picker.turns_left = self.picker.count - 1;
            return Pick::File(index);
        }
    }

    /// A file that is not done; there is one.
    fn candidate(&mut self) -> Option<usize> {
        let count = self.files.len();
        match &mut self.picker.service {
            Service::RoundRobin | Service::Sequential => {
                for _ in 0..count {
                    let index = self.picker.cursor;
                    self.picker.cursor = if index + 1 == count { 0 } else { index + 1 };
                    if !self.files[index].done {
                        return Some(index);
                    }
                }
                None
            }
            Service::Random(draws) => loop {
                let index = (draws.scaled(count as f64) as usize).min(count - 1);
                if !self.files[index].done {
                    return Some(index);
                }
            },
            // A file at its end is skipped until it is closed, and is then used again.
            Service::Rank(distribution) => {
                let takes = |file: &File| !file.done && file.state != State::Closing;
                let first = self.files.iter().position(takes)?;
                for _ in 0..RANK_DRAWS_MAX {
                    let index = ((distribution.next() >> RANGE_SHIFT) as usize).min(count - 1);
                    if takes(&self.files[index]) {
                        return Some(index);
                    }
                }
                Some(first)
            }
        }
    }

    fn open_file(&mut self, index: usize, events: &mut impl FileEvents) -> bool {
        if !events.open(index as u32) {
            self.files[index].done = true;
            self.picker.done += 1;
            return false;
        }
        self.files[index].rewind();
        self.files[index].state = State::Open;
        self.picker.open += 1;
        self.single_open = self.files.len() == 1;
        true
    }

    /// A file that cannot give an operation: it is closed, and is done unless it is used again.
    #[cold]
    pub(super) fn file_failed(&mut self, index: usize, events: &mut impl FileEvents) {
        self.single_open = false;
        let file = &mut self.files[index];
        if self.picker.reuses_files() {
            file.rewind();
        } else {
            file.done = true;
            self.picker.done += 1;
        }
        file.state = State::Closing;
        events.closing(index as u32);
        if file.outstanding == 0 {
            self.close_file(index, events);
        }
    }

    fn close_file(&mut self, index: usize, events: &mut impl FileEvents) {
        self.files[index].state = State::Closed;
        self.picker.open -= 1;
        self.single_open = false;
        events.close(index as u32);
    }

    /// Closes files that ended and have no operation outstanding any more.
    #[cold]
    pub(super) fn close_ended(&mut self, events: &mut impl FileEvents) {
        for index in 0..self.files.len() {
            if self.files[index].state == State::Closing && self.files[index].outstanding == 0 {
                self.close_file(index, events);
            }
        }
        self.picker.to_close = 0;
    }

    /// Closes every open file, in index order: at the start of a pass, and at the end of the job.
    pub fn close_all(&mut self, events: &mut impl FileEvents) {
        for index in 0..self.files.len() {
            if self.files[index].state != State::Closed {
                if self.files[index].state == State::Open {
                    events.closing(index as u32);
                }
                self.close_file(index, events);
            }
        }
        self.picker.to_close = 0;
    }

    /// Whether a file is open.
    pub fn is_open(&self, file: u32) -> bool {
        self.files
            .get(file as usize)
            .is_some_and(|file| file.state != State::Closed)
    }
}
