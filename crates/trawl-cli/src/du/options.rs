//! The options of `du` and the plan that they and the environment make.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{ArgMatches, Args, FromArgMatches};

use crate::arguments::{Manner, occurrences};
use crate::block_size::SizeFormat;
use crate::du::excluded::Excluded;
use crate::failure::Failure;
use crate::ls::item::TimeKind;
use crate::rows::Form;
use crate::time_look::TimeLook;

const EXAMPLES: &str = "\
A file with several names is counted once, also over several arguments.
Directories come after what they hold, in the order of their paths.";

// Options of `trawl du`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Flags {
    /// What to sum up [default: the working directory]
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<OsString>,
    /// Sum up what this file names, each name with a zero byte behind it
    /// (-: standard input)
    // Abbreviations that are the GNU tool's, whatever our own options begin with; so below.
    #[arg(long, aliases = ["f"], value_name = "FILE", conflicts_with = "paths")]
    pub(crate) files0_from: Option<OsString>,
    /// Only the sum of each argument
    #[arg(short, long, conflicts_with_all = ["all"])]
    summarize: bool,
    /// Files too, not only directories
    #[arg(short, long)]
    all: bool,
    /// Show nothing deeper than N below an argument
    #[arg(short = 'd', long, aliases = ["m", "ma", "max", "max-"], value_name = "N")]
    max_depth: Option<u32>,
    /// Show nothing smaller than SIZE; with a minus, nothing larger
    #[arg(short = 't', long, value_name = "SIZE", allow_hyphen_values = true)]
    threshold: Option<String>,
    /// A grand total
    #[arg(short = 'c', long)]
    total: bool,
    /// Directories without their subdirectories
    #[arg(short = 'S', long)]
    separate_dirs: bool,
    /// Count every name of a file with several
    #[arg(short = 'l', long)]
    count_links: bool,
    /// Leave out what lies on other file systems
    #[arg(short = 'x', long)]
    one_file_system: bool,
    /// Leave out what matches this shell pattern
    #[arg(long, value_name = "PATTERN")]
    exclude: Vec<OsString>,
    /// The same for every line of this file (-: standard input)
    #[arg(short = 'X', long, value_name = "FILE")]
    exclude_from: Vec<PathBuf>,
    /// Follow links that are arguments
    #[arg(short = 'D', visible_short_alias = 'H', long,
          overrides_with_all = ["dereference", "no_dereference"])]
    dereference_args: bool,
    /// Count what links lead to in place of links
    #[arg(short = 'L', long, overrides_with_all = ["dereference_args", "no_dereference"])]
    dereference: bool,
    /// Follow no links; the default
    #[arg(short = 'P', long, aliases = ["no", "no-"], overrides_with_all = ["dereference_args", "dereference"])]
    no_dereference: bool,
    /// Show the latest time of anything in each directory
    #[arg(long, value_name = "WORD", value_enum, num_args = 0..=1, require_equals = true,
          default_missing_value = "mtime")]
    time: Option<TimeWord>,
    /// How to show times: full-iso, long-iso, iso or +FORMAT
    #[arg(long, value_name = "STYLE")]
    time_style: Option<String>,
    /// Sizes of the content in place of allocated space
    #[arg(short = 'A', long)]
    apparent_size: bool,
    /// Numbers of inodes in place of space
    #[arg(long)]
    inodes: bool,
    /// Bytes of content: --apparent-size --block-size=1
    #[arg(short, long)]
    bytes: bool,
    /// Blocks of 1024 bytes
    #[arg(short)]
    kilo: bool,
    /// Blocks of 1024 × 1024 bytes
    #[arg(short)]
    mega: bool,
    /// Units in powers of 1024
    #[arg(short, long)]
    human_readable: bool,
    /// Units in powers of 1000
    #[arg(long)]
    si: bool,
    /// Unit of sizes, such as M or 512
    #[arg(short = 'B', long, value_name = "SIZE")]
    block_size: Option<String>,
    /// End lines with a zero byte
    #[arg(short = '0', long)]
    null: bool,
    /// One JSON object a line
    #[arg(long, overrides_with = "csv")]
    json: bool,
    /// Comma-separated values with a header
    #[arg(long, overrides_with = "json")]
    csv: bool,
    #[command(flatten)]
    pub(crate) manner: Manner,
    /// Print help
    #[arg(long, action = clap::ArgAction::Help)]
    help: Option<bool>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum TimeWord {
    Mtime,
    #[value(alias = "access", alias = "use")]
    Atime,
    #[value(alias = "status")]
    Ctime,
}

/// The options and in which order they were given.
#[derive(Debug)]
pub(crate) struct DuArgs {
    pub(crate) flags: Flags,
    order: Vec<String>,
}

impl FromArgMatches for DuArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<DuArgs, clap::Error> {
        Ok(DuArgs {
            flags: Flags::from_arg_matches(matches)?,
            order: occurrences(matches),
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = DuArgs::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for DuArgs {
    fn augment_args(command: clap::Command) -> clap::Command {
        Flags::augment_args(command)
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Flags::augment_args_for_update(command)
    }
}

/// What is added up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Measure {
    /// Allocated space.
    Disk,
    /// Sizes of the content.
    Apparent,
    /// Inodes.
    Inodes,
}

/// Which lines are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shown {
    /// Directories.
    Directories,
    /// Everything.
    All,
}

/// Which links are counted as what they lead to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Links {
    Themselves,
    Arguments,
    Targets,
}

/// The least or, below zero, the greatest amount that is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Threshold {
    AtLeast(u64),
    AtMost(u64),
}

impl Threshold {
    /// True if `amount` is shown.
    pub(crate) fn admits(self, amount: u128) -> bool {
        match self {
            Threshold::AtLeast(least) => amount >= u128::from(least),
            Threshold::AtMost(most) => amount <= u128::from(most),
        }
    }

    fn parse(text: &str) -> Result<Threshold, String> {
        let (digits, is_negative) = match text.strip_prefix('-') {
            Some(digits) => (digits, true),
            None => (text, false),
        };
        let bytes = match digits {
            "0" => Some(0),
            _ => match SizeFormat::parse(digits) {
                Some(SizeFormat::Blocks(bytes) | SizeFormat::Unit(bytes, _)) => Some(bytes),
                _ => None,
            },
        };
        match (bytes, is_negative) {
            (Some(0), true) | (None, _) => Err(format!(
                "{text:?} is no threshold: use a size such as 10M or -4K"
            )),
            (Some(bytes), true) => Ok(Threshold::AtMost(bytes)),
            (Some(bytes), false) => Ok(Threshold::AtLeast(bytes)),
        }
    }
}

/// Everything that decides what is printed.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) measure: Measure,
    pub(crate) shown: Shown,
    /// Deepest level below an argument.
    pub(crate) max_depth: u32,
    pub(crate) threshold: Threshold,
    /// There is one argument, so that no file can be counted twice.
    pub(crate) single: bool,
    pub(crate) total: bool,
    pub(crate) separate: bool,
    pub(crate) count_links: bool,
    pub(crate) one_file_system: bool,
    pub(crate) links: Links,
    pub(crate) excluded: Excluded,
    /// The time that is shown, and how.
    pub(crate) time: Option<(TimeKind, TimeLook)>,
    pub(crate) format: SizeFormat,
    pub(crate) ending: u8,
    pub(crate) form: Form,
}

impl Plan {
    /// True if nothing but the sum over a single argument is asked for.
    pub(crate) fn wants_one_sum(&self) -> bool {
        let plain = !self.separate && !self.count_links && !self.one_file_system;
        plain && self.single && self.max_depth == 0
    }

    /// True if each entry has to be seen, since the sums that the index keeps
    /// do not tell.
    pub(crate) fn needs_entries(&self) -> bool {
        self.time.is_some() || !self.excluded.is_empty() || self.links == Links::Targets
    }
}

impl DuArgs {
    /// The plan for these options and so many arguments.
    ///
    /// # Errors
    /// A sentence about options that make no sense, or a file with patterns
    /// that cannot be read.
    pub(crate) fn plan(
        &self,
        arguments: usize,
        get: &dyn Fn(&str) -> Option<OsString>,
    ) -> Result<Plan, Failure> {
        let flags = &self.flags;
        let measure = match (flags.inodes, flags.apparent_size || flags.bytes) {
            (true, _) => Measure::Inodes,
            (_, true) => Measure::Apparent,
            _ => Measure::Disk,
        };
        let threshold = flags.threshold.as_deref().map(Threshold::parse).transpose();
        Ok(Plan {
            measure,
            shown: match flags.all {
                true => Shown::All,
                false => Shown::Directories,
            },
            max_depth: self.max_depth().map_err(Failure::Usage)?,
            threshold: threshold
                .map_err(Failure::Usage)?
                .unwrap_or(Threshold::AtLeast(0)),
            single: arguments <= 1 && flags.files0_from.is_none(),
            total: flags.total,
            separate: flags.separate_dirs,
            count_links: flags.count_links,
            one_file_system: flags.one_file_system,
            links: match (flags.dereference, flags.dereference_args) {
                (true, _) => Links::Targets,
                (_, true) => Links::Arguments,
                _ => Links::Themselves,
            },
            excluded: Excluded::read(&flags.exclude, &flags.exclude_from)?,
            time: self.time(get).map_err(Failure::Usage)?,
            format: self.format(measure, get).map_err(Failure::Usage)?,
            ending: if flags.null { 0 } else { b'\n' },
            form: Form::new(flags.json, flags.csv),
        })
    }

    fn max_depth(&self) -> Result<u32, String> {
        match (self.flags.summarize, self.flags.max_depth) {
            (true, None | Some(0)) => Ok(0),
            (true, Some(depth)) => Err(format!(
                "--summarize shows no levels, --max-depth={depth} asks for some"
            )),
            (false, depth) => Ok(depth.unwrap_or(u32::MAX)),
        }
    }

    fn time(
        &self,
        get: &dyn Fn(&str) -> Option<OsString>,
    ) -> Result<Option<(TimeKind, TimeLook)>, String> {
        let Some(word) = self.flags.time else {
            return Ok(None);
        };
        let kind = match word {
            TimeWord::Mtime => TimeKind::Modified,
            TimeWord::Atime => TimeKind::Accessed,
            TimeWord::Ctime => TimeKind::Changed,
        };
        let look = TimeLook::of_du(self.flags.time_style.as_deref(), get)?;
        Ok(Some((kind, look)))
    }

    fn format(
        &self,
        measure: Measure,
        get: &dyn Fn(&str) -> Option<OsString>,
    ) -> Result<SizeFormat, String> {
        let mut chosen = None;
        for option in &self.order {
            chosen = match option.as_str() {
                "human_readable" => Some(SizeFormat::BINARY),
                "si" => Some(SizeFormat::DECIMAL),
                "bytes" => Some(SizeFormat::Blocks(1)),
                "kilo" => Some(SizeFormat::Blocks(1 << 10)),
                "mega" => Some(SizeFormat::Blocks(1 << 20)),
                "block_size" => {
                    let spec = self.flags.block_size.as_deref().unwrap_or_default();
                    Some(SizeFormat::parse(spec).ok_or_else(|| {
                        format!("{spec:?} is no block size: use one such as K, MB or 512")
                    })?)
                }
                _ => chosen,
            };
        }
        let format =
            chosen.unwrap_or_else(|| SizeFormat::from_environment(&["DU_BLOCK_SIZE"], get));
        // Inodes are counted, not measured: of a unit only its way of writing stays.
        Ok(match (measure, format) {
            (Measure::Inodes, SizeFormat::Blocks(_)) => SizeFormat::Blocks(1),
            (Measure::Inodes, SizeFormat::Unit(_, unit)) => SizeFormat::Unit(1, unit),
            (_, format) => format,
        })
    }
}
