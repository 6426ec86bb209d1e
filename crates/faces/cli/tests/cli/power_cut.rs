//! Disks that lose power under an index that a daemon maintains: the index is intact, and up to
//! date after the daemon's next start.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use trawl_testkit::daemon::Daemon;
use trawl_testkit::oracle;
use trawl_testkit::prng::Prng;
use trawl_testkit::{FileSystem, LoopMount, Skip};

use crate::watch::{Watched, change, compare};

/// File that contains the kernel's id of this boot.
const BOOT: &str = "/proc/sys/kernel/random/boot_id";

/// File that contains the time of this boot.
const STAT: &str = "/proc/stat";

/// The machine after a restart: programs there see another boot, which is later than everything on
/// the disk, and the index that was left there.
struct Later {
    index: PathBuf,
    boot: PathBuf,
    stat: PathBuf,
}

impl Later {
    fn new(disk: &LoopMount, watched: &Watched, round: usize) -> Later {
        let boot = watched.scratch.join(format!("boot-{round}"));
        fs::write(&boot, format!("00000000-0000-4000-8000-{round:012}\n")).expect("room");
        let stat = watched.scratch.join(format!("stat-{round}"));
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .expect("after 1970");
        fs::write(&stat, format!("btime {}\n", now.as_secs() + 1)).expect("room");
        Later {
            index: disk.path().join("index"),
            boot,
            stat,
        }
    }

    fn program(&self) -> Command {
        let script =
            "mount --bind \"$0\" \"$1\" && mount --bind \"$2\" \"$3\" && shift 3 && exec \"$@\"";
        let mut command = oracle::command("unshare");
        command.args(["-m", "sh", "-c", script]);
        command.args([&self.boot, Path::new(BOOT)]);
        command.args([&self.stat, Path::new(STAT)]);
        command.arg(env!("CARGO_BIN_EXE_trawl"));
        command.env("TRAWL_INDEX", &self.index);
        command
    }
}

#[test]
fn an_index_whose_disk_lost_its_power_is_whole_and_catches_up() {
    let Some(mut watched) = Watched::new() else {
        return;
    };
    let disk = LoopMount::new(FileSystem::Ext4, 96 << 20);
    let Ok(disk) = disk.map_err(|skip: Skip| skip.say()) else {
        return;
    };
    watched.index = disk.path().join("index");
    watched.start(|command| {
        // Files are written all the time.
        command.args(["--apply-after", "20ms", "--checkpoint", "1s"]);
    });
    let root = watched.root();
    let mut prng = Prng::new(7);
    for round in 0..8 {
        change(&root, round);
        if round % 2 == 0 {
            watched.compare();
        }
        std::thread::sleep(Duration::from_millis(prng.below(1500)));
        watched.signal("-STOP");
        let cut = disk.after_power_cut();
        watched.signal("-CONT");
        let Ok(cut) = cut.map_err(|skip| skip.say()) else {
            return;
        };
        let later = Later::new(&cut, &watched, round);
        // Files that were not committed may remain: exit code 1.
        let verified = oracle::run(later.program().arg("verify"));
        assert!(matches!(verified.code, Some(0 | 1)), "{verified}");
        let as_it_was = oracle::run(later.program().args(["find", "--no-wait"]).arg(&root));
        let as_it_was = as_it_was.expect_code(0);
        assert!(
            as_it_was
                .stdout
                .starts_with(root.as_os_str().as_encoded_bytes())
        );
        let mut daemon = Daemon::start(later.program().arg("watch").arg(&root));
        let compared = std::panic::catch_unwind(|| compare(&root, &mut later.program()));
        assert_eq!(daemon.end("-TERM").code(), Some(0));
        compared.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    }
}
