//! Lines that define views, and questions that are names of directories: an error, or a question
//! that only tests entries and is read as it is written.

#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use trawl_find::leaf::Effect;
use trawl_find::reference::{Reference, References};
use trawl_find::traversal::Follow;
use trawl_find::{Environment, Parsed};
use trawl_views::{Question, View, short};

fuzz_target!(|data: &[u8]| {
    let Some((first, rest)) = data.split_first() else {
        return;
    };
    if first & 1 == 0 {
        if let Ok(Some(view)) = View::from_line(&String::from_utf8_lossy(rest)) {
            let again = View::from_line(&view.line()).expect("its own line");
            assert_eq!(again.as_ref(), Some(&view));
            tests_only(&view.question);
        }
    } else if let Ok(question) = short::parse(rest) {
        tests_only(&question);
        let again = Question::from_words(&question.words(), Path::new("/")).expect("its own words");
        assert_eq!(again, question);
    }
});

/// Files that expressions name exist.
#[derive(Debug)]
struct AllExist;

impl References for AllExist {
    fn attributes(&self, _: &[u8], _: Follow) -> Result<Reference, String> {
        let there = Reference::default();
        Ok(Reference {
            btime: Some(there.mtime),
            ..there
        })
    }
}

fn tests_only(question: &Question) {
    let root = [b"/".to_vec()];
    let words = [&root[..], &question.expression].concat();
    let env = Environment {
        references: Box::new(AllExist),
        ..Environment::of_process()
    };
    let parsed = trawl_find::parse(&words, &env).expect("it was checked");
    let Parsed::Search(program) = parsed else {
        panic!("it is no search");
    };
    assert!(program.files.is_empty() && program.starts_from.is_none());
    program.expr.leaves(&mut |node| {
        let is_print = node.predicate.name == "-print" && program.prints_by_default;
        assert!(
            node.effect == Effect::None || is_print,
            "{}",
            node.predicate.name
        );
    });
}
