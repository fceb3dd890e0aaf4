//! Ordinary command lines, end to end.

mod common;

use common::{FakeHost, errors, parse_line, parse_words, run_of, run_of_file, status};
use ferrio_options::{EngineSpec, Outcome};

#[test]
fn a_usual_benchmark() {
    let run = run_of(parse_line(
        "--name=rand-write --ioengine=libaio --iodepth=32 --rw=randwrite --invalidate=1 \
         --bsrange=4k:4k,4k:4k --size=512m --runtime=10 --time_based --do_verify=1 --direct=1 \
         --group_reporting --numjobs=4",
        &FakeHost::default(),
    ));
    assert_eq!(run.jobs.len(), 4);
    let job = &run.jobs[1];
    assert_eq!(job.name, "rand-write");
    assert_eq!((job.job_number, job.clone_index), (2, 3));
    assert_eq!(job.target.files, [std::path::Path::new("rand-write.3.0")]);
    assert_eq!(job.sizes.size.bytes, 512 << 20);
    assert_eq!(job.pacing.runtime_us, 10_000_000);
    assert!(job.pacing.time_based && job.target.direct && job.group_reporting);
    assert_eq!(
        (job.queue.depth, job.queue.low, job.queue.batch),
        (32, 32, 1)
    );
    assert_eq!(job.pattern.word(), "randwrite");
    assert_eq!(job.pattern.block[1].min, 4096);
    assert_eq!(job.engine.name(), "libaio");
}

#[test]
fn single_dashes_and_a_device() {
    let host = FakeHost::default().with_kind("/dev/loop0", ferrio_options::PathKind::Block);
    let run = run_of(parse_line(
        "-direct=1 -iodepth=128 -rw=randwrite -ioengine=libaio -bs=4k -size=1G -numjobs=1 \
         -runtime=1000 -group_reporting -filename=/dev/loop0 -name=Rand_Write_Testing",
        &host,
    ));
    // Options in front of the first name are global.
    assert_eq!(run.jobs.len(), 1);
    assert_eq!(
        run.jobs[0].target.files,
        [std::path::Path::new("/dev/loop0")]
    );
    assert_eq!(
        run.jobs[0].recorded,
        [("name".to_string(), "Rand_Write_Testing".to_string())]
    );
    assert_eq!(run.global_options.len(), 10);
}

#[test]
fn a_job_file_with_a_barrier() {
    let run = run_of_file(
        "; a comment\n[global]\nioengine=io_uring\nsize=64m   # all of it\niodepth=8\nhipri\n\
         [read]\nrw=randread\nbs=4.5k\n[write]\nstonewall\nrw=write\n",
    );
    assert_eq!(run.jobs.len(), 2);
    assert_eq!((run.jobs[0].group, run.jobs[1].group), (0, 1));
    assert!(run.jobs[1].stonewall);
    assert_eq!(run.jobs[0].pattern.block[0].max, 4608);
    match run.jobs[1].engine {
        EngineSpec::IoUring(options) => assert!(options.hipri && !options.fixed_buffers),
        ref other => panic!("{other:?}"),
    }
}

#[test]
fn an_unbuilt_option_ends_the_run_by_name() {
    let parsed = parse_line(
        "--name=a --ioengine=null --size=1m --latency_target=1m",
        &FakeHost::default(),
    );
    assert_eq!(status(&parsed), 1);
    assert!(errors(&parsed)[0].contains("'latency_target=1m'"));
    let parsed = parse_line(
        "--name=a --ioengine=null --size=1m --latency_target=0 --verify_fatal=1 --flow=0 --verify=0",
        &FakeHost::default(),
    );
    assert_eq!(status(&parsed), 0, "{:?}", parsed.diagnostics);
}

#[test]
fn no_words_at_all() {
    let parsed = parse_words::<&str>(&[], &FakeHost::default());
    assert_eq!(status(&parsed), 1);
    assert!(errors(&parsed)[0].contains("no job"));
}

/// Options of an engine that the job does not use any more are without effect.
#[test]
fn options_of_another_engine_are_forgotten() {
    let run = run_of(parse_line(
        "--ioengine=pvsync2 --hipri --name=a --ioengine=io_uring --size=1m",
        &FakeHost::default(),
    ));
    match run.jobs[0].engine {
        EngineSpec::IoUring(options) => assert!(!options.hipri && options.nonvectored.is_none()),
        ref other => panic!("{other:?}"),
    }
    let run = run_of(parse_line(
        "--name=a --ioengine=pvsync2 --hipri --hipri_percentage=30 --name=b --ioengine=pvsync2",
        &FakeHost::default(),
    ));
    match (&run.jobs[0].engine, &run.jobs[1].engine) {
        (EngineSpec::Pvsync2(first), EngineSpec::Pvsync2(second)) => {
            assert!(first.hipri && first.hipri_percent == 30);
            assert!(!second.hipri && second.hipri_percent == 100);
        }
        other => panic!("{other:?}"),
    }
    let parsed = parse_line(
        "--name=a --ioengine=libaio --cmdprio_percentage=5 --size=1m",
        &FakeHost::default(),
    );
    assert!(errors(&parsed)[0].contains("cmdprio_percentage"));
}

fn required(engine: &str) -> &'static str {
    if engine == "cpuio" {
        " --cpuload=50"
    } else {
        ""
    }
}

/// What `--enghelp` lists can be used, and reports call it by that name.
#[test]
fn every_listed_engine_is_one() {
    let parsed = parse_line("--enghelp", &FakeHost::default());
    let Outcome::Exit { stdout, .. } = &parsed.outcome else {
        panic!("{parsed:?}");
    };
    let names: Vec<&str> = stdout.lines().skip(1).map(str::trim).collect();
    assert!(names.len() >= 20, "{names:?}");
    for name in names {
        let run = run_of(parse_line(
            &format!("--name=a --ioengine={name} --size=1m{}", required(name)),
            &FakeHost::default(),
        ));
        assert_eq!(run.jobs[0].engine.name(), name);
    }
}
