//! From a job's settings to its engine, and to the loop that is built for it.

use ferrio_engines::{
    Burn, Burner, EngineError, Hint, Immediate, IoUring, IoUringSettings, Libaio, LibaioSettings,
    MapSettings, Mapped, Null, Positional, Region, RwFlags, Seeking, Spliced, Vsync, offload,
    posix_aio,
};
use ferrio_options::{
    CpuMode, CpuioOptions, EngineSpec, Fadvise, IoUringOptions, JobSpec, LibaioOptions,
    MmapOptions, Pvsync2Options,
};

use super::SetUp;
use crate::failure;
use crate::link::Failure;
use crate::memory::BufferMemory;

fn engine_failure(job: &JobSpec, error: &EngineError) -> Failure {
    failure!(error.code, error.label).advise(if error.advice.is_empty() {
        format!("the engine {} could not be started", job.engine.name())
    } else {
        error.advice.clone()
    })
}

impl SetUp<'_> {
    /// Makes engines of depth 1 in threads, and runs the job with all of them.
    fn start_offloaded(self, memory: BufferMemory) -> Result<(), Failure> {
        let job = self.job;
        let depth = job.queue.depth;
        let engine = match &job.engine {
            EngineSpec::Null => offload(depth, || Ok(Null::new(1))),
            EngineSpec::Psync => offload(depth, || Ok(Positional::plain())),
            EngineSpec::Pvsync => offload(depth, || Ok(Positional::vectored())),
            EngineSpec::Pvsync2(options) => {
                let flags = self.rw_flags(*options);
                offload(depth, move || Ok(Positional::flagged(flags)))
            }
            EngineSpec::Vsync => offload(depth, || Ok(Vsync::new(1))),
            EngineSpec::Libaio(options) => {
                let settings = self.aio_settings(*options);
                offload(depth, move || Libaio::new(1, settings))
            }
            EngineSpec::Posixaio => offload(depth, || posix_aio(1)),
            EngineSpec::Sync => offload(depth, || Ok(Immediate::Seeking(Seeking::default()))),
            EngineSpec::Mmap(options) => {
                let (regions, settings) = self.map_settings(*options);
                offload(depth, move || {
                    Mapped::new(regions.clone(), settings).map(Immediate::Mapped)
                })
            }
            EngineSpec::Splice => offload(depth, || Spliced::new().map(Immediate::Spliced)),
            EngineSpec::Falloc => offload(depth, || Ok(Immediate::Allocate)),
            EngineSpec::Ftruncate => offload(depth, || Ok(Immediate::Truncate)),
            EngineSpec::IoUring(_) | EngineSpec::FileOperation(_) | EngineSpec::Cpuio(_) => {
                return Err(failure!(libc::EINVAL, "offload").advise(format!(
                    "io_submit_mode=offload is not possible with the engine {}",
                    job.engine.name()
                )));
            }
        };
        let engine = engine.map_err(|error| engine_failure(job, &error))?;
        self.run(engine, memory)
    }

    fn rw_flags(&self, options: Pvsync2Options) -> RwFlags {
        RwFlags {
            polled_percent: options.hipri.then_some(options.hipri_percent),
            uncached: options.uncached && !self.job.target.direct,
            nowait: options.nowait,
            atomic: self.job.target.atomic,
        }
    }

    fn aio_settings(&self, options: LibaioOptions) -> LibaioSettings {
        LibaioSettings {
            nowait: options.nowait,
            atomic: self.job.target.atomic,
            vectored: options.vectored,
            polling: self.job.queue.complete_min == 0,
        }
    }

    /// Makes the job's engine and runs the job with it.
    pub(super) fn start(self, memory: BufferMemory) -> Result<(), Failure> {
        let job = self.job;
        if job.queue.offload {
            return self.start_offloaded(memory);
        }
        let depth = job.queue.depth;
        let failed = |error: EngineError| engine_failure(job, &error);
        match &job.engine {
            EngineSpec::Null => self.run(Null::new(depth), memory),
            EngineSpec::Psync => self.run(Positional::plain(), memory),
            EngineSpec::Pvsync => self.run(Positional::vectored(), memory),
            EngineSpec::Pvsync2(options) => {
                let flags = self.rw_flags(*options);
                self.run(Positional::flagged(flags), memory)
            }
            EngineSpec::Vsync => self.run(Vsync::new(depth), memory),
            EngineSpec::Libaio(options) => {
                let settings = self.aio_settings(*options);
                self.run(Libaio::new(depth, settings).map_err(failed)?, memory)
            }
            EngineSpec::IoUring(options) => {
                let settings = self.uring_settings(options);
                // SAFETY: `IoLoop` drops its engine before its memory.
                let engine = unsafe { IoUring::new(depth, settings, memory.buffers()) };
                self.run(engine.map_err(failed)?, memory)
            }
            EngineSpec::Posixaio => self.run(posix_aio(depth).map_err(failed)?, memory),
            EngineSpec::Sync => self.run(Immediate::Seeking(Seeking::default()), memory),
            EngineSpec::Mmap(options) => {
                let (regions, settings) = self.map_settings(*options);
                let engine = Mapped::new(regions, settings).map_err(failed)?;
                self.run(Immediate::Mapped(engine), memory)
            }
            EngineSpec::Splice => {
                let engine = Spliced::new().map_err(failed)?;
                self.run(Immediate::Spliced(engine), memory)
            }
            EngineSpec::Falloc => self.run(Immediate::Allocate, memory),
            EngineSpec::Ftruncate => self.run(Immediate::Truncate, memory),
            EngineSpec::FileOperation(_) => self.run(Immediate::Names, memory),
            EngineSpec::Cpuio(options) => {
                let engine = self.burner(options);
                self.run(Immediate::Burner(engine), memory)
            }
        }
    }

    fn uring_settings(&self, options: &IoUringOptions) -> IoUringSettings {
        IoUringSettings {
            hipri: options.hipri,
            fixed_buffers: options.fixed_buffers,
            register_files: self.job.engine.registers_files(),
            sq_poll: options.sq_poll,
            sq_poll_cpu: options.sq_poll_cpu,
            nonvectored: options.nonvectored,
            uncached: options.uncached && !self.job.target.direct,
            nowait: options.nowait,
            atomic: self.job.target.atomic,
            force_async: options.force_async,
            io_priority: self.job.placement.io_priority.unwrap_or(0) as u16,
        }
    }

    fn map_settings(&self, options: MmapOptions) -> (Vec<Region>, MapSettings) {
        let job = self.job;
        let pattern = &job.pattern;
        let regions = self.prepared.plan.files.iter().map(|file| Region {
            start: file.start,
            len: file.len,
        });
        let settings = MapSettings {
            reads: pattern.reads,
            writes: pattern.writes,
            direct: job.target.direct,
            flushes: pattern.fsync_every != 0 || pattern.fdatasync_every != 0,
            huge_pages: options.huge_pages,
            hint: match (job.target.fadvise, pattern.random) {
                (Fadvise::Sequential, _) | (Fadvise::ByPattern, false) => Hint::Sequential,
                (Fadvise::Random, _) | (Fadvise::ByPattern, true) => Hint::Random,
                (Fadvise::None | Fadvise::NoReuse, _) => Hint::Nothing,
            },
            block_min: pattern.min_block_all,
        };
        (regions.collect(), settings)
    }

    fn burner(&self, options: &CpuioOptions) -> Burner {
        let burn = match options.mode {
            CpuMode::Spin => Burn::Spin(u64::from(options.chunk_us)),
            CpuMode::Sort => Burn::Sort,
        };
        let page = self.page.clone();
        Burner::new(burn, options.load_percent, move || page.stop_requested())
    }
}
