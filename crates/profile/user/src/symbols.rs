//! Names of call sites: the function of a module in which an offset lies.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use object::read::ReadCache;
use object::{Object, ObjectSymbol, SymbolKind};

/// Maximum number of functions of a module that are kept.
const FUNCTIONS_MAX: usize = 1 << 20;
/// Maximum number of bytes of a function's name; longer ones are cut.
const NAME_BYTES_MAX: usize = 160;
/// `O_NONBLOCK` and `O_NOCTTY`: a path from a foreign program may name anything.
const QUIET: i32 = 0o4000 | 0o400;

/// The functions of modules, each of which is read once.
#[derive(Debug, Default)]
pub struct Symbols {
    modules: BTreeMap<PathBuf, Vec<Function>>,
}

#[derive(Debug, PartialEq, Eq)]
struct Function {
    start: u64,
    end: u64,
    name: String,
}

impl Symbols {
    /// Returns the name of a call site: `MODULE:FUNCTION+0xOFFSET`, with the offset of the return
    /// address in the function, as backtrace_symbols(3) counts; `MODULE+0xOFFSET` with the offset in
    /// the module, if no symbol table has the function. The module is the name of its file.
    pub fn name(&mut self, module: &Path, offset: u64) -> String {
        let file = module.file_name().unwrap_or(module.as_os_str());
        let file = shown(file.to_string_lossy().as_ref());
        if !self.modules.contains_key(module) {
            let functions = functions(module).unwrap_or_default();
            self.modules.insert(module.to_owned(), functions);
        }
        let functions = self.modules.get(module);
        // A call may be the last instruction of its function.
        let call = offset.saturating_sub(1);
        match functions.and_then(|all| function_at(all, call)) {
            Some(one) => format!("{file}:{}+0x{:x}", one.name, offset - one.start),
            None => format!("{file}+0x{offset:x}"),
        }
    }
}

/// Returns the function that contains an address, of functions sorted by their starts.
fn function_at(all: &[Function], address: u64) -> Option<&Function> {
    let behind = all.partition_point(|one| one.start <= address);
    let start = all.get(behind.checked_sub(1)?)?.start;
    let first = all.partition_point(|one| one.start < start);
    let mut same = all.get(first..behind)?.iter();
    same.find(|one| address < one.end)
}

/// Returns the functions in a file's symbol tables, sorted; `None` if it is no object file.
fn functions(module: &Path) -> Option<Vec<Function>> {
    // Other paths are relative to the program's directory, not to ours.
    if !module.is_absolute() || !module.metadata().ok()?.is_file() {
        return None;
    }
    let file: File = OpenOptions::new()
        .read(true)
        .custom_flags(QUIET)
        .open(module)
        .ok()?;
    let cache = ReadCache::new(file);
    let object = object::File::parse(&cache).ok()?;
    let symbols = object.symbols().chain(object.dynamic_symbols());
    let is_function = |kind| matches!(kind, SymbolKind::Text | SymbolKind::Unknown);
    let mut all = Vec::new();
    for symbol in symbols {
        let is_wanted = is_function(symbol.kind()) && symbol.is_definition() && symbol.size() > 0;
        let Some(name) = symbol
            .name()
            .ok()
            .filter(|name| is_wanted && !name.is_empty())
        else {
            continue;
        };
        all.push(Function {
            start: symbol.address(),
            end: symbol.address().saturating_add(symbol.size()),
            name: shown(name),
        });
        if all.len() == FUNCTIONS_MAX {
            break;
        }
    }
    // One function may have several names: `read` and `__read`.
    all.sort_by(|a, b| {
        let key = |one: &Function| (one.start, one.name.starts_with('_'), one.name.len());
        (key(a), &a.name).cmp(&(key(b), &b.name))
    });
    all.dedup();
    Some(all)
}

/// Returns a name with odd characters replaced, and not too long.
fn shown(name: &str) -> String {
    let is_odd = |one: char| one.is_control() || one.is_whitespace();
    let mut name = name.replace(is_odd, "?");
    if let Some((at, _)) = name.char_indices().find(|(at, _)| *at >= NAME_BYTES_MAX) {
        name.truncate(at);
        name.push('…');
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(start: u64, end: u64, name: &str) -> Function {
        Function {
            start,
            end,
            name: name.to_owned(),
        }
    }

    #[test]
    fn an_address_lies_in_the_function_that_reaches_so_far() {
        let all = [
            function(16, 32, "first"),
            function(32, 40, "short"),
            function(32, 64, "longer"),
        ];
        let name = |at| function_at(&all, at).map(|one| one.name.as_str());
        assert_eq!(
            (name(15), name(16), name(31)),
            (None, Some("first"), Some("first"))
        );
        assert_eq!(
            (name(39), name(40), name(64)),
            (Some("short"), Some("longer"), None)
        );
    }

    #[test]
    fn what_is_no_object_file_has_no_functions() {
        let mut symbols = Symbols::default();
        for path in [
            "/dev/zero",
            "/proc/self/maps",
            "/",
            "relative",
            "/nonexistent",
        ] {
            let name = symbols.name(Path::new(path), 0x1f);
            assert!(name.ends_with("+0x1f") && !name.contains(':'), "{name}");
        }
        assert_eq!(symbols.name(Path::new("/a b/c\nd"), 1), "c?d+0x1");
        assert!(shown(&"x".repeat(500)).len() < 200);
    }
}
