//! `trawl stat -f`: the live file systems that contain the files. No index is asked.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use trawl_model::mapped;
use trawl_report::stat::{Escapes, Format, Subject, Value, file_system_names};
use trawl_report::{Field, Schema, fields, json_object, schema};
use trawl_sys::filesystem::{Details, of_path};
use trawl_sys::{Errno, Op, SysError};
use trawl_text::locale::Locale;
use trawl_text::quote::Terminal;

use crate::exit::Exit;
use crate::failure::{Failure, cause, quoted};
use crate::output::{Device, Output, say};
use crate::stat::StatArgs;

const TERSE: &str = "%n %i %l %t %s %S %b %f %a %c %d\n";
const USUAL: &str = "  File: \"%n\"\n    ID: %-8i Namelen: %-7l Type: %T\n\
                     Block size: %-10s Fundamental block size: %S\n\
                     Blocks: Total: %-10b Free: %-10f Available: %a\n\
                     Inodes: Total: %-10c Free: %d\n";

const TYPE: Field = Field::text("type", "kind of file system");
const BLOCK_SIZE: Field = Field::integer("block_size", "preferred I/O size").in_units("bytes");
const UNIT: Field = Field::integer("unit", "unit of the numbers of blocks").in_units("bytes");
const BLOCKS: Field = Field::integer("blocks", "size of the file system in units");
const BLOCKS_FREE: Field = Field::integer("blocks_free", "free units");
const BLOCKS_AVAILABLE: Field = Field::integer("blocks_available", "free units for users");
const INODES: Field = Field::integer("inodes", "number of inodes");
const INODES_FREE: Field = Field::integer("inodes_free", "number of free inodes");

/// Rows for programs.
pub(super) static SCHEMA: Schema = Schema {
    row: "a file system",
    fields: &[
        fields::PATH,
        TYPE,
        BLOCK_SIZE,
        UNIT,
        BLOCKS,
        BLOCKS_FREE,
        BLOCKS_AVAILABLE,
        INODES,
        INODES_FREE,
    ],
    forms: schema::OBJECTS,
    samples: &["stat -f ."],
};

/// Runs the command.
pub(crate) fn show(args: &StatArgs) -> Result<Exit, Failure> {
    let format = format(args)?;
    let terminal = match Device::of_stdout() {
        Device::Terminal => Terminal::Watched(Locale::from_env()),
        Device::Other => Terminal::Absent,
    };
    let (mut output, mut exit) = (Output::stdout().with_own_controls(), Exit::Complete);
    for given in &args.paths {
        let details = match details_of(given) {
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
            true => bytes = json(given.as_bytes(), &details).into_bytes(),
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

/// Returns the details of the file system that holds a path as the asker writes it.
fn details_of(given: &OsStr) -> Result<Details, SysError> {
    let path = mapped::ours(given.as_bytes());
    let path = path.ok_or(SysError::new(Op::Statfs, Errno::NOENT))?;
    of_path(Path::new(OsStr::from_bytes(&path)))
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

/// Returns a line of JSON.
fn json(path: &[u8], details: &Details) -> String {
    let system = details.system;
    let mut line = json_object(SCHEMA.fields, |row| {
        row.put(&fields::PATH, path)
            .put(&TYPE, &type_name(system.magic))
            .put(&BLOCK_SIZE, system.block_size_bytes)
            .put(&UNIT, details.unit_bytes)
            .put(&BLOCKS, system.blocks)
            .put(&BLOCKS_FREE, details.blocks_free)
            .put(&BLOCKS_AVAILABLE, system.blocks_available)
            .put(&INODES, system.inodes)
            .put(&INODES_FREE, system.inodes_free);
    });
    line.push('\n');
    line
}
