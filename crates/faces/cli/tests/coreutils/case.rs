//! One question with random options and environment, asked of both programs.

use std::path::PathBuf;
use std::process::Command;

use trawl_testkit::lines::{Ending, Order, difference};
use trawl_testkit::oracle::{self, Identity, Ran};
use trawl_testkit::prng::Prng;
use trawl_testkit::skip;

use crate::site::Site;

/// Default number of cases.
const CASES: u64 = 300;
/// User id of an ordinary user.
const USER: u32 = 60_001;

/// The set from which a test draws its cases.
pub(crate) struct Deck {
    pub(crate) tool: &'static str,
    /// Groups of options; at most one option of each group is drawn.
    pub(crate) options: &'static [&'static [&'static str]],
    /// Environment variables and their values.
    pub(crate) variables: &'static [(&'static str, &'static [&'static str])],
    pub(crate) arguments: &'static [&'static str],
    /// Returns whether the order of lines is compared with these options.
    pub(crate) order: fn(&[&str]) -> Order,
    /// Returns true for combinations that are left out.
    pub(crate) left_out: fn(&[&str]) -> bool,
}

fn number(variable: &str, or_else: u64) -> u64 {
    let asked = std::env::var(variable).ok();
    asked.and_then(|text| text.parse().ok()).unwrap_or(or_else)
}

/// A drawn question.
struct Case {
    options: Vec<&'static str>,
    arguments: Vec<&'static str>,
    variables: Vec<(&'static str, &'static str)>,
    identity: Identity,
}

/// Runs as many cases as were asked for.
pub(crate) fn run(site: &Site, deck: &Deck) {
    let first = number("TRAWL_SEED", 1);
    let cases = number("TRAWL_CASES", CASES);
    let mut answered = 0;
    let mut failures = Vec::new();
    for seed in first..first + cases {
        let case = Case::draw(&mut Prng::new(seed), deck);
        if (deck.left_out)(&case.options) {
            continue;
        }
        let (theirs, ours) = case.ask(site, deck.tool);
        answered += usize::from(!theirs.stdout.is_empty());
        if let Some(why) = case.differs(deck, &theirs, &ours) {
            failures.push(format!(
                "TRAWL_SEED={seed} {}: {why}",
                case.describe(deck.tool)
            ));
        }
        if failures.len() == 10 {
            break;
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    let most = usize::try_from(cases / 3).expect("small");
    assert!(answered > most, "most cases say nothing: {answered}");
}

impl Case {
    fn draw(prng: &mut Prng, deck: &Deck) -> Case {
        let mut options = Vec::new();
        for group in deck.options {
            // Only a few at a time, so that their effect shows.
            if prng.once_in(u64::try_from(deck.options.len() / 4 + 1).expect("small")) {
                options.push(*prng.pick(group));
            }
        }
        // In random order, because the last one of some options counts.
        for at in (1..options.len()).rev() {
            let other = usize::try_from(prng.below(at as u64 + 1)).expect("small");
            options.swap(at, other);
        }
        let count = prng.below(4);
        let arguments = (0..count).map(|_| *prng.pick(deck.arguments)).collect();
        let mut variables = Vec::new();
        for (name, values) in deck.variables {
            if prng.once_in(6) {
                variables.push((*name, *prng.pick(values)));
            }
        }
        let identity = match skip::is_root() && prng.once_in(3) {
            true => Identity::user(USER),
            false => Identity::Ourselves,
        };
        Case {
            options,
            arguments,
            variables,
            identity,
        }
    }

    fn ask(&self, site: &Site, tool: &str) -> (Ran, Ran) {
        let trawl: PathBuf = site.scratch.join("trawl");
        let words = |command: &mut Command| {
            command.args(&self.options).args(&self.arguments);
            command.env_remove("TERM").env_remove("COLORTERM");
            command.env_remove("TABSIZE").current_dir(site.tree());
            command.envs(self.variables.iter().copied());
        };
        let mut theirs = self.identity.command(tool);
        words(&mut theirs);
        let mut ours = self.identity.command(&trawl);
        ours.arg("-i").arg(site.index_dir()).arg(tool);
        words(&mut ours);
        (oracle::run(&mut theirs), oracle::run(&mut ours))
    }

    fn differs(&self, deck: &Deck, theirs: &Ran, ours: &Ran) -> Option<String> {
        let order = (deck.order)(&self.options);
        let zero = ["--zero", "-0"];
        let ending = match self.options.iter().any(|option| zero.contains(option)) {
            true => Ending::Zero,
            false => Ending::Newline,
        };
        if let Some(lines) = difference(&theirs.stdout, &ours.stdout, order, ending) {
            return Some(format!("{lines}{ours}\n{theirs}"));
        }
        let same_code = match theirs.code {
            Some(0) => ours.code == Some(0),
            _ => ours.code.is_some_and(|code| code != 0),
        };
        (!same_code).then(|| format!("exit codes differ\n{ours}\n{theirs}"))
    }

    fn describe(&self, tool: &str) -> String {
        let variables: Vec<String> = self
            .variables
            .iter()
            .map(|(name, value)| format!("{name}={value:?} "))
            .collect();
        let words = [&self.options[..], &self.arguments[..]].concat().join(" ");
        format!("{}{tool} {words} ({:?})", variables.concat(), self.identity)
    }
}
