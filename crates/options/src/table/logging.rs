//! Logs; not built.

use super::placement::cpu_list;
use super::{Kind, Opt, word};

/// Logs.
pub(super) static OPTIONS: &[Opt] = &[
    Opt::new(
        "per_job_logs",
        Kind::Bool,
        "Put the job number into log file names",
    )
    .at("Logging", "")
    .default("1")
    .unless(&[
        "write_bw_log",
        "write_lat_log",
        "write_iops_log",
        "write_hist_log",
    ]),
    Opt::new(
        "write_bw_log",
        Kind::OptionalText,
        "Record bandwidth samples into a log; value is the file prefix",
    )
    .at("Logging", ""),
    Opt::new(
        "write_lat_log",
        Kind::OptionalText,
        "Record latency samples into logs; value is the file prefix",
    )
    .at("Logging", ""),
    Opt::new(
        "write_iops_log",
        Kind::OptionalText,
        "Record IOPS samples into a log; value is the file prefix",
    )
    .at("Logging", ""),
    Opt::new(
        "log_entries",
        Kind::Int,
        "Initial room of a log, in entries",
    )
    .at("Logging", "")
    .default("1024")
    .range(1024, 1048576)
    .unless(&[
        "write_bw_log",
        "write_lat_log",
        "write_iops_log",
        "write_hist_log",
    ]),
    Opt::new(
        "log_avg_msec",
        Kind::Int,
        "Average the log entries over this window",
    )
    .at("Logging", "")
    .default("0")
    .unless(&[
        "write_bw_log",
        "write_lat_log",
        "write_iops_log",
        "write_hist_log",
    ]),
    Opt::new(
        "log_hist_msec",
        Kind::Int,
        "Interval of histogram log entries",
    )
    .at("Logging", "")
    .default("0")
    .unless(&[
        "write_bw_log",
        "write_lat_log",
        "write_iops_log",
        "write_hist_log",
    ]),
    Opt::new(
        "log_hist_coarseness",
        Kind::Int,
        "Each step halves the number of histogram bins (1216, 608, 304, 152, 76, 38, 19)",
    )
    .at("Logging", "")
    .default("0")
    .range(0, 6)
    .unless(&[
        "write_bw_log",
        "write_lat_log",
        "write_iops_log",
        "write_hist_log",
    ]),
    Opt::new(
        "write_hist_log",
        Kind::OptionalText,
        "Record latency histograms into a log; value is the file prefix",
    )
    .at("Logging", ""),
    Opt::new(
        "log_window_value",
        Kind::Word,
        "Which value a window is logged with",
    )
    .aka(&["log_max_value"])
    .at("Logging", "")
    .words(&[
        word("avg", "average"),
        word("max", "maximum"),
        word("both", "average and maximum"),
        word("0", "avg"),
        word("1", "max"),
    ])
    .default("avg")
    .unless(&[
        "write_bw_log",
        "write_lat_log",
        "write_iops_log",
        "write_hist_log",
    ]),
    Opt::new("log_offset", Kind::Bool, "Add the offset to each log entry")
        .at("Logging", "")
        .default("0")
        .unless(&[
            "write_bw_log",
            "write_lat_log",
            "write_iops_log",
            "write_hist_log",
        ]),
    Opt::new(
        "log_prio",
        Kind::Bool,
        "Log the full priority value rather than a high/normal flag",
    )
    .at("Logging", "")
    .default("0")
    .unless(&[
        "write_bw_log",
        "write_lat_log",
        "write_iops_log",
        "write_hist_log",
    ]),
    Opt::new(
        "log_issue_time",
        Kind::Bool,
        "Add the issue time to each log entry",
    )
    .at("Logging", "")
    .default("0"),
    Opt::new(
        "log_compression",
        Kind::Int,
        "Compress the in-memory log in chunks of this size",
    )
    .at("Logging", "")
    .range(1024, 536870912)
    .unless(&[
        "write_bw_log",
        "write_lat_log",
        "write_iops_log",
        "write_hist_log",
    ]),
    Opt::new(
        "log_compression_cpus",
        Kind::Custom,
        "CPUs of the log compression threads",
    )
    .at("Logging", "")
    .parent("log_compression")
    .checks(cpu_list)
    .unless(&[
        "write_bw_log",
        "write_lat_log",
        "write_iops_log",
        "write_hist_log",
    ]),
    Opt::new(
        "log_store_compressed",
        Kind::Bool,
        "Leave the log file compressed",
    )
    .at("Logging", "")
    .unless(&[
        "write_bw_log",
        "write_lat_log",
        "write_iops_log",
        "write_hist_log",
    ]),
    Opt::new(
        "log_alternate_epoch",
        Kind::Bool,
        "Time stamps of the logs relative to another clock's epoch",
    )
    .aka(&["log_unix_epoch"])
    .at("Logging", "")
    .unless(&[
        "write_bw_log",
        "write_lat_log",
        "write_iops_log",
        "write_hist_log",
    ]),
    Opt::new(
        "log_alternate_epoch_clock_id",
        Kind::Int,
        "Which clock gives that epoch",
    )
    .at("Logging", "")
    .unless(&[
        "write_bw_log",
        "write_lat_log",
        "write_iops_log",
        "write_hist_log",
    ]),
    Opt::new(
        "block_error_percentiles",
        Kind::Bool,
        "Keep a history of trim errors per block",
    )
    .at("Logging", "")
    .default("0"),
];
