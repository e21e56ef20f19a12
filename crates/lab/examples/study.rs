//! Does a study: `cargo run --release -p lab --example study -- NAME [PARAMETERS] [SEEDS] [DIRECTORY]`
//!
//! Parameters are JSON, `{}` for the defaults. Prints the mean of each row over the seeds 1 to SEEDS (1), and
//! writes the pictures of the first into the directory, if one is given.

use std::error::Error;
use std::path::Path;

use lab::study::{self, Row};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let argument = |index: usize, default: &str| {
        arguments.get(index).cloned().unwrap_or_else(|| default.to_owned())
    };
    let (name, parameters) = (argument(0, ""), argument(1, "{}"));
    let seeds: u64 = argument(2, "1").parse()?;
    let mut means: Vec<(Row, u32)> = Vec::new();
    for seed in 1..=seeds {
        let parameters: serde_json::Value = serde_json::from_str(&parameters)?;
        let findings = study::run(&name, parameters, seed)?;
        for row in findings.rows {
            let same = |(known, _): &&mut (Row, u32)| {
                known.measure == row.measure && known.labels == row.labels
            };
            match means.iter_mut().find(same) {
                Some((known, count)) => {
                    (known.value, *count) = (known.value + row.value, *count + 1)
                }
                None => means.push((row, 1)),
            }
        }
        if let Some(directory) = arguments.get(3).filter(|_| seed == 1) {
            for picture in findings.pictures {
                let file = Path::new(directory).join(picture.name).with_extension("png");
                std::fs::write(file, picture.png)?;
            }
        }
    }
    for (Row { measure, labels, value, unit }, count) in means {
        let labels: Vec<String> =
            labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
        println!("{measure} {} {:.3} {unit}", labels.join(" "), value / f64::from(count));
    }
    Ok(())
}
