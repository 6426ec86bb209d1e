//! Messages (RFC 5322, MIME): text, correspondents and names of attachments.

use mail_parser::{Address, MessageParser, MimeHeaders};
use trawl_hooks::Value;
use trawl_hooks::found::Findings;

use crate::input::{Input, damaged};

pub(crate) fn run(input: &Input, findings: &mut Findings) {
    let Some(bytes) = input.all(findings) else {
        return;
    };
    let Some(message) = MessageParser::default().parse(&bytes) else {
        return damaged("this is no message", findings);
    };
    if let Some(subject) = message.subject() {
        findings.attribute_text("title", subject);
        findings.line(subject);
    }
    for (name, addresses) in [("author", message.from()), ("to", message.to())] {
        findings.attribute_texts(name, correspondents(addresses));
    }
    if let Some(date) = message.date() {
        let ns = date.to_timestamp().checked_mul(1_000_000_000);
        if let Some(ns) = ns {
            findings.attribute("sent", Value::Time(ns));
        }
    }
    for at in 0..message.text_body_count() {
        if let Some(text) = message.body_text(at) {
            findings.line(&text);
        }
    }
    let names = message
        .attachments()
        .filter_map(|part| part.attachment_name());
    findings.attribute_texts("attachment", names.map(str::to_owned));
}

fn correspondents(addresses: Option<&Address<'_>>) -> Vec<String> {
    let all = addresses.into_iter().flat_map(Address::iter);
    let shown = all.filter_map(|one| match (one.name(), one.address()) {
        (Some(name), Some(address)) => Some(format!("{name} <{address}>")),
        (name, address) => name.or(address).map(str::to_owned),
    });
    shown.collect()
}
