//! Tests with servers that answer about their mounts: the answer is the same as without them, also
//! when resumed from any position, and each mount that can have matches gets one request.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use trawl_call::options::Flags;
use trawl_call::spread::{Ids, Mount, Server};
use trawl_call::{
    Block, CallError, Executor, LiveWalk, Record, Request, Search, ServedBy, Spread, Stream,
};
use trawl_testkit::Scratch;

use super::support::{bytes, lines, make, records, request};

/// A server that walks its tree, and fails after `blocks` blocks.
struct Walks {
    asked: Arc<AtomicUsize>,
    blocks: usize,
}

struct Served(Box<dyn Stream>, usize);

impl Executor for Walks {
    fn begin(&self, request: Request) -> Result<Box<dyn Stream>, CallError> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        Ok(Box::new(Served(
            LiveWalk::default().begin(request)?,
            self.blocks,
        )))
    }
}

impl Stream for Served {
    fn next_block(&mut self) -> Result<Option<Block>, CallError> {
        if self.1 == 0 {
            return Err(CallError::Remote("the server is gone".into()));
        }
        self.1 -= 1;
        let block = self.0.next_block()?;
        Ok(block.map(|block| Block {
            served_by: ServedBy::Remote,
            ..block
        }))
    }
}

/// `here/a/m` and `here/m/n` are mounts of the servers' `there/one` and `there/two`; another file
/// system is mounted at `x` in the former.
struct Site {
    scratch: Scratch,
    asked: Arc<AtomicUsize>,
}

const MOUNTS: [(&str, &str); 2] = [("here/a/m", "there/one"), ("here/m/n", "there/two")];

impl Site {
    fn new() -> Site {
        let scratch = Scratch::new("call-spread");
        for (mounted, served) in MOUNTS {
            for at in [mounted, served] {
                make(
                    &scratch.join(at),
                    &[
                        "b/c/x", "b/x", "b-c/x", "x/y/x", "shut/x", "run", "a/m/x", "z",
                    ],
                );
                symlink("b", scratch.join(at).join("link")).unwrap();
                symlink("nowhere", scratch.join(at).join("none")).unwrap();
                let mode = |name: &str, mode| {
                    let path = scratch.join(at).join(name);
                    std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
                };
                mode("run", 0o755);
            }
            // The link leads somewhere here and nowhere there, which shows which side followed it.
            symlink("../../../else", scratch.join(mounted).join("out")).unwrap();
            symlink("nowhere/there", scratch.join(served).join("out")).unwrap();
        }
        // The server does not know the files of the file system mounted there.
        make(
            &scratch.join(MOUNTS[0].0),
            &["x/only-here", "x/y/only-here"],
        );
        make(&scratch.join(MOUNTS[0].1), &["x/only-there"]);
        make(&scratch.join("else"), &["x", "more"]);
        make(
            &scratch.join("here"),
            &["x", "a/x", "a/l/x", "a/n/x", "m/x", "m/z/x", "zz/x"],
        );
        let asked = Arc::default();
        Site { scratch, asked }
    }

    fn at(&self, name: &str) -> std::path::PathBuf {
        self.scratch.join(name).canonicalize().unwrap()
    }

    fn spread(&self, blocks: usize) -> Spread {
        self.spread_with(blocks, 0)
    }

    /// With device numbers that differ from the server's, if `other` is not 0.
    fn spread_with(&self, blocks: usize, other: u64) -> Spread {
        let mount = |(point, path): (&str, &str)| Mount {
            point: bytes(&self.at(point)).to_vec(),
            server: Some(Server {
                executor: Arc::new(Walks {
                    asked: Arc::clone(&self.asked),
                    blocks,
                }),
                path: bytes(&self.at(path)).to_vec(),
            }),
            device: device(&self.at(point)) + other,
        };
        let mut mounts = Vec::from(MOUNTS.map(mount));
        mounts.push(Mount {
            point: bytes(&self.at("here/a/m/x")).to_vec(),
            server: None,
            device: device(&self.at("here/a/m/x")),
        });
        Spread::new(Box::new(LiveWalk::default()), mounts, Ids::AsServed)
    }

    /// Returns how often servers were asked since the last call.
    fn asked(&self) -> usize {
        self.asked.swap(0, Ordering::Relaxed)
    }
}

/// Formats records without inode and device numbers, which differ between the copies.
fn told(records: &[Record]) -> Vec<String> {
    let attributes = records.iter().map(|record| match record.outcome {
        trawl_call::Outcome::Match(Some(of)) => format!(" {:o} {}", of.mode, of.size),
        _ => String::new(),
    });
    let lines = lines(records).into_iter().zip(attributes);
    lines.map(|(line, attributes)| line + &attributes).collect()
}

const FLAGS: [u32; 8] = [
    0,
    Flags::INCLUDEROOT,
    Flags::METADATA,
    Flags::METADATA | Flags::NOFOLLOW | Flags::INCLUDEROOT,
    Flags::X_OK,
    Flags::STOPATFIRST,
    Flags::STOPATFIRST | Flags::METADATA | Flags::INCLUDEROOT,
    Flags::FOLLOW,
];

const PATTERNS: [&str; 12] = [
    "*",
    "/",
    "x",
    "m/*",
    "/*/m/x",
    "/a/m",
    "/m/n/run|x/y",
    "only-here|/.",
    "a/m/x",
    "n|out|none",
    "/a/m/b/c/x",
    "nothing",
];

#[test]
fn the_answer_is_the_walks() {
    let site = Site::new();
    let roots = [
        site.at("here"),
        site.at("here/a/m"),
        site.at("here/m/n/b"),
        site.at("here/zz"),
    ];
    let roots: Vec<&Path> = roots.iter().map(|root| &**root).collect();
    for pattern in PATTERNS {
        for flags in FLAGS {
            for roots in [&roots[..1], &roots[1..3], &roots[..]] {
                let about = format!("{pattern} {flags:#x}");
                let request = || request(pattern, flags, roots);
                let walked = told(&records(&LiveWalk::default(), request()));
                for blocks in [usize::MAX, 1, 0] {
                    let answer = records(&site.spread(blocks), request());
                    assert_eq!(told(&answer), walked, "{about} {blocks}");
                }
                from_every_place(&site, &request, &about);
            }
        }
    }
}

/// Checks that a search resumed at each position gives the rest of the answer.
fn from_every_place(site: &Site, request: &dyn Fn() -> Request, about: &str) {
    let whole = told(&records(&LiveWalk::default(), request()));
    let spread = site.spread(usize::MAX);
    let mut search = Search::open(&spread, request()).unwrap();
    for given in 0..=whole.len() {
        let place = search.cookie();
        let rest = records(&spread, request().resume_at(place).unwrap());
        assert_eq!(told(&rest), whole[given..], "{about} from {given}");
        search.next_record().unwrap();
    }
}

#[test]
fn each_server_is_asked_once_and_only_where_it_can_have_matches() {
    let site = Site::new();
    let spread = site.spread(usize::MAX);
    let here = site.at("here");
    let mounted = site.at("here/a/m");
    let below = site.at("here/a/m/b");
    for (pattern, flags, roots, times) in [
        ("x", 0, &[&*here][..], 2),
        ("x", Flags::METADATA | Flags::X_OK, &[&here], 2),
        ("/*/m/x", 0, &[&here], 1),
        ("/*", 0, &[&here], 0),
        ("/zz/x", 0, &[&here], 0),
        ("x", Flags::FOLLOW, &[&here], 0),
        // The first match is found before a mount is reached.
        ("x", Flags::STOPATFIRST, &[&here], 0),
        ("/b/x", 0, &[&mounted], 1),
        // Several directories of one server make one request.
        ("/x", 0, &[&below, &below, &below], 1),
    ] {
        let answer = records(&spread, request(pattern, flags, roots));
        assert_eq!(site.asked(), times, "{pattern} {flags:#x}");
        assert!(!answer.is_empty(), "{pattern}");
    }
}

/// Another file system is mounted over the mount, so the tree there is not the server's.
#[test]
fn a_mount_that_is_hidden_is_not_asked() {
    let site = Site::new();
    let here = site.at("here");
    let spread = site.spread_with(usize::MAX, 1);
    let walked = records(&LiveWalk::default(), request("*", 0, &[&here]));
    assert_eq!(
        lines(&records(&spread, request("*", 0, &[&here]))),
        lines(&walked)
    );
    assert_eq!(site.asked(), 0);
}

fn device(path: &Path) -> u64 {
    std::os::unix::fs::MetadataExt::dev(&path.metadata().unwrap())
}
