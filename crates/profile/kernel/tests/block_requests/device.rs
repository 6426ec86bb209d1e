//! Loop devices, and programs that use them.

use std::path::{Path, PathBuf};
use std::process::Child;

use trawl_testkit::oracle::command;
use trawl_testkit::scratch::Scratch;
use trawl_testkit::skip::{Skip, is_root};

/// A loop device that goes with the test.
pub(crate) struct Loop {
    pub(crate) path: PathBuf,
    /// Such as `loop3`.
    pub(crate) name: String,
    _place: Option<Scratch>,
}

impl Loop {
    /// A device of this size; `None`, with a message, where none can be made.
    pub(crate) fn new(size_bytes: u64) -> Option<Loop> {
        let place = Scratch::new("block");
        let image = place.join("image");
        std::fs::File::create(&image)
            .unwrap()
            .set_len(size_bytes)
            .unwrap();
        let mut device = Loop::over(&image)?;
        device._place = Some(place);
        Some(device)
    }

    /// A device over this file.
    pub(crate) fn over(image: &Path) -> Option<Loop> {
        let skip = |because: String| Skip::new("a loop device", because).say();
        if !is_root() {
            skip("it needs root".to_owned());
            return None;
        }
        let made = command("losetup")
            .args(["--find", "--show"])
            .arg(image)
            .output();
        let made = match made {
            Ok(made) if made.status.success() => made,
            Ok(made) => {
                skip(String::from_utf8_lossy(&made.stderr).into_owned());
                return None;
            }
            Err(error) => {
                skip(format!("losetup: {error}"));
                return None;
            }
        };
        let path = PathBuf::from(String::from_utf8(made.stdout).unwrap().trim());
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        Some(Loop {
            path,
            name,
            _place: None,
        })
    }

    /// Selects the scheduler; false if the kernel has it not.
    pub(crate) fn schedule(&self, scheduler: &str) -> bool {
        let file = Path::new("/sys/block")
            .join(&self.name)
            .join("queue/scheduler");
        std::fs::write(file, scheduler).is_ok()
    }

    /// The kernel's statistics of this device.
    /// Source: <https://www.kernel.org/doc/Documentation/block/stat.rst>
    pub(crate) fn statistics(&self) -> Statistics {
        let text = std::fs::read_to_string(Path::new("/sys/block").join(&self.name).join("stat"));
        let words = text.unwrap();
        Statistics(
            words
                .split_whitespace()
                .map(|word| word.parse().unwrap())
                .collect(),
        )
    }

    /// Starts dd(1), which reads from the device past all caches.
    pub(crate) fn read(&self, block_bytes: u64, skip: u64, count: u64) -> Child {
        let mut dd = command("dd");
        dd.arg(format!("if={}", self.path.display()))
            .args(["of=/dev/null", "iflag=direct"]);
        dd.args([
            format!("bs={block_bytes}"),
            format!("skip={skip}"),
            format!("count={count}"),
        ]);
        dd.arg("status=none").spawn().unwrap()
    }

    /// Runs dd(1), which writes to the device, with this option.
    pub(crate) fn write(&self, block_bytes: u64, count: u64, option: &str) {
        let mut dd = command("dd");
        dd.arg("if=/dev/zero")
            .arg(format!("of={}", self.path.display()));
        dd.args([format!("bs={block_bytes}"), format!("count={count}")]);
        dd.args([option, "status=none"]);
        assert!(dd.status().unwrap().success());
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = command("losetup").arg("--detach").arg(&self.path).status();
    }
}

/// The words of `/sys/block/DEVICE/stat`.
pub(crate) struct Statistics(Vec<u64>);

/// Words of the statistics.
#[derive(Clone, Copy)]
pub(crate) enum Word {
    Reads = 0,
    ReadSectors = 2,
    ReadTicks = 3,
    Writes = 4,
    WriteSectors = 6,
    WriteTicks = 7,
    Discards = 11,
    Flushes = 15,
}

impl Statistics {
    /// How much a word has grown since.
    pub(crate) fn since(&self, earlier: &Statistics, word: Word) -> u128 {
        u128::from(self.0[word as usize] - earlier.0[word as usize])
    }
}
