//! Source code: names of functions and types that it defines, and files that it includes, by the
//! grammars of tree-sitter and the queries for tags that come with them. Of C and C++, only the
//! outline is parsed, which takes a quarter of the time.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use trawl_hooks::format::Format;
use trawl_hooks::found::{Fault, Findings};
use tree_sitter::{
    Language, ParseOptions, ParseState, Parser, Query, QueryCursor, StreamingIterator,
};

use crate::input::Input;
use crate::outline::outline;
use crate::text;

/// A language.
struct Grammar {
    format: Format,
    name: &'static str,
    language: fn() -> Language,
    /// The query that comes with the grammar.
    tags: &'static str,
    /// Where the files that it includes are named, as `@target`.
    includes: &'static str,
}

const C_INCLUDES: &str = "(preproc_include path: (_) @target)";

static GRAMMARS: &[Grammar] = &[
    Grammar {
        format: Format::C,
        name: "C",
        language: || tree_sitter_c::LANGUAGE.into(),
        tags: tree_sitter_c::TAGS_QUERY,
        includes: C_INCLUDES,
    },
    Grammar {
        format: Format::Cpp,
        name: "C++",
        language: || tree_sitter_cpp::LANGUAGE.into(),
        tags: tree_sitter_cpp::TAGS_QUERY,
        includes: C_INCLUDES,
    },
    Grammar {
        format: Format::Rust,
        name: "Rust",
        language: || tree_sitter_rust::LANGUAGE.into(),
        tags: tree_sitter_rust::TAGS_QUERY,
        includes: "",
    },
    Grammar {
        format: Format::Python,
        name: "Python",
        language: || tree_sitter_python::LANGUAGE.into(),
        tags: tree_sitter_python::TAGS_QUERY,
        includes: "",
    },
    Grammar {
        format: Format::JavaScript,
        name: "JavaScript",
        language: || tree_sitter_javascript::LANGUAGE.into(),
        tags: tree_sitter_javascript::TAGS_QUERY,
        includes: "(import_statement source: (string) @target)",
    },
    Grammar {
        format: Format::Go,
        name: "Go",
        language: || tree_sitter_go::LANGUAGE.into(),
        tags: tree_sitter_go::TAGS_QUERY,
        includes: "",
    },
    Grammar {
        format: Format::Java,
        name: "Java",
        language: || tree_sitter_java::LANGUAGE.into(),
        tags: tree_sitter_java::TAGS_QUERY,
        includes: "",
    },
];

/// Number of grammars.
const GRAMMARS_COUNT: usize = 7;

thread_local! {
    /// Queries, which take longer to compile than a file to parse.
    static QUERIES: [OnceCell<Option<Query>>; GRAMMARS_COUNT] =
        const { [const { OnceCell::new() }; GRAMMARS_COUNT] };
}

/// Matches of a query that are under way; patterns of tags are short.
const MATCHES_MAX: u32 = 256;

pub(crate) fn run(format: Format, input: &Input, findings: &mut Findings) {
    let Some(text) = text::read(input, findings) else {
        return;
    };
    findings.text(&text);
    let Some(at) = GRAMMARS.iter().position(|one| one.format == format) else {
        return;
    };
    let grammar = &GRAMMARS[at];
    findings.attribute_text("language", grammar.name);
    // Half of the time that the file has.
    let patience = Duration::from_millis(input.limits.cpu_secs.saturating_mul(500));
    let outline = match format {
        Format::C | Format::Cpp => Cow::Owned(outline(&text)),
        _ => Cow::Borrowed(&text[..]),
    };
    let symbols = QUERIES.with(|queries| {
        let query = queries[at].get_or_init(|| query(grammar));
        symbols(grammar, query.as_ref()?, &outline, patience)
    });
    match symbols {
        Some(symbols) => {
            findings.attribute_texts("function", symbols.functions);
            findings.attribute_texts("type", symbols.types);
            for target in symbols.includes {
                findings.relation("includes", &target);
            }
        }
        None => findings.problem(Fault::Damaged, "the source code cannot be parsed"),
    }
}

fn query(grammar: &Grammar) -> Option<Query> {
    let text = [grammar.tags, "\n", grammar.includes].concat();
    Query::new(&(grammar.language)(), &text).ok()
}

/// What source code defines and includes, each once, sorted.
#[derive(Debug, Default)]
struct Symbols {
    functions: Vec<String>,
    types: Vec<String>,
    includes: Vec<String>,
}

fn symbols(grammar: &Grammar, query: &Query, text: &str, patience: Duration) -> Option<Symbols> {
    let mut parser = Parser::new();
    parser.set_language(&(grammar.language)()).ok()?;
    let bytes = text.as_bytes();
    // Recovery from errors can take very long on hostile text, which the text itself must survive.
    let end = Instant::now() + patience;
    let mut look = |_: &ParseState| match Instant::now() > end {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    };
    let options = ParseOptions::new().progress_callback(&mut look);
    let mut read = |at: usize, _| bytes.get(at..).unwrap_or_default();
    let tree = parser.parse_with_options(&mut read, None, Some(options))?;
    let mut cursor = QueryCursor::new();
    cursor.set_match_limit(MATCHES_MAX);
    let names = query.capture_names();
    let mut found = Symbols::default();
    let mut matches = cursor.matches(query, tree.root_node(), bytes);
    while let Some(one) = matches.next() {
        let text_of = |wanted: &str| {
            let captures = one.captures().iter();
            let mut named = captures.filter(|capture| names[capture.index as usize] == wanted);
            named
                .next()
                .and_then(|capture| text.get(capture.node.byte_range()))
        };
        if let Some(target) = text_of("target") {
            push(
                &mut found.includes,
                target.trim_matches(['"', '\'', '<', '>']),
            );
        }
        let mut kinds = one
            .captures()
            .iter()
            .map(|capture| names[capture.index as usize]);
        let kind = kinds.find_map(|name| name.strip_prefix("definition."));
        match (kind, text_of("name")) {
            (Some("function" | "method" | "macro"), Some(name)) => push(&mut found.functions, name),
            (Some("class" | "type" | "interface"), Some(name)) => push(&mut found.types, name),
            _ => {}
        }
    }
    Some(found.sorted())
}

fn push(list: &mut Vec<String>, text: &str) {
    list.push(text.to_owned());
}

impl Symbols {
    fn sorted(mut self) -> Symbols {
        for list in [&mut self.functions, &mut self.types, &mut self.includes] {
            list.sort_unstable();
            list.dedup();
        }
        self
    }
}
