//! Writes a report and all pictures of a profile into a directory:
//!
//! ```text
//! cargo run -p trawl-pictures --example picture -- DIRECTORY [PROFILE [SECOND]]
//! ```
//!
//! A profile is a file in Trawl's JSON, or in the paper's text format with one bucket for each
//! doubling of nanoseconds. Without one, a synthetic run of `grep -r` is drawn.

use std::error::Error;
use std::path::Path;
use std::{env, fs};

use trawl_histogram::text::Columns;
use trawl_histogram::{Capture, Resolution, Unit, json, text};
use trawl_pictures::{self as pictures, Measure, Picture, Second, Story, Theme};

#[path = "../tests/pictures/story.rs"]
mod story;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let (directory, profiles) = arguments
        .split_first()
        .ok_or("usage: picture DIRECTORY [PROFILE [SECOND]]")?;
    let directory = Path::new(directory);
    fs::create_dir_all(directory)?;
    let story = match profiles {
        [] => story::story(),
        [first, rest @ ..] => of_files(first, rest.first())?,
    };
    fs::write(directory.join("report.html"), pictures::html(&story))?;
    draw(directory, &story)?;
    println!("{}", directory.join("report.html").display());
    Ok(())
}

fn of_files(first: &str, second: Option<&String>) -> Result<Story> {
    let label = |path: &str| {
        Path::new(path)
            .file_stem()
            .map_or(String::new(), |stem| stem.to_string_lossy().into_owned())
    };
    let second = match second {
        Some(path) => Some(Second {
            first_label: label(first),
            label: label(path),
            profile: read(path)?.profile.into_whole(),
        }),
        None => None,
    };
    Ok(Story {
        title: label(first),
        captures: vec![read(first)?],
        second,
        ..Story::default()
    })
}

fn read(path: &str) -> Result<Capture> {
    let bytes = fs::read(path)?;
    if path.ends_with(".json") {
        return Ok(json::read(&bytes)?);
    }
    let columns = Columns {
        unit: Unit::Nanoseconds,
        resolution: Resolution::ONE,
        first_bucket: 0,
        interval_ns: None,
    };
    Ok(text::read(&bytes, &columns)?.into())
}

fn draw(directory: &Path, story: &Story) -> Result<()> {
    let Some(capture) = story.captures.first() else {
        return Ok(());
    };
    let (sliced, profile) = (&capture.profile, capture.profile.whole());
    save(directory, "complete", &pictures::complete(profile))?;
    if let Some((name, _)) = profile.by_total().first() {
        save(
            directory,
            "operation",
            &pictures::operation(profile, name, &story.times)?,
        )?;
        save(
            directory,
            "timeline",
            &pictures::timeline(sliced, name, Measure::Calls)?,
        )?;
        save(
            directory,
            "surface",
            &pictures::surface(sliced, name, Measure::Calls)?,
        )?;
        save(
            directory,
            "latency",
            &pictures::surface(sliced, name, Measure::Latency)?,
        )?;
    }
    if let Some(second) = &story.second {
        let labels = (second.first_label.as_str(), second.label.as_str());
        save(
            directory,
            "pair",
            &pictures::pair(profile, &second.profile, labels),
        )?;
    }
    let layers: Vec<_> = story
        .captures
        .iter()
        .map(|one| one.profile.whole())
        .collect();
    save(
        directory,
        "layers",
        &pictures::layers(&layers, &story.calls),
    )?;
    for file in pictures::gnuplot(capture) {
        fs::write(directory.join(file.name), file.content)?;
    }
    Ok(())
}

fn save(directory: &Path, name: &str, picture: &Picture) -> Result<()> {
    fs::write(directory.join(format!("{name}.svg")), picture.svg())?;
    fs::write(
        directory.join(format!("{name}.png")),
        picture.png(Theme::Light, 1.5)?,
    )?;
    fs::write(
        directory.join(format!("{name}-dark.png")),
        picture.png(Theme::Dark, 1.5)?,
    )?;
    Ok(())
}
