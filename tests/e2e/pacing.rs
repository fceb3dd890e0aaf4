//! Rates and pauses: what is asked for is what is measured.
//!
//! Two seconds a run; the tolerances have room for a machine that does other things.

use serde_json::Value;

use crate::support::{run, run_json, scratch, words};

const NULL: &str = "--name=j --ioengine=null --size=8g --time_based --runtime=2";

fn report(options: &str) -> Value {
    let dir = scratch();
    let args = words(options);
    let (run, json) = run_json(dir.path(), &args);
    run.expect(0);
    json
}

/// How often a rate is tried: on a machine that does other things a run may be starved.
const TRIES: usize = 4;

/// A report with which `holds` is content, the last of a few otherwise.
fn report_until(options: &str, holds: impl Fn(&Value) -> bool) -> Value {
    for _ in 1..TRIES {
        let json = report(options);
        if holds(&json) {
            return json;
        }
    }
    report(options)
}

fn is_near(value: f64, wanted: f64, tolerance: f64) -> bool {
    (value / wanted - 1.0).abs() <= tolerance
}

/// Runs until the figures at some paths are near what is wanted, and fails when they never are.
#[track_caller]
fn measures(options: &str, wanted: &[(&str, f64)], tolerance: f64) -> Value {
    let holds = |json: &Value| {
        wanted
            .iter()
            .all(|(path, value)| is_near(figure(json, path), *value, tolerance))
    };
    let json = report_until(options, holds);
    for (path, value) in wanted {
        near(
            &format!("{path} of {options}"),
            figure(&json, path),
            *value,
            tolerance,
        );
    }
    json
}

#[track_caller]
fn near(what: &str, value: f64, wanted: f64, tolerance: f64) {
    assert!(
        (value / wanted - 1.0).abs() <= tolerance,
        "{what}: {value} instead of {wanted}"
    );
}

fn figure(json: &Value, path: &str) -> f64 {
    let value = json.pointer(path).and_then(Value::as_f64);
    value.unwrap_or_else(|| panic!("no {path} in {json}"))
}

#[test]
fn operations_per_second_with_any_mix_of_sizes() {
    for sizes in [
        "--bs=4k",
        "--bsrange=4k-64k",
        "--bsrange=512-1m",
        "--bssplit=4k/90:1m/10",
    ] {
        let options = format!("{NULL} --rw=randread --rate_iops=500 {sizes}");
        measures(&options, &[("/jobs/0/read/iops", 500.0)], 0.03);
    }
}

#[test]
fn bytes_per_second_with_a_range_of_sizes() {
    let options = format!("{NULL} --rw=read --rate=10m --bsrange=4k-64k");
    measures(&options, &[("/jobs/0/read/bw_bytes", 10_485_760.0)], 0.03);
}

#[test]
fn each_direction_has_its_own_rate() {
    let options = format!("{NULL} --rw=randrw --rate_iops=300,900, --bsrange=4k-64k --iodepth=8");
    let wanted = [("/jobs/0/read/iops", 300.0), ("/jobs/0/write/iops", 900.0)];
    measures(&options, &wanted, 0.03);
    let options = format!("{NULL} --rw=rw --bs=4k,64k --rate=1m,8m");
    let wanted = [
        ("/jobs/0/read/bw_bytes", 1_048_576.0),
        ("/jobs/0/write/bw_bytes", 8_388_608.0),
    ];
    measures(&options, &wanted, 0.04);
}

#[test]
fn random_spaces_keep_the_rate() {
    for sizes in ["--bssplit=8k/50:64k/50", "--bssplit=1k/50:4k/50"] {
        let options =
            format!("{NULL} --rw=randread --rate_iops=1000 --rate_process=poisson {sizes}");
        measures(&options, &[("/jobs/0/read/iops", 1000.0)], 0.1);
    }
}

/// The ramp's lag or lead is not made up for afterwards.
#[test]
fn no_burst_follows_a_ramp() {
    let options = format!(
        "{NULL} --rw=read --bs=4k --rate_iops=1000 --ramp_time=700ms --bwavgtime=250 \
         --iopsavgtime=250"
    );
    let wanted = [
        ("/jobs/0/read/iops", 1000.0),
        ("/jobs/0/read/iops_max", 1000.0),
    ];
    measures(&options, &wanted, 0.1);
}

#[test]
fn a_rate_below_one_block_ends_in_time() {
    let json =
        report("--name=j --ioengine=null --rw=rw --rate=50,50 --bs=4k --size=1g --runtime=2");
    let run_ms = figure(&json, "/jobs/0/job_runtime");
    assert!((1900.0..3000.0).contains(&run_ms), "{run_ms} ms");
}

#[test]
fn clones_of_a_group_add_up() {
    let options = "--name=j --ioengine=null --rw=randread --numjobs=4 --group_reporting \
                   --rate_iops=1000 --time_based --runtime=3 --size=1g";
    let wanted = [
        ("/jobs/0/read/iops", 4000.0),
        ("/jobs/0/read/iops_mean", 4000.0),
        ("/jobs/0/read/iops_max", 4000.0),
    ];
    measures(options, &wanted, 0.05);
}

/// A pause follows the last operation too, and covers what is in flight.
#[test]
fn pauses_have_their_length() {
    let base = "--name=j --ioengine=null --rw=read --bs=4k --size=16k";
    for (options, wanted_ms) in [
        ("--thinktime=100ms", 400.0),
        ("--thinktime=100ms --thinktime_blocks=2", 200.0),
        ("--thinktime=100ms --thinktime_spin=60ms", 400.0),
        (
            "--thinktime=100ms --thinktime_blocks=2 --thinktime_blocks_type=issue",
            200.0,
        ),
        // No pause comes before a second of I/O.
        ("--thinktime=100ms --thinktime_iotime=1", 0.0),
    ] {
        let fits = |json: &Value| {
            let run_ms = figure(json, "/jobs/0/job_runtime");
            run_ms >= wanted_ms - 2.0 && run_ms < wanted_ms + 80.0
        };
        let json = report_until(&format!("{base} {options}"), fits);
        assert!(
            fits(&json),
            "{options}: {} ms",
            json["jobs"][0]["job_runtime"]
        );
    }
}

#[test]
fn pauses_by_time() {
    let options = "--name=j --ioengine=null --rw=read --bs=4k --size=1g --time_based --runtime=2 \
                   --rate_iops=1000 --rate_ignore_thinktime=1 --thinktime=300ms \
                   --thinktime_iotime=200ms";
    // Four times 200 ms of I/O between pauses of 300 ms.
    measures(options, &[("/jobs/0/read/total_ios", 800.0)], 0.1);
}

/// Whether a pause is caught up.
#[test]
fn a_rated_job_catches_up_unless_told_not_to() {
    let base = "--name=j --ioengine=null --rw=read --bs=4k --size=80k --rate_iops=100 \
                --thinktime=200ms --thinktime_blocks=5";
    for (more, wanted_ms) in [("", 840.0), ("--rate_ignore_thinktime=1", 960.0)] {
        let options = format!("{base} {more}");
        measures(&options, &[("/jobs/0/job_runtime", wanted_ms)], 0.06);
    }
}

#[test]
fn busy_pauses_and_bursts() {
    let options = "--ioengine=null --name=j --rw=read --thinktime=1200ms --thinktime_blocks=50 \
                   --size=1g --time_based --runtime=4";
    let wanted = [
        ("/jobs/0/read/iops", 50.0),
        ("/jobs/0/read/iops_mean", 50.0),
    ];
    let json = measures(options, &wanted, 0.1);
    assert_eq!(figure(&json, "/jobs/0/read/iops_min"), 0.0);
}

#[test]
fn a_missed_floor_fails_the_job_and_ends_the_others() {
    let dir = scratch();
    let run = run(
        dir.path(),
        &words(
            "--ioengine=null --rw=read --bs=4k --size=1g --time_based --runtime=20 \
             --output-format=json --exitall_on_error --name=slow --thinktime=10ms \
             --rate_iops_min=5000 --name=other",
        ),
    )
    .expect(1);
    assert!(
        run.stderr.contains("rate_iops_min=5000 not met, got "),
        "{}",
        run.stderr
    );
    let json = run.json();
    assert_eq!(json["jobs"][0]["error"], 5);
    assert_eq!(json["jobs"][1]["error"], 0);
    let run_ms = figure(&json, "/jobs/1/job_runtime");
    assert!((2500.0..6000.0).contains(&run_ms), "{run_ms} ms");
}

#[test]
fn a_ramp_by_size_is_left_together() {
    let options = "--ioengine=null --rw=read --bs=4k --size=1g --time_based --runtime=1 \
                   --rate_iops=1000 --ramp_size=4m --group_reporting --name=a --name=b";
    // 1024 operations of both take about half a second, then one second counts.
    measures(options, &[("/jobs/0/read/total_ios", 2000.0)], 0.1);
}

#[test]
fn contradictions_are_refused() {
    let dir = scratch();
    for (options, word) in [
        ("--rate=1m --rate_iops=5", "rate_iops"),
        ("--rate=,1m --rate_iops=5,,", "rate_iops"),
        ("--rate=1m --rate_min=2m", "rate_min"),
        ("--rate_iops=10 --rate_iops_min=20", "rate_iops_min"),
        ("--ramp_time=1 --ramp_size=1m", "ramp_size"),
        ("--rate_process=normal", "rate_process"),
        ("--rate_iops=1.5", "rate_iops"),
        ("--thinktime_blocks_type=x", "thinktime_blocks_type"),
    ] {
        let line = format!("--name=j --ioengine=null --size=1m {options}");
        let run = run(dir.path(), &words(&line)).expect(1);
        assert!(run.stderr.contains(word), "{options}: {}", run.stderr);
    }
}

#[test]
fn a_latency_beyond_the_maximum_fails_the_job() {
    let dir = scratch();
    let base = "--name=j --rw=randwrite --bs=4k --size=1m --fsync=1";
    for more in [
        "",
        "--ioengine=libaio --iodepth=4",
        "--disable_lat=1 --disable_clat=1",
    ] {
        let line = format!("{base} {more} --max_latency=1ns,1");
        let run = run(dir.path(), &words(&line));
        // Nanoseconds are no unit: the value is refused, not read as something else.
        assert_eq!(run.status, 1);
        let line = format!("{base} {more} --max_latency=,1");
        let (run, json) = run_json(dir.path(), &words(&line));
        let run = run.expect(1);
        assert_eq!(json["jobs"][0]["error"], 110, "{more}");
        let lines = run
            .stderr
            .lines()
            .filter(|line| line.contains("exceeds specified max (1000 nsec)"));
        assert_eq!(lines.count(), 1, "{}", run.stderr);
    }
    // The limit of another direction, and one that is kept.
    for more in ["--max_latency=1,,", "--max_latency=30s"] {
        let line = format!("{base} {more}");
        run_json(dir.path(), &words(&line)).0.expect(0);
    }
}
