//! `-fls`: like `-ls`, but writes to a file.

use super::ls;
use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};

/// The `-fls` predicate.
pub(crate) static FLS: Predicate = Predicate {
    name: "-fls",
    aliases: &[],
    args: "FILE",
    kind: Kind::Action,
    help: "print a line to FILE, as -ls does",
    cost: Cost::Output,
    columns: ls::COLUMNS,
    standard: Standard::Gnu,
    parse: Parse::Leaf(|args| args.sink().map(ls::leaf)),
};

#[cfg(test)]
mod tests {
    use crate::testing::{Spec, error_of, program, run_on};

    #[test]
    fn it_prints_elsewhere() {
        let run = run_on("-fls /dev/stderr", &Spec::named("f"));
        assert!(run.printed.is_empty());
        let both = program("-fls /dev/stderr -fls /dev/stdout");
        assert!(both.files.len() == 1 && !both.prints_by_default);
        let run = run_on("-fls /dev/stdout", &Spec::named("f"));
        assert!(!run.printed.is_empty());
        assert_eq!(error_of("-fls"), "missing argument to `-fls'");
        assert_eq!(
            error_of("-fls /no/such/dir"),
            "‘/no/such/dir’: No such file or directory"
        );
    }
}
