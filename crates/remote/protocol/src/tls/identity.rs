//! Extracts the identities in a certificate as texts that a table of users can name: its
//! fingerprint, its names and its common name.
//!
//! Invariants: only plain one-line text is returned, so that each line of a table has one meaning;
//! bytes that are not a certificate have a fingerprint only. This module validates nothing: the
//! certificate was verified before.

use rustls::crypto::ring::cipher_suite::TLS13_AES_128_GCM_SHA256;

/// Maximum number of names of one certificate.
const NAMES_MAX: usize = 64;
/// Maximum length of a name in bytes.
const NAME_MAX_BYTES: usize = 255;

/// Object identifier 2.5.4.3: common name.
const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];
/// Object identifier 2.5.29.17: subject alternative name.
const SUBJECT_NAMES: &[u8] = &[0x55, 0x1d, 0x11];

const OBJECT_ID: u8 = 0x06;
const OCTETS: u8 = 0x04;
const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
/// UTF-8, printable and IA5 strings.
const STRINGS: [u8; 3] = [0x0c, 0x13, 0x16];
/// Mail addresses, DNS names and URIs.
const NAMES: [u8; 3] = [0x81, 0x82, 0x86];
const EXTENSIONS: u8 = 0xa3;

/// Returns the identities in a certificate (DER, RFC 5280): `sha256:` with 64 hexadecimal digits,
/// then `san:` with each name, and `cn:` with the common name if there is exactly one.
#[must_use]
pub fn identities(certificate: &[u8]) -> Vec<String> {
    let mut texts = vec![fingerprint(certificate)];
    if let Some((subject, extensions)) = parts(certificate) {
        let names = extensions.and_then(subject_names).unwrap_or_default();
        texts.extend(names.into_iter().map(|name| format!("san:{name}")));
        if let [name] = &common_names(subject).unwrap_or_default()[..] {
            texts.push(format!("cn:{name}"));
        }
    }
    texts
}

/// Returns `sha256:` and the digits.
fn fingerprint(certificate: &[u8]) -> String {
    let mut text = "sha256:".to_owned();
    if let Some(suite) = TLS13_AES_128_GCM_SHA256.tls13() {
        for byte in suite.common.hash_provider.hash(certificate).as_ref() {
            text.push_str(&format!("{byte:02x}"));
        }
    }
    text
}

/// DER values, one after the other.
struct Values<'c>(&'c [u8]);

impl<'c> Values<'c> {
    /// Returns the next value's tag and content; `None` at the end and for an invalid value.
    fn next(&mut self) -> Option<(u8, &'c [u8])> {
        let (&[kind, first], mut rest) = self.0.split_first_chunk::<2>()?;
        let length = match first {
            0..=0x7f => usize::from(first),
            0x81..=0x84 => {
                let (bytes, after) = rest.split_at_checked(usize::from(first - 0x80))?;
                rest = after;
                bytes
                    .iter()
                    .fold(0, |length, byte| length << 8 | usize::from(*byte))
            }
            _ => return None,
        };
        let (content, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some((kind, content))
    }

    /// Returns the content of the next value, if it has this tag.
    fn take(&mut self, kind: u8) -> Option<&'c [u8]> {
        let (found, content) = self.next()?;
        (found == kind).then_some(content)
    }
}

/// Returns a certificate's subject and extensions.
fn parts(certificate: &[u8]) -> Option<(&[u8], Option<&[u8]>)> {
    let whole = Values(certificate).take(SEQUENCE)?;
    let mut fields = Values(Values(whole).take(SEQUENCE)?);
    // The version is optional; serial number, algorithm, issuer and validity follow.
    let (kind, _) = fields.next()?;
    let before = if kind == 0xa0 { 4 } else { 3 };
    for _ in 0..before {
        fields.next()?;
    }
    let subject = fields.take(SEQUENCE)?;
    let mut extensions = None;
    while let Some((kind, content)) = fields.next() {
        if kind == EXTENSIONS {
            extensions = Values(content).take(SEQUENCE);
        }
    }
    Some((subject, extensions))
}

fn common_names(subject: &[u8]) -> Option<Vec<String>> {
    let (mut sets, mut names) = (Values(subject), Vec::new());
    while let Some((kind, set)) = sets.next() {
        let mut set = Values(if kind == SET { set } else { &[] });
        while let Some((_, pair)) = set.next() {
            let mut pair = Values(pair);
            if pair.take(OBJECT_ID) == Some(COMMON_NAME) {
                let (kind, name) = pair.next()?;
                names.push(plain(name).filter(|_| STRINGS.contains(&kind))?);
            }
        }
    }
    Some(names)
}

fn subject_names(extensions: &[u8]) -> Option<Vec<String>> {
    let mut extensions = Values(extensions);
    while let Some((_, extension)) = extensions.next() {
        let mut extension = Values(extension);
        if extension.take(OBJECT_ID) != Some(SUBJECT_NAMES) {
            continue;
        }
        let (mut kind, mut content) = extension.next()?;
        // The optional critical flag comes first.
        if kind != OCTETS {
            (kind, content) = extension.next()?;
        }
        let names = Values(if kind == OCTETS { content } else { &[] }).take(SEQUENCE)?;
        let (mut values, mut names) = (Values(names), Vec::new());
        while let Some((kind, name)) = values.next() {
            if NAMES.contains(&kind) && names.len() < NAMES_MAX {
                names.extend(plain(name));
            }
        }
        return Some(names);
    }
    None
}

/// Returns a name, if it is text on one line.
fn plain(name: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(name).ok()?;
    let is_plain = !text.is_empty() && !text.chars().any(char::is_control);
    (is_plain && text.len() <= NAME_MAX_BYTES).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rcgen::{CertificateParams, DnType, KeyPair, SanType};

    fn certificate(common: &[&str], names: Vec<SanType>) -> Vec<u8> {
        let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
        params.distinguished_name = rcgen::DistinguishedName::new();
        params
            .distinguished_name
            .push(DnType::OrganizationName, "cn:root");
        for name in common {
            params.distinguished_name.push(DnType::CommonName, *name);
        }
        params.subject_alt_names = names;
        let key = KeyPair::generate().unwrap();
        params.self_signed(&key).unwrap().der().to_vec()
    }

    #[test]
    fn names_in_a_certificate_are_told() {
        let mail = SanType::Rfc822Name("alice@example.org".try_into().unwrap());
        let host = SanType::DnsName("build.example.org".try_into().unwrap());
        let der = certificate(&["Alice Smith"], vec![mail, host]);
        let told = identities(&der);
        assert_eq!(told[0].len(), "sha256:".len() + 64);
        let rest = [
            "san:alice@example.org",
            "san:build.example.org",
            "cn:Alice Smith",
        ];
        assert_eq!(told[1..], rest);
        // Text with a line break is left out.
        let der = certificate(&["a\nb"], vec![]);
        assert_eq!(identities(&der).len(), 1);
    }

    #[test]
    fn the_fingerprint_is_the_sum_of_the_bytes() {
        let skip = trawl_testkit::skip::without_program("fingerprints", "sha256sum");
        if let Some(skip) = skip {
            return skip.say();
        }
        let scratch = trawl_testkit::Scratch::new("fingerprint");
        let der = certificate(&["x"], vec![]);
        std::fs::write(scratch.join("der"), &der).unwrap();
        let mut sum = trawl_testkit::oracle::command("sha256sum");
        let output = sum.arg(scratch.join("der")).output().unwrap().stdout;
        let text = String::from_utf8(output).unwrap();
        let digits = text.split(' ').next().unwrap();
        assert_eq!(identities(&der)[0], format!("sha256:{digits}"));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(mut bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = identities(&bytes);
            // Valid lengths around the bytes make the parser look deeper.
            for _ in 0..4 {
                let length = u8::try_from(bytes.len().min(255)).unwrap();
                bytes.truncate(255);
                bytes.splice(0..0, [SEQUENCE, 0x81, length]);
                let _ = identities(&bytes);
            }
        }

        #[test]
        fn damaged_certificates_do_not_panic(at: usize, value: u8, cut: usize) {
            let mail = SanType::Rfc822Name("a@example.org".try_into().unwrap());
            let mut der = certificate(&["name"], vec![mail]);
            let length = der.len();
            der[at % length] = value;
            der.truncate(length - cut % 9);
            let _ = identities(&der);
        }
    }
}
