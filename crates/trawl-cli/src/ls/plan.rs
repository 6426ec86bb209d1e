//! The options of `ls`, and the plan that they, the environment and the
//! device make together.

use std::ffi::OsString;

use crate::arguments::Manner;
use crate::block_size::SizeFormat;
use crate::ls::item::TimeKind;
use crate::ls::sort::{Collation, Direction, Order, SortKey};
use crate::output::Device;
use crate::rows::Form;

const EXAMPLES: &str = "\
Names sort by bytes in the C locale; in others by letters without regard to
case, which approximates what ls does there. Attributes are those of the
snapshot: trawl ls --status says of when it is.";

/// Options of `trawl ls`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct LsArgs {
    /// What to list [default: the working directory]
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<OsString>,
    /// Long format: mode, links, owner, group, size, time
    #[arg(short = 'l')]
    long: bool,
    /// One name a line
    #[arg(short = '1')]
    one: bool,
    /// Names in columns, as on a terminal
    #[arg(short = 'C', overrides_with_all = ["long", "one"])]
    columns: bool,
    /// Names that begin with a dot too
    #[arg(short, long)]
    all: bool,
    /// The same without . and ..
    #[arg(short = 'A', long)]
    almost_all: bool,
    /// Directories themselves, not what they hold
    #[arg(short, long)]
    directory: bool,
    /// Subdirectories too, and theirs
    #[arg(short = 'R', long)]
    recursive: bool,
    /// Newest first
    #[arg(short = 't', overrides_with_all = ["by_size", "by_extension", "unsorted", "sort"])]
    by_time: bool,
    /// Largest first
    #[arg(short = 'S', overrides_with_all = ["by_time", "by_extension", "unsorted", "sort"])]
    by_size: bool,
    /// By what follows the last dot
    #[arg(short = 'X', overrides_with_all = ["by_time", "by_size", "unsorted", "sort"])]
    by_extension: bool,
    /// In the order of the index, which is by bytes of the name
    #[arg(short = 'U', overrides_with_all = ["by_time", "by_size", "by_extension", "sort"])]
    unsorted: bool,
    /// What to sort by
    #[arg(long, value_name = "WORD", value_enum,
          overrides_with_all = ["by_time", "by_size", "by_extension", "unsorted"])]
    sort: Option<SortWord>,
    /// The other way round
    #[arg(short, long)]
    reverse: bool,
    /// Which time to show and sort by
    #[arg(long, value_name = "WORD", value_enum, overrides_with_all = ["accessed", "changed"])]
    time: Option<TimeWord>,
    /// Time of last access; sorts by it without -l
    #[arg(short = 'u', overrides_with_all = ["time", "changed"])]
    accessed: bool,
    /// Time of last change of the inode; sorts by it without -l
    #[arg(short = 'c', overrides_with_all = ["time", "accessed"])]
    changed: bool,
    /// How to show times: full-iso, long-iso, iso, locale or +FORMAT
    #[arg(long, value_name = "STYLE", overrides_with = "full_time")]
    time_style: Option<String>,
    /// -l with times to the nanosecond
    #[arg(long, overrides_with = "time_style")]
    full_time: bool,
    /// Sizes with units, powers of 1024
    #[arg(short, long, overrides_with_all = ["si", "block_size"])]
    human_readable: bool,
    /// Sizes with units, powers of 1000
    #[arg(long, overrides_with_all = ["human_readable", "block_size"])]
    si: bool,
    /// Unit of sizes, such as M or 512
    #[arg(long, value_name = "SIZE", overrides_with_all = ["human_readable", "si"])]
    block_size: Option<String>,
    /// Blocks of 1024 bytes for -s and totals, whatever the environment says
    #[arg(short, long)]
    kibibytes: bool,
    /// Numbers in place of names of users and groups; long format
    #[arg(short, long)]
    numeric_uid_gid: bool,
    /// Long format without the owner
    #[arg(short = 'g')]
    no_owner: bool,
    /// Long format without the group
    #[arg(short = 'o')]
    no_group_long: bool,
    /// No group in long format
    #[arg(short = 'G', long)]
    no_group: bool,
    /// Inode numbers
    #[arg(short, long)]
    inode: bool,
    /// Allocated blocks
    #[arg(short, long = "size")]
    size_in_blocks: bool,
    /// A character behind each name for its type: one of */=>@|
    #[arg(short = 'F', long, overrides_with_all = ["slash", "file_type"])]
    classify: bool,
    /// The same without * for executables
    #[arg(long, overrides_with_all = ["slash", "classify"])]
    file_type: bool,
    /// A slash behind directories
    #[arg(short = 'p', overrides_with_all = ["classify", "file_type"])]
    slash: bool,
    /// Names as they are, whatever they hold
    #[arg(short = 'N', long, overrides_with_all = ["quote_name", "escape", "quoting_style"])]
    literal: bool,
    /// Names in double quotes
    #[arg(short = 'Q', long, overrides_with_all = ["literal", "escape", "quoting_style"])]
    quote_name: bool,
    /// Escapes for characters that do not print
    #[arg(short = 'b', long, overrides_with_all = ["literal", "quote_name", "quoting_style"])]
    escape: bool,
    /// How to quote names: literal, shell, shell-always, shell-escape,
    /// shell-escape-always, c, escape
    #[arg(long, value_name = "STYLE", overrides_with_all = ["literal", "quote_name", "escape"])]
    quoting_style: Option<String>,
    /// Directories before files
    #[arg(long)]
    group_directories_first: bool,
    /// Line width, 0 for no limit
    #[arg(short, long, value_name = "COLUMNS")]
    width: Option<usize>,
    /// What links lead to: not yet
    #[arg(short = 'L', long)]
    dereference: bool,
    /// One JSON object a line
    #[arg(long, overrides_with = "csv")]
    json: bool,
    /// Comma-separated values with a header
    #[arg(long, overrides_with = "json")]
    csv: bool,
    /// End lines with a zero byte; no quotes, one column
    #[arg(short = '0', long)]
    zero: bool,
    #[command(flatten)]
    pub(crate) manner: Manner,
    /// Print help
    #[arg(long, action = clap::ArgAction::Help)]
    help: Option<bool>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum SortWord {
    None,
    Name,
    Size,
    Time,
    Extension,
    Width,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum TimeWord {
    #[value(alias = "mtime")]
    Modification,
    #[value(alias = "atime", alias = "use")]
    Access,
    #[value(alias = "ctime")]
    Status,
    #[value(alias = "creation")]
    Birth,
}

/// How names are arranged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// Long format.
    Long,
    /// One a line.
    Lines,
    /// In columns.
    Columns,
}

/// Which names that begin with a dot are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hidden {
    /// None.
    Skip,
    /// Those of the directory.
    Almost,
    /// `.` and `..` too.
    All,
}

/// The character behind a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Indicator {
    /// None.
    None,
    /// `/` for directories.
    Slash,
    /// For every type but executables.
    FileType,
    /// For every type.
    Classify,
}

/// How times look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TimeLook {
    /// `Nov  5 12:34`
    Locale,
    /// To the nanosecond.
    FullIso,
    /// To the minute.
    LongIso,
    /// Without the year, if recent.
    Iso,
    /// strftime formats for old and recent times.
    Format(String, String),
}

/// What to print of owner and group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Owners {
    pub(crate) user: bool,
    pub(crate) group: bool,
    pub(crate) numeric: bool,
}

/// Everything that decides how listings look.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) layout: Layout,
    pub(crate) hidden: Hidden,
    pub(crate) directory: bool,
    pub(crate) recursive: bool,
    pub(crate) order: Order,
    pub(crate) directories_first: bool,
    pub(crate) time: TimeKind,
    pub(crate) look: TimeLook,
    /// Sizes of files.
    pub(crate) file_size: SizeFormat,
    /// Allocated space.
    pub(crate) block_size: SizeFormat,
    pub(crate) owners: Owners,
    pub(crate) inode: bool,
    pub(crate) blocks: bool,
    pub(crate) indicator: Indicator,
    pub(crate) quoting: String,
    pub(crate) width: usize,
    pub(crate) colour: bool,
    pub(crate) ending: u8,
    pub(crate) form: Form,
    /// True if control characters become `?`.
    pub(crate) hide_control: bool,
}

/// What the plan needs to know of the surroundings.
pub(crate) struct Surroundings<'a> {
    pub(crate) device: Device,
    pub(crate) colour: bool,
    /// Width of the terminal, if it is known.
    pub(crate) terminal_width: Option<usize>,
    pub(crate) get: &'a dyn Fn(&str) -> Option<OsString>,
}

impl LsArgs {
    /// The plan for these options.
    ///
    /// # Errors
    /// A sentence about an option that makes no sense.
    pub(crate) fn plan(&self, around: &Surroundings<'_>) -> Result<Plan, String> {
        if self.dereference {
            return Err("-L is not there yet: links are shown as links; name their targets".into());
        }
        let on_terminal = around.device == Device::Terminal && !self.zero;
        let layout = self.layout(on_terminal);
        let (file_size, block_size) = self.sizes(around.get)?;
        let numeric = self.numeric_uid_gid;
        Ok(Plan {
            layout,
            hidden: match (self.all, self.almost_all) {
                (true, _) => Hidden::All,
                (_, true) => Hidden::Almost,
                _ => Hidden::Skip,
            },
            directory: self.directory,
            recursive: self.recursive && !self.directory,
            order: self.order(layout, around),
            directories_first: self.group_directories_first,
            time: self.time_kind(),
            look: self.time_look(around.get)?,
            file_size,
            block_size,
            owners: Owners {
                user: !self.no_owner,
                group: !(self.no_group || self.no_group_long),
                numeric,
            },
            inode: self.inode,
            blocks: self.size_in_blocks,
            indicator: self.indicator(),
            quoting: self.quoting(on_terminal, around.get)?,
            width: self.line_width(around),
            colour: around.colour && !self.zero,
            ending: if self.zero { 0 } else { b'\n' },
            form: Form::new(self.json, self.csv),
            hide_control: on_terminal,
        })
    }

    /// True if links on the command line that lead to directories are
    /// followed, as ls does unless it shows the links themselves.
    pub(crate) fn follows_arguments(&self, plan: &Plan) -> bool {
        let shows_links = self.directory || plan.layout == Layout::Long;
        !shows_links && plan.indicator != Indicator::Classify
    }

    fn layout(&self, on_terminal: bool) -> Layout {
        let long = self.long
            || self.full_time
            || self.numeric_uid_gid
            || self.no_owner
            || self.no_group_long;
        match (long, self.columns, self.one || self.zero) {
            (true, ..) => Layout::Long,
            (_, true, _) => Layout::Columns,
            (.., true) => Layout::Lines,
            _ if on_terminal => Layout::Columns,
            _ => Layout::Lines,
        }
    }

    fn order(&self, layout: Layout, around: &Surroundings<'_>) -> Order {
        let with_time = self.accessed || self.changed || self.time.is_some();
        let key = if self.by_time || self.sort == Some(SortWord::Time) {
            SortKey::Time
        } else if self.by_size || self.sort == Some(SortWord::Size) {
            SortKey::Size
        } else if self.by_extension || self.sort == Some(SortWord::Extension) {
            SortKey::Extension
        } else if self.unsorted || self.sort == Some(SortWord::None) {
            SortKey::None
        } else if self.sort == Some(SortWord::Width) {
            SortKey::Width
        } else if self.sort.is_none() && with_time && layout != Layout::Long {
            SortKey::Time
        } else {
            SortKey::Name
        };
        Order {
            key,
            collation: Collation::from_environment(around.get),
            time: self.time_kind(),
            direction: if self.reverse {
                Direction::Reverse
            } else {
                Direction::Forward
            },
        }
    }

    fn time_kind(&self) -> TimeKind {
        match self.time {
            Some(TimeWord::Access) => TimeKind::Accessed,
            Some(TimeWord::Status) => TimeKind::Changed,
            Some(TimeWord::Birth) => TimeKind::Born,
            Some(TimeWord::Modification) => TimeKind::Modified,
            None if self.accessed => TimeKind::Accessed,
            None if self.changed => TimeKind::Changed,
            None => TimeKind::Modified,
        }
    }

    fn time_look(&self, get: &dyn Fn(&str) -> Option<OsString>) -> Result<TimeLook, String> {
        if self.full_time {
            return Ok(TimeLook::FullIso);
        }
        let from_variable = || get("TIME_STYLE").and_then(|style| style.into_string().ok());
        let Some(style) = self.time_style.clone().or_else(from_variable) else {
            return Ok(TimeLook::Locale);
        };
        // `posix-` means: only outside the POSIX locale, whose look is ours anyway.
        if style.starts_with("posix-") {
            return Ok(TimeLook::Locale);
        }
        if let Some(format) = style.strip_prefix('+') {
            let (old, recent) = format.split_once('\n').unwrap_or((format, format));
            return Ok(TimeLook::Format(old.into(), recent.into()));
        }
        match style.as_str() {
            "full-iso" => Ok(TimeLook::FullIso),
            "long-iso" => Ok(TimeLook::LongIso),
            "iso" => Ok(TimeLook::Iso),
            "locale" => Ok(TimeLook::Locale),
            _ => Err(format!(
                "{style:?} is no time style: use full-iso, long-iso, iso, locale or +FORMAT"
            )),
        }
    }

    /// How sizes of files and allocated space are shown.
    fn sizes(
        &self,
        get: &dyn Fn(&str) -> Option<OsString>,
    ) -> Result<(SizeFormat, SizeFormat), String> {
        if self.human_readable {
            return Ok((SizeFormat::BINARY, SizeFormat::BINARY));
        }
        if self.si {
            return Ok((SizeFormat::DECIMAL, SizeFormat::DECIMAL));
        }
        if let Some(spec) = &self.block_size {
            let format = SizeFormat::parse(spec).ok_or_else(|| {
                format!("{spec:?} is no block size: use one such as K, MB or 512")
            })?;
            return Ok((format, format));
        }
        let blocks = SizeFormat::from_environment(&["LS_BLOCK_SIZE"], get);
        let named = get("LS_BLOCK_SIZE").is_some() || get("BLOCK_SIZE").is_some();
        let files = if named { blocks } else { SizeFormat::Blocks(1) };
        let blocks = if self.kibibytes {
            SizeFormat::Blocks(1024)
        } else {
            blocks
        };
        Ok((files, blocks))
    }

    fn indicator(&self) -> Indicator {
        match (self.classify, self.file_type, self.slash) {
            (true, ..) => Indicator::Classify,
            (_, true, _) => Indicator::FileType,
            (.., true) => Indicator::Slash,
            _ => Indicator::None,
        }
    }

    fn quoting(
        &self,
        on_terminal: bool,
        get: &dyn Fn(&str) -> Option<OsString>,
    ) -> Result<String, String> {
        let named = match (self.literal, self.quote_name, self.escape) {
            (true, ..) => Some("literal".to_owned()),
            (_, true, _) => Some("c".to_owned()),
            (.., true) => Some("escape".to_owned()),
            _ => self.quoting_style.clone(),
        };
        if self.zero && named.is_none() {
            return Ok("literal".into());
        }
        let variable = || get("QUOTING_STYLE").and_then(|style| style.into_string().ok());
        let default = || {
            if on_terminal {
                "shell-escape"
            } else {
                "literal"
            }
            .to_owned()
        };
        Ok(named.or_else(variable).unwrap_or_else(default))
    }

    fn line_width(&self, around: &Surroundings<'_>) -> usize {
        let variable = || {
            let columns = (around.get)("COLUMNS")?;
            columns.to_str()?.parse().ok().filter(|width| *width > 0)
        };
        self.width
            .or_else(variable)
            .or(around.terminal_width)
            .unwrap_or(80)
    }
}
