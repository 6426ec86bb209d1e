//! `trawl profile`: recordings of commands against strace(1), and what is shown of them.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;
use trawl_testkit::oracle::{self, Ran};
use trawl_testkit::skip::{Skip, without_program};

use crate::site::{Site, objects};

/// A recording with one operation: calls of 2, 4 and 6 ns.
pub(crate) const RECORDING: &str = "\
{\"recording\":1,\"subject\":\"x\\u001b[31m\",\"cpus\":2,\"kernel\":\"6.1\",\"times\":[{\"name\":\"page fault\",\"ns\":4.0}],\"losses\":[]}
{\"version\":1,\"title\":\"x\",\"layer\":\"system-calls\",\"unit\":\"nanoseconds\",\"resolution\":1,\"operations\":[{\"operation\":\"read\",\"histogram\":{\"entered\":3,\"left\":3,\"dropped\":0,\"total\":12,\"min\":2,\"max\":6,\"buckets\":[0,1,2]}}]}
";

/// Makes a tree with 20 files, and the recording of [`RECORDING`].
pub(crate) fn recording_site(label: &str) -> Site {
    let site = Site::empty(label);
    for at in 0..20 {
        std::fs::write(site.tree().join(format!("f{at:02}")), "line\n".repeat(100)).unwrap();
    }
    std::fs::write(site.scratch.join("recording"), RECORDING).unwrap();
    site
}

/// Returns whether system calls can be recorded here, and says why not.
fn can_record(site: &Site) -> bool {
    can_record_layer(site, "system-calls")
}

/// Returns whether a layer can be recorded here, and says why not.
pub(crate) fn can_record_layer(site: &Site, name: &str) -> bool {
    let layers = objects(&site.run("profile layers --json"));
    let layer = layers.iter().find(|one| one["layer"] == name);
    let layer = layer.expect("the layer is listed");
    if layer["works"] != Value::Bool(true) {
        let why = layer["why_not"].as_str().unwrap_or_default();
        Skip::new(format!("recording the layer {name}"), why).say();
    }
    layer["works"] == Value::Bool(true)
}

/// Returns the calls of a recording, by name.
fn calls(site: &Site, file: &str) -> BTreeMap<String, u64> {
    let rows = objects(
        &site
            .run(&format!("profile report --json --least 0 {file}"))
            .expect_code(0),
    );
    let row = |row: &Value| {
        let name = row["operation"].as_str().expect("a name").to_owned();
        (name, row["entered"].as_u64().expect("a number"))
    };
    rows.iter().map(row).collect()
}

/// Counts the calls of a command by strace(1).
fn traced(site: &Site, command: &[&str]) -> BTreeMap<String, u64> {
    let out = site.scratch.join("strace");
    let mut strace = oracle::command("strace");
    strace
        .args(["-f", "-c", "-U", "name,calls", "-o"])
        .arg(&out);
    oracle::run(strace.args(command).current_dir(site.tree())).expect_code(0);
    let text = std::fs::read_to_string(out).unwrap();
    let row = |line: &str| {
        let (name, calls) = line.split_once(' ')?;
        Some((name.to_owned(), calls.trim().parse().ok()?))
    };
    let mut all: BTreeMap<String, u64> = text.lines().filter_map(row).collect();
    all.remove("total");
    all
}

#[test]
fn a_command_is_recorded_from_its_first_call_and_nothing_is_lost() {
    let site = recording_site("profile-strace");
    if !can_record(&site) {
        return;
    }
    if let Some(skip) = without_program("counts of system calls", "strace") {
        return skip.say();
    }
    let script = "for f in f*; do /bin/cat $f; done; /usr/bin/wc -c f*; (/bin/cat f0*)";
    for command in [
        &["/bin/cat", "f00", "f01", "f02"][..],
        &["/bin/sh", "-c", script],
    ] {
        let mut trawl = site.command();
        trawl.args(["profile", "record", "--quiet", "-o", "../made", "--"]);
        let ran = oracle::run(trawl.args(command).current_dir(site.tree())).expect_code(0);
        let (mut ours, mut theirs) = (calls(&site, "../made"), traced(&site, command));
        let mut plain = oracle::command(command[0]);
        let plain = oracle::run(plain.args(&command[1..]).current_dir(site.tree()));
        assert_eq!(ran.stdout, plain.stdout);
        // strace does not count what never returns; how often a shell waits depends on timing.
        for name in ["exit_group", "wait4", "rt_sigreturn"] {
            ours.remove(name);
            theirs.remove(name);
        }
        assert_eq!(ours, theirs, "{command:?}");
        assert!(ours["read"] >= 3 && ours["openat"] >= 3, "{ours:?}");
    }
}

#[test]
fn functions_of_the_c_library_are_recorded_without_rights() {
    let site = recording_site("profile-user");
    if !can_record_layer(&site, "user") {
        return;
    }
    if let Some(skip) = without_program("counts of system calls", "strace") {
        return skip.say();
    }
    let command = ["/bin/cat", "f00", "f01", "f02"];
    let mut trawl = site.command();
    trawl.args([
        "profile", "record", "-q", "--layer", "user", "-o", "../made", "--",
    ]);
    oracle::run(trawl.args(command).current_dir(site.tree())).expect_code(0);
    let (ours, theirs) = (calls(&site, "../made"), traced(&site, &command));
    // The loader's reads are not the program's; nothing but the program writes.
    assert_eq!(ours["write"], theirs["write"]);
    assert!(
        ours["read"] >= 6 && ours["read"] <= theirs["read"],
        "{ours:?}"
    );
    // Each recording measures the frequency of the cycle counter again.
    for name in ["../a", "../b"] {
        let mut trawl = site.command();
        trawl.args(["profile", "record", "-q", "--layer", "user", "-o", name]);
        oracle::run(trawl.args(["--", "/bin/true"]).current_dir(site.tree())).expect_code(0);
    }
    let ran = site.run("profile diff ../a ../b");
    assert!(ran.code != Some(2) && ran.errors().is_empty(), "{ran}");
    let ran = site.run("profile record -q --layer user --all --duration 1s -o ../made");
    assert!(
        ran.code == Some(2) && ran.errors().contains("COMMAND"),
        "{ran}"
    );
}

/// Returns whether the stackable layer works here, and says why not.
fn can_stack(site: &Site) -> bool {
    let layers = objects(&site.run("profile layers --json"));
    let layer = layers.iter().find(|one| one["layer"] == "stackable");
    let layer = layer.expect("the layer is listed");
    if layer["works"] != Value::Bool(true) {
        let why = layer["why_not"].as_str().unwrap_or_default();
        Skip::new("recording a file system", why).say();
    }
    layer["works"] == Value::Bool(true)
}

#[test]
fn a_file_system_is_recorded_for_one_command() {
    let site = recording_site("profile-stackable");
    if !can_stack(&site) {
        return;
    }
    let script = "cat f*; mkdir new; echo x > new/g; pwd";
    let mut trawl = site.command();
    trawl.args(["profile", "record", "-q", "-o", "../made", "--mount", "."]);
    let ran = oracle::run(
        trawl
            .args(["--", "sh", "-c", script])
            .current_dir(site.tree()),
    );
    let place = format!("{}\n", site.tree().display());
    let expected = "line\n".repeat(2000) + &place;
    assert_eq!(ran.expect_code(0).text(), expected);
    let ours = calls(&site, "../made");
    let of = |name: &str| ours.get(name).copied().unwrap_or(0);
    assert_eq!(
        (of("open"), of("mkdir"), of("create"), of("write")),
        (20, 1, 1, 1)
    );
    assert!(of("read") >= 40, "{ours:?}");
    assert_eq!(std::fs::read(site.tree().join("new/g")).unwrap(), b"x\n");
    let ran = site.run("profile record -q --layer stackable -o ../made -- true");
    assert!(
        ran.code == Some(2) && ran.errors().contains("--mount"),
        "{ran}"
    );
    let ran = site.run("profile record -q --mount f00 -o ../made -- true");
    assert_eq!(ran.code, Some(2), "{ran}");
}

/// docs/profile.md: "`--mount DIR` without a command records all that happens in the file system at
/// `DIR`".
#[test]
fn the_devices_of_a_file_system_are_recorded_for_a_time() {
    let site = recording_site("profile-devices");
    if !can_record_layer(&site, "block") {
        return;
    }
    let all = "profile record -q --mount . -o ../made --duration 200ms";
    let ran = site.run(&format!("{all} --layer block"));
    match ran.code {
        // Not every file system lies on a device.
        Some(2) => assert!(ran.errors().contains("device"), "{ran}"),
        _ => {
            let report = site.run("profile report ../made").expect_code(0).text();
            assert!(report.starts_with("the file system at . ("), "{report}");
            assert!(report.contains("\nblock\n"), "{report}");
        }
    }
    let ran = site.run(&format!("{all} --layer system-calls"));
    assert_eq!(ran.code, Some(2), "{ran}");
    let ran = site.run(&format!("{all} --pid 1"));
    assert_eq!(ran.code, Some(2), "{ran}");
}

#[test]
fn a_mounted_file_system_ends_by_unmounting_interrupts_and_kills() {
    let site = recording_site("profile-mount");
    if !can_stack(&site) || !trawl_testkit::skip::is_root() {
        return;
    }
    let point = site.scratch.join("point");
    std::fs::create_dir(&point).unwrap();
    let mounted = || {
        let mut trawl = site.command();
        trawl.args(["profile", "mount", "-q", "-o", "../made", ".", "../point"]);
        let child = trawl.current_dir(site.tree()).spawn().expect("it starts");
        let until = Instant::now() + Duration::from_secs(60);
        while !point.join("f00").exists() {
            assert!(Instant::now() < until, "it is not mounted");
            std::thread::sleep(Duration::from_millis(10));
        }
        trawl_testkit::daemon::Daemon::of(child)
    };
    let mut daemon = mounted();
    assert_eq!(std::fs::read(point.join("f01")).unwrap().len(), 500);
    oracle::run(oracle::command("umount").arg(&point)).expect_code(0);
    assert_eq!(daemon.wait().code(), Some(0));
    assert_eq!(calls(&site, "../made")["open"], 1);
    // A killed server leaves a dead mount, on which nothing hangs. The next one replaces it.
    let mut daemon = mounted();
    daemon.end("-KILL");
    let dead = std::fs::read(point.join("f01")).unwrap_err();
    assert_eq!(dead.kind(), std::io::ErrorKind::NotConnected);
    let mut daemon = mounted();
    assert_eq!(daemon.end("-TERM").code(), Some(130));
    assert!(!point.join("f00").exists());
    // One that is in use is taken away.
    let mut daemon = mounted();
    let open = std::fs::File::open(point.join("f01")).unwrap();
    assert_eq!(daemon.end("-TERM").code(), Some(130));
    assert!(!point.join("f00").exists());
    drop(open);
}

#[test]
fn a_recording_ends_as_its_command_does() {
    let site = recording_site("profile-ends");
    let record = |words: &[&str]| -> Ran {
        let mut trawl = site.command();
        trawl.args(["profile", "record", "-q", "-o", "../made"]);
        oracle::run(trawl.args(words).current_dir(site.tree()))
    };
    let ran = record(&[]);
    assert_eq!(ran.code, Some(2), "{ran}");
    assert!(ran.errors().contains("--pid"), "{ran}");
    let ran = record(&["--layer", "none", "--", "true"]);
    assert!(
        ran.code == Some(2) && ran.errors().contains("system-calls"),
        "{ran}"
    );
    if !can_record(&site) {
        return;
    }
    for (words, code) in [
        (&["--", "sh", "-c", "exit 3"][..], 3),
        (&["--", "sh", "-c", "kill -9 $$"], 137),
        (&["--", "no such command"], 127),
        (&["--", "/"], 126),
        (
            &[
                "--duration",
                "200ms",
                "--pid",
                &std::process::id().to_string(),
            ],
            0,
        ),
    ] {
        let ran = record(words);
        assert_eq!(ran.code, Some(code), "{ran}");
    }
    let ran = record(&["--slices", "0s", "--", "true"]);
    assert!(
        ran.code == Some(2) && ran.errors().contains("--slices"),
        "{ran}"
    );
    // The command may run for a moment before the first slice begins.
    let begun = Instant::now();
    let ran = record(&["--slices", "100ms", "--", "sleep", "2"]).expect_code(0);
    let most = begun.elapsed().as_millis() / 100 + 1;
    assert!(ran.errors().is_empty(), "{ran}");
    let json = site.run("profile export --as json ../made").expect_code(0);
    let json: Value = serde_json::from_slice(&json.stdout).expect("JSON");
    let slices = json["slices"].as_array().expect("a timeline").len();
    assert!(
        slices >= 10 && slices as u128 <= most,
        "{slices}, at most {most}"
    );
}

#[test]
fn a_report_shows_operations_peaks_and_times_near_them() {
    let site = recording_site("profile-report");
    let ran = site.run("profile report ../recording").expect_code(0);
    let text = ran.text();
    for part in ["read ", "12 ns", "100 %", "near a page fault (4 ns)"] {
        assert!(text.contains(part), "{part}: {ran}");
    }
    assert!(!text.contains('\x1b'), "{ran}");
    let rows = objects(&site.run("profile report --json ../recording"));
    assert_eq!(rows[0]["buckets"], serde_json::json!([0, 1, 2]));
    assert_eq!(rows[0]["total_ns"], 12);
    let ran = site.run("profile report --operation none ../recording");
    assert!(
        ran.code == Some(2) && ran.errors().contains("none"),
        "{ran}"
    );
    for (file, words) in [
        ("f00", "line 1 of the recording"),
        ("none", "cannot read none"),
    ] {
        let ran = site.run(&format!("profile report {file}"));
        assert!(ran.code == Some(2) && ran.errors().contains(words), "{ran}");
    }
}

#[test]
fn recordings_differ_from_others_and_not_from_themselves() {
    let site = recording_site("profile-diff");
    let same = site.run("profile diff ../recording ../recording");
    assert_eq!(same.code, Some(0), "{same}");
    // 1,000 calls in two peaks, the second of which is elsewhere in the other recording.
    let write = |name: &str, place: usize| {
        let mut buckets = vec![0u64; place + 1];
        (buckets[10], buckets[place]) = (800, 200);
        let total: u64 = 800 * 1024 + 200 * (1 << place);
        let text = RECORDING.replace("[0,1,2]", &serde_json::to_string(&buckets).unwrap());
        let text = text.replace("\"entered\":3,\"left\":3", "\"entered\":1000,\"left\":1000");
        let max = 1u64 << place;
        let text = text.replace(
            "\"total\":12,\"min\":2,\"max\":6",
            &format!("\"total\":{total},\"min\":1024,\"max\":{max}"),
        );
        std::fs::write(site.scratch.join(name), text).unwrap();
    };
    write("a", 20);
    write("b", 24);
    for method in ["", "--method grouplat ", "--method earthmover "] {
        let ran = site.run(&format!("profile diff {method}../a ../b"));
        assert_eq!(ran.code, Some(1), "{method}{ran}");
        assert!(ran.text().contains("1 of 1 operations differ"), "{ran}");
        let ran = site.run(&format!("profile diff {method}../a ../a"));
        assert_eq!(ran.code, Some(0), "{method}{ran}");
    }
    let ran = site.run("profile diff --method none ../a ../b");
    assert!(ran.errors().contains("groupops"), "{ran}");
}

/// Some calls doubled, but the median operation did not: no sentence says that the runs did the same.
/// And a peak is described as the report describes it, not from the first bucket on.
#[test]
fn differences_are_told_in_true_sentences() {
    let site = recording_site("profile-diff-words");
    let operation = |name: &str, count: u64, bucket: usize| {
        let mut buckets = vec![0u64; bucket + 1];
        buckets[bucket] = count;
        let least = 1u64 << bucket;
        serde_json::json!({"operation": name, "histogram": {
            "entered": count, "left": count, "dropped": 0, "total": count * least,
            "min": least, "max": least, "buckets": buckets}})
    };
    let write = |name: &str, reads: u64| {
        let all = [
            operation("close", 100, 10),
            operation("open", 100, 12),
            operation("read", reads, 15),
        ];
        let head = RECORDING.lines().next().unwrap();
        let layer = serde_json::json!({"version": 1, "title": "x", "layer": "system-calls",
            "unit": "nanoseconds", "resolution": 1, "operations": all});
        std::fs::write(site.scratch.join(name), format!("{head}\n{layer}\n")).unwrap();
    };
    write("a", 1000);
    write("b", 2000);
    let text = site.run("profile diff ../a ../b").expect_code(1).text();
    assert!(!text.contains("as much as"), "{text}");
    assert!(
        text.contains("the median operation has as many calls in both recordings"),
        "{text}"
    );
    // Bucket 15 reaches from 2^15 = 32,768 ns to 65,536 ns.
    let range = "32.8 µs to 65.5 µs";
    assert!(
        text.contains(&format!(
            "the peak from {range} had 1,000 calls and has 2,000 now"
        )),
        "{text}"
    );
    let report = site
        .run("profile report ../a --operation read")
        .expect_code(0);
    assert!(report.text().contains(&format!("{range}: ")), "{report}");
}

#[test]
fn exports_are_what_their_readers_expect() {
    let site = recording_site("profile-export");
    let export = |format: &str| {
        let ran = site.run(&format!("profile export --as {format} ../recording"));
        ran.expect_code(0).text()
    };
    assert!(
        export("text").starts_with("OP_read 3 12\n"),
        "{}",
        export("text")
    );
    let json: Value = serde_json::from_str(&export("json")).expect("JSON");
    assert_eq!(json["operations"][0]["histogram"]["total"], 12);
    let otlp: Value = serde_json::from_str(&export("otlp")).expect("JSON");
    let metric = &otlp["resourceMetrics"][0]["scopeMetrics"][0]["metrics"][0];
    assert_eq!(
        metric["exponentialHistogram"]["dataPoints"][0]["count"],
        "3"
    );
    // The time of a cumulative point is that of the reading, not of the export.
    let times = "\"title\":\"x\",\"start_unix_ns\":1000,\"duration_ns\":234";
    let timed = RECORDING.replace("\"title\":\"x\"", times);
    std::fs::write(site.scratch.join("timed"), timed).unwrap();
    let otlp = site.run("profile export --as otlp ../timed").expect_code(0);
    let otlp: Value = serde_json::from_slice(&otlp.stdout).expect("JSON");
    let metric = &otlp["resourceMetrics"][0]["scopeMetrics"][0]["metrics"][0];
    let point = &metric["exponentialHistogram"]["dataPoints"][0];
    assert_eq!(point["timeUnixNano"], "1234");
    let text = export("openmetrics");
    assert!(text.ends_with("# EOF\n"), "{text}");
    assert!(
        export("html").contains("<!doctype html>") || export("html").contains("<!DOCTYPE html>")
    );
    for format in ["svg", "svg --operation read", "svg --second ../recording"] {
        let text = export(format);
        assert!(text.contains("<svg") && text.contains("read"), "{format}");
    }
    let png = site
        .run("profile export --as png ../recording")
        .expect_code(0);
    assert!(png.stdout.starts_with(b"\x89PNG\r\n"));
    let ran = site.run("profile export --as gnuplot ../recording");
    assert!(
        ran.code == Some(2) && ran.errors().contains("--output"),
        "{ran}"
    );
    site.run("profile export --as gnuplot -o figures ../recording")
        .expect_code(0);
    assert!(
        std::fs::read_dir(site.tree().join("figures"))
            .unwrap()
            .count()
            > 1
    );
    let out = site.tree().join("out");
    let ran = site
        .run("profile export --as json -o out ../recording")
        .expect_code(0);
    assert!(ran.stdout.is_empty() && Path::new(&out).exists(), "{ran}");
    // A shell starts the program without standard output.
    let program = env!("CARGO_BIN_EXE_trawl");
    let line = format!("{program} profile export --as json ../recording >&-");
    let mut command = oracle::command("sh");
    command.args(["-c", &line]).current_dir(site.tree());
    let ran = oracle::run(&mut command).expect_code(2);
    assert!(ran.errors().contains("bad file descriptor"), "{ran}");
}
