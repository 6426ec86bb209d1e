//! `trawl getfattr`: names and values of extended attributes, as getfattr(1) prints them.
//!
//! A value that the asker may not read is missing from the part of the index that the asker can
//! open: it gives getfattr's `Permission denied`. Entries below a directory come in the index's
//! order, not in that of readdir(3).

use std::ffi::{OsStr, OsString};
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use trawl_find::regex::{Dialect, Regex};
use trawl_model::FileType;
use trawl_model::path::{display, is_within, split};
use trawl_query::{Attribute, AttributeRequest, Attributed, Links, Located, Start};
use trawl_report::xattr_text as encode;
use trawl_report::{Field, Schema, fields, schema};
use trawl_text::glob::Case;
use trawl_text::locale::Locale;

use crate::arguments::Manner;
use crate::commands::{Setting, Spec};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::forms::{FormArgs, Offer};
use crate::resolve::Resolved;
use crate::rows::{self, Report};
use crate::scope::{Depth, Follow, Session, not_indexed, row_of};

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
    let Some(names) = Names::new(args) else {
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
    for given in &args.paths {
        printer.argument(&mut session, given)?;
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

/// Selection of attributes.
enum Names {
    One(Vec<u8>),
    Matching(Box<Regex>),
    All,
}

impl Names {
    /// Returns `None` if the pattern is not a valid regular expression.
    fn new(args: &GetfattrArgs) -> Option<Names> {
        if let Some(name) = &args.name {
            return Some(Names::One(name.as_bytes().to_vec()));
        }
        match args.pattern.as_bytes() {
            b"-" | b"" => Some(Names::All),
            pattern => {
                let (extended, locale) = (Dialect::PosixExtended, Locale::from_env());
                // The pattern must be valid by itself, too.
                Regex::new(pattern, extended, Case::Sensitive, locale).ok()?;
                let anywhere = [b".*(", pattern, b").*"].concat();
                let regex = Regex::new(&anywhere, extended, Case::Sensitive, locale).ok()?;
                Some(Names::Matching(Box::new(regex)))
            }
        }
    }

    fn has(&self, name: &[u8]) -> bool {
        match self {
            Names::One(one) => one == name,
            Names::Matching(regex) => regex.matches(name),
            Names::All => true,
        }
    }
}

/// Returns the kernel's error for an attribute that an entry does not have.
fn absent(name: &[u8]) -> &'static str {
    let spaces: [&[u8]; 3] = [b"user.", b"trusted.", b"security."];
    if spaces.contains(&name) {
        return "Invalid argument";
    }
    let is_acl = name.starts_with(b"system.posix_acl_");
    match is_acl || spaces.iter().any(|space| name.starts_with(space)) {
        true => "No such attribute",
        false => "Operation not supported",
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
    fn argument(&mut self, session: &mut Session, given: &OsStr) -> Result<(), Failure> {
        let follow = match self.args.no_dereference {
            true => Follow::Never,
            false => Follow::Last,
        };
        let Some(start) = session.locate(given, follow)? else {
            return Ok(());
        };
        let spelled = given.as_bytes();
        self.show(spelled, &session.index().attributes(&start)?)?;
        if !self.args.recursive {
            return Ok(session.note(&start, Depth::Itself)?);
        }
        if let Some(top) = self.top(session, spelled, start)? {
            session.note(&top, Depth::All)?;
            self.below(session, spelled, &top, &[])?;
        }
        Ok(())
    }

    /// Returns the directory below which to continue, if the argument leads to one that must be
    /// entered.
    fn top(
        &self,
        session: &mut Session,
        spelled: &[u8],
        start: Start,
    ) -> Result<Option<Start>, Failure> {
        let may_follow = self.args.logical || !(self.args.physical || self.args.no_dereference);
        let own = match session.resolve(spelled, Follow::Never)? {
            Some(Resolved::To(Located::Found(own), _)) => *own,
            _ => return Ok(None),
        };
        if row_of(&own).file_type() != FileType::Symlink {
            return Ok(start.is_dir.then_some(start));
        }
        let target = match session.resolve(spelled, Follow::Last)? {
            Some(Resolved::To(Located::Found(target), _)) => *target,
            _ => return Ok(None),
        };
        Ok((may_follow && target.is_dir).then_some(target))
    }

    /// Shows everything below `top`, spelled from `spelled`, except the content of directories in
    /// `around`, from which a link led here.
    fn below(
        &mut self,
        session: &mut Session,
        spelled: &[u8],
        top: &Start,
        around: &[Vec<u8>],
    ) -> Result<(), Failure> {
        let follows = !self.args.no_dereference || self.args.logical;
        let request = AttributeRequest {
            links: match follows {
                true => Links::Always,
                false => Links::LikeOthers,
            },
            ..AttributeRequest::default()
        };
        let mut done = Ok(());
        // The target of a link may be added to the session's index meanwhile.
        let index = session.share_index();
        index.attributes_below(top, &request, |entry| {
            let within = |dir: &Vec<u8>| is_within(&entry.path, dir) && entry.path != *dir;
            if around
                .iter()
                .any(|dir| is_within(dir, &top.path) && within(dir))
            {
                return ControlFlow::Continue(());
            }
            let path = below(spelled, &top.path, &entry.path);
            done = match entry.is_link && follows {
                true => self.link(session, &path, &entry, &chain(around, top, &entry)),
                false => self.show(&path, &entry.attributes),
            };
            match done {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            }
        })?;
        done
    }

    /// Shows the attributes of a link's target and, with `-L`, of everything below the target.
    fn link(
        &mut self,
        session: &mut Session,
        path: &[u8],
        link: &Attributed,
        around: &[Vec<u8>],
    ) -> Result<(), Failure> {
        let target = match session.resolve(display(&link.path), Follow::Last)? {
            Some(Resolved::To(Located::Found(target), _)) => Some(*target),
            Some(Resolved::To(Located::NotIndexed { nearest }, to)) => {
                self.dangles(path, &not_indexed(&to, nearest.as_deref()));
                None
            }
            Some(Resolved::Loop) => {
                self.dangles(path, "Too many levels of symbolic links");
                None
            }
            _ => {
                self.dangles(path, "No such file or directory");
                None
            }
        };
        if self.args.no_dereference {
            self.show(path, &link.attributes)?;
        } else if let Some(target) = &target {
            self.show(path, &session.index().attributes(target)?)?;
        }
        match target {
            Some(target)
                if self.args.logical && target.is_dir && !around.contains(&target.path) =>
            {
                self.below(session, path, &target, around)
            }
            _ => Ok(()),
        }
    }

    fn dangles(&mut self, path: &[u8], why: &str) {
        if !self.args.no_dereference {
            self.failed = true;
            let message = [&*encode::path(path), b": ", why.as_bytes()].concat();
            complain("getfattr", &message);
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

/// Returns the path of an entry below `top`, which is spelled `spelled`. There is a slash between
/// the two even if `spelled` ends in one, as in getfattr.
fn below(spelled: &[u8], top: &[u8], path: &[u8]) -> Vec<u8> {
    [spelled, path.strip_prefix(top).unwrap_or(path)].concat()
}

/// Returns `around` and the directories from `top` down to an entry.
fn chain(around: &[Vec<u8>], top: &Start, entry: &Attributed) -> Vec<Vec<u8>> {
    let mut chain = around.to_vec();
    let mut at = &entry.path[..];
    while let Some((dir, _)) = split(at).filter(|(dir, _)| is_within(dir, &top.path)) {
        chain.push(dir.to_vec());
        at = dir;
    }
    chain
}

fn cannot(path: &[u8], name: &[u8], why: &str) {
    let (path, name) = (encode::path(path), encode::path(name));
    tell(&[&*path, b": ", &*name, b": ", why.as_bytes()].concat());
}
