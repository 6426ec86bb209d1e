//! Runs a command for each entry: `-exec … ;`. True if the command ended with
//! code 0.

use std::ffi::OsString;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;

use trawl_model::rows::Row;
use trawl_sys::command::Input;
use trawl_text::quote;

use super::beside::Beside;
use super::launch::{Outcome, launch};
use super::{Consent, Where, consent};
use crate::context::Context;
use crate::leaf::{Effect, Leaf};
use crate::reference::error_text;
use trawl_sys::command::{Limits, fill_in};

/// A command whose words are filled in for each entry.
#[derive(Debug)]
pub(super) struct Single {
    words: Vec<Vec<u8>>,
    place: Where,
    consent: Consent,
    limits: Limits,
}

impl Single {
    pub(super) fn new(
        words: Vec<Vec<u8>>,
        place: Where,
        consent: Consent,
        limits: Limits,
    ) -> Single {
        Single {
            words,
            place,
            consent,
            limits,
        }
    }

    fn filled_in(&self, entry: &[u8]) -> Option<Vec<OsString>> {
        let words = self.words.iter().map(|word| fill_in(word, entry));
        let words: Vec<OsString> = words.collect();
        let bytes: usize = words.iter().map(|word| word.as_bytes().len() + 1).sum();
        (bytes <= self.limits.bytes).then_some(words)
    }

    fn run(&self, row: &Row<'_>, path: &[u8], cx: &mut Context<'_>) -> Outcome {
        let (dir, entry) = match self.place {
            Where::Start => (None, path.to_vec()),
            Where::Beside => match Beside::of(row, path, cx) {
                Ok(beside) => (beside.dir, beside.name),
                Err(error) => {
                    complain(path, &error.into(), cx);
                    return Outcome::Failure;
                }
            },
        };
        let Some(words) = self.filled_in(&entry) else {
            cx.complain("argument list too long");
            cx.quit = true;
            return Outcome::Failure;
        };
        let input = match self.consent {
            Consent::Given => Input::Inherited,
            Consent::Asked => Input::Nothing,
        };
        launch(&words, dir.as_ref().map(AsFd::as_fd), input, |_| {}, cx)
    }
}

impl Leaf for Single {
    fn eval(&self, row: &Row<'_>, cx: &mut Context<'_>) -> bool {
        let path = cx.path(row).to_vec();
        let program = self.words.first().map_or(&b""[..], Vec::as_slice);
        if self.consent == Consent::Asked && !consent::is_given(program, &path, cx) {
            return false;
        }
        self.run(row, &path, cx) == Outcome::Success
    }

    fn effect(&self) -> Effect {
        Effect::Change
    }

    fn command(&self) -> Option<&[u8]> {
        let (program, arguments) = self.words.split_first()?;
        let is_given = |word: &Vec<u8>| word.windows(2).any(|two| two == b"{}");
        let is_sure = self.consent == Consent::Given && arguments.iter().any(is_given);
        is_sure.then_some(program)
    }
}

/// Reports why the command cannot be run in the entry's directory.
pub(super) fn complain(path: &[u8], error: &std::io::Error, cx: &mut Context<'_>) {
    let quoted = quote::message(path, cx.world.locale);
    let why = error_text(error);
    cx.complain(&format!(
        "Failed to save working directory in order to run a command on {quoted}: {why}"
    ));
}
