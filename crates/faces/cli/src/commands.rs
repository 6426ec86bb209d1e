//! What commands declare. From the table of commands, in the root of the crate, come the command
//! line, what is run, the sections of man pages, the reference of fields in `docs/fields.md` and the
//! command lines of the tests of output.
//!
//! A command is a file with its options and an `impl` of [`Spec`], and one row of the table.

use std::ffi::OsString;
use std::path::PathBuf;

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
    /// Whether the command line is answered for another machine.
    pub(crate) answers: bool,
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
    /// Returns the row of a command.
    pub(crate) const fn of<C: Spec>(name: &'static str) -> Entry {
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

/// Defines `Command`, an enum of the commands, and `TABLE`, with a row for each.
macro_rules! commands {
    ($($name:literal $command:ident $arguments:ty;)*) => {
        /// The commands.
        ///
        /// clap defines options only for the command that is given: defining all of them would take
        /// most of a short command's run time. It reads them after the texts here, so a doc comment
        /// on the type of a command's options would replace the command's text.
        #[derive(Debug, clap::Subcommand)]
        #[command(defer = true)]
        pub(crate) enum Command {$(
            #[command(
                name = $name,
                about = <$arguments as $crate::commands::Spec>::ABOUT,
                disable_help_flag = <$arguments as $crate::commands::Spec>::HAS_OWN_HELP
            )]
            $command(Box<$arguments>),
        )*}

        impl Command {
            /// Returns what the command works on.
            pub(crate) fn class(&self) -> $crate::commands::Class {
                match self {
                    $(Command::$command(_) => <$arguments as $crate::commands::Spec>::CLASS,)*
                }
            }

            /// Runs the command.
            pub(crate) fn run(
                &self,
                setting: $crate::commands::Setting<'_>,
            ) -> Result<$crate::exit::Exit, $crate::failure::Failure> {
                use $crate::commands::Spec as _;
                match self {
                    $(Command::$command(arguments) => arguments.run(setting),)*
                }
            }
        }

        /// The table.
        pub(crate) static TABLE: &[$crate::commands::Entry] = &[
            $($crate::commands::Entry::of::<$arguments>($name),)*
        ];
    };
}
pub(crate) use commands;

/// Returns a command's row.
pub(crate) fn entry(name: &str) -> Option<&'static Entry> {
    crate::TABLE.iter().find(|entry| entry.name == name)
}
