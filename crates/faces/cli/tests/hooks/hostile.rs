//! Hostile files, and workers that hostile files have taken over: "bounded, recorded as issues,
//! nothing lost".

use std::time::Instant;

use trawl_hooks::{Fault, Hooks};

use crate::site::{HANGS, Site, allow, expect_words, faults};

/// Checks that the next file is read as if nothing had happened.
#[track_caller]
fn next_file_is_read(site: &Site) {
    let found = site.well_found(&site.write("next.txt", "the next file\n"));
    expect_words(&found, &["next"]);
}

#[test]
fn what_a_bomb_decompresses_to_is_bounded() {
    let mut site = Site::new();
    site.limits.input_bytes = 1 << 20;
    site.limits.text_bytes = 1 << 16;
    let docx = "import sys, zipfile\nz = zipfile.ZipFile(sys.argv[1], 'w', zipfile.ZIP_DEFLATED)\n\
                z.writestr('word/document.xml', '<w:document><w:p>' + '<w:t>bomb </w:t>' * 10000000)\nz.close()";
    let found = site.found(&site.python("a.docx", docx));
    assert!(
        faults(&found).contains(&Fault::Limit),
        "{:?}",
        found.problems
    );
    assert!(found.text.len() <= 1 << 16);
    // One endless text.
    let docx = docx.replace("'<w:t>bomb </w:t>'", "'bomb'");
    let found = site.found(&site.python("b.docx", &docx));
    assert!(!found.problems.is_empty());
    site.tool(
        "head -c 100M /dev/zero | tr '\\0' a | gzip > a.gz; head -c 100M /dev/zero | gzip > b.gz",
    );
    let found = site.found(&site.path("a.gz"));
    assert_eq!(faults(&found), [Fault::Limit]);
    assert_eq!(found.text.len(), 1 << 16);
    assert_eq!(site.found(&site.path("b.gz")).text, "");
    // A member that tar says is endless.
    site.tool("mkdir d; head -c 50M /dev/zero > d/big; echo x > d/later; tar cf - d/big d/later | gzip > c.tgz");
    let found = site.found(&site.path("c.tgz"));
    assert!(
        faults(&found).contains(&Fault::Limit),
        "{:?}",
        found.problems
    );
    next_file_is_read(&site);
}

#[test]
fn an_endless_line_is_cut() {
    let mut site = Site::new();
    site.limits.text_bytes = 1 << 20;
    let path = site.write("a.txt", "word ".repeat(4 << 20));
    let found = site.found(&path);
    assert_eq!(faults(&found), [Fault::Limit]);
    assert_eq!(found.text.len(), 1 << 20);
    // As source code, too.
    let found = site.found(&site.write("a.c", "(".repeat(2 << 20)));
    assert_eq!(found.text.len(), 1 << 20);
    next_file_is_read(&site);
}

#[test]
fn truncated_and_damaged_files_are_problems_of_theirs() {
    let site = Site::new();
    site.tool(
        "seq 100000 > numbers; zip -q a.zip numbers; tar cf a.tar numbers; gzip -k numbers; \
         printf '%%PDF-1.4\\n1 0 obj\\n<< /Type /Catalog /Pages 2 0 R >>\\nendobj\\n' > a.pdf; \
         head -c 100 a.zip > cut.zip; head -c 600 a.tar > cut.tar; head -c 5000 numbers.gz > cut.gz; \
         cp cut.zip cut.docx; cp cut.zip cut.odt; printf 'ID3\\003\\0\\0\\177\\177\\177\\177' > cut.mp3; \
         printf 'PAR1\\377\\377\\377\\377PAR1' > cut.parquet; printf 'SIMPLE  =   T' > cut.fits; \
         printf '\\377\\330\\377\\341\\377\\377Exif\\0\\0II*\\0\\377\\377\\377\\377' > cut.jpg",
    );
    for name in [
        "a.pdf",
        "cut.zip",
        "cut.gz",
        "cut.docx",
        "cut.odt",
        "cut.mp3",
        "cut.parquet",
        "cut.fits",
        "cut.jpg",
    ] {
        let found = site.found(&site.path(name));
        assert!(!found.problems.is_empty(), "{name} has no problem");
        assert_eq!(
            found.problems[0].fault,
            Fault::Damaged,
            "{name}: {:?}",
            found.problems
        );
    }
    // What is there is found.
    let found = site.found(&site.path("cut.tar"));
    assert_eq!(found.text, "numbers\n");
    next_file_is_read(&site);
}

/// Beginnings of a file, and files with one byte changed: what is missing is a problem.
#[test]
fn damaged_measurements_end_no_worker() {
    if let Some(skip) = trawl_testkit::skip::without_program("damaged NetCDF", "ncgen") {
        return skip.say();
    }
    let site = Site::new();
    site.write(
        "a.cdl",
        "netcdf a { dimensions: x = 3; variables: int v(x); v:units = \"m\"; :title = \"t\"; data: v = 1, 2, 3; }",
    );
    for kind in ["classic", "netCDF-4"] {
        site.tool(&format!("ncgen -k {kind} -o a.nc a.cdl"));
        let text = site.well_found(&site.path("a.nc")).text;
        let whole = std::fs::read(site.path("a.nc")).expect("a file");
        let step = whole.len() / 100 + 1;
        for at in (0..whole.len()).step_by(step) {
            let path = site.write("cut.nc", &whole[..at]);
            let found = site.found(&path);
            let is_known = at < 8 || !found.problems.is_empty() || found.text == text;
            assert!(is_known, "{kind}, {at} bytes: {found:?}");
            for value in [0, 0x7f, 0xff] {
                let mut changed = whole.clone();
                changed[at] = value;
                let found = site.found(&site.write("b.nc", changed));
                assert!(
                    !faults(&found).contains(&Fault::Timeout),
                    "{kind}, byte {at}: {:?}",
                    found.problems
                );
            }
        }
    }
    next_file_is_read(&site);
}

#[test]
fn deep_nesting_ends_no_more_than_a_worker() {
    let site = Site::new();
    let deep = "[".repeat(3 << 20);
    let pdf = format!("%PDF-1.4\n1 0 obj\n{deep}\nendobj\ntrailer << /Root 1 0 R >>\n");
    let found = site.found(&site.write("a.pdf", pdf));
    assert!(!found.problems.is_empty());
    let page = "<div>".repeat(1 << 20);
    site.found(&site.write("a.html", page));
    let markdown = "> ".repeat(1 << 19);
    site.found(&site.write("a.md", markdown));
    next_file_is_read(&site);
}

#[test]
fn only_regular_files_that_are_open_for_reading_are_read() {
    let site = Site::new();
    let path = site.write("a.txt", "text");
    let open = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open(&path);
    let found = trawl_hooks::extract(&open.expect("a file"), b"a.txt", &site.hooks, &site.limits);
    assert_eq!(faults(&found), [Fault::Unreadable]);
    let found = site.found(std::path::Path::new("/dev/zero"));
    assert_eq!(faults(&found), [Fault::Unreadable]);
    let found = site.found(&std::env::temp_dir());
    assert_eq!(faults(&found), [Fault::Unreadable]);
}

/// Text that the caller cannot read without a worker: windows-1252.
const TEXT: &[u8] = b"gr\xfcn";

/// Lets another program play the worker: the parent must survive whatever it does.
fn with_worker(program: &str) -> Site {
    let mut site = Site::new();
    let text = format!(
        "#!/usr/bin/python3\nimport array, os, socket, struct, sys, time\n\
         s = socket.socket(fileno=0)\ns.send(b'ready\\n')\ns.recvmsg(4096, 64)\n{program}\n"
    );
    let path = site.write("worker", text);
    allow(&path);
    site.hooks = Hooks::new(path);
    site.limits.wall_ms = 3000;
    site
}

#[test]
fn a_worker_that_was_taken_over_gains_nothing() {
    for (program, fault) in [
        ("time.sleep(1000)", Fault::Timeout),
        ("os.kill(os.getpid(), 11)", Fault::Crash),
        ("sys.exit(7)", Fault::Crash),
        (
            "s.sendall(struct.pack('<I', 0xffffffff)); time.sleep(1000)",
            Fault::Nonsense,
        ),
        (
            "s.sendall(struct.pack('<I', 3) + b'{}}'); time.sleep(1000)",
            Fault::Nonsense,
        ),
        (
            "s.sendall(struct.pack('<I', 300) + b'{'); time.sleep(1000)",
            Fault::Timeout,
        ),
        (
            "a = b'{\"text\":\"\",\"attributes\":[[\"Bad name\",{\"integer\":1}]],\"relations\":[],\"problems\":[]}'\n\
             s.sendall(struct.pack('<I', len(a)) + a); time.sleep(1000)",
            Fault::Nonsense,
        ),
    ] {
        let site = with_worker(program);
        let begin = Instant::now();
        let found = site.found(&site.write("a.txt", TEXT));
        assert_eq!(faults(&found), [fault], "{program}: {:?}", found.problems);
        assert!(found.attributes.is_empty());
        assert!(
            begin.elapsed() < HANGS,
            "{program}: it waited for the worker"
        );
    }
}

#[test]
fn a_missing_worker_is_a_problem_of_each_file() {
    let mut site = Site::new();
    site.hooks = Hooks::new("/nonexistent/trawl-hook".into());
    let found = site.found(&site.write("a.txt", TEXT));
    assert_eq!(faults(&found), [Fault::Unavailable]);
}

#[test]
fn time_and_memory_of_a_file_are_bounded() {
    let mut site = Site::new();
    // Too little to read the file at all.
    site.limits.memory_bytes = 100 << 20;
    site.limits.input_bytes = 1 << 30;
    let path = site.write("a.pdf", "%PDF-1.4\n");
    let file = std::fs::OpenOptions::new()
        .write(true)
        .open(&path)
        .expect("a file");
    file.set_len(200 << 20).expect("a sparse file");
    let found = site.found(&path);
    assert_eq!(faults(&found), [Fault::Crash], "{:?}", found.problems);
    next_file_is_read(&site);
}
