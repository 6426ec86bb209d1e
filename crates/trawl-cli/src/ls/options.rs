//! The options of `ls` as they are written, and in which order.
//!
//! Of options that contradict each other the last one counts, as in GNU ls;
//! some do more than one thing (`-f`, `--zero`, `-g`). So what was said is
//! kept with its order, and [`super::plan`] goes through it.

use std::ffi::OsString;

use clap::{ArgMatches, Args, FromArgMatches};

use crate::arguments::{Manner, occurrences};
use crate::output::ColourWhen;

const EXAMPLES: &str = "\
Names sort by bytes in the C locale; in others by letters without regard to
case, which approximates what ls does there. Attributes are those of the
snapshot: trawl ls --status says of when it is.";

// Options of `trawl ls`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Flags {
    /// What to list [default: the working directory]
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<OsString>,
    /// Long format: mode, links, owner, group, size, time
    #[arg(short = 'l')]
    long: bool,
    /// One name a line; without effect behind -l
    #[arg(short = '1')]
    one: bool,
    /// Names in columns, as on a terminal
    #[arg(short = 'C')]
    columns: bool,
    /// Names in columns, from left to right
    #[arg(short = 'x')]
    across: bool,
    /// Names with commas between them, as many a line as fit
    #[arg(short = 'm')]
    commas: bool,
    /// Format: long or verbose (-l), single-column (-1), vertical (-C),
    /// across or horizontal (-x), commas (-m)
    #[arg(long, value_name = "WORD", value_enum)]
    pub(crate) format: Option<FormatWord>,
    /// Names that begin with a dot too
    #[arg(short, long)]
    all: bool,
    /// The same without . and ..
    #[arg(short = 'A', long)]
    almost_all: bool,
    /// Not names that end with ~
    #[arg(short = 'B', long)]
    pub(crate) ignore_backups: bool,
    /// Not names that match this shell pattern
    #[arg(short = 'I', long, value_name = "PATTERN")]
    pub(crate) ignore: Vec<OsString>,
    /// The same, unless -a or -A is given
    #[arg(long, value_name = "PATTERN")]
    pub(crate) hide: Vec<OsString>,
    /// All names in the order of the index: -aU, and neither -l, -s nor
    /// colours that stand before it
    #[arg(short = 'f')]
    as_stored: bool,
    /// Directories themselves, not what they hold
    #[arg(short, long)]
    pub(crate) directory: bool,
    /// Subdirectories too, and theirs
    #[arg(short = 'R', long)]
    pub(crate) recursive: bool,
    /// Newest first
    #[arg(short = 't')]
    by_time: bool,
    /// Largest first
    #[arg(short = 'S')]
    by_size: bool,
    /// By what follows the last dot
    #[arg(short = 'X')]
    by_extension: bool,
    /// By numbers in names
    #[arg(short = 'v')]
    by_version: bool,
    /// In the order of the index, which is by bytes of the name
    #[arg(short = 'U')]
    unsorted: bool,
    /// What to sort by
    #[arg(long, value_name = "WORD", value_enum)]
    pub(crate) sort: Option<SortWord>,
    /// The other way round
    #[arg(short, long)]
    pub(crate) reverse: bool,
    /// Which time to show and sort by
    #[arg(long, value_name = "WORD", value_enum)]
    pub(crate) time: Option<TimeWord>,
    /// Time of last access; sorts by it without -l
    #[arg(short = 'u')]
    accessed: bool,
    /// Time of last change of the inode; sorts by it without -l
    #[arg(short = 'c')]
    changed: bool,
    /// How to show times: full-iso, long-iso, iso, locale or +FORMAT
    #[arg(long, value_name = "STYLE")]
    pub(crate) time_style: Option<String>,
    /// -l with times to the nanosecond
    #[arg(long)]
    full_time: bool,
    /// Sizes with units, powers of 1024
    #[arg(short, long)]
    human_readable: bool,
    /// Sizes with units, powers of 1000
    #[arg(long)]
    si: bool,
    /// Unit of sizes, such as M or 512
    #[arg(long, value_name = "SIZE")]
    pub(crate) block_size: Option<String>,
    /// Blocks of 1024 bytes for -s and totals, whatever the environment says
    #[arg(short, long)]
    pub(crate) kibibytes: bool,
    /// Numbers in place of names of users and groups; long format
    #[arg(short, long)]
    pub(crate) numeric_uid_gid: bool,
    /// Long format without the owner
    #[arg(short = 'g')]
    pub(crate) no_owner: bool,
    /// Long format without the group
    #[arg(short = 'o')]
    pub(crate) no_group_long: bool,
    /// No group in long format
    // Also as the GNU tool abbreviates it, whatever our own options begin with.
    #[arg(short = 'G', long, aliases = ["no", "no-"])]
    pub(crate) no_group: bool,
    /// Each file's author in long format, which is its owner
    #[arg(long)]
    pub(crate) author: bool,
    /// Inode numbers
    #[arg(short, long)]
    pub(crate) inode: bool,
    /// Allocated blocks
    #[arg(short, long = "size")]
    size_in_blocks: bool,
    /// A character behind each name for its type: one of */=>@|
    #[arg(short = 'F', long, value_name = "WHEN", value_enum, num_args = 0..=1,
          require_equals = true, default_missing_value = "always")]
    pub(crate) classify: Option<ColourWhen>,
    /// The same without * for executables
    #[arg(long)]
    file_type: bool,
    /// A slash behind directories
    #[arg(short = 'p')]
    slash: bool,
    /// Which characters: none, slash (-p), file-type, classify (-F)
    #[arg(long, value_name = "WORD", value_enum)]
    pub(crate) indicator_style: Option<IndicatorWord>,
    /// Names as they are, whatever they hold
    #[arg(short = 'N', long)]
    literal: bool,
    /// Names in double quotes
    #[arg(short = 'Q', long)]
    quote_name: bool,
    /// Escapes for characters that do not print
    #[arg(short = 'b', long)]
    escape: bool,
    /// How to quote names: literal, locale, shell, shell-always,
    /// shell-escape, shell-escape-always, c, escape
    #[arg(long, value_name = "STYLE")]
    pub(crate) quoting_style: Option<String>,
    /// ? for characters that do not print, as on a terminal
    #[arg(short = 'q', long)]
    hide_control_chars: bool,
    /// Characters that do not print as they are
    #[arg(long)]
    show_control_chars: bool,
    /// Directories before files
    #[arg(long)]
    pub(crate) group_directories_first: bool,
    /// Names as links that terminals can open
    #[arg(long, value_name = "WHEN", value_enum, num_args = 0..=1, require_equals = true,
          default_missing_value = "always")]
    pub(crate) hyperlink: Option<ColourWhen>,
    /// Line width, 0 for no limit
    #[arg(short, long, value_name = "COLUMNS")]
    pub(crate) width: Option<String>,
    /// Columns between tab stops, 0 for no tabs
    #[arg(short = 'T', long, value_name = "COLUMNS")]
    pub(crate) tabsize: Option<String>,
    /// What links lead to in place of links
    #[arg(short = 'L', long)]
    dereference: bool,
    /// The same for links that are arguments
    #[arg(short = 'H', long)]
    dereference_command_line: bool,
    /// The same for links that are arguments and lead to directories
    #[arg(long)]
    dereference_command_line_symlink_to_dir: bool,
    /// Not to be had here: getfattr -n security.selinux shows contexts
    #[arg(short = 'Z', long)]
    pub(crate) context: bool,
    /// Not to be had here: ls itself has Emacs' mode
    #[arg(short = 'D', long)]
    pub(crate) dired: bool,
    /// One JSON object a line
    #[arg(long, overrides_with = "csv")]
    pub(crate) json: bool,
    /// Comma-separated values with a header
    #[arg(long, overrides_with = "json")]
    pub(crate) csv: bool,
    /// End lines with a zero byte; no quotes, one column
    #[arg(short = '0', long)]
    pub(crate) zero: bool,
    #[command(flatten)]
    pub(crate) manner: Manner,
    /// Print help
    #[arg(long, action = clap::ArgAction::Help)]
    help: Option<bool>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum FormatWord {
    #[value(alias = "verbose")]
    Long,
    #[value(name = "single-column")]
    SingleColumn,
    Vertical,
    #[value(alias = "horizontal")]
    Across,
    Commas,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum SortWord {
    None,
    Name,
    Size,
    Time,
    Version,
    Extension,
    Width,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum TimeWord {
    #[value(alias = "mtime")]
    Modification,
    #[value(alias = "atime", alias = "use")]
    Access,
    #[value(alias = "ctime")]
    Status,
    #[value(alias = "creation")]
    Birth,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum IndicatorWord {
    None,
    Slash,
    FileType,
    Classify,
}

/// The options and in which order they were given.
#[derive(Debug)]
pub(crate) struct LsArgs {
    pub(crate) flags: Flags,
    /// Names of the fields of [`Flags`] that were given, by their last
    /// occurrence.
    pub(crate) order: Vec<String>,
}

impl FromArgMatches for LsArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<LsArgs, clap::Error> {
        Ok(LsArgs {
            flags: Flags::from_arg_matches(matches)?,
            order: occurrences(matches),
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = LsArgs::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for LsArgs {
    fn augment_args(command: clap::Command) -> clap::Command {
        Flags::augment_args(command)
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Flags::augment_args_for_update(command)
    }
}
