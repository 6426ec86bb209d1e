//! Writers that perform all kinds of operations on a tree, at random.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use trawl_sys::CWD;
use trawl_sys::file::{Existing, rename};
use trawl_testkit::Prng;
use trawl_testkit::folder::set_attribute;

/// The directories in which one writer works.
pub(crate) struct KeyResolver {
    /// The watched directory.
    pub(crate) root: PathBuf,
    /// A directory on the same file system that is not below the root.
    pub(crate) outside: PathBuf,
    /// Whether the writer may change owners.
    pub(crate) is_root: bool,
}

/// Another process that writes through mappings, which are closed before it answers.
pub(crate) struct Mapper {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

const MAPPER: &str = "
import mmap, os, sys
held = {}
for line in sys.stdin:
    word, path = line.rstrip('\\n').split(' ', 1)
    try:
        if word == 'write':
            with open(path, 'r+b') as f:
                m = mmap.mmap(f.fileno(), 0)
                m[0] = (m[0] + 1) & 255
                m.flush()
                m.close()
        elif word == 'hold':
            with open(path, 'r+b') as f:
                held[path] = mmap.mmap(f.fileno(), 0)
        elif word == 'touch' and held:
            for m in held.values():
                m[0] = (m[0] + 1) & 255
                m.flush()
        elif word == 'drop':
            held.clear()
        print('done', flush=True)
    except (OSError, ValueError) as e:
        print(type(e).__name__, flush=True)
";

impl Mapper {
    pub(crate) fn start() -> io::Result<Self> {
        let mut child = trawl_testkit::oracle::command("python3")
            .args(["-c", MAPPER])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let to = child.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let from = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let from = BufReader::new(from);
        Ok(Mapper { child, to, from })
    }

    pub(crate) fn ask(&mut self, word: &str, path: &Path) -> io::Result<()> {
        writeln!(self.to, "{word} {}", path.display())?;
        let mut answer = String::new();
        self.from.read_line(&mut answer)?;
        if answer == "done\n" {
            Ok(())
        } else {
            Err(io::Error::other(answer))
        }
    }
}

impl Drop for Mapper {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns a directory below `root`, which need not exist.
fn folder(prng: &mut Prng, root: &Path) -> PathBuf {
    let mut path = root.to_owned();
    for _ in 0..prng.below(4) {
        path.push(prng.word(&["a", "b", "c"]));
    }
    path
}

/// Returns a directory below `root` that is not the root itself, which must stay.
fn inner(prng: &mut Prng, root: &Path) -> PathBuf {
    let mut path = folder(prng, root);
    path.push(prng.word(&["a", "b", "c"]));
    path
}

fn file(prng: &mut Prng, root: &Path) -> PathBuf {
    let mut path = folder(prng, root);
    path.push(format!("f{}", prng.below(12)));
    path
}

fn any(prng: &mut Prng, root: &Path) -> PathBuf {
    if prng.once_in(3) {
        inner(prng, root)
    } else {
        file(prng, root)
    }
}

fn c(path: &Path) -> std::ffi::CString {
    use std::os::unix::ffi::OsStrExt;
    std::ffi::CString::new(path.as_os_str().as_bytes()).expect("no NUL")
}

fn exchange(from: &Path, to: &Path) -> io::Result<()> {
    Ok(rename(CWD, &c(from), CWD, &c(to), Existing::Exchange)?)
}

fn write_some(prng: &mut Prng, file: &mut File) -> io::Result<()> {
    let length = usize::try_from(prng.below(9000)).unwrap_or(0);
    file.write_all(&vec![7; length])
}

/// Returns an ACL that names the user `id`.
fn access_list(id: u32) -> Vec<u8> {
    let mut value = 2u32.to_le_bytes().to_vec();
    for (tag, bits, id) in [
        (1u16, 7u16, u32::MAX),
        (2, 4, id),
        (4, 4, u32::MAX),
        (16, 4, u32::MAX),
        (32, 0, u32::MAX),
    ] {
        value.extend(tag.to_le_bytes());
        value.extend(bits.to_le_bytes());
        value.extend(id.to_le_bytes());
    }
    value
}

/// Number of kinds of operations.
pub(crate) const KINDS: u64 = 29;

/// Performs one operation, which may fail because the names are random.
pub(crate) fn operate(
    kind: u64,
    prng: &mut Prng,
    places: &KeyResolver,
    mapper: &mut Mapper,
) -> io::Result<()> {
    let root = &places.root;
    let open = |path: &Path| OpenOptions::new().write(true).open(path);
    match kind {
        0..=2 => {
            let mut file = File::create(file(prng, root))?;
            write_some(prng, &mut file)
        }
        3 => {
            let mut file = OpenOptions::new().append(true).open(file(prng, root))?;
            write_some(prng, &mut file)
        }
        4 => open(&file(prng, root))?.set_len(prng.below(20_000)),
        5 => mapper.ask("write", &file(prng, root)),
        6 | 7 => fs::remove_file(file(prng, root)),
        8..=10 => fs::create_dir(inner(prng, root)),
        11 => fs::remove_dir(inner(prng, root)),
        12 => fs::rename(file(prng, root), file(prng, root)),
        13 => fs::rename(inner(prng, root), inner(prng, root)),
        14 => exchange(&any(prng, root), &any(prng, root)),
        15 | 16 => {
            let (old, new) = (file(prng, root), file(prng, root));
            // Without privileges, changes through a name in a directory that was just created are
            // not reported; such names result only from renames within a directory.
            let name = new.file_name().unwrap_or_default();
            let beside = old.with_file_name(name);
            fs::hard_link(old, if places.is_root { new } else { beside })
        }
        17 => symlink("target", file(prng, root)),
        18 => {
            // Permissions with which the walk can continue.
            let bits = *prng.pick(&[0o700, 0o755, 0o750, 0o711]);
            fs::set_permissions(any(prng, root), Permissions::from_mode(bits))
        }
        19 if places.is_root => chown(any(prng, root), Some(prng.below(9) as u32), None),
        20 => {
            let path = if prng.once_in(4) {
                folder(prng, root)
            } else {
                file(prng, root)
            };
            let value = prng.below(1000).to_string();
            set_attribute(File::open(path)?, c"user.trawl", value.as_bytes())
        }
        21 => {
            let list = access_list(prng.below(100) as u32);
            let file = File::open(file(prng, root))?;
            set_attribute(file, trawl_sys::xattr::ACL_ACCESS, &list)
        }
        22 => {
            let path = file(prng, root);
            write_deleted(prng, &path)
        }
        23 => move_out_and_in(prng, places),
        // Mappings that stay: writes through them cause no events.
        26 => mapper.ask("hold", &file(prng, root)),
        27 => mapper.ask("touch", root),
        28 if prng.once_in(4) => mapper.ask("drop", root),
        28 => mapper.ask("touch", root),
        24 => fs::remove_dir_all(folder(prng, &root.join("a"))),
        _ => {
            let file = OpenOptions::new().write(true).open(file(prng, root))?;
            let then = std::time::UNIX_EPOCH + std::time::Duration::from_secs(prng.below(1 << 30));
            file.set_modified(then)
        }
    }
}

fn write_deleted(prng: &mut Prng, path: &Path) -> io::Result<()> {
    let mut file = OpenOptions::new().append(true).open(path)?;
    fs::remove_file(path)?;
    write_some(prng, &mut file)
}

fn move_out_and_in(prng: &mut Prng, places: &KeyResolver) -> io::Result<()> {
    let away = places.outside.join(prng.word(&["x", "y"]));
    if away.is_dir() {
        // Changed while it is outside.
        let _ = fs::create_dir(away.join("new"));
        let _ = fs::write(away.join("new").join("f1"), "made outside");
        let _ = fs::write(away.join("f3"), "also");
        fs::rename(&away, inner(prng, &places.root))
    } else {
        fs::rename(inner(prng, &places.root), &away)
    }
}
