//! Builds a planned tree on disk, or as a script for a person to repeat.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::plan::{Kind, Node, Plan};
use crate::folder::{Device, FileTime, Folder};
use crate::oracle::{command, run};
use crate::skip::is_root;

/// Number of bytes of a file that are written; the rest is a hole.
const WRITTEN_BYTES: u64 = 5_000;
const ACL: &[u8] = b"system.posix_acl_access";
const XATTR: &[u8] = b"user.trawl";

/// Mount points made for a tree; unmounted on drop, the last one first.
#[derive(Debug, Default)]
pub struct Mounted(Vec<PathBuf>);

impl Drop for Mounted {
    fn drop(&mut self) {
        for path in self.0.drain(..).rev() {
            let mut umount = command("umount");
            let _ = umount.arg("-l").arg(path).status();
        }
    }
}

/// Builds the plan in an existing, empty directory. Entries that this user or machine cannot make
/// become ordinary files.
pub fn build(root: &Path, plan: &Plan) -> io::Result<Mounted> {
    let mut builder = Builder {
        root: Folder::open(root)?,
        root_path: root,
        plan,
        folders: BTreeMap::new(),
        mounted: Mounted::default(),
    };
    for node in &plan.nodes {
        builder.make(node)?;
    }
    // Inner entries first: a folder's permissions may close it, and its times change when entries
    // are made in it.
    for node in plan.nodes.iter().rev() {
        builder.dress(node)?;
    }
    // Mounted objects show attributes of their own.
    for node in &plan.nodes {
        builder.bind(node)?;
    }
    Ok(builder.mounted)
}

struct Builder<'a> {
    root: Folder,
    root_path: &'a Path,
    plan: &'a Plan,
    folders: BTreeMap<usize, Folder>,
    mounted: Mounted,
}

impl Builder<'_> {
    fn holder(&self, parent: Option<usize>) -> &Folder {
        parent
            .and_then(|number| self.folders.get(&number))
            .unwrap_or(&self.root)
    }

    fn make(&mut self, node: &Node) -> io::Result<()> {
        let holder = self.holder(node.parent).try_clone()?;
        let name = &node.name;
        let made = match &node.kind {
            Kind::Folder => holder
                .make_folder(name)
                .map(|folder| self.keep(node, folder)),
            Kind::Mount => self.mount(&holder, node),
            Kind::Bound(of) if self.plan.is_folder(*of) => holder.make_folder(name).map(drop),
            Kind::Bound(_) => make_file(&holder, name, 0),
            Kind::File { size_bytes } => make_file(&holder, name, *size_bytes),
            Kind::Symlink(target) => holder.make_symlink(name, target),
            Kind::HardLink(to) => self.link(*to, &holder, name),
            Kind::Fifo => holder.make_fifo(name),
            Kind::Socket => holder.make_socket(name),
            Kind::Block(major, minor) => holder.make_device(name, Device::Block(*major, *minor)),
            Kind::Character(major, minor) => {
                holder.make_device(name, Device::Character(*major, *minor))
            }
        };
        made.or_else(|_| holder.make_file(name, b"instead"))
    }

    fn keep(&mut self, node: &Node, folder: Folder) {
        self.folders.insert(node.number, folder);
    }

    fn mount(&mut self, holder: &Folder, node: &Node) -> io::Result<()> {
        let below = holder.make_folder(&node.name)?;
        let path = self.root_path.join(path_of(&self.plan.path(node)));
        let mut mount = command("mount");
        mount.args([
            "-t",
            "tmpfs",
            "-o",
            "size=1m,mode=0755,noatime",
            "trawl-test",
        ]);
        let mounted = is_root() && run(mount.arg(&path)).code == Some(0);
        let folder = if mounted {
            self.mounted.0.push(path);
            holder.enter(&node.name)?
        } else {
            below
        };
        self.keep(node, folder);
        Ok(())
    }

    fn bind(&mut self, node: &Node) -> io::Result<()> {
        let Kind::Bound(of) = node.kind else {
            return Ok(());
        };
        let paths = [self.plan.node(of), Some(node)];
        let [Some(from), Some(to)] = paths.map(|node| {
            let path = self.plan.path(node?);
            // mount(8) rejects longer paths.
            (path.len() < 3_000).then(|| self.root_path.join(path_of(&path)))
        }) else {
            return Ok(());
        };
        let mut mount = command("mount");
        mount.arg("--no-canonicalize").arg("--bind").arg(from);
        if is_root() && run(mount.arg(&to)).code == Some(0) {
            self.mounted.0.push(to);
        }
        Ok(())
    }

    fn link(&self, to: usize, holder: &Folder, name: &[u8]) -> io::Result<()> {
        let file = self.plan.node(to).ok_or(io::ErrorKind::NotFound)?;
        self.holder(file.parent)
            .make_hard_link(&file.name, holder, name)
    }

    /// Sets owner before mode (a new owner clears setuid), mode after the ACL, times last.
    /// Attributes that cannot be set are left alone.
    fn dress(&self, node: &Node) -> io::Result<()> {
        let (holder, name) = (self.holder(node.parent), &node.name);
        if matches!(node.kind, Kind::HardLink(_)) {
            return Ok(());
        }
        if let Some(value) = &node.xattr {
            let _ = holder.set_xattr(name, XATTR, value);
        }
        if is_root() {
            holder.set_owner(name, node.access.uid, node.access.gid)?;
        }
        if !matches!(node.kind, Kind::Symlink(_)) {
            if let Some(acl) = &node.access.acl {
                let _ = holder.set_xattr(name, ACL, acl);
            }
            holder.set_mode(name, node.access.mode)?;
        }
        if let Some((accessed, modified)) = node.times {
            // File systems differ in their range of times.
            let _ = holder.set_times(name, accessed, modified);
        }
        Ok(())
    }
}

fn make_file(holder: &Folder, name: &[u8], size_bytes: u64) -> io::Result<()> {
    let written = usize::try_from(size_bytes.min(WRITTEN_BYTES)).expect("small");
    let mut file = holder.create(name)?;
    file.write_all(&vec![b'c'; written])?;
    file.set_len(size_bytes)
}

fn path_of(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}

/// Quotes a word for bash.
pub fn quoted(word: &[u8]) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"./_-+=:,%@".contains(byte);
    if !word.is_empty() && word.iter().all(plain) {
        return String::from_utf8_lossy(word).into_owned();
    }
    let odd = |byte: &u8| !(0x20..0x7f).contains(byte) || b"'\\".contains(byte);
    if !word.iter().any(odd) {
        return format!("'{}'", String::from_utf8_lossy(word));
    }
    let escaped = word.iter().map(|byte| match byte {
        b'\n' => "\\n".into(),
        b'\'' | b'\\' => format!("\\{}", char::from(*byte)),
        _ if odd(byte) => format!("\\{byte:03o}"),
        _ => char::from(*byte).to_string(),
    });
    format!("$'{}'", escaped.collect::<String>())
}

/// Returns a bash script that makes the tree in the working directory, as root.
pub fn script(plan: &Plan) -> String {
    let mut lines: Vec<String> = plan.nodes.iter().map(|node| made_by(plan, node)).collect();
    lines.extend(
        plan.nodes
            .iter()
            .rev()
            .filter_map(|node| dressed_by(plan, node)),
    );
    lines.extend(plan.nodes.iter().filter_map(|node| {
        let Kind::Bound(of) = node.kind else {
            return None;
        };
        let from = spelled(plan, plan.node(of)?);
        Some(format!("mount --bind {from} {}", spelled(plan, node)))
    }));
    lines.join("\n") + "\n"
}

fn spelled(plan: &Plan, node: &Node) -> String {
    quoted(&[b"./", &plan.path(node)[..]].concat())
}

fn made_by(plan: &Plan, node: &Node) -> String {
    let path = spelled(plan, node);
    match &node.kind {
        Kind::Folder => format!("mkdir {path}"),
        Kind::Mount => format!("mkdir {path}; mount -t tmpfs trawl-test {path}"),
        Kind::Bound(of) if plan.is_folder(*of) => format!("mkdir {path}"),
        Kind::File { size_bytes: 0 } | Kind::Bound(_) => format!(": > {path}"),
        Kind::File { size_bytes } => {
            let written = (*size_bytes).min(WRITTEN_BYTES);
            format!("head -c {written} /dev/zero > {path}; truncate -s {size_bytes} {path}")
        }
        Kind::Symlink(target) => format!("ln -s -- {} {path}", quoted(target)),
        Kind::HardLink(to) => match plan.node(*to) {
            Some(file) => format!("ln {} {path}", spelled(plan, file)),
            None => format!("printf instead > {path}"),
        },
        Kind::Fifo => format!("mkfifo {path}"),
        Kind::Socket => format!(
            "python3 -c 'import socket,sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' {path}"
        ),
        Kind::Block(major, minor) => format!("mknod {path} b {major} {minor}"),
        Kind::Character(major, minor) => format!("mknod {path} c {major} {minor}"),
    }
}

fn dressed_by(plan: &Plan, node: &Node) -> Option<String> {
    if matches!(node.kind, Kind::HardLink(_)) {
        return None;
    }
    let path = spelled(plan, node);
    let mut line = Vec::new();
    if node.xattr.is_some() {
        line.push(format!("setfattr -n user.trawl -v value {path}"));
    }
    let access = &node.access;
    if (access.uid, access.gid) != (0, 0) {
        line.push(format!("chown -h {}:{} {path}", access.uid, access.gid));
    }
    if !matches!(node.kind, Kind::Symlink(_)) {
        if let Some(acl) = &access.acl {
            let hex: String = acl.iter().map(|byte| format!("{byte:02x}")).collect();
            line.push(format!(
                "setfattr -n system.posix_acl_access -v 0x{hex} {path}"
            ));
        }
        line.push(format!("chmod {:04o} {path}", access.mode));
    }
    if let Some((accessed, modified)) = node.times {
        for (letter, time) in [("a", accessed), ("m", modified)] {
            line.push(format!("touch -h -{letter} -d {} {path}", seconds(time)));
        }
    }
    Some(line.join("; "))
}

/// Formats a time for touch(1), where the fraction counts away from zero.
fn seconds(time: FileTime) -> String {
    match (time.seconds, time.nanoseconds) {
        (seconds @ ..0, nanoseconds @ 1..) => {
            format!("@-{}.{:09}", -1 - seconds, 1_000_000_000 - nanoseconds)
        }
        (seconds, nanoseconds) => format!("@{seconds}.{nanoseconds:09}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    fn listing(root: &Path) -> Vec<u8> {
        let mut line = command("find");
        line.args([".", "-mindepth", "1", "-printf"]);
        line.arg("%P|%y|%m|%U|%G|%s|%T@|%A@|%n|%l\\0")
            .current_dir(root);
        let ran = run(&mut line);
        let mut records: Vec<&[u8]> = ran.stdout.split(|byte| *byte == 0).collect();
        records.sort_unstable();
        records.join(&0)
    }

    #[test]
    fn the_script_makes_the_same_tree() {
        if let Some(skip) = crate::skip::without_root("a tree and its script") {
            return skip.say();
        }
        for seed in 0..4 {
            let mut plan = Plan::new(seed, 1_700_000_000);
            let whole = plan.clone();
            // A shell cannot handle longer paths.
            plan.nodes.retain(|node| whole.path(node).len() < 3_000);
            for node in &mut plan.nodes {
                let early = FileTime::new(1, 0);
                node.times.get_or_insert((early, early));
            }
            let plan = plan.unmounted();
            let scratch = Scratch::new("finders-build");
            let (one, two) = (scratch.join("one"), scratch.join("two"));
            for root in [&one, &two] {
                std::fs::create_dir(root).expect("a new directory");
            }
            let _mounted = build(&one, &plan).expect("a tree");
            let mut bash = command("bash");
            run(bash.args(["-e", "-c", &script(&plan)]).current_dir(&two)).expect_code(0);
            crate::lines::assert_same(
                &format!("seed {seed}"),
                &listing(&one),
                &listing(&two),
                crate::lines::Order::Any,
                crate::lines::Ending::Zero,
            );
        }
    }
}
