//! `--debug`: on standard error, whatever the report's format.

use crate::support::{Run, run, scratch, words};

fn with(options: &str) -> Run {
    let dir = scratch();
    let base = "--name=a --rw=write --bs=4k --size=16k --output-format=json";
    run(dir.path(), &words(&format!("{options} {base}"))).expect(0)
}

fn lines_of<'a>(run: &'a Run, category: &str) -> Vec<&'a str> {
    let start = format!("{category:<8} ");
    let lines = run.stderr.lines();
    lines.filter(|line| line.starts_with(&start)).collect()
}

#[test]
fn each_category_is_told_when_asked_for() {
    let run = with("--debug=io,file,process,mem,time");
    run.json();
    let io = lines_of(&run, "io");
    assert_eq!(
        io.len(),
        8,
        "four operations are queued and complete: {io:?}"
    );
    assert!(io[0].contains("queue:") && io[0].contains("off=0x0,len=0x1000,ddir=write,file=a.0.0"));
    assert!(
        lines_of(&run, "file")
            .iter()
            .any(|line| line.contains("open a.0.0"))
    );
    let states = lines_of(&run, "process");
    assert!(
        states
            .iter()
            .any(|line| line.ends_with("Initialized -> Running")),
        "{states:?}"
    );
    assert_eq!(lines_of(&run, "mem").len(), 1);
    assert_eq!(lines_of(&run, "time").len(), 1);
    // The second field is the thread: workers have their own.
    let thread = |line: &str| line.split_whitespace().nth(1).map(String::from);
    assert_ne!(thread(io[0]), thread(lines_of(&run, "time")[0]));
}

#[test]
fn what_is_not_asked_for_is_not_told() {
    let run = with("--debug=file");
    assert!(lines_of(&run, "io").is_empty() && lines_of(&run, "process").is_empty());
    assert!(with("").stderr.is_empty());
}

#[test]
fn values_are_told_while_they_are_read() {
    let run = with("--debug=parse");
    let line = lines_of(&run, "parse");
    assert!(
        line.iter()
            .any(|line| line.contains("'bs'") && line.contains("4096")),
        "{line:?}"
    );
}

#[test]
fn one_job_alone() {
    let run = with("--debug=io,job:2 --ioengine=null --name=first --size=1m --number_ios=3");
    assert_eq!(lines_of(&run, "io").len(), 8, "{}", run.stderr);
}

#[test]
fn unknown_categories_are_named_and_harmless() {
    let run = with("--debug=nonsense,zbd,job");
    assert!(run.stderr.contains("nonsense"));
    assert!(run.stderr.contains("nothing to tell"));
    assert!(run.stderr.contains("job:1"));
}
