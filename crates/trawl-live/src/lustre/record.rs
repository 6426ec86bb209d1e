//! One line of a changelog.
//!
//! `NUMBER KIND TIME DATE FLAGS t=[FID] [j=JOB] [ef=FLAGS] [u=UID:GID] [nid=NID] [m=MODE] [x=XATTR]
//! [p=[FID] NAME] [s=[FID] sp=[FID] NAME]`, as `lfs changelog` prints it (Lustre 2.10 and later).

/// The reason why a line is not a valid record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadRecord(pub &'static str);

/// Lustre's file identifier: sequence, object, version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fid {
    /// The sequence.
    pub sequence: u64,
    /// The object id within the sequence.
    pub object: u32,
    /// The version.
    pub version: u32,
}

impl Fid {
    /// Returns true if it identifies nothing.
    #[must_use]
    pub fn is_zero(self) -> bool {
        self == Fid::default()
    }

    /// Returns its bytes as they are in a key.
    #[must_use]
    pub fn to_bytes(self) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.sequence.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.object.to_le_bytes());
        bytes[12..].copy_from_slice(&self.version.to_le_bytes());
        bytes
    }

    fn parse(text: &[u8]) -> Option<Self> {
        let inside = text.strip_prefix(b"[")?.strip_suffix(b"]")?;
        let mut parts = inside.split(|byte| *byte == b':');
        let fid = Fid {
            sequence: hexadecimal(parts.next()?)?,
            object: hexadecimal(parts.next()?)?.try_into().ok()?,
            version: hexadecimal(parts.next()?)?.try_into().ok()?,
        };
        parts.next().is_none().then_some(fid)
    }
}

fn hexadecimal(text: &[u8]) -> Option<u64> {
    let digits = text.strip_prefix(b"0x").unwrap_or(text);
    let is_plain = !digits.is_empty() && digits.iter().all(u8::is_ascii_hexdigit);
    let digits = is_plain
        .then(|| std::str::from_utf8(digits).ok())
        .flatten()?;
    u64::from_str_radix(digits, 16).ok()
}

fn decimal(text: &[u8]) -> Option<u64> {
    let is_plain = !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    let digits = is_plain.then(|| std::str::from_utf8(text).ok()).flatten()?;
    digits.parse().ok()
}

/// The kind of change that a record describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Nothing that needs a reaction: marks, opens, reads.
    Nothing,
    /// A name was created, removed or replaced.
    Names,
    /// A rename.
    Rename,
    /// A change of attributes or content.
    Attributes,
}

impl Kind {
    /// Parses the record types by number and name (`enum changelog_rec_type`).
    fn parse(text: &[u8]) -> Option<Self> {
        const KINDS: [(&[u8], Kind); 25] = [
            (b"00MARK", Kind::Nothing),
            (b"01CREAT", Kind::Names),
            (b"02MKDIR", Kind::Names),
            (b"03HLINK", Kind::Names),
            (b"04SLINK", Kind::Names),
            (b"05MKNOD", Kind::Names),
            (b"06UNLNK", Kind::Names),
            (b"07RMDIR", Kind::Names),
            (b"08RENME", Kind::Rename),
            (b"09RNMTO", Kind::Names),
            (b"10OPEN", Kind::Nothing),
            (b"11CLOSE", Kind::Attributes),
            (b"12LYOUT", Kind::Attributes),
            (b"13TRUNC", Kind::Attributes),
            (b"14SATTR", Kind::Attributes),
            (b"15XATTR", Kind::Attributes),
            (b"16HSM", Kind::Attributes),
            (b"17MTIME", Kind::Attributes),
            (b"18CTIME", Kind::Attributes),
            (b"19ATIME", Kind::Nothing),
            (b"20MIGRT", Kind::Attributes),
            (b"21FLRW", Kind::Attributes),
            (b"22RESYNC", Kind::Attributes),
            (b"23GXATR", Kind::Nothing),
            (b"24NOPEN", Kind::Nothing),
        ];
        KINDS
            .iter()
            .find(|(name, _)| *name == text)
            .map(|(_, kind)| *kind)
    }

    /// Returns true if anything may have changed.
    #[must_use]
    pub fn changes_anything(self) -> bool {
        self != Kind::Nothing
    }

    /// Returns true if a directory's names may have changed.
    #[must_use]
    pub fn changes_names(self) -> bool {
        matches!(self, Kind::Names | Kind::Rename)
    }
}

/// One record of a changelog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Its number, which is one more than that of the previous record.
    pub number: u64,
    /// The kind of change.
    pub kind: Kind,
    /// The object; in a rename, the object that was replaced.
    pub target: Fid,
    /// The directory and the name in it.
    pub at: Option<(Fid, Vec<u8>)>,
    /// In a rename, the object that was renamed.
    pub moved: Option<Fid>,
    /// In a rename, the old parent directory and name.
    pub from: Option<(Fid, Vec<u8>)>,
}

/// Returns the first word of a text, and the text after the blank.
fn word(text: &[u8]) -> (&[u8], &[u8]) {
    match text.iter().position(|byte| *byte == b' ') {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => (text, b""),
    }
}

impl Record {
    /// Parses a line without its newline.
    ///
    /// # Errors
    /// Fails if the line does not have the prescribed format.
    pub fn parse(line: &[u8]) -> Result<Self, BadRecord> {
        let (number, rest) = word(line);
        let number = decimal(number).ok_or(BadRecord("it does not begin with a number"))?;
        let (kind, rest) = word(rest);
        let kind = Kind::parse(kind).ok_or(BadRecord("its kind is unknown"))?;
        let (time, rest) = word(rest);
        let (date, rest) = word(rest);
        let (flags, rest) = word(rest);
        if !is_of(time, b":.") || !is_of(date, b".") {
            return Err(BadRecord("it has no time"));
        }
        flags
            .strip_prefix(b"0x")
            .and_then(hexadecimal)
            .ok_or(BadRecord("it has no flags"))?;
        let (target, rest) = word(rest);
        let target = target.strip_prefix(b"t=").and_then(Fid::parse);
        let mut record = Record {
            number,
            kind,
            target: target.ok_or(BadRecord("it has no target"))?,
            at: None,
            moved: None,
            from: None,
        };
        record.take_names(rest)?;
        Ok(record)
    }

    fn take_names(&mut self, mut rest: &[u8]) -> Result<(), BadRecord> {
        const OTHERS: [&[u8]; 6] = [b"j=", b"ef=", b"u=", b"nid=", b"m=", b"x="];
        loop {
            let (field, behind) = word(rest);
            if let Some(parent) = field.strip_prefix(b"p=") {
                let parent = Fid::parse(parent).ok_or(BadRecord("its parent is not a FID"))?;
                return self.take_place(parent, behind);
            }
            if field.is_empty() && behind.is_empty() {
                return self.is_complete();
            }
            if !OTHERS.iter().any(|other| field.starts_with(other)) {
                return Err(BadRecord("it has an unknown field"));
            }
            rest = behind;
        }
    }

    /// Parses `NAME` or, in a rename, `NAME s=[FID] sp=[FID] NAME`. Blanks are part of a name; in a
    /// rename, the last ` s=[…] sp=[…] ` separates the names.
    fn take_place(&mut self, parent: Fid, rest: &[u8]) -> Result<(), BadRecord> {
        if self.kind != Kind::Rename {
            self.at = Some((parent, name(rest)?));
            return Ok(());
        }
        let mut blanks = (0..rest.len())
            .rev()
            .filter(|at| rest[*at..].starts_with(b" s=["));
        let found = blanks.find_map(|at| {
            let (moved, behind) = word(&rest[at + 1..]);
            let (above, old) = word(behind);
            let moved = Fid::parse(moved.strip_prefix(b"s=")?)?;
            let above = Fid::parse(above.strip_prefix(b"sp=")?)?;
            Some((&rest[..at], moved, above, old))
        });
        let (new, moved, above, old) =
            found.ok_or(BadRecord("it is a rename and does not name its source"))?;
        self.at = Some((parent, name(new)?));
        self.moved = Some(moved);
        self.from = Some((above, name(old)?));
        Ok(())
    }

    fn is_complete(&self) -> Result<(), BadRecord> {
        if self.kind.changes_names() {
            return Err(BadRecord("it changes a name but has none"));
        }
        Ok(())
    }
}

fn is_of(text: &[u8], marks: &[u8]) -> bool {
    !text.is_empty()
        && text
            .iter()
            .all(|byte| byte.is_ascii_digit() || marks.contains(byte))
}

fn name(text: &[u8]) -> Result<Vec<u8>, BadRecord> {
    if text.is_empty() || text.contains(&b'/') || text.contains(&0) {
        return Err(BadRecord("its name is invalid"));
    }
    Ok(text.to_vec())
}
