//! One line of a changelog.
//!
//! `NUMBER KIND TIME DATE FLAGS t=[FID] [j=JOB] [ef=FLAGS] [u=UID:GID] [nid=NID] [m=MODE] [x=XATTR]
//! [p=[FID] NAME] [s=[FID] sp=[FID] NAME]`, as `lfs changelog` prints it (Lustre 2.10 and later).

/// Why a line is no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadRecord(pub &'static str);

/// Lustre's name for a file: sequence, object, version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fid {
    /// The sequence.
    pub sequence: u64,
    /// The object in it.
    pub object: u32,
    /// The version.
    pub version: u32,
}

impl Fid {
    /// Whether it names nothing.
    #[must_use]
    pub fn is_zero(self) -> bool {
        self == Fid::default()
    }

    /// Its bytes, as they are in a key.
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

/// What a record is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Something about which nothing need be done: marks, opens, closes, reads.
    Nothing,
    /// A name came, went or was replaced.
    Names,
    /// A rename.
    Rename,
    /// Attributes or content.
    Attributes,
}

impl Kind {
    /// The kinds by their numbers and names (`enum changelog_rec_type`).
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

    /// Whether anything may be different.
    #[must_use]
    pub fn changes_anything(self) -> bool {
        self != Kind::Nothing
    }

    /// Whether a directory's names may be.
    #[must_use]
    pub fn changes_names(self) -> bool {
        matches!(self, Kind::Names | Kind::Rename)
    }
}

/// A record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Its number; each is one more than the one before.
    pub number: u64,
    /// What it is of.
    pub kind: Kind,
    /// The object; of a rename, the one that was replaced.
    pub target: Fid,
    /// The directory and the name in it.
    pub at: Option<(Fid, Vec<u8>)>,
    /// What was renamed.
    pub moved: Option<Fid>,
    /// Where that was.
    pub from: Option<(Fid, Vec<u8>)>,
}

/// The first word of a text, and what is behind the blank.
fn word(text: &[u8]) -> (&[u8], &[u8]) {
    match text.iter().position(|byte| *byte == b' ') {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => (text, b""),
    }
}

impl Record {
    /// The record of a line, without its newline.
    ///
    /// # Errors
    /// Where anything is not as the format prescribes.
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
                let parent = Fid::parse(parent).ok_or(BadRecord("its parent is no FID"))?;
                return self.take_place(parent, behind);
            }
            if field.is_empty() && behind.is_empty() {
                return self.is_complete();
            }
            if !OTHERS.iter().any(|other| field.starts_with(other)) {
                return Err(BadRecord("it has a field that is not known"));
            }
            rest = behind;
        }
    }

    /// Takes `NAME` or, of a rename, `NAME s=[FID] sp=[FID] NAME`. A blank in a name is part of it,
    /// and in a rename the last ` s=[…] sp=[…] ` counts.
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
            found.ok_or(BadRecord("it is a rename and does not say of what"))?;
        self.at = Some((parent, name(new)?));
        self.moved = Some(moved);
        self.from = Some((above, name(old)?));
        Ok(())
    }

    fn is_complete(&self) -> Result<(), BadRecord> {
        if self.kind.changes_names() {
            return Err(BadRecord("it is of a name and has none"));
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
        return Err(BadRecord("its name cannot be one"));
    }
    Ok(text.to_vec())
}
