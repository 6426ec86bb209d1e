//! The command line: options that hold for every command, the commands, and
//! the split that gives `find` its arguments untouched.
//!
//! Each command's own options stand in its module. Help, man pages and
//! completions are made from these definitions ([`crate::generate`]).

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Duration;

use clap::parser::ValueSource;
use clap::{ArgMatches, Args, CommandFactory, FromArgMatches, Parser, Subcommand};

use trawl_query::AsOf;

use crate::find::Called;
use crate::generate::{ManArgs, Shell};
use crate::output::ColourWhen;

const EXAMPLES: &str = "\
Examples:
  trawl index /home /srv         make or renew the index of two trees
  trawl find /home -name '*.c'   ask it what find would print
  trawl locate -b '*.iso'         what is so called, wherever it is
  trawl du -sh /home/*           sizes of directories
  trawl ls -l /srv/data          list a directory
  trawl stats /home --by owner   who uses how much
  trawl sql 'SELECT …'           ask with SQL; without a query, a shell
  trawl top /home                the largest files
  trawl sources                  what is indexed, as of when

Exit codes: 0 complete, 1 answered but a part could not be read, 2 wrong usage
or nothing could be done, 130 interrupted. For a path that is not there find,
du and stat exit with 1, ls with 2, as the GNU tools do.";

/// An index of file systems that answers find, ls, stat and du in
/// milliseconds.
#[derive(Debug, Parser)]
#[command(
    name = "trawl",
    version,
    about = "Answers find, ls, stat and du from an index of file systems",
    after_help = EXAMPLES,
    subcommand_required = true,
    disable_help_subcommand = true
)]
pub(crate) struct Arguments {
    /// Where the index lies [default: /var/lib/trawl for root, else
    /// $XDG_DATA_HOME/trawl or ~/.local/share/trawl, which questions ask
    /// together with /var/lib/trawl; variable TRAWL_INDEX, of several DIR:DIR]
    #[arg(short, long, value_name = "DIR")]
    pub(crate) index: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) manner: Manner,
    #[command(subcommand)]
    pub(crate) command: Command,
}

// How questions are answered; accepted before and behind the command.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct Manner {
    /// Say on standard error as of when the answer is true and what could
    /// not be read
    #[arg(long)]
    pub(crate) status: bool,
    /// When to use colours
    #[arg(long, visible_alias = "colour", value_name = "WHEN", value_enum, num_args = 0..=1,
          require_equals = true, default_missing_value = "always")]
    pub(crate) color: Option<ColourWhen>,
    /// Answer from the newest snapshot that began by then: a time as date(1)
    /// reads it, a snapshot's id, latest, or -N for N before the latest. The
    /// file system itself is then never asked
    #[arg(long, value_name = "TIME", value_parser = crate::at::parse, allow_hyphen_values = true)]
    pub(crate) at: Option<AsOf>,
    /// In --csv put an apostrophe before texts that a spreadsheet would take
    /// for formulas: those that begin with =, +, -, @, a tab or a return
    #[arg(long)]
    pub(crate) spreadsheet: bool,
    #[command(flatten)]
    pub(crate) fresh: FreshArgs,
}

// How fresh an answer must be. What is not said is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Args)]
pub(crate) struct FreshArgs {
    /// Wait until the index has everything that was changed before the
    /// question, at most so long; the exit code is 1 if it has not. Without
    /// this option, the same where a daemon watches (trawl watch) [default: 10s]
    #[arg(long, value_name = "TIME", value_parser = crate::fresh::parse_time, num_args = 0..=1,
          require_equals = true, default_missing_value = "10s", overrides_with = "no_wait")]
    pub(crate) fresh: Option<Duration>,
    /// Ask the index as it is, without waiting for a daemon
    #[arg(long, overrides_with = "fresh")]
    pub(crate) no_wait: bool,
    /// Be content with an answer that was true so long ago, such as 30s, 5m
    /// or 1d
    #[arg(long, value_name = "AGE", value_parser = crate::fresh::parse_time)]
    pub(crate) max_age: Option<Duration>,
}

impl FreshArgs {
    fn then(self, later: FreshArgs) -> FreshArgs {
        let says = later.fresh.is_some() || later.no_wait;
        let last = if says { later } else { self };
        FreshArgs {
            max_age: later.max_age.or(self.max_age),
            ..last
        }
    }
}

impl Manner {
    /// What holds for all output of this process from now on.
    pub(crate) fn prepare(self) {
        if self.spreadsheet {
            crate::csv::protect();
        }
    }

    /// What was said before the command, unless it was said again behind it.
    #[must_use]
    pub(crate) fn then(self, later: Manner) -> Manner {
        Manner {
            status: self.status || later.status,
            color: later.color.or(self.color),
            at: later.at.or(self.at),
            spreadsheet: self.spreadsheet || later.spreadsheet,
            fresh: self.fresh.then(later.fresh),
        }
    }
}

/// The commands. Options are defined for the one that is given alone: those of all would take most
/// of a short command's time. They come after what stands here, so a doc comment on any type with a
/// command's options would take the place of its text.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    /// Scan trees and write them into the index
    Index(Box<crate::index::IndexArgs>),
    /// List what is indexed, or remove a source
    Sources(crate::sources::SourcesArgs),
    /// Keep sources as of now: notice what changes and bring it into the index
    Watch(Box<crate::watch::WatchArgs>),
    /// Answer searches of other machines, over ssh or at a socket
    Serve(Box<crate::serve::ServeArgs>),
    /// Run a command that sees directories of other machines as its own
    Run(Box<crate::run::RunArgs>),
    /// Mount a directory of another machine, read-only
    Mount(crate::run::MountArgs),
    /// Unmount what trawl mount mounted
    Unmount(crate::run::UnmountArgs),
    /// Check every byte of the index (index --verify)
    Verify(crate::index::upkeep::VerifyArgs),
    /// Remove what no snapshot needs (index --gc)
    Gc(crate::index::upkeep::GcArgs),
    /// Search with GNU find's language
    #[command(disable_help_flag = true)]
    Find(FindArgs),
    /// Find entries by their names as plocate does
    Locate(Box<crate::locate::LocateArgs>),
    /// Search directories for a pattern with one call: live, or from an index
    /// that is as of now
    Search(Box<crate::search::SearchArgs>),
    /// List directories as ls does
    #[command(disable_help_flag = true)]
    Ls(Box<crate::ls::LsArgs>),
    /// Show the attributes of files as stat does
    Stat(crate::stat::StatArgs),
    /// Sum up space used as du does
    #[command(disable_help_flag = true)]
    Du(crate::du::DuArgs),
    /// Show extended attributes as getfattr does
    #[command(disable_help_flag = true)]
    Getfattr(Box<crate::getfattr::GetfattrArgs>),
    /// Count entries and bytes by type, extension, size, age, owner and more
    Stats(crate::stats::StatsArgs),
    /// Ask with SQL
    Sql(Box<crate::sql::SqlArgs>),
    /// Write what the index knows to files for other programs
    Export(Box<crate::sql::ExportArgs>),
    /// Show what is first by size, time or number: files, directories, owners
    Top(Box<crate::top::TopArgs>),
    /// Find files that may be the same
    Duplicates(crate::duplicates::DuplicatesArgs),
    /// Show what differs between two snapshots
    Diff(Box<crate::diff::DiffArgs>),
    /// Show what all snapshots say of a path
    History(crate::history::HistoryArgs),
    /// Show how large a tree was in each snapshot
    Growth(crate::growth::GrowthArgs),
    /// Show help about trawl or one of its commands
    Help {
        /// The command [default: trawl itself]
        #[arg(value_name = "COMMAND")]
        command: Option<OsString>,
    },
    /// Print completions for a shell
    Completions {
        /// The shell
        #[arg(value_enum)]
        shell: Shell,
    },
    /// Show a manual page
    Man(ManArgs),
}

impl Command {
    /// True if it asks about files, so that it may be asked of the past.
    pub(crate) fn is_question(&self) -> bool {
        !matches!(
            self,
            Command::Index(_)
                | Command::Sources(_)
                | Command::Watch(_)
                | Command::Serve(_)
                | Command::Run(_)
                | Command::Mount(_)
                | Command::Unmount(_)
                | Command::Verify(_)
                | Command::Gc(_)
                | Command::Help { .. }
                | Command::Completions { .. }
                | Command::Man(_)
        )
    }
}

// Arguments of `find`, which reads them itself.
#[derive(Debug, Args)]
pub(crate) struct FindArgs {
    /// Start points and expression, as find(1) takes them; `trawl find
    /// --help` lists what it knows
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "ARGUMENT"
    )]
    pub(crate) arguments: Vec<OsString>,
    /// Under which name the program was called.
    #[arg(skip)]
    pub(crate) called: Called,
}

/// The definition, with what holds for every command: a repeated option is
/// no error, the last one counts.
pub(crate) fn command() -> clap::Command {
    let command = Arguments::command().args_override_self(true);
    command.mut_subcommands(|command| {
        let asks_index = !WITHOUT_INDEX.contains(&command.get_name());
        let index = asks_index.then(|| index_option(command.get_name()));
        // Long options may be cut short, as with the GNU tools.
        let command = command.args_override_self(true).infer_long_args(true);
        command.args(index)
    })
}

/// Commands that ask no index, and find, whose words are its own.
const WITHOUT_INDEX: &[&str] = &["find", "help", "completions", "man", "mount", "unmount"];

/// Commands in which `-i` is what it is in the tool of that name.
const WITH_ANOTHER_I: &[&str] = &["locate", "ls"];

/// `--index` behind a command: what it says counts more than what was said before.
fn index_option(command: &str) -> clap::Arg {
    let option = clap::Arg::new(INDEX_BEHIND)
        .long("index")
        .value_name("DIR")
        .value_parser(clap::value_parser!(PathBuf))
        .help("Where the index lies, as before the command");
    match WITH_ANOTHER_I.contains(&command) {
        true => option,
        false => option.short('i'),
    }
}

const INDEX_BEHIND: &str = "index_behind";

/// Reads the command line; `words` starts with the program's name.
///
/// # Errors
/// What clap has to say: an error, or the help or version that was asked
/// for.
pub(crate) fn parse(words: Vec<OsString>) -> Result<Arguments, clap::Error> {
    let command = command();
    let words = match is_called(&words, DAEMON) {
        true => as_daemon(words),
        false => words,
    };
    let called = match is_find(&words) {
        true => Called::Find,
        false => Called::Trawl,
    };
    let (ours, for_find) = split_find(&command, words);
    let matches = command.try_get_matches_from(ours)?;
    let mut arguments = Arguments::from_arg_matches(&matches)?;
    if let Command::Help { command } = arguments.command {
        let words = [Some("trawl".into()), command, Some("--help".into())];
        return parse(words.into_iter().flatten().collect());
    }
    let behind = matches.subcommand().and_then(|(_, behind)| {
        let given = behind.try_get_one::<PathBuf>(INDEX_BEHIND);
        given.ok().flatten().cloned()
    });
    arguments.index = behind.or(arguments.index);
    if let (Command::Find(find), Some(words)) = (&mut arguments.command, for_find) {
        find.arguments = words;
        find.called = called;
    }
    Ok(arguments)
}

/// Cuts behind the word `find` where it is the command: what follows belongs
/// to find's own parser, in which `-i…` and `--` mean other things. A program
/// that is called `find` is one whole command.
fn split_find(
    command: &clap::Command,
    words: Vec<OsString>,
) -> (Vec<OsString>, Option<Vec<OsString>>) {
    let find = OsStr::new("find");
    let mut rest = words;
    if is_find(&rest) {
        let arguments = rest.split_off(1);
        return (vec!["trawl".into(), "find".into()], Some(arguments));
    }
    let mut at = 1;
    while let Some(word) = rest.get(at) {
        if word == find {
            let arguments = rest.split_off(at + 1);
            return (rest, Some(arguments));
        }
        match option_width(command, word) {
            Some(width) => at += width,
            None => break,
        }
    }
    (rest, None)
}

/// The name under which the program is `trawl watch`, or `trawl serve`.
const DAEMON: &str = "trawld";

/// `trawld WORDS` is `trawl watch WORDS`, and `trawl serve WORDS` if the first one says to whom.
fn as_daemon(words: Vec<OsString>) -> Vec<OsString> {
    let first = words
        .get(1)
        .map_or(&b""[..], |word| word.as_encoded_bytes());
    let serves = first == b"--stdio" || first.starts_with(b"--listen");
    let command = if serves { "serve" } else { "watch" };
    let ours = ["trawl", command].map(OsString::from);
    ours.into_iter().chain(words.into_iter().skip(1)).collect()
}

/// True if the program is called `find`.
fn is_find(words: &[OsString]) -> bool {
    is_called(words, "find")
}

fn is_called(words: &[OsString], name: &str) -> bool {
    let program = words.first().map(std::path::Path::new);
    program.and_then(std::path::Path::file_name) == Some(OsStr::new(name))
}

/// How many words the option takes that `word` begins; `None` if it is none.
fn option_width(command: &clap::Command, word: &OsStr) -> Option<usize> {
    let text = word.as_encoded_bytes();
    let name = text.strip_prefix(b"-").filter(|name| !name.is_empty())?;
    let takes_next = command.get_arguments().any(|argument| {
        let separate = argument.get_action().takes_values() && !argument.is_require_equals_set();
        let long = argument.get_long().map(str::as_bytes);
        let short = argument.get_short().map(|short| short as u8);
        let named = match name.strip_prefix(b"-") {
            Some(name) => long == Some(name),
            None => name.len() == 1 && short == name.first().copied(),
        };
        separate && named
    });
    Some(if takes_next { 2 } else { 1 })
}

/// What to say of a mistake where words of find stand before `--`, in a command that takes them
/// behind it: `trawl top . -name x`.
pub(crate) fn expression_hint(words: &[OsString]) -> Option<String> {
    let command = command();
    let mut at = 1;
    while let Some(width) = option_width(&command, words.get(at)?) {
        at += width;
    }
    let name = words.get(at)?.to_str()?;
    let is_word = |word: &&OsString| {
        let word = word.as_encoded_bytes();
        let is_long = word.len() > 2 && word[0] == b'-' && word[1] != b'-';
        let mut names = trawl_find::registry().iter().flat_map(|one| one.names());
        matches!(word, b"(" | b"!") || is_long && names.any(|name| name.as_bytes() == word)
    };
    let mut before = words.iter().skip(at + 1).take_while(|word| *word != "--");
    let found = before.find(is_word)?.to_string_lossy();
    WITH_EXPRESSION.contains(&name).then(|| {
        format!(
            "{found} belongs to the language of find, which stands behind --: \
             trawl {name} PATH -- {found} ..."
        )
    })
}

/// Commands that take an expression of find behind `--`.
const WITH_EXPRESSION: &[&str] = &["stats", "top"];

/// Which options were given, in order of their last occurrence: the names of
/// the fields that they fill.
pub(crate) fn occurrences(matches: &ArgMatches) -> Vec<String> {
    let given = matches
        .ids()
        .filter(|id| matches.value_source(id.as_str()) == Some(ValueSource::CommandLine));
    let mut placed: Vec<(usize, String)> = given
        .filter_map(|id| {
            let last = matches.indices_of(id.as_str())?.next_back()?;
            Some((last, id.as_str().to_owned()))
        })
        .collect();
    placed.sort();
    placed.into_iter().map(|(_, id)| id).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Arguments, clap::Error> {
        parse(line.split(' ').map(OsString::from).collect())
    }

    fn find_words(line: &str) -> Option<Vec<String>> {
        match parsed(line).ok()?.command {
            Command::Find(find) => {
                let words = find.arguments.into_iter();
                Some(words.map(|word| word.into_string().unwrap()).collect())
            }
            _ => None,
        }
    }

    #[test]
    fn the_definition_is_sound() {
        command().debug_assert();
    }

    #[test]
    fn each_command_says_what_the_list_of_commands_says() {
        let listed = command();
        let mut built = command();
        built.build();
        for of in listed.get_subcommands() {
            let name = of.get_name();
            let says = built
                .find_subcommand(name)
                .and_then(clap::Command::get_about);
            let says = says.map(ToString::to_string);
            assert_eq!(says, of.get_about().map(ToString::to_string), "{name}");
        }
    }

    #[test]
    fn find_gets_its_words_untouched() {
        let cases = [
            ("trawl find", ""),
            ("trawl find -name x --help", "-name x --help"),
            ("trawl -i idx find -iname x -- -i", "-iname x -- -i"),
            ("trawl -iidx --status find . --status", ". --status"),
            (
                "trawl --index=idx --color=never find ( -print )",
                "( -print )",
            ),
            ("trawl --index idx find find", "find"),
            ("/usr/bin/find . -name x", ". -name x"),
        ];
        for (line, words) in cases {
            let words: Vec<String> = words.split_terminator(' ').map(String::from).collect();
            assert_eq!(find_words(line), Some(words), "{line}");
        }
        assert_eq!(find_words("trawl ls find"), None);
        assert_eq!(find_words("trawl -i find ls"), None);
    }

    #[test]
    fn options_stand_before_and_behind_the_command() {
        let arguments = parsed("trawl -i x --status ls --color=always -l -l a").unwrap();
        assert_eq!(arguments.index, Some(PathBuf::from("x")));
        assert!(arguments.manner.status);
        let Command::Ls(ls) = arguments.command else {
            panic!("not ls")
        };
        let manner = arguments.manner.then(ls.flags.manner);
        assert!(manner.status);
        assert_eq!(manner.color, Some(ColourWhen::Always));
    }

    #[test]
    fn the_index_may_stand_behind_the_command() {
        for line in [
            "trawl -i x stats .",
            "trawl stats -i x .",
            "trawl stats . --index x",
            "trawl --index=y stats . -ix",
            "trawl ls --index=x -i .",
            "trawl locate -i --index x a",
            "trawl watch -i x /srv",
            "trawl sources --index x",
            "trawl gc -i x",
        ] {
            let arguments = parsed(line).unwrap();
            assert_eq!(arguments.index, Some(PathBuf::from("x")), "{line}");
        }
        assert_eq!(parsed("trawl ls -i .").unwrap().index, None);
        assert_eq!(find_words("trawl find -i x").unwrap(), ["-i", "x"]);
    }

    #[test]
    fn help_is_a_command_too() {
        for (line, says) in [
            ("trawl help", "Answers find, ls, stat and du"),
            ("trawl help stats", "Usage: trawl stats"),
            ("trawl -i x help top", "Usage: trawl top"),
            ("trawl help help", "Usage: trawl help"),
        ] {
            let error = parsed(line).unwrap_err();
            assert_eq!(error.exit_code(), 0, "{line}");
            assert!(error.to_string().contains(says), "{line}: {error}");
        }
        assert_eq!(parsed("trawl help nonsense").unwrap_err().exit_code(), 2);
        assert_eq!(find_words("trawl help find").unwrap(), ["--help"]);
    }

    #[test]
    fn words_of_find_before_the_dashes_are_explained() {
        let hint = |line: &str| {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            expression_hint(&words)
        };
        for line in ["trawl top . -name x", "trawl -i x stats . -type f"] {
            assert!(parsed(line).is_err(), "{line}");
            let text = hint(line).unwrap();
            assert!(text.contains("PATH -- -"), "{text}");
        }
        for line in [
            "trawl stats . --nonsense",
            "trawl ls -size",
            "trawl",
            "trawl -x",
        ] {
            assert_eq!(hint(line), None, "{line}");
        }
    }

    #[test]
    fn mistakes_are_errors() {
        for line in [
            "trawl",
            "trawl lss",
            "trawl --nonsense ls",
            "trawl ls --sort=colour",
        ] {
            let error = parsed(line).unwrap_err();
            assert_eq!(error.exit_code(), 2, "{line}");
        }
    }
}
