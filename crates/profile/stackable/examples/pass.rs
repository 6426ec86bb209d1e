//! Mounts a directory through the layer until it is unmounted, and prints what was counted: for
//! measuring what the layer costs.
//!
//! `pass SOURCE MOUNTPOINT [CACHE_SECONDS [kernel]]`

use std::path::Path;
use std::time::Duration;

use trawl_stackable::{Data, Options, mount};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [source, point, rest @ ..] = &words[..] else {
        return Err("pass SOURCE MOUNTPOINT [CACHE_SECONDS [kernel]]".into());
    };
    let mut options = Options::default();
    if let Some(seconds) = rest.first() {
        options.cache = Duration::from_secs(seconds.parse()?);
    }
    if rest.get(1).is_some_and(|word| word == "kernel") {
        options.data = Data::Kernel;
    }
    let profile = mount(Path::new(source), Path::new(point), &options)?.wait()?;
    for (name, one) in profile.by_total() {
        let counts = one.counts();
        println!("{name}: {} calls, {} ns", counts.entered, counts.total);
    }
    Ok(())
}
