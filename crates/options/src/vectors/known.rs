//! Where ferrio differs from fio 3.42 on purpose: the one list of rows, each with its reason.
//!
//! A reason covers one or more rows of a vector file; tests insist that listed rows differ.

/// Rows by reason.
pub(super) type Known = &'static [(&'static str, &'static [&'static str])];

/// Rows of `parsing-values.json`.
pub(super) static VALUES: Known = &[
    (
        "text behind a number is refused, not dropped: unknown units, a second unit, blanks \
         inside, operators outside parentheses",
        &[
            "v018", "v019", "v022", "v023", "v026", "v029", "v031", "v032", "v035", "v080", "v084",
            "v095", "v119", "v120", "v122", "v131", "v136", "v137", "v138", "v139", "v142", "v148",
            "v189", "v380", "v408",
        ],
    ),
    (
        "a separator that nothing follows, and a time of day in place of a length of time",
        &["v062", "v143"],
    ),
    (
        "a blank in front of a number does not hide its unit",
        &["v033", "v192"],
    ),
    (
        "operators between numbers are refused, not dropped",
        &["v044", "v045"],
    ),
    (
        "fractions count, or are refused where only whole numbers have a meaning",
        &[
            "v034", "v091", "v132", "v133", "v191", "v379", "v389", "v412",
        ],
    ),
    (
        "one bad piece of a list is an error, not skipped",
        &["v059", "v060", "v061", "v184", "v185"],
    ),
    (
        "per cent above 100, negative, or where it has no meaning",
        &["v076", "v077", "v078", "v090", "v108", "v113", "v388"],
    ),
    (
        "negative times, sizes and shares have no meaning",
        &["v089", "v107", "v134", "v156", "v385"],
    ),
    (
        "each time of a list has its own unit",
        &["v144", "v152", "v159"],
    ),
    ("a hexadecimal time counts in the option's unit", &["v135"]),
    (
        "numbers that do not fit are refused, not wrapped",
        &["v088", "v373", "v414", "v415"],
    ),
    (
        "an empty entry or a second share in a bssplit is an error",
        &["v211", "v212", "v214"],
    ),
    (
        "text behind a word or its parameter is refused, not dropped",
        &[
            "v227", "v240", "v241", "v330", "v332", "v337", "v342", "v397", "v475", "v478",
        ],
    ),
    (
        "a bad or comma-separated percentile list is refused",
        &["v272", "v275"],
    ),
    (
        "CPU numbers are taken whole",
        &["v299", "v301", "v302", "v303", "v304", "v305"],
    ),
    ("0 operations a visit count as 1 at once", &["v348"]),
    (
        "aliases of an engine are resolved at once",
        &["v472", "v473"],
    ),
];

/// Rows of `parsing-expr.json`.
pub(super) static EXPRESSIONS: Known = &[
    (
        "nothing is split inside parentheses",
        &["x013", "x014", "x015", "x049", "x106"],
    ),
    ("division by zero is an error", &["x034", "x035"]),
    (
        "operators outside parentheses are refused, not dropped",
        &["x046", "x047", "x099"],
    ),
    (
        "results beyond 32 bits keep their value",
        &["x068", "x069", "x086"],
    ),
    (
        "times are exact to the microsecond, not cut to whole seconds",
        &["x076", "x078", "x079", "x083", "x085", "x091"],
    ),
    ("the vector's command gives size=100% before", &["x101"]),
];

/// Rows of `parsing-jobs.json`.
pub(super) static JOBS: Known = &[
    (
        "a blank in front of a number does not hide its unit",
        &["j002", "j003"],
    ),
    ("a byte-order mark is read over", &["j014"]),
    (
        "text behind a number is refused, not dropped",
        &["j097", "j144"],
    ),
    (
        "an ambiguous abbreviation needs no guess: the possibilities are listed",
        &["j138"],
    ),
];

/// Rows of `parsing-tool.json`.
pub(super) static TOOL: Known = &[
    (
        "what is debugged is not announced on standard output",
        &["t064"],
    ),
    (
        "tests of checksums and memory copies are not built",
        &["t068", "t069", "t070"],
    ),
    ("job headlines are printed by the report", &["t078", "t080"]),
];

/// Cases of `options-effective.json`, by their options.
pub(super) static EFFECTIVE: Known = &[
    (
        "a share that is no number is refused, not dropped",
        &["--bssplit=4k/x:8k/50"],
    ),
    (
        "the zone size goes with the zone mode, or clones would fail for it",
        &["--zonemode=strided --zonesize=64k --nrfiles=2 --openfiles=2"],
    ),
    ("reversed ranges are turned around", &["--filesize=2m,1m"]),
];

/// Cases of `options-messages.json`.
pub(super) static MESSAGES: Known = &[
    (
        "options are judged by the engine that the job ends up with",
        &["syncfs-engine"],
    ),
    (
        "a share that is no number is refused, not dropped",
        &["value:bssplit=4k/x"],
    ),
    (
        "found when files are set up, which is not the options' work",
        &[
            "readonly-layout",
            "size-zero",
            "need-size",
            "bad-offset",
            "bs-too-big",
            "no-create",
            "direct-devnull",
        ],
    ),
];
