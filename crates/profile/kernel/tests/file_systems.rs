//! The layer of file-system operations, in an emulated machine whose kernel lets programs trace its
//! functions: against workloads that know how many operations they make, and against the kernel's
//! own counts of function calls (kprobes).
//!
//! The machine runs this test program again, which then finds itself inside ([`INSIDE`]).

mod cifs;
mod nfs;

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{FileExt, MetadataExt, symlink};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use trawl_histogram::Resolution;
use trawl_kernel_profile::{FileSystems, Filter, KernelError, Reading};
use trawl_stackable::Options;
use trawl_sys::held::Held;
use trawl_sys::shared::SharedBytes;
use trawl_testkit::Machine;

/// Set where the program runs inside the machine.
const INSIDE: &str = "TRAWL_TEST_INSIDE";
/// A directory in which the program works instead of testing.
const WORK: &str = "TRAWL_TEST_WORK";
/// In the place of that directory: the program serves FUSE.
const SERVE: &str = "serve";

/// The script that mounts CIFS, if it is there.
const CIFS: &str = "/cifs";

/// The machine, first with ext4 and tmpfs. [`MORE`] mounts the others; `inside` does the rest. It ends
/// with the result: the kernel needs a minute more to remove the last programs.
const SCRIPT: &str = "
set -e
mkfs.ext4 -q /dev/vda
mkdir -p /mnt/ext4 /mnt/xfs /mnt/btrfs /mnt/tmpfs /mnt/overlay /mnt/fuse /mnt/nfs4
mount -t ext4 /dev/vda /mnt/ext4
mount -t tmpfs tmpfs /mnt/tmpfs
sh -e /export
export TRAWL_TEST_INSIDE=1
/test --exact inside --nocapture --test-threads=1 > /log 2>&1 &
while ! grep -q '^test result' /log; do sleep 1; done
cat /log
";

/// Two more file systems, an overlay on tmpfs, and a client of the NFS server.
const MORE: &str = "
mkfs.xfs -q /dev/vdb
mkfs.btrfs -q /dev/vdc
mount -t xfs /dev/vdb /mnt/xfs
mount -t btrfs /dev/vdc /mnt/btrfs
mkdir -p /mnt/tmpfs/lower /mnt/tmpfs/upper /mnt/tmpfs/work
cd /mnt/tmpfs
mount -t overlay -o lowerdir=lower,upperdir=upper,workdir=work overlay /mnt/overlay
";

#[test]
fn operations_are_counted_in_an_emulated_machine() {
    let begun = Instant::now();
    let mut machine = match Machine::new("file-system operations") {
        Ok(machine) => machine,
        Err(skip) => return skip.say(),
    };
    for program in ["mkfs.ext4", "mkfs.xfs", "mkfs.btrfs"] {
        if let Some(skip) = trawl_testkit::skip::without_program("file-system operations", program)
        {
            return skip.say();
        }
        machine.program(program);
    }
    machine
        .program_as(&std::env::current_exe().unwrap(), "/test")
        .file("/more", format!("{MORE}{}", nfs::MOUNT).as_bytes())
        .file("/export", nfs::SERVER.as_bytes())
        .file("/unmount", b"umount /mnt/fuse")
        .modules(&["crc32c_generic", "virtio_pci", "virtio_blk"])
        .modules(&["ext4", "xfs", "btrfs", "overlay", "fuse", "nfsd", "nfsv4"])
        .disk(64 << 20)
        .disk(512 << 20)
        .disk(256 << 20);
    add_cifs(&mut machine);
    let release = machine.release().to_owned();
    let ended = machine.run(SCRIPT);
    let told = ended
        .console
        .lines()
        .filter(|line| line.starts_with("measured: "));
    told.for_each(|line| eprintln!("{line}"));
    eprintln!(
        "the machine with Linux {release} ran for {:?}",
        begun.elapsed()
    );
    assert_eq!(ended.code, Some(0), "{}", ended.console);
    assert!(ended.console.contains("1 passed"), "{}", ended.console);
}

/// Adds a server of SMB, where its programs are installed.
fn add_cifs(machine: &mut Machine) {
    let what = "operations of CIFS";
    if let Some(skip) = trawl_testkit::skip::without_program(what, cifs::PROGRAM) {
        return skip.say();
    }
    machine.program(cifs::PROGRAM).modules(&cifs::MODULES);
    for (path, text) in cifs::FILES {
        machine.file(path, text.as_bytes());
    }
    machine.file(CIFS, cifs::MOUNT.as_bytes());
}

/// Where the kernel lets no program trace its functions, the layer says so and names the other one.
#[test]
fn a_kernel_that_refuses_is_named() {
    match FileSystems::probe() {
        Ok(()) => {
            let own = Filter::Tree(std::process::id());
            let layer = FileSystems::attach(&own, Resolution::ONE).unwrap();
            assert!(!layer.coverage().functions.is_empty());
        }
        Err(error @ KernelError::NoTracing { .. }) => {
            let words = error.to_string();
            assert!(
                words.contains("fentry") && words.contains("`stackable`"),
                "{words}"
            );
        }
        Err(error) => eprintln!("skipped, because {error}"),
    }
}

/// Number of files of the workload, and of the rarer operations.
const FILES: u64 = 25;
const FEW: u64 = 7;
/// Pages that are written through a mapping.
const PAGES: u64 = 9;
const PAGE_BYTES: usize = 4096;

/// Makes each of a number of operations so often.
fn workload(place: &Path) {
    for at in 0..FILES {
        let path = place.join(format!("file{at}"));
        let mut file = OpenOptions::new();
        let mut file = file
            .read(true)
            .write(true)
            .create_new(true)
            .open(&path)
            .unwrap();
        for _ in 0..3 {
            file.write_all(&[b'x'; 5000]).unwrap();
        }
        file.sync_all().unwrap();
        let mut buffer = [0; 4096];
        for part in 0..2 {
            file.read_exact_at(&mut buffer, part * 4096).unwrap();
        }
    }
    for at in 0..FEW {
        let name = |kind: &str| place.join(format!("{kind}{at}"));
        fs::create_dir(name("directory")).unwrap();
        symlink("target", name("symlink")).unwrap();
        fs::hard_link(name("file"), name("link")).unwrap();
        fs::rename(name("link"), name("renamed")).unwrap();
        fs::remove_file(name("renamed")).unwrap();
        fs::remove_file(name("symlink")).unwrap();
        fs::remove_dir(name("directory")).unwrap();
        let mut file = File::open(name("file")).unwrap();
        assert_eq!(file.read(&mut [0; 16]).unwrap(), 16);
    }
    for at in 0..FILES {
        fs::remove_file(place.join(format!("file{at}"))).unwrap();
    }
    write_through_a_mapping(&place.join("mapped"));
}

/// Writes once to each page of a file that is in memory already. §2.3.2 says of other instrumentation
/// that it does "not intercept all file system operations. For example, LSM do not intercept
/// memory-mapped operations."
fn write_through_a_mapping(path: &Path) {
    let bytes = vec![b'm'; PAGES as usize * PAGE_BYTES];
    let mut file = OpenOptions::new();
    let file = file.read(true).write(true).create_new(true);
    let mut file = file.open(path).unwrap();
    file.write_all(&bytes).unwrap();
    // A FUSE file system may refuse it, as the one here does.
    if let Ok(mapped) = SharedBytes::of(&file, bytes.len()) {
        mapped.set(&bytes);
    }
    drop(file);
    fs::remove_file(path).unwrap();
}

/// How often the workload calls each operation. One function may serve several of them.
fn expected(system: &str) -> BTreeMap<&'static str, u64> {
    // Linux's fs/namei.c asks file systems that can to find, make and open a file in one operation.
    let create = match system {
        "fuse" | "nfs4" | "cifs" => "atomic_open",
        _ => "create",
    };
    let mut expected = BTreeMap::from([
        (create, FILES + 1),
        ("write_iter", 3 * FILES + 1),
        ("fsync", FILES),
        ("read_iter", 2 * FILES + FEW),
        ("mkdir", FEW),
        ("symlink", FEW),
        ("link", FEW),
        ("rename", FEW),
        ("rmdir", FEW),
        ("unlink", FILES + 2 * FEW + 1),
    ]);
    // In Linux's mm/memory.c, do_shared_fault asks for the page and for leave to write to it, once
    // for each page. An overlay's mapping is one of the file below; tmpfs gives leave to all.
    if !["overlay", "fuse"].contains(&system) {
        expected.insert("fault", PAGES);
    }
    if !["overlay", "fuse", "tmpfs"].contains(&system) {
        expected.insert("page_mkwrite", PAGES);
    }
    expected
}

/// The members that an operation's name joins, if it is one of this file system.
fn members<'n>(operation: &'n str, system: &str) -> Option<Vec<&'n str>> {
    let members = operation.strip_prefix(system)?.strip_prefix(':')?;
    let members = members.split('.').next()?;
    Some(members.split('+').collect())
}

fn entered(reading: &Reading) -> BTreeMap<String, u64> {
    let operations = reading.profile.operations();
    operations
        .map(|(name, one)| (name.to_owned(), one.counts().entered))
        .collect()
}

/// Compares the calls of a file system with the workload's own numbers. Operations are compared if
/// all their members are ones that the workload counts.
fn compare(system: &str, before: &BTreeMap<String, u64>, after: &BTreeMap<String, u64>) {
    let expected = expected(system);
    let mut compared = Vec::new();
    for (name, count) in after {
        let Some(members) = members(name, system) else {
            continue;
        };
        let known: Option<u64> = members.iter().map(|member| expected.get(member)).sum();
        let Some(mut known) = known else {
            continue;
        };
        // In Linux's mm/shmem.c, shmem_rmdir ends by calling shmem_unlink.
        if system == "tmpfs" && members == ["unlink"] {
            known += FEW;
        }
        let found = count - before.get(name).copied().unwrap_or(0);
        assert_eq!(found, known, "{name}");
        compared.extend(members);
    }
    for member in expected.keys() {
        assert!(
            compared.contains(member),
            "{system}: {member} was not seen: {after:?}"
        );
    }
}

/// This program, working in a directory.
fn work_in(place: &str) -> Command {
    let mut command = trawl_testkit::oracle::command(std::env::current_exe().unwrap());
    // What a failed assertion says goes to standard error.
    command.args(["--exact", "inside", "--test-threads=1", "--nocapture"]);
    command
        .env(WORK, place)
        .env(INSIDE, "1")
        .stdout(Stdio::null());
    command
}

const SYSTEMS: [&str; 7] = ["ext4", "xfs", "btrfs", "tmpfs", "overlay", "fuse", "nfs4"];

/// Serves a directory of tmpfs by FUSE until it is unmounted.
fn serve() {
    let below = Path::new("/mnt/tmpfs/below");
    fs::create_dir_all(below).unwrap();
    let served = trawl_stackable::mount(below, Path::new("/mnt/fuse"), &Options::default());
    served.unwrap().wait().unwrap();
}

/// Starts a process that serves FUSE, and returns when the file system is mounted.
fn start_serving() -> Child {
    let device = || fs::metadata("/mnt/fuse").unwrap().dev();
    let empty = device();
    let server = work_in(SERVE).spawn().unwrap();
    let begun = Instant::now();
    while device() == empty {
        assert!(begun.elapsed().as_secs() < 600, "FUSE is not mounted");
        std::thread::sleep(Duration::from_millis(50));
    }
    server
}

fn run_script(path: &str) {
    let mut shell = trawl_testkit::oracle::command("sh");
    assert!(
        shell.args(["-e", path]).status().unwrap().success(),
        "{path}"
    );
}

#[test]
fn inside() {
    if let Some(place) = std::env::var_os(WORK) {
        return match place == SERVE {
            true => serve(),
            false => workload(Path::new(&place)),
        };
    }
    if std::env::var_os(INSIDE).is_none() {
        return;
    }
    a_tree_is_followed();
    a_mount_is_told_apart();
    run_script("/more");
    let mut systems = SYSTEMS.to_vec();
    if Path::new(CIFS).exists() {
        run_script(CIFS);
        systems.push("cifs");
    }
    let mut server = start_serving();
    everything_is_counted(&systems);
    run_script("/unmount");
    assert!(server.wait().unwrap().success());
}

/// All file systems, against the workload's numbers and the kernel's kprobes.
fn everything_is_counted(systems: &[&str]) {
    let probes = Probes::place();
    let mut layer = FileSystems::attach(&Filter::Everything, Resolution::ONE).unwrap();
    let coverage = layer.coverage().clone();
    tell("everything", &layer);
    for system in systems {
        assert!(
            coverage.file_systems.iter().any(|one| one == *system),
            "{coverage:?}"
        );
        let probed = probes.hits();
        let before = entered(&layer.read().unwrap());
        let mut child = work_in(&format!("/mnt/{system}")).spawn().unwrap();
        // Readings while operations go on add up, too.
        let mut readings = 0;
        while child.try_wait().unwrap().is_none() {
            let reading = layer.read().unwrap();
            assert_eq!((reading.missed, reading.lost_tasks), (0, 0));
            readings += 1;
        }
        assert!(child.wait().unwrap().success());
        let after = entered(&layer.read().unwrap());
        println!("measured: {system} agrees, after {readings} readings meanwhile");
        compare(system, &before, &after);
        probes.compare(&probed, &before, &after, &coverage.functions);
    }
    // Switching the machine off is faster than removing them.
    std::mem::forget(layer);
}

fn tell(what: &str, layer: &FileSystems) {
    let coverage = layer.coverage();
    println!(
        "measured: {what}: {} functions of {:?} found in {:?}; attached in {:?}, of it checking \
         the programs {:?}; not traced: {:?}",
        coverage.functions.len(),
        coverage.file_systems,
        coverage.discovery,
        coverage.attaching,
        coverage.loading,
        coverage.unseen,
    );
}

/// Nobody waits until the programs are removed, and they are removed.
fn remove(what: &str, layer: FileSystems) {
    let begun = Instant::now();
    layer.leave();
    let left = begun.elapsed();
    while another_has_our_name() {
        std::thread::sleep(Duration::from_millis(50));
    }
    let removed = begun.elapsed();
    println!("measured: {what}: left in {left:?}; removed after {removed:?}");
    assert!(left * 4 < removed || removed < Duration::from_secs(1));
}

/// Whether the process is there that waits for the removal: it has this thread's name.
fn another_has_our_name() -> bool {
    let own = fs::read("/proc/thread-self/comm").unwrap();
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let mut others = processes.filter(|one| {
        let name = one.file_name();
        name.to_string_lossy()
            .parse::<u32>()
            .is_ok_and(|pid| pid != std::process::id())
    });
    others.any(|other| fs::read(other.path().join("comm")).is_ok_and(|name| name == own))
}

/// Only the work of a command is counted, and all of it, from its first call to its last.
fn a_tree_is_followed() {
    let held = Held::start(work_in("/mnt/ext4")).unwrap();
    let filter = Filter::Tree(held.pid());
    let mut layer = FileSystems::attach(&filter, Resolution::new(4).unwrap()).unwrap();
    let mut child = held.release().unwrap();
    assert!(work_in("/mnt/tmpfs").status().unwrap().success());
    assert!(child.wait().unwrap().success());
    let reading = layer.read().unwrap();
    assert!(reading.is_still, "everything has ended");
    compare("ext4", &BTreeMap::new(), &entered(&reading));
    let foreign = reading.profile.get("tmpfs:write_iter");
    assert!(foreign.is_none(), "{foreign:?}");
    for (name, one) in reading.profile.operations() {
        assert_eq!((one.in_flight(), one.counts().dropped), (0, 0), "{name}");
    }
    tell("a tree", &layer);
    remove("a tree", layer);
}

/// Two mounted file systems of one type share their functions; one is counted.
fn a_mount_is_told_apart() {
    let filter = Filter::Mount("/mnt/tmpfs".into());
    let mut layer = FileSystems::attach(&filter, Resolution::ONE).unwrap();
    for place in ["/mnt/tmpfs", "/tmp", "/mnt/ext4"] {
        assert!(work_in(place).status().unwrap().success());
    }
    let reading = layer.read().unwrap();
    compare("tmpfs", &BTreeMap::new(), &entered(&reading));
    let names = reading
        .profile
        .operations()
        .map(|(name, _)| name.to_owned());
    let foreign: Vec<String> = names.filter(|name| !name.starts_with("tmpfs:")).collect();
    assert!(foreign.is_empty(), "{foreign:?}");
    tell("a mount", &layer);
    remove("a mount", layer);
}

/// The kernel's own counts of calls, by kprobes at some of the functions.
struct Probes;

const TRACING: &str = "/sys/kernel/tracing";
const PROBED: [&str; 11] = [
    "ext4_file_write_iter",
    "ext4_file_read_iter",
    "ext4_sync_file",
    "ext4_create",
    "xfs_file_write_iter",
    "xfs_vn_unlink",
    "btrfs_sync_file",
    "ovl_create",
    "fuse_unlink",
    "nfs_file_write",
    "ext4_page_mkwrite",
];

impl Probes {
    fn place() -> Probes {
        let tracing = Path::new(TRACING);
        for name in PROBED {
            let mut file = OpenOptions::new()
                .append(true)
                .open(tracing.join("kprobe_events"));
            let file = file.as_mut().expect("the kernel has kprobes");
            // In one call of write(2).
            file.write_all(format!("p:{name} {name}\n").as_bytes())
                .unwrap();
        }
        fs::write(tracing.join("events/kprobes/enable"), "1").unwrap();
        Probes
    }

    /// Source: <https://docs.kernel.org/trace/kprobetrace.html>, "Event Profiling".
    fn hits(&self) -> BTreeMap<String, u64> {
        let profile = fs::read_to_string(Path::new(TRACING).join("kprobe_profile")).unwrap();
        let row = |line: &str| {
            let words: Vec<&str> = line.split_whitespace().collect();
            assert_eq!(words[2], "0", "misses: {line}");
            (words[0].to_owned(), words[1].parse().unwrap())
        };
        profile.lines().map(row).collect()
    }

    fn compare(
        &self,
        probed: &BTreeMap<String, u64>,
        before: &BTreeMap<String, u64>,
        after: &BTreeMap<String, u64>,
        functions: &[(String, String)],
    ) {
        let now = self.hits();
        for name in PROBED {
            let found = functions.iter().find(|(function, _)| function == name);
            let (_, operation) = found.expect(name);
            let count = |of: &BTreeMap<String, u64>| of.get(operation).copied().unwrap_or(0);
            assert_eq!(
                count(after) - count(before),
                now[name] - probed[name],
                "{name}"
            );
        }
    }
}
