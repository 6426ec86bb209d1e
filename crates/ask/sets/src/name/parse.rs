//! Parses the text of a set pathname into a tree of tokens and braces.

use super::{NAME_MAX_BYTES, NESTING_MAX, SPECIAL, SPECIAL_IN_URL};

/// One element of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// A byte that stands for itself.
    Byte(u8),
    /// An unquoted `~`, which is a home directory at the beginning of a word.
    Tilde,
    /// `*`
    Any,
    /// `?`
    One,
    /// A bracket expression as fnmatch(3) reads it.
    Set(Vec<u8>),
    /// `\query\`
    Query(Vec<u8>),
    /// `%command%`
    Command(Vec<u8>),
}

#[derive(Clone, Debug)]
pub(super) enum Node {
    Token(Token),
    /// `{…}`: one of these.
    Choice(Vec<Sequence>),
}

/// Nodes one after the other.
#[derive(Clone, Debug, Default)]
pub(super) struct Sequence {
    pub(super) nodes: Vec<Node>,
    /// Number of words that it expands to, at most `u128::MAX`.
    pub(super) count: u128,
}

/// Returns whether a name is a URL: its `//`, `?` and `%` are ordinary then.
pub fn is_url(text: &[u8]) -> bool {
    let is_in_scheme = |byte: &&u8| byte.is_ascii_alphanumeric() || b"+.-".contains(byte);
    let end = text.iter().take_while(is_in_scheme).count();
    text.first().is_some_and(u8::is_ascii_alphabetic) && text[end..].starts_with(b"://")
}

/// Schemes of names of objects at servers.
const SERVER_SCHEMES: [&[u8]; 4] = [b"trawl://", b"tls://", b"ssh://", b"unix://"];

/// Returns the length of what says which server a name means, such as `trawl://host:8295`; `None`
/// if it means none. The rest of the name is a path on the server. The socket in a name with
/// `unix://` ends with the colon before that path.
pub fn server_prefix(name: &[u8]) -> Option<usize> {
    let scheme = SERVER_SCHEMES
        .iter()
        .find(|scheme| name.starts_with(scheme))?;
    let rest = &name[scheme.len()..];
    let length = match *scheme {
        b"unix://" => rest
            .windows(2)
            .position(|two| two == b":/")
            .map(|at| at + 1),
        _ => rest.iter().position(|byte| *byte == b'/'),
    };
    Some(scheme.len() + length.unwrap_or(rest.len()))
}

/// Returns the length of the part of a name in which wildcards are ordinary: all of a URL, and the
/// address of a server.
pub(super) fn url_length(name: &[u8]) -> usize {
    match is_url(name) {
        true => server_prefix(name).unwrap_or(name.len()),
        false => 0,
    }
}

pub(super) fn parse(text: &[u8]) -> Result<Sequence, String> {
    if text.is_empty() {
        return Err("a set pathname is empty: write . for the working directory".to_owned());
    }
    if text.len() > NAME_MAX_BYTES {
        let length = text.len();
        return Err(format!(
            "a set pathname has {length} bytes: at most {NAME_MAX_BYTES} are allowed"
        ));
    }
    if let Some(at) = text.iter().position(|byte| *byte == 0) {
        return Err(format!(
            "there is a NUL byte at byte {at}, which no name has"
        ));
    }
    let mut parser = Parser {
        text,
        at: 0,
        url_length: url_length(text),
        is_start: true,
    };
    parser.sequence(0)
}

struct Parser<'t> {
    text: &'t [u8],
    at: usize,
    /// Length of the part that is read as a URL.
    url_length: usize,
    /// Whether a component begins here.
    is_start: bool,
}

impl Parser<'_> {
    fn is_in_url(&self) -> bool {
        self.at < self.url_length
    }

    /// Returns the characters that a bracket pair quotes.
    fn special(&self) -> &'static [u8] {
        match self.is_in_url() {
            true => SPECIAL_IN_URL,
            false => SPECIAL,
        }
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.text.get(self.at + ahead).copied()
    }

    /// Parses up to the end, or up to the `,` or `}` that ends an alternative.
    fn sequence(&mut self, nesting: usize) -> Result<Sequence, String> {
        let mut nodes = Vec::new();
        while let Some(byte) = self.peek(0) {
            if nesting > 0 && matches!(byte, b',' | b'}') {
                break;
            }
            if (byte, self.peek(1)) == (b'{', Some(b'}')) {
                nodes.extend([self.byte(b'{', 1), self.byte(b'}', 1)]);
                continue;
            }
            nodes.push(match byte {
                b'{' => self.choice(nesting)?,
                b'[' => self.bracket()?,
                b'\\' => self.backslash(nesting)?,
                b'%' if !self.is_in_url() => self.percent()?,
                b'*' if !self.is_in_url() => self.token(Token::Any, 1),
                b'?' if !self.is_in_url() => self.token(Token::One, 1),
                b'~' if !self.is_in_url() => self.token(Token::Tilde, 1),
                byte => self.byte(byte, 1),
            });
        }
        let count = nodes.iter().fold(1u128, |count, node| match node {
            Node::Token(_) => count,
            Node::Choice(parts) => count.saturating_mul(sum(parts)),
        });
        Ok(Sequence { nodes, count })
    }

    fn token(&mut self, token: Token, length: usize) -> Node {
        self.is_start = token == Token::Byte(b'/');
        self.at += length;
        Node::Token(token)
    }

    fn byte(&mut self, byte: u8, length: usize) -> Node {
        self.token(Token::Byte(byte), length)
    }

    fn choice(&mut self, nesting: usize) -> Result<Node, String> {
        let begin = self.at;
        if nesting == NESTING_MAX {
            return Err(format!(
                "the brace at byte {begin} lies in {nesting} others, which is the maximum: \
                 write several names instead"
            ));
        }
        let is_start = self.is_start;
        let mut parts = Vec::new();
        loop {
            self.at += 1;
            self.is_start = is_start;
            parts.push(self.sequence(nesting + 1)?);
            match self.peek(0) {
                Some(b',') => {}
                Some(_) => break,
                None => {
                    return Err(format!(
                        "the brace at byte {begin} is not closed: append }}, or write [{{] for the \
                         brace itself"
                    ));
                }
            }
        }
        self.at += 1;
        self.is_start = false;
        Ok(Node::Choice(parts))
    }

    /// A bracket around one special character quotes it; any other is a set of bytes.
    fn bracket(&mut self) -> Result<Node, String> {
        if let (Some(byte), Some(b']')) = (self.peek(1), self.peek(2))
            && self.special().contains(&byte)
        {
            return Ok(self.byte(byte, 3));
        }
        if self.is_in_url() {
            return Ok(self.byte(b'[', 1));
        }
        let begin = self.at;
        let mut set = vec![b'['];
        let mut at = begin + 1;
        if matches!(self.text.get(at), Some(b'^' | b'!')) {
            set.push(b'^');
            at += 1;
        }
        let first = at;
        loop {
            match self.text.get(at) {
                None | Some(b'/') => {
                    return Err(format!(
                        "the bracket at byte {begin} is not closed in its component: append ], or \
                         write [[] for the bracket itself"
                    ));
                }
                Some(b']') if at > first => break,
                Some(b'\\') => set.extend_from_slice(b"\\\\"),
                Some(b'[') if self.class_length(at) > 0 => {
                    let end = at + self.class_length(at);
                    set.extend_from_slice(&self.text[at..end]);
                    at = end - 1;
                }
                Some(b'[') => set.extend_from_slice(b"\\["),
                Some(byte) => set.push(*byte),
            }
            at += 1;
        }
        set.push(b']');
        Ok(self.token(Token::Set(set), at + 1 - begin))
    }

    /// Returns the length of a class such as `[:digit:]` that begins here; 0 if none does.
    fn class_length(&self, at: usize) -> usize {
        let rest = &self.text[at..];
        if !rest.starts_with(b"[:") {
            return 0;
        }
        let letters = rest[2..]
            .iter()
            .take_while(|byte| byte.is_ascii_alphabetic());
        let end = 2 + letters.count();
        match rest[end..].starts_with(b":]") {
            true => end + 2,
            false => 0,
        }
    }

    fn backslash(&mut self, nesting: usize) -> Result<Node, String> {
        if self.peek(1) == Some(b'\\') {
            let ends = match self.peek(2) {
                None | Some(b'/') => true,
                Some(byte) => nesting > 0 && matches!(byte, b',' | b'}'),
            };
            return Ok(match self.is_start && self.at > 0 && ends {
                true => self.token(Token::Query(Vec::new()), 2),
                false => self.byte(b'\\', 2),
            });
        }
        let (mut query, length) = self.delimited(b'\\').ok_or_else(|| {
            format!(
                "the query at byte {} does not end: append a backslash, or write \\\\ for a \
                 backslash in a name",
                self.at
            )
        })?;
        let mut length = length;
        // The second example of the paper has its last two characters exchanged.
        let quotes = query.iter().filter(|byte| **byte == b'"').count();
        if quotes % 2 == 1 && &self.text[self.at + length..] == b"\"" {
            query.push(b'"');
            length += 1;
        }
        Ok(self.token(Token::Query(query), length))
    }

    fn percent(&mut self) -> Result<Node, String> {
        if self.peek(1) == Some(b'%') {
            return Ok(self.byte(b'%', 2));
        }
        if !self.is_start {
            return Ok(self.byte(b'%', 1));
        }
        let (command, length) = self.delimited(b'%').ok_or_else(|| {
            format!(
                "the command at byte {} does not end: append a %, or write %% for a percent sign \
                 in a name",
                self.at
            )
        })?;
        Ok(self.token(Token::Command(command), length))
    }

    /// Returns the text between this mark and the next, in which a doubled mark is single, and the
    /// length with both marks.
    fn delimited(&self, mark: u8) -> Option<(Vec<u8>, usize)> {
        let (mut inside, mut at) = (Vec::new(), self.at + 1);
        loop {
            match self.text.get(at)? {
                byte if *byte != mark => inside.push(*byte),
                _ if self.text.get(at + 1) == Some(&mark) => {
                    inside.push(mark);
                    at += 1;
                }
                _ => return Some((inside, at + 1 - self.at)),
            }
            at += 1;
        }
    }
}

/// Returns the number of words of all alternatives together.
pub(super) fn sum(parts: &[Sequence]) -> u128 {
    let counts = parts.iter().map(|part| part.count);
    counts.fold(0, u128::saturating_add)
}
