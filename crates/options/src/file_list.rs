//! The names of a job's files. Jobs may have millions, so they stand in one piece of memory.

use std::ffi::OsStr;
use std::ops::Index;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// Paths in the order of file indices.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileList {
    bytes: Vec<u8>,
    /// Where each path ends in `bytes`.
    ends: Vec<usize>,
}

impl FileList {
    /// Number of paths.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// There is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The path of a file index.
    pub fn get(&self, index: usize) -> Option<&Path> {
        let end = *self.ends.get(index)?;
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        Some(Path::new(OsStr::from_bytes(&self.bytes[start..end])))
    }

    /// All paths in order.
    pub fn iter(&self) -> Iter<'_> {
        Iter {
            list: self,
            next: 0,
        }
    }

    /// Adds a path at the end.
    pub fn push(&mut self, path: &Path) {
        self.bytes.extend_from_slice(path.as_os_str().as_bytes());
        self.ends.push(self.bytes.len());
    }

    /// Keeps the first `count` paths.
    pub fn truncate(&mut self, count: usize) {
        self.ends.truncate(count);
        self.bytes.truncate(self.ends.last().copied().unwrap_or(0));
    }
}

impl Index<usize> for FileList {
    type Output = Path;

    /// Panics when there is no such file, as slices do.
    fn index(&self, index: usize) -> &Path {
        self.get(index).expect("a file index of the job")
    }
}

impl<P: AsRef<Path>> FromIterator<P> for FileList {
    fn from_iter<I: IntoIterator<Item = P>>(paths: I) -> Self {
        let mut list = FileList::default();
        for path in paths {
            list.push(path.as_ref());
        }
        list
    }
}

impl<P: AsRef<Path>, const N: usize> PartialEq<[P; N]> for FileList {
    fn eq(&self, paths: &[P; N]) -> bool {
        self.iter().eq(paths.iter().map(AsRef::as_ref))
    }
}

impl PartialEq<Vec<PathBuf>> for FileList {
    fn eq(&self, paths: &Vec<PathBuf>) -> bool {
        self.iter().eq(paths.iter().map(PathBuf::as_path))
    }
}

/// Paths of a [`FileList`].
#[derive(Clone, Debug)]
pub struct Iter<'a> {
    list: &'a FileList,
    next: usize,
}

impl<'a> Iterator for Iter<'a> {
    type Item = &'a Path;

    fn next(&mut self) -> Option<&'a Path> {
        let path = self.list.get(self.next)?;
        self.next += 1;
        Some(path)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.list.len() - self.next;
        (left, Some(left))
    }
}

impl ExactSizeIterator for Iter<'_> {}

impl<'a> IntoIterator for &'a FileList {
    type Item = &'a Path;
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_come_back_in_order() {
        let mut list: FileList = ["a", "d/b", ""].into_iter().collect();
        assert_eq!(list, ["a", "d/b", ""]);
        assert_eq!(&list[1], Path::new("d/b"));
        assert!(list.get(3).is_none());
        list.truncate(1);
        list.push(Path::new("c"));
        assert_eq!(list, ["a", "c"]);
        list.truncate(9);
        assert_eq!((list.len(), list.iter().len()), (2, 2));
    }
}
