//! Names of a job's files.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
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
    let template = Template::new(draft, clone_index);
    let mut files = FileList::default();
    let mut name = Vec::new();
    for file_index in 0..draft.spec.target.nrfiles {
        template.write(file_index, &mut name);
        if name.len() > PATH_BYTES_MAX {
            return Err(format!(
                "a file name made by 'filename_format' is {} bytes long",
                name.len()
            ));
        }
        let path = Path::new(OsStr::from_bytes(&name));
        let dropped = may_collide
            && clone_index > 0
            && taken.contains(path)
            && matches!(
                host.target_kind(path),
                PathKind::Missing | PathKind::Regular
            );
        if !dropped {
            files.push(path);
        }
    }
    if may_collide {
        taken.extend(files.iter().map(Path::to_path_buf));
    }
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

/// The names of one clone's files: what stands before, between and behind the file's number.
struct Template {
    pieces: Vec<Vec<u8>>,
}

impl Template {
    fn new(draft: &Draft, clone_index: u32) -> Template {
        let mut template = expand(&draft.names.format, &draft.section, clone_index);
        let directories = &draft.names.directories;
        if !directories.is_empty() {
            let directory = &directories[clone_index as usize % directories.len()];
            let mut first = directory.as_os_str().as_bytes().to_vec();
            first.push(b'/');
            first.append(&mut template.pieces[0]);
            template.pieces[0] = first;
        }
        template
    }

    /// The name of a file, in place of what `name` holds.
    fn write(&self, file_index: u32, name: &mut Vec<u8>) {
        name.clear();
        let [first, others @ ..] = &self.pieces[..] else {
            return;
        };
        name.extend_from_slice(first);
        if others.is_empty() {
            return;
        }
        let number = file_index.to_string();
        for piece in others {
            name.extend_from_slice(number.as_bytes());
            name.extend_from_slice(piece);
        }
    }
}

/// `filename_format` with its variables replaced, in this order; a name that holds a later
/// variable is expanded again, but a name that holds `$jobname` itself only once. The number of
/// the file is left open.
fn expand(format: &[u8], section: &[u8], clone_index: u32) -> Template {
    let text = split(format, b"$jobname").join(section);
    let text = split(&text, b"$jobnum").join(clone_index.to_string().as_bytes());
    let pieces = split(&text, b"$filenum");
    // Locally no client has a name.
    let whole = |piece: &Vec<u8>| split(piece, b"$clientuid").concat();
    Template {
        pieces: pieces.iter().map(whole).collect(),
    }
}

/// What stands between the occurrences of a variable, upper or lower case; at least one piece.
fn split(text: &[u8], variable: &[u8]) -> Vec<Vec<u8>> {
    let mut pieces = vec![Vec::new()];
    let mut rest = text;
    while let [first, tail @ ..] = rest {
        let front = rest.get(..variable.len());
        if front.is_some_and(|front| front.eq_ignore_ascii_case(variable)) {
            pieces.push(Vec::new());
            rest = &rest[variable.len()..];
        } else {
            if let Some(piece) = pieces.last_mut() {
                piece.push(*first);
            }
            rest = tail;
        }
    }
    pieces
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
        let name = |format: &[u8], section: &[u8], clone, file| {
            let mut name = b"old".to_vec();
            expand(format, section, clone).write(file, &mut name);
            String::from_utf8(name).expect("text")
        };
        assert_eq!(name(b"$JOBNAME-$JobNum", b"a", 2, 0), "a-2");
        assert_eq!(name(b"$jobnumber.$foo", b"a", 0, 0), "0ber.$foo");
        assert_eq!(name(b"$jobname.$filenum", b"x$jobnum", 3, 1), "x3.1");
        assert_eq!(name(b"$jobname", b"$jobname", 0, 0), "$jobname");
        assert_eq!(name(b"$filenum-$FILENUM$clientuid", b"a", 0, 12), "12-12");
        assert_eq!(name(b"$jobname", b"$filenum", 0, 7), "7");
    }
}
