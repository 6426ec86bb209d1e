//! The generated completions in their shells: they load, and offer the commands, their options, and
//! find's own words.

use trawl_testkit::oracle::{self, Ran};
use trawl_testkit::skip;

use crate::site::Site;

/// Typed words, and their completions.
const TYPED: &[(&str, &str)] = &[
    ("trawl compl", "trawl completions"),
    ("trawl ls --group-d", "trawl ls --group-directories-first"),
    ("trawl du --files0", "trawl du --files0-from"),
    ("trawl find . -na", "trawl find . -name"),
    (
        "trawl find . -name x -max",
        "trawl find . -name x -maxdepth",
    ),
    ("trawl --status find . -mti", "trawl --status find . -mtime"),
];

/// Writes the script for a shell under `name`, and returns its path.
fn script(site: &Site, shell: &str, name: &str) -> String {
    let ran = site.run(&format!("completions {shell}")).expect_code(0);
    let path = site.scratch.join(name);
    std::fs::write(&path, ran.stdout).expect("a file");
    path.display().to_string()
}

fn run(shell: &str, arguments: &[&str], text: &str) -> Ran {
    let mut command = oracle::command(shell);
    command.args(arguments).arg("-c").arg(text);
    // Shells keep their caches below here.
    command.env("HOME", "/nonexistent").env("TERM", "dumb");
    oracle::run(&mut command)
}

#[test]
fn bash_completes_commands_options_and_predicates() {
    if let Some(skip) = skip::without_program("completions for bash", "bash") {
        return skip.say();
    }
    let site = Site::empty("completions-bash");
    let path = script(&site, "bash", "trawl.bash");
    for (typed, becomes) in TYPED {
        let text = format!(
            "source {path}; COMP_WORDS=({typed}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
             _trawl trawl \"${{COMP_WORDS[COMP_CWORD]}}\" \"${{COMP_WORDS[COMP_CWORD-1]}}\"; \
             printf '%s\\n' \"${{COMPREPLY[@]}}\""
        );
        let ran = run("bash", &["--norc"], &text);
        let last = becomes.split(' ').next_back().expect("a word");
        assert!(
            ran.text().lines().any(|word| word == last),
            "{typed}: {ran}{}",
            ran.text()
        );
        assert_eq!(ran.errors(), "", "{typed}");
    }
}

#[test]
fn fish_completes_commands_options_and_predicates() {
    if let Some(skip) = skip::without_program("completions for fish", "fish") {
        return skip.say();
    }
    let site = Site::empty("completions-fish");
    let path = script(&site, "fish", "trawl.fish");
    for (typed, becomes) in TYPED {
        let text = format!("source {path}; complete -C '{typed}'");
        let ran = run("fish", &["--no-config"], &text);
        let last = becomes.split(' ').next_back().expect("a word");
        let mut offered = ran.stdout.split(|b| *b == b'\n');
        let found = offered.any(|line| {
            let word = line.split(|b| *b == b'\t').next().unwrap_or_default();
            word.strip_suffix(b"=").unwrap_or(word) == last.as_bytes()
        });
        assert!(found, "{typed}: {ran}{}", ran.text());
    }
}

/// Types keys into a shell on a terminal of its own. A function in place of the program prints the
/// line that the shell then runs.
#[test]
fn zsh_completes_commands_options_and_predicates() {
    if let Some(skip) = skip::without_program("completions for zsh", "zsh") {
        return skip.say();
    }
    let site = Site::empty("completions-zsh");
    script(&site, "zsh", "_trawl");
    let folder = site.scratch.path().display();
    for (typed, becomes) in TYPED {
        let text = format!(
            "zmodload zsh/zpty; zpty shell zsh -f -i; \
             zpty -w shell \"fpath=({folder} \\$fpath); autoload -Uz compinit; compinit -u -D\"; \
             zpty -w shell 'trawl() {{ print -r -- \"<trawl\" $* \">\" }}; setopt no_beep'; \
             sleep 0.5; zpty -w -n shell $'{typed}\\t'; sleep 1; zpty -w -n shell $'\\n'; \
             zpty -r -m shell out '*<trawl [^$]*>*'; print -r -- \"$out\"; zpty -d shell"
        );
        // A shell that does not answer must not block the test.
        let ran = run("timeout", &["20", "zsh", "-f"], &text);
        let line = format!("<{becomes}");
        assert!(ran.text().contains(&line), "{typed}: {ran}{}", ran.text());
    }
}
