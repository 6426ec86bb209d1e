//! Builds a planned tree on disk, and its index.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::access::Access;
use super::plan::{Kind, Node, Plan};
use super::views::Mount;
use crate::folder::Folder;
use crate::oracle::{Ran, command, run};
use crate::scratch::Scratch;

/// A built tree, its index, and the program that answers from it.
#[derive(Debug)]
pub struct Site {
    /// The plan from which it was built.
    pub plan: Plan,
    /// The program, in a place where every user may run it.
    pub trawl: PathBuf,
    /// Unmounted before the directory is removed.
    views: OnceLock<Mount>,
    scratch: Scratch,
}

/// Number of bytes of a file that are written; the rest is a hole.
const WRITTEN_BYTES: u64 = 8_192;
/// The file beside the tree to which links lead.
const OUTSIDE: &[u8] = b"outside";

impl Site {
    /// Builds the tree in a scratch directory that everybody may enter.
    pub fn build(plan: &Plan, trawl: &Path) -> io::Result<Site> {
        let scratch = Scratch::new("permissions");
        let site = Site {
            plan: plan.clone(),
            trawl: trawl.to_path_buf(),
            views: OnceLock::new(),
            scratch,
        };
        let top = Folder::open(site.scratch.path())?;
        let above = top.make_folder(b"above")?;
        let root = above.make_folder(b"tree")?;
        top.make_file(OUTSIDE, b"closed")?;
        top.set_mode(OUTSIDE, 0o600)?;
        let outside = site.scratch.join(OsStr::from_bytes(OUTSIDE));
        let mut builder = Builder {
            outside: outside.into_os_string().into_encoded_bytes(),
            folders: BTreeMap::new(),
            files: BTreeMap::new(),
        };
        builder.make_all(&root, &plan.nodes)?;
        builder.dress_all(&root, &plan.nodes)?;
        dress(&above, b"tree", &plan.root, true)?;
        dress(&top, b"above", &plan.above, true)?;
        Ok(site)
    }

    /// Returns the root of the tree.
    pub fn root(&self) -> PathBuf {
        self.scratch.join("above/tree")
    }

    /// Returns the index's directory.
    pub fn index_dir(&self) -> PathBuf {
        self.scratch.join("index")
    }

    /// Returns the directory of the hooks that read the tree's files.
    pub fn hooks_dir(&self) -> PathBuf {
        self.scratch.join("hooks")
    }

    /// Returns the absolute path of `relative` below the root.
    pub fn absolute(&self, relative: &[u8]) -> PathBuf {
        if relative.is_empty() {
            return self.root();
        }
        self.root().join(OsStr::from_bytes(relative))
    }

    /// Returns the views of the tree, which are mounted for everybody.
    pub(super) fn views(&self) -> &Mount {
        let mount = || Mount::new(self, self.scratch.path());
        self.views.get_or_init(mount)
    }

    /// Makes or renews the index, as root.
    pub fn index(&self) -> Ran {
        self.index_with(&[])
    }

    /// Like [`Site::index`], with the n-grams and words of all files, which must have been unchanged for
    /// some seconds.
    pub fn index_contents(&self) -> Ran {
        std::thread::sleep(SETTLED);
        self.index_with(&["--text", "--keywords"])
    }

    /// Declares a named index over the sizes of all entries, as root.
    pub fn define(&self) -> Ran {
        let mut line = command(&self.trawl);
        line.arg("-i").arg(self.index_dir());
        let words = ["index", "define", NAMED_INDEX, "--quiet"];
        line.args(words).args(["--kind", "ordered", "--on", "size"]);
        run(line.arg(self.root()))
    }

    fn index_with(&self, options: &[&str]) -> Ran {
        let mut line = command(&self.trawl);
        line.arg("-i").arg(self.index_dir());
        line.args(["index", "--quiet"])
            .args(options)
            .arg(self.root());
        run(&mut line)
    }
}

/// Name of the index of [`Site::define`].
pub(super) const NAMED_INDEX: &str = "by-size";

/// How long files are unchanged before their contents are indexed.
const SETTLED: std::time::Duration = std::time::Duration::from_millis(4500);

struct Builder {
    /// Target of links out of the tree.
    outside: Vec<u8>,
    folders: BTreeMap<usize, Folder>,
    /// For each file, a folder that holds it, and its name.
    files: BTreeMap<usize, (Option<usize>, Vec<u8>)>,
}

impl Builder {
    fn make_all(&mut self, root: &Folder, nodes: &[Node]) -> io::Result<()> {
        for node in nodes {
            let holder = self.holder(root, node.parent).try_clone()?;
            self.make(root, &holder, node)?;
        }
        Ok(())
    }

    fn holder<'a>(&'a self, root: &'a Folder, parent: Option<usize>) -> &'a Folder {
        parent.map_or(root, |number| &self.folders[&number])
    }

    fn make(&mut self, root: &Folder, holder: &Folder, node: &Node) -> io::Result<()> {
        let name = &node.name;
        match &node.kind {
            Kind::Folder => {
                let folder = holder.make_folder(name)?;
                self.folders.insert(node.number, folder);
            }
            Kind::File { size_bytes } => {
                let written = (*size_bytes).min(WRITTEN_BYTES);
                let mut content = format!("a line of {}\n", node.number % 4).repeat(700);
                content.truncate(usize::try_from(written).expect("small"));
                let mut file = holder.create(name)?;
                io::Write::write_all(&mut file, content.as_bytes())?;
                file.set_len(*size_bytes)?;
                self.files.insert(node.number, (node.parent, name.clone()));
            }
            Kind::Symlink(target) => holder.make_symlink(name, target)?,
            Kind::LinkOutside => holder.make_symlink(name, &self.outside)?,
            Kind::HardLink(to) => match self.files.get(to) {
                Some((parent, file)) => {
                    let there = self.holder(root, *parent);
                    there.make_hard_link(file, holder, name)?;
                }
                None => holder.make_file(name, b"alone")?,
            },
            Kind::Fifo => holder.make_fifo(name)?,
            Kind::Socket => holder.make_socket(name)?,
        }
        Ok(())
    }

    fn dress_all(&self, root: &Folder, nodes: &[Node]) -> io::Result<()> {
        for node in nodes {
            let holder = self.holder(root, node.parent);
            match node.kind {
                Kind::Symlink(_) | Kind::LinkOutside => {
                    let access = &node.access;
                    holder.set_owner(&node.name, access.uid, access.gid)?;
                }
                // A second name has no permissions of its own.
                Kind::HardLink(_) => {}
                // A socket's file cannot be opened, so it gets no attributes.
                Kind::Socket => dress(holder, &node.name, &bare(&node.access), false)?,
                Kind::Folder => dress(holder, &node.name, &node.access, true)?,
                _ => dress(holder, &node.name, &node.access, false)?,
            }
            for (name, value) in &node.xattrs {
                holder.set_xattr(&node.name, name, value)?;
            }
        }
        Ok(())
    }
}

fn bare(access: &Access) -> Access {
    Access {
        acl: None,
        default_acl: None,
        ..access.clone()
    }
}

/// Sets owner before mode (a new owner clears set-uid), and mode before ACL.
fn dress(holder: &Folder, name: &[u8], access: &Access, is_folder: bool) -> io::Result<()> {
    holder.set_owner(name, access.uid, access.gid)?;
    holder.set_mode(name, access.mode)?;
    if let Some(acl) = &access.acl {
        holder.set_xattr(name, b"system.posix_acl_access", acl)?;
    }
    if let Some(acl) = access.default_acl.as_ref().filter(|_| is_folder) {
        holder.set_xattr(name, b"system.posix_acl_default", acl)?;
    }
    match access.mode_after {
        Some(mode) => holder.set_mode(name, mode),
        None => Ok(()),
    }
}
