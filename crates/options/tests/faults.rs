//! Faults that users of fio report, as far as they are decided by reading text.

mod common;

use std::os::unix::ffi::OsStringExt;
use std::path::Path;

use common::{
    FakeHost, errors, of_severity, parse_as, parse_line, parse_words, run_of, run_of_file, status,
};
use ferrio_options::{Outcome, PathKind, Severity};

#[test]
fn an_unescaped_colon_is_worth_a_warning() {
    let host = FakeHost::default().with_file("a:b", "");
    let parsed = parse_words(&["--name=w", "--filename=a:b", "--size=8k"], &host);
    let warnings = of_severity(&parsed, Severity::Warning).join("\n");
    assert!(
        warnings.contains("a:b") && warnings.contains("a\\:b"),
        "{warnings}"
    );
    assert_eq!(
        run_of(parsed).jobs[0].target.files,
        [Path::new("a"), Path::new("b")]
    );

    let parsed = parse_words(&["--name=w", "--filename=a\\:b", "--size=8k"], &host);
    assert!(parsed.diagnostics.is_empty());
    assert_eq!(run_of(parsed).jobs[0].target.files, [Path::new("a:b")]);

    let path = "/dev/disk/by-path/pci-0000:00:1f.2-ata-1";
    let host = FakeHost::default().with_kind(path, PathKind::Symlink);
    let filename = format!("--filename={path}");
    let parsed = parse_words(
        &["--name=w", "--ioengine=null", &filename, "--size=8k"],
        &host,
    );
    assert!(of_severity(&parsed, Severity::Warning)[0].contains("by-path"));
}

/// A failure is reported in the format asked for, wherever that stands.
#[test]
fn the_format_is_known_after_a_failure() {
    for line in [
        "--output-format=json --output=j --name=a --ioengine=nosuch",
        "--name=a --ioengine=nosuch --output-format=json --output=j",
        "--name=a --bs=4q --size=1m --output-format json --output j",
    ] {
        let parsed = parse_line(line, &FakeHost::default());
        assert_eq!(status(&parsed), 1, "{line}");
        assert!(
            parsed.output.formats.json && !parsed.output.formats.normal,
            "{line}"
        );
        assert_eq!(
            parsed.output.file.as_deref(),
            Some(Path::new("j")),
            "{line}"
        );
        assert_eq!(errors(&parsed).len(), 1, "{line}");
    }
}

#[test]
fn recorded_options_have_each_name_once() {
    let run = run_of_file("[j]\nioengine=null\nsize=8k\nfilename=a\nfilename=b:c\nbs=4k\nbs=8k\n");
    let pairs: Vec<(&str, &str)> = run.jobs[0]
        .recorded
        .iter()
        .map(|(name, text)| (name.as_str(), text.as_str()))
        .collect();
    assert_eq!(
        pairs,
        [
            ("ioengine", "null"),
            ("size", "8k"),
            ("bs", "8k"),
            ("filename", "a:b:c")
        ]
    );
    assert_eq!(run.jobs[0].target.files.len(), 3);
}

#[test]
fn names_are_kept_byte_for_byte() {
    let name = "--name=a\tb\"c\\d";
    let run = run_of(parse_words(
        &[name, "--ioengine=null", "--size=8k"],
        &FakeHost::default(),
    ));
    assert_eq!(run.jobs[0].name, "a\tb\"c\\d");

    let bytes = b"--filename=x\xff\xfey".to_vec();
    let filename = std::ffi::OsString::from_vec(bytes);
    let words = ["--name=a".into(), "--size=8k".into(), filename];
    let run = run_of(parse_words(&words, &FakeHost::default()));
    let path = run.jobs[0].target.files[0]
        .to_path_buf()
        .into_os_string()
        .into_vec();
    assert_eq!(path, b"x\xff\xfey");
}

/// Names are kept compactly: a million of them is no burden.
#[test]
fn very_many_files() {
    let run = run_of(parse_line(
        "--name=a --ioengine=null --size=8g --numjobs=10 --nrfiles=100k",
        &FakeHost::default(),
    ));
    let last = &run.jobs[9].target.files;
    assert_eq!(
        (last.len(), &last[102_399]),
        (102_400, std::path::Path::new("a.1.102399"))
    );
}

/// All orders of names, numbers of files and directories, in global and job.
#[test]
fn inherited_file_lists() {
    let lines = [
        "filename=a:b:c",
        "nrfiles=1",
        "nrfiles=5",
        "directory=/tmp",
        "opendir=/tmp",
    ];
    for global in lines {
        for first in lines {
            for second in lines {
                let text = format!("[global]\n{global}\n[j]\n{first}\n{second}\nsize=8k\n");
                let host = FakeHost::default().with_file("j.fio", text.as_str());
                for words in [vec!["--parse-only", "j.fio"], vec!["j.fio"]] {
                    assert_eq!(status(&parse_words(&words, &host)), 0, "{text}");
                }
            }
        }
    }
    let host = FakeHost::default().with_file(
        "j.fio",
        "[global]\nfilename=a:b:c\n[j]\nnrfiles=1\nfilename=x\nsize=8k\n",
    );
    assert_eq!(status(&parse_words(&["--parse-only", "j.fio"], &host)), 0);
    let run = run_of(parse_words(&["j.fio"], &host));
    let files: Vec<&str> = run.jobs[0]
        .target
        .files
        .iter()
        .filter_map(|f| f.to_str())
        .collect();
    assert_eq!(files, ["a", "b", "c", "x"]);
}

#[test]
fn values_are_taken_whole_or_refused() {
    let one = |option: &str| {
        parse_words(
            &["--name=a", "--ioengine=null", "--size=1g", option],
            &FakeHost::default(),
        )
    };
    assert_eq!(run_of(one("--bs=4.5k")).jobs[0].pattern.block[0].max, 4608);
    assert_eq!(
        run_of(one("--size=1.5m")).jobs[0].sizes.size.bytes,
        1_572_864
    );
    assert_eq!(
        run_of(one("--runtime=1.5")).jobs[0].pacing.runtime_us,
        1_500_000
    );
    assert_eq!(
        run_of(one("--runtime=30s")).jobs[0].pacing.runtime_us,
        30_000_000
    );
    assert_eq!(
        run_of(one("--bs=4k   ; note")).jobs[0].pattern.block[0].max,
        4096
    );
    assert_eq!(run_of(one("--bs= 8k")).jobs[0].pattern.block[0].max, 8192);
    for bad in [
        "iodepth=1.5",
        "numjobs=2.5",
        "bs=4q",
        "bs=4kk",
        "bs=4k4",
        "bs=4k junk",
    ] {
        let parsed = one(&format!("--{bad}"));
        assert_eq!(status(&parsed), 1, "{bad}");
        assert!(
            errors(&parsed)[0].contains(bad),
            "{bad}: {:?}",
            errors(&parsed)
        );
    }
    for line in ["bs=4k   ; note", "bs=4k # note"] {
        let run = run_of_file(&format!("[a]\nioengine=null\nsize=1m\n{line}\n"));
        assert_eq!(run.jobs[0].pattern.block[0].max, 4096, "{line}");
    }
}

#[test]
fn block_sizes_that_never_are_issued_are_told() {
    let line = "--name=a --ioengine=null --rw=randread --size=10m --norandommap --bssplit=";
    let parsed = parse_line(&format!("{line}6k/50:10k/50"), &FakeHost::default());
    assert!(of_severity(&parsed, Severity::Warning)[0].contains("10240"));
    run_of(parsed);
    let parsed = parse_line(&format!("{line}4k/10:64k/50:32k/40"), &FakeHost::default());
    assert!(parsed.diagnostics.is_empty());
}

#[test]
fn a_byte_order_mark_and_carriage_returns() {
    let run = run_of_file("\u{feff}[a]\r\nioengine=null\r\nsize=1m\r\nbs=8k\r\n");
    assert_eq!(run.jobs[0].pattern.block[0].max, 8192);
}

#[test]
fn per_cent_sizes_with_an_offset() {
    let run = run_of(parse_line(
        "--name=a --filename=f --rw=write --size=25% --offset=16k",
        &FakeHost::default(),
    ));
    assert_eq!(run.jobs[0].sizes.size.percent, Some(25));
    assert_eq!(run.jobs[0].sizes.offset.bytes, 16384);
    let line = "--name=a --filename=f --bs=512 --rw=read:-1024 --size=8k";
    assert_eq!(
        run_of(parse_line(line, &FakeHost::default())).jobs[0]
            .pattern
            .step,
        -1024
    );
}

#[test]
fn versions() {
    let answer =
        |program: &str| match parse_as(program, &["--version"], &FakeHost::default()).outcome {
            Outcome::Exit { status: 0, stdout } => stdout,
            other => panic!("{other:?}"),
        };
    assert_eq!(answer("/usr/bin/fio"), "fio-3.42\n");
    let ferrio = answer("./ferrio");
    assert!(ferrio.starts_with("ferrio ") && ferrio.ends_with(" (fio-3.42 compatible)\n"));
}

/// A file that includes itself, or files without end, are told and do not hang.
#[test]
fn includes_without_end() {
    let host = FakeHost::default()
        .with_file("j.fio", "[a]\nioengine=null\nsize=1m\ninclude i\n")
        .with_file("i", "bs=4k\ninclude i\n");
    assert_eq!(status(&parse_words(&["--parse-only", "j.fio"], &host)), 0);
    let parsed = parse_words(&["j.fio"], &host);
    assert_eq!(status(&parsed), 1);
    assert_eq!(errors(&parsed).len(), 1, "{:?}", errors(&parsed));
    let host = FakeHost::default()
        .with_file("j.fio", "[a]\ninclude i0\n")
        .with_file("i40", "bs=4k\n".repeat(100));
    let host = (0..40).fold(host, |host, n| {
        let next = format!("include i{0}\ninclude i{0}\n", n + 1);
        host.with_file(&format!("i{n}"), next)
    });
    assert_eq!(status(&parse_words(&["j.fio"], &host)), 1);
}

/// Settings that are missing would make another test of it: a run does not take place without an
/// included file, wherever the line stands, though a dry run passes as in fio.
#[test]
fn included_files_that_are_missing() {
    let job = "[a]\nioengine=null\nsize=1m\n";
    for (line, hint) in [
        ("include nope", "'nope'"),
        ("include  inc", "' inc'"),
        ("include", "its name is missing"),
        ("include sections", "must not begin a section"),
    ] {
        for behind in ["", "[b]\nioengine=null\nsize=1m\n"] {
            let host = FakeHost::default()
                .with_file("inc", "bs=8k\n")
                .with_file("sections", "bs=8k\n[x]\n")
                .with_file("j.fio", format!("{job}{line}\n{behind}"));
            assert_eq!(status(&parse_words(&["--parse-only", "j.fio"], &host)), 0);
            let parsed = parse_words(&["j.fio"], &host);
            assert_eq!(status(&parsed), 1, "{line}");
            let told = errors(&parsed);
            assert_eq!(told.len(), 1, "{told:?}");
            let place = if line.ends_with("sections") {
                "sections:2"
            } else {
                "j.fio:4"
            };
            assert!(
                told[0].contains(place) && told[0].contains(hint),
                "{told:?}"
            );
        }
    }
    let host = FakeHost::default()
        .with_file("empty", "")
        .with_file("j.fio", format!("{job}include empty\n"));
    assert_eq!(status(&parse_words(&["j.fio"], &host)), 0);
}

/// Text behind a word is refused as text behind a number is, a lone separator too. At the end of a
/// list of sizes or zones it drops nothing.
#[test]
fn words_are_taken_whole() {
    for bad in [
        "mem=malloc:foo",
        "mem=malloc:",
        "mem=mmap:",
        "ioengine=libaio:foo",
        "ioengine=libaio:",
        "rw=randread,write",
        "rw=randread,",
        "kb_base=1000:",
        "kb_base=1000,",
        "bssplit=4k::8k",
        "bssplit=:4k",
        "bssplit=:",
        "bs=4k,abc",
        "iodepth=,2",
        "zoneskip=20%",
    ] {
        let parsed = parse_words(
            &["--name=a", "--size=1m", &format!("--{bad}")],
            &FakeHost::default(),
        );
        assert_eq!(status(&parsed), 1, "{bad}");
        assert!(errors(&parsed)[0].contains(bad), "{:?}", errors(&parsed));
    }
    let split = |list: &str| {
        let job = [
            "--name=a",
            "--ioengine=null",
            "--size=1m",
            "--rw=randread",
            list,
        ];
        let run = run_of(parse_words(&job, &FakeHost::default()));
        (
            run.jobs[0].pattern.block.clone(),
            run.jobs[0].pattern.distribution.clone(),
        )
    };
    for list in [
        "--bssplit=4k/50:8k/50",
        "--random_distribution=zoned:60/10:40/90",
    ] {
        assert_eq!(split(&format!("{list}:")), split(list));
    }
}

/// A message says where in the job file the option stands, also what is found only when the job is
/// complete, or is not built.
#[test]
fn messages_name_the_line() {
    let told = |text: &str| {
        let host = FakeHost::default().with_file("j.fio", text);
        let parsed = parse_words(&["j.fio"], &host);
        assert_eq!(status(&parsed), 1, "{text}");
        errors(&parsed).join("\n")
    };
    let job = "[global]\nioengine=null\n[a]\nsize=1m\n";
    for (line, shown) in [
        (
            "verify_only",
            "option 'verify_only' (j.fio:5, section [a]) is not built",
        ),
        (
            "size=1z",
            "option 'size=1z' (j.fio:5, section [a]) is not built",
        ),
        ("zonesize=1m", "j.fio:5: job 'a': option 'zonesize'"),
        ("numjobs=5000", "j.fio:5: job 'a': option 'numjobs=5000'"),
        ("bs=2m", "j.fio:4: job 'a': option 'size'"),
        ("bs=4q", "j.fio:5: option 'bs=4q' in section [a]"),
        ("bss=4k", "j.fio:5: unknown option 'bss' in section [a]"),
        (
            "hipri=1",
            "j.fio:5: option 'hipri' in section [a] belongs to",
        ),
        ("ioengine=nul", "j.fio:5: job 'a': engine 'nul'"),
    ] {
        let errors = told(&format!("{job}{line}\n"));
        assert!(errors.contains(shown), "{shown}: {errors}");
    }
    // Settings of others stand where they were written; what was not written, at the section.
    let errors = told("[global]\nverify_only\nioengine=null\n[a]\nsize=1m\n");
    assert!(errors.contains("(j.fio:2, section [global])"), "{errors}");
    let errors = told("[a]\nioengine=cpuio\n");
    assert!(
        errors.contains("j.fio:1: job 'a': option 'cpuload'"),
        "{errors}"
    );
    let offload = "ioengine=psync\nsize=1m\nrw=randwrite\niodepth=4\nserialize_overlap=1\n";
    let jobs = format!("[a]\n{offload}[b]\n{offload}");
    let errors = told(&format!("[global]\nio_submit_mode=offload\n{jobs}"));
    assert!(
        errors.contains("j.fio:14: job 'b': option 'serialize_overlap'"),
        "{errors}"
    );
    // The command line has no lines.
    let host = FakeHost::default();
    let parsed = parse_words(&["--name=a", "--size=1m", "--verify_only"], &host);
    assert!(errors_start(&parsed, "option 'verify_only' is not built"));
    let parsed = parse_words(&["--name=a", "--size=1m", "--zonesize=1m"], &host);
    assert!(errors_start(&parsed, "job 'a': option 'zonesize'"));
}

fn errors_start(parsed: &ferrio_options::Parsed, text: &str) -> bool {
    errors(parsed)
        .first()
        .is_some_and(|told| told.starts_with(text))
}

/// Arithmetic with a machine keyword, and what is said where it fails.
#[test]
fn keyword_arithmetic() {
    for (value, bytes) in [
        ("2*$pagesize", 8192),
        ("$ncpus*1024", 2048),
        ("($pagesize^2)", 1 << 24),
    ] {
        let run = run_of_file(&format!("[a]\nioengine=null\nsize=1g\nbs={value}\n"));
        assert_eq!(run.jobs[0].pattern.block[0].max, bytes, "{value}");
    }
    for (value, why) in [
        ("$pagesize/0", "division by zero"),
        ("$pagesize+1%0", "division by zero"),
        ("$pagesize/(2-2)", "division by zero"),
        ("$pagesize*2k", "cannot be calculated (operators"),
        ("$pagesize^2", "operator '^'"),
        ("$pagesize%1000", "operator '%'"),
    ] {
        let text = format!("[a]\nioengine=null\nsize=1g\nbs={value}\n");
        let parsed = parse_words(&["j.fio"], &FakeHost::default().with_file("j.fio", text));
        assert_eq!(status(&parsed), 1, "{value}");
        assert!(
            errors(&parsed)[0].contains(why),
            "{value}: {:?}",
            errors(&parsed)
        );
    }
}

/// Absurd numbers end in a message, not in an allocation.
#[test]
fn absurd_numbers() {
    for option in [
        "--numjobs=0",
        "--numjobs=4294967295",
        "--nrfiles=4294967295",
        "--bs=9223372036854775807",
        "--iodepth=2147483647 --bs=1g",
        "--runtime=99999999999999d",
        "--cpus_allowed=0-4294967295",
    ] {
        let line = format!("--name=a --ioengine=null --size=1t {option}");
        let parsed = parse_line(&line, &FakeHost::default());
        assert_eq!(status(&parsed), 1, "{option}");
        assert!(!errors(&parsed).is_empty(), "{option}");
    }
}
