//! Compares the comparison methods with labelled pairs, as in Figures 6.3–6.8 of the paper.
//!
//! `methods [SEED [RUNS [RESOLUTION [NOISE]]]]` prints for each method and each kind of work a table for
//! gnuplot: threshold, false positives, false negatives, all in percent. Tables are separated by two
//! blank lines: `plot "table" index 4 using 1:2 with lines, "" index 4 using 1:3 with lines`.

#[path = "../tests/analysis/labelled/mod.rs"]
mod labelled;

use labelled::{Change, Generator, Labelled, Work, errors, good_range};
use trawl_analysis::compare::{Method, Settings};
use trawl_histogram::Resolution;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, default: u64| arguments.get(at).map_or(Ok(default), |one| one.parse());
    let resolution = Resolution::try_from(number(2, 1)?)?;
    let noise = arguments.get(3).map_or(Ok(1.0), |one| one.parse())?;
    for work in [Work::Fixed, Work::Scaled] {
        let generator = Generator {
            seed: number(0, 1)?,
            runs: usize::try_from(number(1, 100)?)?,
            work,
            resolution,
            noise,
        };
        let pairs = generator.pairs();
        let different = pairs.iter().filter(|pair| pair.change.is_different());
        println!(
            "# {work:?} work: {} pairs, {} different",
            pairs.len(),
            different.count()
        );
        for method in Method::ALL {
            summary(&pairs, method);
        }
        for method in Method::ALL {
            table(&pairs, method, work);
        }
    }
    Ok(())
}

fn summary(pairs: &[Labelled], method: Method) {
    let settings = Settings::default();
    let errors = errors(pairs, method, &settings);
    let best = errors
        .iter()
        .min_by(|a, b| {
            let worse = |one: &labelled::Errors| one.false_positives.max(one.false_negatives);
            worse(a).total_cmp(&worse(b))
        })
        .expect("101 thresholds");
    let range = good_range(&errors, 0.05).map_or("never".to_owned(), |(low, high)| {
        format!("from {low} to {high}")
    });
    println!(
        "# {:10} best {:3}: false positives {:5.1} %, false negatives {:5.1} %; both below 5 %: {range}",
        method.name(),
        best.threshold_percent,
        best.false_positives * 100.0,
        best.false_negatives * 100.0,
    );
    print!(
        "#     wrong at {}, of each change:",
        method.threshold_percent()
    );
    for change in Change::ALL {
        let of: Vec<_> = pairs.iter().filter(|pair| pair.change == change).collect();
        let wrong = of.iter().filter(|pair| {
            let differs = pair.score(method, &settings) > method.threshold_percent();
            differs != change.is_different()
        });
        print!(" {change:?} {}/{}", wrong.count(), of.len());
    }
    println!();
}

fn table(pairs: &[Labelled], method: Method, work: Work) {
    println!(
        "\n\n# {} {work:?}: threshold, false positives, false negatives",
        method.name()
    );
    for one in errors(pairs, method, &Settings::default()) {
        println!(
            "{} {:.2} {:.2}",
            one.threshold_percent,
            one.false_positives * 100.0,
            one.false_negatives * 100.0
        );
    }
}
