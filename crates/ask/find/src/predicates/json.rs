//! `-json`: prints the entry as one line of JSON ([`crate::record`]).

use trawl_model::rows::Row;
use trawl_report::json_object;

use crate::context::Context;
use crate::expr::Node;
use crate::leaf::{Effect, Leaf};
use crate::predicate::{Cost, Kind, Parse, Predicate, Standard};
use crate::record;

/// The `-json` predicate.
pub(crate) static JSON: Predicate = Predicate {
    name: "-json",
    aliases: &[],
    args: "",
    kind: Kind::Action,
    help: "print the entry's path and attributes as a JSON object on one line",
    cost: Cost::Output,
    columns: record::COLUMNS,
    standard: Standard::Trawl,
    parse: Parse::Leaf(|_| Ok(Box::new(Json))),
};

/// Returns a node that performs the action.
pub(crate) fn node() -> Node {
    Node::new(&JSON, Box::new(Json))
}

#[derive(Debug)]
struct Json;

impl Leaf for Json {
    fn eval(&self, row: &Row<'_>, cx: &mut Context<'_>) -> bool {
        let path = cx.path(row).to_vec();
        let meta = row.meta();
        let target = row.link_target();
        let object = json_object(&record::FIELDS, |printed| {
            record::fill(printed, &path, Some(&meta), target, &cx.world.owners);
        });
        cx.out.bytes.extend_from_slice(object.as_bytes());
        cx.out.bytes.push(b'\n');
        true
    }

    fn effect(&self) -> Effect {
        Effect::Output
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Spec, run_on};

    #[test]
    fn an_entry_is_one_line() {
        let spec = Spec {
            ino: 17,
            size: 4097,
            ..Spec::named("a\n\"b")
        };
        let printed = String::from_utf8(run_on("-size +1k -json", &spec).printed).unwrap();
        let begins = r#"{"path":"./top/a\n\"b","type":"f","size":4097,"#;
        assert!(printed.starts_with(begins), "{printed}");
        assert!(printed.contains(r#""ino":17,"#) && printed.ends_with("}\n"));
        assert_eq!(printed.lines().count(), 1);
        assert!(run_on("-size -1k -json", &spec).printed.is_empty());
    }
}
