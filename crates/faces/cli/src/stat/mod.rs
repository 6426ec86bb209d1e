//! `trawl stat`: the attributes of files, as stat(1) prints them.
//!
//! Symbolic links are shown themselves, unless `-L` asks for their targets (with `--acl` they are
//! always followed, as getfacl(1) does). File systems (`-f`) are always the live ones, and so are
//! directories above a source's root (`%m`).

mod file_system;

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use trawl_answers::place;
use trawl_find::record;
use trawl_model::rows::Row;
use trawl_model::{FileType, Timestamp};
use trawl_query::Start;
use trawl_report::listing::Item;
use trawl_report::stat::acl::{self, Ids, Lists, Naming};
use trawl_report::stat::{Context, Escapes, Format, Subject, values};
use trawl_report::xattr_text;
use trawl_report::{Field, Schema, json_object, schema};
use trawl_text::locale::Locale;
use trawl_text::owners::Owners;
use trawl_text::quote::{Quoting, Terminal};
use trawl_text::time_style::full_iso;
use trawl_text::zone::Zone;

use crate::arguments::Manner;
use crate::commands::{Setting, Spec};
use crate::exit::Exit;
use crate::failure::{Failure, quoted};
use crate::forms::{FormArgs, Objects};
use crate::getfattr::Slash;
use crate::output::{Device, Output, say};
use crate::rows;
use crate::scope::{Depth, Follow, PATHS_AT_ONCE, Session, row_of};

const DIRECTIVES: &str = "\
Directives: %a %A mode, octal and in letters; %b %B blocks and their size;
%C security context; %d %D %Hd %Ld device; %f raw mode; %F type; %g %G group; %h links; %i inode;
%m mount point; %n %N name; %o I/O size; %r %R %Hr %Lr %t %T device of a device file; %s size;
%u %U owner; %w %W birth, %x %X access, %y %Y change of content, %z %Z change
of inode, for people and as seconds since 1970 (%.3Y: with decimals).
With -f: %a %f %b available, free and total blocks; %c %d total and free inodes;
%i id; %l maximum length of names; %n name; %s %S block sizes; %t %T type.";

// Options of `trawl stat`.
#[derive(Debug, clap::Args)]
#[command(after_help = DIRECTIVES)]
pub(crate) struct StatArgs {
    /// Show the attributes of these files
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<OsString>,
    /// Print FORMAT and a newline for each file
    #[arg(short = 'c', long, value_name = "FORMAT", overrides_with = "printf")]
    format: Option<OsString>,
    /// Print FORMAT for each file, interpreting \n and other escapes
    #[arg(long, value_name = "FORMAT", overrides_with = "format")]
    printf: Option<OsString>,
    /// Print one line of numbers
    #[arg(short, long)]
    terse: bool,
    /// Show the targets of symbolic links instead of the links
    #[arg(short = 'L', long)]
    dereference: bool,
    /// Show the file systems that contain the files, as they are now
    #[arg(short, long)]
    file_system: bool,
    /// Accept always or default; an index cannot provide never
    #[arg(long, value_name = "MODE", value_parser = ["default", "always", "never"])]
    cached: Option<String>,
    /// Print access control lists, as getfacl does
    #[arg(long, conflicts_with_all = ["format", "printf", "terse"])]
    acl: bool,
    /// With --acl, print numbers of users and groups instead of names
    #[arg(short, long, requires = "acl")]
    numeric: bool,
    #[command(flatten)]
    form: FormArgs<Objects>,
    #[command(flatten)]
    pub(crate) manner: Manner,
}

const ACL: Field = Field::texts(
    "acl",
    "entries of the access control list, if it says more than the mode",
);

/// Rows for programs.
static SCHEMA: Schema = Schema {
    row: "a file",
    fields: &schema::joined::<{ record::FIELDS.len() }, 1, { record::FIELDS.len() + 1 }>(
        record::FIELDS,
        [ACL],
    ),
    forms: schema::OBJECTS,
    samples: &["stat . odd"],
};

impl Spec for StatArgs {
    const ABOUT: &'static str = "Show attributes of files, as stat does";
    const EXAMPLES: &'static [(&'static str, &'static str)] = &[
        ("trawl stat README", "show every attribute"),
        ("trawl stat -c '%n %s' *.c", "show names and sizes"),
        (
            "trawl stat --at yesterday .",
            "show the attributes of yesterday",
        ),
    ];
    const SEE_ALSO: &'static [&'static str] = &["stat(1)", "trawl-ls(1)", "trawl-history(1)"];
    const REPORTS: &'static [&'static Schema] = &[&SCHEMA, &file_system::SCHEMA];

    fn run(&self, setting: Setting<'_>) -> Result<Exit, Failure> {
        run(setting.index, self, setting.manner)
    }
}

const TERSE: &str = "%n %s %b %f %u %g %D %i %h %t %T %X %Y %Z %W %o\n";
const HEAD: &str = "  File: %N\n  Size: %-10s\tBlocks: %-10b IO Block: %-6o %F\n";
const PLAIN: &str = "Device: %Hd,%Ld\tInode: %-10i  Links: %h\n";
const OF_DEVICE: &str = "Device: %Hd,%Ld\tInode: %-10i  Links: %-5h Device type: %Hr,%Lr\n";
const TAIL: &str = "Access: (%04a/%10.10A)  Uid: (%5u/%8U)   Gid: (%5g/%8G)\n\
                    Access: %x\nModify: %y\nChange: %z\n Birth: %w\n";

/// Formats for the types of files.
struct Formats {
    usual: Format,
    device: Format,
    /// Quoting of names in `%N`.
    quoting: Quoting,
}

/// Runs the command.
pub(crate) fn run(
    index: Option<PathBuf>,
    args: &StatArgs,
    manner: Manner,
) -> Result<Exit, Failure> {
    if args.cached.as_deref() == Some("never") {
        let text = "--cached=never needs the live attributes: use stat itself";
        return Err(Failure::Usage(text.into()));
    }
    if args.file_system && manner.then(args.manner).at.is_some() {
        let text = "--file-system shows the file systems of now: leave out --at";
        return Err(Failure::Usage(text.into()));
    }
    if args.file_system {
        return file_system::show(args);
    }
    if args.acl && !args.form.is_json() {
        return show_lists(index, args, manner);
    }
    let formats = args.formats()?;
    let mut session = Session::open(index, manner.then(args.manner), Exit::Issues)?;
    session.reach_to(Depth::Itself);
    let (owners, zone, locale) = (Owners::default(), Zone::local(), Locale::from_env());
    let time = |time: Timestamp| {
        let mut out = String::new();
        full_iso(&mut out, time, &zone);
        out
    };
    let device = match Device::of_stdout() {
        Device::Terminal => Terminal::Watched(locale),
        Device::Other => Terminal::Absent,
    };
    let quote = |name: &[u8]| {
        let quoted = formats.quoting.quote(name, locale);
        device.show(&quoted).into_owned()
    };
    let follow = match args.dereference {
        true => Follow::Last,
        false => Follow::Never,
    };
    let mut output = Output::stdout().with_own_controls();
    for (at, given) in args.paths.iter().enumerate() {
        if at % PATHS_AT_ONCE == 0 {
            let next = args.paths.iter().skip(at).take(PATHS_AT_ONCE);
            session.expect(&next.cloned().collect::<Vec<_>>(), follow)?;
        }
        let Some(start) = session.locate(given, follow)? else {
            continue;
        };
        let item = Item::from_row(&row_of(&start), given.as_bytes());
        session.note(&start, Depth::Itself)?;
        if args.form.is_json() {
            output.put(json(given.as_bytes(), &item, &row_of(&start), &owners))?;
            continue;
        }
        let shown = Item {
            name: device.show(&item.name).into_owned(),
            target: device.show(&item.target).into_owned(),
            ..item.clone()
        };
        let format = formats.of(shown.file_type());
        let (mount, label) = place_of(&mut session, format, &start, given)?;
        let context = Context {
            owners: &owners,
            time: &time,
            quote: &quote,
            mount: &device.show(&mount),
            label: &device.show(&label),
        };
        let mut bytes = Vec::new();
        format.render(&mut bytes, &|letter, part| {
            // `%N` quotes the name itself, so that different names look different.
            let of = if letter == b'N' { &item } else { &shown };
            values(letter, part, of, &context)
        });
        output.put(bytes)?;
    }
    output.finish()?;
    session.finish()
}

impl Formats {
    fn of(&self, kind: FileType) -> &Format {
        match kind {
            FileType::Block | FileType::Char => &self.device,
            _ => &self.usual,
        }
    }
}

/// Returns the mount point and the security context, each only if the format shows it.
fn place_of(
    session: &mut Session,
    format: &Format,
    start: &Start,
    given: &OsStr,
) -> Result<(Vec<u8>, Vec<u8>), Failure> {
    let mount = match format.has(b'm') {
        true => place::mount_point(session, start)?,
        false => Vec::new(),
    };
    let label = match format.has(b'C') {
        true => place::security_context(session, start)?,
        false => Some(Vec::new()),
    };
    let Some(label) = label else {
        let given = quoted(given.as_bytes());
        say(format_args!(
            "failed to get security context of {given}: no data available"
        ));
        session.worsen(Exit::Issues);
        return Ok((mount, b"?".to_vec()));
    };
    Ok((mount, label))
}

/// Returns a line of JSON.
fn json(path: &[u8], item: &Item, row: &Row<'_>, owners: &Owners) -> String {
    let lists = Lists::of(row);
    let naming = Naming {
        owners: &Owners::default(),
        ids: Ids::Numbers,
    };
    let mut line = json_object(SCHEMA.fields, |printed| {
        rows::fill(printed, path, item, owners);
        if lists.is_extended() {
            printed.texts(&ACL, lists.entries(&naming));
        }
    });
    line.push('\n');
    line
}

/// Prints access control lists.
fn show_lists(index: Option<PathBuf>, args: &StatArgs, manner: Manner) -> Result<Exit, Failure> {
    let mut session = Session::open(index, manner.then(args.manner), Exit::Issues)?;
    let naming = Naming {
        owners: &Owners::default(),
        ids: match args.numeric {
            true => Ids::Numbers,
            false => Ids::Names,
        },
    };
    let mut output = Output::stdout();
    let mut slash = Slash::default();
    for given in &args.paths {
        let Some(start) = session.locate(given, Follow::Last)? else {
            continue;
        };
        session.note(&start, Depth::Itself)?;
        let path = slash.without(given.as_bytes(), "getfacl");
        let path = xattr_text::path_of_list(path);
        output.put(acl::text(&path, &row_of(&start), &naming))?;
    }
    output.finish()?;
    session.finish()
}

impl StatArgs {
    fn formats(&self) -> Result<Formats, Failure> {
        let parse = |text: &[u8], escapes| {
            Format::parse(text, escapes, Subject::File)
                .map_err(|bad| Failure::Usage(bad.to_string()))
        };
        // GNU stat quotes names only if the format has a plain `%N`: not with a width, and not in
        // the default format.
        let quoting = |format: &[u8]| match format.windows(2).any(|pair| pair == b"%N") {
            true => {
                let named = std::env::var("QUOTING_STYLE").ok();
                let named = named.and_then(|name| Quoting::parse(&name));
                named.unwrap_or(Quoting::ShellEscapeAlways)
            }
            false => Quoting::Literal,
        };
        let same = |format: Format, quoting| Formats {
            usual: format.clone(),
            device: format,
            quoting,
        };
        if let Some(format) = &self.format {
            let text = format.as_bytes();
            return Ok(same(parse(text, Escapes::Keep)?.line(), quoting(text)));
        }
        if let Some(format) = &self.printf {
            let text = format.as_bytes();
            return Ok(same(parse(text, Escapes::Read)?, quoting(text)));
        }
        if self.terse {
            return Ok(same(
                parse(TERSE.as_bytes(), Escapes::Keep)?,
                Quoting::Literal,
            ));
        }
        let whole = |middle: &str| format!("{HEAD}{middle}{TAIL}");
        Ok(Formats {
            usual: parse(whole(PLAIN).as_bytes(), Escapes::Keep)?,
            device: parse(whole(OF_DEVICE).as_bytes(), Escapes::Keep)?,
            quoting: Quoting::Literal,
        })
    }
}
