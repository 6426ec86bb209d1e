//! What the kernel is told when the server says that something changed: to forget it.
//!
//! Telling the kernel may have to wait for a request that it has under way in the same directory.
//! So a thread of its own does it, which answers no request and which nobody waits for.

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

/// The way to that thread, which ends with it.
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

    /// Has the kernel told.
    pub(crate) fn give(&self, news: Vec<News>) {
        // Nobody listens when the mount is gone.
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
                // What lies in a directory that the kernel does not know it does not know either.
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
                        // Who has the one before open, or runs it, keeps what is here of it.
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

    /// With a name goes all that is known below it, names that are not there included.
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
        // Who has it open still sees it.
        known
            .iter()
            .for_each(|(number, _)| self.forget_unless_open(*number));
    }

    /// What is kept of the contents of a file that was opened goes once it is known to be another
    /// version's.
    fn forget_unless_open(&self, number: u64) {
        match self.files.upgrade() {
            Some(files) if files.is_known(number) => files.forget_attributes(number),
            _ => self.forget_attributes(number),
        }
    }

    fn forget_name(&self, directory: u64, name: &[u8]) {
        // What the kernel does not know any more it need not forget.
        let _ = self
            .notifier
            .inval_entry(INodeNo(directory), OsStr::from_bytes(name));
    }

    /// Of a file, and what is kept of its contents; of a directory, and its names.
    fn forget_attributes(&self, number: u64) {
        let _ = self.notifier.inval_inode(INodeNo(number), 0, 0);
    }
}
