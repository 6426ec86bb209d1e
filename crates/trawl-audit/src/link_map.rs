//! What the loader says of an object (`struct link_map` of `<link.h>`, and ELF's dynamic section).

use core::ffi::c_char;

/// The part of `struct link_map` that is for others.
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
    /// The file that it was loaded from; empty for the program itself.
    ///
    /// # Safety
    /// The loader's own, and loaded.
    pub(crate) unsafe fn name(&self) -> &[u8] {
        // SAFETY: the caller promises it.
        unsafe { trawl_bulk_client::bytes(self.name) }.unwrap_or_default()
    }

    /// The directories in which its libraries are looked for (`DT_RPATH` and `DT_RUNPATH`), each
    /// with colons between.
    ///
    /// # Safety
    /// The loader's own, and loaded.
    pub(crate) unsafe fn run_paths(&self) -> [&[u8]; 2] {
        let (mut strings, mut found) = (0, [None; RUN_PATHS.len()]);
        let mut at = self.dynamic;
        // SAFETY: a dynamic section ends with an entry that says so.
        while let Some(entry) = unsafe { at.as_ref() }.filter(|entry| entry.tag != END) {
            if entry.tag == STRINGS {
                strings = entry.value;
            }
            for (tag, found) in RUN_PATHS.iter().zip(found.iter_mut()) {
                if entry.tag == *tag {
                    *found = Some(entry.value);
                }
            }
            // SAFETY: it was not the last one.
            at = unsafe { at.add(1) };
        }
        // The loader has made it an address, but where it must not write.
        if strings < self.address {
            strings = strings.wrapping_add(self.address);
        }
        found.map(|offset| {
            let text = offset.map(|offset| strings.wrapping_add(offset) as *const c_char);
            // SAFETY: the section's offsets are those of strings in its table.
            text.and_then(|text| unsafe { trawl_bulk_client::bytes(text) })
                .unwrap_or_default()
        })
    }
}
