//! The plan that follows from the options of `ls`, the environment and the output device.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

use trawl_report::listing::{Indicator, Layout, OwnerFields, Style};
use trawl_text::locale::is_installed;
use trawl_text::quote::Quoting;

use crate::block_size::SizeFormat;
use crate::ls::options::{Flags, FormatWord, IndicatorWord, LsArgs, SortWord, TimeWord};
use crate::output::{ColourWhen, Device};
use crate::rows::Form;
use crate::time_look::TimeLook;
use trawl_answers::TimeKind;
use trawl_answers::listing::sort::{Collation, Direction, Order, SortKey};
use trawl_answers::listing::{Hidden, Ignored};

/// Links that are shown as their targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Links {
    /// No links.
    Themselves,
    /// Arguments that lead to directories.
    ArgumentsToDirectories,
    /// Arguments.
    Arguments,
    /// All links.
    Targets,
}

/// All decisions about listings.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) style: Style,
    pub(crate) ignored: Ignored,
    pub(crate) directory: bool,
    pub(crate) recursive: bool,
    pub(crate) order: Order,
    pub(crate) directories_first: bool,
    pub(crate) links: Links,
    pub(crate) colour: bool,
    pub(crate) hyperlinks: bool,
    pub(crate) form: Form,
}

/// Environment of the command, as far as the plan needs it.
pub(crate) struct Surroundings<'a> {
    pub(crate) device: Device,
    pub(crate) no_color: Option<OsString>,
    /// Colour option before the command.
    pub(crate) colour: Option<ColourWhen>,
    /// Width of the terminal, if it is known.
    pub(crate) terminal_width: Option<usize>,
    pub(crate) get: &'a dyn Fn(&str) -> Option<OsString>,
}

/// Settings of the options, collected one after the other.
#[derive(Clone, Debug)]
struct Said {
    layout: Option<Layout>,
    hidden: Hidden,
    key: Option<SortKey>,
    time: Option<TimeKind>,
    style: Option<String>,
    sizes: Option<(SizeFormat, SizeFormat)>,
    blocks: bool,
    indicator: Indicator,
    quoting: Option<Quoting>,
    hide_control: Option<bool>,
    links: Option<Links>,
    colour: ColourWhen,
    hyperlinks: ColourWhen,
}

impl Said {
    fn nothing(around: &Surroundings<'_>) -> Said {
        Said {
            layout: None,
            hidden: Hidden::Skip,
            key: None,
            time: None,
            style: None,
            sizes: None,
            blocks: false,
            indicator: Indicator::None,
            quoting: None,
            hide_control: None,
            links: None,
            colour: around.colour.unwrap_or(ColourWhen::Auto),
            hyperlinks: ColourWhen::Never,
        }
    }

    /// Applies one option, given by the name of its field.
    fn hear(&mut self, option: &str, flags: &Flags) -> Result<(), String> {
        self.hear_of_layout(option, flags);
        self.hear_of_order(option, flags);
        self.hear_of_names(option, flags)?;
        match option {
            "all" => self.hidden = Hidden::All,
            "almost_all" => self.hidden = Hidden::Almost,
            "as_stored" => {
                self.hidden = Hidden::All;
                self.key = Some(SortKey::None);
                self.layout = self.layout.filter(|layout| *layout != Layout::Long);
                self.colour = ColourWhen::Never;
                self.hyperlinks = ColourWhen::Never;
                self.blocks = false;
            }
            "size_in_blocks" => self.blocks = true,
            "dereference" => self.links = Some(Links::Targets),
            "dereference_command_line" => self.links = Some(Links::Arguments),
            "dereference_command_line_symlink_to_dir" => {
                self.links = Some(Links::ArgumentsToDirectories);
            }
            "human_readable" => self.sizes = Some((SizeFormat::BINARY, SizeFormat::BINARY)),
            "si" => self.sizes = Some((SizeFormat::DECIMAL, SizeFormat::DECIMAL)),
            "block_size" => {
                let spec = flags.block_size.as_deref().unwrap_or_default();
                let format = SizeFormat::parse(spec).ok_or_else(|| {
                    format!("{spec:?} is not a block size: use one such as K, MB or 512")
                })?;
                self.sizes = Some((format, format));
            }
            "color" => self.colour = flags.manner.color.unwrap_or_default(),
            "hyperlink" => self.hyperlinks = flags.hyperlink.unwrap_or(ColourWhen::Never),
            _ => {}
        }
        Ok(())
    }

    fn hear_of_layout(&mut self, option: &str, flags: &Flags) {
        let layout = match option {
            "long" | "no_owner" | "no_group_long" | "numeric_uid_gid" => Layout::Long,
            "full_time" => {
                self.style = Some("full-iso".into());
                Layout::Long
            }
            "columns" => Layout::Columns,
            "across" => Layout::Across,
            "commas" => Layout::Commas,
            "one" | "zero" if self.layout == Some(Layout::Long) => Layout::Long,
            "one" | "zero" => Layout::Lines,
            "format" => match flags.format {
                Some(FormatWord::Long) => Layout::Long,
                Some(FormatWord::SingleColumn) => Layout::Lines,
                Some(FormatWord::Vertical) => Layout::Columns,
                Some(FormatWord::Across) => Layout::Across,
                Some(FormatWord::Commas) => Layout::Commas,
                None => return,
            },
            _ => return,
        };
        self.layout = Some(layout);
    }

    fn hear_of_order(&mut self, option: &str, flags: &Flags) {
        match option {
            "by_time" => self.key = Some(SortKey::Time),
            "by_size" => self.key = Some(SortKey::Size),
            "by_extension" => self.key = Some(SortKey::Extension),
            "by_version" => self.key = Some(SortKey::Version),
            "unsorted" => self.key = Some(SortKey::None),
            "sort" => {
                self.key = flags.sort.map(|word| match word {
                    SortWord::None => SortKey::None,
                    SortWord::Name => SortKey::Name,
                    SortWord::Size => SortKey::Size,
                    SortWord::Time => SortKey::Time,
                    SortWord::Version => SortKey::Version,
                    SortWord::Extension => SortKey::Extension,
                    SortWord::Width => SortKey::Width,
                });
            }
            "accessed" => self.time = Some(TimeKind::Accessed),
            "changed" => self.time = Some(TimeKind::Changed),
            "time" => {
                self.time = flags.time.map(|word| match word {
                    TimeWord::Modification => TimeKind::Modified,
                    TimeWord::Access => TimeKind::Accessed,
                    TimeWord::Status => TimeKind::Changed,
                    TimeWord::Birth => TimeKind::Born,
                });
            }
            "time_style" => self.style.clone_from(&flags.time_style),
            _ => {}
        }
    }

    fn hear_of_names(&mut self, option: &str, flags: &Flags) -> Result<(), String> {
        match option {
            "zero" => {
                self.hide_control = Some(false);
                self.colour = ColourWhen::Never;
                self.quoting = Some(Quoting::Literal);
            }
            "literal" => self.quoting = Some(Quoting::Literal),
            "quote_name" => self.quoting = Some(Quoting::C),
            "escape" => self.quoting = Some(Quoting::Escape),
            "quoting_style" => {
                let name = flags.quoting_style.as_deref().unwrap_or_default();
                let style = Quoting::parse(name).ok_or_else(|| {
                    format!("{name:?} is not a quoting style: trawl ls --help lists them")
                })?;
                self.quoting = Some(style);
            }
            "hide_control_chars" => self.hide_control = Some(true),
            "show_control_chars" => self.hide_control = Some(false),
            "slash" => self.indicator = Indicator::Slash,
            "file_type" => self.indicator = Indicator::FileType,
            "classify" if flags.classify.unwrap_or_default().for_device() => {
                self.indicator = Indicator::Classify;
            }
            "indicator_style" => {
                self.indicator = match flags.indicator_style {
                    Some(IndicatorWord::Slash) => Indicator::Slash,
                    Some(IndicatorWord::FileType) => Indicator::FileType,
                    Some(IndicatorWord::Classify) => Indicator::Classify,
                    Some(IndicatorWord::None) | None => Indicator::None,
                };
            }
            _ => {}
        }
        Ok(())
    }
}

impl LsArgs {
    /// Returns the plan for these options.
    ///
    /// # Errors
    /// Describes an invalid option.
    pub(crate) fn plan(&self, around: &Surroundings<'_>) -> Result<Plan, String> {
        let flags = &self.flags;
        refuse(flags)?;
        let mut said = Said::nothing(around);
        for option in &self.order {
            said.hear(option, flags)?;
        }
        let on_terminal = around.device == Device::Terminal;
        let default = match on_terminal {
            true => Layout::Columns,
            false => Layout::Lines,
        };
        let layout = said.layout.unwrap_or(default);
        let (file_size, block_size) = sizes(said.sizes, flags, around.get);
        let time = said.time.unwrap_or(TimeKind::Modified);
        let shows_links = flags.directory || layout == Layout::Long;
        let follows = !shows_links && said.indicator != Indicator::Classify;
        let style = Style {
            layout,
            time,
            look: match layout {
                Layout::Long => TimeLook::of_ls(said.style.as_deref(), around.get, &is_installed)?,
                _ => TimeLook::locale(),
            },
            file_size,
            block_size,
            owners: OwnerFields {
                user: !flags.no_owner,
                group: !(flags.no_group || flags.no_group_long),
                author: flags.author,
                numeric: flags.numeric_uid_gid,
            },
            inode: flags.inode,
            blocks: said.blocks,
            indicator: said.indicator,
            quoting: quoting(said.quoting, on_terminal, around.get),
            width: line_width(flags, around)?,
            tab_width: tab_width(flags, around.get)?,
            ending: if flags.zero { 0 } else { b'\n' },
            hide_control: said.hide_control.unwrap_or(on_terminal),
        };
        Ok(Plan {
            style,
            ignored: ignored(flags, said.hidden),
            directory: flags.directory,
            recursive: flags.recursive && !flags.directory,
            order: order(&said, flags, layout, around.get),
            directories_first: flags.group_directories_first && said.key != Some(SortKey::None),
            links: said.links.unwrap_or(match follows {
                true => Links::ArgumentsToDirectories,
                false => Links::Themselves,
            }),
            colour: said
                .colour
                .decide(around.device, around.no_color.as_deref()),
            hyperlinks: said.hyperlinks.for_device(),
            form: flags.form.form(),
        })
    }
}

/// Refuses options that only ls itself supports.
fn refuse(flags: &Flags) -> Result<(), String> {
    if flags.context {
        return Err(
            "-Z is not supported: use trawl getfattr -n security.selinux for contexts".into(),
        );
    }
    match flags.dired {
        true => Err("-D is not supported: use ls itself for Emacs' mode".into()),
        false => Ok(()),
    }
}

fn ignored(flags: &Flags, hidden: Hidden) -> Ignored {
    let backups = flags.ignore_backups.then_some(["*~", ".*~"]);
    let backups = backups.into_iter().flatten().map(str::as_bytes);
    let hide = (hidden == Hidden::Skip).then_some(&flags.hide);
    let hide = hide.into_iter().flatten().map(|text| text.as_bytes());
    let ignore = flags.ignore.iter().map(|text| text.as_bytes());
    Ignored::new(hidden, ignore.chain(backups).chain(hide))
}

fn order(
    said: &Said,
    flags: &Flags,
    layout: Layout,
    get: &dyn Fn(&str) -> Option<OsString>,
) -> Order {
    let by_time = said.time.is_some() && layout != Layout::Long;
    Order {
        key: said.key.unwrap_or(match by_time {
            true => SortKey::Time,
            false => SortKey::Name,
        }),
        collation: Collation::from_environment(get, is_installed),
        time: said.time.unwrap_or(TimeKind::Modified),
        direction: match flags.reverse {
            true => Direction::Reverse,
            false => Direction::Forward,
        },
    }
}

/// Returns the formats of file sizes and of allocated space.
fn sizes(
    said: Option<(SizeFormat, SizeFormat)>,
    flags: &Flags,
    get: &dyn Fn(&str) -> Option<OsString>,
) -> (SizeFormat, SizeFormat) {
    if let Some(sizes) = said {
        return sizes;
    }
    let blocks = SizeFormat::from_environment(&["LS_BLOCK_SIZE"], get);
    let named = get("LS_BLOCK_SIZE").is_some() || get("BLOCK_SIZE").is_some();
    let files = if named { blocks } else { SizeFormat::Blocks(1) };
    let blocks = match flags.kibibytes {
        true => SizeFormat::Blocks(1024),
        false => blocks,
    };
    (files, blocks)
}

fn quoting(
    said: Option<Quoting>,
    on_terminal: bool,
    get: &dyn Fn(&str) -> Option<OsString>,
) -> Quoting {
    let variable = || {
        let style = get("QUOTING_STYLE").and_then(|style| style.into_string().ok())?;
        let known = Quoting::parse(&style);
        if known.is_none() {
            crate::output::say(format_args!(
                "ignoring invalid value of environment variable QUOTING_STYLE: {style:?}"
            ));
        }
        known
    };
    said.or_else(variable).unwrap_or(match on_terminal {
        true => Quoting::ShellEscape,
        false => Quoting::Literal,
    })
}

fn line_width(flags: &Flags, around: &Surroundings<'_>) -> Result<usize, String> {
    if let Some(text) = &flags.width {
        return columns(text)
            .ok_or_else(|| format!("{text:?} is not a line width: use a number of columns"));
    }
    let variable = || {
        let text = (around.get)("COLUMNS").filter(|text| !text.is_empty())?;
        columns(text.to_str()?)
    };
    Ok(around.terminal_width.or_else(variable).unwrap_or(80))
}

fn tab_width(flags: &Flags, get: &dyn Fn(&str) -> Option<OsString>) -> Result<usize, String> {
    if let Some(text) = &flags.tabsize {
        return columns(text)
            .ok_or_else(|| format!("{text:?} is not a tab size: use a number of columns"));
    }
    let variable = || columns(get("TABSIZE")?.to_str()?);
    Ok(variable().unwrap_or(8))
}

/// Parses a number as strtoul(3) does; a number that is too large means no limit.
fn columns(text: &str) -> Option<usize> {
    let text = text.trim_start();
    let text = text.strip_prefix('+').unwrap_or(text);
    let (digits, radix) = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => (digits, 16),
        None if text.len() > 1 && text.starts_with('0') => (text, 8),
        None => (text, 10),
    };
    let is_number = !digits.is_empty() && digits.chars().all(|c| c.is_digit(radix));
    is_number.then(|| usize::from_str_radix(digits, radix).unwrap_or(0))
}
