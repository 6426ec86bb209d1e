//! Questions in their short form, as the name of a directory: `?ext:o&size>1M`. "A POSIX directory
//! '/org.propeller.src/?ext:o' might conceptually represent a query" (Propeller, §Views).
//!
//! Terms are joined by `&`; all of them must hold. A term is a key, a sign and a value; `!` before it
//! negates it; values separated by commas are alternatives. Bytes that have a meaning here, and the
//! slash, are written as `%` and two hexadecimal digits in values. [`KEYS`] is the table of keys.

use crate::error::ViewError;
use crate::question::Question;

/// What follows a key: a sign, and a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sign {
    Is,
    Less,
    More,
}

/// How a value becomes a test.
type Test = fn(Sign, &[u8]) -> Result<Vec<Vec<u8>>, String>;

/// A key of the short form.
#[derive(Debug)]
pub struct Key {
    /// The key.
    pub name: &'static str,
    /// An example, and the find expression with the same meaning.
    pub example: (&'static str, &'static str),
    test: Test,
}

/// The keys. `in:` is not among them: it names a start point.
pub static KEYS: &[Key] = &[
    Key {
        name: "ext",
        example: ("ext:o", "-name '*.o'"),
        test: extension,
    },
    Key {
        name: "name",
        example: ("name:lib*", "-name 'lib*'"),
        test: |sign, value| plain("-name", sign, value),
    },
    Key {
        name: "path",
        example: ("path:*%2Ftests%2F*", "-path '*/tests/*'"),
        test: |sign, value| plain("-path", sign, value),
    },
    Key {
        name: "type",
        example: ("type:f", "-type f"),
        test: |sign, value| plain("-type", sign, value),
    },
    Key {
        name: "size",
        example: ("size>1M", "-size +1048576c"),
        test: size,
    },
    Key {
        name: "age",
        example: ("age<7d", "-mmin -10080"),
        test: age,
    },
    Key {
        name: "mtime",
        example: ("mtime>2024-01-01", "-newermt 2024-01-01"),
        test: mtime,
    },
    Key {
        name: "user",
        example: ("user:anna", "-user anna"),
        test: |sign, value| plain("-user", sign, value),
    },
    Key {
        name: "group",
        example: ("group:staff", "-group staff"),
        test: |sign, value| plain("-group", sign, value),
    },
    Key {
        name: "keyword",
        example: ("keyword:ssd", "-keyword ssd"),
        test: |sign, value| plain("-keyword", sign, value),
    },
    Key {
        name: "phrase",
        example: ("phrase:solid-state", "-phrase solid-state"),
        test: |sign, value| plain("-phrase", sign, value),
    },
    Key {
        name: "attr",
        example: ("attr:exposure<0.01", "-attr exposure<0.01"),
        test: |sign, value| plain("-attr", sign, value),
    },
];

/// Reads a question in its short form, without the question mark.
///
/// # Errors
/// With the term that is malformed.
pub fn parse(text: &[u8]) -> Result<Question, ViewError> {
    let refused = |why: String| ViewError::Short {
        text: text.to_vec(),
        why,
    };
    let mut question = Question::default();
    for term in text.split(|byte| *byte == b'&') {
        match term.strip_prefix(b"in:") {
            Some(start) => question.starts.push(start_of(start).map_err(refused)?),
            None => question.expression.extend(words(term).map_err(refused)?),
        }
    }
    // A value may be something that find refuses, such as an unknown type.
    question.check().map_err(|error| match error {
        ViewError::Question(why) => refused(why),
        other => other,
    })?;
    Ok(question)
}

fn start_of(value: &[u8]) -> Result<Vec<u8>, String> {
    let path = unescaped(value)?;
    let is_odd = |part: &[u8]| matches!(part, b"." | b".." | b"");
    match &path[..] {
        b"/" => Ok(path),
        [b'/', rest @ ..] if !rest.split(|byte| *byte == b'/').any(is_odd) => Ok(path),
        _ => Err("in: takes an absolute path, with %2F for each slash".into()),
    }
}

fn words(term: &[u8]) -> Result<Vec<Vec<u8>>, String> {
    let shown = String::from_utf8_lossy(term);
    let (negated, term) = match term.strip_prefix(b"!") {
        Some(rest) => (true, rest),
        None => (false, term),
    };
    let at = term.iter().position(|byte| b":=<>".contains(byte));
    let (name, rest) = term.split_at(at.unwrap_or(term.len()));
    let keys = || {
        KEYS.iter()
            .map(|key| key.name)
            .collect::<Vec<_>>()
            .join(", ")
    };
    let unknown = || {
        format!(
            "{shown} is no term: use KEY:VALUE, KEY<VALUE or KEY>VALUE, where KEY is in, {}",
            keys()
        )
    };
    let (sign, value) = rest.split_first().ok_or_else(unknown)?;
    let sign = match sign {
        b'<' => Sign::Less,
        b'>' => Sign::More,
        _ => Sign::Is,
    };
    let key = KEYS.iter().find(|key| key.name.as_bytes() == name);
    let key = key.ok_or_else(unknown)?;
    if value.is_empty() {
        return Err(format!("{shown} has no value"));
    }
    let mut words = Vec::new();
    if negated {
        words.push(b"!".to_vec());
    }
    words.push(b"(".to_vec());
    for (at, value) in value.split(|byte| *byte == b',').enumerate() {
        if at > 0 {
            words.push(b"-o".to_vec());
        }
        let test = (key.test)(sign, &unescaped(value)?);
        words.extend(test.map_err(|why| format!("{shown}: {why}"))?);
    }
    words.push(b")".to_vec());
    Ok(words)
}

/// Replaces percent signs and the hexadecimal digits behind them.
fn unescaped(value: &[u8]) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value;
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let digits = after.split_at_checked(2).and_then(|(digits, after)| {
            rest = after;
            let text = std::str::from_utf8(digits).ok()?;
            let is_hexadecimal = digits.iter().all(u8::is_ascii_hexdigit);
            u8::from_str_radix(text, 16).ok().filter(|_| is_hexadecimal)
        });
        match digits {
            Some(byte) if byte != 0 => bytes.push(byte),
            _ => return Err("a percent sign needs two hexadecimal digits after it, not 00".into()),
        }
    }
    Ok(bytes)
}

fn test(name: &str, value: impl Into<Vec<u8>>) -> Vec<Vec<u8>> {
    vec![name.as_bytes().to_vec(), value.into()]
}

fn plain(name: &str, sign: Sign, value: &[u8]) -> Result<Vec<Vec<u8>>, String> {
    match sign {
        Sign::Is => Ok(test(name, value)),
        _ => Err("use a colon here".into()),
    }
}

fn extension(sign: Sign, value: &[u8]) -> Result<Vec<Vec<u8>>, String> {
    let mut pattern = b"*.".to_vec();
    for byte in value {
        if b"*?[\\".contains(byte) {
            pattern.push(b'\\');
        }
        pattern.push(*byte);
    }
    plain("-name", sign, &pattern)
}

/// Splits a value into a number and its unit.
fn number(value: &[u8]) -> Option<(u64, &[u8])> {
    let digits = value
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let (number, unit) = value.split_at(digits);
    Some((std::str::from_utf8(number).ok()?.parse().ok()?, unit))
}

fn size(sign: Sign, value: &[u8]) -> Result<Vec<Vec<u8>>, String> {
    let wrong = "a size is a number of bytes, or of k, M, G or T";
    let (number, unit) = number(value).ok_or(wrong)?;
    let shift = match unit {
        b"" | b"c" => 0,
        b"k" | b"K" => 10,
        b"M" => 20,
        b"G" => 30,
        b"T" => 40,
        _ => return Err(wrong.into()),
    };
    let bytes = number.checked_mul(1 << shift).ok_or(wrong)?;
    let sign = match sign {
        Sign::Is => "",
        Sign::Less => "-",
        Sign::More => "+",
    };
    Ok(test("-size", format!("{sign}{bytes}c")))
}

fn age(sign: Sign, value: &[u8]) -> Result<Vec<Vec<u8>>, String> {
    let wrong = "an age is a number of m, h, d, w or y, such as 7d";
    let (number, unit) = number(value).ok_or(wrong)?;
    let minutes = match unit {
        b"m" => 1,
        b"h" => 60,
        b"d" => 24 * 60,
        b"w" => 7 * 24 * 60,
        b"y" => 365 * 24 * 60,
        _ => return Err(wrong.into()),
    };
    let minutes = number.checked_mul(minutes).ok_or(wrong)?;
    match sign {
        Sign::Less => Ok(test("-mmin", format!("-{minutes}"))),
        Sign::More => Ok(test("-mmin", format!("+{minutes}"))),
        Sign::Is => Err("use < or > here".into()),
    }
}

fn mtime(sign: Sign, value: &[u8]) -> Result<Vec<Vec<u8>>, String> {
    if number(value).is_some_and(|(_, unit)| matches!(unit, b"m" | b"h" | b"d" | b"w" | b"y")) {
        return Err("mtime takes a date, such as 2024-01-01; for an age use age< or age>".into());
    }
    let newer = test("-newermt", value);
    match sign {
        Sign::More => Ok(newer),
        Sign::Less => Ok([vec![b"!".to_vec()], newer].concat()),
        Sign::Is => Err("use < or > here".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Result<String, ViewError> {
        let question = parse(text.as_bytes())?;
        let words = question.words().join(&b' ');
        Ok(String::from_utf8_lossy(&words).into_owned())
    }

    #[test]
    fn terms_are_tests_of_find() {
        for (text, words) in [
            ("ext:o", "( -name *.o )"),
            ("ext:o&size>1M", "( -name *.o ) ( -size +1048576c )"),
            ("ext:c,h", "( -name *.c -o -name *.h )"),
            ("!ext:*", "! ( -name *.\\* )"),
            ("name:a%26b", "( -name a&b )"),
            ("path:*%2Ftests%2F*", "( -path */tests/* )"),
            ("in:%2Fsrv&type:f", "/srv ( -type f )"),
            ("size<10k", "( -size -10240c )"),
            ("size:0", "( -size 0c )"),
            ("age<7d", "( -mmin -10080 )"),
            ("mtime<2024-01-01", "( ! -newermt 2024-01-01 )"),
            ("user:root&group:root", "( -user root ) ( -group root )"),
            ("keyword:ssd&ext:pdf", "( -keyword ssd ) ( -name *.pdf )"),
            (
                "keyword:ssd AND (flash OR nvme)",
                "( -keyword ssd AND (flash OR nvme) )",
            ),
            ("keyword:ssd,disk", "( -keyword ssd -o -keyword disk )"),
            ("!phrase:solid%20state", "! ( -phrase solid state )"),
            ("attr:artist=Bach", "( -attr artist=Bach )"),
            ("attr:lines>=10", "( -attr lines>=10 )"),
            ("attr:encoding", "( -attr encoding )"),
        ] {
            assert_eq!(line(text).unwrap(), words, "{text}");
        }
    }

    #[test]
    fn malformed_terms_are_named() {
        for (text, says) in [
            ("", "is no term"),
            ("ext", "ext is no term"),
            ("ext:", "has no value"),
            ("ext:o&&type:f", "is no term"),
            ("colour:red", "colour:red is no term"),
            ("size>big", "a size is"),
            ("size>99999999999T", "a size is"),
            ("name>x", "use a colon"),
            ("age:7d", "use < or >"),
            ("mtime>7d", "use age<"),
            ("mtime>soon", ""),
            ("name:100%", "two hexadecimal digits"),
            ("name:%00", "two hexadecimal digits"),
            ("type:z", ""),
            ("keyword:ssd AND", "a word is missing"),
            ("keyword:%FF", ""),
            ("keyword<x", "use a colon"),
            ("attr:artist=", "a value is missing"),
            ("in:srv", "absolute path"),
            ("in:%2Fsrv%2F..%2Fetc", "absolute path"),
        ] {
            let error = line(text).unwrap_err().to_string();
            assert!(error.contains(says), "{text}: {error}");
        }
    }

    #[test]
    fn values_cannot_become_other_words() {
        // Values stay arguments: none of these acts.
        for text in [
            "name:-delete",
            "name:)",
            "user:0&name:%3B",
            "name:x -delete",
        ] {
            let question = parse(text.as_bytes()).unwrap();
            assert!(question.check().is_ok());
        }
    }

    #[test]
    fn examples_are_equivalent() {
        for key in KEYS {
            let (text, find) = key.example;
            if ["user", "group"].contains(&key.name) {
                continue;
            }
            let expected = format!("( {} )", find.replace('\'', ""));
            assert_eq!(line(text).unwrap(), expected);
        }
    }
}
