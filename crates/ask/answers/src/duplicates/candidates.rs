//! Opens files that may be duplicates, and fetches the parts that are compared.
//!
//! A file is opened through no symbolic link, and only a regular one is read.

use std::ffi::CString;
use std::fs::File;
use std::io;

use trawl_sets::member::Op;
use trawl_sets::opener::{Expected, Fetched};
use trawl_sets::{Found, Local, Look, Opener, PlaceId, Problem};
use trawl_sys::ahead::{Links, open_cached, read_cached, read_through, will_need};
use trawl_sys::file::open_for_reading;

/// Number of bytes at each end that are compared first.
pub(crate) const END_BYTES: usize = 4096;
/// Number of bytes at the beginning of a whole file that a fetch waits for.
const FIRST_BYTES: u64 = 128 << 10;

/// The part of each file that is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    Ends,
    Whole,
}

/// Opens files, and fetches this part of them.
pub(crate) struct Candidates(pub(crate) Extent);

impl Candidates {
    /// Returns the two ranges, each an offset and a length, that are in memory before a file of
    /// this size is delivered.
    fn ranges(&self, size: u64) -> [(u64, u64); 2] {
        let length = match self.0 {
            Extent::Ends => END_BYTES as u64,
            Extent::Whole => FIRST_BYTES,
        };
        let first = (0, size.min(length));
        match self.0 {
            Extent::Ends => [first, (size - first.1, first.1)],
            Extent::Whole => [first, (0, 0)],
        }
    }

    fn is_cached(&self, file: &File, size: u64) -> bool {
        let has = |offset| matches!(read_cached(file, &mut [0; 1], offset), Ok(Some(_)));
        let ranges = self.ranges(size).into_iter();
        let mut ends = ranges.filter(|(_, length)| *length > 0);
        ends.all(|(offset, length)| has(offset) && has(offset + length - 1))
            && (self.0 == Extent::Ends || has(size.saturating_sub(1)))
    }

    /// Returns the file if reading it waits for nothing, as far as that is known without waiting.
    fn cached(&self, found: &Found, place: &PlaceId) -> Option<File> {
        // Where another machine serves the files, opening one asks it.
        if !matches!(place, PlaceId::Device(_)) {
            return None;
        }
        let path = CString::new(found.name.as_slice()).ok()?;
        let file = open_cached(&path, Links::Refuse).ok()??;
        let of = file.metadata().ok().filter(|of| of.is_file())?;
        self.is_cached(&file, of.len()).then_some(file)
    }

    fn fetch(&self, found: &Found, ahead_bytes: u64) -> io::Result<(File, u64)> {
        let path = CString::new(found.name.as_slice())?;
        let file = open_for_reading(&path)?;
        let of = file.metadata()?;
        if !of.is_file() {
            return Err(io::ErrorKind::NotFound.into());
        }
        let ranges = self.ranges(of.len());
        let wanted = match self.0 {
            Extent::Ends => ranges[0].1 + ranges[1].1,
            Extent::Whole => of.len().min(ahead_bytes),
        };
        // Only hints: some file systems do not take them.
        match self.0 {
            Extent::Ends => ranges.map(|(offset, length)| will_need(&file, offset, length.max(1))),
            Extent::Whole => [will_need(&file, 0, wanted.max(1)), Ok(())],
        }
        .into_iter()
        .for_each(drop);
        for (offset, length) in ranges {
            read_through(&file, offset, length)?;
        }
        Ok((file, wanted))
    }
}

impl Opener for Candidates {
    fn place(&self, found: &Found) -> Option<PlaceId> {
        Local::default().place(found)
    }

    fn look(&self, found: &Found) -> Option<Look> {
        let place = self.place(found)?;
        Some(match self.cached(found, &place) {
            Some(file) => {
                let fetched = Fetched {
                    was_cached: true,
                    ..Fetched::of(file, 0)
                };
                Look::Here(place, Ok(fetched))
            }
            None => Look::Away(place, Expected::default()),
        })
    }

    fn fetch(&self, found: &Found, ahead_bytes: u64) -> Result<Fetched, Problem> {
        match Candidates::fetch(self, found, ahead_bytes) {
            Ok((file, bytes)) => Ok(Fetched::of(file, bytes)),
            Err(source) => Err(Problem {
                name: found.name.clone(),
                op: Op::Fetch,
                source,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn only_regular_files_are_opened_and_not_through_links() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().canonicalize().unwrap();
        std::fs::write(dir.join("file"), vec![1; 9000]).unwrap();
        std::os::unix::fs::symlink("file", dir.join("link")).unwrap();
        let made = trawl_testkit::oracle::command("mkfifo")
            .arg(dir.join("fifo"))
            .status();
        assert!(made.unwrap().success());
        for extent in [Extent::Ends, Extent::Whole] {
            let open = |name: &str| {
                let found = Found::named(dir.join(name).as_os_str().as_bytes());
                let is_here = matches!(Candidates(extent).look(&found), Some(Look::Here(_, Ok(_))));
                (is_here, Opener::fetch(&Candidates(extent), &found, 1 << 20))
            };
            let bytes = match extent {
                Extent::Ends => 2 * END_BYTES as u64,
                Extent::Whole => 9000,
            };
            assert_eq!(open("file").1.unwrap().ahead_bytes, bytes);
            for name in ["link", "fifo", "gone", "."] {
                let (is_here, fetched) = open(name);
                assert!(!is_here && fetched.is_err(), "{name}");
            }
        }
    }
}
