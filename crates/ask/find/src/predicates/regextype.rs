//! `-regextype`: sets the dialect of the regular expressions that follow it.

use trawl_model::ColumnSet;

use crate::error::FindError;
use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};
use crate::regex::Dialect;

/// The `-regextype` predicate.
pub(crate) static REGEXTYPE: Predicate = Predicate {
    name: "-regextype",
    aliases: &[],
    args: "TYPE",
    kind: Kind::PositionalOption,
    help: "set the syntax of later regular expressions to TYPE: emacs (the default), egrep, posix-basic, …",
    cost: Cost::Free,
    columns: ColumnSet::EMPTY,
    standard: Standard::Gnu,
    parse: Parse::Option(|args| {
        let name = args.value()?;
        let text = std::str::from_utf8(name).unwrap_or_default();
        match Dialect::parse(text) {
            Some(dialect) => {
                args.settings.dialect = dialect;
                Ok(())
            }
            None => {
                let valid: Vec<String> = Dialect::names()
                    .map(|n| args.quoted(n.as_bytes()))
                    .collect();
                let quoted = args.quoted(name);
                let reason = format!(
                    "Unknown regular expression type {quoted}; valid types are {}.",
                    valid.join(", ")
                );
                Err(FindError::bad("-regextype", reason))
            }
        }
    }),
};

#[cfg(test)]
mod tests {
    use crate::testing::{Spec, error_of, matches};

    #[test]
    fn the_dialect_changes_from_there_on() {
        let row = Spec::named("a|b");
        assert!(matches(
            "-regex .*a|b -regextype egrep ! -regex .*/a|b",
            &row
        ));
        assert!(error_of("-regextype foo").starts_with(
            "Unknown regular expression type ‘foo’; valid types are ‘findutils-default’, ‘ed’,"
        ));
    }
}
