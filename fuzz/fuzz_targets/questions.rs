//! Arguments of a question, as the query of a URL or as JSON, and messages of assistants: a
//! refusal, or a command line whose expression only tests entries.

#![no_main]

use std::os::unix::ffi::OsStrExt;

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use trawl_find::leaf::Effect;
use trawl_find::{Environment, Parsed};
use trawl_http::download::Wishes;
use trawl_http::gate::call::called;
use trawl_http::parameters::arguments;
use trawl_questions::limits::WORDS_BYTES;
use trawl_questions::table::{Named, Object, QUESTIONS, Ready};
use trawl_questions::words::Question;

/// What expressions of questions may do besides tests.
const HARMLESS: [&str; 4] = ["-print", "-prune", "-limit", "-sort"];

fuzz_target!(|data: &[u8]| {
    let Some((first, rest)) = data.split_first() else {
        return;
    };
    let named = &QUESTIONS[usize::from(*first) % QUESTIONS.len()];
    if let Ok(query) = std::str::from_utf8(rest)
        && let Ok((mut arguments, _)) = arguments(named, query)
    {
        let _ = Wishes::take(&mut arguments);
        ask(named, arguments);
    }
    if let Ok(Value::Object(arguments)) = serde_json::from_slice(rest) {
        ask(named, arguments);
    }
    if let Ok(Some(call)) = called(rest)
        && !call.arguments.is_empty()
    {
        let arguments: Value = serde_json::from_str(&call.arguments).expect("JSON");
        if let Value::Object(arguments) = arguments {
            ask(call.question, arguments);
        }
    }
});

fn ask(named: &Named, arguments: Object) {
    let again = named.ready(arguments.clone()).is_ok();
    if let Ok(Ready::Ask(question)) = named.ready(arguments) {
        assert!(again);
        check(named, &question);
    }
}

fn check(named: &Named, question: &Question) {
    let words: Vec<&[u8]> = question.words.iter().map(|word| word.as_bytes()).collect();
    assert!(words[0].iter().all(u8::is_ascii_lowercase));
    assert!(words.iter().map(|word| word.len()).sum::<usize>() <= WORDS_BYTES);
    assert!(words.iter().all(|word| !word.contains(&0)));
    if named.name == "find" {
        let is_option = |word: &&&[u8]| word.starts_with(b"--");
        let options = words[1..].iter().take_while(is_option).count();
        tests_only(&words[1 + options..]);
    }
}

/// Checks that find's words do nothing but test entries; words that find refuses do nothing.
fn tests_only(words: &[&[u8]]) {
    let words: Vec<Vec<u8>> = words.iter().map(|word| word.to_vec()).collect();
    let starts = trawl_find::start_words(&words);
    assert!(!starts.is_empty() && starts.iter().all(|start| start.starts_with(b"/")));
    let Ok(Parsed::Search(program)) = trawl_find::parse(&words, &Environment::of_process()) else {
        return;
    };
    assert!(program.files.is_empty() && program.starts_from.is_none());
    program.expr.leaves(&mut |node| {
        let is_harmless = HARMLESS.contains(&node.predicate.name);
        assert!(
            node.effect == Effect::None || is_harmless,
            "{}",
            node.predicate.name
        );
    });
}
