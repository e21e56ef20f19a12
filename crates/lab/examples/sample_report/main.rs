//! Writes a report with invented numbers as page and picture into a folder, to see how it looks:
//! `cargo run -p lab --example sample_report -- FOLDER`

use std::path::PathBuf;

mod data;

fn main() -> std::io::Result<()> {
    let folder = PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| ".".to_owned()));
    let report = data::sample(20_000);
    std::fs::write(folder.join("report.html"), report.to_html())?;
    std::fs::write(folder.join("cdf.svg"), report.to_svg())?;
    print!("{}", report.to_text());
    Ok(())
}
