//! Names of a job's files.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crate::draft::Draft;
use crate::file_list::FileList;
use crate::host::{Host, PathKind};
use crate::spec::FileKind;

/// Longest path that the kernel takes, without the final zero byte.
const PATH_BYTES_MAX: usize = 4095;

/// Most generated files of one job: names and states of more do not fit into memory.
const FILES_MAX: u32 = 1 << 22;

/// Sets the job's files: those given, or names made from the job's name.
///
/// `taken` holds the generated names of earlier clones of the same section; a clone drops those
/// unless something that is no regular file stands there.
pub(crate) fn set_files(
    draft: &mut Draft,
    clone_index: u32,
    taken: &mut HashSet<PathBuf>,
    host: &dyn Host,
) -> Result<(), String> {
    if !draft.names.files.is_empty() {
        draft.spec.target.files = draft.names.files.iter().collect();
        draft.spec.target.kinds.clone_from(&draft.names.kinds);
        draft.spec.target.generated = false;
        return Ok(());
    }
    draft.spec.target.generated = true;
    let own_name = Path::new(OsStr::from_bytes(&draft.section));
    let own_kind = host.target_kind(own_name);
    if draft.spec.target.nrfiles == 1 && !matches!(own_kind, PathKind::Missing | PathKind::Regular)
    {
        // A section named like a device means that device.
        draft.spec.target.files = std::iter::once(own_name).collect();
        draft.spec.target.kinds = kinds(draft.names.kind, 1);
        return Ok(());
    }
    if draft.spec.target.nrfiles > FILES_MAX {
        return Err(format!(
            "option 'nrfiles': at most {FILES_MAX} files are possible"
        ));
    }
    let may_collide = may_collide(&draft.names.format, &draft.section);
    let mut files = FileList::default();
    for file_index in 0..draft.spec.target.nrfiles {
        let path = generated_path(draft, clone_index, file_index)?;
        let dropped = may_collide
            && clone_index > 0
            && taken.contains(&path)
            && matches!(
                host.target_kind(&path),
                PathKind::Missing | PathKind::Regular
            );
        if !dropped {
            files.push(&path);
        }
    }
    if may_collide {
        taken.extend(files.iter().map(Path::to_path_buf));
    }
    draft.spec.target.kinds = kinds(draft.names.kind, files.len());
    draft.spec.target.files = files;
    Ok(())
}

/// Whether two clones of a section may get the same name: not where the clone's number stands
/// between other letters than digits. Names need not be kept then.
fn may_collide(format: &[u8], section: &[u8]) -> bool {
    const NUMBER: &[u8] = b"$jobnum";
    if section.contains(&b'$') {
        return true;
    }
    let at = format
        .windows(NUMBER.len())
        .position(|window| window.eq_ignore_ascii_case(NUMBER));
    let Some(at) = at else { return true };
    // A variable may begin or end with a digit.
    let follower = format.get(at + NUMBER.len());
    let ends = follower.is_none_or(|letter| !letter.is_ascii_digit() && *letter != b'$');
    // What stands in front may be the end of another variable.
    let before = at.checked_sub(1).map(|before| format[before]);
    let begins = before.is_none_or(|letter| !letter.is_ascii_alphanumeric());
    !begins || !ends
}

/// The same `filetype` for so many files; files are what they are found to be without one.
fn kinds(kind: FileKind, files: usize) -> Vec<FileKind> {
    if kind == FileKind::Found {
        return Vec::new();
    }
    vec![kind; files]
}

fn generated_path(draft: &Draft, clone_index: u32, file_index: u32) -> Result<PathBuf, String> {
    let mut path = Vec::new();
    let directories = &draft.names.directories;
    if !directories.is_empty() {
        let directory = &directories[clone_index as usize % directories.len()];
        path.extend_from_slice(directory.as_os_str().as_bytes());
        path.push(b'/');
    }
    path.extend_from_slice(&expand(
        &draft.names.format,
        &draft.section,
        clone_index,
        file_index,
    ));
    if path.len() > PATH_BYTES_MAX {
        return Err(format!(
            "a file name made by 'filename_format' is {} bytes long",
            path.len()
        ));
    }
    Ok(PathBuf::from(OsString::from_vec(path)))
}

/// `filename_format` with its variables replaced, in this order; a name that holds a later
/// variable is expanded again, but a name that holds `$jobname` itself only once.
fn expand(format: &[u8], section: &[u8], clone_index: u32, file_index: u32) -> Vec<u8> {
    let mut text = format.to_vec();
    let clone_index = clone_index.to_string();
    let file_index = file_index.to_string();
    let variables: [(&[u8], &[u8]); 4] = [
        (b"$jobname", section),
        (b"$jobnum", clone_index.as_bytes()),
        (b"$filenum", file_index.as_bytes()),
        (b"$clientuid", b""),
    ];
    for (variable, value) in variables {
        text = replace(&text, variable, value);
    }
    text
}

/// All occurrences in `text`, upper or lower case.
fn replace(text: &[u8], variable: &[u8], value: &[u8]) -> Vec<u8> {
    let mut result = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [first, tail @ ..] = rest {
        if rest
            .get(..variable.len())
            .is_some_and(|front| front.eq_ignore_ascii_case(variable))
        {
            result.extend_from_slice(value);
            rest = &rest[variable.len()..];
        } else {
            result.push(*first);
            rest = tail;
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::{expand, may_collide};

    #[test]
    fn names_of_clones_that_may_be_the_same() {
        for format in [
            "$jobname.$jobnum.$filenum",
            "$jobnum-$filenum",
            "d_$JOBNUM.x$filenum",
            "$jobnum",
        ] {
            assert!(!may_collide(format.as_bytes(), b"a"), "{format}");
        }
        for format in [
            "$jobname.$filenum",
            "$jobnum$filenum",
            "$filenum$jobnum.x",
            "a1$jobnum",
        ] {
            assert!(may_collide(format.as_bytes(), b"a"), "{format}");
        }
        assert!(may_collide(b"$jobname.$jobnum.$filenum", b"$x"));
    }

    #[test]
    fn variables_ignore_case_and_run_on() {
        assert_eq!(expand(b"$JOBNAME-$JobNum", b"a", 2, 0), b"a-2");
        assert_eq!(expand(b"$jobnumber.$foo", b"a", 0, 0), b"0ber.$foo");
        assert_eq!(expand(b"$jobname.$filenum", b"x$jobnum", 3, 1), b"x3.1");
        assert_eq!(expand(b"$jobname", b"$jobname", 0, 0), b"$jobname");
    }
}
