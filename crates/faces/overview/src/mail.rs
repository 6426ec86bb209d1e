//! A message with an overview as text and as HTML (RFC 5322, RFC 2045, RFC 2046, RFC 2047).
//!
//! Invariant: nothing that is given can add a header or end a part. Addresses have a narrow syntax,
//! the subject is encoded where it is more than short ASCII, and bodies are in base64, which cannot
//! contain the boundary. Lines end with a line feed, as sendmail(8) reads them.

use std::fmt::Write as _;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use trawl_model::Timestamp;
use trawl_text::strftime;
use trawl_text::zone::Zone;

use crate::names::visible;

/// Separates the parts; base64 has no underscore.
const BOUNDARY: &str = "=_trawl_report_part";
/// Bytes in a line of base64, which become 76 characters.
const LINE_BYTES: usize = 57;
/// Bytes in an encoded word, which may have 75 characters.
const WORD_BYTES: usize = 42;
/// Longest address (RFC 5321, section 4.5.3.1.3).
const ADDRESS_BYTES: usize = 254;
/// Name of a machine that has none that could stand in an address.
const NO_HOST: &str = "localhost";

/// An address: `name@host`, or a user of this machine. Comments, quotes and display names are not
/// accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address(String);

/// Why a text is not an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoAddress;

impl std::fmt::Display for NoAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("it is not a mail address: give NAME@HOST or NAME, in letters of ASCII")
    }
}

impl std::error::Error for NoAddress {}

impl FromStr for Address {
    type Err = NoAddress;

    /// Reads an address of the form dot-atom (RFC 5322, section 3.4.1), without the characters that
    /// mail programs take for programs, files and routes (`|`, `/`, `!`, `%`).
    fn from_str(text: &str) -> Result<Address, NoAddress> {
        let (name, host) = match text.rsplit_once('@') {
            Some((name, host)) => (name, Some(host)),
            None => (text, None),
        };
        let is_name = !name.starts_with('-')
            && is_dotted(name, |byte| {
                byte.is_ascii_alphanumeric() || b"'+-=_~".contains(&byte)
            });
        let is_valid = is_name && host.is_none_or(is_host) && text.len() <= ADDRESS_BYTES;
        match is_valid {
            true => Ok(Address(text.to_owned())),
            false => Err(NoAddress),
        }
    }
}

fn is_host(host: &str) -> bool {
    is_dotted(host, |byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// Returns true for one or more words with dots between them.
fn is_dotted(text: &str, is_allowed: impl Fn(u8) -> bool) -> bool {
    text.split('.')
        .all(|word| !word.is_empty() && word.bytes().all(&is_allowed))
}

/// The head of a message.
#[derive(Clone, Debug)]
pub struct Envelope<'a> {
    /// Name of the sending user.
    pub user: &'a [u8],
    /// Name of this machine.
    pub host: &'a [u8],
    /// The recipients.
    pub to: &'a [Address],
    /// Subject.
    pub subject: &'a [u8],
    /// Time of the message.
    pub time: Timestamp,
    /// Number that no other message of this machine has at that time.
    pub number: u64,
}

/// Returns a message with the same as text and as HTML.
pub fn message(envelope: &Envelope<'_>, text: &str, html: &str) -> String {
    let host = std::str::from_utf8(envelope.host).ok();
    let host = host.filter(|host| is_host(host)).unwrap_or(NO_HOST);
    let user = std::str::from_utf8(envelope.user).ok();
    let user: Option<Address> = user.and_then(|user| format!("{user}@{host}").parse().ok());
    let from = user.map_or_else(|| format!("trawl@{host}"), |Address(address)| address);
    let to: Vec<&str> = envelope.to.iter().map(|Address(to)| to.as_str()).collect();
    let Timestamp { secs, nanos } = envelope.time;
    let mut out = format!(
        "Subject: {}\nFrom: Trawl <{from}>\nTo: {}\nDate: {}\n\
         Message-ID: <trawl.{secs}.{nanos}.{}@{host}>\nMIME-Version: 1.0\n\
         Auto-Submitted: auto-generated\n\
         Content-Type: multipart/alternative; boundary=\"{BOUNDARY}\"\n\n",
        encoded(&visible(envelope.subject)),
        to.join(",\n "),
        date(envelope.time),
        envelope.number,
    );
    for (kind, part) in [("plain", text), ("html", html)] {
        let _ = write!(
            out,
            "--{BOUNDARY}\nContent-Type: text/{kind}; charset=utf-8\n\
             Content-Transfer-Encoding: base64\n\n"
        );
        for line in part.as_bytes().chunks(LINE_BYTES) {
            STANDARD.encode_string(line, &mut out);
            out.push('\n');
        }
    }
    let _ = writeln!(out, "--{BOUNDARY}--");
    out
}

/// Returns the text of a header: as it is, or in encoded words.
fn encoded(text: &str) -> String {
    let is_plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    if is_plain && text.len() <= WORD_BYTES && !text.contains("=?") {
        return text.to_owned();
    }
    let mut words = vec![String::new()];
    for character in text.chars() {
        match words.last_mut() {
            Some(word) if word.len() + character.len_utf8() <= WORD_BYTES => word.push(character),
            _ => words.push(character.into()),
        }
    }
    let word = |word: &String| format!("=?utf-8?B?{}?=", STANDARD.encode(word));
    let words: Vec<String> = words.iter().map(word).collect();
    words.join("\n ")
}

/// Returns a time as messages have it.
fn date(time: Timestamp) -> String {
    let zone = Zone::local();
    let mut text = String::new();
    let civil = zone.civil(time.secs);
    strftime::format(&mut text, "%a, %d %b %Y %H:%M:%S %z", &civil, &zone);
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use mail_parser::MessageParser;

    fn envelope<'a>(to: &'a [Address], subject: &'a [u8], host: &'a [u8]) -> Envelope<'a> {
        Envelope {
            user: b"ann",
            host,
            to,
            subject,
            time: Timestamp {
                secs: 1_000_000_000,
                nanos: 7,
            },
            number: 42,
        }
    }

    #[test]
    fn addresses_are_plain() {
        for text in [
            "root",
            "ann@example.org",
            "a.b+c@x-y.example",
            "o'neil@localhost",
        ] {
            assert!(text.parse::<Address>().is_ok(), "{text}");
        }
        let long = format!("{}@x", "a".repeat(254));
        for text in [
            "",
            "@",
            "a@",
            "@b",
            "a b@c",
            "a@b,c@d",
            "a@b\nBcc: c@d",
            "a\r\nBcc: c",
            "<a@b>",
            "Ann <a@b>",
            "a@b;c",
            "a@b..c",
            ".a@b",
            "\"a b\"@c",
            "a@b(c)",
            "ä@b",
            "a@b@c d",
            "a:b",
            "|sh",
            "/etc/x",
            "a!b",
            "a%b@c",
            "-t",
            &long,
        ] {
            assert_eq!(text.parse::<Address>(), Err(NoAddress), "{text:?}");
        }
    }

    #[test]
    fn another_reader_finds_what_was_written() {
        let to = ["ann@example.org", "root"].map(|to| to.parse().unwrap());
        let subject =
            "Größe of /srv/漢字, a long name that needs more than a single word 😀".as_bytes();
        let text = "α\n.\n--=_trawl_report_part\nSubject: x\n";
        let html = format!("<p>{}</p>", "long ".repeat(1000));
        let message = message(&envelope(&to, subject, b"host.example"), text, &html);
        assert!(
            message
                .lines()
                .all(|line| line.len() <= 78 && line.is_ascii())
        );
        let read = MessageParser::default().parse(message.as_bytes()).unwrap();
        assert_eq!(read.subject().unwrap().as_bytes(), subject);
        assert_eq!(read.body_text(0).unwrap(), text);
        assert_eq!(read.body_html(0).unwrap(), html);
        assert_eq!((read.text_body_count(), read.html_body_count()), (1, 1));
        assert_eq!(
            read.message_id(),
            Some("trawl.1000000000.7.42@host.example")
        );
        assert_eq!(read.date().unwrap().to_timestamp(), 1_000_000_000);
        let from = read.from().and_then(|from| from.first()).unwrap();
        assert_eq!(from.address(), Some("ann@host.example"));
        let to: Vec<_> = read
            .to()
            .unwrap()
            .iter()
            .filter_map(|to| to.address().or(to.name()))
            .collect();
        assert_eq!(to, ["ann@example.org", "root"]);
    }

    #[test]
    fn nothing_adds_a_header() {
        let to = ["ann@example.org".parse().unwrap()];
        let subject = b"x\r\nBcc: eve@example.org\n\n<script>";
        let mut envelope = envelope(&to, subject, b"host\nBcc: eve");
        envelope.user = b"ann\nBcc: eve@example.org";
        let message = message(&envelope, "text", "html");
        let read = MessageParser::default().parse(message.as_bytes()).unwrap();
        let names: Vec<&str> = read.headers().iter().map(|header| header.name()).collect();
        let expected = [
            "Subject",
            "From",
            "To",
            "Date",
            "Message-ID",
            "MIME-Version",
        ];
        let expected = expected
            .into_iter()
            .chain(["Auto-Submitted", "Content-Type"]);
        assert_eq!(names, expected.collect::<Vec<_>>());
        assert_eq!(
            read.subject(),
            Some("x\\r\\nBcc: eve@example.org\\n\\n<script>")
        );
        let from = read.from().and_then(|from| from.first()).unwrap();
        assert_eq!(from.address(), Some("trawl@localhost"));
        assert_eq!(read.body_text(0).unwrap(), "text");
    }

    #[test]
    fn what_looks_encoded_is_encoded() {
        assert_eq!(encoded("plain"), "plain");
        assert!(encoded("=?utf-8?B?eA==?=").starts_with("=?utf-8?B?PT91"));
    }
}
