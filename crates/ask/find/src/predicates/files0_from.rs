//! `-files0-from`: reads start points from a file.

use trawl_model::ColumnSet;

use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};

/// The `-files0-from` predicate.
pub(crate) static FILES0_FROM: Predicate = Predicate {
    name: "-files0-from",
    aliases: &[],
    args: "FILE",
    kind: Kind::GlobalOption,
    help: "read NUL-terminated starting points from FILE (- for standard input)",
    cost: Cost::Free,
    columns: ColumnSet::EMPTY,
    standard: Standard::Gnu,
    parse: Parse::Option(|args| {
        args.settings.starts_from = Some(args.value()?.to_vec());
        Ok(())
    }),
};

#[cfg(test)]
mod tests {
    use crate::testing::{error_of, program};

    #[test]
    fn start_points_stand_in_one_place() {
        let program = program("-files0-from x -files0-from y");
        assert_eq!(program.starts_from.as_deref(), Some(&b"y"[..]));
        assert_eq!(
            error_of("a -files0-from y"),
            "extra operand ‘a’\nfind: file operands cannot be combined with -files0-from"
        );
        assert_eq!(
            error_of("-files0-from - -ok echo ;"),
            "option -files0-from reading from standard input cannot be combined with -ok, -okdir\n"
        );
    }
}
