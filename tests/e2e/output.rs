//! What is printed where.

use std::fs;
use std::time::Duration;

use crate::support::*;

#[test]
fn versions() {
    let dir = scratch();
    let own = run(dir.path(), &["--version"]).expect(0);
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(
        own.stdout,
        format!("ferrio {version} (fio-3.42 compatible)\n")
    );
    let fio = dir.path().join("fio");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_ferrio"), &fio).unwrap();
    let as_fio = finish(command(&fio, dir.path(), &["--version"])).expect(0);
    assert_eq!(as_fio.stdout, "fio-3.42\n");
    let args = [
        "--output-format=json",
        "--name=a",
        "--ioengine=null",
        "--size=4k",
    ];
    let json = finish(command(&fio, dir.path(), &args)).expect(0).json();
    assert_eq!(json["fio version"], "fio-3.42");
    assert_eq!(json["ferrio"]["version"], version);
    let bad = finish(command(&fio, dir.path(), &["--name=a", "--bs=4q"])).expect(1);
    assert!(bad.stderr.starts_with("fio: "), "{}", bad.stderr);
}

#[test]
fn json_stands_alone() {
    let dir = scratch();
    for line in [
        "--filename=f --iodepth=8 --size=8k --name=a",
        "--name=lay --rw=read --size=1m",
        "--name=a --ioengine=nosuch --size=4k",
        "--name=a --bs=4q",
        "--filename=/dev/full --rw=write --bs=4k --size=4k --name=a",
    ] {
        let (plain, _) = run_json(dir.path(), &words(line));
        let mut args = vec!["--output-format=json", "--output=j"];
        args.extend(words(line));
        let to_file = run(dir.path(), &args);
        assert_eq!(plain.status, to_file.status, "{line}");
        assert_eq!(to_file.stdout, "", "{line}");
        let text = fs::read_to_string(dir.path().join("j")).unwrap();
        let json: serde_json::Value = serde_json::from_str(&text).expect(line);
        if to_file.status != 0 {
            let errors = json["ferrio"]["errors"].as_array().unwrap();
            assert!(!errors.is_empty(), "{line}: {text}");
            let message = errors[0]["message"].as_str().unwrap();
            assert!(
                to_file.stderr.contains(message),
                "{line}: {message} / {}",
                to_file.stderr
            );
        }
    }
}

#[test]
fn the_progress_line_is_for_terminals_and_on_demand() {
    let dir = scratch();
    let line = "--name=a --ioengine=null --rw=randread --size=1g --time_based --runtime=2";
    let quiet = run(dir.path(), &words(line)).expect(0);
    assert!(!quiet.stdout.contains("Jobs: "), "{}", quiet.stdout);
    let shown = run(dir.path(), &words(&format!("--eta=always {line}"))).expect(0);
    let progress = shown.line("Jobs: 1 (f=1)");
    assert!(
        progress.contains("[r(1)]") || progress.contains("Jobs: 1 (f=1)"),
        "{progress}"
    );
    assert!(progress.contains('\r'));
}

#[test]
fn periodic_reports_are_whole_documents() {
    let dir = scratch();
    let line = "--output-format=json --status-interval=500ms --name=a --ioengine=null --rw=read \
                --size=1g --time_based --runtime=2";
    let run = run(dir.path(), &words(line)).expect(0);
    let documents: Vec<serde_json::Value> = serde_json::Deserializer::from_str(&run.stdout)
        .into_iter()
        .map(Result::unwrap)
        .collect();
    assert!(documents.len() >= 3, "{} documents", documents.len());
    let ios: Vec<u64> = documents
        .iter()
        .map(|d| d["jobs"][0]["read"]["total_ios"].as_u64().unwrap())
        .collect();
    assert!(ios.windows(2).all(|pair| pair[0] <= pair[1]), "{ios:?}");
}

#[test]
fn a_report_on_demand() {
    let dir = scratch();
    let args = words("--name=a --ioengine=null --rw=read --size=1g --time_based --runtime=2");
    let child = ferrio(dir.path(), &args).spawn().unwrap();
    until("a worker", || !workers_of(child.id()).is_empty());
    std::thread::sleep(Duration::from_millis(500));
    signal("USR1", child.id());
    let run = wait(child).expect(0);
    assert_eq!(
        run.stdout.matches("Run status group 0").count(),
        2,
        "{}",
        run.stdout
    );
}

#[test]
fn figures_agree_with_each_other() {
    let dir = scratch();
    let line = "--name=a --rw=randrw --bs=4k --size=4m --ioengine=libaio --iodepth=4 \
                --output-format=json+ --lat_percentiles=1 --slat_percentiles=1";
    let (_, json) = run_json(dir.path(), &words(line));
    for direction in ["read", "write"] {
        let part = &json["jobs"][0][direction];
        let ios = part["total_ios"].as_u64().unwrap();
        for kind in ["slat_ns", "clat_ns", "lat_ns"] {
            let latency = &part[kind];
            assert_eq!(latency["N"].as_u64().unwrap(), ios, "{direction} {kind}");
            let bins = latency["bins"].as_object().unwrap();
            assert_eq!(bins.values().map(|n| n.as_u64().unwrap()).sum::<u64>(), ios);
            let (min, max) = (
                latency["min"].as_u64().unwrap(),
                latency["max"].as_u64().unwrap(),
            );
            for value in latency["percentile"].as_object().unwrap().values() {
                let value = value.as_u64().unwrap();
                assert!((min..=max).contains(&value), "{value} in {min}..={max}");
            }
        }
        assert_eq!(part["io_bytes"].as_u64().unwrap(), ios * 4096);
    }
}

#[test]
fn names_of_all_kinds_give_valid_json() {
    let dir = scratch();
    let name = "--name=a\tb\"c\\d";
    let (run, json) = run_json(dir.path(), &[name, "--ioengine=null", "--size=4k"]);
    run.expect(0);
    assert_eq!(json["jobs"][0]["jobname"], "a\tb\"c\\d");
}

#[test]
fn periodic_reports_in_lines() {
    let dir = scratch();
    let line = "--output-format=json-lines --status-interval=400ms --name=a --ioengine=null \
                --rw=read --size=1g --time_based --runtime=1";
    let run = run(dir.path(), &words(line)).expect(0);
    let mut last = 0;
    let mut documents = 0;
    for line in run.stdout.lines() {
        let json: serde_json::Value = serde_json::from_str(line).unwrap();
        let ios = json["jobs"][0]["read"]["total_ios"].as_u64().unwrap();
        assert!(ios >= last, "{ios} after {last}");
        last = ios;
        documents += 1;
    }
    assert!(documents >= 3, "{}", run.stdout);
    // A refusal is one line too.
    let run = finish(ferrio(
        dir.path(),
        &["--output-format=json-lines", "--name=a", "--nosuch=1"],
    ))
    .expect(1);
    assert_eq!(run.stdout.lines().count(), 1, "{}", run.stdout);
    finish(ferrio(dir.path(), &["--output-format=jsonlines"])).expect(1);
}

#[test]
fn a_file_asks_for_a_report() {
    let dir = scratch();
    let line = "--output-format=json-lines --name=a --ioengine=null --rw=read --size=1g \
                --time_based --runtime=2";
    let mut command = ferrio(dir.path(), &words(line));
    command.env("TMPDIR", dir.path());
    let child = command.spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(500));
    let request = dir.path().join("fio-dump-status");
    fs::write(&request, "").unwrap();
    until("the removal of the request", || !request.exists());
    assert_eq!(wait(child).expect(0).stdout.lines().count(), 2);
    // One that cannot be removed is told once, and disturbs nothing.
    fs::create_dir(&request).unwrap();
    let line = line.replace("--runtime=2", "--runtime=1");
    let mut command = ferrio(dir.path(), &words(&line));
    command.env("TMPDIR", dir.path());
    let run = finish(command).expect(0);
    assert_eq!(run.stdout.lines().count(), 1);
    let told = run.stderr.matches("fio-dump-status").count();
    assert_eq!(told, 1, "{}", run.stderr);
}
