//! Reads the files named on standard input, one name a line, through a set or in a plain loop, and
//! prints the time and what the set did: `find DIR -type f | cold set|ordered|loop`.

use std::io::{BufRead, Read};
use std::sync::Arc;
use std::time::Instant;

use trawl_sets::{Local, Opener, Options, Set};

fn main() {
    let mode = std::env::args().nth(1).unwrap_or_default();
    let names: Vec<Vec<u8>> = std::io::stdin()
        .lock()
        .split(b'\n')
        .map_while(Result::ok)
        .collect();
    let (begin, mut bytes, mut buffer) = (Instant::now(), 0, Vec::new());
    let mut read = |mut file: std::fs::File| {
        buffer.clear();
        bytes += file.read_to_end(&mut buffer).unwrap_or(0);
    };
    if mode == "loop" {
        use std::os::unix::ffi::OsStrExt;
        let paths = names.iter().map(|name| std::ffi::OsStr::from_bytes(name));
        paths
            .filter_map(|path| std::fs::File::open(path).ok())
            .for_each(&mut read);
        return println!("loop: {:?}, {bytes} bytes", begin.elapsed());
    }
    let options = Options {
        ordered: mode == "ordered",
        ..Options::default()
    };
    let openers: Vec<Arc<dyn Opener>> = vec![Arc::new(Local)];
    let Ok(set) = Set::open(Box::new(names.into_iter()), openers, options) else {
        return;
    };
    set.apply(|member| {
        if let Ok(opened) = member {
            read(opened.file);
        }
    });
    println!(
        "set: {:?}, {bytes} bytes, {:#?}",
        begin.elapsed(),
        set.close()
    );
}
