//! `trawl grep` with a text index: the answers are those without one, whoever writes meanwhile, and
//! nobody can open n-grams of files that they may not read. The oracles are GNU grep and the
//! kernel.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, FileTimes, OpenOptions, Permissions};
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::time::Duration;

use trawl_grams::{Content, DocId, Identity as FileIdentity, Pack, Stamp};
use trawl_testkit::oracle::{self, Identity, Ran};
use trawl_testkit::skip::{without_program, without_root};

use crate::site::{Site, files_below};

/// More files than are read before the index is asked.
const FILES: usize = 240;
/// Files must be this old to be covered.
pub(crate) const SETTLED: Duration = Duration::from_millis(4500);

fn content(number: usize) -> String {
    let word = match number % 40 {
        7 => "needle_in_a_stack",
        8 => "Needle",
        9 => "nee\ndle",
        _ => "straw",
    };
    format!("file {number}\nstatic int f{number}(void) {{ return {number}; }}\n{word}\n")
}

fn name(number: usize) -> String {
    format!("dir{}/f{number}.c", number % 9)
}

/// More binary files than are read before the index is asked.
const BINARIES: usize = 120;

/// Strings between bytes that look random.
fn binary(number: usize) -> Vec<u8> {
    let mut random = number as u64;
    let noise = std::iter::repeat_with(|| {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (random >> 56) as u8
    });
    let noise: Vec<u8> = noise.take(40_000).collect();
    let middle = match number % 40 {
        11 => "needle_in_a_stack\0",
        12 => "needle_in\0_a_stack\0",
        13 => "needle\0between\0stack\0",
        14 => "Needle\n",
        _ => "straw\0",
    };
    [
        &noise[..30_000],
        b"\0f\0f17(\0",
        middle.as_bytes(),
        &noise[30_000..],
    ]
    .concat()
}

fn binary_name(number: usize) -> String {
    format!("dir{}/b{number}.bin", number % 7)
}

/// Creates a tree whose files are old enough to be covered.
fn settled(label: &str) -> Site {
    let site = Site::empty(label);
    for number in 0..FILES {
        let path = site.tree().join(name(number));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content(number)).unwrap();
    }
    for number in 0..BINARIES {
        std::fs::write(site.tree().join(binary_name(number)), binary(number)).unwrap();
    }
    let utf16 = |text: &str| -> Vec<u8> {
        let units = std::iter::once(0xfeff).chain(text.encode_utf16());
        units.flat_map(u16::to_be_bytes).collect()
    };
    let head = "straw ".repeat(20_000).into_bytes();
    let large = |nul_at: usize| [&head[..nul_at], b"\0needle_in_a_stack\0", &head].concat();
    let more: [(&str, &[u8]); 14] = [
        ("binary", b"a\0needle_in_a_stack\n"),
        (
            "late-nul",
            &[&b"x\n".repeat(40_000)[..], b"\0needle_in_a_stack\n"].concat(),
        ),
        (
            "utf16",
            b"\xff\xfen\0e\0e\0d\0l\0e\0_\0i\0n\0_\0a\0_\0s\0t\0a\0c\0k\0\n\0",
        ),
        (
            "utf16be",
            &utf16("line 1\nneedle\0needle_in_a_stack \u{e4}"),
        ),
        (
            "utf16-large",
            &utf16(&("straw \u{e4}\n".repeat(9000) + "needle_in_a_stack")),
        ),
        ("large-0", &large(0)),
        ("large-65535", &large(65_535)),
        ("large-65536", &large(65_536)),
        ("torn16", b"\xff\xfe\0\xd8n\0e\0e\0d\0l\0e\0x"),
        ("utf8", b"\xef\xbb\xbfneedle_in_a_stack\nna\xefve\n"),
        ("utf8-binary", b"\xef\xbb\xbf\0needle_in_a_stack\n"),
        ("latin1", b"na\xefve needle_in_a_stack"),
        ("kelvin", "\u{212a}elvin \u{17f}trasse\n".as_bytes()),
        ("empty", b""),
    ];
    for (name, bytes) in more {
        std::fs::write(site.tree().join("dir0").join(name), bytes).unwrap();
    }
    std::thread::sleep(SETTLED);
    site.run("index --quiet --text .").expect_code(0);
    site
}

fn packs(site: &Site) -> Vec<PathBuf> {
    let mut files = files_below(&site.index_dir());
    files.retain(|path| path.extension().is_some_and(|ending| ending == "grams"));
    files
}

/// Returns the lines without the times that `--json` reports.
fn sorted(ran: &Ran) -> Vec<String> {
    let lines = ran.stdout.split(|byte| *byte == b'\n');
    let without_times = |line: &[u8]| {
        let mut line = line.escape_ascii().to_string();
        if let Some((before, (_, after))) = line
            .split_once(r#"\"elapsed\":{"#)
            .and_then(|(before, rest)| Some((before, rest.split_once('}')?)))
        {
            line = format!("{before}{after}");
        }
        line
    };
    let mut lines: Vec<String> = lines.map(without_times).collect();
    lines.sort_unstable();
    lines
}

#[test]
fn answers_are_those_without_an_index() {
    let site = settled("grep-text");
    assert!(!packs(&site).is_empty());
    for line in [
        "needle_in_a_stack .",
        "-n needle_in_a_stack .",
        "-i NEEDLE .",
        "-i kelvin .",
        "-i strasse .",
        "-S needle .",
        "-w needle .",
        "-x needle_in_a_stack .",
        "-v straw .",
        "-c needle .",
        "-Ic needle .",
        "-ac needle .",
        "-zc needle .",
        "-c --color=always needle .",
        "-c -m1 needle .",
        "-c needle -- . -name *7.c",
        "-l needle .",
        "-L needle .",
        "-IL needle .",
        "-IL --color=always needle .",
        "-ILq absent_everywhere .",
        "-Ic --color=always needle .",
        "-Iv needle .",
        "-L0 needle .",
        "-vL needle .",
        "-vc needle .",
        "-hc needle .",
        "-o nee.le .",
        "-F needle_in_a .",
        "-F -e f17 -e needle .",
        "-e f(17|18)9? -e nothing_at_all .",
        "-a needle .",
        "-l needle_in._a_stack .",
        "-al needle_in._a_stack .",
        "-l needle.*stack .",
        "-al needle.*stack .",
        "-ac needle.*stack .",
        "-c needle.*stack .",
        "-Il needle.*stack .",
        "-l ^needle.*stack$ .",
        "-l needle[[:cntrl:]]?[^a-z].*stack .",
        "-l \u{e4} .",
        "-il \u{c4} .",
        "-l \\x{fffd} .",
        "-l (?-u:\\xff\\xfe) .",
        "-l absent|straw .",
        "-o needle_in.* .",
        "-I needle .",
        "-z needle .",
        "-az e.n .",
        "--encoding utf-16le needle .",
        "--json needle .",
        "-q absent_everywhere .",
        "absent_everywhere .",
        "-l (?s)nee.dle .",
        "-l ^$ .",
        "-C1 needle .",
        "-m1 needle .",
        "-l needle -- . -name *7.c",
        "-bn needle .",
    ] {
        let with = site.run(&format!("grep --sort path {line}"));
        let without = site.run(&format!("grep --sort path --no-text-index {line}"));
        assert_eq!(sorted(&with), sorted(&without), "{line}");
        assert_eq!(with.errors(), without.errors(), "{line}");
        assert_eq!(with.code, without.code, "{line}");
    }
    for options in [
        "-rl", "-rlw", "-rli", "-rL", "-rlF", "-rIc", "-rIvc", "-rIL", "-rIl",
    ] {
        let ours = site.run(&format!("grep {options} needle_in_a_stack dir1 dir2 dir7"));
        let gnu = site.gnu(&format!("grep {options} needle_in_a_stack dir1 dir2 dir7"));
        assert_eq!(sorted(&ours), sorted(&gnu), "{options}");
    }
}

#[test]
fn files_that_cannot_match_are_not_opened() {
    if let Some(skip) = without_program("opened files", "strace") {
        return skip.say();
    }
    let site = settled("grep-text-opens");
    let opened = |extra: &[&str], ending: &str| {
        let mut command = oracle::command("strace");
        command.args(["-f", "-qq", "-e", "trace=openat,openat2,open"]);
        command
            .arg(env!("CARGO_BIN_EXE_trawl"))
            .arg("grep")
            .args(extra);
        command.args(["-l", "needle_in_a_stack", "."]);
        command
            .env("TRAWL_INDEX", site.index_dir())
            .current_dir(site.tree());
        let ran = oracle::run(&mut command);
        let errors = ran.errors().to_string();
        let is_here = |line: &&str| line.contains(ending);
        errors.lines().filter(is_here).count()
    };
    assert!(opened(&["--no-text-index"], ".c\"") >= FILES);
    assert!(opened(&["--no-text-index"], ".bin\"") >= BINARIES);
    // The first ones are read before the index is asked.
    let (few, fewer) = (opened(&[], ".c\""), opened(&[], ".bin\""));
    assert!(few <= FILES / 2, "{few}");
    assert!(fewer <= BINARIES * 2 / 3, "{fewer}");
    // A line that is printed as text goes on behind a NUL byte.
    assert!(opened(&["-a"], ".bin\"") >= BINARIES);
}

/// Changes a file in place without a trace in its size and its mtime.
fn change_secretly(path: &Path) {
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .open(path)
        .unwrap();
    let before = file.metadata().unwrap().modified().unwrap();
    let text = std::fs::read_to_string(path).unwrap();
    file.seek(SeekFrom::Start(0)).unwrap();
    let changed = match text.contains("hidden_pin") {
        true => text.replace("hidden_pin", "static int"),
        false => text.replace("static int", "hidden_pin"),
    };
    assert_eq!(changed.len(), text.len());
    file.write_all(changed.as_bytes()).unwrap();
    file.set_times(FileTimes::new().set_modified(before))
        .unwrap();
}

#[test]
fn no_change_is_missed_while_files_are_written() {
    let site = settled("grep-text-writers");
    let mut random = 12345usize;
    let mut next = |below: usize| {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % below
    };
    for round in 0..6 {
        // An update runs while files change, and sees some of them in the middle.
        let mut update = site
            .command()
            .args(["index", "--quiet", "."])
            .spawn()
            .unwrap();
        for _ in 0..40 {
            let path = site.tree().join(name(next(FILES)));
            match next(3) {
                0 => {
                    let new = path.with_extension("new");
                    std::fs::write(&new, content(next(FILES)) + "static int\n").unwrap();
                    std::fs::rename(new, path).unwrap();
                }
                _ => change_secretly(&path),
            }
        }
        for word in ["hidden_pin", "needle_in_a_stack"] {
            let ours = site.run(&format!("grep -rl {word} ."));
            let gnu = site.gnu(&format!("grep -rl {word}"));
            // GNU grep does not decode UTF-16.
            let ours: Vec<String> = (sorted(&ours).iter())
                .filter(|line| !line.contains("utf16"))
                .map(|line| line.replacen("./", "", 1))
                .collect();
            assert_eq!(ours, sorted(&gnu), "{word} in round {round}");
        }
        let ended = update.wait().unwrap();
        assert!(matches!(ended.code(), Some(0 | 1)), "{ended}");
        if round % 2 == 1 {
            std::thread::sleep(SETTLED);
            site.run("index --quiet .").expect_code(0);
        }
    }
}

#[test]
fn a_file_that_is_open_for_writing_is_not_covered() {
    let site = settled("grep-text-open");
    let path = site.tree().join("dir0/open.c");
    std::fs::write(&path, "nothing yet\n").unwrap();
    std::thread::sleep(SETTLED);
    let writer = OpenOptions::new().write(true).open(&path).unwrap();
    let told = site.run("index .").expect_code(0);
    assert!(told.text().contains("1 not settled"), "{told}");
    drop(writer);
    let told = site.run("index .").expect_code(0);
    assert!(told.text().contains("0 not settled"), "{told}");
    assert!(told.text().contains("  1 read"), "{told}");
}

#[test]
fn a_damaged_pack_excludes_nothing_and_is_made_again() {
    let site = settled("grep-text-damage");
    let packs = packs(&site);
    let bytes = std::fs::read(&packs[0]).unwrap();
    for at in [0, 9, 20, 60, bytes.len() / 2, bytes.len() - 1] {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x41;
        std::fs::write(&packs[0], damaged).unwrap();
        let ours = site.run("grep -l needle_in_a_stack .");
        let without = site.run("grep --no-text-index -l needle_in_a_stack .");
        assert_eq!(sorted(&ours), sorted(&without), "{at}");
    }
    std::fs::write(&packs[0], &bytes[..30]).unwrap();
    let ours = site.run("grep -l needle_in_a_stack .");
    assert!(
        ours.errors().contains("trawl index PATH makes it again"),
        "{ours}"
    );
    let verified = site.run("index --verify");
    assert!(
        verified.code != Some(0) && verified.text().contains(".grams"),
        "{verified}"
    );
    site.run("index --quiet .").expect_code(0);
    assert_eq!(site.run("grep -l needle_in_a_stack .").errors(), "");
    site.run("index --verify").expect_code(0);
    // A byte of a list, which only a search for its keys would read.
    let packs = self::packs(&site);
    let mut bytes = std::fs::read(&packs[0]).unwrap();
    let at = bytes.len() - 2;
    bytes[at] ^= 0x10;
    std::fs::write(&packs[0], bytes).unwrap();
    let verified = site.run("index --verify");
    assert!(
        verified.code != Some(0) && verified.text().contains(".grams"),
        "{verified}"
    );
}

#[test]
fn files_in_memory_are_not_covered() {
    if let Some(skip) = without_root("a file system in memory") {
        return skip.say();
    }
    let site = Site::empty("grep-text-tmpfs");
    let mut mount = oracle::command("mount");
    let mounted = mount.args(["-t", "tmpfs", "none"]).arg(site.tree());
    if oracle::run(mounted).code != Some(0) {
        return println!("skipped, because no tmpfs can be mounted here");
    }
    std::fs::write(site.tree().join("file"), "text\n").unwrap();
    std::thread::sleep(SETTLED);
    // There, a page that was read through a writable mapping changes without a new ctime.
    let told = site.run("index --text .");
    let mut umount = oracle::command("umount");
    oracle::run(umount.arg(site.tree())).expect_code(0);
    assert!(told.text().contains("1 not settled"), "{told}");
}

#[test]
fn the_text_index_can_be_removed() {
    let site = settled("grep-text-none");
    site.run("index --quiet --no-text .").expect_code(0);
    assert_eq!(packs(&site), Vec::<PathBuf>::new());
    site.run("index --quiet .").expect_code(0);
    assert_eq!(packs(&site), Vec::<PathBuf>::new());
    site.run("index --verify --quiet --text .").expect_code(0);
    let tree = site.tree().display().to_string();
    site.run(&format!("sources remove {tree}")).expect_code(0);
    assert_eq!(packs(&site), Vec::<PathBuf>::new());
}

pub(crate) fn doc(path: &Path) -> DocId {
    let meta = path.symlink_metadata().unwrap();
    let stamp = |secs, nanos: i64| Stamp {
        secs,
        nanos: u32::try_from(nanos).unwrap(),
    };
    let identity = FileIdentity {
        dev: meta.dev(),
        ino: meta.ino(),
        size_bytes: meta.size(),
        mtime: stamp(meta.mtime(), meta.mtime_nsec()),
        ctime: stamp(meta.ctime(), meta.ctime_nsec()),
    };
    identity.id()
}

/// Whether a user can read a file, by the kernel.
pub(crate) fn reads(who: &Identity, path: &Path) -> bool {
    let mut command = who.command("head");
    command.args(["-c", "1"]).arg(path).current_dir("/");
    oracle::run(&mut command).code == Some(0)
}

const USERS: [u32; 3] = [4711, 4712, 4713];

/// Gives files and directories owners and modes of many kinds.
fn guarded(label: &str) -> Site {
    let site = Site::empty(label);
    let modes = [0o644, 0o600, 0o640, 0o604, 0o000, 0o444, 0o440];
    let dirs = [0o755, 0o700, 0o711, 0o750, 0o751, 0o744];
    for (at, mode) in dirs.iter().enumerate() {
        let dir = site.tree().join(format!("d{at}"));
        std::fs::create_dir(&dir).unwrap();
        for number in 0..70 {
            let path = dir.join(format!("f{number}"));
            let head = if number % 4 == 3 { "\0" } else { "" };
            let text = format!("{head}{}secret word of {at}\n", content(number));
            std::fs::write(&path, text).unwrap();
            let owner = USERS[number % USERS.len()];
            chown(&path, Some(owner), Some(USERS[(number / 3) % USERS.len()])).unwrap();
            std::fs::set_permissions(&path, Permissions::from_mode(modes[number % modes.len()]))
                .unwrap();
        }
        chown(&dir, Some(USERS[at % 3]), Some(USERS[(at + 1) % 3])).unwrap();
        std::fs::set_permissions(&dir, Permissions::from_mode(*mode)).unwrap();
    }
    site.scratch.install(Path::new(env!("CARGO_BIN_EXE_trawl")));
    std::thread::sleep(SETTLED);
    site.run("index --quiet --text .").expect_code(0);
    site
}

/// Checks that each user can open just the packs of files that they can read.
fn check_packs(site: &Site) {
    let files: Vec<PathBuf> = files_below(&site.tree())
        .into_iter()
        .filter(|path| path.is_file())
        .collect();
    let by_doc: BTreeMap<DocId, &PathBuf> = files.iter().map(|path| (doc(path), path)).collect();
    let (mut opened, mut refused) = (0, 0);
    let mut contents = BTreeSet::new();
    for pack in packs(site) {
        let docs = Pack::open(File::open(&pack).unwrap()).unwrap();
        contents.insert(docs.content());
        assert!(!docs.docs().is_empty());
        for user in USERS {
            let who = Identity::user(user);
            let may_open = reads(&who, &pack);
            match may_open {
                true => opened += 1,
                false => refused += 1,
            }
            for id in docs.docs() {
                let path = by_doc.get(id).expect("a file that is there");
                assert!(
                    !may_open || reads(&who, path),
                    "{user} {} {}",
                    pack.display(),
                    path.display()
                );
            }
        }
    }
    assert!(opened > 0 && refused > 0, "{opened} {refused}");
    assert!(contents.into_iter().eq([Content::Text, Content::Binary]));
}

/// Asks as each user.
fn check_answers(site: &Site) {
    let tree = site.tree().display().to_string();
    for user in USERS {
        let who = Identity::user(user);
        for word in ["secret word", "needle_in_a_stack", "f17("] {
            let mut ours = who.command(site.scratch.join("trawl"));
            ours.args(["grep", "-lF", word, &tree]).current_dir("/");
            ours.env("TRAWL_INDEX", site.index_dir());
            let ours = oracle::run(&mut ours);
            let gnu = oracle::gnu("grep", ["-rlF", word, &tree], Path::new("/"), &who);
            assert_eq!(sorted(&ours), sorted(&gnu), "{user} {word}");
            assert_eq!(ours.code, gnu.code, "{user} {word}: {ours}");
        }
    }
}

/// When a directory above the root is opened, the source's directory moves to where more users may
/// pass, and the packs with it: before they are made again, they must not be readable by more.
#[test]
fn packs_stay_closed_when_a_directory_above_the_root_is_opened() {
    if let Some(skip) = without_root("a closed directory above the root") {
        return skip.say();
    }
    let site = Site::empty("grep-text-above");
    let outer = site.tree().join("outer");
    let (root, secret) = (outer.join("root"), outer.join("root/secret"));
    std::fs::create_dir_all(&secret).unwrap();
    std::fs::write(secret.join("file"), "hidden\n").unwrap();
    for (dir, mode) in [(&outer, 0o700), (&root, 0o755), (&secret, 0o700)] {
        std::fs::set_permissions(dir, Permissions::from_mode(mode)).unwrap();
    }
    std::thread::sleep(SETTLED);
    let line = format!("index --quiet --text {}", root.display());
    site.run(&line).expect_code(0);
    let before = packs(&site);
    assert_eq!(before.len(), 1);
    let who = Identity::user(USERS[0]);
    assert!(!reads(&who, &before[0]));
    std::fs::set_permissions(&outer, Permissions::from_mode(0o755)).unwrap();
    // A copy under a name that no update removes shows where packs lie until they are made again.
    let kept = before[0].with_extension("kept");
    std::fs::copy(&before[0], &kept).unwrap();
    site.run(&line).expect_code(0);
    let all = files_below(&site.index_dir());
    let kept = all
        .iter()
        .find(|path| path.extension().is_some_and(|ending| ending == "kept"));
    let kept = kept.expect("what is not a pack stays where it was");
    assert!(
        !kept.starts_with(before[0].parent().unwrap()),
        "it was moved"
    );
    assert!(!reads(&who, kept), "{}", kept.display());
    for pack in packs(&site) {
        assert!(!reads(&who, &pack), "{}", pack.display());
    }
}

#[test]
fn packs_are_open_to_those_who_may_pass_the_directories_above_the_root() {
    if let Some(skip) = without_root("a directory above the root that hides names") {
        return skip.say();
    }
    let site = Site::empty("grep-text-passed");
    let root = site.tree().join("outer/root");
    std::fs::create_dir_all(&root).unwrap();
    std::fs::write(root.join("file"), "open\n").unwrap();
    let outer = site.tree().join("outer");
    std::fs::set_permissions(&outer, Permissions::from_mode(0o711)).unwrap();
    std::thread::sleep(SETTLED);
    site.run(&format!("index --quiet --text {}", root.display()))
        .expect_code(0);
    let all = packs(&site);
    assert_eq!(all.len(), 1);
    let who = Identity::user(USERS[0]);
    assert!(reads(&who, &root.join("file")) && reads(&who, &all[0]));
}

#[test]
fn n_grams_are_guarded_like_the_contents() {
    if let Some(skip) = without_root("other users' files") {
        return skip.say();
    }
    let site = guarded("grep-text-users");
    check_packs(&site);
    check_answers(&site);
    site.run("index --check-permissions .").expect_code(0);

    // What fewer users may read lies behind another guard after the next update.
    for (dir, file, mode) in [("d0", "f0", 0o600), ("d0", "f5", 0o400), ("d5", "", 0o700)] {
        let path = site.tree().join(dir).join(file);
        std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }
    std::thread::sleep(SETTLED);
    site.run("index --quiet .").expect_code(0);
    check_packs(&site);
    check_answers(&site);
}
