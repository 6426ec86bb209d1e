//! The options of `ls` as given, and their order.
//!
//! If options contradict each other, the last one counts, as in GNU ls; some have several effects
//! (`-f`, `--zero`, `-g`). So the options are kept with their order, and [`super::plan`] processes
//! them one by one.

use std::ffi::OsString;

use clap::{ArgMatches, Args, FromArgMatches};

use crate::arguments::{Manner, occurrences};
use crate::forms::{FormArgs, Rows};
use crate::output::ColourWhen;

const EXAMPLES: &str = "\
Names are sorted by bytes in the C locale. In other locales they are sorted by
letters, ignoring case, which approximates ls. Attributes are those of the
snapshot; trawl ls --status shows its time.";

// Options of `trawl ls`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Flags {
    /// List these paths [default: the working directory]
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<OsString>,
    /// Use long format: mode, links, owner, group, size, time
    #[arg(short = 'l')]
    long: bool,
    /// List one name per line; no effect after -l
    #[arg(short = '1')]
    one: bool,
    /// List names in columns, as on a terminal
    #[arg(short = 'C')]
    columns: bool,
    /// List names in columns, filled from left to right
    #[arg(short = 'x')]
    across: bool,
    /// List names separated by commas, as many per line as fit
    #[arg(short = 'm')]
    commas: bool,
    /// Use this format
    ///
    /// Formats are long or verbose (-l), single-column (-1), vertical (-C), across or horizontal
    /// (-x), and commas (-m).
    #[arg(long, value_name = "WORD", value_enum)]
    pub(crate) format: Option<FormatWord>,
    /// List names that begin with a dot, too
    #[arg(short, long)]
    all: bool,
    /// List names that begin with a dot, except . and ..
    #[arg(short = 'A', long)]
    almost_all: bool,
    /// Leave out names that end with ~
    #[arg(short = 'B', long)]
    pub(crate) ignore_backups: bool,
    /// Leave out names that match PATTERN, a shell pattern
    #[arg(short = 'I', long, value_name = "PATTERN")]
    pub(crate) ignore: Vec<OsString>,
    /// Leave out names that match PATTERN, unless -a or -A is given
    #[arg(long, value_name = "PATTERN")]
    pub(crate) hide: Vec<OsString>,
    /// List all names in the order of the index: -aU without colours
    ///
    /// Also cancels -l and -s that stand before it.
    #[arg(short = 'f')]
    as_stored: bool,
    /// List directories themselves, not their content
    #[arg(short, long)]
    pub(crate) directory: bool,
    /// List subdirectories recursively
    #[arg(short = 'R', long)]
    pub(crate) recursive: bool,
    /// Sort by time, newest first
    #[arg(short = 't')]
    by_time: bool,
    /// Sort by size, largest first
    #[arg(short = 'S')]
    by_size: bool,
    /// Sort by extension, the part after the last dot
    #[arg(short = 'X')]
    by_extension: bool,
    /// Sort by numbers within names
    #[arg(short = 'v')]
    by_version: bool,
    /// Sort as the index does, by the bytes of the name
    #[arg(short = 'U')]
    unsorted: bool,
    /// Sort by this key
    #[arg(long, value_name = "WORD", value_enum)]
    pub(crate) sort: Option<SortWord>,
    /// Reverse the order
    #[arg(short, long)]
    pub(crate) reverse: bool,
    /// Show and sort by this time
    #[arg(long, value_name = "WORD", value_enum)]
    pub(crate) time: Option<TimeWord>,
    /// Use the time of last access; sort by it without -l
    #[arg(short = 'u')]
    accessed: bool,
    /// Use the time of last inode change; sort by it without -l
    #[arg(short = 'c')]
    changed: bool,
    /// Show times in this style: full-iso, long-iso, iso, locale, +FORMAT
    #[arg(long, value_name = "STYLE")]
    pub(crate) time_style: Option<String>,
    /// Use long format with times to the nanosecond
    #[arg(long)]
    full_time: bool,
    /// Show sizes with units, in powers of 1024
    #[arg(short, long)]
    human_readable: bool,
    /// Show sizes with units, in powers of 1000
    #[arg(long)]
    si: bool,
    /// Show sizes in this unit, such as M or 512
    #[arg(long, value_name = "SIZE")]
    pub(crate) block_size: Option<String>,
    /// Use blocks of 1024 bytes for -s and totals in any environment
    #[arg(short, long)]
    pub(crate) kibibytes: bool,
    /// Use long format with numbers instead of user and group names
    #[arg(short, long)]
    pub(crate) numeric_uid_gid: bool,
    /// Use long format without the owner
    #[arg(short = 'g')]
    pub(crate) no_owner: bool,
    /// Use long format without the group
    #[arg(short = 'o')]
    pub(crate) no_group_long: bool,
    /// Leave out the group in long format
    // Also abbreviated as in the GNU tool, regardless of our own options.
    #[arg(short = 'G', long, aliases = ["no", "no-"])]
    pub(crate) no_group: bool,
    /// Show the author in long format, which is the owner
    #[arg(long)]
    pub(crate) author: bool,
    /// Show inode numbers
    #[arg(short, long)]
    pub(crate) inode: bool,
    /// Show allocated blocks
    #[arg(short, long = "size")]
    size_in_blocks: bool,
    /// Append an indicator of the type to names: one of */=>@|
    #[arg(short = 'F', long, value_name = "WHEN", value_enum, num_args = 0..=1,
          require_equals = true, default_missing_value = "always")]
    pub(crate) classify: Option<ColourWhen>,
    /// Append indicators except * for executables
    #[arg(long)]
    file_type: bool,
    /// Append a slash to directories
    #[arg(short = 'p')]
    slash: bool,
    /// Append indicators: none, slash (-p), file-type, classify (-F)
    #[arg(long, value_name = "WORD", value_enum)]
    pub(crate) indicator_style: Option<IndicatorWord>,
    /// Print names unquoted and unescaped
    #[arg(short = 'N', long)]
    literal: bool,
    /// Print names in double quotes
    #[arg(short = 'Q', long)]
    quote_name: bool,
    /// Escape characters that cannot be printed
    #[arg(short = 'b', long)]
    escape: bool,
    /// Quote names in this style
    ///
    /// Styles are literal, locale, shell, shell-always, shell-escape, shell-escape-always, c, and
    /// escape.
    #[arg(long, value_name = "STYLE")]
    pub(crate) quoting_style: Option<String>,
    /// Print ? for unprintable characters, as on a terminal
    #[arg(short = 'q', long)]
    hide_control_chars: bool,
    /// Print unprintable characters unchanged
    #[arg(long)]
    show_control_chars: bool,
    /// List directories before files
    #[arg(long)]
    pub(crate) group_directories_first: bool,
    /// Print names as links that terminals can open
    #[arg(long, value_name = "WHEN", value_enum, num_args = 0..=1, require_equals = true,
          default_missing_value = "always")]
    pub(crate) hyperlink: Option<ColourWhen>,
    /// Set the line width; 0 means no limit
    #[arg(short, long, value_name = "COLUMNS")]
    pub(crate) width: Option<String>,
    /// Set the columns between tab stops; 0 means no tabs
    #[arg(short = 'T', long, value_name = "COLUMNS")]
    pub(crate) tabsize: Option<String>,
    /// Show the targets of symbolic links instead of the links
    #[arg(short = 'L', long)]
    dereference: bool,
    /// Follow symbolic links that are arguments
    #[arg(short = 'H', long)]
    dereference_command_line: bool,
    /// Follow symbolic links to directories that are arguments
    #[arg(long)]
    dereference_command_line_symlink_to_dir: bool,
    /// Refuse: use trawl getfattr -n security.selinux for contexts
    #[arg(short = 'Z', long)]
    pub(crate) context: bool,
    /// Refuse: use ls itself for Emacs' mode
    #[arg(short = 'D', long)]
    pub(crate) dired: bool,
    #[command(flatten)]
    pub(crate) form: FormArgs<Rows>,
    /// End lines with a NUL byte; one column, no quotes
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

/// The options and the order in which they were given.
#[derive(Debug)]
pub(crate) struct LsArgs {
    pub(crate) flags: Flags,
    /// Names of the fields of [`Flags`] that were given, in order of their last occurrence.
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
