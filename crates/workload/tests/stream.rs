//! Properties of the stream that traces do not show.

mod common;

use common::engine::{Event, Recorder, run};
use ferrio_options::JobSpec;
use ferrio_workload::geometry::{self, Plan};
use ferrio_workload::{
    FileEvents, Next, Notice, Op, OpKind, OpStream, StreamError, random_map_bytes, seeds,
};

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn planned(options: &str) -> Result<(JobSpec, Plan), Box<dyn std::error::Error>> {
    let job = common::job(&format!("--ioengine=null --name=a {options}"))?;
    let plan = geometry::plan(&job, &common::target_sizes(&job, &[]))?;
    Ok((job, plan))
}

fn stream(options: &str) -> Result<OpStream, Box<dyn std::error::Error>> {
    let (job, plan) = planned(options)?;
    Ok(OpStream::new(&job, &plan, true)?)
}

fn refusal(options: &str) -> Result<StreamError, Box<dyn std::error::Error>> {
    let (job, plan) = planned(options)?;
    OpStream::new(&job, &plan, true)
        .err()
        .ok_or_else(|| format!("{options}: not refused").into())
}

fn ops(events: &[Event]) -> Vec<Op> {
    let op = |event: &Event| match event {
        Event::Op(op) => Some(*op),
        Event::Open(_) | Event::Close(_) => None,
    };
    events.iter().filter_map(op).collect()
}

/// Takes one operation and issues it; it stays outstanding.
fn issue(stream: &mut OpStream, files: &mut impl FileEvents) -> Option<Op> {
    let Next::Op(op) = stream.next(&mut false, files) else {
        return None;
    };
    stream.issued(&op, false);
    Some(op)
}

#[test]
fn a_random_pass_visits_every_block_once() -> Outcome {
    for options in [
        "--rw=randread --bs=4k --size=3m",
        "--rw=randrw --bs=512 --size=1m --random_generator=lfsr",
    ] {
        let (job, plan) = planned(options)?;
        let mut offsets: Vec<u64> = ops(&run(&job, &plan, usize::MAX, &mut ())?)
            .iter()
            .map(|op| op.offset)
            .collect();
        offsets.sort_unstable();
        let unit = job.pattern.min_block_all;
        assert_eq!(
            offsets,
            (0..plan.size / unit)
                .map(|block| block * unit)
                .collect::<Vec<_>>(),
            "{options}"
        );
    }
    Ok(())
}

#[test]
fn system_seeds_are_passed_in() -> Outcome {
    let options = "--rw=randread --bs=4k --size=1m --randrepeat=0 --loops=2";
    assert!(matches!(refusal(options)?, StreamError::NeedsSeeds { .. }));
    let (job, plan) = planned(options)?;
    let offsets = |seeds| -> Result<Vec<u64>, StreamError> {
        let mut stream = OpStream::with_seeds(&job, &plan, true, seeds)?;
        let mut files = Recorder::default();
        assert!(stream.begin_pass([0; 3], &mut files));
        Ok((0..64)
            .filter_map(|_| issue(&mut stream, &mut files))
            .map(|op| op.offset)
            .collect())
    };
    assert_eq!(offsets([7; 24])?, offsets([7; 24])?);
    assert_ne!(offsets([7; 24])?, offsets([8; 24])?);
    assert_eq!(seeds::of_job(&job), None);
    Ok(())
}

#[test]
fn map_memory_is_known_before_it_is_taken() -> Outcome {
    let (job, plan) = planned("--rw=randread --bs=512 --size=16t")?;
    let bytes = random_map_bytes(&job, &plan);
    assert!(
        (4 << 30..(4 << 30) + (70 << 20)).contains(&bytes),
        "{bytes}"
    );
    for options in [
        "--norandommap",
        "--random_generator=lfsr",
        "--random_distribution=zipf:1.2",
    ] {
        let (job, plan) = planned(&format!("--rw=randread --bs=512 --size=1g {options}"))?;
        assert_eq!(random_map_bytes(&job, &plan), 0, "{options}");
    }
    let (job, plan) = planned("--rw=read --bs=512 --size=16t")?;
    assert_eq!(random_map_bytes(&job, &plan), 0);
    Ok(())
}

#[test]
fn a_map_that_does_not_fit_is_refused_or_left_out() -> Outcome {
    // 2^55 blocks: no address space holds their map.
    let options = "--rw=randread --bs=512 --fill_device=1";
    let error = refusal(options)?;
    assert!(
        matches!(&error, StreamError::MapMemory { file, bytes } if file == "a.0.0" && *bytes > 1 << 52),
        "{error}"
    );
    let (mut job, plan) = planned(options)?;
    job.pattern.softrandommap = true;
    let mut stream = OpStream::new(&job, &plan, true)?;
    let notices = stream.take_notices();
    assert!(
        notices
            .iter()
            .any(|notice| matches!(notice, Notice::MapLeftOut { .. })),
        "{notices:?}"
    );
    let mut files = Recorder::default();
    assert!(stream.begin_pass([0; 3], &mut files));
    assert!(issue(&mut stream, &mut files).is_some());
    Ok(())
}

#[test]
fn registers_that_cannot_start_are_refused() -> Outcome {
    for (size, starts) in [("28k", false), ("60k", false), ("64k", true)] {
        let options = format!("--rw=randread --bs=4k --random_generator=lfsr --size={size}");
        let (job, plan) = planned(&options)?;
        let made = OpStream::new(&job, &plan, true);
        assert_eq!(made.is_ok(), starts, "{options}");
        assert!(
            starts || matches!(made, Err(StreamError::LfsrStart { .. })),
            "{options}"
        );
    }
    Ok(())
}

#[test]
fn large_files_switch_the_generator_or_say_so() -> Outcome {
    let options = "--rw=randread --bs=512 --size=4t --norandommap";
    let mut chosen = stream(options)?;
    assert!(matches!(
        chosen.take_notices()[..],
        [Notice::NarrowGenerator { switched: true, .. }]
    ));
    assert!(chosen.take_notices().is_empty(), "notices are given once");
    let mut given = stream(&format!("{options} --random_generator=tausworthe"))?;
    assert!(matches!(
        given.take_notices()[..],
        [Notice::NarrowGenerator {
            switched: false,
            ..
        }]
    ));
    Ok(())
}

#[test]
fn a_sequence_entry_behind_the_end_is_an_error() -> Outcome {
    let (job, plan) =
        planned("--rw=randread --bs=4k --size=16k --random_distribution=sequence:0,3,9")?;
    let error = run(&job, &plan, usize::MAX, &mut ())
        .err()
        .ok_or("not refused")?;
    assert!(error.contains('9') && error.contains("a.0.0"), "{error}");
    Ok(())
}

#[test]
fn zones_behind_the_end_are_noticed() -> Outcome {
    let mut stream =
        stream("--rw=randread --bs=4k --size=64k --random_distribution=zoned_abs:50/16k:50/1m")?;
    let mut files = Recorder::default();
    assert!(stream.begin_pass([0; 3], &mut files));
    while issue(&mut stream, &mut files).is_some() {}
    assert!(matches!(
        stream.take_notices()[..],
        [Notice::ZoneBehindEnd { .. }]
    ));
    Ok(())
}

#[test]
fn a_file_closes_when_its_last_operation_completes() -> Outcome {
    let mut stream = stream(
        "--rw=read --bs=4k --size=16k --nrfiles=2 --openfiles=1 --file_service_type=sequential",
    )?;
    let mut files = Recorder::default();
    assert!(stream.begin_pass([0; 3], &mut files));
    let first = issue(&mut stream, &mut files).ok_or("no operation")?;
    let second = issue(&mut stream, &mut files).ok_or("no operation")?;
    assert_eq!((first.file, second.file), (0, 0));
    // File 0 is at its end, but may not be closed, so file 1 may not be opened.
    assert_eq!(stream.next(&mut false, &mut files), Next::Busy);
    stream.completed(&first);
    assert_eq!(stream.next(&mut false, &mut files), Next::Busy);
    assert!(stream.is_open(0));
    stream.completed(&second);
    assert_eq!(issue(&mut stream, &mut files).map(|op| op.file), Some(1));
    assert!(!stream.is_open(0) && stream.is_open(1));
    Ok(())
}

/// Files of which some cannot be opened.
struct Broken(Vec<u32>);

impl FileEvents for Broken {
    fn open(&mut self, file: u32) -> bool {
        !self.0.contains(&file)
    }
    fn close(&mut self, _file: u32) {}
    fn invalidate(&mut self, _file: u32) {}
}

#[test]
fn files_that_cannot_be_opened_are_skipped() -> Outcome {
    for service in [
        "roundrobin",
        "sequential",
        "random",
        "zipf:1.2",
        "normal:20",
    ] {
        let options =
            format!("--rw=read --bs=4k --size=16k --nrfiles=4 --file_service_type={service}");
        let mut some = stream(&options)?;
        assert!(some.begin_pass([0; 3], &mut Broken(vec![0, 2])));
        for _ in 0..2 {
            let op = issue(&mut some, &mut Broken(vec![0, 2])).ok_or("no operation")?;
            some.completed(&op);
            assert!([1, 3].contains(&op.file), "{service}: {op:?}");
        }
        let mut none = stream(&options)?;
        assert!(none.begin_pass([0; 3], &mut Broken(vec![])));
        assert_eq!(
            none.next(&mut false, &mut Broken(vec![0, 1, 2, 3])),
            Next::End,
            "{service}"
        );
    }
    Ok(())
}

#[test]
fn files_too_small_for_a_block_end_the_job() -> Outcome {
    for service in ["roundrobin", "random", "zipf:1.2"] {
        let options = format!(
            "--rw=read --bs=4k --size=8k --nrfiles=3 --file_service_type={service} --time_based"
        );
        let mut stream = stream(&options)?;
        let mut files = Broken(vec![]);
        assert!(stream.begin_pass([0; 3], &mut files));
        assert_eq!(stream.next(&mut false, &mut files), Next::End, "{service}");
        assert!(stream.end_pass(0, &mut files).job_done, "{service}");
        assert!(!stream.begin_pass([0; 3], &mut files), "{service}");
    }
    Ok(())
}

#[test]
fn each_trim_is_followed_by_its_write() -> Outcome {
    for options in [
        "--rw=trimwrite --bs=16k --size=4m --time_based",
        "--rw=randtrimwrite --bs=16k --size=4m --offset=3k --time_based",
        "--rw=trimwrite --bssplit=4k/50:16k/50 --size=1m --time_based",
        // The same place again and again.
        "--rw=trimwrite --bs=16k --size=16k --time_based",
        "--rw=randtrimwrite --bs=16k --size=16k --norandommap --time_based",
    ] {
        let (job, plan) = planned(options)?;
        let all = ops(&run(&job, &plan, 2000, &mut ())?);
        for pair in all.chunks_exact(2) {
            assert_eq!(
                (pair[0].kind, pair[1].kind),
                (OpKind::Trim, OpKind::Write),
                "{options}"
            );
            assert_eq!(
                (pair[0].offset, pair[0].len),
                (pair[1].offset, pair[1].len),
                "{options}"
            );
        }
    }
    Ok(())
}

#[test]
fn a_stopped_job_owes_the_writes_of_its_trims() -> Outcome {
    for pattern in ["trimwrite", "randtrimwrite"] {
        let mut stream = stream(&format!("--rw={pattern} --bs=4k --size=1m --nrfiles=2"))?;
        let mut files = Recorder::default();
        assert!(stream.begin_pass([0; 3], &mut files));
        assert_eq!(stream.owed_write(0, &mut false, &mut files), None);
        let trims = [
            issue(&mut stream, &mut files),
            issue(&mut stream, &mut files),
        ];
        for trim in trims {
            let trim = trim.ok_or("no operation")?;
            let write = stream
                .owed_write(trim.file, &mut false, &mut files)
                .ok_or("no write")?;
            assert_eq!(
                write,
                Op {
                    kind: OpKind::Write,
                    ..trim
                },
                "{pattern}"
            );
            stream.issued(&write, false);
        }
        for file in 0..3 {
            assert_eq!(stream.owed_write(file, &mut false, &mut files), None);
        }
    }
    Ok(())
}

#[test]
fn sync_ranges_cover_what_was_written() -> Outcome {
    let mut stream = stream("--rw=write --bs=4k --size=1m --sync_file_range=write:3")?;
    let mut files = Recorder::default();
    assert!(stream.begin_pass([0; 3], &mut files));
    for expected in [(0, 12288), (12288, 12288)] {
        for _ in 0..3 {
            let op = issue(&mut stream, &mut files).ok_or("no operation")?;
            assert_eq!(op.kind, OpKind::Write);
            stream.completed(&op);
        }
        let sync = issue(&mut stream, &mut files).ok_or("no operation")?;
        assert_eq!((sync.kind, sync.len), (OpKind::SyncFileRange, 0));
        assert_eq!(stream.sync_range(sync.file), expected);
        stream.completed(&sync);
        assert_eq!(stream.sync_range(sync.file), (0, 0));
    }
    Ok(())
}

#[test]
fn only_data_operations_count_for_number_ios() -> Outcome {
    let (job, plan) = planned("--rw=write --bs=4k --size=1m --fsync=2 --number_ios=10")?;
    let all = ops(&run(&job, &plan, usize::MAX, &mut ())?);
    let data = all.iter().filter(|op| op.kind == OpKind::Write).count();
    assert_eq!((data, all.len()), (10, 14));
    Ok(())
}

#[test]
fn short_transfers_count_for_the_pass() -> Outcome {
    let (job, plan) = planned("--rw=read --bs=4k --size=16k --io_size=64k")?;
    let mut stream = OpStream::new(&job, &plan, false)?;
    let mut files = Recorder::default();
    assert!(stream.begin_pass([0; 3], &mut files));
    let Next::Op(op) = stream.next(&mut false, &mut files) else {
        return Err("no operation".into());
    };
    stream.issued(&op, true);
    stream.short_done(8192);
    assert!(stream.pass_goes_on());
    stream.short_done(4096);
    assert!(!stream.pass_goes_on());
    Ok(())
}

#[test]
fn backward_steps() -> Outcome {
    let job = common::job("--name=a --filename=f --bs=512 --rw=read:-1024 --size=8k")?;
    let plan = geometry::plan(
        &job,
        &common::target_sizes(&job, &[(String::from("f"), 1 << 20)]),
    )?;
    let offsets: Vec<u64> = ops(&run(&job, &plan, 4, &mut ())?)
        .iter()
        .map(|op| op.offset)
        .collect();
    assert_eq!(offsets, [0, 7168, 6656, 6144]);
    Ok(())
}

#[test]
fn start_delays_lie_in_their_range() -> Outcome {
    let (mut job, _) = planned("--rw=read --bs=4k --size=1m")?;
    assert_eq!(seeds::start_delay_us(&job), 0);
    job.pacing.start_delay_us = (5_000_000, 5_000_000);
    assert_eq!(seeds::start_delay_us(&job), 5_000_000);
    job.pacing.start_delay_us = (1_000_000, 3_000_000);
    let delay = seeds::start_delay_us(&job);
    assert!((1_000_000..=3_000_000).contains(&delay));
    job.job_number = 2;
    assert_ne!(seeds::start_delay_us(&job), delay, "each job draws its own");
    Ok(())
}
