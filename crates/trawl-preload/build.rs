//! Links the library so that its functions call each other and not those of these names in a
//! library before it: one that makes `fstat` of `__fxstat`, as sanitizers' do, would be called by
//! what it calls. And links the unwinder into it, so that a program's start does not load one more.
//!
//! The compiler asks the linker for `libgcc_s`; where the static one is installed, that name is
//! made to mean it, for this library alone.

use std::path::{Path, PathBuf};
use std::process::Command;

const STATIC: &str = "libgcc_eh.a";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-Bsymbolic-functions");
    let Some(out) = std::env::var_os("OUT_DIR").map(PathBuf::from) else {
        return;
    };
    let option = format!("-print-file-name={STATIC}");
    let Ok(printed) = Command::new(compiler()).arg(option).output() else {
        return;
    };
    // Where there is none, the compiler gives the name back.
    let found = String::from_utf8_lossy(&printed.stdout).trim().to_owned();
    let script = format!("INPUT({found})\n");
    if Path::new(&found).is_absolute() && std::fs::write(out.join("libgcc_s.so"), script).is_ok() {
        println!("cargo:rustc-cdylib-link-arg=-L{}", out.display());
    }
}

/// The C compiler of the machine that is built for: as the `cc` crate is told of it, else by the
/// name that Debian gives it.
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
