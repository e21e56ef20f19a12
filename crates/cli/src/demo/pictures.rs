//! README's moving picture, the numbers under it and the picture of docs/why.md are those of the
//! code as it is: `make pictures` makes them again.

use std::path::{Path, PathBuf};

use apps::demo::{PolicyReport, PolicyResults, Report, run_virtual};
use recovery::policy::SCTP_DEFAULT;

use super::tests::options;

/// Arguments of the command that draws README's picture, without the name of the file.
const COMMAND: [&str; 1] = ["--virtual"];

const BEGIN: &str = "<!-- make pictures: begin -->\n";
const END: &str = "<!-- make pictures: end -->\n";

/// Files of the source tree: README.md, its picture, and that of docs/why.md.
fn places() -> [PathBuf; 3] {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    ["README.md", "docs/images/loss.svg", "docs/images/demo.svg"].map(|name| root.join(name))
}

fn of<'a>(report: &'a Report, name: &str) -> &'a PolicyReport {
    report.policies.iter().find(|policy| policy.name == name).unwrap()
}

/// Milliseconds to three digits, with the unit.
fn millis(value: f64) -> String {
    let digits = if value >= 1000.0 { 10.0 } else { 1.0 };
    format!("{} ms", (value / digits).round() * digits)
}

/// The text below the picture in README.md, in Markdown, with the numbers of `report`.
fn caption(report: &Report) -> String {
    let [lksctp, ours] = ["lksctp", SCTP_DEFAULT].map(|name| &of(report, name).results);
    let latency = |one: &PolicyResults| one.latency_ms.unwrap();
    let per_hundred = |count: u64| count as f64 * 100.0 / ours.messages as f64;
    format!(
        "*Drawn by `thinstream demo {} --animation FILE`. Of {} messages of 100 bytes for each policy, four a second, RTT 100\n\
         ms, 5 % loss each way, 99 of 100 arrive within {} with `lksctp`, as Linux recovers, and within {} with the default,\n\
         `{}`; the last after {} and {}. The price: `{}` resends {:.1} times in 100 messages needlessly, when an acknowledgement is\n\
         lost, and sends {:.2} packets for each message, `lksctp` {:.2}; [docs/mechanisms.md](docs/mechanisms.md) says why.*\n",
        COMMAND.join(" "),
        ours.messages,
        millis(latency(lksctp).p99),
        millis(latency(ours).p99),
        SCTP_DEFAULT,
        millis(latency(lksctp).max),
        millis(latency(ours).max),
        SCTP_DEFAULT,
        per_hundred(ours.spurious),
        ours.packets_sent as f64 / ours.messages as f64,
        lksctp.packets_sent as f64 / lksctp.messages as f64,
    )
}

/// `readme` with this caption between the marks.
fn with_caption(readme: &str, caption: &str) -> String {
    let (before, rest) =
        readme.split_once(BEGIN).expect("README.md marks where the caption begins");
    let (_, after) = rest.split_once(END).expect("README.md marks where the caption ends");
    format!("{before}{BEGIN}{caption}{END}{after}")
}

#[test]
fn the_picture_in_the_readme_and_the_numbers_under_it_are_of_today() {
    let report = run_virtual(&options(&COMMAND).unwrap(), &|_, _| {}).unwrap().report;
    let places = places();
    let text = std::fs::read_to_string(&places[0]).unwrap();
    let moving = report.to_moving_svg().unwrap();
    let wanted = [with_caption(&text, &caption(&report)), moving, report.to_svg().unwrap()];
    for (place, wanted) in places.iter().zip(&wanted) {
        if std::env::var_os("THINSTREAM_BLESS").is_some() {
            std::fs::write(place, wanted).unwrap();
        }
        let kept = std::fs::read_to_string(place).unwrap_or_default();
        assert!(kept == *wanted, "{} is not of today: run make pictures", place.display());
    }
}

#[test]
fn a_caption_takes_the_place_of_the_last_and_nothing_else() {
    let readme = format!("# x\n{BEGIN}*old*\n{END}rest\n");
    let made = with_caption(&readme, "*new*\n");
    assert_eq!(made, format!("# x\n{BEGIN}*new*\n{END}rest\n"));
    assert_eq!(with_caption(&made, "*new*\n"), made);
}
