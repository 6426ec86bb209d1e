//! Parser of the kinds by which entries are counted.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use trawl_answers::stats::{By, Kinds};

/// Parser of kinds that are joined by commas.
#[derive(Clone)]
pub(crate) struct KindsParser;

fn value_of(by: By) -> PossibleValue {
    let value = PossibleValue::new(by.name()).help(by.meaning());
    by.alias()
        .into_iter()
        .fold(value, |value, alias| value.alias(alias))
}

impl TypedValueParser for KindsParser {
    type Value = Kinds;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<Kinds, clap::Error> {
        let one = PossibleValuesParser::new(By::ALL.map(value_of));
        let text = value.to_string_lossy();
        let names = text.split(',');
        let names = names.map(|name| one.parse_ref(command, argument, OsStr::new(name)));
        let names = names.collect::<Result<Vec<String>, _>>()?;
        let kinds: Vec<By> = names.iter().filter_map(|name| By::named(name)).collect();
        // Splitting a text yields at least one part.
        let (first, others) = kinds.split_first().unwrap_or((&By::Type, &[]));
        Kinds::new(*first, others).map_err(|by| {
            let why = format!(
                "{} cannot be counted together with others: give it a --by of its own\n",
                by.name()
            );
            clap::Error::raw(clap::error::ErrorKind::InvalidValue, why)
        })
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(By::ALL.into_iter().map(value_of)))
    }
}
