//! `trawl profile`: the short form, programs and threads, values of calls, mixes, and the live view
//! in pipes and on terminals of script(1).

use serde_json::Value;
use trawl_testkit::oracle::{self, Ran};
use trawl_testkit::skip::without_program;

use crate::profile::{can_record_layer, recording_site};
use crate::site::{Site, objects};

/// Runs `trawl profile` with these words in the tree.
fn profile(site: &Site, words: &[&str]) -> Ran {
    let mut trawl = site.command();
    trawl.arg("profile").args(words);
    oracle::run(trawl.current_dir(site.tree()))
}

#[test]
fn the_short_form_reports_at_once_and_leaves_output_and_code_to_the_command() {
    let site = recording_site("profile-short");
    let ran = profile(&site, &[]);
    assert!(
        ran.code == Some(2) && ran.errors().contains("-- COMMAND"),
        "{ran}"
    );
    let ran = profile(&site, &["--", "no such command"]);
    assert!(matches!(ran.code, Some(2 | 127)), "{ran}");
    if !can_record_layer(&site, "user") {
        return;
    }
    let ran = profile(&site, &["--", "sh", "-c", "cat f00; exit 3"]);
    assert_eq!(ran.code, Some(3), "{ran}");
    assert_eq!(ran.stdout, std::fs::read(site.tree().join("f00")).unwrap());
    assert!(
        ran.errors().contains("operation") && ran.errors().contains("read"),
        "{ran}"
    );
    assert!(
        !site.tree().join("trawl.profile").exists(),
        "nothing is kept"
    );
    let ran = profile(&site, &["-o", "../kept", "--", "cat", "f00"]).expect_code(0);
    assert!(ran.errors().contains("cat f00"), "{ran}");
    profile(&site, &["report", "../kept"]).expect_code(0);
}

/// Returns the calls of an operation in each part of a layer.
fn parts(site: &Site, layer: &str, file: &str, operation: &str) -> Vec<(String, u64)> {
    let prefix = format!("{layer}:");
    let rows = objects(&profile(site, &["report", "--json", "--least", "0", file]).expect_code(0));
    let row = |row: &Value| {
        let part = row["layer"].as_str()?.strip_prefix(&prefix)?.to_owned();
        let is_wanted = row["operation"] == operation;
        is_wanted.then(|| (part, row["entered"].as_u64().expect("a number")))
    };
    rows.iter().filter_map(row).collect()
}

#[test]
fn programs_and_threads_are_told_apart() {
    let site = recording_site("profile-parts");
    // The system call behind open(3) is openat(2).
    for (layer, operation) in [("user", "open"), ("system-calls", "openat")] {
        if can_record_layer(&site, layer) {
            are_told_apart(&site, layer, operation);
        }
    }
}

/// Records a layer by program and by thread.
fn are_told_apart(site: &Site, layer: &str, operation: &str) {
    let record = |by: &str, script: &str| {
        let words = [
            "record", "-q", "--layer", layer, "--by", by, "-o", "../parts",
        ];
        let command = ["--", "sh", "-c", script];
        profile(site, &[&words[..], &command].concat()).expect_code(0);
        parts(site, layer, "../parts", operation)
    };
    let of = |all: &[(String, u64)], name: &str| {
        let one = all.iter().find(|one| one.0 == name);
        one.map_or(0, |one| one.1)
    };
    // What each program opens for itself, such as libraries.
    let own = record("program", "cat /dev/null; head -c 1 /dev/null");
    let own = [of(&own, "cat") - 1, of(&own, "head") - 1];
    let script = "cat f00 f01; cat f02; head -c 1 f00";
    // cat opens each file; head opens one.
    let programs = record("program", script);
    assert_eq!(of(&programs, "cat"), 2 * own[0] + 3);
    assert_eq!(of(&programs, "head"), own[1] + 1);
    let threads = record("thread", script);
    let mut cats: Vec<u64> = threads
        .iter()
        .filter(|one| one.0.starts_with("cat/"))
        .map(|one| one.1)
        .collect();
    cats.sort_unstable();
    let each = [own[0] + 1, own[0] + 2];
    assert_eq!(cats, each, "each process by itself");
    let text = profile(site, &["report", "../parts"]).expect_code(0).text();
    assert!(
        text.contains(&format!("{layer} by part")) && text.contains("head/"),
        "{text}"
    );
    let (part, _) = &threads[0];
    let named = format!("{layer}:{part}");
    let one = profile(site, &["report", "--layer", &named, "../parts"]).expect_code(0);
    assert!(one.text().contains(part.as_str()), "{one}");
    let none = format!("{layer}:none");
    let ran = profile(site, &["report", "--layer", &none, "../parts"]);
    assert!(ran.code == Some(2) && ran.errors().contains(&none), "{ran}");
}

/// The short form reports call sites: cat(1) reads each file and its end at one place.
#[test]
fn call_sites_are_reported() {
    let site = recording_site("profile-call-sites");
    if !can_record_layer(&site, "user") {
        return;
    }
    let words = ["--by", "call-site", "-o", "../sites", "--", "cat", "f00"];
    let ran = profile(&site, &words).expect_code(0);
    assert!(ran.errors().contains("user by part"), "{ran}");
    let whole = profile(&site, &["report", "--json", "--least", "0", "../sites"]).expect_code(0);
    let reads = |layer: &str| -> u64 {
        let rows = objects(&whole);
        let of_layer = rows.iter().filter(|row| {
            row["operation"] == "read" && row["layer"].as_str().unwrap().starts_with(layer)
        });
        of_layer.filter_map(|row| row["entered"].as_u64()).sum()
    };
    assert_eq!(reads("user:cat"), reads("user") - reads("user:"));
    assert!(reads("user:cat") >= 2, "{whole}");
}

#[test]
fn a_layer_says_that_it_cannot_record_a_detail() {
    let site = recording_site("profile-refused");
    for (words, reason) in [
        (
            &["--by", "call-site"][..],
            "system-calls does not tell calls apart by call-site",
        ),
        (
            &["--layer", "user", "--correlate", "read:size"],
            "user knows no values",
        ),
        (&["--correlate", "read:colour"], "result, size, offset"),
        (&["--by", "colour"], "program, thread, call-site"),
    ] {
        let ran = profile(&site, &[&["record", "-q"], words, &["--", "true"]].concat());
        assert!(
            ran.code == Some(2) && ran.errors().contains(reason),
            "{ran}"
        );
    }
}

/// Returns the calls of strace(1)'s output: the name, the third argument and the result.
fn traced(text: &str, name: &str) -> Vec<(u64, i64)> {
    let call = |line: &str| {
        let rest = line.split_once(&format!("{name}("))?.1;
        let (arguments, result) = rest
            .rsplit_once(") = ")
            .or_else(|| rest.rsplit_once(" = "))?;
        let size = arguments.trim_end_matches([')', ' ']).rsplit(", ").next()?;
        let result = result.split_whitespace().next()?;
        Some((size.parse().ok()?, result.parse().ok()?))
    };
    text.lines().filter_map(call).collect()
}

#[test]
fn values_of_calls_are_those_of_strace() {
    let site = recording_site("profile-values");
    if !can_record_layer(&site, "system-calls") {
        return;
    }
    if let Some(skip) = without_program("values of system calls", "strace") {
        return skip.say();
    }
    // One read fails: a directory cannot be read.
    let command = ["/bin/cat", "f00", "f01", "f02", "."];
    let words = [
        "record",
        "-q",
        "--correlate",
        "read:result",
        "--correlate",
        "read:size",
    ];
    let words = [&words[..], &["-o", "../values", "--"], &command].concat();
    assert_eq!(profile(&site, &words).code, Some(1));
    let out = site.scratch.join("strace");
    let mut strace = oracle::command("strace");
    strace
        .args(["-f", "-e", "trace=read", "-o"])
        .arg(&out)
        .args(command);
    oracle::run(strace.current_dir(site.tree()));
    let theirs = traced(&std::fs::read_to_string(out).unwrap(), "read");
    let good = || theirs.iter().filter(|(_, result)| *result >= 0);
    let json = profile(&site, &["export", "--as", "json", "../values"]).expect_code(0);
    let json: Value = serde_json::from_slice(&json.stdout).expect("JSON");
    let totals = |value: &str| {
        let all = json["correlated"].as_array().expect("values");
        let one = all
            .iter()
            .find(|one| one["value"] == value)
            .expect("the value");
        let peaks = one["operations"][0]["peaks"].as_array().expect("peaks");
        let sum = |field: &str| -> u64 {
            let each = peaks
                .iter()
                .filter_map(|peak| peak["values"][field].as_u64());
            each.sum()
        };
        let counts = peaks
            .iter()
            .filter_map(|peak| peak["values"]["buckets"].as_array());
        let calls: u64 = counts.flatten().filter_map(Value::as_u64).sum();
        (calls, sum("dropped"), sum("total"))
    };
    let failed = theirs.len() as u64 - good().count() as u64;
    let results: i64 = good().map(|(_, result)| result).sum();
    let sizes: u64 = good().map(|(size, _)| size).sum();
    let calls = good().count() as u64;
    assert_eq!(totals("result"), (calls, failed, results as u64));
    assert_eq!(totals("size_bytes"), (calls, failed, sizes));
    assert!(failed >= 1 && calls >= 7, "{theirs:?}");
}

/// A recording of the paper's example: calls past the end of a directory, with the value 1,024, are
/// in the first peak, and no others are (§3.1.6).
const PAST_END: &str = "\
{\"version\":1,\"title\":\"x\",\"layer\":\"vfs\",\"unit\":\"nanoseconds\",\"resolution\":1,\"operations\":[{\"operation\":\"readdir\",\"histogram\":{\"entered\":500,\"left\":500,\"dropped\":0,\"total\":419481600,\"min\":64,\"max\":2097152,\"buckets\":[0,0,0,0,0,0,300,0,0,0,0,0,0,0,0,0,0,0,0,0,0,200]}}],\"correlated\":[{\"value\":\"past_end\",\"resolution\":1,\"operations\":[{\"operation\":\"readdir\",\"peaks\":[{\"first\":6,\"last\":6,\"values\":{\"entered\":300,\"left\":300,\"dropped\":0,\"total\":307200,\"min\":1024,\"max\":1024,\"buckets\":[0,0,0,0,0,0,0,0,0,0,300]}},{\"first\":21,\"last\":21,\"values\":{\"entered\":200,\"left\":200,\"dropped\":0,\"total\":0,\"min\":0,\"max\":0,\"buckets\":[200]}}]}]}]}
";

#[test]
fn values_that_separate_peaks_are_named() {
    let site = recording_site("profile-correlate");
    let text = PAST_END.replace("419481600", &(300 * 64 + 200 * 2_097_152).to_string());
    std::fs::write(site.scratch.join("past"), text).unwrap();
    let ran = profile(&site, &["correlate", "../past"]).expect_code(0);
    for part in [
        "past_end of readdir",
        "1,024 tells this peak",
        "separates the peaks",
    ] {
        assert!(ran.text().contains(part), "{part}: {ran}");
    }
    let rows = objects(&profile(&site, &["correlate", "--json", "../past"]));
    assert_eq!(rows.len(), 2);
    assert_eq!(
        (&rows[0]["calls"], &rows[0]["sum"]),
        (&300.into(), &307_200.into())
    );
    assert_eq!(
        (&rows[1]["calls"], &rows[1]["sum"]),
        (&200.into(), &0.into())
    );
    let ran = profile(&site, &["correlate", "../recording"]);
    assert!(
        ran.code == Some(2) && ran.errors().contains("--correlate"),
        "{ran}"
    );
    let ran = profile(&site, &["correlate", "--operation", "none", "../past"]);
    assert!(
        ran.code == Some(2) && ran.errors().contains("none"),
        "{ran}"
    );
}

#[test]
fn mixes_of_phases_add_up() {
    let site = recording_site("profile-mix");
    let rows = objects(&profile(
        &site,
        &["mix", "--json", "../recording", "../recording"],
    ));
    let calls: Vec<(String, u64)> = rows
        .iter()
        .map(|row| {
            (
                row["phase"].to_string(),
                row["calls"].as_u64().expect("a number"),
            )
        })
        .collect();
    let (whole, phase) = ("\"whole\"".to_owned(), "\"recording\"".to_owned());
    assert_eq!(calls, [(whole, 6), (phase.clone(), 3), (phase, 3)]);
    let ran = profile(&site, &["mix", "--picture", "m.svg", "../recording"]).expect_code(0);
    assert!(
        ran.text().contains("read") && ran.text().contains("100 %"),
        "{ran}"
    );
    let svg = std::fs::read_to_string(site.tree().join("m.svg")).unwrap();
    assert!(svg.contains("<svg") && svg.contains("read"), "{svg}");
    let ran = profile(&site, &["mix", "--picture", "m.gif", "../recording"]);
    assert!(
        ran.code == Some(2) && ran.errors().contains(".svg"),
        "{ran}"
    );
}

#[test]
fn watching_prints_a_table_for_each_interval_into_a_pipe() {
    let site = recording_site("profile-watch-pipe");
    let ran = profile(&site, &["watch", "--interval", "0s", "--", "true"]);
    assert_eq!(ran.code, Some(2), "{ran}");
    if !can_record_layer(&site, "user") {
        return;
    }
    // The longest time that can be written: the command ends first.
    let longest = [
        "watch",
        "--layer",
        "user",
        "--interval",
        "18446744073709551615s",
    ];
    let ran = profile(&site, &[&longest[..], &["--", "true"]].concat());
    assert!(
        ran.code == Some(0) && ran.text().contains("interval 1, "),
        "{ran}"
    );
    let script = "for n in 1 2 3; do cat f00 >../n; sleep 0.2; done; exit 4";
    let words = [
        "watch",
        "--layer",
        "user",
        "--interval",
        "100ms",
        "--",
        "sh",
        "-c",
        script,
    ];
    let ran = profile(&site, &words);
    assert_eq!(ran.code, Some(4), "{ran}");
    let text = ran.text();
    assert!(
        text.contains("interval 1, user:") && text.contains("interval 5, "),
        "{text}"
    );
    assert!(!text.contains('\u{1b}'), "{text}");
    // In each round the shell opens the output and cat its file, in whatever interval.
    let opened = text.lines().filter_map(|line| line.strip_prefix("open "));
    let calls = opened.filter_map(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    assert_eq!(calls.sum::<u64>(), 6, "{text}");
    let words = [
        "watch",
        "--layer",
        "user",
        "--interval",
        "50ms",
        "--count",
        "2",
        "--",
    ];
    let ran = profile(&site, &[&words[..], &["sleep", "0.4"]].concat());
    assert!(
        ran.text().contains("interval 2,") && !ran.text().contains("interval 3,"),
        "{ran}"
    );
}

/// Runs `watch` on a terminal of script(1), types `keys` after a second, and asks stty(1) how the
/// terminal was left.
fn on_terminal(site: &Site, size: (u32, u32), keys: &str) -> Ran {
    let (columns, rows) = size;
    let trawl = site.command().get_program().to_string_lossy().into_owned();
    let watch = format!("{trawl} profile watch --layer user --interval 100ms -- sleep 5");
    // The interrupt key interrupts the shell, too.
    let inner =
        format!("trap : INT; stty cols {columns} rows {rows}; {watch}; echo code $?; stty -a");
    let outer =
        format!("(sleep 1.5; printf '{keys}'; sleep 0.5) | script -qec '{inner}' /dev/null");
    // Whoever runs the tests in the background may have the interrupt ignored.
    let mut shell = oracle::command("env");
    shell.args(["--default-signal=INT,QUIT", "sh"]);
    oracle::run(shell.args(["-c", &outer]).current_dir(site.tree()))
}

#[test]
fn the_live_view_fills_a_terminal_and_leaves_it_as_it_was() {
    let site = recording_site("profile-watch-terminal");
    if let Some(skip) = without_program("the live view", "script") {
        return skip.say();
    }
    if !can_record_layer(&site, "user") {
        return;
    }
    for (size, keys) in [
        ((80, 24), "jksp q"),
        ((40, 10), "\\033[B\\033"),
        ((80, 24), "\\003"),
    ] {
        let ran = on_terminal(&site, size, keys);
        let text = ran.text();
        let (before, rest) = text.split_once("\u{1b}[?1049h").expect("the other screen");
        let (view, after) = rest.split_once("\u{1b}[?1049l").expect("the first screen");
        assert!(
            !before.contains('\u{1b}') && !after.contains('\u{1b}'),
            "{text:?}"
        );
        assert!(
            view.contains("sleep 5") && view.contains("q quit"),
            "{view:?}"
        );
        let code = match keys {
            "\\003" => "code 130", // the command's: it was interrupted as well
            _ => "code 0",
        };
        assert!(after.contains(code), "{after}");
        let settings: Vec<&str> = after.split_whitespace().collect();
        assert!(
            settings.contains(&"icanon") && settings.contains(&"echo"),
            "{after}"
        );
        let frames = view
            .split("\u{1b}[H")
            .filter(|frame| frame.contains("quit"));
        for frame in frames {
            assert!(frame.lines().count() <= size.1 as usize, "{frame:?}");
        }
    }
}

#[test]
fn parquet_files_have_a_row_for_each_bucket_and_are_recordings() {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::RowAccessor;
    let site = recording_site("profile-parquet");
    let out = [
        "export",
        "--as",
        "parquet",
        "-o",
        "../p.parquet",
        "../recording",
    ];
    profile(&site, &out).expect_code(0);
    let file = std::fs::File::open(site.scratch.join("p.parquet")).unwrap();
    let reader = SerializedFileReader::new(file).expect("a Parquet file");
    let rows = reader.get_row_iter(None).expect("rows").map(|row| {
        let row = row.expect("a row");
        let (layer, operation) = (row.get_string(0).unwrap(), row.get_string(2).unwrap());
        assert_eq!(
            (layer.as_str(), operation.as_str()),
            ("system-calls", "read")
        );
        assert_eq!(row.get_int(1).unwrap(), 0);
        let from_ns = row.get_double(4).unwrap();
        (row.get_int(3).unwrap(), from_ns, row.get_ulong(5).unwrap())
    });
    // Calls of 2, 4 and 6 ns.
    assert_eq!(rows.collect::<Vec<_>>(), [(1, 2.0, 1), (2, 4.0, 2)]);
    for words in [
        &["report", "--json"][..],
        &["diff", "--everything", "../recording"],
    ] {
        let [ours, theirs] = ["../p.parquet", "../recording"].map(|file| {
            let ran = profile(&site, &[words, &[file]].concat());
            ran.expect_code(0).text()
        });
        assert_eq!(ours, theirs);
    }
    std::fs::write(site.scratch.join("bad"), b"PAR1 and nothing else").unwrap();
    let ran = profile(&site, &["report", "../bad"]);
    assert!(
        ran.code == Some(2) && ran.errors().contains("cannot read ../bad"),
        "{ran}"
    );
}
