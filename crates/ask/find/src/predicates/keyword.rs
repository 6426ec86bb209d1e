//! `-keyword`: the words of the file's text match a query.

use trawl_keywords::{KeywordsError, Query, Question};

use crate::error::FindError;
use crate::parser::Arguments;
use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};
use crate::questions;

/// The `-keyword` predicate.
pub(crate) static KEYWORD: Predicate = Predicate {
    name: "-keyword",
    aliases: &[],
    args: "QUERY",
    kind: Kind::Test,
    help: "is a regular file whose text has the words of QUERY, such as 'ssd (flash OR nvme) NOT tape'",
    cost: Cost::Content,
    columns: questions::COLUMNS,
    standard: Standard::Trawl,
    parse: Parse::Leaf(|args| {
        let query = text(args)?;
        let query = Query::parse(&query).map_err(|why| refused("-keyword", &why))?;
        Ok(args.settings.questions.add(Question::Words(query)))
    }),
};

/// Takes the next word, which must be text.
pub(super) fn text(args: &mut Arguments<'_>) -> Result<String, FindError> {
    let word = args.value()?;
    String::from_utf8(word.to_vec()).map_err(|_| args.invalid(word))
}

pub(super) fn refused(name: &'static str, why: &KeywordsError) -> FindError {
    FindError::bad(name, format!("{name}: {why}"))
}

#[cfg(test)]
mod tests {
    use crate::testing::{Spec, run_words};

    /// The content of the probe's files is their name.
    fn runs(words: &[&str], name: &'static str) -> (bool, String) {
        let run = run_words(&[words, &["-print"]].concat(), &Spec::named(name));
        let complaints = String::from_utf8_lossy(&run.complaints).into_owned();
        (!run.printed.is_empty(), complaints)
    }

    #[test]
    fn contents_are_read_where_no_index_knows_them() {
        for (words, name, expected) in [
            (
                &["-keyword", "ssd AND (flash OR nvme)"][..],
                "NVMe SSD",
                true,
            ),
            (&["-keyword", "ssd NOT nvme"], "NVMe SSD", false),
            (&["-phrase", "solid state"], "a Solid-State disk", true),
            (&["-phrase", "state solid"], "a Solid-State disk", false),
            (&["-attr", "lines=1"], "one", true),
            (&["-attr", "lines>1"], "one", false),
            (&["!", "-keyword", "one"], "one", false),
            (&["-keyword", "one", "-o", "-keyword", "two"], "two", true),
        ] {
            assert_eq!(runs(words, name), (expected, String::new()), "{words:?}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_reported() {
        let (matches, complaints) = runs(&["-keyword", "closed"], "closed");
        assert!(!matches);
        let expected =
            "\u{2018}./top/closed\u{2019}: cannot search its content: Permission denied\n";
        assert_eq!(complaints, expected);
        // Another test decides before.
        let (_, complaints) = runs(&["-keyword", "closed", "-size", "+99M"], "closed");
        assert_eq!(complaints, "");
    }

    #[test]
    fn mistakes_have_a_place_and_a_remedy() {
        let environment = crate::testing::environment();
        for (words, expected) in [
            (
                ["-keyword", "ssd AND"],
                "-keyword: invalid query `ssd AND': at character 8, a word is missing at the end: \
                 write a word, or a \"phrase\"",
            ),
            (
                ["-phrase", "--"],
                "-phrase: invalid query `--': at character 1, there is no letter or digit: write \
                 the words of the phrase",
            ),
            (
                ["-attr", "artist="],
                "-attr: invalid condition `artist=': at character 8, a value is missing: write a \
                 value, or only the name to ask whether the attribute exists",
            ),
        ] {
            let words = words.map(|word| word.as_bytes().to_vec());
            let error = crate::parse(&words, &environment).err();
            assert_eq!(
                error.map(|error| error.to_string()).as_deref(),
                Some(expected)
            );
        }
    }

    #[test]
    fn scores_are_printed_and_zero_without_a_match() {
        let printed = |words: &[&str]| {
            let run = run_words(words, &Spec::named("ssd"));
            String::from_utf8_lossy(&run.printed).into_owned()
        };
        let of_match: f32 = printed(&["-keyword", "ssd", "-printf", "%{score}"])
            .parse()
            .unwrap();
        assert!(of_match > 0.0);
        assert_eq!(
            printed(&["-printf", "%{score}|%8{score}|%-7{score}|"]),
            "0.000|   0.000|0.000  |"
        );
    }
}
