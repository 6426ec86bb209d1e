//! Tells the kernel to forget what the server reports as changed.
//!
//! A notification to the kernel may block until the kernel's running request in the same directory
//! is answered. So a separate thread sends them, which answers no requests and which no other
//! thread waits for.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Weak};

use fuser::{INodeNo, Notifier};
use trawl_model::relative_path::{join, split};
use trawl_remote::wire::{Happened, News};

use crate::files::Files;
use crate::nodes::{Nodes, TOP};

/// The sending end of that thread's channel; the thread ends when it is dropped.
pub(crate) struct Notices(Sender<Vec<News>>);

impl Notices {
    pub(crate) fn start(
        notifier: Notifier,
        nodes: Arc<Nodes>,
        files: Weak<Files>,
    ) -> io::Result<Notices> {
        let (sender, receiver) = channel::<Vec<News>>();
        let kernel = Kernel {
            notifier,
            nodes,
            files,
        };
        let thread = std::thread::Builder::new().name("notices".into());
        thread.spawn(move || {
            for news in receiver {
                news.iter().for_each(|one| kernel.hear(one));
            }
        })?;
        Ok(Notices(sender))
    }

    /// Sends news to the thread.
    pub(crate) fn give(&self, news: Vec<News>) {
        // The receiver is gone if the mount is.
        let _ = self.0.send(news);
    }
}

struct Kernel {
    notifier: Notifier,
    nodes: Arc<Nodes>,
    files: Weak<Files>,
}

impl Kernel {
    fn hear(&self, news: &News) {
        match news {
            News::Changed { dir, names } => {
                // The kernel knows nothing inside a directory that it does not know.
                let Some(directory) = self.nodes.number_at(dir) else {
                    return;
                };
                for name in names {
                    if name.name == b"." {
                        self.forget_attributes(directory);
                        continue;
                    }
                    let file = self.nodes.number_at(&join(dir, &name.name));
                    let is_replaced = name.happened == Happened::Replaced;
                    if is_replaced {
                        self.forget_name(directory, &name.name);
                    }
                    match file {
                        // A process that has the old file open, or executes it, keeps its cached
                        // contents.
                        Some(file) if is_replaced => self.forget_unless_open(file),
                        Some(file) => self.forget_attributes(file),
                        None => {}
                    }
                }
            }
            News::Lost(path) => self.forget_below(path),
            News::Watched(_) | News::Unwatched(_) => {}
        }
    }

    /// Forgetting a name also forgets everything cached below it, including negative entries.
    fn forget_below(&self, path: &[u8]) {
        let known = self.nodes.at_and_below(path);
        if path.is_empty() {
            let names = known.iter().filter(|(_, path)| !path.contains(&b'/'));
            names.for_each(|(_, name)| self.forget_name(TOP, name));
            self.forget_attributes(TOP);
        } else {
            let (above, name) = split(path);
            if let Some(above) = self.nodes.number_at(above) {
                self.forget_name(above, name);
            }
        }
        // An open file stays usable.
        known
            .iter()
            .for_each(|(number, _)| self.forget_unless_open(*number));
    }

    /// The cached contents of an opened file are dropped later, once they are known to be of
    /// another version.
    fn forget_unless_open(&self, number: u64) {
        match self.files.upgrade() {
            Some(files) if files.is_known(number) => files.forget_attributes(number),
            _ => self.forget_attributes(number),
        }
    }

    fn forget_name(&self, directory: u64, name: &[u8]) {
        // An error only says that the kernel does not know the name any more.
        let _ = self
            .notifier
            .inval_entry(INodeNo(directory), OsStr::from_bytes(name));
    }

    /// Makes the kernel forget a file's attributes and cached contents, or a directory's attributes
    /// and names.
    fn forget_attributes(&self, number: u64) {
        let _ = self.notifier.inval_inode(INodeNo(number), 0, 0);
    }
}
