//! Modes: formats them as `drwxr-sr-t`, and parses them as chmod(1) does.

use trawl_model::FileType;

const SET_UID: u32 = 0o4000;
const SET_GID: u32 = 0o2000;
const STICKY: u32 = 0o1000;
/// All bits that chmod(1) can set.
pub const ALL_BITS: u32 = 0o7777;

/// Formats a mode as the ten characters at the beginning of an `ls -l` line,
/// `%A` of stat(1).
pub fn render(mode: u32) -> [u8; 10] {
    let bit = |mask: u32, letter: u8| if mode & mask != 0 { letter } else { b'-' };
    let execute = |mask: u32, special: u32, small: u8| match (mode & mask, mode & special) {
        (0, 0) => b'-',
        (_, 0) => b'x',
        (0, _) => small.to_ascii_uppercase(),
        (_, _) => small,
    };
    [
        type_letter(mode),
        bit(0o400, b'r'),
        bit(0o200, b'w'),
        execute(0o100, SET_UID, b's'),
        bit(0o040, b'r'),
        bit(0o020, b'w'),
        execute(0o010, SET_GID, b's'),
        bit(0o004, b'r'),
        bit(0o002, b'w'),
        execute(0o001, STICKY, b't'),
    ]
}

fn type_letter(mode: u32) -> u8 {
    match FileType::from_mode(mode) {
        FileType::Regular => b'-',
        FileType::Unknown => b'?',
        other => other.letter(),
    }
}

/// An operator of a symbolic mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Add,
    Remove,
    Set,
}

/// The permission letters of a clause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bits {
    /// These bits, for the classes of users named.
    Given { bits: u32, execute_if_any: bool },
    /// The bits of another class of users (`g=u`).
    CopyOf(u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Change {
    action: Action,
    /// All bits of the classes of users that the clause applies to.
    affected: u32,
    /// True if the clause names no class, so that the umask applies.
    unnamed: bool,
    /// Bits that the clause mentions. The set-ID bits of a directory do not
    /// change unless a clause mentions them.
    mentioned: u32,
    bits: Bits,
}

/// A mode as an argument gives it: an octal number, or symbolic changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModeChange {
    changes: Vec<Change>,
}

impl ModeChange {
    /// Parses `644`, `u+x,g=rw`, `a-w` and so on. Returns `None` if the mode is
    /// invalid.
    pub fn parse(text: &[u8]) -> Option<ModeChange> {
        if text.first().is_some_and(u8::is_ascii_digit) {
            return parse_octal(text);
        }
        let mut changes = Vec::new();
        for clause in text.split(|b| *b == b',') {
            parse_clause(clause, &mut changes)?;
        }
        Some(ModeChange { changes })
    }

    /// Returns the permission bits that result from applying the mode to `old`.
    /// `umask` applies to clauses that name no class of users, `is_dir` to `X`
    /// and to set-ID bits.
    pub fn apply(&self, old: u32, is_dir: bool, umask: u32) -> u32 {
        let mut mode = old & ALL_BITS;
        for change in &self.changes {
            mode = change.apply(mode, is_dir, umask);
        }
        mode
    }
}

impl Change {
    fn apply(&self, mode: u32, is_dir: bool, umask: u32) -> u32 {
        let value = match self.bits {
            Bits::Given {
                bits,
                execute_if_any,
            } => {
                let execute = execute_if_any && (is_dir || mode & 0o111 != 0);
                bits | if execute { 0o111 } else { 0 }
            }
            Bits::CopyOf(class) => spread(mode & class),
        };
        let kept = if is_dir {
            (SET_UID | SET_GID) & !self.mentioned
        } else {
            0
        };
        let omit = if self.unnamed { umask } else { 0 };
        let value = value & self.affected & !omit & !kept;
        match self.action {
            Action::Add => mode | value,
            Action::Remove => mode & !value,
            Action::Set => (mode & (!self.affected | kept)) | value,
        }
    }
}

/// Returns the bits of one class of users, given to all classes.
fn spread(bits: u32) -> u32 {
    let any = |mask: u32, all: u32| if bits & mask != 0 { all } else { 0 };
    any(0o444, 0o444) | any(0o222, 0o222) | any(0o111, 0o111)
}

fn parse_octal(text: &[u8]) -> Option<ModeChange> {
    let mut bits = 0u32;
    for byte in text {
        let digit = char::from(*byte).to_digit(8)?;
        bits = bits * 8 + digit;
        if bits > ALL_BITS {
            return None;
        }
    }
    let change = Change {
        action: Action::Set,
        affected: ALL_BITS,
        unnamed: false,
        mentioned: ALL_BITS,
        bits: Bits::Given {
            bits,
            execute_if_any: false,
        },
    };
    Some(ModeChange {
        changes: vec![change],
    })
}

/// Parses a clause: `[ugoa]*([-+=]([rwxXst]*|[ugo]|octal))+`.
fn parse_clause(clause: &[u8], changes: &mut Vec<Change>) -> Option<()> {
    let classes = clause
        .iter()
        .take_while(|b| b"ugoa".contains(b))
        .fold(0, |mask, class| mask | class_bits(*class));
    let named = clause.iter().take_while(|b| b"ugoa".contains(b)).count();
    let mut rest = &clause[named..];
    if rest.is_empty() {
        return None;
    }
    while let Some((operator, tail)) = rest.split_first() {
        let action = match operator {
            b'+' => Action::Add,
            b'-' => Action::Remove,
            b'=' => Action::Set,
            _ => return None,
        };
        let (bits, length, octal) = parse_bits(tail, named > 0)?;
        changes.push(Change {
            action,
            affected: if named == 0 || octal {
                ALL_BITS
            } else {
                classes
            },
            unnamed: named == 0 && !octal,
            mentioned: match bits {
                _ if octal => ALL_BITS,
                Bits::Given { bits: value, .. } | Bits::CopyOf(value) if named > 0 => {
                    value & classes
                }
                Bits::Given { bits: value, .. } | Bits::CopyOf(value) => value,
            },
            bits,
        });
        rest = &tail[length..];
    }
    Some(())
}

fn class_bits(class: u8) -> u32 {
    match class {
        b'u' => SET_UID | 0o700,
        b'g' => SET_GID | 0o070,
        b'o' => STICKY | 0o007,
        _ => ALL_BITS,
    }
}

/// Returns the bits after an operator, their length in bytes, and whether they
/// are a number.
fn parse_bits(text: &[u8], named: bool) -> Option<(Bits, usize, bool)> {
    let given = |bits, execute_if_any| Bits::Given {
        bits,
        execute_if_any,
    };
    let digits = text
        .iter()
        .take_while(|b| (b'0'..=b'7').contains(b))
        .count();
    if digits > 0 {
        // A number applies to all classes, and must end the clause.
        if named || digits != text.len() {
            return None;
        }
        let bits = text[..digits].iter().try_fold(0u32, |bits, digit| {
            Some(bits * 8 + u32::from(digit - b'0')).filter(|b| *b <= ALL_BITS)
        })?;
        return Some((given(bits, false), digits, true));
    }
    if let Some(class @ (b'u' | b'g' | b'o')) = text.first() {
        return Some((Bits::CopyOf(class_bits(*class) & 0o777), 1, false));
    }
    let (mut bits, mut execute_if_any) = (0, false);
    let letters = text.iter().take_while(|b| b"rwxXst".contains(b)).count();
    for letter in &text[..letters] {
        match letter {
            b'r' => bits |= 0o444,
            b'w' => bits |= 0o222,
            b'x' => bits |= 0o111,
            b'X' => execute_if_any = true,
            b's' => bits |= SET_UID | SET_GID,
            _ => bits |= STICKY,
        }
    }
    Some((given(bits, execute_if_any), letters, false))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_look_as_in_ls() {
        for (mode, expected) in [
            (0o100644, "-rw-r--r--"),
            (0o040755, "drwxr-xr-x"),
            (0o041777, "drwxrwxrwt"),
            (0o041776, "drwxrwxrwT"),
            (0o104755, "-rwsr-xr-x"),
            (0o106644, "-rwSr-Sr--"),
            (0o120777, "lrwxrwxrwx"),
            (0o010600, "prw-------"),
            (0o140600, "srw-------"),
            (0o060660, "brw-rw----"),
            (0o020666, "crw-rw-rw-"),
            (0o000000, "?---------"),
        ] {
            assert_eq!(render(mode), expected.as_bytes(), "{mode:o}");
        }
    }

    #[test]
    fn modes_are_read_as_chmod_reads_them() {
        for (text, old, is_dir, expected) in [
            ("644", 0o777, false, Some(0o644)),
            ("07777", 0, false, Some(0o7777)),
            ("u+x", 0o644, false, Some(0o744)),
            ("a-w,u+w", 0o666, false, Some(0o644)),
            ("g=u", 0o750, false, Some(0o770)),
            ("+X", 0o644, false, Some(0o644)),
            ("+X", 0o644, true, Some(0o755)),
            ("u=rw,go=", 0o777, false, Some(0o600)),
            ("u+s,g+s,+t", 0, false, Some(0o7000)),
            ("=4755", 0, false, Some(0o4755)),
            ("u=r+w", 0, false, Some(0o600)),
            ("8", 0, false, None),
            ("", 0, false, None),
            ("u", 0, false, None),
            ("u+q", 0, false, None),
            ("17777", 0, false, None),
            ("u+x,", 0, false, None),
        ] {
            let read = ModeChange::parse(text.as_bytes()).map(|m| m.apply(old, is_dir, 0));
            assert_eq!(read, expected, "{text} on {old:o}");
        }
    }
}
