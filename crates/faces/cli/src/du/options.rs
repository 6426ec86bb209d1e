//! Options of `du`, and the plan that follows from them and the environment.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{ArgMatches, Args, FromArgMatches};

use trawl_answers::TimeKind;
use trawl_answers::du::{DuOptions, Links, Shown};

use crate::arguments::{Manner, occurrences};
use crate::block_size::SizeFormat;
use crate::du::excluded::excluded;
use crate::failure::Failure;
use crate::forms::{FormArgs, Rows};
use crate::rows::Form;
use crate::time_look::TimeLook;

const EXAMPLES: &str = "\
A file with several names is counted once, even across arguments. Directories
follow their content, in path order.";

// Options of `trawl du`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Flags {
    /// Sum up these paths [default: the working directory]
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<OsString>,
    /// Sum up the NUL-terminated names in FILE (-: standard input)
    // Abbreviations of the GNU tool, regardless of our own options; so below.
    #[arg(long, aliases = ["f"], value_name = "FILE", conflicts_with = "paths")]
    pub(crate) files0_from: Option<OsString>,
    /// Show only the sum of each argument
    #[arg(short, long, conflicts_with_all = ["all"])]
    summarize: bool,
    /// Show files, too, not only directories
    #[arg(short, long)]
    all: bool,
    /// Show nothing deeper than N levels below an argument
    #[arg(short = 'd', long, aliases = ["m", "ma", "max", "max-"], value_name = "N")]
    max_depth: Option<u32>,
    /// Show nothing smaller than SIZE; with a minus, nothing larger
    #[arg(short = 't', long, value_name = "SIZE", allow_hyphen_values = true)]
    threshold: Option<String>,
    /// Show a grand total
    #[arg(short = 'c', long)]
    total: bool,
    /// Count directories without their subdirectories
    #[arg(short = 'S', long)]
    separate_dirs: bool,
    /// Count every name of a file that has several
    #[arg(short = 'l', long)]
    count_links: bool,
    /// Leave out other file systems
    #[arg(short = 'x', long)]
    one_file_system: bool,
    /// Leave out paths that match PATTERN, a shell pattern
    #[arg(long, value_name = "PATTERN")]
    exclude: Vec<OsString>,
    /// Leave out paths that match a line of FILE (-: standard input)
    #[arg(short = 'X', long, value_name = "FILE")]
    exclude_from: Vec<PathBuf>,
    /// Follow symbolic links that are arguments
    #[arg(short = 'D', visible_short_alias = 'H', long,
          overrides_with_all = ["dereference", "no_dereference"])]
    dereference_args: bool,
    /// Follow all symbolic links: count their targets
    #[arg(short = 'L', long, overrides_with_all = ["dereference_args", "no_dereference"])]
    dereference: bool,
    /// Follow no symbolic links (the default)
    #[arg(short = 'P', long, aliases = ["no", "no-"], overrides_with_all = ["dereference_args", "dereference"])]
    no_dereference: bool,
    /// Show the latest time of any entry in each directory
    #[arg(long, value_name = "WORD", value_enum, num_args = 0..=1, require_equals = true,
          default_missing_value = "mtime")]
    time: Option<TimeWord>,
    /// Show times in this style: full-iso, long-iso, iso or +FORMAT
    #[arg(long, value_name = "STYLE")]
    time_style: Option<String>,
    /// Show apparent sizes instead of allocated space
    #[arg(short = 'A', long)]
    apparent_size: bool,
    /// Show numbers of inodes instead of space
    #[arg(long)]
    inodes: bool,
    /// Show apparent sizes in bytes: --apparent-size --block-size=1
    #[arg(short, long)]
    bytes: bool,
    /// Show sizes in blocks of 1024 bytes
    #[arg(short)]
    kilo: bool,
    /// Show sizes in blocks of 1024 × 1024 bytes
    #[arg(short)]
    mega: bool,
    /// Show sizes with units, in powers of 1024
    #[arg(short, long)]
    human_readable: bool,
    /// Show sizes with units, in powers of 1000
    #[arg(long)]
    si: bool,
    /// Show sizes in this unit, such as M or 512
    #[arg(short = 'B', long, value_name = "SIZE")]
    block_size: Option<String>,
    /// End lines with a NUL byte
    #[arg(short = '0', long)]
    null: bool,
    #[command(flatten)]
    form: FormArgs<Rows>,
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

impl TimeWord {
    fn kind(self) -> TimeKind {
        match self {
            TimeWord::Mtime => TimeKind::Modified,
            TimeWord::Atime => TimeKind::Accessed,
            TimeWord::Ctime => TimeKind::Changed,
        }
    }
}

/// The options and the order in which they were given.
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

/// Quantity that is added up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Measure {
    /// Allocated space.
    Disk,
    /// Apparent sizes.
    Apparent,
    /// Inodes.
    Inodes,
}

/// The smallest amount that is shown or, for a negative threshold, the largest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Threshold {
    AtLeast(u64),
    AtMost(u64),
}

impl Threshold {
    /// Returns true if `amount` is shown.
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
                "{text:?} is not a threshold: use a size such as 10M or -4K"
            )),
            (Some(bytes), true) => Ok(Threshold::AtMost(bytes)),
            (Some(bytes), false) => Ok(Threshold::AtLeast(bytes)),
        }
    }
}

/// All decisions about the answer and its output.
#[derive(Debug)]
pub(crate) struct Plan {
    /// The entries to sum up, and how.
    pub(crate) options: DuOptions,
    pub(crate) measure: Measure,
    pub(crate) threshold: Threshold,
    pub(crate) total: bool,
    /// Format of the time, if it is shown.
    pub(crate) time: Option<TimeLook>,
    pub(crate) format: SizeFormat,
    pub(crate) ending: u8,
    pub(crate) form: Form,
}

impl DuArgs {
    /// Returns the plan for these options and this number of arguments.
    ///
    /// # Errors
    /// Fails if options make no sense, or if a file with patterns cannot be read.
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
        let max_depth = self.max_depth().map_err(Failure::Usage)?;
        let threshold = threshold.map_err(Failure::Usage)?;
        let options = DuOptions {
            shown: match flags.all {
                true => Shown::All,
                false => Shown::Directories,
            },
            max_depth,
            is_single: arguments <= 1 && flags.files0_from.is_none(),
            separate: flags.separate_dirs,
            count_links: flags.count_links,
            one_file_system: flags.one_file_system,
            links: match (flags.dereference, flags.dereference_args) {
                (true, _) => Links::Targets,
                (_, true) => Links::Arguments,
                _ => Links::Themselves,
            },
            excluded: excluded(&flags.exclude, &flags.exclude_from)?,
            time: flags.time.map(TimeWord::kind),
        };
        Ok(Plan {
            options,
            measure,
            threshold: threshold.unwrap_or(Threshold::AtLeast(0)),
            total: flags.total,
            time: self.time(get).map_err(Failure::Usage)?,
            format: self.format(measure, get).map_err(Failure::Usage)?,
            ending: if flags.null { 0 } else { b'\n' },
            form: flags.form.form(),
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

    fn time(&self, get: &dyn Fn(&str) -> Option<OsString>) -> Result<Option<TimeLook>, String> {
        match self.flags.time {
            None => Ok(None),
            Some(_) => TimeLook::of_du(self.flags.time_style.as_deref(), get).map(Some),
        }
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
                        format!("{spec:?} is not a block size: use one such as K, MB or 512")
                    })?)
                }
                _ => chosen,
            };
        }
        let format =
            chosen.unwrap_or_else(|| SizeFormat::from_environment(&["DU_BLOCK_SIZE"], get));
        // Inodes are counted, not measured: only the spelling of a unit applies.
        Ok(match (measure, format) {
            (Measure::Inodes, SizeFormat::Blocks(_)) => SizeFormat::Blocks(1),
            (Measure::Inodes, SizeFormat::Unit(_, unit)) => SizeFormat::Unit(1, unit),
            (_, format) => format,
        })
    }
}
