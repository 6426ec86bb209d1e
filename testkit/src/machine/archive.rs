//! The machine's files, as an archive that the kernel unpacks into its memory when it starts.
//!
//! Source: <https://docs.kernel.org/driver-api/early-userspace/buffer-format.html>

use std::collections::BTreeSet;

/// Files, in the order in which they were added.
#[derive(Debug, Default)]
pub(super) struct Archive {
    bytes: Vec<u8>,
    directories: BTreeSet<String>,
    entries: u32,
}

const DIRECTORY: u32 = 0o040_000;
const FILE: u32 = 0o100_000;

impl Archive {
    /// Adds a file at an absolute path, with the directories that lead to it.
    pub(super) fn file(&mut self, path: &str, content: &[u8], mode: u32) {
        let path = path.trim_start_matches('/');
        for (at, _) in path.match_indices('/') {
            let directory = &path[..at];
            if self.directories.insert(directory.to_owned()) {
                self.entry(directory, &[], DIRECTORY | 0o755);
            }
        }
        self.entry(path, content, FILE | mode);
    }

    fn entry(&mut self, name: &str, content: &[u8], mode: u32) {
        self.entries += 1;
        let size = content.len() as u32;
        let name_size = name.len() as u32 + 1;
        let numbers = [
            self.entries,
            mode,
            0,
            0,
            1,
            0,
            size,
            0,
            0,
            0,
            0,
            name_size,
            0,
        ];
        self.bytes.extend_from_slice(b"070701");
        for number in numbers {
            self.bytes
                .extend_from_slice(format!("{number:08x}").as_bytes());
        }
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend_from_slice(content);
        self.pad();
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    /// Ends the archive and returns it.
    pub(super) fn bytes(mut self) -> Vec<u8> {
        self.entry("TRAILER!!!", &[], 0);
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::process::Stdio;

    /// cpio(1), or busybox's, lists what was put in.
    #[test]
    fn cpio_reads_the_archive() {
        let mut archive = Archive::default();
        archive.file("/bin/a", b"12345", 0o755);
        archive.file("/bin/deep/b", b"", 0o644);
        let mut cpio = crate::oracle::command("cpio");
        let cpio = cpio.arg("-t").stdin(Stdio::piped()).stdout(Stdio::piped());
        let Ok(mut cpio) = cpio.stderr(Stdio::null()).spawn() else {
            return crate::Skip::new("archive", "cpio is not installed").say();
        };
        let bytes = archive.bytes();
        cpio.stdin.take().unwrap().write_all(&bytes).unwrap();
        let output = cpio.wait_with_output().unwrap();
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            "bin\nbin/a\nbin/deep\nbin/deep/b\n"
        );
    }
}
