//! Files written by fio 3.42: the same data, byte for byte.

mod common;

use common::engine::{Device, run};
use ferrio_options::JobSpec;
use ferrio_workload::content::{BufferStart, Content};
use ferrio_workload::{Op, OpKind};
use ferrio_workload::{geometry, seeds};
use serde_json::Value;

/// A file in memory, and the buffers of the slots.
struct Memory {
    content: Content,
    file: Vec<u8>,
    buffers: Vec<Vec<u8>>,
}

impl Memory {
    fn new(job: &JobSpec, plan: &geometry::Plan, mut content: Content) -> Self {
        let size = usize::try_from(plan.files[0].real_size).expect("small file");
        let mut file = vec![0; size];
        if job.pattern.reads || job.target.overwrite {
            let unit = usize::try_from(job.pattern.block[1].max).expect("small block");
            file.chunks_mut(unit)
                .for_each(|chunk| content.fill_layout(chunk));
        }
        let buffer = usize::try_from(job.pattern.max_buffer_len()).expect("small block");
        let mut buffers = vec![vec![0; buffer]; job.queue.depth as usize];
        if job.pattern.writes {
            buffers
                .iter_mut()
                .for_each(|buffer| content.fill_start(buffer));
        }
        Memory {
            content,
            file,
            buffers,
        }
    }
}

impl Device for Memory {
    fn next_pass(&mut self) {
        self.content.reseed();
    }

    fn issue(&mut self, slot: usize, op: &Op) {
        let (start, len) = (op.offset as usize, op.len as usize);
        let buffer = &mut self.buffers[slot][..len];
        let place = &mut self.file[start..start + len];
        match op.kind {
            OpKind::Read => buffer.copy_from_slice(place),
            OpKind::Write => {
                self.content.before_write(buffer, op.offset, (0, 0));
                place.copy_from_slice(buffer);
            }
            _ => {}
        }
    }
}

/// The contents of a job among all jobs of its command line.
fn content(job: &JobSpec, jobs: &[JobSpec]) -> Result<Content, String> {
    let seeds = |job: &JobSpec| seeds::of_job(job).ok_or("no seeds");
    let mut starts = Vec::new();
    for job in jobs {
        starts.push(BufferStart::new(job, &seeds(job)?));
    }
    Ok(Content::with_seeds(job, &seeds(job)?, &starts))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn files_written() -> Result<(), Box<dyn std::error::Error>> {
    let vectors: Value = serde_json::from_str(include_str!("data/verify-buffers.json"))?;
    let mut compared = 0;
    for row in vectors.as_array().ok_or("no rows")? {
        let command = row["cmd"].as_str().ok_or("no command line")?;
        let jobs = common::jobs(command)?;
        // The job whose file it is.
        let name = row["name"].as_str().ok_or("no name")?;
        let job = &jobs[usize::from(name.ends_with("jj.1.0"))];
        let plan = geometry::plan(job, &common::target_sizes(job, &[]))?;
        let mut memory = Memory::new(job, &plan, content(job, &jobs)?);
        run(job, &plan, usize::MAX, &mut memory)?;
        assert_eq!(
            Some(memory.file.len() as u64),
            row["size"].as_u64(),
            "{command}"
        );
        let head = row["head_hex"].as_str().ok_or("no head")?;
        assert_eq!(
            hex(&memory.file[..head.len() / 2]),
            head,
            "{name}: {command}"
        );
        for (at, expected) in row["first64_of_each_kib"]
            .as_array()
            .into_iter()
            .flatten()
            .enumerate()
        {
            let sample = hex(&memory.file[at * 1024..at * 1024 + 64]);
            assert_eq!(
                Some(sample.as_str()),
                expected.as_str(),
                "{command}, KiB {at}"
            );
        }
        compared += 1;
    }
    assert_eq!(compared, 37, "rows compared");
    Ok(())
}
