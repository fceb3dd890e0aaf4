#[allow(dead_code)]
#[path = "../../workload/tests/common/mod.rs"]
mod common;
use ferrio_runner::*;
struct O;
impl Observer for O {
    fn message(&mut self, m: &ferrio_stats::Message) {
        eprintln!("{m:?}");
    }
    fn starting(&mut self, t: u32, p: u32) {
        eprintln!("starting {t} {p}");
    }
    fn laying_out(&mut self, j: &str, f: u32, b: u64) {
        eprintln!("lay {j} {f} {b}");
    }
    fn job_failed(&mut self, pid: u32, f: &link::Failure) {
        eprintln!("failed {pid} {f:?}");
    }
    fn terminating(&mut self, s: i32) {
        eprintln!("signal {s}");
    }
    fn progress(&mut self, p: &ferrio_stats::Progress) {
        eprintln!("{p:?}");
    }
    fn status(&mut self, _: ferrio_stats::RunResult) {}
}
fn main() {
    let start = clock::Clock::start();
    let args: Vec<String> = std::env::args().skip(1).collect();
    let n: u32 = std::env::var("N")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(1);
    let mut spec = ferrio_options::RunSpec::default();
    for i in 0..n {
        let mut job = common::job(&args.join(" ")).unwrap();
        job.job_number = i + 1;
        job.target.invalidate = std::env::var("INV").is_err();
        job.target.create_serialize = true;
        job.target.allow_create = true;
        job.thread = std::env::var("THREAD").is_ok();
        job.reporting.slat = true;
        job.reporting.clat = true;
        job.reporting.lat = true;
        job.reporting.stats = true;
        job.reporting.clat_percentiles = true;
        job.reporting.bw_avg_ms = 500;
        job.reporting.iops_avg_ms = 500;
        job.reporting.bw = true;
        spec.jobs.push(job);
    }
    let o = run(&spec, start, Cadence::default(), &mut O);
    for j in &o.result.jobs {
        for d in &j.counters.directions {
            if d.ios > 0 {
                println!(
                    "ios {} bytes {} ms {} iops {:.0} slat {:.0}/{} clat {:.0} lat {:.0} bw {:?}",
                    d.ios,
                    d.bytes,
                    d.runtime_ms,
                    d.ios as f64 * 1000. / d.runtime_ms.max(1) as f64,
                    d.slat.moments.mean(),
                    d.slat.moments.count,
                    d.clat.moments.mean(),
                    d.lat.moments.mean(),
                    d.bw
                );
            }
        }
        println!(
            "depth {:?} submit {:?}/{} complete {:?}/{} cpu {:?} run {}",
            j.counters.depth_map,
            j.counters.submit_map,
            j.counters.submit_total,
            j.counters.complete_map,
            j.counters.complete_total,
            j.counters.cpu,
            j.counters.run_time_ms
        );
    }
    println!("status {} disks {:?}", o.status, o.result.disks);
}
