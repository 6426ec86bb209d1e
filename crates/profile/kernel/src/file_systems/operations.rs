//! Which functions are counted, under which names.
//!
//! Each function has a row of counters. A function that several types of file systems use, or may use
//! because it belongs to no module, also has a row for each type; then the first row counts calls for
//! other types.
//!
//! A row is named `TYPE:MEMBER`, such as `ext4:read_iter`. Members that share a function are joined
//! (`xfs:rmdir+unlink`). If several functions of a file system serve the same members, the name ends
//! with the function (`ext4:getattr.ext4_file_getattr`).

use std::collections::{BTreeMap, BTreeSet};

use super::vectors::{FileSystem, Symbol};

/// A function to be counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Function {
    pub(super) symbol: Symbol,
    /// First row of its counters.
    pub(super) row: u32,
    /// Number of rows behind the first, one for each type of file system.
    pub(super) types: u32,
}

/// All functions, and the names of the rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Operations {
    pub(super) functions: Vec<Function>,
    pub(super) names: Vec<String>,
}

impl Operations {
    /// Lists the functions of these file systems, which have the numbers 1, 2, … for the programs.
    pub(super) fn new(systems: &[FileSystem]) -> Operations {
        let mut users: BTreeMap<&Symbol, Vec<usize>> = BTreeMap::new();
        for (at, system) in systems.iter().enumerate() {
            for symbol in system.functions.keys() {
                users.entry(symbol).or_default().push(at);
            }
        }
        let mut all = Operations::default();
        for (symbol, users) in users {
            let row = all.names.len() as u32;
            let types = match users.as_slice() {
                [only] if !symbol.module.is_empty() => {
                    all.names
                        .extend(systems.get(*only).map(|one| name(one, symbol)));
                    0
                }
                _ => {
                    all.names.push(format!("other:{}", symbol.name));
                    all.names
                        .extend(systems.iter().map(|one| name(one, symbol)));
                    systems.len() as u32
                }
            };
            all.functions.push(Function {
                symbol: symbol.clone(),
                row,
                types,
            });
        }
        all
    }
}

fn joined(members: &BTreeSet<String>) -> String {
    let members: Vec<&str> = members.iter().map(String::as_str).collect();
    members.join("+")
}

fn name(system: &FileSystem, symbol: &Symbol) -> String {
    let Some(members) = system.functions.get(symbol) else {
        // No vector of this file system contains the function, but its code may call it.
        return format!("{}:{}", system.name, symbol.name);
    };
    let same = system.functions.values().filter(|other| *other == members);
    match same.count() {
        1 => format!("{}:{}", system.name, joined(members)),
        _ => format!("{}:{}.{}", system.name, joined(members), symbol.name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn system(name: &str, functions: &[(&str, &[&str])]) -> FileSystem {
        let functions = functions.iter().map(|(function, members)| {
            let members = members.iter().map(|member| (*member).to_owned());
            let is_own = function.starts_with("a_");
            let module: &[&str] = if is_own { &["[a]"] } else { &[] };
            (Symbol::new(function, module), members.collect())
        });
        FileSystem {
            name: name.to_owned(),
            functions: functions.collect(),
            ..FileSystem::default()
        }
    }

    #[test]
    fn names_tell_file_systems_members_and_functions_apart() {
        let a = [
            ("a_getattr", ["getattr"].as_slice()),
            ("a_file_getattr", &["getattr"]),
            ("a_unlink", &["unlink", "rmdir"]),
            ("generic_read", &["read_iter"]),
        ];
        let systems = [
            system("a", &a),
            system("b", &[("generic_read", &["read_iter"])]),
            system("c", &[("c_built_in", &["open"])]),
        ];
        let all = Operations::new(&systems);
        let functions = all.functions.iter();
        let functions: Vec<_> = functions
            .map(|one| (&*one.symbol.name, one.row, one.types))
            .collect();
        assert_eq!(
            functions,
            [
                ("a_file_getattr", 0, 0),
                ("a_getattr", 1, 0),
                ("a_unlink", 2, 0),
                ("c_built_in", 3, 3),
                ("generic_read", 7, 3)
            ]
        );
        assert_eq!(
            all.names,
            [
                "a:getattr.a_file_getattr",
                "a:getattr.a_getattr",
                "a:rmdir+unlink",
                "other:c_built_in",
                "a:c_built_in",
                "b:c_built_in",
                "c:open",
                "other:generic_read",
                "a:read_iter",
                "b:read_iter",
                "c:generic_read"
            ]
        );
    }
}
