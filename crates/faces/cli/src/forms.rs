//! Options that choose the form of an answer. `--json`, `--csv` and `--arrow` are defined here and nowhere
//! else; a command says in its type of options which of them it offers.

use std::io::IsTerminal;
use std::marker::PhantomData;

use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Args, FromArgMatches};
use trawl_report::Form;

use crate::rows::NOT_FOR_TERMINALS;

/// The forms that a command offers besides text, and the help of their options.
pub(crate) trait Offer {
    /// Help of `--json`.
    const JSON: &'static str = "Print one JSON object per line";
    /// Help of `--csv`; `None` if the command has no such form.
    const CSV: Option<&'static str> = None;
    /// Help of `--arrow`; `None` if the command has no such form. Rows for CSV are rows for Arrow.
    const ARROW: Option<&'static str> = match Self::CSV {
        Some(_) => Some("Write an Arrow IPC stream"),
        None => None,
    };
    /// Help of `-0`, `--null`, if that is a form of its own instead of another end of text lines.
    const NULL: Option<&'static str> = None;

    /// Whether rows always go to standard output, so that `--arrow` is refused on a terminal.
    const TO_STDOUT: bool = true;

    /// Adds what the option `--json` requires or excludes.
    fn restricted(json: Arg) -> Arg {
        json
    }
}

/// The command offers JSON.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Objects;

impl Offer for Objects {}

/// The command offers JSON, CSV and Arrow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rows;

impl Offer for Rows {
    const CSV: Option<&'static str> = Some("Print comma-separated values with a header");
}

/// The options. The last one that was given counts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FormArgs<O> {
    form: Form,
    offer: PhantomData<O>,
}

impl<O> FormArgs<O> {
    /// Returns the form that was chosen.
    pub(crate) fn form(&self) -> Form {
        self.form
    }

    /// Returns true if JSON was chosen.
    pub(crate) fn is_json(&self) -> bool {
        self.form == Form::Json
    }
}

const JSON: &str = "json";
const CSV: &str = "csv";
const NULL: &str = "null";
const ARROW: &str = "arrow";

impl<O: Offer> Args for FormArgs<O> {
    fn augment_args(command: clap::Command) -> clap::Command {
        let option = |name: &'static str, help: &'static str| {
            let option = Arg::new(name).long(name).help(help);
            option.action(ArgAction::SetTrue)
        };
        let json = O::restricted(option(JSON, O::JSON));
        let csv = O::CSV.map(|help| option(CSV, help).overrides_with(JSON));
        let arrow = O::ARROW.map(|help| option(ARROW, help).overrides_with_all([JSON, CSV]));
        let null = O::NULL.map(|help| {
            let (first, more) = help.split_once("\n\n").unzip();
            let option = option(NULL, first.unwrap_or(help)).short('0');
            let option = option.long_help(more.map(|_| help));
            let others = [JSON].into_iter().chain(O::CSV.map(|_| CSV));
            let others = others.chain(O::ARROW.map(|_| ARROW));
            option.overrides_with_all(others)
        });
        command.arg(json).args(csv).args(arrow).args(null)
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        FormArgs::<O>::augment_args(command)
    }
}

impl<O: Offer> FromArgMatches for FormArgs<O> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<FormArgs<O>, clap::Error> {
        let is_given = |name| matches!(matches.try_get_one::<bool>(name), Ok(Some(true)));
        if O::TO_STDOUT && is_given(ARROW) && std::io::stdout().is_terminal() {
            let text = format!("{NOT_FOR_TERMINALS}\n");
            return Err(clap::Error::raw(ErrorKind::ArgumentConflict, text));
        }
        Ok(FormArgs {
            form: match (is_given(JSON), is_given(CSV)) {
                (true, _) => Form::Json,
                (_, true) => Form::Csv,
                _ if is_given(ARROW) => Form::Arrow,
                _ if O::NULL.is_some() && is_given(NULL) => Form::Null,
                _ => Form::Text,
            },
            offer: PhantomData,
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = FormArgs::from_arg_matches(matches)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form<O: Offer>(line: &str) -> Option<Form> {
        let command =
            FormArgs::<O>::augment_args(clap::Command::default()).args_override_self(true);
        let matches = command.try_get_matches_from(line.split(' ')).ok()?;
        Some(FormArgs::<O>::from_arg_matches(&matches).ok()?.form())
    }

    struct All;

    impl Offer for All {
        const CSV: Option<&'static str> = Rows::CSV;
        const NULL: Option<&'static str> = Some("End values with a NUL byte");
    }

    #[test]
    fn the_last_option_counts() {
        for (line, chosen) in [
            ("x", Form::Text),
            ("x --json", Form::Json),
            ("x --csv", Form::Csv),
            ("x --csv --json", Form::Json),
            ("x --json --csv", Form::Csv),
            ("x --json --csv --json", Form::Json),
            ("x --json --arrow", Form::Arrow),
            ("x --arrow --csv", Form::Csv),
        ] {
            assert_eq!(form::<Rows>(line), Some(chosen), "{line}");
        }
        assert_eq!(form::<Objects>("x --json"), Some(Form::Json));
        assert_eq!(form::<Objects>("x --csv"), None);
        assert_eq!(form::<Rows>("x --null"), None);
        assert_eq!(form::<All>("x --json -0"), Some(Form::Null));
        assert_eq!(form::<All>("x -0 --csv"), Some(Form::Csv));
    }
}
