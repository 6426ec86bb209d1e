//! Links the programs with the static unwinder of the C compiler, if it has one: each library that
//! the loader need not find and map makes starting shorter. Without it, they need libgcc_s.so.
//!
//! In development, programs have symbols, but no debug information: it is half of their size, and nearly
//! every test installs a copy of them. Optimised ones have neither, by their profile.

use std::path::Path;
use std::process::Command;

/// The archive of the unwinder.
const UNWINDER: &str = "libgcc_eh.a";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=CC");
    // The linker obeys the last such option, so the profile's would have no effect beside this one.
    if std::env::var_os("PROFILE").is_some_and(|profile| profile == "debug") {
        println!("cargo::rustc-link-arg-bins=-Wl,--strip-debug");
    }
    let is_native = std::env::var_os("TARGET") == std::env::var_os("HOST");
    let is_gnu = std::env::var("CARGO_CFG_TARGET_ENV").is_ok_and(|env| env == "gnu");
    if !is_native || !is_gnu {
        return;
    }
    let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let asked = Command::new(compiler)
        .arg(format!("-print-file-name={UNWINDER}"))
        .output();
    let Ok(answer) = asked else {
        return;
    };
    let path = String::from_utf8_lossy(&answer.stdout);
    // A compiler that does not have it prints the bare name.
    let path = Path::new(path.trim());
    if let Some(dir) = path
        .parent()
        .filter(|_| path.is_absolute() && path.exists())
    {
        println!("cargo::rustc-link-search=native={}", dir.display());
        println!("cargo::rustc-link-lib=static:-bundle=gcc_eh");
    }
}
