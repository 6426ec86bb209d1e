//! Reads and checks the arguments of C callers, and opens sets.

use std::ffi::{OsStr, c_int};
use std::os::unix::ffi::OsStrExt;

use trawl_fetch::sources::{self, Environment};
use trawl_sets::expand::{Attribute, Commands, Records};
use trawl_sets::{Options, Set, SetName};

use crate::arguments::{self, Asking};
use crate::failure::Failure;
use crate::sets::layout::{
    TRAWL_SET_COMMANDS, TRAWL_SET_METADATA, TRAWL_SET_ORDERED, trawl_set_options,
};

/// The flags and options of a set.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wishes {
    options: Options,
    allows_commands: bool,
    with_attributes: bool,
    asking: Asking,
}

/// Reads the flags of a set that is made of others.
pub(crate) fn combined(flags: c_int) -> Result<Options, Failure> {
    match flags & !TRAWL_SET_ORDERED {
        0 => Ok(Options {
            ordered: flags & TRAWL_SET_ORDERED != 0,
            ..Options::default()
        }),
        _ => Err(Failure::invalid(format_args!("unknown flags: {flags:#x}"))),
    }
}

/// Reads the flags and options of a set.
///
/// # Safety
/// The pointer is NULL, or the structure has as many bytes as its first member says, and its
/// pointers are NULL or valid as the header says.
pub(crate) unsafe fn wishes(
    flags: c_int,
    given: *const trawl_set_options,
) -> Result<Wishes, Failure> {
    let known = TRAWL_SET_ORDERED | TRAWL_SET_COMMANDS | TRAWL_SET_METADATA;
    if flags & !known != 0 {
        return Err(Failure::invalid(format_args!("unknown flags: {flags:#x}")));
    }
    let mut wishes = Wishes {
        allows_commands: flags & TRAWL_SET_COMMANDS != 0,
        with_attributes: flags & TRAWL_SET_METADATA != 0,
        ..Wishes::default()
    };
    wishes.options.ordered = flags & TRAWL_SET_ORDERED != 0;
    if given.is_null() {
        return Ok(wishes);
    }
    // SAFETY: the structure consists of numbers and pointers; the caller promises the rest.
    let given: trawl_set_options = unsafe { arguments::structure(given, "trawl_set_options") }?;
    let index = match given.index.is_null() {
        true => None,
        // SAFETY: the caller promises it.
        false => Some(unsafe { arguments::text(given.index, "the index") }?),
    };
    let index = index.map(|index| OsStr::from_bytes(index).into());
    wishes.asking = Asking::new(given.served_by, index, given.wait_ms)?;
    let options = &mut wishes.options;
    if given.ahead_bytes > 0 {
        options.ahead_bytes = given.ahead_bytes;
    }
    if given.descriptors > 0 {
        options.descriptors = given.descriptors as usize;
    }
    if given.in_flight > 0 {
        options.in_flight = given.in_flight as usize;
    }
    Ok(wishes)
}

/// Opens a set of these names.
pub(crate) fn open(names: &[Vec<u8>], wishes: Wishes) -> Result<Set, Failure> {
    if wishes.allows_commands && arguments::is_secure() {
        return Err(Failure::new(
            libc::EPERM,
            "a program with more rights than its user cannot run commands for a set's names",
        ));
    }
    let parse = |name: &Vec<u8>| SetName::parse(name);
    let names: Vec<SetName> = names.iter().map(parse).collect::<Result<_, _>>()?;
    let mut library = sources::Wishes::new(wishes.asking.choice()?);
    library.options = wishes.options;
    if arguments::is_secure() {
        library.environment = Environment::Untrusted;
    }
    if wishes.allows_commands {
        library.commands = Commands::Run(Records::Lines);
    }
    if wishes.with_attributes {
        library.attributes = Attribute::Wanted;
    }
    Ok(library.open(names)?)
}
