//! The table of commands. From it come the command line, what is run, the sections of man pages,
//! the reference of fields in `docs/json.md` and the command lines of the tests of output.
//!
//! A command is a file with its options and an `impl` of [`Spec`], and one row here.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Subcommand;
use trawl_report::Schema;

use crate::arguments::Manner;
use crate::exit::Exit;
use crate::failure::Failure;

/// What a command declares beside its options.
pub(crate) trait Spec: clap::Args {
    /// One line for the list of commands.
    const ABOUT: &'static str;
    /// What the command works on.
    const CLASS: Class = Class::Question;
    /// How the command takes `--index`.
    const INDEX: IndexOption = IndexOption::Usual;
    /// Whether the command defines `--help` itself, because `-h` means something else.
    const HAS_OWN_HELP: bool = false;
    /// Whether a find expression may follow `--`.
    const TAKES_EXPRESSION: bool = false;
    /// Examples of the man page, if the help text has none: command lines, and what they do.
    const EXAMPLES: &'static [(&'static str, &'static str)] = &[];
    /// Related man pages.
    const SEE_ALSO: &'static [&'static str];
    /// Rows that the command prints for programs.
    const REPORTS: &'static [&'static Schema] = &[];

    /// Runs the command.
    fn run(&self, setting: Setting<'_>) -> Result<Exit, Failure>;
}

/// What a command works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// It asks about files, so that it can be asked about the past, and asked again.
    Question,
    /// It writes an index, and has something to clean up.
    Writer,
    /// It serves other programs, whose closed pipes must not end it.
    Server,
    /// Anything else.
    Other,
}

/// How a command takes `--index`, which overrides `--index` before the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IndexOption {
    /// Also as `-i`.
    Usual,
    /// Not as `-i`, which has the meaning of the tool of that name.
    Long,
    /// Not at all.
    None,
}

/// What the words before and around the command say.
#[derive(Clone, Debug)]
pub(crate) struct Setting<'w> {
    /// The index, if one was named.
    pub(crate) index: Option<PathBuf>,
    /// Options of every question, as given before the command.
    pub(crate) manner: Manner,
    /// All words.
    pub(crate) words: &'w [OsString],
}

/// A row of the table.
#[derive(Debug)]
pub(crate) struct Entry {
    /// The command's name.
    pub(crate) name: &'static str,
    /// [`Spec::CLASS`].
    pub(crate) class: Class,
    /// [`Spec::INDEX`].
    pub(crate) index: IndexOption,
    /// [`Spec::TAKES_EXPRESSION`].
    pub(crate) takes_expression: bool,
    /// [`Spec::EXAMPLES`].
    pub(crate) examples: &'static [(&'static str, &'static str)],
    /// [`Spec::SEE_ALSO`].
    pub(crate) see_also: &'static [&'static str],
    /// [`Spec::REPORTS`].
    pub(crate) reports: &'static [&'static Schema],
}

impl Entry {
    const fn of<C: Spec>(name: &'static str) -> Entry {
        Entry {
            name,
            class: C::CLASS,
            index: C::INDEX,
            takes_expression: C::TAKES_EXPRESSION,
            examples: C::EXAMPLES,
            see_also: C::SEE_ALSO,
            reports: C::REPORTS,
        }
    }
}

macro_rules! commands {
    ($($name:literal $command:ident $arguments:ty;)*) => {
        /// The commands.
        ///
        /// clap defines options only for the command that is given: defining all of them would take
        /// most of a short command's run time. It reads them after the texts here, so a doc comment
        /// on the type of a command's options would replace the command's text.
        #[derive(Debug, Subcommand)]
        #[command(defer = true)]
        pub(crate) enum Command {$(
            #[command(
                name = $name,
                about = <$arguments as Spec>::ABOUT,
                disable_help_flag = <$arguments as Spec>::HAS_OWN_HELP
            )]
            $command(Box<$arguments>),
        )*}

        impl Command {
            /// Returns what the command works on.
            pub(crate) fn class(&self) -> Class {
                match self {
                    $(Command::$command(_) => <$arguments as Spec>::CLASS,)*
                }
            }

            /// Runs the command.
            pub(crate) fn run(&self, setting: Setting<'_>) -> Result<Exit, Failure> {
                match self {
                    $(Command::$command(arguments) => arguments.run(setting),)*
                }
            }
        }

        /// The table.
        pub(crate) static TABLE: &[Entry] = &[
            $(Entry::of::<$arguments>($name),)*
        ];
    };
}

commands! {
    "index" Index crate::index::IndexArgs;
    "sources" Sources crate::sources::SourcesArgs;
    "watch" Watch crate::watch::WatchArgs;
    "serve" Serve crate::serve::ServeArgs;
    "run" Run crate::run::RunArgs;
    "mount" Mount crate::run::MountArgs;
    "unmount" Unmount crate::run::UnmountArgs;
    "verify" Verify crate::index::upkeep::VerifyArgs;
    "gc" Gc crate::index::upkeep::GcArgs;
    "find" Find crate::find::FindArgs;
    "locate" Locate crate::locate::LocateArgs;
    "search" Search crate::search::SearchArgs;
    "ls" Ls crate::ls::LsArgs;
    "stat" Stat crate::stat::StatArgs;
    "du" Du crate::du::DuArgs;
    "getfattr" Getfattr crate::getfattr::GetfattrArgs;
    "stats" Stats crate::stats::StatsArgs;
    "sql" Sql crate::sql::SqlArgs;
    "export" Export crate::sql::ExportArgs;
    "top" Top crate::top::TopArgs;
    "duplicates" Duplicates crate::duplicates::DuplicatesArgs;
    "diff" Diff crate::diff::DiffArgs;
    "history" History crate::history::HistoryArgs;
    "growth" Growth crate::growth::GrowthArgs;
    "help" Help crate::arguments::HelpArgs;
    "completions" Completions crate::generate::CompletionsArgs;
    "man" Man crate::generate::ManArgs;
}

/// Returns a command's row.
pub(crate) fn entry(name: &str) -> Option<&'static Entry> {
    TABLE.iter().find(|entry| entry.name == name)
}
