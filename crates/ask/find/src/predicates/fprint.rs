//! `-fprint`: like `-print`, but writes to a file.

use trawl_model::{Column, ColumnSet};

use super::print;
use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};

/// The `-fprint` predicate.
pub(crate) static FPRINT: Predicate = Predicate {
    name: "-fprint",
    aliases: &[],
    args: "FILE",
    kind: Kind::Action,
    help: "print the path and a newline to FILE, which is created or truncated at the start",
    cost: Cost::Output,
    columns: ColumnSet::of(&[Column::Name]),
    standard: Standard::Gnu,
    parse: Parse::Leaf(|args| args.sink().map(print::leaf)),
};

#[cfg(test)]
mod tests {
    use crate::testing::{Spec, error_of, program, run_on};

    #[test]
    fn it_prints_elsewhere() {
        let run = run_on("-fprint /dev/stderr", &Spec::named("f"));
        assert!(run.printed.is_empty());
        let both = program("-fprint /dev/stderr -fprint /dev/stdout");
        assert!(both.files.len() == 1 && !both.prints_by_default);
        let run = run_on("-fprint /dev/stdout", &Spec::named("f"));
        assert!(!run.printed.is_empty());
        assert_eq!(error_of("-fprint"), "missing argument to `-fprint'");
        assert_eq!(
            error_of("-fprint /no/such/dir"),
            "‘/no/such/dir’: No such file or directory"
        );
    }
}
