//! What every JSON report must be: one valid document with known keys, none of them twice.

use ferrio_report::{RenderOptions, TimeZone, json, normal, terse};
use ferrio_stats::{
    CpuIdle, DiskResult, FerrioInfo, JobError, JobResult, Latency, Message, PriorityLatency,
    RunResult, Severity, ShowSettings, SteadyState, UnifiedShow,
};

use crate::render::CASES;
use crate::strict_json::Node;
use crate::vectors::{Case, data};

fn options() -> RenderOptions {
    RenderOptions {
        json_bins: true,
        zone: TimeZone::UTC,
        ..RenderOptions::default()
    }
}

fn parse(run: &RunResult) -> Node {
    let text = json(run, &options());
    Node::parse(&text).unwrap_or_else(|error| panic!("{error} in\n{text}"))
}

fn latency(samples: &[u64]) -> Latency {
    let mut latency = Latency::default();
    for &ns in samples {
        latency.moments.add(ns);
        latency.histogram.add(ns);
    }
    latency
}

/// A job of each kind of part that a report can have.
fn rich_run() -> RunResult {
    let mut job = JobResult {
        name: "p".into(),
        description: Some("d".into()),
        options: vec![("name".into(), "p".into())],
        steady_state: Some(SteadyState {
            iops: vec![256, 256],
            bw: vec![1 << 20, 1 << 20],
            percent: true,
            ..SteadyState::default()
        }),
        show: ShowSettings {
            continue_on_error: true,
            ..ShowSettings::default()
        },
        ..JobResult::default()
    };
    for direction in &mut job.counters.directions[..2] {
        direction.bytes = 8192;
        direction.ios = 2;
        direction.runtime_ms = 1;
        direction.clat = latency(&[7000, 9000]);
        direction.lat.moments.add(9500);
        direction.priorities = vec![
            PriorityLatency {
                priority: 0,
                latency: latency(&[7000]),
            },
            PriorityLatency {
                priority: 2 << 13 | 3,
                latency: latency(&[9000]),
            },
        ];
    }
    job.counters.sync_ios = 1;
    job.counters.sync_lat = latency(&[100_000]);
    let disk = DiskResult {
        name: "vda".into(),
        ..DiskResult::default()
    };
    RunResult {
        jobs: vec![job],
        disks: vec![disk],
        ..RunResult::default()
    }
}

/// Every key path in order of first appearance with the type of its value.
fn key_paths(node: &Node, path: &str, paths: &mut Vec<(String, String)>) {
    match node {
        Node::Object(members) => {
            for (key, value) in members {
                let key = match path.rsplit('/').next() {
                    Some("job options") => "<option>",
                    Some("percentile") => "<percentile %f>",
                    Some("bins") => "<bin ns>",
                    _ => key,
                };
                let path = if path.is_empty() {
                    key.into()
                } else {
                    format!("{path}/{key}")
                };
                let entry = (path.clone(), type_of(value).to_string());
                if !paths.contains(&entry) {
                    paths.push(entry);
                }
                key_paths(value, &path, paths);
            }
        }
        Node::Array(items) => {
            let path = format!("{path}[]");
            items.iter().for_each(|item| key_paths(item, &path, paths));
        }
        _ => (),
    }
}

fn type_of(node: &Node) -> &'static str {
    match node {
        Node::Object(_) => "object",
        Node::Array(_) => "array",
        Node::Text(_) => "string",
        Node::Integer(_) => "integer",
        Node::Float(_) => "float %f",
        Node::Null => "null",
    }
}

#[test]
fn keys_stand_in_the_known_order() {
    let expected: Vec<(String, String)> =
        serde_json::from_str(&data("output-json-keys.json")).expect("key list");
    let mut found = Vec::new();
    key_paths(&parse(&rich_run()), "", &mut found);
    for (found, expected) in found.iter().zip(&expected) {
        assert_eq!(found, expected);
    }
    assert_eq!(found.len(), expected.len());
}

#[test]
fn every_document_is_strict_json() {
    for id in CASES {
        parse(&Case::read(id).run());
    }
    parse(&rich_run());
}

#[test]
fn a_run_without_jobs_gives_a_document() {
    let message = |severity, job: Option<&str>, text: &str| Message {
        severity,
        job: job.map(String::from),
        text: text.into(),
    };
    let run = RunResult {
        ferrio: Some(FerrioInfo {
            version: "1.2.3".into(),
            messages: vec![
                message(Severity::Error, Some("a"), "unknown engine 'x'"),
                message(Severity::Note, None, "depth is 1"),
            ],
        }),
        ..RunResult::default()
    };
    let document = parse(&run);
    assert_eq!(document.at(&["jobs"]), &Node::Array(Vec::new()));
    let ferrio = document.at(&["ferrio"]);
    assert_eq!(ferrio.at(&["version"]), &Node::Text("1.2.3".into()));
    assert_eq!(ferrio.at(&["errors", "0", "job"]), &Node::Text("a".into()));
    assert_eq!(
        ferrio.at(&["errors", "0", "message"]),
        &Node::Text("unknown engine 'x'".into())
    );
    assert_eq!(ferrio.at(&["warnings"]), &Node::Array(Vec::new()));
    assert_eq!(ferrio.at(&["notes", "0", "job"]), &Node::Null);
    let Node::Object(members) = &document else {
        panic!("the root is an object");
    };
    assert_eq!(members.last().map(|(key, _)| key.as_str()), Some("ferrio"));
}

#[test]
fn any_name_comes_back() {
    let name = "a\tb\"c\\d\u{1}\u{fffd}é\n";
    let mut run = rich_run();
    run.jobs[0].name = name.into();
    run.jobs[0].options = vec![(name.into(), name.into())];
    run.jobs[0].description = Some(name.into());
    let document = parse(&run);
    let text = Node::Text(name.into());
    assert_eq!(document.at(&["jobs", "0", "jobname"]), &text);
    assert_eq!(document.at(&["jobs", "0", "job options", name]), &text);
    assert_eq!(document.at(&["jobs", "0", "desc"]), &text);
}

#[test]
fn an_option_given_twice_shows_its_last_value() {
    let mut run = rich_run();
    let pair = |key: &str, value: &str| (key.to_string(), value.to_string());
    run.jobs[0].options = vec![
        pair("filename", "a"),
        pair("rw", "read"),
        pair("filename", "b"),
    ];
    run.global_options = vec![pair("bs", "4k"), pair("bs", "8k")];
    let document = parse(&run);
    let text = |value: &str| Node::Text(value.into());
    assert_eq!(
        document.at(&["jobs", "0", "job options", "filename"]),
        &text("b")
    );
    assert_eq!(document.at(&["global options", "bs"]), &text("8k"));
}

#[test]
fn percentiles_that_show_alike_appear_once() {
    let mut run = rich_run();
    run.jobs[0].show.percentiles = vec![50.0, 50.000_000_01, 50.0, 99.0];
    let document = parse(&run);
    let Node::Object(members) = document.at(&["jobs", "0", "read", "clat_ns", "percentile"]) else {
        panic!("percentiles are an object");
    };
    let keys: Vec<&str> = members.iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!(keys, ["50.000000", "99.000000"]);
}

#[test]
fn an_empty_list_gives_an_empty_object() {
    let mut run = rich_run();
    run.jobs[0].show.percentiles = vec![0.0, 50.0];
    let text = json(&run, &options());
    assert!(
        text.contains("          \"percentile\" : {\n\n          },\n"),
        "{text}"
    );
    assert!(!normal(&run, &options()).contains("percentiles"));
}

#[test]
fn optional_parts_appear() {
    let mut run = rich_run();
    run.cpu_idle = Some(CpuIdle {
        system_percent: 60.0,
        cpu_percent: vec![80.0, 40.0],
        ..CpuIdle::default()
    });
    run.jobs[0].error = Some(JobError {
        code: 28,
        text: "full".into(),
    });
    run.jobs[0].eta_s = -1;
    run.jobs[0].counters.zone_resets = Some(0);
    run.jobs[0].show.unified = UnifiedShow::Mixed;
    let document = parse(&run);
    assert_eq!(document.at(&["cpu_idleness", "cpu-1"]), &Node::Float(40.0));
    let job = document.at(&["jobs", "0"]);
    assert_eq!(job.at(&["error"]), &Node::Integer(28));
    assert_eq!(job.at(&["eta"]), &Node::Integer(-1));
    assert_eq!(job.at(&["zone_resets"]), &Node::Integer(0));
    assert_eq!(job.at(&["mixed", "total_ios"]), &Node::Integer(4));
    let Node::Object(members) = job else {
        panic!("a job is an object");
    };
    assert!(
        members
            .iter()
            .all(|(key, _)| !["read", "write", "trim", "sync"].contains(&&**key))
    );
}

#[test]
fn a_job_without_statistics_keeps_its_place() {
    let mut run = rich_run();
    run.jobs.push(JobResult {
        name: "q".into(),
        ..run.jobs[0].clone()
    });
    run.jobs[0].show.stats = false;
    let document = parse(&run);
    assert_eq!(
        document.at(&["jobs", "0", "jobname"]),
        &Node::Text("q".into())
    );
    assert_eq!(
        document.at(&["jobs", "1", "jobname"]),
        &Node::Text(String::new())
    );
    assert_eq!(
        document.at(&["jobs", "1", "groupid"]),
        &Node::Integer(4_294_967_295)
    );
    let text = terse(&run, &options());
    let fields: Vec<&str> = text.lines().nth(1).expect("two lines").split(';').collect();
    assert_eq!(fields[..5], ["3", "fio-3.42", "", "-1", "0"]);
    assert_eq!(fields.len(), 121 + 9, "one disk behind the fields");
    assert_eq!((fields[17], fields[99]), ("0%=0", "-nan%"));
}

/// One operation has one latency in every format, whatever its bucket's middle is.
#[test]
fn one_operation_has_one_latency_everywhere() {
    let mut job = JobResult {
        name: "one".into(),
        ..JobResult::default()
    };
    let read = &mut job.counters.directions[0];
    read.bytes = 4096;
    read.ios = 1;
    read.runtime_ms = 1;
    read.clat = latency(&[1_205_999]);
    let run = RunResult {
        jobs: vec![job],
        ..RunResult::default()
    };
    let document = parse(&run);
    let clat = document.at(&["jobs", "0", "read", "clat_ns"]);
    for path in [vec!["min"], vec!["max"], vec!["percentile", "1.000000"]] {
        assert_eq!(clat.at(&path), &Node::Integer(1_205_999), "{path:?}");
    }
    let text = normal(&run, &options());
    assert!(
        text.contains("clat (nsec): min=1206.0k, max=1206.0k, avg=1205999.00"),
        "{text}"
    );
    assert!(
        text.contains("clat percentiles (usec):\n     |  1.00th=[ 1205]"),
        "{text}"
    );
    let text = terse(&run, &options());
    assert!(
        text.contains(";1205;1205;1205.999000;0.000000;1.000000%=1205;"),
        "{text}"
    );
}
