//! Tests of the table: what each tool's arguments mean, and what is refused.

use serde_json::{Value, json};

use super::{Named, QUESTIONS, Ready, named};
use crate::words::{Question, Refused};

fn asked(name: &str, arguments: Value) -> Result<Question, Refused> {
    let question = named(name).expect("a question");
    match question.ready(arguments.as_object().expect("an object").clone())? {
        Ready::Ask(question) => Ok(question),
        other => panic!("{other:?}"),
    }
}

fn line(name: &str, arguments: Value) -> String {
    let words = asked(name, arguments).expect("it is allowed").words;
    let words: Vec<_> = words
        .iter()
        .map(|word| word.to_str().expect("text"))
        .collect();
    words.join("|")
}

#[test]
fn arguments_mean_command_lines() {
    for (name, arguments, expected) in [
        (
            "find",
            json!({"paths": ["/a", "/b"], "name": "*.c", "types": "f"}),
            "find|--json|--status|/a|/b|-type|f|-name|*.c",
        ),
        (
            "find",
            json!({"paths": ["/a"], "min_size": 1, "max_size": 9, "owner": "ann", "at": "-1"}),
            "find|--json|--status|--at=-1|/a|-size|+0c|-size|-10c|-user|ann",
        ),
        (
            "find",
            json!({"paths": ["/a"], "modified_after": "-delete", "modified_before": "now"}),
            "find|--json|--status|/a|-newermt|-delete|!|-newermt|now",
        ),
        (
            "find",
            json!({"paths": ["/a"], "max_depth": 2, "expression": ["-empty", "-o", "-true"]}),
            "find|--json|--status|/a|-maxdepth|2|(|-empty|-o|-true|)",
        ),
        (
            "stat",
            json!({"paths": ["/a"], "follow": true}),
            "stat|--json|--status|--dereference|--|/a",
        ),
        (
            "ls",
            json!({"paths": ["/a"]}),
            "ls|--json|--status|-A|--|/a",
        ),
        (
            "du",
            json!({"paths": ["/a"]}),
            "du|--json|--status|--max-depth=0|--|/a",
        ),
        (
            "top",
            json!({"paths": ["/a"], "subject": "directories", "limit": 5}),
            "top|--json|--status|--dirs|--by=space|--limit=5|/a",
        ),
        (
            "top",
            json!({"paths": ["/a"], "name": "-x"}),
            "top|--json|--status|--files|--by=space|--limit=100|/a|--|-name|-x",
        ),
        (
            "stats",
            json!({"paths": ["/a"], "by": "name-length"}),
            "stats|--json|--status|--by=name-length|--limit=100|/a",
        ),
        (
            "growth",
            json!({"paths": ["/a"], "by": "directory"}),
            "growth|--json|--status|--by=dir|--|/a",
        ),
        (
            "duplicates",
            json!({"paths": ["/a"], "verify": true, "min_size": 7}),
            "duplicates|--json|--status|--verify|--min-size=7|--|/a",
        ),
        (
            "grep",
            json!({"pattern": "--x", "paths": ["/a"], "name": "*.c"}),
            "grep|--no-binary|--null|--with-filename|--line-number|--no-heading|--sort=path|--regexp=--x|--|/a|-name|*.c",
        ),
        (
            "grep",
            json!({"pattern": "x", "paths": ["/%cat list%"], "names_only": true}),
            "grep|--no-binary|--null|--with-filename|--files-with-matches|--no-heading|--sort=path|--regexp=x|--|/%cat list%",
        ),
        (
            "sql",
            json!({"query": "-o /tmp/x", "below": "/a"}),
            "sql|--json|--status|--below|/a|--|-o /tmp/x",
        ),
        (
            "locate",
            json!({"patterns": ["a", "-x"], "ignore_case": true, "below": ["/a"]}),
            "locate|--json|--status|--ignore-case|--below|/a|--|a|-x",
        ),
        (
            "locate",
            json!({"patterns": ["mkfl"], "fuzzy": true, "limit": 7}),
            "locate|--json|--status|--fuzzy|--limit=7|--|mkfl",
        ),
        (
            "diff",
            json!({"paths": ["/a"]}),
            "diff|--json|--status|--|-1|latest|/a",
        ),
        (
            "diff",
            json!({"paths": ["/a"], "from": "--x", "to": "now", "summary": "extension", "only": "moved"}),
            "diff|--json|--status|--only=moved|--summary=ext|--|--x|now|/a",
        ),
        (
            "history",
            json!({"paths": ["/a"], "all": true}),
            "history|--json|--status|--all|--|/a",
        ),
        ("quota", json!({}), "quota|--json|--"),
        (
            "quota",
            json!({"paths": ["/a"], "limit": 5}),
            "quota|--json|--|/a",
        ),
        ("sources", json!({}), "sources|--json"),
    ] {
        assert_eq!(line(name, arguments), expected, "{name}");
    }
}

#[test]
fn what_is_not_allowed_is_refused_with_the_reason() {
    for (name, arguments, reason) in [
        (
            "find",
            json!({"paths": ["/a"], "expression": ["-delete"]}),
            "-delete",
        ),
        (
            "find",
            json!({"paths": ["/a"], "expression": ["-true", "-exec", "id", ";"]}),
            "-exec",
        ),
        (
            "find",
            json!({"paths": ["/a"], "expression": ["-fprint", "/tmp/x"]}),
            "-fprint",
        ),
        ("find", json!({"paths": ["-delete"]}), "absolute path"),
        ("find", json!({"paths": ["--index=/x"]}), "absolute path"),
        ("find", json!({"paths": []}), "no path"),
        ("find", json!({"paths": ["/a"], "index": "/x"}), "index"),
        (
            "find",
            json!({"paths": ["/a"], "exec": "id"}),
            "no argument of this question",
        ),
        ("find", json!({"paths": "/a"}), "invalid"),
        ("find", json!({"paths": ["/a"], "name": "a\u{0}b"}), "NUL"),
        (
            "top",
            json!({"paths": ["/a"], "expression": ["-ok", "id", ";"]}),
            "-ok",
        ),
        (
            "top",
            json!({"paths": ["/a"], "subject": "--dirs"}),
            "invalid",
        ),
        (
            "grep",
            json!({"pattern": "x", "paths": ["trawl://h/a"]}),
            "absolute path",
        ),
        (
            "grep",
            json!({"pattern": "x", "paths": ["/a"], "expression": ["-printf", "x"]}),
            "-printf",
        ),
        ("grep", json!({"paths": ["/a"]}), "pattern"),
        ("duplicates", json!({"paths": ["/a", "/b"]}), "several"),
        (
            "sql",
            json!({"query": "SELECT 1", "output": "/tmp/x"}),
            "output",
        ),
        (
            "sql",
            json!({"query": "SELECT 1", "below": "-o"}),
            "absolute path",
        ),
    ] {
        let refused = asked(name, arguments.clone()).expect_err(name).to_string();
        assert!(refused.contains(reason), "{name} {arguments}: {refused}");
    }
}

#[test]
fn schemas_describe_every_argument() {
    for tool in QUESTIONS {
        let schema = tool.schema();
        assert_eq!(schema["type"], "object", "{}", tool.name);
        assert_eq!(schema["additionalProperties"], false, "{}", tool.name);
        let arguments = schema["properties"].as_object().expect("an object");
        for (name, argument) in arguments {
            let described = argument.get("description").is_some();
            assert!(described, "{}: {name} has no description", tool.name);
        }
    }
}

#[test]
fn names_are_unique() {
    for tool in QUESTIONS {
        let same = |other: &&Named| other.name == tool.name || other.tool == tool.tool;
        assert_eq!(QUESTIONS.iter().filter(same).count(), 1, "{}", tool.name);
    }
}
