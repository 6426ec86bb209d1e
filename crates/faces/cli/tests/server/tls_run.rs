//! Programs in trees of a server; both sides identify each other by certificates.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use trawl_remote::tls::Certificates;
use trawl_remote::tls::identity::identities;
use trawl_testkit::oracle::{self, Ran};
use trawl_testkit::skip::{Skip, is_root};

use crate::authority::GOOD;
use crate::site::somebody;
use crate::tls::Secured;

fn cannot(what: &str) -> Option<Skip> {
    if !is_root() {
        return Some(Skip::new(what, "it needs root"));
    }
    let device = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/fuse");
    if let Err(error) = device {
        return Some(Skip::new(what, format_args!("/dev/fuse: {error}")));
    }
    let ran = oracle::run(oracle::command("unshare").args(["-m", "true"]));
    (ran.code != Some(0)).then(|| Skip::new(what, "there can be no mounts of its own"))
}

/// Returns the options that name these files.
fn options(files: &Certificates) -> Vec<String> {
    let file = |option: &str, path: &Option<PathBuf>| {
        let path = path.as_deref().unwrap_or(Path::new("/nosuch"));
        [option.to_owned(), path.display().to_string()]
    };
    [
        file("--ca", &files.ca),
        file("--cert", &files.cert),
        file("--key", &files.key),
    ]
    .concat()
}

struct Shown {
    secured: Secured,
    point: PathBuf,
}

impl Shown {
    fn command(&self, words: &[&str], files: &Certificates) -> Command {
        let mut command = oracle::command(&self.secured.site.program);
        command.args(words).args(options(files));
        command
    }

    fn place(&self, port: u16) -> String {
        format!(
            "tls:localhost:{port}:{}",
            self.secured.site.tree().display()
        )
    }

    /// Runs a command in the tree.
    fn run(&self, way: &[&str], port: u16, files: &Certificates, script: &str) -> Ran {
        let mut command = self.command(&[&["run"], way].concat(), files);
        let remote = format!("{}={}", self.place(port), self.point.display());
        command.args(["--remote", &remote, "--", "sh", "-c", script]);
        oracle::run(command.arg(&self.point))
    }
}

#[test]
fn programs_are_shown_what_their_certificate_may_see() {
    if let Some(skip) = cannot("trees over TLS") {
        return skip.say();
    }
    let secured = Secured::new("tls-run");
    let own = secured.clients.sign(&GOOD);
    let users = format!("{}={}\n", identities(&own.der)[0], somebody());
    let server = secured.serve(&secured.servers.sign(&GOOD), &users, &[]);
    let port = server.port();
    let point = secured.site.scratch.join("point");
    std::fs::create_dir(&point).expect("room");
    let shown = Shown { secured, point };
    let files = shown.secured.files(&shown.secured.servers, Some(&own));
    let script = "cat $0/open/deep/x.c; ls $0; ls $0/shut && echo it is open";
    for way in [&[][..], &["--sandbox"][..]] {
        let ran = shown.run(way, port, &files, script);
        if ran.code == Some(125) && ran.errors().contains("cannot be intercepted") {
            Skip::new("calls that are asked about", ran.errors()).say();
            continue;
        }
        // Served as a user who may not list the closed directory.
        assert!(
            ran.text().starts_with("tree/open/deepopen\nshut\n"),
            "{way:?}: {ran}"
        );
        assert!(!ran.text().contains("it is open"), "{way:?}: {ran}");
    }
    searched(&shown, port, &files);
    mounted(&shown, port, &files);
    // A server whose certificate nobody vouches for is not asked, and the command is not run.
    let files = shown.secured.files(&shown.secured.clients, Some(&own));
    let ran = shown.run(&[], port, &files, "echo ran");
    assert_eq!((ran.text().as_str(), ran.code), ("", Some(125)), "{ran}");
    let said = ran.errors();
    assert!(
        said.contains("signed by an authority that is not trusted"),
        "{said}"
    );
    // Nor is a server that does not know the client.
    let files = shown.secured.files(&shown.secured.servers, None);
    let ran = shown.run(&[], port, &files, "echo ran");
    assert_eq!((ran.text().as_str(), ran.code), ("", Some(125)), "{ran}");
    assert!(ran.errors().contains("none.pem"), "{ran}");
}

/// A search in the run has no certificates to ask the server with, so the mount answers: as a walk
/// through it does.
fn searched(shown: &Shown, port: u16, files: &Certificates) {
    let program = shown.secured.site.program.display();
    let ask = |words: &str| {
        let script = format!("{program} search --status {words} '*.c' $0");
        let ran = shown.run(&["--no-preload"], port, files, &script);
        let paths: Vec<String> = ran.text().lines().map(str::to_owned).collect();
        (ran.code, paths, ran.errors())
    };
    let (code, walked, said) = ask("--served-by live");
    assert!(!walked.is_empty(), "{said}");
    let asked = ask("");
    assert_eq!((asked.0, &asked.1), (code, &walked), "{}", asked.2);
}

/// `trawl mount` in the background uses the same files.
fn mounted(shown: &Shown, port: u16, files: &Certificates) {
    let place = shown.place(port);
    let mut command = shown.command(&["mount"], files);
    command.arg(&place).arg(&shown.point);
    // The background process keeps these descriptors open.
    let (input, output, errors) = (Stdio::null(), Stdio::null(), Stdio::null());
    let ended = command.stdin(input).stdout(output).stderr(errors).status();
    assert!(ended.expect("it starts").success());
    let text = std::fs::read_to_string(shown.point.join("open/deep/x.c"));
    // A second mount would hide the first. If it were mounted, it would keep pipes open.
    let mut again = shown.command(&["mount"], files);
    again.arg(&place).arg(&shown.point);
    let said = std::fs::File::create(shown.secured.site.scratch.join("said")).expect("room");
    let ended = again.stdout(Stdio::null()).stderr(said).status();
    let said = std::fs::read_to_string(shown.secured.site.scratch.join("said"));
    let mut unmount = oracle::command(&shown.secured.site.program);
    oracle::run(unmount.arg("unmount").arg(&shown.point)).expect_code(0);
    assert_eq!(text.expect("it is shown"), "tree/open/deep");
    let said = said.expect("it is there");
    assert!(said.contains("mounted there already"), "{said}");
    assert_eq!(ended.expect("it starts").code(), Some(2), "{said}");
}
