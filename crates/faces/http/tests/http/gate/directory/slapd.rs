//! A directory service of the test's own: Debian's slapd, and nslcd, through which the C library and PAM
//! ask it. Nothing of this is installed: `scripts/need.sh test` unpacks the packages into the cache, and
//! the configuration is mounted in namespaces.

use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use trawl_testkit::oracle;
use trawl_testkit::{Scratch, Skip};

use crate::client::wait_until;
use crate::clients::tools;
use crate::gate::{Settings, in_namespace};

/// Name and password of the administrator.
const ADMINISTRATOR: [&str; 4] = ["-D", "cn=admin,dc=example", "-w", "s3cret"];

/// The only files of `/etc` that nslcd sees.
const ETC: [(&str, &str); 3] = [
    ("passwd", "root:x:0:0::/:/bin/sh\n"),
    ("group", "root:x:0:\n"),
    ("nsswitch.conf", "passwd: files\ngroup: files\n"),
];

/// Accounts of this machine and of the directory count. Nothing is cached: there is no nscd.
const SWITCH: &str = "passwd: files ldap\ngroup: files ldap\nshadow: files ldap\n";

/// A running directory service, which ends when it is dropped.
pub(super) struct Directory {
    scratch: Scratch,
    packages: PathBuf,
    slapd: Option<Child>,
    nslcd: Option<Child>,
}

impl Directory {
    /// Starts a directory with these entries.
    ///
    /// # Errors
    /// Says what is missing.
    pub(super) fn start(test: &str, entries: &str) -> Result<Directory, Skip> {
        let packages = tools().join("ldap");
        let missing = |what: &Path| {
            let what = what.display();
            let why = format!("there is no {what}: scripts/need.sh test unpacks slapd and nslcd");
            Skip::new(test, why)
        };
        for name in ["usr/sbin/slapd", "usr/sbin/nslcd", "usr/bin/ldapmodify"] {
            let path = packages.join(name);
            if !path.exists() {
                return Err(missing(&path));
            }
        }
        for path in ["/etc/nsswitch.conf", "/etc/ld.so.cache"] {
            if !Path::new(path).exists() {
                let why = format!("there is no {path}, over which another one can be mounted");
                return Err(Skip::new(test, why));
            }
        }
        let mut directory = Directory {
            scratch: Scratch::new("ldap"),
            packages,
            slapd: None,
            nslcd: None,
        };
        directory.configure(entries);
        directory.start_slapd();
        directory.start_nslcd();
        Ok(directory)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.scratch.join(name);
        std::fs::write(&path, text).expect("our own");
        path
    }

    /// Returns a program of the packages, which finds their libraries.
    fn program(&self, name: &str) -> Command {
        let mut command = oracle::command(self.packages.join(name));
        command.env("LD_LIBRARY_PATH", self.libraries());
        command
    }

    /// Returns the directories of the packages' libraries, with colons between them.
    fn libraries(&self) -> String {
        let lists = ["usr/lib", "lib"].map(|name| self.packages.join(name));
        let lists = lists.iter().filter_map(|path| path.read_dir().ok());
        let paths = lists.flatten().filter_map(|entry| Some(entry.ok()?.path()));
        let libraries = paths.filter(|path| path.to_string_lossy().ends_with("-linux-gnu"));
        let words = libraries.map(|path| path.to_str().expect("text").to_owned());
        words.collect::<Vec<_>>().join(":")
    }

    /// Returns a library of the packages.
    fn library(&self, name: &str) -> PathBuf {
        let libraries = self.libraries();
        let mut paths = libraries.split(':').map(|path| Path::new(path).join(name));
        let found = paths.find(|path| path.exists());
        found.unwrap_or_else(|| panic!("{name} is not in the packages: {libraries}"))
    }

    /// Returns the address of slapd: a socket.
    fn address(&self) -> String {
        let path = self.scratch.join("ldapi");
        let path = path.to_str().expect("text").replace('/', "%2F");
        format!("ldapi://{path}")
    }

    fn configure(&self, entries: &str) {
        for name in ["database", "etc", "run", "run/nslcd", "lib", "pam"] {
            std::fs::create_dir(self.scratch.join(name)).expect("our own");
        }
        let (packages, own) = (self.packages.display(), self.scratch.path().display());
        let schema = ["core", "cosine", "nis"];
        let schema =
            schema.map(|name| format!("include {packages}/etc/ldap/schema/{name}.schema\n"));
        let configuration = format!(
            "{}modulepath {packages}/usr/lib/ldap\nmoduleload back_mdb\n\
             database mdb\nmaxsize 16777216\ndirectory {own}/database\nsuffix dc=example\n\
             rootdn {}\nrootpw {}\n",
            schema.concat(),
            ADMINISTRATOR[1],
            ADMINISTRATOR[3],
        );
        let configuration = self.write("slapd.conf", &configuration);
        let entries = self.write("entries", entries);
        let mut add = self.program("usr/sbin/slapadd");
        add.arg("-f").arg(configuration).arg("-l").arg(entries);
        oracle::run(&mut add).expect_code(0);
        for (name, text) in ETC {
            self.write(&format!("etc/{name}"), text);
        }
        // A lookup while slapd is away is given up at once.
        let nslcd = format!(
            "uri {}\nbase dc=example\nthreads 2\nignorecase yes\nreconnect_sleeptime 0\nreconnect_retrytime 0\n",
            self.address()
        );
        self.write("etc/nslcd.conf", &nslcd);
        self.write("nsswitch.conf", SWITCH);
        self.configure_libraries();
    }

    /// Copies libraries to where all users may read them, and makes a list with which programs find
    /// them.
    fn configure_libraries(&self) {
        for name in ["libnss_ldap.so.2", "security/pam_ldap.so"] {
            let from = self.library(name);
            let name = from.file_name().expect("a name");
            let to = self.scratch.join("lib").join(name);
            std::fs::copy(&from, to).expect("our own");
        }
        let module = self.scratch.join("lib/pam_ldap.so");
        let module = module.display();
        self.write(
            "pam/trawl",
            &format!("auth required {module}\naccount required {module}\n"),
        );
        let list = self.scratch.join("lib");
        let list = self.write("libraries", &format!("{}\n", list.display()));
        let mut command = oracle::command("ldconfig");
        command.arg("-X").arg("-f").arg(list);
        command.arg("-C").arg(self.scratch.join("ld.so.cache"));
        oracle::run(&mut command).expect_code(0);
    }

    /// Starts slapd, and waits until it answers.
    pub(super) fn start_slapd(&mut self) {
        let mut command = self.program("usr/sbin/slapd");
        command.arg("-f").arg(self.scratch.join("slapd.conf"));
        command.args(["-h", &self.address(), "-d", "0"]);
        self.slapd = Some(spawn(&mut command, &self.scratch.join("slapd.log")));
        wait_until("slapd does not answer", || {
            let mut search = self.program("usr/bin/ldapsearch");
            search.args(["-x", "-H", &self.address()]);
            search.args(["-b", "dc=example", "-s", "base", "dn"]);
            oracle::run(&mut search).code == Some(0)
        });
    }

    /// Ends slapd: nobody can look up its users.
    pub(super) fn end_slapd(&mut self) {
        end(&mut self.slapd);
    }

    fn start_nslcd(&mut self) {
        let mounts = [
            (self.scratch.join("etc"), "/etc"),
            (self.scratch.join("run"), "/run"),
        ];
        let mut command = in_namespace(&mounts, "exec \"$@\"");
        command.env("LD_LIBRARY_PATH", self.libraries());
        command.arg(self.packages.join("usr/sbin/nslcd")).arg("-n");
        self.nslcd = Some(spawn(&mut command, &self.scratch.join("nslcd.log")));
        let socket = self.scratch.join("run/nslcd/socket");
        wait_until("nslcd does not listen", || {
            UnixStream::connect(&socket).is_ok()
        });
    }

    /// Has a service take its users and passwords from the directory.
    pub(super) fn serve(&self, settings: Settings) -> Settings {
        let pam = self.scratch.join("pam");
        settings
            .mount(self.scratch.join("nsswitch.conf"), "/etc/nsswitch.conf")
            .mount(self.scratch.join("ld.so.cache"), "/etc/ld.so.cache")
            .mount(self.scratch.join("run"), "/run")
            .word("--pam=trawl")
            .word(format!("--pam-directory={}", pam.display()))
    }

    /// Changes entries, as LDIF says.
    #[track_caller]
    pub(super) fn change(&self, ldif: &str) {
        let changes = self.write("changes", ldif);
        self.administer("usr/bin/ldapmodify", ["-f".as_ref(), changes.as_os_str()]);
    }

    /// Deletes an entry.
    #[track_caller]
    pub(super) fn delete(&self, name: &str) {
        self.administer("usr/bin/ldapdelete", [OsStr::new(name)]);
    }

    #[track_caller]
    fn administer<'a>(&self, program: &str, words: impl IntoIterator<Item = &'a OsStr>) {
        let mut command = self.program(program);
        command.args(["-x", "-H", &self.address()]);
        command.args(ADMINISTRATOR).args(words);
        oracle::run(&mut command).expect_code(0);
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let failed = std::thread::panicking();
        for (name, child) in [("slapd", &mut self.slapd), ("nslcd", &mut self.nslcd)] {
            end(child);
            if failed {
                let log = std::fs::read(self.scratch.join(format!("{name}.log")));
                let _ = std::io::stderr().write_all(&log.unwrap_or_default());
            }
        }
    }
}

/// Starts a service that writes its messages to a file.
fn spawn(command: &mut Command, log: &Path) -> Child {
    let log = std::fs::File::create(log).expect("our own");
    let errors = log.try_clone().expect("our own");
    command.stdin(Stdio::null()).stdout(log).stderr(errors);
    command.spawn().expect("it starts")
}

fn end(child: &mut Option<Child>) {
    if let Some(mut child) = child.take() {
        let _ = child.kill();
        let _ = child.wait();
    }
}
