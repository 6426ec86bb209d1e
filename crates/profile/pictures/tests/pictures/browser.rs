//! The report in a browser: its scripts run, nothing leaves, both themes show.

use std::io::ErrorKind;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::{env, fs};

use trawl_pictures::{Ink, Theme, html};
use trawl_testkit::oracle::command;

use super::{hostile, story::story};

/// Returns the browser, or says that there is none.
fn browser() -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let all = env::split_paths(&path).flat_map(|one| names.map(|name| one.join(name)));
    let found = all.into_iter().find(|one| one.is_file());
    if found.is_none() {
        println!("skipped, because no chromium is installed");
    }
    found
}

/// Opens a file with these options; returns what the browser prints.
fn run(browser: &Path, directory: &Path, options: &[&str], target: &str) -> String {
    let data = format!("--user-data-dir={}", directory.join("data").display());
    let output = command(browser)
        .args([
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
        ])
        .args([
            "--disable-background-networking",
            "--disable-component-update",
            &data,
        ])
        .args(options)
        .arg(format!("file://{}/{target}", directory.display()))
        .current_dir(directory)
        .env("HOME", directory)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the page's root element after its scripts ran.
fn root(dom: &str) -> &str {
    let from = dom.find("<html").unwrap();
    &dom[from..from + dom[from..].find('>').unwrap()]
}

#[test]
fn scripts_run_without_an_error() {
    let Some(browser) = browser() else { return };
    let directory = tempfile::tempdir().unwrap();
    let story = story();
    fs::write(directory.path().join("report.html"), html(&story)).unwrap();
    let dom = run(
        &browser,
        directory.path(),
        &["--dump-dom"],
        "report.html#op-3",
    );
    let root = root(&dom);
    assert!(root.contains("data-ready=\"yes\""), "{root}");
    assert!(
        !root.contains("data-error") && !root.contains("data-violation"),
        "{root}"
    );
    // The address chooses an operation.
    assert!(dom.contains("<article class=\"operation chosen\" id=\"op-3\">"));
    assert_eq!(dom.matches("class=\"operation chosen\"").count(), 1);
    // The columns of the first operation.
    let sliced = &story.captures[0].profile;
    let name = sliced.whole().by_total()[0].0;
    let filled = sliced.slices().iter().flat_map(|slice| slice.buckets(name));
    let filled = filled.filter(|count| **count > 0).count();
    assert!(
        dom.contains(&format!("data-columns=\"{filled}\"")),
        "{filled}"
    );
    // Titles became values that show at once.
    assert!(dom.contains("data-tip="));
}

#[test]
fn hostile_names_run_nothing() {
    let Some(browser) = browser() else { return };
    let directory = tempfile::tempdir().unwrap();
    fs::write(
        directory.path().join("report.html"),
        html(&hostile::story()),
    )
    .unwrap();
    let dom = run(&browser, directory.path(), &["--dump-dom"], "report.html");
    let root = root(&dom);
    assert!(root.contains("data-ready=\"yes\""), "{root}");
    assert!(
        !root.contains("data-error") && !root.contains("data-violation"),
        "{root}"
    );
    assert!(!dom.contains("<img"));
}

#[test]
fn nothing_leaves_the_page() {
    let Some(browser) = browser() else { return };
    let directory = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    // What an attacker would write if escaping failed.
    let attack =
        format!("<main><img src=\"http://{address}/\"><script src=\"http://{address}/\"></script>");
    let page = html(&story());
    let attacked = page.replacen("<main>", &attack, 1);
    let policy = page.find("<meta http-equiv").unwrap();
    let policy = &page[policy..policy + page[policy..].find('>').unwrap() + 1];
    let open = attacked.replacen(policy, "", 1);
    assert!(attacked.len() > page.len() && open.len() < attacked.len());
    for (name, content, is_reached) in [("closed", attacked, false), ("open", open, true)] {
        fs::write(directory.path().join(format!("{name}.html")), content).unwrap();
        run(
            &browser,
            directory.path(),
            &["--dump-dom", "--timeout=3000"],
            &format!("{name}.html"),
        );
        let reached = match listener.accept() {
            Ok(_) => true,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::WouldBlock);
                false
            }
        };
        assert_eq!(reached, is_reached, "{name}");
    }
}

#[test]
fn both_themes_show() {
    let Some(browser) = browser() else { return };
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("report.html"), html(&story())).unwrap();
    // The values of Blink's PreferredColorScheme.
    let themes = [("dark", "0", 0.0..0.25), ("light", "1", 0.75..1.0)];
    for (theme, setting, expected) in themes {
        let setting = format!("--blink-settings=preferredColorScheme={setting}");
        let pixels = screenshot(&browser, directory.path(), &setting);
        let all = pixels.pixels().iter();
        let light = |one: &tiny_skia::PremultipliedColorU8| {
            u64::from(one.red()) + u64::from(one.green()) + u64::from(one.blue())
        };
        let sum: u64 = all.map(light).sum();
        let light = sum as f64 / (pixels.pixels().len() * 3 * 255) as f64;
        assert!(expected.contains(&light), "{theme}: {light}");
    }
}

/// Returns what the page looks like.
fn screenshot(browser: &Path, directory: &Path, setting: &str) -> tiny_skia::Pixmap {
    let file = directory.join("screen.png");
    let option = format!("--screenshot={}", file.display());
    let options = [setting, &option, "--window-size=1000,1600"];
    run(browser, directory, &options, "report.html");
    tiny_skia::Pixmap::decode_png(&fs::read(file).unwrap()).unwrap()
}

#[test]
fn the_pictures_show_without_scripts() {
    let Some(browser) = browser() else { return };
    let directory = tempfile::tempdir().unwrap();
    let page = html(&story());
    // A script whose hash the policy does not name does not run.
    let stopped = page.replacen("<script>", "<script> ", 1);
    assert_ne!(stopped, page);
    fs::write(directory.path().join("report.html"), stopped).unwrap();
    let dom = run(&browser, directory.path(), &["--dump-dom"], "report.html");
    assert!(!root(&dom).contains("data-ready"));
    let setting = "--blink-settings=preferredColorScheme=1";
    let pixels = screenshot(&browser, directory.path(), setting);
    let [red, green, blue] = Ink::First.rgb(Theme::Light);
    let is_bar = |one: &&tiny_skia::PremultipliedColorU8| {
        (one.red(), one.green(), one.blue()) == (red, green, blue)
    };
    let bars = pixels.pixels().iter().filter(is_bar).count();
    assert!(bars > 10_000, "{bars}");
}
