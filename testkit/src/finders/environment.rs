//! Environment variables for finders, and locales made for them.

use std::path::PathBuf;

use super::case::Case;
use crate::oracle::{command, run};
use crate::prng::Prng;
use crate::scratch::Scratch;
use crate::skip::Skip;

/// Locales, each with its definition and character map.
const WANTED: &[(&str, &str, &str)] = &[
    ("fr_FR.UTF-8", "fr_FR", "UTF-8"),
    ("ja_JP.EUC-JP", "ja_JP", "EUC-JP"),
];

/// Locales in a directory of their own.
#[derive(Debug, Default)]
pub struct Locales {
    scratch: Option<Scratch>,
    names: Vec<&'static str>,
}

impl Locales {
    /// Makes the locales that can be made; reports the others.
    pub fn build() -> Locales {
        let scratch = Scratch::new("finders-locales");
        let mut names = Vec::new();
        for &(name, definition, map) in WANTED {
            let mut line = command("sh");
            let script = "localedef -i \"$1\" -f \"$2\" --no-archive \"$3\" 2>&1";
            let path = scratch.join(name);
            line.args(["-c", script, "_", definition, map]).arg(&path);
            let ran = run(&mut line);
            match ran.code {
                Some(0) => names.push(name),
                _ => {
                    let why = ran.text().lines().next().unwrap_or_default().to_owned();
                    Skip::new(format!("finders in {name}"), why).say();
                }
            }
        }
        Locales {
            scratch: Some(scratch),
            names,
        }
    }

    /// Returns whether this locale was made.
    pub fn has(&self, name: &str) -> bool {
        self.names.contains(&name)
    }

    /// Returns their directory.
    fn path(&self) -> Option<PathBuf> {
        let scratch = self.scratch.as_ref()?;
        Some(scratch.path().to_path_buf())
    }

    /// Returns variables that choose this locale; messages stay in the program's language.
    pub fn variables(&self, name: &str) -> Vec<(String, String)> {
        let path = self.path().unwrap_or_default();
        [
            ("LOCPATH", path.to_string_lossy().into_owned()),
            ("LANGUAGE", "en".into()),
            ("LC_ALL", name.into()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .to_vec()
    }
}

/// Returns the locale that a command line runs in, if it is one of ours.
pub fn language(case: &Case) -> Option<&str> {
    let is_locale = |(name, value): &&(String, String)| {
        name == "LC_ALL" && WANTED.iter().any(|wanted| wanted.0 == value)
    };
    case.env.iter().find(is_locale).map(|(_, value)| &value[..])
}

/// Draws the variables of a command line.
pub(super) fn draw(prng: &mut Prng, locales: &Locales) -> Vec<(String, String)> {
    let mut env = Vec::new();
    let zones = [
        "Europe/Berlin",
        "America/St_Johns",
        "UTC+5",
        "EST5EDT",
        "Asia/Kathmandu",
        "",
    ];
    for (name, values, rarity) in [
        ("LC_ALL", &["C", "POSIX", "C.UTF-8", "C.utf8"][..], 4),
        ("TZ", &zones, 8),
        ("POSIXLY_CORRECT", &["1"], 20),
    ] {
        if prng.once_in(rarity) {
            env.push((name.to_owned(), (prng.word(values)).to_owned()));
        }
    }
    if !locales.names.is_empty() && prng.once_in(10) {
        env.retain(|(name, _)| name != "LC_ALL");
        env.extend(locales.variables(prng.word(&locales.names)));
    }
    env
}
