//! Sections of manual pages besides the options: notes and examples (from the help text, else from
//! the command's row in the table of commands), files, environment and related pages. Pure.
//!
//! Each page has the sections EXAMPLES, FILES, ENVIRONMENT and SEE ALSO. A help text is laid out
//! for a terminal: a line indented by two columns is an item, and the text after two spaces in it,
//! or far to the right below it, describes the item. Here it becomes paragraphs and items of
//! man(7), so that pages fit every width.

use std::fmt::Write;

use crate::commands::entry;

/// The additional sections of a command's page.
#[derive(Debug)]
pub(crate) struct About {
    command: String,
    /// Examples besides those of the help text.
    examples: &'static [(&'static str, &'static str)],
    see_also: &'static [&'static str],
}

/// Related pages of the page about the program.
const SEE_ALSO: &[&str] = &[
    "trawl-find(1)",
    "trawl-index(1)",
    "trawl-watch(1)",
    "find(1)",
    "locate(1)",
];

/// A file or a variable, its purpose, and the pages that list it; an empty list means all pages.
type Item = (&'static str, &'static str, &'static [&'static str]);

#[rustfmt::skip]
const FILES: &[Item] = &[
    ("/var/lib/trawl", "The superuser's index. Users without an index of their own ask this one.", &[]),
    ("$XDG_DATA_HOME/trawl or ~/.local/share/trawl", "A user's own index.", &[]),
    ("/etc/trawl/remote, ~/.config/trawl/remote", "The servers that answer questions about paths.", &[]),
    ("/etc/default/trawld", "The trees that trawld.service watches.", &["watch", "trawl"]),
    ("/var/lib/trawl-http", "The sessions and tokens of the service.", &["token", "serve"]),
    ("/etc/trawl/server.pem, server.key, clients.pem", "The server's certificate and key, and who signs certificates of clients.", &["serve"]),
    ("/etc/pam.d/SERVICE", "How --pam checks passwords.", &["serve"]),
    ("/etc/trawl/exports", "The directories that other machines may see.", &["serve"]),
    ("/etc/trawl/users", "The user for each client certificate.", &["serve"]),
];

#[rustfmt::skip]
const VARIABLES: &[Item] = &[
    ("TRAWL_INDEX", "The directory of the index, unless --index names one.", &[]),
    ("XDG_DATA_HOME, HOME", "The default directory of a user's own index.", &[]),
    ("LC_ALL, LC_CTYPE, LANG", "The character set of names, and how they are quoted in messages.", &[]),
    ("TZ", "The time zone of times in options and output.", &[]),
    ("NO_COLOR", "Turns colours off, unless --color asks for them.", &["ls", "trawl"]),
    ("TRAWL_FIND", "If set to index, the program asks the index even when it is called as find.", &["find"]),
    ("POSIXLY_CORRECT", "Selects the units, warnings and patterns of POSIX, as in the GNU tools.", &["find", "ls", "du", "locate"]),
    ("FIND_BLOCK_SIZE", "An error if it is set, as in GNU find.", &["find"]),
    ("LS_COLORS, TIME_STYLE, QUOTING_STYLE, COLUMNS, TABSIZE", "As in ls(1).", &["ls"]),
    ("BLOCK_SIZE, BLOCKSIZE", "The unit of sizes, as in the GNU tools.", &["ls", "du"]),
    ("LS_BLOCK_SIZE", "The unit of sizes, for ls only.", &["ls"]),
    ("DU_BLOCK_SIZE", "The unit of sizes, for du only.", &["du"]),
    ("QUOTING_STYLE", "How names are quoted, as in stat(1).", &["stat"]),
    ("XDG_STATE_HOME", "The directory in which the shell keeps its history.", &["sql"]),
    ("TRAWL_REMOTE", "The server that answers questions, unless --remote names one; here means this machine.", &[]),
    ("XDG_CONFIG_HOME", "The directory of the settings, in trawl. The default is ~/.config.", &[]),
    ("LD_PRELOAD, LD_AUDIT", "Set for the command; existing values follow trawl's.", &["run"]),
];

/// Returns the sections of a command's page besides its options.
pub(crate) fn of(command: &str) -> About {
    let entry = entry(command);
    About {
        command: command.to_owned(),
        examples: entry.map_or(&[], |entry| entry.examples),
        see_also: entry.map_or(SEE_ALSO, |entry| entry.see_also),
    }
}

impl About {
    /// Returns the sections after the options, in the language of man(7); `help` is the part of the
    /// help text after its options.
    pub(crate) fn sections(&self, help: &str) -> String {
        let mut notes = String::new();
        let mut examples = String::new();
        lay_out(help, &mut notes, &mut examples);
        for (line, about) in self.examples {
            item(&mut examples, line, about);
        }
        let mut out = String::new();
        for (title, text) in [("NOTES", notes), ("EXAMPLES", examples)] {
            if !text.is_empty() {
                let _ = write!(out, ".SH {title}\n{text}");
            }
        }
        for (title, items) in [("FILES", FILES), ("ENVIRONMENT", VARIABLES)] {
            let _ = writeln!(out, ".SH {title}");
            let here = items
                .iter()
                .filter(|(_, _, pages)| pages.is_empty() || pages.contains(&&self.command[..]));
            for (name, text, _) in here {
                item(&mut out, name, text);
            }
        }
        let main = (self.command != "trawl").then_some(&"trawl(1)");
        let pages = main.into_iter().chain(self.see_also);
        let pages: Vec<String> = pages.map(|page| reference(page)).collect();
        let _ = writeln!(out, ".SH SEE ALSO\n{}", pages.join(",\n"));
        out
    }
}

/// Formats `name(section)`, with the name in bold.
fn reference(page: &str) -> String {
    let (name, section) = page.split_once('(').unwrap_or((page, "1)"));
    format!("\\fB{}\\fR({section}", escaped(name))
}

/// A line of text, or an item, of a help text.
enum Block {
    Heading(String),
    Text(String),
    Item(String, String),
    Gap,
}

/// Column that tells continuation lines apart: those left of it belong to the item's name, those
/// right of it to its description.
const COLUMN_OF_TEXT: usize = 20;

fn blocks(help: &str) -> Vec<Block> {
    let mut found: Vec<Block> = Vec::new();
    for line in help.lines() {
        let words = line.trim_start();
        let indent = line.len() - words.len();
        match found.last_mut() {
            _ if words.is_empty() => found.push(Block::Gap),
            Some(Block::Item(name, about)) if indent > 2 => {
                let is_name = about.is_empty() && indent < COLUMN_OF_TEXT;
                let more = if is_name { name } else { about };
                if !more.is_empty() {
                    more.push(' ');
                }
                more.push_str(words);
            }
            _ if indent > 0 => {
                let (name, about) = words.split_once("  ").unwrap_or((words, ""));
                found.push(Block::Item(name.to_owned(), about.trim_start().to_owned()));
            }
            _ if words.ends_with(':') => found.push(Block::Heading(words.to_owned())),
            Some(Block::Text(text)) => {
                text.push('\n');
                text.push_str(words);
            }
            _ => found.push(Block::Text(words.to_owned())),
        }
    }
    found
}

/// Writes the notes and the examples of a help text, each to its own buffer.
fn lay_out(help: &str, notes: &mut String, examples: &mut String) {
    let mut is_example = false;
    for block in blocks(help) {
        match block {
            Block::Heading(heading) if heading == "Examples:" => is_example = true,
            Block::Heading(heading) => {
                is_example = false;
                let _ = writeln!(notes, ".SS \"{}\"", escaped(heading.trim_end_matches(':')));
            }
            Block::Text(text) => {
                is_example = false;
                let lines: Vec<String> = text.lines().map(escaped).collect();
                let _ = writeln!(notes, ".PP\n{}", lines.join("\n"));
            }
            Block::Item(name, about) => {
                item(if is_example { examples } else { notes }, &name, &about);
            }
            Block::Gap => {}
        }
    }
}

fn item(out: &mut String, name: &str, about: &str) {
    let _ = writeln!(out, ".TP\n\\fB{}\\fR", escaped(name));
    if !about.is_empty() {
        let _ = writeln!(out, "{}", escaped(about));
    }
}

/// Escapes text for man(7).
fn escaped(text: &str) -> String {
    let mut out = String::new();
    if text.starts_with(['.', '\'']) {
        out.push_str("\\&");
    }
    for character in text.chars() {
        match character {
            '\\' => out.push_str("\\e"),
            '-' => out.push_str("\\-"),
            '\'' => out.push_str("\\(aq"),
            '"' => out.push_str("\\(dq"),
            '`' => out.push_str("\\(ga"),
            '^' => out.push_str("\\(ha"),
            '~' => out.push_str("\\(ti"),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_help_text_becomes_paragraphs_and_items() {
        let help = "Of all.\nMore.\n\nExamples:\n  trawl a 'b'     what it\n                           does\n  trawl \"x\n      y\"\n\nEnd.";
        let text = of("none").sections(help);
        let (notes, rest) = text.split_once(".SH EXAMPLES\n").unwrap();
        assert_eq!(notes, ".SH NOTES\n.PP\nOf all.\nMore.\n.PP\nEnd.\n");
        let (examples, _) = rest.split_once(".SH FILES\n").unwrap();
        let expected = ".TP\n\\fBtrawl a \\(aqb\\(aq\\fR\nwhat it does\n\
                        .TP\n\\fBtrawl \\(dqx y\\(dq\\fR\n";
        assert_eq!(examples, expected);
    }

    #[test]
    fn every_page_has_a_row_with_all_sections() {
        for (name, page) in crate::generate::man_pages().unwrap() {
            let text = String::from_utf8(page).unwrap();
            let sections = text.lines().filter_map(|line| line.strip_prefix(".SH "));
            let sections: Vec<&str> = sections.collect();
            let last = ["EXAMPLES", "FILES", "ENVIRONMENT", "\"SEE ALSO\""];
            let last = last.map(|title| title.trim_matches('"'));
            assert!(sections.ends_with(&last), "{name}: {sections:?}");
            let command = name.trim_end_matches(".1").trim_start_matches("trawl-");
            assert!(command == "trawl" || entry(command).is_some(), "{name}");
        }
    }

    /// As man(1) shows pages: no line is cut or exceeds the window, and each example has its own line.
    #[test]
    fn pages_are_readable_in_eighty_columns() {
        use std::io::Write as _;
        if let Some(skip) = trawl_testkit::skip::without_program("pages on a terminal", "groff") {
            return skip.say();
        }
        for (name, page) in crate::generate::man_pages().unwrap() {
            let mut groff = trawl_testkit::oracle::command("groff");
            groff.args([
                "-man", "-Tutf8", "-Kutf8", "-ww", "-rLL=80n", "-P-c", "-P-bou",
            ]);
            groff.stdin(std::process::Stdio::piped());
            groff.stdout(std::process::Stdio::piped());
            groff.stderr(std::process::Stdio::piped());
            let mut running = groff.spawn().unwrap();
            running.stdin.take().unwrap().write_all(&page).unwrap();
            let ended = running.wait_with_output().unwrap();
            let warnings = String::from_utf8(ended.stderr).unwrap();
            assert_eq!(warnings, "", "{name}");
            let shown = String::from_utf8(ended.stdout).unwrap();
            for line in shown.lines() {
                assert!(line.chars().count() <= 80, "{name}: {line}");
            }
            let (_, examples) = shown.split_once("\nEXAMPLES\n").unwrap();
            let first = examples.lines().next().unwrap_or_default();
            assert!(
                first.starts_with("       ") && first.trim().len() > 4,
                "{name}: {first}"
            );
            assert!(!examples.contains("EXTRA"), "{name}");
        }
    }
}
