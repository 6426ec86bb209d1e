//! `-fprintf`: like `-printf`, but writes to a file.

use trawl_model::ColumnSet;

use super::printf;
use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};

/// The `-fprintf` predicate.
pub(crate) static FPRINTF: Predicate = Predicate {
    name: "-fprintf",
    aliases: &[],
    args: "FILE FORMAT",
    kind: Kind::Action,
    help: "print FORMAT to FILE, as -printf does",
    cost: Cost::Output,
    columns: ColumnSet::EMPTY,
    standard: Standard::Gnu,
    parse: Parse::Leaf(|args| {
        let path = args.value()?;
        let text = args.value().map_err(|_| args.invalid(path))?;
        let sink = args.sink_at(path)?;
        printf::leaf(args, text, sink)
    }),
};

#[cfg(test)]
mod tests {
    use crate::testing::{Spec, error_of, run_on};

    #[test]
    fn formats_go_where_they_are_sent() {
        let run = run_on("-fprintf /dev/stdout %f", &Spec::named("f"));
        assert_eq!(run.printed, b"f");
        for (words, expected) in [
            ("-fprintf", "missing argument to `-fprintf'"),
            ("-fprintf x", "invalid argument `x' to `-fprintf'"),
            (
                "-fprintf /no/such/dir %",
                "‘/no/such/dir’: No such file or directory",
            ),
        ] {
            assert_eq!(error_of(words), expected, "{words}");
        }
    }
}
