//! Reads and checks the arguments of C callers, and opens sets.

use std::ffi::{OsStr, OsString, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::Arc;

use trawl_fetch::Servers;
use trawl_open::search::Deferred;
use trawl_remote::mounts::with_servers;
use trawl_sets::expand::{Attribute, Commands, Expander, Order, Program, Records};
use trawl_sets::{Local, Opener, Options, Set, SetName};

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
    let executor = Deferred::new(wishes.asking.choice()?, with_servers);
    let mut expander = Expander::new(Arc::new(executor));
    // Only queries need the program, and they are written with backslashes.
    let has_query = names.iter().any(|name| name.text().contains(&b'\\'));
    if let Some(program) = has_query.then(program).flatten() {
        let arguments = ["set", "-0"].map(OsString::from);
        let engine = Program::new(program, arguments.into());
        expander
            .engines
            .extend(engine.ok().map(|engine| Arc::new(engine) as _));
    }
    if wishes.allows_commands {
        expander.commands = Commands::Run(Records::Lines);
    }
    if wishes.with_attributes {
        expander.attributes = Attribute::Wanted;
    }
    if wishes.options.ordered {
        expander.order = Order::Csh;
    }
    let mut openers: Vec<Arc<dyn Opener>> = vec![Arc::new(Local)];
    // Servers are reached with programs and files that the user's settings name.
    if !arguments::is_secure() {
        let servers = Arc::new(Servers::default());
        expander.servers = Some(servers.executor());
        openers.insert(0, servers);
    }
    let names = Box::new(expander.expand(names));
    Ok(Set::open(names, openers, wishes.options)?)
}

/// Returns the program that evaluates queries in names: `TRAWL_PROGRAM`, or `trawl` in a directory
/// of `PATH`. A program with more rights than its user has none.
fn program() -> Option<PathBuf> {
    if arguments::is_secure() {
        return None;
    }
    if let Some(program) = std::env::var_os("TRAWL_PROGRAM").filter(|path| !path.is_empty()) {
        return Some(program.into());
    }
    let path = std::env::var_os("PATH")?;
    let mut programs = std::env::split_paths(&path).map(|directory| directory.join("trawl"));
    programs.find(|program| program.is_absolute() && program.is_file())
}
