//! Files and devices: names, sizes, opening, creation, closing.

use std::ffi::OsStr;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use super::{Kind, Opt, Set, nothing, word};
use crate::draft::{Ctx, Draft};
use crate::host::PathKind;
use crate::spec::{Fadvise, Fallocate, FileKind, FileLock, FileService, OpenSync};
use crate::value::{Value, float, list};

/// Where the data is.
pub(super) static NAMES: &[Opt] = &[
    Opt::new("filename", Kind::Text, "Explicit file or device list; entries separated by ':' ('\\:' is a literal colon)")
        .at("File", "Filename")
        .priority(-1)
        .limit(4096)
        .sets(Set::Run(filename)),
    Opt::new("filetype", Kind::Word, "Assume this type for the job's files instead of asking stat")
        .at("File", "General I/O")
        .words(&[word("none", "type is taken from stat"), word("file", "regular file"), word("block", "block device"), word("char", "character device")])
        .default("none")
        .sets(Set::Run(filetype)),
    Opt::new("directory", Kind::Text, "Prefix directory (':' list, clone number picks one by modulo) for generated and relative file names")
        .at("File", "Filename")
        .sets(Set::Run(directory)),
    Opt::new("filename_format", Kind::Text, "Template for generated file names; keywords $jobname, $jobnum, $filenum, $clientuid")
        .at("File", "Filename")
        .default("$jobname.$jobnum.$filenum")
        .priority(-1)
        .sets(Set::Run(filename_format)),
    Opt::new("unique_filename", Kind::Bool, "In client/server runs, prefix generated file names with the client's address")
        .at("File", "Filename")
        .default("1")
        .sets(Set::Run(nothing)),
    Opt::new("lockfile", Kind::Word, "Take an internal lock on a file around each I/O to it")
        .at("File", "Filename")
        .words(&[word("none", "no lock"), word("exclusive", "one I/O at a time"), word("readwrite", "shared for reads, exclusive for writes")])
        .default("none")
        .parent("filename")
        .priority(1)
        .sets(Set::Run(lockfile)),
    Opt::new("opendir", Kind::Text, "Add every file found below this directory (recursive)")
        .at("File", "Filename")
        .sets(Set::Run(opendir)),
];

/// How much of it.
pub(super) static SIZES: &[Opt] = &[
    Opt::new("size", Kind::Amount, "Total bytes of the job's file set (split over its files); percent of the file or a zone count also allowed")
        .at("I/O", "")
        .percent()
        .sets(Set::Run(size)),
    Opt::new("io_size", Kind::Amount, "Bytes to transfer when that differs from the region size; may exceed size")
        .aka(&["io_limit"])
        .at("I/O", "")
        .percent()
        .sets(Set::Run(io_size)),
    Opt::new("fill_device", Kind::Bool, "Keep writing until the device or file system is full")
        .aka(&["fill_fs"])
        .at("File", "")
        .default("0")
        .sets(Set::Switch(|d| &mut d.spec.target.fill_device)),
    Opt::new("filesize", Kind::Size, "Size of each single file, fixed or LOW-HIGH range drawn at random")
        .at("File", "")
        .min(1)
        .slots(2)
        .sets(Set::LowHigh(|d| &mut d.filesize)),
    Opt::new("file_append", Kind::Bool, "Begin I/O at the present end of the file")
        .at("File", "")
        .default("0")
        .sets(Set::Switch(|d| &mut d.spec.target.append)),
    Opt::new("offset", Kind::Amount, "First byte of the region, absolute, percent or zone count")
        .aka(&["fileoffset"])
        .at("I/O", "")
        .default("0")
        .percent()
        .sets(Set::Run(offset)),
    Opt::new("offset_align", Kind::Int, "Align the computed start offset up to this; matters mainly with a percent offset")
        .at("I/O", "")
        .default("0")
        .sets(Set::U64(|d| &mut d.spec.sizes.offset_align)),
    Opt::new("offset_increment", Kind::Amount, "Add this times the clone index to the start offset")
        .at("I/O", "")
        .default("0")
        .parent("offset")
        .percent()
        .sets(Set::Run(offset_increment)),
    Opt::new("number_ios", Kind::Size, "Finish after this number of I/Os")
        .at("I/O", "")
        .default("0")
        .sets(Set::U64(|d| &mut d.spec.sizes.number_ios)),
    Opt::new("num_range", Kind::Int, "Ranges carried by one trim command")
        .at("I/O", "")
        .default("1")
        .range(0, 256),
];

/// How files are chosen, opened and flushed.
pub(super) static ACCESS: &[Opt] = &[
    Opt::new("nrfiles", Kind::Int, "Number of files the job works on")
        .aka(&["nr_files"])
        .at("File", "")
        .default("1")
        .sets(Set::Run(nrfiles)),
    Opt::new("openfiles", Kind::Int, "How many of the files may be open at once")
        .at("File", "")
        .sets(Set::Run(openfiles)),
    Opt::new("file_service_type", Kind::Word, "How the next file is picked; ':N' postfix stays N I/Os on each")
        .at("File", "")
        .words(&[word("random", "uniform"), word("zipf", "Zipf weights"), word("pareto", "Pareto weights"), word("normal", "Gaussian weights"), word("gauss", "same as normal"), word("roundrobin", "each in turn"), word("sequential", "finish one before the next")])
        .default("roundrobin")
        .parent("nrfiles")
        .parameter()
        .sets(Set::Run(file_service)),
    Opt::new("fallocate", Kind::Word, "How space is reserved when files are laid out")
        .at("File", "")
        .words(&[word("none", "nothing"), word("native", "native call, failure ignored"), word("posix", "posix_fallocate"), word("keep", "fallocate with the keep-size flag"), word("truncate", "ftruncate to the size"), word("0", "none"), word("1", "posix")])
        .default("native")
        .sets(Set::Run(fallocate)),
    Opt::new("fadvise_hint", Kind::Word, "Access hint given to the kernel for each opened file")
        .at("File", "")
        .words(&[word("0", "no hint"), word("1", "random or sequential after the job's pattern"), word("random", "random"), word("sequential", "sequential"), word("noreuse", "no reuse")])
        .default("1")
        .sets(Set::Run(fadvise)),
    Opt::new("fsync", Kind::Int, "Flush the file after every N writes")
        .at("File", "")
        .default("0")
        .sets(Set::U64(|d| &mut d.spec.pattern.fsync_every)),
    Opt::new("fdatasync", Kind::Int, "Flush the file's data after every N writes")
        .at("File", "")
        .default("0")
        .sets(Set::U64(|d| &mut d.spec.pattern.fdatasync_every)),
    Opt::new("write_barrier", Kind::Int, "Make each Nth write a barrier")
        .at("I/O", "")
        .default("0")
        // For engines with barriers; none of those that are built has any.
        .sets(Set::Run(nothing)),
    Opt::new("sync_file_range", Kind::Words, "Call sync_file_range with these flags after every N writes (flags joined by ',', ':N' sets the count)")
        .at("File", "")
        .words(&[word("wait_before", "wait before the write"), word("write", "start the write"), word("wait_after", "wait after the write")])
        .parameter()
        .sets(Set::Run(sync_file_range)),
    Opt::new("direct", Kind::Bool, "Bypass the page cache")
        .at("I/O", "I/O Type")
        .default("0")
        .sets(Set::Switch(|d| &mut d.spec.target.direct)),
    Opt::new("atomic", Kind::Bool, "Ask for untorn writes; the engine has to support them")
        .at("I/O", "I/O Type")
        .default("0")
        .sets(Set::Switch(|d| &mut d.spec.target.atomic)),
    Opt::new("buffered", Kind::Bool, "Opposite of direct; writes the same setting negated")
        .at("I/O", "I/O Type")
        .default("1")
        .sets(Set::Run(buffered)),
    Opt::new("overwrite", Kind::Bool, "Lay files out first even when the job only writes")
        .at("File", "")
        .default("0")
        .sets(Set::Switch(|d| &mut d.spec.target.overwrite)),
];

/// How files come to be.
pub(super) static CREATION: &[Opt] = &[
    Opt::new(
        "invalidate",
        Kind::Bool,
        "Drop the page cache of the files first",
    )
    .at("I/O", "I/O Type")
    .default("1")
    .sets(Set::Switch(|d| &mut d.spec.target.invalidate)),
    Opt::new("sync", Kind::Word, "Open flag for synchronous writes")
        .at("I/O", "I/O Type")
        .words(&[
            word("none", "off"),
            word("0", "off"),
            word("sync", "O_SYNC"),
            word("1", "O_SYNC"),
            word("dsync", "O_DSYNC"),
        ])
        .default("none")
        .sets(Set::Run(open_sync)),
    Opt::new(
        "write_hint",
        Kind::Word,
        "Expected lifetime of written data",
    )
    .at("I/O engines", "")
    .words(&[
        word("none", "no lifetime"),
        word("short", "short"),
        word("medium", "medium"),
        word("long", "long"),
        word("extreme", "extreme"),
    ])
    .sets(Set::Run(write_hint)),
    Opt::new(
        "create_serialize",
        Kind::Bool,
        "Lay out files of all jobs one after another",
    )
    .at("File", "")
    .default("1")
    .sets(Set::Switch(|d| &mut d.spec.target.create_serialize)),
    Opt::new(
        "create_fsync",
        Kind::Bool,
        "Flush a laid out file before use",
    )
    .at("File", "")
    .default("1")
    .sets(Set::Switch(|d| &mut d.spec.target.create_fsync)),
    Opt::new(
        "create_on_open",
        Kind::Bool,
        "Create a file only when it is opened for I/O",
    )
    .at("File", "")
    .default("0")
    .sets(Set::Switch(|d| &mut d.spec.target.create_on_open)),
    Opt::new("create_only", Kind::Bool, "Lay files out and end")
        .at("File", "")
        .default("0")
        .sets(Set::Switch(|d| &mut d.spec.target.create_only)),
    Opt::new(
        "allow_file_create",
        Kind::Bool,
        "Permit creation of missing files",
    )
    .at("File", "Filename")
    .default("1")
    .sets(Set::Switch(|d| &mut d.spec.target.allow_create)),
    Opt::new(
        "allow_mounted_write",
        Kind::Bool,
        "Permit writes to a device that is mounted",
    )
    .at("File", "Filename")
    .default("0")
    .sets(Set::Switch(|d| &mut d.spec.target.allow_mounted_write)),
    Opt::new(
        "pre_read",
        Kind::Bool,
        "Read the files into the cache first",
    )
    .at("File", "")
    .default("0")
    .sets(Set::Switch(|d| &mut d.spec.target.pre_read)),
];

/// What happens to files at the end.
pub(super) static CLOSING: &[Opt] = &[
    Opt::new(
        "end_fsync",
        Kind::Bool,
        "Flush the files when the job's writes end",
    )
    .at("File", "")
    .default("0")
    .sets(Set::Switch(|d| &mut d.spec.pattern.end_fsync)),
    Opt::new(
        "fsync_on_close",
        Kind::Bool,
        "Flush a file when it is closed",
    )
    .at("File", "")
    .default("0")
    .sets(Set::Switch(|d| &mut d.spec.pattern.fsync_on_close)),
    Opt::new(
        "end_syncfs",
        Kind::Bool,
        "Sync each file system used, when the job's writes end",
    )
    .at("File", "")
    .default("0")
    .sets(Set::Switch(|d| &mut d.spec.pattern.end_syncfs)),
    Opt::new("unlink", Kind::Bool, "Delete the job's files at its end")
        .at("File", "")
        .default("0")
        .sets(Set::Switch(|d| &mut d.spec.target.unlink)),
    Opt::new(
        "unlink_each_loop",
        Kind::Bool,
        "Delete the job's files after each loop",
    )
    .at("File", "")
    .default("0")
    .sets(Set::Switch(|d| &mut d.spec.target.unlink_each_loop)),
];

/// Names beyond this number are not searched for a file whose name holds a colon.
const COLON_SEARCH_MAX: usize = 16;

/// Adds to the files; the number of files follows. Names get the first directory in front.
fn filename(draft: &mut Draft, value: &Value, ctx: &mut Ctx<'_>) -> Result<(), String> {
    let names = list::names(value.bytes());
    if names.is_empty() {
        return Err("names no file".to_string());
    }
    let text = list::strip_byte_comment(value.bytes());
    if !ctx.dry_run && names.len() > 1 && names.len() <= COLON_SEARCH_MAX {
        warn_of_colons(draft, text, &names, ctx);
    }
    for name in names {
        let path = in_directory(draft, name);
        draft.names.files.push(path);
        draft.names.kinds.push(draft.names.kind);
    }
    draft.spec.target.nrfiles = u32::try_from(draft.names.files.len()).unwrap_or(u32::MAX);
    Ok(())
}

/// A file whose name holds a colon needs `\:`; without it the parts become files of their own.
/// Device paths with a colon (below /dev/disk/by-path) are the usual case.
fn warn_of_colons(draft: &Draft, text: &[u8], names: &[Vec<u8>], ctx: &mut Ctx<'_>) {
    for first in 0..names.len() {
        for last in first + 1..names.len() {
            let joined = names[first..=last].join(&b':');
            let literal = text.windows(joined.len()).any(|part| part == joined);
            let path = in_directory(draft, joined.clone());
            if literal && ctx.host.kind(&path) != PathKind::Missing {
                let shown = String::from_utf8_lossy(&joined);
                ctx.warn(format!(
                    "option 'filename': '{shown}' exists, but ':' separates names and the parts \
                     are used instead; write '{}' for that file",
                    shown.replace(':', "\\:")
                ));
                return;
            }
        }
    }
}

fn in_directory(draft: &Draft, name: Vec<u8>) -> PathBuf {
    let Some(directory) = draft.names.directories.first() else {
        return PathBuf::from(std::ffi::OsString::from_vec(name));
    };
    // Plain text, not a path join: an absolute name stays below the directory.
    let mut path = directory.as_os_str().as_bytes().to_vec();
    path.push(b'/');
    path.extend_from_slice(&name);
    PathBuf::from(std::ffi::OsString::from_vec(path))
}

/// Every entry must be a directory itself; a symbolic link is refused.
fn directory(draft: &mut Draft, value: &Value, ctx: &mut Ctx<'_>) -> Result<(), String> {
    let mut directories = Vec::new();
    for name in list::names(value.bytes()) {
        let path = Path::new(OsStr::from_bytes(&name)).to_path_buf();
        if !ctx.dry_run {
            match ctx.host.kind(&path) {
                PathKind::Directory => {}
                PathKind::Missing => {
                    return Err(format!("there is no directory '{}'", path.display()));
                }
                PathKind::Symlink => {
                    return Err(format!(
                        "'{}' is a symbolic link, not a directory",
                        path.display()
                    ));
                }
                _ => return Err(format!("'{}' is not a directory", path.display())),
            }
        }
        directories.push(path);
    }
    if directories.is_empty() {
        return Err("names no directory".to_string());
    }
    draft.names.directories = directories;
    Ok(())
}

fn filename_format(draft: &mut Draft, value: &Value, _: &mut Ctx<'_>) -> Result<(), String> {
    draft.names.format = value.bytes().to_vec();
    Ok(())
}

/// Adds all regular files below the directories.
fn opendir(draft: &mut Draft, value: &Value, ctx: &mut Ctx<'_>) -> Result<(), String> {
    if ctx.dry_run {
        return Ok(());
    }
    let mut added = 0;
    for name in list::names(value.bytes()) {
        let path = Path::new(OsStr::from_bytes(&name));
        let found = ctx
            .host
            .files_below(path)
            .map_err(|error| format!("cannot read the directory '{}': {error}", path.display()))?;
        added += found.len();
        let kinds = std::iter::repeat_n(draft.names.kind, found.len());
        draft.names.kinds.extend(kinds);
        draft.names.files.extend(found);
    }
    draft.spec.target.nrfiles = u32::try_from(draft.names.files.len()).unwrap_or(u32::MAX);
    ctx.note(format!(
        "option 'opendir': {added} files found below '{}'",
        value.text()
    ));
    Ok(())
}

/// Holds for names that come later.
fn filetype(draft: &mut Draft, value: &Value, _: &mut Ctx<'_>) -> Result<(), String> {
    draft.names.kind = match value.word() {
        0 => FileKind::Found,
        1 => FileKind::Regular,
        2 => FileKind::Block,
        _ => FileKind::Character,
    };
    Ok(())
}

fn lockfile(draft: &mut Draft, value: &Value, _: &mut Ctx<'_>) -> Result<(), String> {
    draft.spec.target.lock = match value.word() {
        0 => FileLock::None,
        1 => FileLock::Exclusive,
        _ => FileLock::ReadWrite,
    };
    Ok(())
}

fn size(draft: &mut Draft, value: &Value, ctx: &mut Ctx<'_>) -> Result<(), String> {
    if let Value::Amount(quantity) = value {
        draft.size.replace(*quantity);
    }
    zones_are_unbuilt(draft.size.zones, ctx);
    Ok(())
}

fn io_size(draft: &mut Draft, value: &Value, ctx: &mut Ctx<'_>) -> Result<(), String> {
    if let Value::Amount(quantity) = value {
        draft.io_size.replace(*quantity);
    }
    zones_are_unbuilt(draft.io_size.zones, ctx);
    Ok(())
}

fn offset(draft: &mut Draft, value: &Value, ctx: &mut Ctx<'_>) -> Result<(), String> {
    if let Value::Amount(quantity) = value {
        draft.offset.add(*quantity);
    }
    zones_are_unbuilt(draft.offset.zones, ctx);
    Ok(())
}

fn offset_increment(draft: &mut Draft, value: &Value, ctx: &mut Ctx<'_>) -> Result<(), String> {
    if let Value::Amount(quantity) = value {
        draft.offset_increment.add(*quantity);
    }
    zones_are_unbuilt(draft.offset_increment.zones, ctx);
    Ok(())
}

/// Numbers of zones need the zones of a device.
fn zones_are_unbuilt(zones: u32, ctx: &mut Ctx<'_>) {
    if zones > 0 {
        ctx.mark_unbuilt();
    }
}

fn nrfiles(draft: &mut Draft, value: &Value, _: &mut Ctx<'_>) -> Result<(), String> {
    if value.number() == 0 {
        return Err("a job needs at least one file".into());
    }
    draft.spec.target.nrfiles = value.number() as u32;
    Ok(())
}

fn openfiles(draft: &mut Draft, value: &Value, _: &mut Ctx<'_>) -> Result<(), String> {
    draft.spec.target.openfiles = value.number() as u32;
    draft.spec.target.openfiles_given = value.number() > 1;
    Ok(())
}

fn file_service(draft: &mut Draft, value: &Value, _: &mut Ctx<'_>) -> Result<(), String> {
    let parameter = value.parameter();
    draft.spec.target.service = match value.word() {
        0 => FileService::Random {
            count: visits(parameter)?,
        },
        1 => {
            let (theta, center) = float::zipf(parameter)?;
            FileService::Zipf { theta, center }
        }
        2 => {
            let (h, center) = float::pareto(parameter)?;
            FileService::Pareto { h, center }
        }
        3 | 4 => {
            let (deviation, center) = float::normal(parameter)?;
            FileService::Normal { deviation, center }
        }
        5 => FileService::RoundRobin {
            count: visits(parameter)?.max(1),
        },
        _ => FileService::Sequential {
            count: visits(parameter)?,
        },
    };
    Ok(())
}

/// Operations a visit; without a number 1.
fn visits(parameter: Option<&str>) -> Result<u32, String> {
    match parameter.map(str::trim) {
        None => Ok(1),
        Some("") => Ok(0),
        Some(text) => text
            .parse()
            .map_err(|_| format!("'{text}' is no number of operations a visit")),
    }
}

fn fallocate(draft: &mut Draft, value: &Value, _: &mut Ctx<'_>) -> Result<(), String> {
    draft.spec.target.fallocate = match value.word() {
        0 | 5 => Fallocate::None,
        1 => Fallocate::Native,
        2 | 6 => Fallocate::Posix,
        3 => Fallocate::Keep,
        _ => Fallocate::Truncate,
    };
    Ok(())
}

fn fadvise(draft: &mut Draft, value: &Value, _: &mut Ctx<'_>) -> Result<(), String> {
    draft.spec.target.fadvise = match value.word() {
        0 => Fadvise::None,
        1 => Fadvise::ByPattern,
        2 => Fadvise::Random,
        3 => Fadvise::Sequential,
        _ => Fadvise::NoReuse,
    };
    Ok(())
}

/// The words add up; the number behind ':' is the interval.
fn sync_file_range(draft: &mut Draft, value: &Value, _: &mut Ctx<'_>) -> Result<(), String> {
    let Value::Words(bits, parameter) = value else {
        return Ok(());
    };
    let interval = match parameter.as_deref().map(str::trim) {
        None => 1,
        Some(text) => text
            .parse()
            .map_err(|_| format!("'{text}' is no number of writes"))?,
    };
    draft.spec.pattern.sync_file_range_flags |= bits;
    draft.spec.pattern.sync_file_range_every = interval;
    Ok(())
}

/// The inverse of `direct`; the last of the two wins.
fn buffered(draft: &mut Draft, value: &Value, _: &mut Ctx<'_>) -> Result<(), String> {
    draft.spec.target.direct = value.number() == 0;
    Ok(())
}

fn write_hint(draft: &mut Draft, value: &Value, _: &mut Ctx<'_>) -> Result<(), String> {
    // The kernel's numbers begin with "not set" at 0; the words with "none" at 1.
    draft.spec.target.write_hint = Some(value.word() as u64 + 1);
    Ok(())
}

fn open_sync(draft: &mut Draft, value: &Value, _: &mut Ctx<'_>) -> Result<(), String> {
    draft.spec.target.sync = match value.word() {
        0 | 1 => OpenSync::None,
        2 | 3 => OpenSync::Sync,
        _ => OpenSync::Dsync,
    };
    Ok(())
}
