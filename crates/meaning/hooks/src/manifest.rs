//! Users' hooks: a directory with a manifest for each (`NAME.toml`), and the programs and modules.
//!
//! The programs run with the rights of nobody in a daemon of the superuser, and in a sandbox. Still,
//! a directory, manifest or program that other users can change is refused.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use trawl_text::glob::{Case, Glob};
use trawl_text::locale::Locale;

use crate::error::HookError;
use crate::found::is_name;
use crate::limits::Limits;

/// Maximum size of a manifest in bytes.
const MANIFEST_BYTES_MAX: u64 = 64 << 10;
/// Maximum number of hooks of a directory.
const HOOKS_MAX: usize = 256;

/// A user's hook.
#[derive(Debug)]
pub struct UserHook {
    /// Name.
    pub name: String,
    /// What it finds, in words; empty if the manifest does not say.
    pub about: String,
    /// The program or module.
    pub program: PathBuf,
    /// Whether it is a WebAssembly module.
    pub is_module: bool,
    /// The program's arguments.
    pub arguments: Vec<String>,
    /// Names of files that it accepts, as in the manifest.
    pub globs: Vec<String>,
    /// MIME types that it accepts, as in the manifest.
    pub mime_types: Vec<String>,
    /// Files and directories that it may read, besides programs and libraries.
    pub reads: Vec<PathBuf>,
    /// Limits, as far as the manifest says.
    limits: LimitsTable,
    /// [`UserHook::globs`], parsed.
    patterns: Vec<Glob>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Manifest {
    name: String,
    #[serde(default)]
    about: String,
    program: Option<PathBuf>,
    module: Option<PathBuf>,
    #[serde(default)]
    arguments: Vec<String>,
    #[serde(default)]
    globs: Vec<String>,
    #[serde(default)]
    mime_types: Vec<String>,
    #[serde(default)]
    reads: Vec<PathBuf>,
    #[serde(default)]
    limits: LimitsTable,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct LimitsTable {
    cpu_secs: Option<u64>,
    wall_secs: Option<u64>,
    memory_mib: Option<u64>,
    text_kib: Option<u64>,
    file_mib: Option<u64>,
}

impl UserHook {
    /// Returns whether the hook accepts a file of this MIME type, name and size.
    #[must_use]
    pub fn accepts(&self, mime: &str, name: &[u8], size_bytes: u64) -> bool {
        let is_type = |wanted: &String| match wanted.strip_suffix("/*") {
            Some(class) => mime.split('/').next() == Some(class),
            None => wanted == mime,
        };
        let most = self.limits.file_mib.unwrap_or(u64::MAX);
        let is_small = size_bytes >> 20 < most;
        let is_wanted = self.accepts_name(name) || self.mime_types.iter().any(is_type);
        is_small && is_wanted
    }

    /// Returns whether the hook accepts a file because of its name.
    #[must_use]
    pub fn accepts_name(&self, name: &[u8]) -> bool {
        self.patterns.iter().any(|glob| glob.matches(name))
    }

    /// Returns the limits for this hook: those of the manifest, as far as they are not laxer than
    /// the general ones.
    #[must_use]
    pub fn limits(&self, general: &Limits) -> Limits {
        let stricter = |own: Option<u64>, unit: u64, general: u64| {
            own.map_or(general, |own| own.saturating_mul(unit).min(general))
        };
        let own = &self.limits;
        let text = stricter(own.text_kib, 1 << 10, general.text_bytes as u64);
        Limits {
            cpu_secs: stricter(own.cpu_secs, 1, general.cpu_secs),
            wall_ms: stricter(own.wall_secs, 1000, general.wall_ms),
            memory_bytes: stricter(own.memory_mib, 1 << 20, general.memory_bytes),
            text_bytes: usize::try_from(text).unwrap_or(general.text_bytes),
            ..*general
        }
    }
}

/// Loads the hooks of a directory, in the order of their manifests' names.
///
/// # Errors
/// Fails if a manifest cannot be read or is invalid, or if others could change what is run.
pub fn load(directory: &Path) -> Result<Vec<UserHook>, HookError> {
    let failed = |source| HookError::File {
        action: "read",
        path: directory.to_owned(),
        source,
    };
    // Programs start in another directory.
    let directory = &std::path::absolute(directory).map_err(failed)?;
    check_owner(directory)?;
    let mut manifests = Vec::new();
    for entry in fs::read_dir(directory).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "toml")
        {
            manifests.push(path);
        }
    }
    manifests.sort();
    if let Some(path) = manifests.get(HOOKS_MAX) {
        return Err(HookError::Manifest {
            path: path.clone(),
            why: format!("a directory has at most {HOOKS_MAX} hooks"),
        });
    }
    manifests.iter().map(|path| load_one(path)).collect()
}

fn load_one(path: &Path) -> Result<UserHook, HookError> {
    let failed = |source| HookError::File {
        action: "read",
        path: path.to_owned(),
        source,
    };
    check_owner(path)?;
    if fs::metadata(path).map_err(failed)?.len() > MANIFEST_BYTES_MAX {
        return Err(invalid(path, "the manifest is too long"));
    }
    let text = fs::read_to_string(path).map_err(failed)?;
    let manifest: Manifest = toml::from_str(&text).map_err(|error| {
        let why = error.to_string();
        invalid(path, why.trim_end())
    })?;
    if !is_name(&manifest.name) {
        let why = "the name must consist of lower-case letters, digits, -, _ and .";
        return Err(invalid(path, why));
    }
    if manifest.globs.is_empty() && manifest.mime_types.is_empty() {
        return Err(invalid(
            path,
            "globs or mime_types must name the files that it accepts",
        ));
    }
    let (program, is_module) = match (manifest.program, manifest.module) {
        (Some(program), None) => (program, false),
        (None, Some(module)) => (module, true),
        _ => return Err(invalid(path, "it must have either a program or a module")),
    };
    if is_module && !manifest.reads.is_empty() {
        return Err(invalid(
            path,
            "a module reads no files besides its standard input",
        ));
    }
    let folder = path.parent().unwrap_or(Path::new("/"));
    let program = folder.join(program);
    check_owner(&program)?;
    let glob = |text: &String| Glob::new(text.as_bytes(), Case::Sensitive, Locale::Utf8);
    Ok(UserHook {
        patterns: manifest.globs.iter().map(glob).collect(),
        name: manifest.name,
        about: manifest.about,
        program,
        is_module,
        arguments: manifest.arguments,
        globs: manifest.globs,
        mime_types: manifest.mime_types,
        reads: manifest
            .reads
            .iter()
            .map(|path| folder.join(path))
            .collect(),
        limits: manifest.limits,
    })
}

fn invalid(path: &Path, why: &str) -> HookError {
    HookError::Manifest {
        path: path.to_owned(),
        why: why.to_owned(),
    }
}

/// Fails unless a file belongs to this user or the superuser, and only they can write it.
fn check_owner(path: &Path) -> Result<(), HookError> {
    let found = fs::metadata(path).map_err(|source| HookError::File {
        action: match source.kind() {
            io::ErrorKind::NotFound => "find",
            _ => "read",
        },
        path: path.to_owned(),
        source,
    })?;
    let ours = [0, trawl_sys::identity::effective_uid()];
    match ours.contains(&found.uid()) && found.mode() & 0o022 == 0 {
        true => Ok(()),
        false => Err(HookError::Unsafe {
            path: path.to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    const MANIFEST: &str = r#"
        name = "exposure"
        about = "finds exposures"
        program = "exposure"
        globs = ["*.fits", "*.fit"]
        mime_types = ["image/*", "text/x-c"]
        reads = ["/opt/tables", "beside"]
        [limits]
        cpu_secs = 2
        memory_mib = 4096
        file_mib = 10
    "#;

    fn folder(manifest: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.toml"), manifest).unwrap();
        fs::write(folder.path().join("exposure"), "#!/bin/sh\n").unwrap();
        for name in ["", "a.toml", "exposure"] {
            let path = folder.path().join(name);
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        folder
    }

    #[test]
    fn a_manifest_says_which_files_the_hook_accepts() {
        let folder = folder(MANIFEST);
        let hooks = load(folder.path()).unwrap();
        let [hook] = &hooks[..] else {
            panic!("{hooks:?}")
        };
        for (mime, name, size, accepted) in [
            ("application/x", "m31.fits", 1, true),
            ("image/png", "a", 1, true),
            ("imagery/png", "a", 1, false),
            ("text/x-c", "a.c", 1, true),
            ("text/x-c++", "a.cc", 1, false),
            ("application/x", "m31.FITS", 1, false),
            ("image/png", "a", 10 << 20, false),
        ] {
            let found = hook.accepts(mime, name.as_bytes(), size);
            assert_eq!(found, accepted, "{mime} {name} {size}");
        }
        assert_eq!(hook.reads[1], folder.path().join("beside"));
        let limits = hook.limits(&Limits::default());
        assert_eq!(limits.cpu_secs, 2);
        let general = Limits::default().memory_bytes;
        assert_eq!(limits.memory_bytes, general, "a manifest cannot take more");
    }

    #[test]
    fn invalid_manifests_are_refused_with_the_reason() {
        for (from, to, why) in [
            ("name =", "nom =", "unknown field `nom`"),
            (
                "\"exposure\"\n        about",
                "\"Ex posure\"\n        about",
                "lower-case",
            ),
            ("cpu_secs = 2", "cpu_secs = -2", "cpu_secs"),
            (
                "program = \"exposure\"",
                "program = \"gone\"",
                "cannot find",
            ),
            ("globs", "# globs", ""),
            ("name", "name name", "expected"),
        ] {
            let manifest = MANIFEST.replacen(from, to, 1);
            let folder = folder(&manifest);
            match load(folder.path()) {
                Ok(_) => assert_eq!(why, "", "{manifest}"),
                Err(error) => assert!(error.to_string().contains(why), "{error}"),
            }
        }
    }

    #[test]
    fn what_others_can_change_is_not_run() {
        for name in ["", "a.toml", "exposure"] {
            let folder = folder(MANIFEST);
            let path = folder.path().join(name);
            fs::set_permissions(&path, fs::Permissions::from_mode(0o775)).unwrap();
            let error = load(folder.path()).unwrap_err();
            assert!(matches!(error, HookError::Unsafe { .. }), "{name}: {error}");
        }
    }
}
