//! Which file serves the next operation.

use ferrio_options::{FileService, JobSpec};

use super::file::{File, State};
use super::{FileEvents, OpStream};
use crate::map::RandomMap;
use crate::rank::{RankDistribution, RankKind, ZetaCache};
use crate::rng::Rng;
use crate::seeds::{Purpose, Seeds};

/// Values of the distribution per file.
const RANGES_PER_FILE: u64 = 1 << RANGE_SHIFT;
const RANGE_SHIFT: u32 = 10;

/// Turns without an answer after which the caller is asked to wait, so that it can look at the time.
const TURNS_MAX: usize = 4096;

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
    open: usize,
    done: usize,
    closing: usize,
    /// Files that are done, and files that are not open: with many files, most turns would go by
    /// files that cannot be used.
    done_files: RandomMap,
    shut_files: RandomMap,
    /// Closing files whose last operation completed; has room for all files.
    pub(super) to_close: Vec<u32>,
    /// Operations handed out and not completed, of all files.
    pub(super) outstanding: u64,
}

/// Answer of the choice.
pub(super) enum Pick {
    File(usize),
    Busy,
    None,
}

impl Picker {
    /// The choice among `files`; `None` when there is no memory for so many.
    pub(super) fn new(job: &JobSpec, files: usize, wide: bool, seeds: &Seeds) -> Option<Self> {
        let spec = job.target.service;
        let count = match spec {
            FileService::RoundRobin { count }
            | FileService::Sequential { count }
            | FileService::Random { count } => count,
            FileService::Zipf { .. } | FileService::Pareto { .. } | FileService::Normal { .. } => 1,
        };
        let mut shut_files = RandomMap::new(files as u64)?;
        shut_files.take(0, files as u64);
        Some(Picker {
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
            closing: 0,
            done_files: RandomMap::new(files as u64)?,
            shut_files,
            to_close: Vec::with_capacity(files),
            outstanding: 0,
        })
    }

    /// Starts the choice's draws over; cursor and file in service stay.
    pub(super) fn reseed(&mut self, files: usize, wide: bool, seeds: &Seeds) {
        self.service = Service::new(self.spec, files, wide, seeds);
    }

    /// A new pass: no file is done.
    pub(super) fn restart(&mut self) {
        self.done = 0;
        self.done_files.clear();
        self.outstanding = 0;
    }

    /// Whether all files are done.
    pub(super) fn all_done(&self, files: usize) -> bool {
        self.done >= files
    }

    fn set_done(&mut self, index: usize) {
        self.done += 1;
        self.done_files.take_one(index as u64);
    }

    /// The file that served last.
    pub(super) fn current(&self) -> Option<usize> {
        self.in_service
    }

    /// Files that end are used again at once.
    pub(super) fn reuses_files(&self) -> bool {
        matches!(self.service, Service::Rank(_))
    }
}

impl OpStream {
    /// Chooses a file and opens it if need be.
    pub(super) fn pick_file(&mut self, events: &mut impl FileEvents) -> Pick {
        if !self.picker.to_close.is_empty() {
            self.close_ended(events);
        }
        // A file that cannot be opened counts as done, so they run out. Where nothing is
        // outstanding, busy turns are taken here: nothing but time would pass between them.
        for _ in 0..TURNS_MAX.max(self.files.len()) {
            if self.picker.all_done(self.files.len()) {
                return Pick::None;
            }
            if let Some(current) = self.picker.in_service
                && self.files[current].state == State::Open
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
            if self.files[index].state != State::Open {
                if self.picker.open >= self.picker.open_max {
                    if self.picker.outstanding > 0 {
                        return Pick::Busy;
                    }
                    continue;
                }
                if !self.open_file(index, events) {
                    continue;
                }
            }
            self.picker.in_service = Some(index);
            self.picker.turns_left = self.picker.count - 1;
            return Pick::File(index);
        }
        Pick::Busy
    }

    /// The next file by the service's rule that is not done nor closing.
    fn candidate(&mut self) -> Option<usize> {
        let count = self.files.len();
        let picker = &mut self.picker;
        match &mut picker.service {
            Service::RoundRobin | Service::Sequential => {
                let mut index = picker.done_files.free_from(picker.cursor as u64)?;
                if picker.outstanding == 0 && picker.open >= picker.open_max {
                    // All files up to the next open one would be passed by as busy.
                    index = picker.shut_files.free_from(picker.cursor as u64)?;
                }
                let index = index as usize;
                picker.cursor = if index + 1 == count { 0 } else { index + 1 };
                Some(index)
            }
            Service::Random(draws) => loop {
                let index = (draws.scaled(count as f64) as usize).min(count - 1);
                if !self.files[index].done {
                    return Some(index);
                }
            },
            // A file at its end is skipped until it is closed, and is then used again.
            Service::Rank(distribution) => {
                if picker.done + picker.closing >= count {
                    return None;
                }
                let takes = |file: &File| !file.done && file.state != State::Closing;
                for _ in 0..RANK_DRAWS_MAX {
                    let index = ((distribution.next() >> RANGE_SHIFT) as usize).min(count - 1);
                    if takes(&self.files[index]) {
                        return Some(index);
                    }
                }
                self.files.iter().position(takes)
            }
        }
    }

    fn open_file(&mut self, index: usize, events: &mut impl FileEvents) -> bool {
        if !events.open(index as u32) {
            self.files[index].done = true;
            self.picker.set_done(index);
            return false;
        }
        self.files[index].rewind();
        self.files[index].state = State::Open;
        self.picker.open += 1;
        self.picker.shut_files.release(index as u64);
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
            self.picker.set_done(index);
        }
        file.state = State::Closing;
        self.picker.closing += 1;
        events.closing(index as u32);
        if file.outstanding == 0 {
            self.close_file(index, events);
        }
    }

    fn close_file(&mut self, index: usize, events: &mut impl FileEvents) {
        let file = &mut self.files[index];
        if file.state == State::Closing {
            self.picker.closing -= 1;
        }
        file.state = State::Closed;
        self.picker.open -= 1;
        self.picker.shut_files.take_one(index as u64);
        self.single_open = false;
        events.close(index as u32);
    }

    /// Closes files that ended and have no operation outstanding any more.
    #[cold]
    pub(super) fn close_ended(&mut self, events: &mut impl FileEvents) {
        for at in 0..self.picker.to_close.len() {
            let index = self.picker.to_close[at] as usize;
            self.close_file(index, events);
        }
        self.picker.to_close.clear();
    }

    /// Closes every open file, in index order: at the start of a pass, and at the end of the job.
    pub fn close_all(&mut self, events: &mut impl FileEvents) {
        while let Some(index) = self.picker.shut_files.free_from(0) {
            let index = index as usize;
            if self.files[index].state == State::Open {
                events.closing(index as u32);
            }
            self.close_file(index, events);
        }
        self.picker.to_close.clear();
    }

    /// Whether a file is open.
    pub fn is_open(&self, file: u32) -> bool {
        self.files
            .get(file as usize)
            .is_some_and(|file| file.state != State::Closed)
    }
}
