//! `trawl attr`: sets, shows and removes attributes that a search finds with `find -attr`
//! ([`trawl_attributes`]).

use std::ffi::CString;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use trawl_attributes::{AttributeError, Kind, Value};
use trawl_report::{Field, Schema, fields, schema};
use trawl_sys::directory::Links;

use crate::attributes::{NAME, TYPE, VALUES};
use crate::commands::{Class, IndexOption, Setting, Spec};
use crate::exit::Exit;
use crate::failure::{Failure, shown};
use crate::forms::{FormArgs, Objects};
use crate::output::say;
use crate::rows;

const EXAMPLES: &str = "\
Examples:
  trawl attr set photo.jpg rating=5 place=Bern    set two attributes
  trawl attr set photo.jpg tag=lake tag=summer    set a list
  trawl attr set -t text photo.jpg roll=0017      set a text that looks like a number
  trawl attr get photo.jpg rating                 print a value
  trawl attr list *.jpg                           print all attributes
  trawl attr remove photo.jpg rating              remove one
  trawl find . -attr 'rating>=4'                  find files

The attributes are extended attributes user.trawl.NAME of the file. Only users who
may write the file can set them: docs/attributes.md.

Exit codes: 0 complete, 1 an attribute does not exist, or could not be read, set or
removed, 2 wrong usage or a fatal error.";

// Options of `trawl attr`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct AttrArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Set attributes of a file
    Set(SetArgs),
    /// Print the value of an attribute
    Get(NameArgs),
    /// Print all attributes of files
    List(ListArgs),
    /// Remove attributes of a file
    Remove(NamesArgs),
}

/// Options of `trawl attr set`.
#[derive(Debug, clap::Args)]
struct SetArgs {
    /// Set the attributes of this file
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Set these attributes; a name that is repeated gets a list
    #[arg(value_name = "NAME=VALUE", required = true)]
    attributes: Vec<String>,
    /// Take values as of this type [default: what they look like]
    #[arg(short = 't', long = "type", value_enum, value_name = "TYPE")]
    kind: Option<Type>,
}

/// Options of `trawl attr get`.
#[derive(Debug, clap::Args)]
struct NameArgs {
    /// Print an attribute of this file
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Print this attribute, each value of a list on a line
    #[arg(value_name = "NAME")]
    name: String,
}

/// Options of `trawl attr list`.
#[derive(Debug, clap::Args)]
struct ListArgs {
    /// Print the attributes of these files
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    form: FormArgs<Objects>,
}

/// Options of `trawl attr remove`.
#[derive(Debug, clap::Args)]
struct NamesArgs {
    /// Remove attributes of this file
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Remove these attributes
    #[arg(value_name = "NAME", required = true)]
    names: Vec<String>,
}

/// Types of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Type {
    /// Any text
    Text,
    /// A whole number
    Integer,
    /// A number such as 0.01
    Real,
    /// A time such as 2026-01-02T03:04:05Z
    Time,
}

impl Type {
    fn kind(self) -> Kind {
        match self {
            Type::Text => Kind::Text,
            Type::Integer => Kind::Integer,
            Type::Real => Kind::Real,
            Type::Time => Kind::Time,
        }
    }
}

const ATTRIBUTES: Field = Field::objects(
    "attributes",
    &[NAME, TYPE, VALUES],
    "attributes that programs set",
);

/// Rows for programs.
static SCHEMA: Schema = Schema {
    row: "the attributes of a file",
    fields: &[fields::PATH, ATTRIBUTES],
    forms: schema::OBJECTS,
    samples: &[],
};

impl Spec for AttrArgs {
    const ABOUT: &'static str = "Set attributes of files, which find -attr finds";
    const CLASS: Class = Class::Other;
    const INDEX: IndexOption = IndexOption::None;
    const SEE_ALSO: &'static [&'static str] = &[
        "trawl-find(1)",
        "trawl_attr_set(3)",
        "setfattr(1)",
        "xattr(7)",
    ];
    const REPORTS: &'static [&'static Schema] = &[&SCHEMA];

    fn run(&self, _: Setting<'_>) -> Result<Exit, Failure> {
        match &self.action {
            Action::Set(args) => set(args),
            Action::Get(args) => get(args),
            Action::List(args) => list(args),
            Action::Remove(args) => remove(args),
        }
    }
}

fn set(args: &SetArgs) -> Result<Exit, Failure> {
    let mut wanted: Vec<(&str, Value)> = Vec::new();
    for word in &args.attributes {
        let Some((name, text)) = word.split_once('=') else {
            let word = word.escape_debug();
            return Err(Failure::Usage(format!(
                "`{word}' has no value: write NAME=VALUE"
            )));
        };
        let value = match args.kind {
            Some(kind) => Value::parse(name, kind.kind(), text).map_err(usage)?,
            None => Value::of_text(text),
        };
        match wanted.iter_mut().find(|(one, _)| *one == name) {
            Some((_, values)) => {
                let mut all = values.singles().to_vec();
                all.push(value);
                *values = Value::List(all);
            }
            None => wanted.push((name, value)),
        }
    }
    let file = open(&args.file, "open", trawl_sys::file::open_for_writing)?;
    let mut exit = Exit::Complete;
    for (name, value) in &wanted {
        let done = trawl_attributes::set(&file, name, value);
        exit = exit.and(told(&args.file, done)?);
    }
    Ok(exit)
}

fn get(args: &NameArgs) -> Result<Exit, Failure> {
    let file = open(&args.file, "read", reading)?;
    let value = match trawl_attributes::get(&file, &args.name) {
        Ok(value) => value,
        Err(error) => return told(&args.file, Err(error)),
    };
    let mut output = crate::output::Output::stdout();
    for value in value.singles() {
        let line = format!("{value}\n");
        output.put(line)?;
    }
    output.finish()?;
    Ok(Exit::Complete)
}

fn remove(args: &NamesArgs) -> Result<Exit, Failure> {
    let file = open(&args.file, "open", trawl_sys::file::open_for_writing)?;
    let mut exit = Exit::Complete;
    for name in &args.names {
        let done = trawl_attributes::remove(&file, name);
        exit = exit.and(told(&args.file, done)?);
    }
    Ok(exit)
}

fn list(args: &ListArgs) -> Result<Exit, Failure> {
    let mut report = rows::report(&SCHEMA, args.form.form());
    let mut exit = Exit::Complete;
    report.begin()?;
    for path in &args.files {
        let attributes = open(path, "read", reading).and_then(|file| {
            trawl_attributes::list(&file).map_err(|error| Failure::Usage(error.to_string()))
        });
        let attributes = match attributes {
            Ok(attributes) => attributes,
            Err(failure) => {
                say(format_args!("{failure}"));
                exit = exit.and(Exit::Issues);
                continue;
            }
        };
        let text = || text(path, &attributes);
        report.line(text, |row| {
            row.put(&fields::PATH, path.as_os_str().as_bytes());
            row.objects(&ATTRIBUTES, &attributes, |row, (name, value)| {
                let values: Vec<String> = value.singles().iter().map(Value::to_string).collect();
                row.put(&NAME, name.as_str()).put(&TYPE, value.kind());
                row.texts(&VALUES, values.iter().map(String::as_str));
            });
        })?;
    }
    rows::finish(report)?;
    Ok(exit)
}

fn text(path: &Path, attributes: &[(String, Value)]) -> String {
    let mut text = format!("{}\n", shown(path.as_os_str().as_bytes()));
    for (name, value) in attributes {
        let value = shown(value.to_string().as_bytes());
        text.push_str(&format!("  {name} = {value}\n"));
    }
    text
}

fn reading(path: &std::ffi::CStr) -> Result<File, trawl_sys::SysError> {
    trawl_sys::file::open_content(trawl_sys::CWD, path, Links::Followed)
}

/// Opens a file with a function.
fn open(
    path: &Path,
    action: &'static str,
    with: fn(&std::ffi::CStr) -> Result<File, trawl_sys::SysError>,
) -> Result<File, Failure> {
    let name = CString::new(path.as_os_str().as_bytes());
    let opened = match name {
        Ok(name) => with(&name).map_err(|error| std::io::Error::from_raw_os_error(error.errno.0)),
        Err(error) => Err(error.into()),
    };
    opened.map_err(|source| Failure::File {
        action,
        path: path.to_owned(),
        source,
    })
}

/// Reports what went wrong with an attribute of a file. A mistake of the user's is a failure.
fn told(path: &Path, done: Result<(), AttributeError>) -> Result<Exit, Failure> {
    match done {
        Ok(()) => Ok(Exit::Complete),
        Err(error @ (AttributeError::Name { .. } | AttributeError::Value { .. })) => {
            Err(usage(error))
        }
        Err(error) => {
            say(format_args!(
                "{}: {error}",
                shown(path.as_os_str().as_bytes())
            ));
            Ok(Exit::Issues)
        }
    }
}

fn usage(error: AttributeError) -> Failure {
    Failure::Usage(error.to_string())
}
