//! `-fprint0`: like `-print0`, but writes to a file.

use trawl_model::{Column, ColumnSet};

use super::print0;
use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};

/// The `-fprint0` predicate.
pub(crate) static FPRINT0: Predicate = Predicate {
    name: "-fprint0",
    aliases: &[],
    args: "FILE",
    kind: Kind::Action,
    help: "print the path and a NUL byte to FILE",
    cost: Cost::Output,
    columns: ColumnSet::of(&[Column::Name]),
    standard: Standard::Gnu,
    parse: Parse::Leaf(|args| args.sink().map(print0::leaf)),
};

#[cfg(test)]
mod tests {
    use crate::testing::{Spec, error_of, program, run_on};

    #[test]
    fn it_prints_elsewhere() {
        let run = run_on("-fprint0 /dev/stderr", &Spec::named("f"));
        assert!(run.printed.is_empty());
        let both = program("-fprint0 /dev/stderr -fprint0 /dev/stdout");
        assert!(both.files.len() == 1 && !both.prints_by_default);
        let run = run_on("-fprint0 /dev/stdout", &Spec::named("f"));
        assert!(!run.printed.is_empty());
        assert_eq!(error_of("-fprint0"), "missing argument to `-fprint0'");
        assert_eq!(
            error_of("-fprint0 /no/such/dir"),
            "‘/no/such/dir’: No such file or directory"
        );
    }
}
