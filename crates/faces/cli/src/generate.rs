//! Completions and manual pages, generated from the definition of the command line and from find's
//! table of predicates. Pure: the same program generates the same bytes.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::commands::{Class, IndexOption, Setting, Spec};
use crate::exit::Exit;
use crate::failure::{Failure, cause, quoted};
use crate::manual;
use crate::output::{Device, Output};

/// A shell for which completions are generated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Shell {
    /// Bourne-again shell.
    Bash,
    /// Z shell.
    Zsh,
    /// Fish.
    Fish,
}

// Options of `trawl man`.
#[derive(Debug, clap::Args)]
pub(crate) struct ManArgs {
    /// Show the page of this command [default: trawl itself]
    #[arg(value_name = "COMMAND", conflicts_with = "output")]
    command: Option<OsString>,
    /// Write the pages of all commands into DIR instead
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
}

// Options of `trawl completions`.
#[derive(Debug, clap::Args)]
pub(crate) struct CompletionsArgs {
    /// Print completions for this shell
    #[arg(value_enum)]
    shell: Shell,
}

impl Spec for CompletionsArgs {
    const ABOUT: &'static str = "Print shell completions";
    const CLASS: Class = Class::Other;
    const INDEX: IndexOption = IndexOption::None;
    const EXAMPLES: &'static [(&'static str, &'static str)] =
        &[("trawl completions bash > /etc/bash_completion.d/trawl", "")];
    const SEE_ALSO: &'static [&'static str] = &["bash(1)"];

    fn run(&self, _: Setting<'_>) -> Result<Exit, Failure> {
        print_completions(self.shell)
    }
}

impl Spec for ManArgs {
    const ABOUT: &'static str = "Show a manual page";
    const CLASS: Class = Class::Other;
    const INDEX: IndexOption = IndexOption::None;
    const EXAMPLES: &'static [(&'static str, &'static str)] = &[
        ("trawl man find", "show the page of trawl find"),
        ("trawl man find | man -l -", "show the page from a pipe"),
        ("trawl man --output /usr/local/share/man/man1", ""),
    ];
    const SEE_ALSO: &'static [&'static str] = &["man(1)", "trawl-help(1)"];

    fn run(&self, _: Setting<'_>) -> Result<Exit, Failure> {
        man(self)
    }
}

/// Returns the completion script for a shell.
pub fn completions(shell: Shell) -> Vec<u8> {
    let predicates = trawl_find::registry()
        .iter()
        .flat_map(|predicate| predicate.names());
    let words = clap::builder::PossibleValuesParser::new(predicates.filter(|name| name.len() > 2));
    let mut command = crate::arguments::command();
    // Options exist only after `build`.
    command.build();
    let mut command = command.mut_subcommand("find", |find| {
        find.mut_arg("arguments", |argument| argument.value_parser(words))
    });
    let mut out = Vec::new();
    let generator = match shell {
        Shell::Bash => clap_complete::Shell::Bash,
        Shell::Zsh => clap_complete::Shell::Zsh,
        Shell::Fish => clap_complete::Shell::Fish,
    };
    clap_complete::generate(generator, &mut command, "trawl", &mut out);
    if shell == Shell::Fish {
        out.extend(fish_predicates().bytes());
    }
    out
}

/// Returns completions for options with one dash, which fish supports and clap does not.
fn fish_predicates() -> String {
    let mut out = String::new();
    for predicate in trawl_find::registry() {
        let help = predicate.help.replace('\\', "\\\\").replace('\'', "\\'");
        let words = predicate.names().filter_map(|name| name.strip_prefix('-'));
        for word in words.filter(|word| word.len() > 1) {
            out.push_str(&format!(
                "complete -c trawl -n '__fish_seen_subcommand_from find' -o {word} -d '{help}'\n"
            ));
        }
    }
    out
}

/// Returns every manual page by file name: `trawl.1` and one for each command.
///
/// # Errors
/// Never fails in practice: pages are written to memory.
pub fn man_pages() -> std::io::Result<BTreeMap<String, Vec<u8>>> {
    let mut command = crate::arguments::command();
    command = command.mut_subcommand("find", |find| find.after_help(crate::find::help()));
    command.build();
    let mut pages = BTreeMap::new();
    pages.insert("trawl.1".to_owned(), page(command.clone())?);
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        pages.insert(format!("trawl-{}.1", sub.get_name()), page(sub.clone())?);
    }
    Ok(pages)
}

fn page(command: clap::Command) -> std::io::Result<Vec<u8>> {
    let mut out = Vec::new();
    // Without a date, pages are identical from one build to the next.
    let source = concat!("trawl ", env!("CARGO_PKG_VERSION"));
    let about = manual::of(command.get_name());
    let notes = command.get_after_help().map(ToString::to_string);
    let is_trawl = command.get_name() == "trawl";
    let parts: Vec<clap::Command> = command.get_subcommands().cloned().collect();
    let page = clap_mangen::Man::new(command)
        .source(source)
        .manual("Trawl");
    page.render_title(&mut out)?;
    page.render_name_section(&mut out)?;
    page.render_synopsis_section(&mut out)?;
    page.render_description_section(&mut out)?;
    page.render_options_section(&mut out)?;
    if is_trawl {
        page.render_subcommands_section(&mut out)?;
    } else if !parts.is_empty() {
        out.write_all(b".SH COMMANDS\n")?;
        for part in parts.into_iter().filter(|part| !part.is_hide_set()) {
            write_part(part, &mut out)?;
        }
    }
    out.write_all(about.sections(&notes.unwrap_or_default()).as_bytes())?;
    Ok(out)
}

/// Writes what a page says of a command below its own, which has no page: what it does, and its
/// options.
fn write_part(part: clap::Command, out: &mut Vec<u8>) -> std::io::Result<()> {
    let name = part.get_bin_name().unwrap_or_else(|| part.get_name());
    writeln!(out, ".SS \"{}\"", name.replace('-', "\\-"))?;
    let about = part
        .get_about()
        .map(ToString::to_string)
        .unwrap_or_default();
    writeln!(out, "{}", about.replace('\\', "\\\\").replace('-', "\\-"))?;
    let mut options = Vec::new();
    let has_help = part.get_arguments().any(|option| option.get_id() == "help");
    let part = match has_help {
        true => part.mut_arg("help", |help| help.hide(true)),
        false => part,
    };
    clap_mangen::Man::new(part).render_options_section(&mut options)?;
    // Its heading would begin a section of the page.
    let heading = b".SH OPTIONS\n";
    let at = options
        .windows(heading.len())
        .position(|window| window == heading);
    out.write_all(&options[at.map_or(0, |at| at + heading.len())..])
}

/// Prints the completion script for a shell.
fn print_completions(shell: Shell) -> Result<Exit, Failure> {
    let mut output = Output::stdout().with_own_controls();
    output.put(completions(shell))?;
    output.finish()?;
    Ok(Exit::Complete)
}

/// Shows a manual page, or writes all of them. On a terminal man(1) shows the page with its pager;
/// elsewhere the page goes to standard output unformatted, for `man -l -` and other formatters.
fn man(args: &ManArgs) -> Result<Exit, Failure> {
    let pages = man_pages().map_err(Failure::Write)?;
    if let Some(directory) = &args.output {
        return write_pages(directory, pages);
    }
    let name = args.command.as_ref().map(|name| name.to_string_lossy());
    let file = match name.as_deref() {
        None | Some("trawl") => "trawl.1".to_owned(),
        Some(name) => format!("trawl-{name}.1"),
    };
    let Some(page) = pages.get(&file) else {
        let name = quoted(name.unwrap_or_default().as_bytes());
        let text = format!("there is no command {name}: trawl help lists the commands");
        return Err(Failure::Usage(text));
    };
    if Device::of_stdout() == Device::Terminal {
        return show(page);
    }
    let mut output = Output::stdout();
    output.put(page)?;
    output.finish()?;
    Ok(Exit::Complete)
}

/// Shows a page with man(1).
fn show(page: &[u8]) -> Result<Exit, Failure> {
    let failed = |error: std::io::Error| {
        let why = cause(&error);
        let text = format!(
            "cannot run man: {why}; install it (man-db), or see the same with trawl help COMMAND"
        );
        Failure::Usage(text)
    };
    let mut command = Command::new("man");
    command.args(["-l", "-"]).stdin(Stdio::piped());
    let mut man = command.spawn().map_err(failed)?;
    if let Some(mut input) = man.stdin.take() {
        // man(1) may end before it has read everything; then it reports why itself.
        let _ = input.write_all(page);
    }
    let ended = man.wait().map_err(failed)?;
    Ok(match (ended.success(), ended.signal()) {
        (true, _) => Exit::Complete,
        // A pager that was interrupted has shown the page.
        (false, Some(_)) => Exit::Interrupted,
        (false, None) => Exit::Fatal,
    })
}

fn write_pages(directory: &Path, pages: BTreeMap<String, Vec<u8>>) -> Result<Exit, Failure> {
    for (name, bytes) in pages {
        let path = directory.join(name);
        std::fs::write(&path, bytes).map_err(|source| Failure::File {
            action: "write",
            path: path.clone(),
            source,
        })?;
    }
    Ok(Exit::Complete)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_page_for_every_command() {
        let pages = man_pages().unwrap();
        for name in [
            "trawl.1",
            "trawl-index.1",
            "trawl-find.1",
            "trawl-ls.1",
            "trawl-du.1",
        ] {
            let text = String::from_utf8_lossy(&pages[name]);
            assert!(text.contains(".SH OPTIONS"), "{name}: {text}");
        }
        let token = String::from_utf8_lossy(&pages["trawl-token.1"]);
        assert!(token.contains(".SS \"trawl token create\""), "{token}");
        assert!(token.contains("\\-\\-expires"), "{token}");
        for (name, page) in &pages {
            let page = String::from_utf8_lossy(page);
            for word in page.split_whitespace().filter(|word| word.ends_with("(1)")) {
                let word = word.replace('\\', "");
                let other = format!("{}.1", word.trim_end_matches("(1)"));
                let is_ours = word.starts_with("trawl-");
                assert!(!is_ours || pages.contains_key(&other), "{name}: {word}");
            }
        }
        let find = String::from_utf8_lossy(&pages["trawl-find.1"]);
        assert!(find.contains("mtime"), "{find}");
        assert_eq!(man_pages().unwrap(), pages);
    }

    #[test]
    fn every_shell_knows_every_command() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let script = String::from_utf8(completions(shell)).unwrap();
            for word in ["index", "sources", "stats", "mtime"] {
                assert!(script.contains(word), "{shell:?} lacks {word}");
            }
        }
    }
}
