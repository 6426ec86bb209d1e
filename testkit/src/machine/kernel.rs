//! Debian's kernel and busybox, downloaded once and unpacked in the cache. Nothing is installed.

use std::path::{Path, PathBuf};

use crate::oracle::command;

/// The package whose dependency is the current kernel.
const META: &str = "linux-image-amd64";
const SHELL: &str = "busybox-static";
/// Modules that no machine needs: most of the package's 400 MB.
const UNWANTED: [&str; 6] = [
    "sound",
    "drivers/gpu",
    "drivers/net/wireless",
    "drivers/media",
    "drivers/iio",
    "drivers/infiniband",
];

/// A kernel in the cache.
#[derive(Clone, Debug)]
pub(super) struct Kernel {
    root: PathBuf,
    pub(super) release: String,
}

impl Kernel {
    /// Returns the kernel of the cache, which is filled first if it is empty.
    pub(super) fn obtain() -> Result<Kernel, String> {
        let cache = cache()?;
        let root = cache.join("root");
        if !root.exists() {
            fill(&cache, &root)?;
        }
        let modules = std::fs::read_dir(root.join("lib/modules"));
        let modules = modules.map_err(|error| format!("{}: {error}", root.display()))?;
        let release = modules.flatten().next();
        let release = release.ok_or_else(|| format!("{} is empty", root.display()))?;
        Ok(Kernel {
            release: release.file_name().to_string_lossy().into_owned(),
            root,
        })
    }

    pub(super) fn image(&self) -> PathBuf {
        self.root
            .join("boot")
            .join(format!("vmlinuz-{}", self.release))
    }

    pub(super) fn busybox(&self) -> Vec<u8> {
        let places = ["bin/busybox", "usr/bin/busybox"];
        let mut found = places
            .iter()
            .map(|place| std::fs::read(self.root.join(place)));
        found.find_map(Result::ok).expect("the cache has busybox")
    }

    /// Returns the file of a module.
    pub(super) fn module(&self, name: &str) -> Option<PathBuf> {
        let top = self.root.join("lib/modules").join(&self.release);
        let mut directories = vec![top];
        while let Some(directory) = directories.pop() {
            for entry in std::fs::read_dir(directory).ok()?.flatten() {
                let path = entry.path();
                if path.is_dir() {
                    directories.push(path);
                    continue;
                }
                let file = entry.file_name().to_string_lossy().replace('-', "_");
                let stem = file.trim_end_matches(".xz").strip_suffix(".ko");
                if stem == Some(&name.replace('-', "_")) {
                    return Some(path);
                }
            }
        }
        None
    }
}

/// Returns a module, unpacked.
pub(super) fn module_content(path: &Path) -> Vec<u8> {
    match path.extension().is_some_and(|extension| extension == "xz") {
        false => std::fs::read(path).expect("the module can be read"),
        true => {
            let ran = command("xz").arg("-dc").arg(path).output();
            ran.expect("xz unpacks the module").stdout
        }
    }
}

/// Returns the modules that a module depends on, as it says itself.
pub(super) fn dependencies(module: &[u8]) -> Vec<String> {
    let fields = module.split(|byte| *byte == 0);
    let line = fields
        .filter_map(|field| field.strip_prefix(b"depends="))
        .next();
    let names = String::from_utf8_lossy(line.unwrap_or_default()).into_owned();
    let names = names.split(',').filter(|name| !name.is_empty());
    names.map(str::to_owned).collect()
}

/// The project's cache, as in the Makefile.
fn cache() -> Result<PathBuf, String> {
    let home = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.filter(|cache| cache.is_absolute()).or(home);
    let cache = cache.ok_or("neither HOME nor XDG_CACHE_HOME is set")?;
    Ok(cache.join("trawl/machine"))
}

fn fill(cache: &Path, root: &Path) -> Result<(), String> {
    let work = cache.join(format!("new-{}", std::process::id()));
    let failed = |error: std::io::Error| format!("{}: {error}", work.display());
    std::fs::create_dir_all(&work).map_err(failed)?;
    let filled = download(&work).and_then(|()| {
        match std::fs::rename(work.join("root"), root) {
            Ok(()) => Ok(()),
            // Another test was faster.
            Err(_) if root.exists() => Ok(()),
            Err(error) => Err(failed(error)),
        }
    });
    let _ = std::fs::remove_dir_all(&work);
    filled
}

fn download(work: &Path) -> Result<(), String> {
    let kernel = current_kernel().or_else(|| {
        // The lists of packages may be missing.
        let _ = command("apt-get").args(["-qq", "update"]).output();
        current_kernel()
    });
    let kernel = kernel.ok_or(format!("apt-cache knows no package {META}"))?;
    for package in [kernel.as_str(), SHELL] {
        let fetch = || {
            run(command("apt-get")
                .args(["-q", "download", package])
                .current_dir(work))
        };
        let again = |_| {
            let _ = command("apt-get").args(["-qq", "update"]).output();
            fetch()
        };
        fetch().or_else(again)?;
    }
    let archives = std::fs::read_dir(work).map_err(|error| error.to_string())?;
    for archive in archives.flatten().map(|entry| entry.path()) {
        if archive
            .extension()
            .is_some_and(|extension| extension == "deb")
        {
            run(command("dpkg-deb")
                .arg("-x")
                .arg(&archive)
                .arg(work.join("root")))?;
        }
    }
    let unwanted = |directory: PathBuf| {
        for part in UNWANTED {
            let _ = std::fs::remove_dir_all(directory.join("kernel").join(part));
        }
    };
    let modules = std::fs::read_dir(work.join("root/lib/modules"));
    let modules = modules.map_err(|error| error.to_string())?;
    modules
        .flatten()
        .map(|entry| entry.path())
        .for_each(unwanted);
    Ok(())
}

fn current_kernel() -> Option<String> {
    let ran = command("apt-cache").args(["depends", META]).output().ok()?;
    let text = String::from_utf8_lossy(&ran.stdout).into_owned();
    let mut names = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("Depends: "));
    names
        .find(|name| name.starts_with("linux-image-"))
        .map(str::to_owned)
}

fn run(command: &mut std::process::Command) -> Result<(), String> {
    let program = command.get_program().to_string_lossy().into_owned();
    match command.output() {
        Ok(ran) if ran.status.success() => Ok(()),
        Ok(ran) => Err(format!(
            "{program} failed: {}",
            String::from_utf8_lossy(&ran.stderr).trim()
        )),
        Err(error) => Err(format!("{program} cannot be started: {error}")),
    }
}
