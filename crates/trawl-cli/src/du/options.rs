//! The options of `du` and the plan that they and the environment make.

use std::ffi::OsString;

use crate::arguments::Manner;
use crate::block_size::SizeFormat;
use crate::rows::Form;

const EXAMPLES: &str = "\
A file with several names is counted once, also over several arguments.
Directories come after what they hold, in the order of their paths.";

/// Options of `trawl du`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DuArgs {
    /// What to sum up [default: the working directory]
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<OsString>,
    /// Only the sum of each argument
    #[arg(short, long, conflicts_with_all = ["all"])]
    summarize: bool,
    /// Files too, not only directories
    #[arg(short, long)]
    all: bool,
    /// Show nothing deeper than N below an argument
    #[arg(short = 'd', long, value_name = "N")]
    max_depth: Option<u32>,
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
    /// Follow links that are arguments
    #[arg(short = 'D', visible_short_alias = 'H', long)]
    dereference_args: bool,
    /// What links lead to: not yet
    #[arg(short = 'L', long)]
    dereference: bool,
    /// Sizes of the content in place of allocated space
    #[arg(long)]
    apparent_size: bool,
    /// Numbers of inodes in place of space
    #[arg(long)]
    inodes: bool,
    /// Bytes of content: --apparent-size --block-size=1
    #[arg(short, long, overrides_with_all = ["kilo", "mega", "human_readable", "si", "block_size"])]
    bytes: bool,
    /// Blocks of 1024 bytes
    #[arg(short, overrides_with_all = ["bytes", "mega", "human_readable", "si", "block_size"])]
    kilo: bool,
    /// Blocks of 1024 × 1024 bytes
    #[arg(short, overrides_with_all = ["bytes", "kilo", "human_readable", "si", "block_size"])]
    mega: bool,
    /// Units in powers of 1024
    #[arg(short, long, overrides_with_all = ["bytes", "kilo", "mega", "si", "block_size"])]
    human_readable: bool,
    /// Units in powers of 1000
    #[arg(long, overrides_with_all = ["bytes", "kilo", "mega", "human_readable", "block_size"])]
    si: bool,
    /// Unit of sizes, such as M or 512
    #[arg(short = 'B', long, value_name = "SIZE",
          overrides_with_all = ["bytes", "kilo", "mega", "human_readable", "si"])]
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

/// Everything that decides what is printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) measure: Measure,
    pub(crate) shown: Shown,
    /// Deepest level below an argument.
    pub(crate) max_depth: u32,
    /// There is one argument, so that no file can be counted twice.
    pub(crate) single: bool,
    pub(crate) total: bool,
    pub(crate) separate: bool,
    pub(crate) count_links: bool,
    pub(crate) one_file_system: bool,
    pub(crate) follow_arguments: bool,
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
}

impl DuArgs {
    /// The plan for these options.
    ///
    /// # Errors
    /// A sentence about options that make no sense.
    pub(crate) fn plan(&self, get: impl Fn(&str) -> Option<OsString>) -> Result<Plan, String> {
        if self.dereference {
            return Err(
                "-L is not there yet: links are counted as links; name their targets".into(),
            );
        }
        let max_depth = match (self.summarize, self.max_depth) {
            (true, None | Some(0)) => 0,
            (true, Some(depth)) => {
                return Err(format!(
                    "--summarize shows no levels, --max-depth={depth} asks for some"
                ));
            }
            (false, depth) => depth.unwrap_or(u32::MAX),
        };
        let measure = match (self.inodes, self.apparent_size || self.bytes) {
            (true, _) => Measure::Inodes,
            (_, true) => Measure::Apparent,
            _ => Measure::Disk,
        };
        Ok(Plan {
            measure,
            shown: if self.all {
                Shown::All
            } else {
                Shown::Directories
            },
            max_depth,
            single: self.paths.len() <= 1,
            total: self.total,
            separate: self.separate_dirs,
            count_links: self.count_links,
            one_file_system: self.one_file_system,
            follow_arguments: self.dereference_args,
            format: self.format(measure, get)?,
            ending: if self.null { 0 } else { b'\n' },
            form: Form::new(self.json, self.csv),
        })
    }

    fn format(
        &self,
        measure: Measure,
        get: impl Fn(&str) -> Option<OsString>,
    ) -> Result<SizeFormat, String> {
        let chosen = if self.human_readable {
            Some(SizeFormat::BINARY)
        } else if self.si {
            Some(SizeFormat::DECIMAL)
        } else if self.bytes {
            Some(SizeFormat::Blocks(1))
        } else if self.kilo {
            Some(SizeFormat::Blocks(1 << 10))
        } else if self.mega {
            Some(SizeFormat::Blocks(1 << 20))
        } else if let Some(spec) = &self.block_size {
            let format = SizeFormat::parse(spec);
            Some(format.ok_or_else(|| {
                format!("{spec:?} is no block size: use one such as K, MB or 512")
            })?)
        } else {
            None
        };
        // Inodes are counted, not measured: only -h and --si change how.
        Ok(match (measure, chosen) {
            (Measure::Inodes, Some(format @ SizeFormat::Scaled(_))) => format,
            (Measure::Inodes, _) => SizeFormat::Blocks(1),
            (_, Some(format)) => format,
            (_, None) => SizeFormat::from_environment(&["DU_BLOCK_SIZE"], get),
        })
    }
}
