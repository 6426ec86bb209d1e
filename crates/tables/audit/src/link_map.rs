//! Reads the loader's description of an object (`struct link_map` of `<link.h>`, and ELF's dynamic
//! section).

use core::ffi::c_char;

/// The public part of `struct link_map`.
#[repr(C)]
#[derive(Debug)]
pub struct LinkMap {
    address: usize,
    name: *const c_char,
    dynamic: *const Dynamic,
    next: *const LinkMap,
    previous: *const LinkMap,
}

/// An entry of the dynamic section (`ElfW(Dyn)`).
#[repr(C)]
#[derive(Debug)]
struct Dynamic {
    tag: usize,
    value: usize,
}

const END: usize = 0;
const STRINGS: usize = 5;
const RUN_PATHS: [usize; 2] = [15, 29];

impl LinkMap {
    /// Returns the file that it was loaded from; empty for the program itself.
    ///
    /// # Safety
    /// The structure belongs to the loader, and the object is loaded.
    pub(crate) unsafe fn name(&self) -> &[u8] {
        // SAFETY: guaranteed by the caller.
        unsafe { trawl_table_client::bytes(self.name) }.unwrap_or_default()
    }

    /// Returns the search paths for its libraries (`DT_RPATH` and `DT_RUNPATH`), each with colons
    /// between directories.
    ///
    /// # Safety
    /// The structure belongs to the loader, and the object is loaded.
    pub(crate) unsafe fn run_paths(&self) -> [&[u8]; 2] {
        let (mut strings, mut found) = (0, [None; RUN_PATHS.len()]);
        let mut at = self.dynamic;
        // SAFETY: a dynamic section ends with an `END` entry.
        while let Some(entry) = unsafe { at.as_ref() }.filter(|entry| entry.tag != END) {
            if entry.tag == STRINGS {
                strings = entry.value;
            }
            for (tag, found) in RUN_PATHS.iter().zip(found.iter_mut()) {
                if entry.tag == *tag {
                    *found = Some(entry.value);
                }
            }
            // SAFETY: it was not the last entry.
            at = unsafe { at.add(1) };
        }
        // The loader has replaced the offset by an address, unless the section is read-only.
        if strings < self.address {
            strings = strings.wrapping_add(self.address);
        }
        found.map(|offset| {
            let text = offset.map(|offset| strings.wrapping_add(offset) as *const c_char);
            // SAFETY: the section's offsets refer to strings in its table.
            text.and_then(|text| unsafe { trawl_table_client::bytes(text) })
                .unwrap_or_default()
        })
    }
}
