//! `trawl stat -f`: the live file systems that contain the files. No index is asked.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use trawl_sys::filesystem::{Details, of_path};
use trawl_text::locale::Locale;
use trawl_text::quote::Terminal;

use crate::exit::Exit;
use crate::failure::{Failure, cause, quoted};
use crate::output::{Device, Output, say};
use crate::stat::StatArgs;
use crate::stat::file_system_names;
use crate::stat::format::{Escapes, Format, Subject};
use crate::stat::value::Value;
use trawl_text::json::Object;

const TERSE: &str = "%n %i %l %t %s %S %b %f %a %c %d\n";
const USUAL: &str = "  File: \"%n\"\n    ID: %-8i Namelen: %-7l Type: %T\n\
                     Block size: %-10s Fundamental block size: %S\n\
                     Blocks: Total: %-10b Free: %-10f Available: %a\n\
                     Inodes: Total: %-10c Free: %d\n";

/// Runs the command.
pub(crate) fn show(args: &StatArgs) -> Result<Exit, Failure> {
    let format = format(args)?;
    let terminal = match Device::of_stdout() {
        Device::Terminal => Terminal::Watched(Locale::from_env()),
        Device::Other => Terminal::Absent,
    };
    let (mut output, mut exit) = (Output::stdout().with_own_controls(), Exit::Complete);
    for given in &args.paths {
        let details = match of_path(Path::new(given)) {
            Ok(details) => details,
            Err(error) => {
                let why = cause(&error.into());
                let given = quoted(given.as_bytes());
                say(format_args!(
                    "cannot read file system information for {given}: {why}"
                ));
                exit = Exit::Issues;
                continue;
            }
        };
        let mut bytes = Vec::new();
        match args.form.is_json() {
            true => bytes = (json(given.as_bytes(), &details).close() + "\n").into_bytes(),
            false => {
                let name = terminal.show(given.as_bytes());
                format.render(&mut bytes, &|letter, _| {
                    (value(letter, &name, &details), None)
                });
            }
        }
        output.put(bytes)?;
    }
    output.finish()?;
    Ok(exit)
}

fn format(args: &StatArgs) -> Result<Format, Failure> {
    let parse = |text: &[u8], escapes| {
        Format::parse(text, escapes, Subject::FileSystem)
            .map_err(|bad| Failure::Usage(bad.to_string()))
    };
    match (&args.format, &args.printf) {
        (Some(format), _) => Ok(parse(format.as_bytes(), Escapes::Keep)?.line()),
        (_, Some(format)) => parse(format.as_bytes(), Escapes::Read),
        _ if args.terse => parse(TERSE.as_bytes(), Escapes::Keep),
        _ => parse(USUAL.as_bytes(), Escapes::Keep),
    }
}

fn value(letter: u8, name: &[u8], details: &Details) -> Value {
    let system = details.system;
    match letter {
        b'n' => Value::Text(name.to_vec()),
        b'i' => Value::Hex(details.id),
        b'l' => Value::Unsigned(details.name_bytes_max),
        b't' => Value::Hex(system.magic),
        b'T' => Value::Text(type_name(system.magic).into_bytes()),
        b'b' => Value::Unsigned(system.blocks),
        b'f' => Value::Signed(i128::from(details.blocks_free)),
        b'a' => Value::Signed(i128::from(system.blocks_available)),
        b's' => Value::Unsigned(system.block_size_bytes),
        b'S' => Value::Unsigned(details.unit_bytes),
        b'c' => Value::Unsigned(system.inodes),
        b'd' => Value::Signed(i128::from(system.inodes_free)),
        _ => Value::Text(Vec::new()),
    }
}

fn type_name(magic: u64) -> String {
    let known = u32::try_from(magic).ok().and_then(file_system_names::name);
    known.map_or_else(|| format!("UNKNOWN (0x{magic:x})"), String::from)
}

fn json(path: &[u8], details: &Details) -> Object {
    let system = details.system;
    Object::new()
        .bytes("path", path)
        .text("type", &type_name(system.magic))
        .number("block_size", system.block_size_bytes)
        .number("unit", details.unit_bytes)
        .number("blocks", system.blocks)
        .number("blocks_free", details.blocks_free)
        .number("blocks_available", system.blocks_available)
        .number("inodes", system.inodes)
        .number("inodes_free", system.inodes_free)
}
