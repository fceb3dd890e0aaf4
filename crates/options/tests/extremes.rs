//! Input of absurd size or shape: an answer, soon, and a reason where it is refused.

mod common;

use common::{FakeHost, errors, parse_words, run_of, status};
use ferrio_options::catalogue;

fn file(text: impl Into<Vec<u8>>) -> FakeHost {
    FakeHost::default().with_file("j.fio", text)
}

#[test]
fn as_many_jobs_as_there_may_be() {
    for (jobs, expected) in [(4088, 0), (4089, 1), (0, 1), (1_000_000_000, 1)] {
        let words = [
            "--name=a",
            "--ioengine=null",
            "--size=4k",
            &format!("--numjobs={jobs}"),
        ];
        let parsed = parse_words(&words, &FakeHost::default());
        assert_eq!(
            status(&parsed),
            expected,
            "{jobs}: {:?}",
            parsed.diagnostics
        );
        if expected != 0 {
            assert!(errors(&parsed)[0].contains("numjobs") || errors(&parsed)[0].contains("4088"));
        }
    }
}

#[test]
fn ten_thousand_sections() {
    let sections: String = (0..10_000).map(|n| format!("[s{n}]\nbs=8k\n")).collect();
    let text = format!("[global]\nioengine=null\nsize=1m\n{sections}");
    let parsed = parse_words(&["j.fio"], &file(text.clone()));
    assert_eq!(status(&parsed), 1);
    assert!(errors(&parsed)[0].contains("4088"), "{:?}", errors(&parsed));
    // One of them can be run.
    let run = run_of(parse_words(&["--section=s9999", "j.fio"], &file(text)));
    assert_eq!(run.jobs[0].name, "s9999");
}

#[test]
fn lines_of_a_mebibyte() {
    let long = "x".repeat(1 << 20);
    for text in [
        format!("[j]\nioengine=null\nsize=4k\n# {long}\n"),
        format!("[j]\nioengine=null\nsize=4k\ndescription=short # {long}\n"),
    ] {
        // The rest of a line beyond 8191 bytes is a line of its own, as fio reads it.
        let parsed = parse_words(&["j.fio"], &file(text));
        assert_eq!(status(&parsed), 1);
        let first = errors(&parsed)[0];
        assert!(first.len() < 16384, "a message of {} bytes", first.len());
    }
    let parsed = parse_words(
        &["--name=a", "--ioengine=null", &format!("--size={long}")],
        &FakeHost::default(),
    );
    assert_eq!(status(&parsed), 1);
    let parsed = parse_words(&[format!("--{long}")], &FakeHost::default());
    assert_eq!(status(&parsed), 1);
    let nested = format!("--bs={}4k{}", "(".repeat(1 << 20), ")".repeat(1 << 20));
    assert_eq!(
        status(&parse_words(&["--name=a", &nested], &FakeHost::default())),
        1
    );
}

/// Every byte that a line can hold may be in a name.
#[test]
fn names_with_every_byte() {
    let bytes: Vec<u8> = (1..=255).filter(|b| !b"\n\r;#".contains(b)).collect();
    for byte in bytes {
        let mut text = b"[x".to_vec();
        text.push(byte);
        text.extend_from_slice(b"y]\nioengine=null\nsize=4k\n");
        let run = run_of(parse_words(&["j.fio"], &file(text)));
        assert_eq!(run.jobs.len(), 1);
        assert!(run.jobs[0].name.starts_with('x') && run.jobs[0].name.ends_with('y'));
    }
}

/// A bare name means something, or is refused with the option named.
#[test]
fn bare_options() {
    for option in catalogue::options() {
        let catalogue::Owner::Job = option.owner else {
            continue;
        };
        let text = format!("[j]\nioengine=null\nsize=4k\n{}\n", option.name);
        let parsed = parse_words(&["j.fio"], &file(text));
        if status(&parsed) != 0 {
            let named = errors(&parsed)
                .iter()
                .any(|error| error.contains(option.name));
            assert!(named, "{}: {:?}", option.name, errors(&parsed));
        }
    }
}

/// Names of very many files are made quickly and kept compactly; found by fuzzing.
#[test]
fn very_many_names() {
    let words = [
        "--name=a",
        "--ioengine=null",
        "--size=100g",
        "--numjobs=10",
        "--nrfiles=150k",
    ];
    let run = run_of(parse_words(&words, &FakeHost::default()));
    let names: usize = run.jobs.iter().map(|job| job.target.files.len()).sum();
    assert_eq!(names, 1_536_000);
}
