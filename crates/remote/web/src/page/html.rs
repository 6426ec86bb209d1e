//! The links of an HTML document.

use std::collections::HashSet;

use html5gum::emitters::default::DefaultEmitter;
use html5gum::{HtmlString, Token, Tokenizer};
use url::Url;

/// Elements that link to other documents, and the attribute that names the document. Images,
/// scripts, style sheets and `link` elements are parts of the page itself or speak about it.
const LINKS: [(&[u8], &[u8]); 4] = [
    (b"a", b"href"),
    (b"area", b"href"),
    (b"frame", b"src"),
    (b"iframe", b"src"),
];

/// Maximum length in bytes of a URL in a page; longer ones are ignored.
const URL_BYTES: usize = 8 << 10;
/// Maximum number of bytes of all URLs of a page together.
const ALL_BYTES: usize = 64 << 20;

/// Returns the documents that a page links to: the targets of `a`, `area`, `frame` and `iframe`,
/// resolved against the first `base` element or else the page's own URL, without fragments, each
/// once, in the order of the page, as far as they fit into [`ALL_BYTES`].
///
/// `bytes` may be anything; they are read as UTF-8, as the HTML standard's tokenizer does (WHATWG
/// HTML, section 13.2.5). A link to a part of the page itself is no other document.
pub fn links(bytes: &[u8], page: &Url) -> Vec<Url> {
    let mut own = page.clone();
    own.set_fragment(None);
    let mut seen = HashSet::from([own]);
    let mut base: Option<Url> = None;
    let is_short = |text: &String| text.len() <= URL_BYTES;
    let mut targets = Vec::new();
    let mut emitter = DefaultEmitter::default();
    // What scripts, styles and titles contain is no markup.
    emitter.naively_switch_states(true);
    for token in Tokenizer::new_with_emitter(bytes, emitter) {
        let Ok(token) = token;
        let Token::StartTag(tag) = token else {
            continue;
        };
        let value = |name: &[u8]| {
            let value = tag.attributes.get(&HtmlString(name.to_vec()))?;
            Some(String::from_utf8_lossy(value).into_owned())
        };
        if &tag.name[..] == b"base" && base.is_none() {
            base = value(b"href")
                .filter(is_short)
                .and_then(|href| page.join(&href).ok());
        }
        let link = LINKS.iter().find(|(name, _)| &tag.name[..] == *name);
        targets.extend(
            link.and_then(|(_, attribute)| value(attribute))
                .filter(is_short),
        );
    }
    let base = base.as_ref().unwrap_or(page);
    let resolved = targets.iter().filter_map(|target| base.join(target).ok());
    resolved
        .map(|mut url| {
            url.set_fragment(None);
            url
        })
        .filter(|url| seen.insert(url.clone()))
        .scan(0, |bytes, url| {
            *bytes += url.as_str().len();
            (*bytes <= ALL_BYTES).then_some(url)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(html: &str) -> Vec<String> {
        let page = Url::parse("http://h/d/p.html").unwrap();
        let urls = links(html.as_bytes(), &page);
        urls.into_iter().map(String::from).collect()
    }

    #[test]
    fn links_are_resolved_once_and_without_fragments() {
        let html = "<A HREF=x.html#a>1</a><a href='x.html'>2</a><a href=#here>me</a>\
                    <map><area href=\"/y?q=1&amp;r=2\"></map><iframe src=//o/z></iframe>\
                    <img src=i.png><link href=s.css><a name=n>none</a>";
        let expected = ["http://h/d/x.html", "http://h/y?q=1&r=2", "http://o/z"];
        assert_eq!(found(html), expected);
    }

    #[test]
    fn the_first_base_counts_for_all_links() {
        let html = "<a href=a></a><base href=/b/><base href=/c/><a href=d></a>";
        assert_eq!(found(html), ["http://h/b/a", "http://h/b/d"]);
    }

    #[test]
    fn scripts_comments_and_broken_markup_are_no_links() {
        let html = "<script>'<a href=s>'</script><!-- <a href=c> --><title><a href=t></title>\
                    <a href=ok>\0\u{fffd}<a href='http://['><a href=\"open";
        assert_eq!(found(html), ["http://h/d/ok"]);
    }
}
