//! Whatever is typed: an answer, no panic, no hang.

mod common;

use common::{FakeHost, errors, parse_words, status};
use ferrio_options::{Outcome, Parsed};
use proptest::prelude::*;

/// Names of all main options, from the program's own help.
fn names() -> Vec<String> {
    let parsed = parse_words(&["--cmdhelp=all"], &FakeHost::default());
    let Outcome::Exit { stdout, .. } = parsed.outcome else {
        panic!("help runs nothing")
    };
    let mut names: Vec<String> = stdout
        .lines()
        .filter_map(|line| line.split(':').next())
        .map(|n| n.trim().into())
        .collect();
    assert!(names.len() > 240);
    for more in [
        "rwmixcycle",
        "verifysort",
        "hipri",
        "nonvectored",
        "userspace_reap",
    ] {
        names.push(more.to_string());
    }
    names
}

/// Text that looks like a value.
fn value() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[0-9]{1,22}[kmgtpKMi%bzsuh]{0,3}",
        "-?[0-9]{0,3}\\.[0-9]{0,12}[a-z%]{0,2}",
        "0x[0-9a-fA-F]{0,18}",
        "[(]{0,3}[0-9]{0,3}[-+*/%^ ][(]{0,2}[0-9a-z.]{0,5}[)]{0,3}[kms]{0,2}",
        "(read|randrw|zipf|zoned|zoned_abs|sequence|libaio|io_uring|null|none|all|EIO|iops)",
        "[\"'][a-z%]{0,3}[\"']?",
        "\\PC{0,6}",
    ];
    proptest::collection::vec((piece, "[-,:/;# =\\\\]?"), 0..6)
        .prop_map(|pieces| pieces.into_iter().map(|(a, b)| a + &b).collect())
}

fn option() -> impl Strategy<Value = (String, Option<String>)> {
    (
        proptest::sample::select(names()),
        proptest::option::weighted(0.9, value()),
    )
}

/// Failures say why; a run has jobs.
fn sane(parsed: &Parsed) {
    match &parsed.outcome {
        Outcome::Run(run) => {
            assert!(!run.jobs.is_empty());
            for job in &run.jobs {
                assert!(job.queue.depth > 0 && job.sizes.loops > 0);
                assert!(
                    job.pattern
                        .block
                        .iter()
                        .all(|b| b.min > 0 && b.min <= b.max)
                );
            }
        }
        Outcome::Exit { status: 0, .. } => {}
        // Questions for help are answered on standard output, whatever the status.
        Outcome::Exit { stdout, .. } => {
            assert!(
                !errors(parsed).is_empty() || !stdout.is_empty(),
                "{parsed:?}"
            );
        }
    }
    for diagnostic in &parsed.diagnostics {
        assert!(!diagnostic.text.contains('\n'));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn single_options((name, value) in option()) {
        let option = match value {
            Some(value) => format!("--{name}={value}"),
            None => format!("--{name}"),
        };
        let words = ["--name=a", "--ioengine=null", "--size=1m", &option];
        sane(&parse_words(&words, &FakeHost::default()));
    }

    #[test]
    fn job_files(lines in proptest::collection::vec((option(), 0..12_u8), 0..8)) {
        let mut text = String::from("[global]\nioengine=null\nsize=1m\n[j]\n");
        for ((name, value), kind) in lines {
            text += &match (kind, value) {
                (0, _) => format!("[{name}]\n"),
                (1, Some(value)) => format!("{value}\n"),
                (2, Some(value)) => format!("{name} = ${{{value}}}$pagesize*{value}\n"),
                (_, Some(value)) => format!("{name}={value}\n"),
                (_, None) => format!("{name}\n"),
            };
        }
        let host = FakeHost::default().with_file("j.fio", text);
        sane(&parse_words(&["j.fio"], &host));
        sane(&parse_words(&["--showcmd", "j.fio"], &host));
    }

    #[test]
    fn any_bytes_as_job_file(text in proptest::collection::vec(any::<u8>(), 0..400)) {
        let host = FakeHost::default().with_file("j.fio", text);
        sane(&parse_words(&["j.fio"], &host));
    }

    #[test]
    fn any_words(words in proptest::collection::vec("-{0,2}\\PC{0,12}=?\\PC{0,6}", 0..5)) {
        sane(&parse_words(&words, &FakeHost::default()));
    }
}

#[test]
fn help_of_every_option() {
    for name in names() {
        let parsed = parse_words(&[format!("--cmdhelp={name}")], &FakeHost::default());
        assert_eq!(status(&parsed), 0, "{name}");
    }
}
