//! Why a program cannot be seen: the dynamic loader preloads nothing into it.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Why a program's calls are not recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unseen {
    /// It is statically linked: there is no dynamic loader.
    Static,
    /// It runs with another user's or group's rights: the loader ignores the library.
    OtherRights,
}

const ELF: &[u8] = b"\x7fELF";
const CLASS_64: u8 = 2;
const LITTLE_ENDIAN: u8 = 1;
const SET_ID: u32 = 0o6000;
/// The most bytes that are read: the program headers follow the file's header at once.
const READ_BYTES_MAX: u64 = 64 << 10;

/// Returns why a program cannot be seen; `None` if it can be seen, or is no ELF file of 64 bits, such
/// as a script, for whose interpreter the question must be asked.
pub fn reason(program: &Path) -> Option<Unseen> {
    let file = File::open(program).ok()?;
    let is_set_id = file.metadata().ok()?.mode() & SET_ID != 0;
    let mut bytes = Vec::new();
    file.take(READ_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    let is_dynamic = has_interpreter(&bytes)?;
    match (is_dynamic, is_set_id) {
        (false, _) => Some(Unseen::Static),
        (true, true) => Some(Unseen::OtherRights),
        (true, false) => None,
    }
}

/// Returns whether an ELF file names a dynamic loader; `None` for other files. Source: elf(5).
fn has_interpreter(bytes: &[u8]) -> Option<bool> {
    const INTERPRETER: u32 = 3;
    let is_ours = bytes.starts_with(ELF)
        && bytes.get(4) == Some(&CLASS_64)
        && bytes.get(5) == Some(&LITTLE_ENDIAN);
    let array = |at: usize| bytes.get(at..)?.first_chunk().copied();
    let table = usize::try_from(u64::from_le_bytes(array(32).filter(|_| is_ours)?)).ok()?;
    let half = |at: usize| Some(u16::from_le_bytes(bytes.get(at..)?.first_chunk().copied()?));
    let (size, count) = (usize::from(half(54)?), usize::from(half(56)?));
    let kind = |number: usize| {
        let at = table.checked_add(number.checked_mul(size)?)?;
        Some(u32::from_le_bytes(bytes.get(at..)?.first_chunk().copied()?))
    };
    Some((0..count).any(|number| kind(number) == Some(INTERPRETER)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_files_are_no_programs() {
        assert_eq!(has_interpreter(b""), None);
        assert_eq!(has_interpreter(b"#!/bin/sh\n"), None);
        let mut bytes = [0xff; 64];
        bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
        // The table lies outside the file.
        assert_eq!(has_interpreter(&bytes), Some(false));
        assert_eq!(has_interpreter(&bytes[..40]), None);
    }
}
