//! `trawl hooks list`.

use trawl_hooks::builtin::BUILTINS;
use trawl_report::{Field, Schema, schema};

use super::ListArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::rows;

const HOOK: Field = Field::text("hook", "name of the hook");
const ABOUT: Field = Field::text("about", "what the hook finds");
const BUILT_IN: Field = Field::flag("built_in", "whether the hook is part of Trawl");
const MIME_TYPES: Field = Field::texts("mime_types", "MIME types that the hook accepts");
const GLOBS: Field = Field::texts("globs", "patterns of names that the hook accepts");

const ATTRIBUTES: Field = Field::texts(
    "attribute_names",
    "names of the attributes that a built-in hook finds",
);

/// Rows for programs.
pub(super) static SCHEMA: Schema = Schema {
    row: "a hook",
    fields: &[HOOK, ABOUT, BUILT_IN, MIME_TYPES, GLOBS, ATTRIBUTES],
    forms: schema::OBJECTS,
    samples: &["hooks list {form}"],
};

/// Lists the hooks.
pub(super) fn run(args: &ListArgs) -> Result<Exit, Failure> {
    let hooks = args.directories.load()?;
    let mut report = rows::report(&SCHEMA, args.form.form());
    report.begin()?;
    for about in BUILTINS {
        let types = about.hook.mime_types();
        let text = || text(about.name, about.about, &types, &[]);
        report.line(text, |row| {
            row.put(&HOOK, about.name)
                .put(&ABOUT, about.about)
                .put(&BUILT_IN, true)
                .texts(&MIME_TYPES, types.iter().copied())
                .texts(&GLOBS, [""; 0])
                .texts(&ATTRIBUTES, about.attributes.iter().copied());
        })?;
    }
    for hook in hooks.users() {
        let types: Vec<&str> = hook.mime_types.iter().map(String::as_str).collect();
        let globs: Vec<&str> = hook.globs.iter().map(String::as_str).collect();
        let text = || text(&hook.name, &hook.about, &types, &globs);
        report.line(text, |row| {
            row.put(&HOOK, hook.name.as_str())
                .put(&ABOUT, hook.about.as_str())
                .put(&BUILT_IN, false)
                .texts(&MIME_TYPES, types.iter().copied())
                .texts(&GLOBS, globs.iter().copied());
        })?;
    }
    rows::finish(report)?;
    Ok(Exit::Complete)
}

fn text(name: &str, about: &str, types: &[&str], globs: &[&str]) -> String {
    let mut text = match about {
        "" => format!("{name}\n"),
        about => format!("{name}: {about}\n"),
    };
    for accepted in types.iter().chain(globs) {
        text.push_str(&format!("  {accepted}\n"));
    }
    text
}
