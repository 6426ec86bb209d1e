//! `trawl getfattr`: names and values of extended attributes, as getfattr(1) prints them.
//!
//! A value that the asker may not read is missing from the part of the index that the asker can
//! open: it gives getfattr's `Permission denied`. Entries below a directory come in the index's
//! order, not in that of readdir(3).

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use trawl_answers::xattrs::{Found, Names, Options, absent, attributes};
use trawl_query::Attribute;
use trawl_report::xattr_text as encode;
use trawl_report::{Field, Schema, fields, schema};
use trawl_text::locale::Locale;

use crate::arguments::Manner;
use crate::commands::{Setting, Spec};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::forms::{FormArgs, Offer};
use crate::rows::{self, Report};
use crate::scope::Session;

const NAME: Field = Field::bytes("name", "an attribute's name");
const VALUE: Field = Field::bytes(
    "value",
    "an attribute's value; `null` for a value that may not be read",
);
const ATTRIBUTES: Field = Field::objects(
    "attributes",
    &[NAME, VALUE],
    "extended attributes, each an object with `name` and `value`",
);

/// Rows for programs.
static SCHEMA: Schema = Schema {
    row: "an entry with extended attributes",
    fields: &[fields::PATH, ATTRIBUTES],
    forms: schema::OBJECTS,
    samples: &["getfattr -d -m - -R ."],
};

/// The forms of the answer.
#[derive(Clone, Copy, Debug)]
struct Offered;

impl Offer for Offered {
    fn restricted(json: clap::Arg) -> clap::Arg {
        json.conflicts_with("null")
    }
}

// Options of `trawl getfattr`.
#[derive(Debug, clap::Args)]
pub(crate) struct GetfattrArgs {
    /// Show the attributes of these files
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<OsString>,
    /// Show this attribute and its value
    #[arg(short, long, value_name = "NAME")]
    name: Option<OsString>,
    /// Show values, too
    #[arg(short, long)]
    dump: bool,
    /// Write values in this encoding [default: text or base64]
    ///
    /// The default is text for values that are mostly printable, and base64 for others.
    #[arg(short, long, value_enum, value_name = "ENCODING")]
    encoding: Option<Encoding>,
    /// Show attributes whose names match PATTERN; - means all
    ///
    /// PATTERN is a regular expression that may match any part of the name.
    #[arg(
        short = 'm',
        long = "match",
        // Abbreviated as in the GNU tool, regardless of our own options; so below.
        aliases = ["m", "ma"],
        value_name = "PATTERN",
        default_value = "^user\\.",
        allow_hyphen_values = true
    )]
    pattern: OsString,
    /// Write only the values, unencoded
    #[arg(long)]
    only_values: bool,
    /// Show the attributes of symbolic links, not of their targets
    #[arg(short = 'h', long, aliases = ["no", "no-"])]
    no_dereference: bool,
    /// Show the attributes of everything below directories, too
    #[arg(short = 'R', long)]
    recursive: bool,
    /// With -R, follow symbolic links to directories
    #[arg(short = 'L', long, overrides_with = "physical")]
    logical: bool,
    /// With -R, follow no symbolic links, not even arguments
    #[arg(short = 'P', long, overrides_with = "logical")]
    physical: bool,
    /// Keep the slash at the beginning of paths
    #[arg(long)]
    absolute_names: bool,
    #[command(flatten)]
    form: FormArgs<Offered>,
    /// Print only the paths that have such an attribute, NUL-terminated
    #[arg(short = '0', long)]
    null: bool,
    #[command(flatten)]
    pub(crate) manner: Manner,
    /// Print help
    #[arg(long, action = clap::ArgAction::Help)]
    help: Option<bool>,
}

/// Encoding of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Encoding {
    /// In quotation marks.
    Text,
    /// Hexadecimal, after `0x`.
    Hex,
    /// Base64, after `0s`.
    Base64,
}

impl Encoding {
    fn of_values(self) -> encode::Encoding {
        match self {
            Encoding::Text => encode::Encoding::Text,
            Encoding::Hex => encode::Encoding::Hex,
            Encoding::Base64 => encode::Encoding::Base64,
        }
    }
}

impl Spec for GetfattrArgs {
    const ABOUT: &'static str = "Show extended attributes, as getfattr does";
    const HAS_OWN_HELP: bool = true;
    const EXAMPLES: &'static [(&'static str, &'static str)] = &[
        ("trawl getfattr -d README", "show names and values"),
        ("trawl getfattr -R -n user.note .", ""),
    ];
    const SEE_ALSO: &'static [&'static str] = &["getfattr(1)", "xattr(7)"];
    const REPORTS: &'static [&'static Schema] = &[&SCHEMA];

    fn run(&self, setting: Setting<'_>) -> Result<Exit, Failure> {
        run(setting.index, self, setting.manner)
    }
}

/// Runs the command.
pub(crate) fn run(
    index: Option<PathBuf>,
    args: &GetfattrArgs,
    manner: Manner,
) -> Result<Exit, Failure> {
    let Some(names) = names(args) else {
        let pattern = args.pattern.to_string_lossy();
        complain(
            "getfattr",
            format!("invalid regular expression \"{pattern}\"").as_bytes(),
        );
        return Ok(Exit::Issues);
    };
    let mut session = Session::open(index, manner.then(args.manner), Exit::Issues)?;
    let mut printer = Printer {
        args,
        names,
        report: rows::report(&SCHEMA, args.form.form()),
        failed: false,
        slash: Slash::default(),
    };
    let options = Options {
        recursive: args.recursive,
        no_dereference: args.no_dereference,
        logical: args.logical,
        physical: args.physical,
    };
    for given in &args.paths {
        attributes(&mut session, given, options, |path, found| {
            printer.found(path, found)
        })?;
    }
    let Printer { report, failed, .. } = printer;
    rows::finish(report)?;
    if failed {
        session.worsen(Exit::Issues);
    }
    session.finish()
}

/// Prints a message in the words of `tool`, after its name.
fn complain(tool: &str, message: &[u8]) {
    tell(&[tool.as_bytes(), b": ", message].concat());
}

fn tell(line: &[u8]) {
    crate::output::tell_bytes(line);
}

/// Returns the selected names; `None` if the pattern is not a valid regular expression.
fn names(args: &GetfattrArgs) -> Option<Names> {
    match &args.name {
        Some(name) => Some(Names::One(name.as_bytes().to_vec())),
        None => Names::matching(args.pattern.as_bytes(), Locale::from_env()),
    }
}

/// Printer of attributes, and whether anything failed.
struct Printer<'a> {
    args: &'a GetfattrArgs,
    names: Names,
    report: Report,
    failed: bool,
    slash: Slash,
}

impl Printer<'_> {
    fn found(&mut self, path: &[u8], found: Found<'_>) -> Result<(), Failure> {
        match found {
            Found::Attributes(attributes) => self.show(path, attributes),
            Found::Dangling(why) => {
                self.failed = true;
                let message = [&*encode::path(path), b": ", why.to_string().as_bytes()].concat();
                complain("getfattr", &message);
                Ok(())
            }
        }
    }

    /// Shows the selected attributes of an entry.
    fn show(&mut self, path: &[u8], attributes: &[Attribute]) -> Result<(), Failure> {
        if let Names::One(name) = &self.names
            && !attributes.iter().any(|attribute| attribute.name == *name)
        {
            self.failed = true;
            cannot(path, name, absent(name));
            return Ok(());
        }
        let names = &self.names;
        let wanted: Vec<&Attribute> = attributes
            .iter()
            .filter(|attribute| names.has(&attribute.name))
            .collect();
        if wanted.is_empty() {
            return Ok(());
        }
        if self.args.null {
            return Ok(self.report.put([path, b"\0"].concat())?);
        }
        if self.args.form.is_json() {
            return self.row(path, &wanted);
        }
        self.lines(path, &wanted)
    }

    fn shows_values(&self) -> bool {
        self.args.dump || self.args.name.is_some() || self.args.only_values
    }

    fn row(&mut self, path: &[u8], wanted: &[&Attribute]) -> Result<(), Failure> {
        let shows_values = self.shows_values();
        let done = self.report.row(|row| {
            row.put(&fields::PATH, path)
                .objects(&ATTRIBUTES, wanted, |row, attribute| {
                    row.put(&NAME, &attribute.name);
                    if shows_values {
                        row.put(&VALUE, attribute.value.as_ref());
                    }
                });
        });
        Ok(done?)
    }

    fn lines(&mut self, path: &[u8], wanted: &[&Attribute]) -> Result<(), Failure> {
        let mut header = false;
        for Attribute { name, value } in wanted {
            if self.shows_values() && value.is_none() {
                // For attributes that it has listed, getfattr reports the error and still exits
                // with 0.
                self.failed |= self.args.name.is_some();
                cannot(path, name, "Permission denied");
                continue;
            }
            let value = value.as_deref().unwrap_or_default();
            let shown = match self.args.absolute_names {
                true => path,
                false => self.slash.without(path, "getfattr"),
            };
            if self.args.only_values {
                self.report.put(value)?;
                continue;
            }
            if !header {
                header = true;
                let shown = encode::path(shown);
                self.report.put([b"# file: ", &*shown, b"\n"].concat())?;
            }
            self.report.put(encode::name(name))?;
            if self.shows_values() {
                self.report.put(b"=")?;
                self.report.put(encode::value(
                    value,
                    self.args.encoding.map(Encoding::of_values),
                ))?;
            }
            self.report.put(b"\n")?;
        }
        match header {
            true => Ok(self.report.put(b"\n")?),
            false => Ok(()),
        }
    }
}

/// Removes leading slashes from paths, and reports the first removal.
#[derive(Debug, Default)]
pub(crate) struct Slash {
    told: bool,
}

impl Slash {
    /// Returns the path without leading slashes or `./`. The first removal of a slash is reported
    /// in the name of `tool`.
    pub(crate) fn without<'p>(&mut self, path: &'p [u8], tool: &str) -> &'p [u8] {
        let rest = match path {
            [b'.', rest @ ..] if rest.starts_with(b"/") => rest,
            _ => path,
        };
        if path.starts_with(b"/") && !self.told {
            self.told = true;
            complain(tool, b"Removing leading '/' from absolute path names");
        }
        let slashes = rest.iter().take_while(|byte| **byte == b'/').count();
        match &rest[slashes..] {
            b"" => b".",
            shown => shown,
        }
    }
}

fn cannot(path: &[u8], name: &[u8], why: &str) {
    let (path, name) = (encode::path(path), encode::path(name));
    tell(&[&*path, b": ", &*name, b": ", why.as_bytes()].concat());
}
