//! A tree and its index, and both programs run over them.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use trawl_find::driver::{RunOptions, Streams, run};
use trawl_find::environment::Warnings;
use trawl_find::reference::{Reference, References};
use trawl_find::traversal::Follow;
use trawl_find::{Environment, Parsed, parse};
use trawl_model::Timestamp;
use trawl_model::guard::Credentials;
use trawl_query::Index;
use trawl_scan::{ScanProgress, WalkOptions, walk};
use trawl_testkit::oracle::{Identity, gnu};
use trawl_testkit::{Scratch, lines};
use trawl_text::locale::Locale;
use trawl_text::quote::Terminal;
use trawl_text::zone::Zone;
use trawl_writer::{SnapshotWriter, WriterOptions};

/// A directory with `tree` in it, and an index of `tree`.
pub(crate) struct Site {
    /// Paths of all entries of the tree, relative to the directory.
    pub(crate) paths: Vec<Vec<u8>>,
    scratch: Scratch,
    index: Index,
}

/// Exit code, output and messages.
type Answer = (i32, Vec<u8>, Vec<u8>);

impl Site {
    /// Builds a tree and scans it.
    pub(crate) fn build(tree: impl FnOnce(&Path) -> io::Result<()>) -> Site {
        let scratch = Scratch::new("against-find");
        let root = scratch.join("tree");
        std::fs::create_dir(&root).unwrap();
        tree(&root).unwrap();
        // Listing a directory may set its access time, so list all of them here
        // first.
        trawl_testkit::tick();
        let listed = gnu(
            "find",
            ["tree", "-print0"],
            scratch.path(),
            &Identity::Ourselves,
        );
        let paths = listed.stdout.split(|b| *b == 0).map(<[u8]>::to_vec);
        let paths = paths.filter(|path| !path.is_empty()).collect();
        let index_path = scratch.join("index");
        scan(&root, &index_path);
        Site {
            paths,
            index: Index::open(&index_path, Credentials::default()).unwrap(),
            scratch,
        }
    }

    /// The directory that both programs run in.
    pub(crate) fn path(&self) -> &Path {
        self.scratch.path()
    }

    /// Describes how the answers to these words differ, if find's own answer is the same before and
    /// after ours: otherwise time passes limits meanwhile, and both are asked again.
    pub(crate) fn difference(&self, words: &[Vec<u8>]) -> Option<String> {
        let mut theirs = self.ask_find(words);
        let mut difference = self.difference_to(&theirs, words)?;
        for _ in 0..100 {
            let again = self.ask_find(words);
            if again == theirs {
                break;
            }
            theirs = again;
            difference = self.difference_to(&theirs, words)?;
        }
        Some(difference)
    }

    fn difference_to(&self, theirs: &Answer, words: &[Vec<u8>]) -> Option<String> {
        let ours = self.ask_ours(words);
        let shown: Vec<String> = words
            .iter()
            .map(|w| format!("'{}'", lines::visible(w)))
            .collect();
        let shown = shown.join(" ");
        let ending = if words.iter().any(|w| w == b"-ls") {
            b'\n'
        } else {
            0
        };
        let (a, b) = (sorted(&theirs.1, ending), sorted(&ours.1, ending));
        if a != b {
            let only = |a: &[Vec<u8>], b: &[Vec<u8>]| {
                let only = a.iter().filter(|line| !b.contains(line));
                only.take(3)
                    .map(|line| lines::visible(line))
                    .collect::<Vec<_>>()
                    .join("; ")
            };
            return Some(format!(
                "{shown}\n    {} lines by find, {} by us; only find: {}; only we: {}",
                a.len(),
                b.len(),
                only(&a, &b),
                only(&b, &a)
            ));
        }
        if theirs.0 != ours.0 {
            return Some(format!(
                "{shown}\n    exit code {} of find, {} of ours",
                theirs.0, ours.0
            ));
        }
        let (a, b) = (sorted(&theirs.2, b'\n'), sorted(&ours.2, b'\n'));
        (a != b).then(|| {
            let text = |lines: &[Vec<u8>]| lines::visible(&lines.join(&b'/'));
            format!(
                "{shown}\n    find says {}\n    we say    {}",
                text(&a),
                text(&b)
            )
        })
    }

    fn ask_find(&self, words: &[Vec<u8>]) -> Answer {
        let words = words.iter().map(|word| OsString::from_vec(word.clone()));
        let ran = gnu("find", words, self.scratch.path(), &Identity::Ourselves);
        (ran.code.unwrap_or(-1), ran.stdout, ran.stderr)
    }

    fn ask_ours(&self, words: &[Vec<u8>]) -> Answer {
        let mut out = Vec::new();
        let (code, err) = self.ask_ours_to(words, &mut out);
        (code, out, err)
    }

    /// Answers to `out`. Returns the exit code and messages.
    pub(crate) fn ask_ours_to(&self, words: &[Vec<u8>], out: &mut dyn io::Write) -> (i32, Vec<u8>) {
        let now = trawl_sys::process::now();
        let env = Environment {
            contents: Default::default(),
            grouping: std::sync::Arc::new(trawl_find::grouping::NoGroups),
            now: Timestamp {
                secs: now.secs,
                nanos: now.nanos,
            },
            locale: Locale::Utf8,
            terminal: Terminal::Absent,
            warnings: Warnings::Hidden,
            zone: Zone::utc,
            ls_block_bytes: 1024,
            is_posix: false,
            started: |_| {},
            foresight: || None,
            references: Box::new(FilesOf(self.scratch.path().to_owned())),
            framing: None,
        };
        let mut err = Vec::new();
        let program = match parse(words, &env) {
            Ok(Parsed::Search(program)) => program,
            Ok(other) => panic!("{other:?}"),
            Err(refusal) => {
                let lines = refusal.warnings.iter().cloned();
                let lines = lines.chain([refusal.to_string()]);
                let text: String = lines.map(|line| format!("find: {line}\n")).collect();
                return (1, text.into_bytes());
            }
        };
        let cwd = self.scratch.path().canonicalize().unwrap();
        let streams = Streams { out, err: &mut err };
        let cwd = cwd.as_os_str().as_bytes();
        let code = run(
            &self.index,
            &program,
            &env,
            cwd,
            RunOptions::default(),
            streams,
        );
        let code = code.unwrap_or_else(|error| panic!("{error}"));
        (i32::from(code), err)
    }
}

/// Attributes of files named relative to a directory.
#[derive(Debug)]
struct FilesOf(PathBuf);

impl References for FilesOf {
    fn attributes(&self, path: &[u8], follow: Follow) -> Result<Reference, String> {
        if path.is_empty() {
            return Err("No such file or directory".into());
        }
        let path = self.0.join(std::ffi::OsStr::from_bytes(path));
        trawl_find::reference::LiveFiles.attributes(path.as_os_str().as_bytes(), follow)
    }
}

/// Splits output into sorted records. Columns of `-ls` widen in the order of
/// printing, which differs, so a run of blanks counts as one there.
fn sorted(output: &[u8], ending: u8) -> Vec<Vec<u8>> {
    let mut records: Vec<Vec<u8>> = output
        .split(|b| *b == ending)
        .map(|record| match ending {
            b'\n' => record
                .split(|b| *b == b' ')
                .filter(|p| !p.is_empty())
                .collect::<Vec<_>>()
                .join(&b' '),
            _ => record.to_vec(),
        })
        .collect();
    records.sort();
    records
}

fn scan(root: &Path, index: &Path) {
    let cancel = AtomicBool::new(false);
    let now = trawl_sys::process::now();
    let at = Timestamp {
        secs: now.secs,
        nanos: now.nanos,
    };
    let options = WriterOptions {
        memory_bytes: 1 << 20,
        started: at,
        version: "test".into(),
        options: Default::default(),
    };
    let root = root.canonicalize().unwrap();
    let root = root.as_os_str().as_bytes();
    let index = trawl_writer::create_index(index, None).unwrap();
    let mut writer = SnapshotWriter::begin(&index, root, options).unwrap();
    let options = WalkOptions::new(&cancel);
    walk(root, &options, &ScanProgress::default(), &mut writer).unwrap();
    writer.commit(at).unwrap();
}
