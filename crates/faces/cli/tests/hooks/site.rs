//! Folders with files, and hooks that read them.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use trawl_hooks::{Extracted, Fault, Hooks, Limits, Value, extract};
use trawl_testkit::oracle::{Ran, command, run};

/// Longer than any file takes on the slowest machine. Programs that hang do so for 1,000 s.
pub(crate) const HANGS: Duration = Duration::from_secs(500);

/// A folder that everybody may read, since hooks of root's run as nobody.
pub(crate) struct Site {
    folder: tempfile::TempDir,
    pub(crate) hooks: Hooks,
    pub(crate) limits: Limits,
}

impl Site {
    pub(crate) fn new() -> Site {
        let folder = tempfile::tempdir().expect("a folder");
        allow(folder.path());
        let worker = PathBuf::from(env!("CARGO_BIN_EXE_trawl-hook"));
        Site {
            folder,
            hooks: Hooks::new(worker),
            limits: Limits::default(),
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, bytes).expect("a file");
        path
    }

    /// Makes a file by a Python program, which finds its path in `sys.argv[1]`.
    pub(crate) fn python(&self, name: &str, program: &str) -> PathBuf {
        let path = self.path(name);
        let mut python = command("/usr/bin/python3");
        run(python.arg("-c").arg(program).arg(&path)).expect_code(0);
        path
    }

    /// Runs a tool in the folder.
    pub(crate) fn tool(&self, line: &str) -> Ran {
        let mut shell = command("sh");
        run(shell.arg("-ec").arg(line).current_dir(self.folder.path())).expect_code(0)
    }

    /// Writes a hook that is a program, and loads it with its limits.
    pub(crate) fn user_hook(&mut self, program: &str, limits: &str) {
        let lines = format!("program = \"hook\"\n[limits]\n{limits}");
        self.hook_with(program.as_bytes(), &lines);
    }

    /// Writes a hook with these further lines of its manifest, and loads it.
    pub(crate) fn hook_with(&mut self, program: &[u8], lines: &str) {
        let folder = self.path("hooks");
        fs::create_dir_all(&folder).expect("a folder");
        fs::write(folder.join("hook"), program).expect("a program");
        let manifest = format!("name = \"mine\"\nglobs = [\"*.dat\"]\n{lines}\n");
        fs::write(folder.join("mine.toml"), manifest).expect("a manifest");
        for path in [&folder, &folder.join("hook"), &folder.join("mine.toml")] {
            allow(path);
        }
        self.hooks.add_directory(&folder).expect("a hook");
    }

    /// Returns what the hooks find in a file.
    pub(crate) fn found(&self, path: &Path) -> Extracted {
        let file = File::open(path).expect("a file");
        let name = path.file_name().expect("a name");
        extract(&file, name.as_encoded_bytes(), &self.hooks, &self.limits)
    }

    /// Returns what the hooks find, if they have no problem with it.
    #[track_caller]
    pub(crate) fn well_found(&self, path: &Path) -> Extracted {
        let found = self.found(path);
        assert_eq!(found.problems, [], "{}", path.display());
        found
    }
}

/// Lets everybody read and execute.
pub(crate) fn allow(path: &Path) {
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("permissions");
}

/// Returns the value of an attribute.
#[track_caller]
pub(crate) fn attribute<'f>(found: &'f Extracted, name: &str) -> &'f Value {
    let mut attributes = found.attributes.iter();
    let own = attributes.find(|(other, _)| other == name);
    &own.unwrap_or_else(|| panic!("no {name} in {found:?}")).1
}

#[track_caller]
pub(crate) fn expect_text(found: &Extracted, name: &str, text: &str) {
    assert_eq!(attribute(found, name), &Value::Text(text.to_owned()));
}

#[track_caller]
pub(crate) fn expect_number(found: &Extracted, name: &str, number: i64) {
    assert_eq!(attribute(found, name), &Value::Integer(number), "{name}");
}

/// Returns the texts of a list, sorted.
#[track_caller]
pub(crate) fn texts(found: &Extracted, name: &str) -> Vec<String> {
    let Value::List(values) = attribute(found, name) else {
        panic!("{name} is no list in {found:?}");
    };
    let text = |value: &Value| match value {
        Value::Text(text) => text.clone(),
        other => panic!("{other:?} is no text"),
    };
    let mut texts: Vec<String> = values.iter().map(text).collect();
    texts.sort();
    texts
}

#[track_caller]
pub(crate) fn expect_words(found: &Extracted, words: &[&str]) {
    let text: Vec<&str> = found.text.split_whitespace().collect();
    for word in words {
        assert!(text.contains(word), "no {word} in {:?}", found.text);
    }
}

pub(crate) fn faults(found: &Extracted) -> Vec<Fault> {
    found.problems.iter().map(|one| one.fault).collect()
}
