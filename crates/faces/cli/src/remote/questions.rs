//! The commands that a server answers for clients on other machines, and their options.
//!
//! Every option of such a command is in exactly one of two lists: those that are answered, and those
//! that are refused, each with the reason. A new option is in neither, so it is refused, and a test
//! fails until it is in one. A refused option reads words, writes or runs something on the server,
//! or makes it ask other machines.

use std::ffi::OsString;

use trawl_find::predicate::{Kind, Predicate};

use crate::arguments::{Arguments, Given};
use crate::beside;
use crate::failure::Failure;
use crate::find;

/// A command that a server answers.
struct Question {
    command: &'static str,
    /// The options and operands that are answered, besides those in [`ALWAYS`].
    answered: &'static [&'static str],
    /// The options that are refused, with the reasons.
    refused: &'static [(&'static str, &'static str)],
    /// The operands and options whose values are paths, from which the server is chosen.
    paths: &'static [&'static str],
    /// What it is about without a path.
    without: Without,
}

/// What a question without a path is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Without {
    /// The working directory.
    WorkingDirectory,
    /// Everything that is indexed.
    WholeIndex,
}

/// Options that are answered for each command that has them.
const ALWAYS: &[&str] = &[
    "arrow",
    "at",
    "color",
    "csv",
    "fresh",
    "help",
    "json",
    "max_age",
    "no_wait",
    "null",
    "spreadsheet",
    "status",
];

/// Options that are refused for each command, with the reasons.
const NEVER: &[(&str, &str)] = &[("index_behind", OTHER_INDEX), ("profile_behind", WRITES)];

const OTHER_INDEX: &str = "the server chooses its index";
const WRITES: &str = "it writes a file there";
const READS_WORDS: &str = "it reads a file there instead of here";
const RUNS: &str = "it runs a command there";
const ITS_LIMITS: &str = "the server chooses its limits";
const OTHER_MACHINES: &str = "the server asks no other machine";

const QUESTIONS: &[Question] = &[
    Question {
        command: "find",
        answered: &["arguments"],
        refused: &[],
        paths: &[],
        without: Without::WholeIndex,
    },
    Question {
        command: "ls",
        answered: &[
            "accessed",
            "across",
            "all",
            "almost_all",
            "as_stored",
            "author",
            "block_size",
            "by_extension",
            "by_size",
            "by_time",
            "by_version",
            "changed",
            "classify",
            "columns",
            "commas",
            "context",
            "dereference",
            "dereference_command_line",
            "dereference_command_line_symlink_to_dir",
            "directory",
            "dired",
            "escape",
            "file_type",
            "format",
            "full_time",
            "group_directories_first",
            "hide",
            "hide_control_chars",
            "human_readable",
            "hyperlink",
            "ignore",
            "ignore_backups",
            "indicator_style",
            "inode",
            "kibibytes",
            "literal",
            "long",
            "no_group",
            "no_group_long",
            "no_owner",
            "numeric_uid_gid",
            "one",
            "paths",
            "quote_name",
            "quoting_style",
            "recursive",
            "reverse",
            "show_control_chars",
            "si",
            "size_in_blocks",
            "slash",
            "sort",
            "tabsize",
            "time",
            "time_style",
            "unsorted",
            "width",
            "zero",
        ],
        refused: &[],
        paths: &["paths"],
        without: Without::WorkingDirectory,
    },
    Question {
        command: "stat",
        answered: &[
            "acl",
            "cached",
            "dereference",
            "file_system",
            "format",
            "numeric",
            "paths",
            "printf",
            "terse",
        ],
        refused: &[],
        paths: &["paths"],
        without: Without::WorkingDirectory,
    },
    Question {
        command: "du",
        answered: &[
            "all",
            "apparent_size",
            "block_size",
            "bytes",
            "count_links",
            "dereference",
            "dereference_args",
            "exclude",
            "human_readable",
            "inodes",
            "kilo",
            "max_depth",
            "mega",
            "no_dereference",
            "one_file_system",
            "paths",
            "separate_dirs",
            "si",
            "summarize",
            "threshold",
            "time",
            "time_style",
            "total",
        ],
        refused: &[("files0_from", READS_WORDS), ("exclude_from", READS_WORDS)],
        paths: &["paths"],
        without: Without::WorkingDirectory,
    },
    Question {
        command: "stats",
        answered: &["by", "expression", "limit", "paths", "share"],
        refused: &[],
        paths: &["paths"],
        without: Without::WorkingDirectory,
    },
    Question {
        command: "top",
        answered: &[
            "apparent_size",
            "by",
            "bytes",
            "dirs",
            "expression",
            "extensions",
            "files",
            "fullest",
            "groups",
            "limit",
            "newest",
            "oldest",
            "owners",
            "paths",
            "projects",
        ],
        refused: &[],
        paths: &["paths"],
        without: Without::WorkingDirectory,
    },
    Question {
        command: "duplicates",
        answered: &["limit", "min_size", "name", "path", "verify"],
        refused: &[],
        paths: &["path"],
        without: Without::WorkingDirectory,
    },
    Question {
        command: "locate",
        answered: &[
            "all",
            "basename",
            "below",
            "count",
            "existing",
            "fuzzy",
            "ignore_case",
            "limit",
            "literal",
            "patterns",
            "quiet",
            "regex",
            "regexp",
            "statistics",
            "wholename",
        ],
        refused: &[("database", OTHER_INDEX)],
        paths: &["below"],
        without: Without::WholeIndex,
    },
    Question {
        command: "getfattr",
        answered: &[
            "absolute_names",
            "dump",
            "encoding",
            "logical",
            "name",
            "no_dereference",
            "only_values",
            "paths",
            "pattern",
            "physical",
            "recursive",
        ],
        refused: &[],
        paths: &["paths"],
        without: Without::WorkingDirectory,
    },
    Question {
        command: "search",
        answered: &[
            "depth16",
            "executable",
            "fnmatch",
            "follow",
            "include_root",
            "max_depth",
            "metadata",
            "no_follow",
            "paper",
            "paths",
            "pattern",
            "period",
            "readable",
            "served_by",
            "stop_at_first",
            "writable",
            "xdev",
        ],
        refused: &[
            ("remote", OTHER_MACHINES),
            ("ca", OTHER_MACHINES),
            ("cert", OTHER_MACHINES),
            ("key", OTHER_MACHINES),
        ],
        paths: &["paths"],
        without: Without::WorkingDirectory,
    },
    Question {
        command: "grep",
        answered: &[
            "after_context",
            "before_context",
            "byte_offset",
            "column",
            "context",
            "count",
            "encoding",
            "exclude",
            "exclude_dir",
            "expression",
            "extended_regexp",
            "files_with_matches",
            "files_without_match",
            "fixed_strings",
            "heading",
            "ignore_case",
            "include",
            "invert_match",
            "line_number",
            "line_regexp",
            "max_count",
            "no_binary",
            "no_filename",
            "no_heading",
            "no_line_number",
            "no_messages",
            "no_text_index",
            "null_data",
            "only_matching",
            "perl_regexp",
            "quiet",
            "recursive",
            "regexp",
            "smart_case",
            "sort",
            "stats",
            "text",
            "threads",
            "trim",
            "with_filename",
            "word_regexp",
            "words",
        ],
        refused: &[("file", READS_WORDS)],
        paths: &["words"],
        without: Without::WorkingDirectory,
    },
    Question {
        command: "set",
        answered: &[
            "digest",
            "intersect",
            "names",
            "progress",
            "size",
            "sort",
            "union",
        ],
        refused: &[
            ("allow_commands", RUNS),
            ("command", RUNS),
            ("explain", RUNS),
            ("jobs", RUNS),
            ("max_args", RUNS),
            ("ordered", RUNS),
            ("quiet", RUNS),
            ("stats", RUNS),
            ("stdin", RUNS),
        ],
        paths: &["names"],
        without: Without::WorkingDirectory,
    },
    Question {
        command: "diff",
        answered: &[
            "collapse_moves",
            "depth",
            "exit_code",
            "ignore",
            "name_only",
            "no_moves",
            "only",
            "summary",
            "words",
        ],
        refused: &[],
        paths: &[],
        without: Without::WholeIndex,
    },
    Question {
        command: "history",
        answered: &["all", "paths"],
        refused: &[],
        paths: &["paths"],
        without: Without::WorkingDirectory,
    },
    Question {
        command: "growth",
        answered: &["by", "paths"],
        refused: &[],
        paths: &["paths"],
        without: Without::WorkingDirectory,
    },
    Question {
        command: "quota",
        answered: &["bytes", "paths"],
        refused: &[],
        paths: &["paths"],
        without: Without::WholeIndex,
    },
    Question {
        command: "sources",
        answered: &["snapshots"],
        refused: &[],
        paths: &[],
        without: Without::WholeIndex,
    },
    Question {
        command: "sql",
        answered: &["below", "format", "paths", "query", "timeout"],
        refused: &[
            ("file", READS_WORDS),
            ("memory_limit", ITS_LIMITS),
            ("output", WRITES),
            ("tables", READS_WORDS),
            ("temp_dir", WRITES),
            ("threads", ITS_LIMITS),
        ],
        paths: &["below"],
        without: Without::WholeIndex,
    },
    Question {
        command: EXPORT,
        // The client makes the files.
        answered: &["force", "parquet", "part_rows", "paths", "tables"],
        refused: &[("threads", ITS_LIMITS)],
        paths: &["paths"],
        without: Without::WholeIndex,
    },
];

/// Returns whether the command is one that servers answer.
pub(super) fn is_question(given: &Given) -> bool {
    question(&given.command).is_some()
}

fn question(command: &str) -> Option<&'static Question> {
    QUESTIONS.iter().find(|one| one.command == command)
}

/// Returns whether find's own words name an index.
pub(super) fn names_index(given: &Given) -> bool {
    given.command == FIND && find::names_index(given.values_of(find::WORDS))
}

/// Returns the paths that the question is about: those that were given, else the working directory
/// if the command then asks about it.
pub(super) fn paths(arguments: &Arguments) -> Vec<OsString> {
    let given = &arguments.given;
    let Some(question) = question(&given.command) else {
        return Vec::new();
    };
    let named = match given.command.as_str() {
        FIND => return find::start_points(given.values_of(find::WORDS)),
        "grep" => grep_names(given).to_vec(),
        "diff" => vec![crate::diff::path_of(given.values_of("words"))],
        _ => {
            let named = question.paths.iter().flat_map(|id| given.values_of(id));
            named.cloned().collect()
        }
    };
    match question.without {
        Without::WorkingDirectory if named.is_empty() => vec![".".into()],
        _ => named,
    }
}

/// Returns why this machine does not send the question, if there is a reason.
pub(super) fn why_not_from_here(arguments: &Arguments) -> Option<String> {
    let command = &arguments.given.command;
    if !is_question(&arguments.given) {
        return Some(format!(
            "trawl {command} is not answered by servers: leave out --remote"
        ));
    }
    let why = why_not(arguments)?;
    Some(format!("{why} (--remote here asks this machine)"))
}

/// Checks that the command line may be answered for a client.
///
/// # Errors
/// If it may not, with the reason.
pub(super) fn check(arguments: &Arguments) -> Result<(), Failure> {
    match why_not(arguments) {
        Some(why) => Err(Failure::Usage(why)),
        None => Ok(()),
    }
}

/// Returns why a server does not answer the command line, if it does not.
fn why_not(arguments: &Arguments) -> Option<String> {
    let given = &arguments.given;
    let command = &given.command;
    let refuse = |what: &str, why: &str| Some(format!("a server does not answer {what}: {why}"));
    let Some(question) = question(command) else {
        return refuse(&format!("trawl {command}"), "it is no question about files");
    };
    if command == EXPORT && arguments.answers && !arguments.gives_rows {
        return refuse("trawl export", "the client has to take its files");
    }
    if let Some(action) = &given.action {
        return refuse(
            &format!("trawl {command} {action}"),
            "it changes something there",
        );
    }
    if arguments.answers && !arguments.remote.is_empty() {
        return refuse("--remote", OTHER_MACHINES);
    }
    if arguments.names_index {
        return refuse("--index", OTHER_INDEX);
    }
    if arguments.profile.is_some() {
        return refuse("--profile", WRITES);
    }
    for (id, _) in &given.values {
        if let Some(why) = question.why_refused(id) {
            let option = id.trim_end_matches("_behind").replace('_', "-");
            return refuse(&format!("--{option} of trawl {command}"), why);
        }
    }
    why_not_these_values(given)
}

impl Question {
    /// Returns why an option is refused; `None` if it is answered.
    fn why_refused(&self, id: &str) -> Option<&'static str> {
        if self.answered.contains(&id) || ALWAYS.contains(&id) {
            return None;
        }
        let mut refused = self.refused.iter().chain(NEVER);
        let found = refused.find(|(known, _)| *known == id);
        Some(found.map_or("it is not an option of questions", |(_, why)| why))
    }
}

const FIND: &str = "find";
const EXPORT: &str = "export";

/// Returns why the values of answered options are refused, if they are.
fn why_not_these_values(given: &Given) -> Option<String> {
    let names = match given.command.as_str() {
        FIND => return find::why_not_afar(given.values_of(find::WORDS)),
        "sql" if given.values_of("query").is_empty() => {
            return Some("a server has no shell for SQL: give the statement as an argument".into());
        }
        "set" => given.values_of("names"),
        "grep" => grep_names(given),
        _ => return None,
    };
    let named = names
        .iter()
        .find(|name| beside::leads_elsewhere(name.as_encoded_bytes()))?;
    let named = named.as_encoded_bytes().escape_ascii();
    Some(format!(
        "a server does not answer the name {named}: it contains a query, a command, a URL or a server"
    ))
}

/// Returns the names of sets that grep is given: the first word is the pattern unless `-e` gives one.
fn grep_names(given: &Given) -> &[OsString] {
    let words = given.values_of("words");
    let is_pattern = given.values_of("regexp").is_empty();
    words.get(usize::from(is_pattern)..).unwrap_or_default()
}

/// Returns why a predicate of find is refused; `None` if it is answered.
pub(super) fn predicate_is_refused(predicate: &Predicate) -> Option<&'static str> {
    const ANSWERED: &[&str] = &[
        "-json",
        "-limit",
        "-ls",
        "-print",
        "-print0",
        "-printf",
        "-prune",
        "-quit",
        "-snippets",
        "-sort",
    ];
    if let Some(why) = super::mapped::predicate_is_refused(predicate.name) {
        return Some(why);
    }
    match predicate.name {
        "-files0-from" => Some("it would read a file on the server"),
        "-delete" => Some(
            "it would delete on the server; where the tree is mounted, use --remote here, or pipe -print0",
        ),
        "-exec" | "-execdir" | "-ok" | "-okdir" => Some(
            "it would run a command on the server; where the tree is mounted, use --remote here, or pipe -print0",
        ),
        "-fls" | "-fprint" | "-fprint0" | "-fprintf" => {
            Some("it would write a file on the server; redirect standard output instead")
        }
        name if predicate.kind == Kind::Action && !ANSWERED.contains(&name) => {
            Some("it is not an action of questions")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_of_a_question_is_answered_or_refused_with_a_reason() {
        let mut command = crate::arguments::command();
        command.build();
        let mut wrong = Vec::new();
        for question in QUESTIONS {
            let command = command
                .find_subcommand(question.command)
                .expect("a command");
            let ids: Vec<&str> = command
                .get_arguments()
                .map(|one| one.get_id().as_str())
                .collect();
            let refused = question.refused.iter().map(|(id, _)| *id);
            let listed: Vec<&str> = question.answered.iter().copied().chain(refused).collect();
            for id in &ids {
                let count = listed.iter().filter(|one| *one == id).count();
                let is_general = ALWAYS.contains(id) || NEVER.iter().any(|(known, _)| known == id);
                if count != usize::from(!is_general) {
                    wrong.push(format!("{} {id}: listed {count} times", question.command));
                }
            }
            for id in listed.iter().chain(question.paths) {
                if !ids.contains(id) {
                    wrong.push(format!("{} has no {id}", question.command));
                }
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    /// Returns the spellings of an option, each with and without a value: whole and abbreviated, as
    /// a letter, and behind other letters.
    fn spellings(option: &clap::Arg) -> Vec<Vec<String>> {
        let mut names: Vec<String> = Vec::new();
        for long in option.get_long_and_visible_aliases().into_iter().flatten() {
            names.extend((1..=long.len()).map(|end| format!("--{}", &long[..end])));
        }
        for short in option.get_short_and_visible_aliases().into_iter().flatten() {
            names.extend(["-", "-a", "-s"].map(|before| format!("{before}{short}")));
        }
        let mut spellings: Vec<Vec<String>> = Vec::new();
        for name in names {
            for value in ["2", "1G", "/x"] {
                spellings.push(vec![name.clone(), value.into()]);
                spellings.push(vec![format!("{name}={value}")]);
                spellings.push(vec![format!("{name}{value}")]);
            }
            spellings.push(vec![name]);
        }
        spellings
    }

    #[test]
    fn every_spelling_of_a_refused_option_is_refused() {
        let mut command = crate::arguments::command();
        command.build();
        let mut parsed = 0;
        // What stands behind find is read by find itself.
        for question in QUESTIONS.iter().filter(|one| one.command != FIND) {
            let name = question.command;
            let known = command.find_subcommand(name).expect("a command");
            for (id, _) in question.refused.iter().chain(NEVER) {
                let Some(option) = known.get_arguments().find(|one| one.get_id() == id) else {
                    continue;
                };
                for spelling in spellings(option) {
                    for at in [2, 3] {
                        let mut words: Vec<String> = ["trawl", name, "/x"].map(String::from).into();
                        words.splice(at..at, spelling.clone());
                        let read = crate::arguments::parse(words.iter().map(Into::into).collect());
                        let Ok(read) = read else { continue };
                        if read.given.values.iter().any(|(given, _)| given == id) {
                            parsed += 1;
                            assert!(why_not(&read).is_some(), "{words:?} is answered");
                        }
                    }
                }
            }
        }
        // Some options need others beside them.
        assert!(parsed > 100, "only {parsed} spellings are read");
    }

    #[test]
    fn every_spelling_of_an_option_of_find_is_refused() {
        for spelling in [
            "-i /x",
            "--index /x",
            "--index=/x",
            "--profile /x",
            "--profile=/x",
        ] {
            for before in ["", "--json ", "--at=-1 ", "--max-age 5s -0 "] {
                let line = format!("trawl find {before}{spelling} /y");
                let words = line.split(' ').map(Into::into).collect();
                let read = crate::arguments::parse(words).expect("find reads its words later");
                assert!(why_not(&read).is_some(), "{line}");
            }
        }
    }
}
