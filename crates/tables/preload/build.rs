//! Links a library that programs load, that of tables or that of latency profiles, so that calls
//! between its own functions stay inside it, even where a library loaded before it has functions of
//! the same names: one that implements `fstat` with `__fxstat`, as sanitizers' libraries do, would
//! otherwise be called by the function that it calls. It also links the unwinder in, so that a
//! program's start does not load one more library.
//!
//! The compiler asks the linker for `libgcc_s`. Where the static unwinder is installed, that name
//! is made to refer to it, for this library alone.

use std::path::{Path, PathBuf};
use std::process::Command;

const STATIC: &str = "libgcc_eh.a";

fn main() {
    println!("cargo:rustc-cdylib-link-arg=-Wl,-Bsymbolic-functions");
    let Some(out) = std::env::var_os("OUT_DIR").map(PathBuf::from) else {
        return;
    };
    let option = format!("-print-file-name={STATIC}");
    let Ok(printed) = Command::new(compiler()).arg(option).output() else {
        return;
    };
    // If the file does not exist, the compiler prints the bare name.
    let found = String::from_utf8_lossy(&printed.stdout).trim().to_owned();
    let script = format!("INPUT({found})\n");
    if Path::new(&found).is_absolute() && std::fs::write(out.join("libgcc_s.so"), script).is_ok() {
        println!("cargo:rustc-cdylib-link-arg=-L{}", out.display());
    }
}

/// Returns the C compiler for the target machine: the one configured for the `cc` crate, otherwise
/// Debian's name for it.
fn compiler() -> String {
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let (target, host) = (variable("TARGET"), variable("HOST"));
    let named = format!("CC_{}", target.replace('-', "_"));
    println!("cargo:rerun-if-env-changed={named}");
    match (variable(&named), target == host) {
        (named, _) if !named.is_empty() => named,
        (_, true) => "cc".into(),
        (_, false) => format!("{}-gcc", target.replace("-unknown-", "-")),
    }
}
