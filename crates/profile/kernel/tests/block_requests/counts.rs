//! Counts and times against the kernel's statistics in the same run.

use std::collections::BTreeMap;
use std::time::Duration;

use trawl_histogram::Histogram;
use trawl_kernel_profile::{BlockReading, Filter};
use trawl_testkit::loop_mount::{FileSystem, LoopMount};
use trawl_testkit::oracle::command;

use crate::device::{Loop, Word};
use crate::trace::Trace;
use crate::{READS, WRITES, alone, assert_equal, attach, sum, unseen};

/// The number of 512-byte sectors that requests of these kinds read or wrote on a device.
fn sectors(reading: &BlockReading, device: &str, kinds: &[&str]) -> u128 {
    let names = kinds.iter().map(|kind| format!("{device}:{kind}:device"));
    let peaks = names.flat_map(|name| reading.sizes.peaks(&name).to_vec());
    peaks.map(|peak| peak.values().counts().total).sum::<u128>() / 512
}

/// The number of requests of these kinds that began and were not absorbed by others.
fn begun(reading: &BlockReading, device: &str, kinds: &[&str]) -> u128 {
    let entered = sum(reading, device, kinds, "whole", |one| {
        one.counts().entered.into()
    });
    let names = kinds.iter().map(|kind| format!("{device}:{kind}:whole"));
    let merged: u64 = names.filter_map(|name| reading.merged.get(&name)).sum();
    entered - u128::from(merged)
}

/// The event at which the kernel adds a request's time to its statistics; since Linux 6.5.
const COUNTED: &str = "io_done";

/// Records when the kernel completes requests, and when it counts their time. `None` where it does not
/// tell.
fn trace_ends(device: &Loop) -> Option<Trace> {
    Trace::new(device, &["rq_complete", COUNTED])
}

/// The time from the completion of requests, by the first letter of their kind, until the kernel counts
/// them: it ends each page first and wakes up who waits, which takes 2 to 6 µs for each page or request
/// on a busy machine, and more if the processor is taken away.
fn counted_later_ms(trace: &Trace, letters: &str) -> f64 {
    let (mut completed, mut later_us) = (BTreeMap::new(), 0);
    for event in trace.events() {
        if !event.kind.starts_with(|letter| letters.contains(letter)) {
            continue;
        }
        if event.name == COUNTED {
            let since_us = completed.remove(&event.sector).unwrap_or(event.time_us);
            later_us += event.time_us - since_us;
        } else {
            completed.insert(event.sector, event.time_us);
        }
    }
    later_us as f64 / 1000.0
}

/// "counts equal to … the kernel's own counters in the same run": reads, writes, discards, flushes
/// and sectors, with each scheduler. The time is that of `/sys/block/DEVICE/stat`, "the number of
/// milliseconds that I/O requests have waited on this block device", which cuts each request's
/// time to whole milliseconds only in its sum.
///
/// The kernel's time is "measured from blk_mq_alloc_request() to __blk_mq_end_request()"
/// (Documentation/admin-guide/iostats.rst), ours until `block_rq_complete`, which comes before: the
/// trace has both ends.
#[test]
fn counts_and_times_equal_the_kernels() {
    let _alone = alone();
    for scheduler in ["none", "mq-deadline", "kyber", "bfq"] {
        let Some(device) = Loop::new(64 << 20) else {
            return;
        };
        if !device.schedule(scheduler) {
            eprintln!("{scheduler}: skipped, because the kernel does not have it");
            continue;
        }
        let Some(mut layer) = attach(&Filter::Everything, 1) else {
            return;
        };
        let ends = trace_ends(&device);
        let before = device.statistics();
        let readers: Vec<_> = (0..4).map(|at| device.read(4096, at * 4000, 500)).collect();
        for mut reader in readers {
            assert!(reader.wait().unwrap().success());
        }
        device.write(65_536, 200, "oflag=direct");
        // Through the cache: pages become requests that are merged.
        device.write(4096, 4000, "conv=fsync");
        let discard = command("blkdiscard").arg(&device.path).status();
        assert!(discard.unwrap().success());
        let (reading, after) = (layer.read().unwrap(), device.statistics());
        let grown = |word| after.since(&before, word);
        let count = |kinds: &[&str], operation: &str| {
            sum(&reading, &device.name, kinds, operation, |one| {
                one.recorded()
            })
        };
        // Also those whose end was not seen.
        let begun_reads = begun(&reading, &device.name, &READS);
        assert!(begun_reads >= 2000, "{scheduler}");
        // The kernel counts a flush without data as a write of nothing, too.
        let flushes = count(&["flush"], "device");
        for (what, ours, theirs) in [
            ("reads", count(&READS, "whole"), Word::Reads),
            ("reads at the device", count(&READS, "device"), Word::Reads),
            ("flushes", flushes, Word::Flushes),
            ("writes", count(&WRITES, "whole") + flushes, Word::Writes),
            ("discards", count(&["discard"], "whole"), Word::Discards),
        ] {
            assert_equal(
                &reading,
                &device.name,
                ours,
                grown(theirs),
                &format!("{scheduler}: {what}"),
            );
        }
        // Each request was seen to begin, also those whose end was not seen.
        for (what, kinds, theirs) in [
            ("reads", &READS[..], Word::Reads),
            ("writes", &[&WRITES[..], &["flush"]].concat(), Word::Writes),
            ("discards", &["discard"], Word::Discards),
        ] {
            let begun = begun(&reading, &device.name, kinds);
            assert_eq!(begun, grown(theirs), "{scheduler}: {what} begun");
        }
        for (kinds, theirs) in [(&READS, Word::ReadSectors), (&WRITES, Word::WriteSectors)] {
            let ours = sectors(&reading, &device.name, kinds);
            assert!(
                unseen(&reading, &device.name) > 0 || ours == grown(theirs),
                "{scheduler}: sectors"
            );
        }
        let with_flushes = [&WRITES[..], &["flush"]].concat();
        for (kinds, word, letters) in [
            (&READS[..], Word::ReadTicks, "R"),
            (&with_flushes, Word::WriteTicks, "WF"),
        ] {
            let total = |one: &Histogram| one.counts().total;
            let ours_ms = sum(&reading, &device.name, kinds, "whole", total) as f64 / 1e6;
            let theirs_ms = grown(word) as f64;
            let later_ms = ends.as_ref().map(|trace| counted_later_ms(trace, letters));
            let counted_ms = ours_ms + later_ms.unwrap_or(0.0);
            eprintln!("{scheduler}: {ours_ms:.1} ms, {later_ms:.1?} ms later; {theirs_ms} ms");
            // A request whose end was not seen has no time.
            let apart_ms = match unseen(&reading, &device.name) {
                0 => (counted_ms - theirs_ms).abs(),
                _ => counted_ms - theirs_ms,
            };
            let requests = sum(&reading, &device.name, kinds, "whole", Histogram::recorded);
            let pages = sectors(&reading, &device.name, kinds) / 8;
            let most_us = match later_ms {
                // Two clock readings for each request, by the trace and by who is compared.
                Some(_) => requests,
                // The kernel ends each page before it looks at the clock.
                None => 5 * requests + pages,
            };
            assert!(
                apart_ms <= 1.0 + most_us as f64 / 1000.0 + theirs_ms * 0.01,
                "{scheduler}: {ours_ms}, {later_ms:?} later, and {theirs_ms}"
            );
        }
    }
}

/// "Every read checks entered = Σ buckets + in flight + dropped", while requests are in flight; a
/// reading that fails the check is an error.
#[test]
fn readings_balance_while_requests_are_in_flight() {
    let _alone = alone();
    let Some(device) = Loop::new(64 << 20) else {
        return;
    };
    device.schedule("mq-deadline");
    let Some(mut layer) = attach(&Filter::Everything, 4) else {
        return;
    };
    let readers: Vec<_> = (0..8)
        .map(|at| device.read(4096, at * 2000, 2000))
        .collect();
    let (mut in_flight, mut readings) = (0, 0);
    let mut last = 0;
    for mut reader in readers {
        while reader.try_wait().unwrap().is_none() {
            let reading = layer.read().unwrap();
            let now = sum(&reading, &device.name, &READS, "whole", |one| {
                one.counts().entered.into()
            });
            assert!(now >= last, "counts never decrease");
            last = now;
            in_flight += sum(&reading, &device.name, &READS, "whole", |one| {
                one.in_flight().into()
            });
            readings += 1;
        }
    }
    assert!(
        readings > 3 && in_flight > 0,
        "{readings} readings, {in_flight} in flight"
    );
    let reading = layer.read().unwrap();
    let unended = 16_000 - sum(&reading, &device.name, &READS, "whole", Histogram::recorded);
    for operation in ["queue", "device", "whole"] {
        let left = sum(&reading, &device.name, &READS, operation, |one| {
            one.in_flight().into()
        });
        // Requests whose end was not seen.
        assert!(left <= unended, "{operation}: {left} after the end");
    }
    let recorded = sum(&reading, &device.name, &READS, "whole", Histogram::recorded);
    assert_equal(&reading, &device.name, recorded, 16_000, "reads");
}

/// "A mount filter = its device": requests of another device are not counted.
#[test]
fn a_mount_selects_its_device() {
    let _alone = alone();
    let (mount, other) = match (
        LoopMount::new(FileSystem::Ext4, 32 << 20),
        Loop::new(1 << 20),
    ) {
        (Ok(mount), Some(other)) => (mount, other),
        (Err(skip), _) => return skip.say(),
        (_, None) => return,
    };
    let Some(mut layer) = attach(&Filter::Mount(mount.path()), 1) else {
        return;
    };
    std::fs::write(mount.path().join("file"), vec![1; 1 << 20]).unwrap();
    let synced = command("sync")
        .arg("--file-system")
        .arg(mount.path())
        .status();
    assert!(synced.unwrap().success());
    assert!(other.read(4096, 0, 100).wait().unwrap().success());
    let reading = layer.read().unwrap();
    let devices: std::collections::BTreeSet<&str> = reading
        .profile
        .operations()
        .filter_map(|(name, _)| name.split(':').next())
        .collect();
    assert_eq!(devices.len(), 1, "{devices:?}");
    assert!(!devices.contains(other.name.as_str()));
    // The file, in whole blocks.
    let device = devices.into_iter().next().unwrap();
    assert!(sectors(&reading, device, &WRITES) >= (1 << 20) / 512);
}

/// A mount without a device is refused in words, and so are processes.
#[test]
fn filters_without_a_meaning_are_refused() {
    let refused = |filter| {
        let layer =
            trawl_kernel_profile::BlockRequests::attach(&filter, trawl_histogram::Resolution::ONE);
        layer.err().unwrap().to_string()
    };
    assert!(refused(Filter::Mount("/proc".into())).contains("no block device is below /proc"));
    assert!(refused(Filter::Tree(1)).contains("threads of the kernel"));
}

/// A request that is in flight when the layer is attached is not counted.
#[test]
fn nothing_is_counted_without_requests() {
    let _alone = alone();
    let Some(device) = Loop::new(1 << 20) else {
        return;
    };
    let Some(mut layer) = attach(&Filter::Everything, 1) else {
        return;
    };
    std::thread::sleep(Duration::from_millis(50));
    let reading = layer.read().unwrap();
    assert_eq!(
        sum(&reading, &device.name, &READS, "whole", |one| one
            .counts()
            .entered
            .into()),
        0
    );
}

/// A reading never takes back an operation of the one before, also when devices appear between two
/// looks at the kernel: slices are differences of readings.
#[test]
fn readings_while_devices_appear_continue_one_another() {
    let _alone = alone();
    let Some(mut layer) = attach(&Filter::Everything, 1) else {
        return;
    };
    let mut last = layer.read().unwrap().profile;
    let mut differences = 0_u64;
    std::thread::scope(|scope| {
        let appear = || {
            let devices: Vec<Loop> = (0..12).map_while(|_| Loop::new(1 << 20)).collect();
            let mut readers: Vec<_> = devices.iter().map(|one| one.read(4096, 0, 8)).collect();
            readers.iter_mut().all(|one| one.wait().unwrap().success())
        };
        let appearing = scope.spawn(appear);
        while !appearing.is_finished() {
            let now = layer.read().unwrap().profile;
            now.since(&last).unwrap();
            (last, differences) = (now, differences + 1);
        }
        assert!(appearing.join().unwrap());
    });
    assert!(differences > 0);
}
