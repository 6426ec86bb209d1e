//! Mail: what other readers find in a message, and what happens if it cannot be sent.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use mail_parser::MessageParser;
use trawl_testkit::Skip;
use trawl_testkit::oracle::{Identity, Ran, run};
use trawl_testkit::site::Site;

use crate::{TRAWL, page, report};

/// Makes a program in the place of sendmail.
fn sendmail(site: &Site, script: &str) -> PathBuf {
    let program = site.scratch.join("sendmail");
    std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).expect("our own");
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(&program, mode).expect("our own");
    program
}

/// Mails a report; returns how that ended, and the message if there is one.
fn send(site: &Site, script: &str, words: &[&str]) -> (Ran, Option<Vec<u8>>) {
    let sent = site.scratch.join("sent");
    let _ = std::fs::remove_file(&sent);
    let script = script.replace("SENT", sent.to_str().expect("text"));
    let program = sendmail(site, &script);
    let program = program.to_str().expect("text").to_owned();
    let words = [&["--sendmail", &program], words].concat();
    let ran = report(site, &Identity::Ourselves, &words);
    (ran, std::fs::read(&sent).ok())
}

const KEEP: &str = "[ \"$*\" = '-t -i' ] || exit 9\ncat > SENT";

#[test]
fn a_message_has_the_report_as_text_and_as_a_page() {
    let Some(site) = Site::changed("report-mail", TRAWL) else {
        return;
    };
    let tree = site.text("");
    let words = [
        "--mail",
        "ann@example.org,root",
        "--mail",
        "bob@example.org",
        &tree,
    ];
    let (ran, sent) = send(&site, KEEP, &words);
    let ran = ran.expect_code(0);
    assert!(
        ran.stdout.is_empty() && ran.stderr.is_empty(),
        "quiet for cron: {ran}"
    );
    let sent = sent.expect("a message");
    let message = MessageParser::default().parse(&sent).expect("a message");
    let to = message.to().expect("recipients").iter();
    let to: Vec<&str> = to.filter_map(|to| to.address().or(to.name())).collect();
    assert_eq!(to, ["ann@example.org", "root", "bob@example.org"]);
    let subject = message.subject().expect("a subject");
    assert!(
        subject.starts_with(&format!("Trawl report: {tree} on ")),
        "{subject}"
    );
    assert!(message.message_id().is_some_and(|id| id.contains('@')));
    let date = message.date().expect("a date").to_timestamp();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    assert!((now.expect("a time").as_secs() as i64 - date).abs() < 600);
    assert_eq!(message.content_type_of(), "multipart/alternative");
    let html = message.body_html(0).expect("a page");
    let page = page::read(&html);
    let text = message.body_text(0).expect("text");
    for section in &page.sections {
        for table in &section.tables {
            for cell in table.rows.iter().flatten() {
                assert!(text.contains(&cell[..]), "{cell} of {}", section.name);
            }
        }
        for command in &section.commands {
            assert!(text.contains(&format!("$ {command}\n")), "{command}");
        }
    }
    assert!(!text.contains("</"), "no markup");
}

/// The content type, for one line.
trait ContentType {
    fn content_type_of(&self) -> String;
}

impl ContentType for mail_parser::Message<'_> {
    fn content_type_of(&self) -> String {
        use mail_parser::MimeHeaders;
        let kind = self.content_type().expect("a type");
        format!("{}/{}", kind.ctype(), kind.subtype().unwrap_or_default())
    }
}

#[test]
fn python_reads_the_message() {
    let Some(site) = Site::changed("report-mail-python", TRAWL) else {
        return;
    };
    if !PathBuf::from("/usr/bin/python3").exists() {
        Skip::new("the message in Python", "there is no python3").say();
        return;
    }
    let (ran, sent) = send(&site, KEEP, &["--mail", "ann@example.org"]);
    ran.expect_code(0);
    assert!(sent.is_some());
    let script = "\
import email, email.policy, email.utils, sys
message = email.message_from_binary_file(open(sys.argv[1], 'rb'), policy=email.policy.default)
parts = [message, *message.iter_parts()]
assert not any(part.defects for part in parts), [part.defects for part in parts]
assert [part.get_content_type() for part in parts[1:]] == ['text/plain', 'text/html']
assert all(part.get_content_charset() == 'utf-8' for part in parts[1:])
assert email.utils.parsedate_to_datetime(message['date']).tzinfo is not None
assert message['message-id'].startswith('<') and message['mime-version'] == '1.0'
assert message['from'].addresses[0].display_name == 'Trawl'
print(message['to'], len(message.get_all('subject')))
sys.stdout.write(message.get_body(('plain',)).get_content()[:12])
";
    let mut command = Identity::Ourselves.command("/usr/bin/python3");
    command.args(["-c", script]).arg(site.scratch.join("sent"));
    let ran = run(&mut command).expect_code(0);
    assert_eq!(ran.text(), "ann@example.org 1\nTrawl report");
}

#[test]
fn no_address_or_name_adds_a_header() {
    let Some(site) = Site::empty("report-mail-headers", TRAWL) else {
        return;
    };
    site.write("x\r\nBcc: eve@example.org\r\n\r\nbody/f", "x");
    site.index();
    for address in [
        "ann@example.org\nBcc: eve@example.org",
        "ann@example.org\r\nBcc: eve@example.org",
        "ann@example.org Bcc:eve@example.org",
        "Ann <ann@example.org>",
        "|/bin/sh",
        "a;b@example.org",
        "",
        "@",
    ] {
        let (ran, sent) = send(&site, KEEP, &["--mail", address]);
        assert!(ran.expect_code(2).errors().contains("mail"), "{address:?}");
        assert!(sent.is_none(), "{address:?}");
    }
    let hostile = site.text("x\r\nBcc: eve@example.org\r\n\r\nbody");
    let (ran, sent) = send(&site, KEEP, &["--mail", "ann@example.org", &hostile]);
    ran.expect_code(0);
    let sent = sent.expect("a message");
    let message = MessageParser::default().parse(&sent).expect("a message");
    assert!(message.bcc().is_none());
    assert_eq!(message.headers().len(), 8, "{:?}", message.headers());
    assert!(
        message
            .subject()
            .expect("a subject")
            .contains("\\r\\nBcc: eve@example.org")
    );
    assert!(sent.is_ascii() && !sent.contains(&b'\r'));
}

#[test]
fn a_failure_to_send_is_told() {
    let Some(site) = Site::small("report-mail-fails", TRAWL) else {
        return;
    };
    for (script, why) in [
        ("echo no route >&2; exit 75", "no route"),
        ("exit 1", "exit status: 1"),
        ("kill -9 $$", "signal: 9"),
    ] {
        let (ran, _) = send(&site, script, &["--mail", "ann@example.org"]);
        let ran = ran.expect_code(2);
        assert!(
            ran.errors().contains("cannot send the report with "),
            "{ran}"
        );
        assert!(ran.errors().contains(why), "{ran}");
        assert!(ran.stdout.is_empty());
    }
    // A program that does not read is not waited for, and is no failure if it says so.
    let (ran, _) = send(&site, "exec <&-; exit 0", &["--mail", "ann@example.org"]);
    assert!(ran.expect_code(0).stderr.is_empty());
    let words = [
        "--mail",
        "ann@example.org",
        "--sendmail",
        "/nonexistent/sendmail",
    ];
    let ran = report(&site, &Identity::Ourselves, &words).expect_code(2);
    assert!(ran.errors().contains("no such file"), "{ran}");
}
