//! The command line: options that every command accepts, the commands, and the split that passes
//! `find` its arguments untouched.
//!
//! Each command's own options are defined in its module. Help, man pages and completions are
//! generated from these definitions ([`crate::generate`]).

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::Duration;

use clap::parser::ValueSource;
use clap::{ArgMatches, Args, CommandFactory, FromArgMatches, Parser};

use trawl_model::mapped::{Mapping, Tree};
use trawl_query::AsOf;
use trawl_remote::client::{MAPPED, ROWS};
use trawl_session::{Wait, When};

use crate::Command;
use crate::commands::{Class, IndexOption, Setting, Spec, entry};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::find::Called;
use crate::output::ColourWhen;

const EXAMPLES: &str = "\
Examples:
  trawl index /home /srv         create or update the index of two trees
  trawl find /home -name '*.c'   find entries, as find does
  trawl locate -b '*.iso'        find names anywhere in the index
  trawl du -sh /home/*           sum up the sizes of directories
  trawl ls -l /srv/data          list a directory
  trawl stats /home --by owner   count entries and bytes by owner
  trawl sql 'SELECT …'           run a query; without one, open a shell
  trawl top /home                show the largest files
  trawl sources                  list the indexed trees and their age

Exit codes: 0 complete, 1 answered but a part could not be read, 2 wrong usage
or a fatal error, 130 interrupted. For a path that does not exist, find, du and
stat exit with 1 and ls with 2, as the GNU tools do.";

/// An index of file systems that answers find, ls, stat and du in milliseconds.
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
    /// Use the index in DIR
    ///
    /// The default is $TRAWL_INDEX, which may name several directories as DIR:DIR. Without it, root
    /// uses /var/lib/trawl; other users use $XDG_DATA_HOME/trawl or ~/.local/share/trawl, and
    /// questions also ask /var/lib/trawl.
    #[arg(short, long, value_name = "DIR")]
    pub(crate) index: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) manner: Manner,
    /// Record how long each operation of trawl takes, and write FILE at the end
    ///
    /// trawl profile report FILE shows the recording. It is also written after a failure or an
    /// interrupt; the output and the exit code stay the same.
    #[arg(long, value_name = "FILE")]
    pub(crate) profile: Option<PathBuf>,
    /// Ask the server at ADDRESS; the option may be repeated
    ///
    /// ADDRESS is unix:PATH, tls:HOST:PORT, ssh:HOST (which needs trawld on the host), or
    /// command:WORDS. It answers as on its own command line, and runs or writes nothing. Paths are its
    /// own, unless the file remote in ~/.config/trawl or /etc/trawl says which trees of the server
    /// are mounted where. The default is $TRAWL_REMOTE, else that file says which paths are asked
    /// where. `here` asks this machine.
    #[arg(long, value_name = "ADDRESS", action = clap::ArgAction::Append)]
    pub(crate) remote: Vec<OsString>,
    #[command(subcommand)]
    pub(crate) command: Command,
    /// The command and its options as they were given.
    #[arg(skip)]
    pub(crate) given: Given,
    /// Whether the command is answered for a client on another machine: `trawl answer`.
    #[arg(skip)]
    pub(crate) answers: bool,
    /// The mapping of the asker's paths, if the server said one.
    #[arg(skip)]
    pub(crate) mapping: Option<Mapping>,
    /// Whether the answer consists of rows for a client that merges them.
    #[arg(skip)]
    pub(crate) gives_rows: bool,
    /// Whether the asker named the index.
    #[arg(skip)]
    pub(crate) names_index: bool,
}

/// A command as it was given.
#[derive(Clone, Debug, Default)]
pub(crate) struct Given {
    /// Name of the command.
    pub(crate) command: String,
    /// Name of the command's own subcommand, if it has any.
    pub(crate) action: Option<String>,
    /// Names of the options and operands, each with its values.
    pub(crate) values: Vec<(String, Vec<OsString>)>,
}

impl Given {
    /// Returns what was given for the command in `matches`, which `command` has parsed.
    fn of(command: &clap::Command, matches: &ArgMatches) -> Option<Given> {
        let (name, matches) = matches.subcommand()?;
        let command = command.find_subcommand(name)?;
        let given = command
            .get_arguments()
            .map(|argument| argument.get_id().as_str());
        let given = given.filter(|id| {
            let source = matches
                .try_contains_id(id)
                .ok()
                .and_then(|_| matches.value_source(id));
            source == Some(ValueSource::CommandLine)
        });
        let values = |id: &str| {
            let values = matches.try_get_raw(id).ok().flatten();
            values.into_iter().flatten().map(OsStr::to_owned).collect()
        };
        Some(Given {
            command: name.to_owned(),
            action: matches.subcommand_name().map(str::to_owned),
            values: given.map(|id| (id.to_owned(), values(id))).collect(),
        })
    }

    /// Returns the values of an option or operand.
    pub(crate) fn values_of(&self, id: &str) -> &[OsString] {
        let found = self.values.iter().find(|(known, _)| known == id);
        found.map_or(&[], |(_, values)| values)
    }
}

// Options of every question, accepted before and after the command.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct Manner {
    /// Report how fresh the answer is and what could not be read
    ///
    /// The report goes to standard error.
    #[arg(long)]
    pub(crate) status: bool,
    /// Choose when to use colours
    #[arg(long, visible_alias = "colour", value_name = "WHEN", value_enum, num_args = 0..=1,
          require_equals = true, default_missing_value = "always")]
    pub(crate) color: Option<ColourWhen>,
    /// Answer from the newest snapshot that began by TIME
    ///
    /// TIME is a date as date(1) reads it, a snapshot's id, latest, or -N for the snapshot N before
    /// the latest. The file system itself is then never asked.
    #[arg(long, value_name = "TIME", value_parser = crate::at::parse, allow_hyphen_values = true)]
    pub(crate) at: Option<AsOf>,
    /// Protect --csv texts that spreadsheets take for formulas
    ///
    /// Puts an apostrophe before each text that begins with =, +, -, @, a tab or a carriage return.
    #[arg(long)]
    pub(crate) spreadsheet: bool,
    #[command(flatten)]
    pub(crate) fresh: FreshArgs,
}

// Options that say how fresh an answer must be. `None` means that the option was not given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Args)]
pub(crate) struct FreshArgs {
    /// Wait up to TIME until the index includes all earlier changes
    ///
    /// Earlier changes are those made before the question was asked. The exit code is 1 if the
    /// index does not include them in time. Without this option, questions wait only where a daemon
    /// watches (trawl watch) [default: 10s].
    #[arg(long, value_name = "TIME", value_parser = crate::fresh::parse_time, num_args = 0..=1,
          require_equals = true, default_missing_value = "10s", overrides_with = "no_wait")]
    pub(crate) fresh: Option<Duration>,
    /// Ask the index as it is, without waiting for a daemon
    #[arg(long, overrides_with = "fresh")]
    pub(crate) no_wait: bool,
    /// Accept answers up to AGE old, such as 30s, 5m or 1d
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
    /// Returns the time that a question is about, and how fresh its answer must be.
    pub(crate) fn when(self) -> When {
        When {
            at: self.at,
            wait: match self.fresh.fresh {
                _ if self.fresh.no_wait => Wait::Never,
                Some(time) => Wait::UpTo(time),
                None => Wait::IfWatched,
            },
            max_age: self.fresh.max_age,
        }
    }

    /// Applies the options that hold for all output of this process from now on.
    pub(crate) fn prepare(self) {
        if self.spreadsheet {
            crate::output::protect();
        }
    }

    /// Combines the options before the command (`self`) with those after it, which take precedence.
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

// Arguments of `trawl help`.
#[derive(Debug, Args)]
pub(crate) struct HelpArgs {
    /// Show help for this command [default: trawl itself]
    #[arg(value_name = "COMMAND")]
    command: Option<OsString>,
}

impl Spec for HelpArgs {
    const ABOUT: &'static str = "Show help for trawl or one of its commands";
    const CLASS: Class = Class::Other;
    const INDEX: IndexOption = IndexOption::None;
    const EXAMPLES: &'static [(&'static str, &'static str)] = &[
        ("trawl help", "list the commands"),
        ("trawl help stats", "list the options of trawl stats"),
    ];
    const SEE_ALSO: &'static [&'static str] = &["trawl-man(1)"];

    fn run(&self, _: Setting<'_>) -> Result<Exit, Failure> {
        // `parse` has already read this as the command's `--help`.
        Ok(Exit::Complete)
    }
}

/// Returns the definition of the command line. Repeating an option is no error: the last one
/// counts.
pub(crate) fn command() -> clap::Command {
    let command = Arguments::command().args_override_self(true);
    command.mut_subcommands(|command| {
        let index = entry(command.get_name()).and_then(|entry| index_option(entry.index));
        // Long options may be abbreviated, as in the GNU tools.
        let command = command.args_override_self(true).infer_long_args(true);
        command.args(index).arg(profile_option())
    })
}

/// Returns the `--index` option of a command. It overrides `--index` before the command.
fn index_option(taken: IndexOption) -> Option<clap::Arg> {
    let option = clap::Arg::new(INDEX_BEHIND)
        .long("index")
        .value_name("DIR")
        .value_parser(clap::value_parser!(PathBuf))
        .help("Use the index in DIR, as before the command");
    match taken {
        IndexOption::Usual => Some(option.short('i')),
        IndexOption::Long => Some(option),
        IndexOption::None => None,
    }
}

const INDEX_BEHIND: &str = "index_behind";

/// Returns the `--profile` option of a command. It overrides `--profile` before the command.
fn profile_option() -> clap::Arg {
    clap::Arg::new(PROFILE_BEHIND)
        .long("profile")
        .value_name("FILE")
        .value_parser(clap::value_parser!(PathBuf))
        .help("Record how long each operation of trawl takes, and write FILE")
}

const PROFILE_BEHIND: &str = "profile_behind";

/// Parses the command line; `words` starts with the program's name.
///
/// # Errors
/// Returns clap's answer: an error, or the help or version text that was asked for.
pub(crate) fn parse(words: Vec<OsString>) -> Result<Arguments, clap::Error> {
    let mut command = command();
    let (words, answered) = without_answer(words);
    let words = match is_called(&words, DAEMON) {
        true => as_daemon(words),
        false => words,
    };
    let called = match is_find(&words) {
        true => Called::Find,
        false => Called::Trawl,
    };
    let (mut ours, for_find) = split_find(&command, words);
    keep_equals(&mut command, &mut ours);
    let matches = command.try_get_matches_from_mut(ours)?;
    let mut arguments = Arguments::from_arg_matches(&matches)?;
    arguments.given = Given::of(&command, &matches).unwrap_or_default();
    arguments.answers = answered.is_some();
    let answered = answered.unwrap_or_default();
    arguments.mapping = answered.mapping;
    arguments.gives_rows = answered.gives_rows;
    if let Command::Help(help) = arguments.command {
        let words = [Some("trawl".into()), help.command, Some("--help".into())];
        return parse(words.into_iter().flatten().collect());
    }
    let behind = |name| {
        let (_, behind) = matches.subcommand()?;
        let given = behind.try_get_one::<PathBuf>(name);
        given.ok().flatten().cloned()
    };
    arguments.index = behind(INDEX_BEHIND).or(arguments.index);
    arguments.names_index = arguments.index.is_some();
    arguments.index = arguments.index.or(answered.index);
    arguments.profile = behind(PROFILE_BEHIND).or(arguments.profile);
    if let (Command::Find(find), Some(words)) = (&mut arguments.command, for_find) {
        arguments.given.values = vec![(crate::find::WORDS.to_owned(), words.clone())];
        find.arguments = words;
        find.called = called;
    }
    Ok(arguments)
}

/// The word before a command that is answered for a client on another machine. Before it, the server
/// may name the index: `--index DIR answer COMMAND …`. What follows it is the client's.
pub(crate) const ANSWER: &str = "answer";

/// What a server says about a command line that is answered for a client.
#[derive(Default)]
struct Answered {
    index: Option<PathBuf>,
    /// The mapping of the client's paths.
    mapping: Option<Mapping>,
    gives_rows: bool,
}

/// Takes [`ANSWER`] and what the server says around it away. Returns what it says; `None` if the
/// command line is this user's own.
fn without_answer(mut words: Vec<OsString>) -> (Vec<OsString>, Option<Answered>) {
    let (index, width) = match words.get(1..4) {
        Some([option, index, answer]) if option == "--index" && answer == ANSWER => {
            (Some(PathBuf::from(index)), 3)
        }
        _ if words.get(1).is_some_and(|word| word == ANSWER) => (None, 1),
        _ => return (words, None),
    };
    words.drain(1..=width);
    let gives_rows = words.get(1).is_some_and(|word| word.as_bytes() == ROWS);
    words.drain(1..=usize::from(gives_rows));
    let (mapping, width) = mapping(&words[1..]).unzip();
    words.drain(1..=width.unwrap_or(0));
    let answered = Answered {
        index,
        mapping,
        gives_rows,
    };
    (words, Some(answered))
}

/// Reads `--mapped NUMBER DIRECTORY THEIRS OURS …` at the beginning of the words; returns how many
/// words that are, too. Words that are not so are left to the parser, which refuses them.
fn mapping(words: &[OsString]) -> Option<(Mapping, usize)> {
    let [option, number, directory, trees @ ..] = words else {
        return None;
    };
    let number: usize = number.to_str()?.parse().ok()?;
    if option.as_bytes() != MAPPED {
        return None;
    }
    let trees = trees.get(..number.checked_mul(2)?)?;
    let tree = |pair: &[OsString]| Tree {
        theirs: pair[0].as_bytes().to_vec(),
        ours: pair[1].as_bytes().to_vec(),
    };
    let mapping = Mapping::new(
        directory.as_bytes().to_vec(),
        trees.chunks_exact(2).map(tree).collect(),
    );
    Some((mapping?, 3 + 2 * number))
}

/// Returns the words without the program's name and without `--remote` before the command.
pub(crate) fn without_remote(words: &[OsString]) -> Vec<OsString> {
    let command = command();
    let (mut kept, mut at) = (Vec::new(), 1);
    while let Some(word) = words.get(at)
        && let Some(width) = option_width(&command, word)
    {
        let text = word.as_encoded_bytes();
        let is_remote = text == b"--remote" || text.starts_with(b"--remote=");
        let option = words.get(at..at + width).unwrap_or_default();
        if !is_remote {
            kept.extend_from_slice(option);
        }
        at += width;
    }
    kept.extend_from_slice(words.get(at..).unwrap_or_default());
    kept
}

/// Splits the words after `find` where that is the command: they belong to find's own parser, in
/// which `-i…` and `--` have other meanings. If the program itself is called `find`, all words
/// after its name are find's.
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

/// Name under which the program acts as `trawl watch` or `trawl serve`.
const DAEMON: &str = "trawld";

/// Turns `trawld WORDS` into `trawl watch WORDS`, or into `trawl serve WORDS` if the first word is
/// `--stdio`, or begins with `--listen` or `--http`.
fn as_daemon(words: Vec<OsString>) -> Vec<OsString> {
    let first = words
        .get(1)
        .map_or(&b""[..], |word| word.as_encoded_bytes());
    let begins = |name: &[u8]| first.starts_with(name);
    let serves = first == b"--stdio" || begins(b"--listen") || begins(b"--http");
    let command = if serves { "serve" } else { "watch" };
    let ours = ["trawl", command].map(OsString::from);
    ours.into_iter().chain(words.into_iter().skip(1)).collect()
}

/// Returns true if the program was called as `find`.
fn is_find(words: &[OsString]) -> bool {
    is_called(words, "find")
}

fn is_called(words: &[OsString], name: &str) -> bool {
    let program = words.first().map(std::path::Path::new);
    program.and_then(std::path::Path::file_name) == Some(OsStr::new(name))
}

/// Commands that read their options as the GNU tools do.
const AS_GNU: [&str; 3] = ["ls", "du", "stat"];

/// Doubles the `=` in `-I=x`, of which the parser drops one: as with getopt(3), the value is `=x`.
fn keep_equals(command: &mut clap::Command, words: &mut [OsString]) {
    let is_concerned = |word: &OsString| {
        let letters = word.as_bytes().strip_prefix(b"-");
        letters.is_some_and(|letters| !letters.starts_with(b"-") && letters.contains(&b'='))
    };
    if !words.iter().any(is_concerned) {
        return;
    }
    // Before, subcommands have no options yet.
    command.build();
    let mut at = place_of_command(command, words);
    let name = words.get(at).and_then(|word| word.to_str());
    let name = name.filter(|name| AS_GNU.contains(name));
    let Some(command) = name.and_then(|name| command.find_subcommand(name)) else {
        return;
    };
    let takes_value = |letter: &u8| {
        command.get_arguments().any(|argument| {
            // The index's option is not of the GNU tools.
            argument.get_short() == Some(char::from(*letter))
                && argument.get_id() != INDEX_BEHIND
                && argument.get_action().takes_values()
                && !argument.is_require_equals_set()
        })
    };
    at += 1;
    while let Some(word) = words.get_mut(at).filter(|word| *word != "--") {
        at += option_width(command, word).unwrap_or(1);
        let Some(letters) = word.as_bytes().strip_prefix(b"-") else {
            continue;
        };
        if letters.starts_with(b"-") {
            continue;
        }
        let Some(taking) = letters.iter().position(takes_value) else {
            continue;
        };
        let (option, value) = word.as_bytes().split_at(taking + 2);
        if value.starts_with(b"=") {
            *word = OsStr::from_bytes(&[option, b"=", value].concat()).to_owned();
        } else if value.is_empty() && taking > 0 {
            // The next word is the value of the last letter.
            at += 1;
        }
    }
}

/// Returns how many words the option in `word` takes, its value included; `None` if `word` is not
/// an option.
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

/// Returns a hint for a usage error that has a known cause.
pub(crate) fn hint(words: &[OsString]) -> Option<String> {
    expression_hint(words).or_else(|| remote_hint(words))
}

/// Returns the place of the first word that is no option of the program's own, nor the value of one.
fn place_of_command(command: &clap::Command, words: &[OsString]) -> usize {
    let mut at = 1;
    while let Some(width) = words.get(at).and_then(|word| option_width(command, word)) {
        at += width;
    }
    at
}

/// Returns the name of the command that is given, and the words after it.
fn split(words: &[OsString]) -> Option<(&str, &[OsString])> {
    let at = place_of_command(&command(), words);
    Some((words.get(at)?.to_str()?, &words[at + 1..]))
}

/// Returns a hint for a usage error where `--remote` stands after a command without such an option:
/// `trawl ls --remote unix:/run/trawl`.
fn remote_hint(words: &[OsString]) -> Option<String> {
    let (name, rest) = split(words)?;
    let mut before = rest.iter().take_while(|word| *word != "--");
    before.find(|word| is_remote(word.as_encoded_bytes()))?;
    let mut command = command();
    // Before, subcommands have no options yet.
    command.build();
    let command = command.find_subcommand(name)?;
    let mut options = command.get_arguments();
    let has_it = options.any(|option| option.get_long() == Some("remote"));
    (!has_it).then(|| remote_comes_first(name))
}

/// Returns true for the option `--remote`, with or without its value.
pub(crate) fn is_remote(word: &[u8]) -> bool {
    word == b"--remote" || word.starts_with(b"--remote=")
}

/// Returns what to say if `--remote` stands after this command.
pub(crate) fn remote_comes_first(command: &str) -> String {
    format!("--remote must come before the command: trawl --remote ADDRESS {command} ...")
}

/// Returns a hint for a usage error where words of find stand before `--` although the command
/// takes them after it: `trawl top . -name x`.
fn expression_hint(words: &[OsString]) -> Option<String> {
    let (name, rest) = split(words)?;
    let is_word = |word: &&OsString| {
        let word = word.as_encoded_bytes();
        let is_long = word.len() > 2 && word[0] == b'-' && word[1] != b'-';
        let mut names = trawl_find::registry().iter().flat_map(|one| one.names());
        matches!(word, b"(" | b"!") || is_long && names.any(|name| name.as_bytes() == word)
    };
    let mut before = rest.iter().take_while(|word| *word != "--");
    let found = before.find(is_word)?.to_string_lossy();
    let takes_it = entry(name).is_some_and(|entry| entry.takes_expression);
    takes_it.then(|| {
        format!(
            "{found} is part of a find expression, which must come after --: \
             trawl {name} PATH -- {found} ..."
        )
    })
}

/// Returns the options that were given, in order of their last occurrence, as the names of the
/// fields that they fill.
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
    fn a_server_after_the_command_is_explained() {
        let hint = |line: &str| {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            hint(&words)
        };
        for line in [
            "trawl ls --remote unix:/x",
            "trawl -i x ls -l --remote=unix:/x .",
            "trawl ls . --remote",
        ] {
            assert!(parsed(line).is_err(), "{line}");
            let text = hint(line).unwrap();
            assert!(text.contains("trawl --remote ADDRESS ls ..."), "{text}");
        }
        for line in [
            "trawl search --remote",
            "trawl --remote unix:/x ls --nonsense",
            "trawl ls --nonsense -- --remote",
            "trawl nonsense --remote x",
        ] {
            assert!(parsed(line).is_err(), "{line}");
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
