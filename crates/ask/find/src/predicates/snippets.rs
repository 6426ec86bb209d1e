//! `-snippets`: prints the path, and lines with the words that were searched for.

use trawl_keywords::{Passage, Query, passages};
use trawl_model::rows::Row;
use trawl_text::quote::Terminal;

use crate::context::Context;
use crate::leaf::{Effect, Leaf};
use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};
use crate::questions;

/// Lines that are printed of each file.
const LINES: usize = 3;

/// The `-snippets` predicate.
pub(crate) static SNIPPETS: Predicate = Predicate {
    name: "-snippets",
    aliases: &[],
    args: "",
    kind: Kind::Action,
    help: "print the path, and up to 3 lines with words of all -keyword and -phrase tests",
    cost: Cost::Output,
    columns: questions::COLUMNS,
    standard: Standard::Trawl,
    parse: Parse::Leaf(|_| Ok(Box::new(Snippets))),
};

#[derive(Debug)]
struct Snippets;

impl Leaf for Snippets {
    fn eval(&self, row: &Row<'_>, cx: &mut Context<'_>) -> bool {
        cx.print_path(row, b'\n', cx.terminal);
        let queries = cx.world.questions.queries();
        if queries.is_empty() || row.file_type() != trawl_model::FileType::Regular {
            return true;
        }
        // Lines come from the file as it is now, and as this user may read it.
        if let Some(document) = questions::document(row, cx) {
            let queries: Vec<&Query> = queries.iter().collect();
            for passage in passages(&document.text, &queries, LINES) {
                print(&passage, cx);
            }
        }
        true
    }

    fn effect(&self) -> Effect {
        Effect::Output
    }
}

/// Prints a line with its number. On a terminal, the words are bold, and control characters are not
/// printed.
fn print(passage: &Passage, cx: &mut Context<'_>) {
    let terminal = cx.terminal;
    let out = &mut cx.out.bytes;
    out.extend_from_slice(format!("{:>7}: ", passage.line).as_bytes());
    let mut put = |text: Option<&str>, is_bold: bool| {
        let shown = terminal.show(text.unwrap_or_default().as_bytes());
        let is_bold = is_bold && terminal != Terminal::Absent;
        if is_bold {
            out.extend_from_slice(b"\x1b[1m");
        }
        out.extend_from_slice(&shown);
        if is_bold {
            out.extend_from_slice(b"\x1b[0m");
        }
    };
    let mut at = 0;
    for word in &passage.words {
        put(passage.text.get(at..word.start), false);
        put(passage.text.get(word.clone()), true);
        at = word.end;
    }
    put(passage.text.get(at..), false);
    cx.out.bytes.push(b'\n');
}

#[cfg(test)]
mod tests {
    use crate::testing::{Spec, run_words};

    #[test]
    fn lines_follow_the_path() {
        let spec = Spec::named("one SSD\nnothing\nflash and ssd");
        let run = run_words(
            &["-keyword", "ssd", "-phrase", "flash and", "-snippets"],
            &spec,
        );
        let printed = String::from_utf8_lossy(&run.printed).into_owned();
        let expected =
            "./top/one SSD\nnothing\nflash and ssd\n      1: one SSD\n      3: flash and ssd\n";
        assert_eq!(printed, expected);
    }
}
