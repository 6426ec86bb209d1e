//! A pattern and paths with any bytes, in each language: an error, or a pattern that matches what
//! the pattern that its own text is matches.

#![no_main]

use libfuzzer_sys::fuzz_target;
use trawl_call::Pattern;
use trawl_call::options::Flags;

fuzz_target!(|data: &[u8]| {
    let Some((first, rest)) = data.split_first() else {
        return;
    };
    let fnmatch = if first & 1 == 0 { 0 } else { Flags::FNMATCH };
    let period = if first & 2 == 0 { 0 } else { Flags::PERIOD };
    let (language, _) = Flags(fnmatch | period).read().expect("flags that there are");
    let mut parts = rest.split(|byte| *byte == 0);
    let Ok(pattern) = Pattern::new(parts.next().unwrap_or_default(), language) else {
        return;
    };
    let again = Pattern::new(&pattern.to_text(), language).expect("its own text");
    for path in parts.take(8) {
        let state = pattern.state_at(path);
        assert_eq!(pattern.matches(path), again.matches(path));
        let _ = pattern.names(&state);
        let _ = pattern.below(path).map(|below| below.to_text());
    }
});
