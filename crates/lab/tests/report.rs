//! The reports of invented results: complete, well-formed, self-contained, and calm about anything
//! odd in their input.

use base::{Duration, Instant};
use lab::DemoReport;
use lab::report::{Ladder, LadderEvent, MarkKind, PolicyReport, PolicyResults, Side};
use results::LatencyRecorder;

#[path = "../examples/sample_report/data.rs"]
mod data;

/// The SVG elements of a page, each as text.
fn drawings(html: &str) -> Vec<&str> {
    html.match_indices("<svg")
        .filter_map(|(start, _)| html[start..].split_inclusive("</svg>").next())
        .collect()
}

fn empty_policy(name: &str) -> PolicyReport {
    PolicyReport {
        name: name.to_owned(),
        description: String::new(),
        results: PolicyResults::default(),
        cdf: Vec::new(),
        ladder: None,
    }
}

#[test]
fn every_drawing_is_well_formed() {
    let report = data::sample(2000);
    let page = report.to_html();
    assert!(drawings(&page).len() >= 5);
    for drawing in drawings(&page).into_iter().chain([&*report.to_svg()]) {
        roxmltree::Document::parse(drawing).unwrap();
    }
}

#[test]
fn figures_have_a_title_and_a_description_that_their_labels_point_at() {
    let report = data::sample(2000);
    let (page, picture) = (report.to_html(), report.to_svg());
    let figures: Vec<_> = drawings(&page).into_iter().chain([&*picture]).collect();
    let figures = figures.iter().filter(|drawing| drawing.contains("role=\"img\""));
    let mut ids = Vec::new();
    for figure in figures {
        let figure = roxmltree::Document::parse(figure).unwrap();
        let labels = figure.root_element().attribute("aria-labelledby").unwrap();
        for label in labels.split(' ') {
            let element = figure.descendants().find(|node| node.attribute("id") == Some(label));
            assert!(!element.unwrap().text().unwrap().is_empty(), "{label}");
            ids.push(label.to_owned());
        }
    }
    // Two renderings of the distribution and three ladders in the page; one picture.
    assert_eq!(ids.len(), 12);
}

#[test]
fn the_page_needs_no_network_and_no_script() {
    let page = data::sample(2000).to_html();
    for reference in ["http:", "https:", "<script", "<link", "src=", "url(", "@import"] {
        assert!(!page.contains(reference), "{reference}");
    }
    let picture = data::sample(2000).to_svg();
    assert_eq!(picture.matches("http:").count(), 1, "only the name space");
}

#[test]
fn no_coordinate_leaves_the_drawing() {
    let page = data::sample(20_000).to_html();
    for drawing in drawings(&page) {
        let drawing = roxmltree::Document::parse(drawing).unwrap();
        let view: Vec<f64> = drawing
            .root_element()
            .attribute("viewBox")
            .unwrap()
            .split(' ')
            .map(|number| number.parse().unwrap())
            .collect();
        for node in drawing.descendants() {
            for (name, end) in [
                ("x", 2),
                ("x1", 2),
                ("x2", 2),
                ("cx", 2),
                ("y", 3),
                ("y1", 3),
                ("y2", 3),
                ("cy", 3),
            ] {
                let Some(value) = node.attribute(name) else { continue };
                let value: f64 = value.parse().unwrap();
                assert!((0.0..=view[end]).contains(&value), "{name} {value} {view:?}");
            }
        }
    }
}

#[test]
fn names_from_outside_cannot_inject_markup() {
    let mut report = data::sample(100);
    let evil = "<script>alert(1)</script>\"&'";
    report.title = evil.to_owned();
    report.reproduce = evil.to_owned();
    report.parameters.push((evil.to_owned(), evil.to_owned()));
    report.policies[0].name = evil.to_owned();
    report.policies[0].description = evil.to_owned();
    assert!(!report.to_html().contains("<script"));
    roxmltree::Document::parse(&report.to_svg()).unwrap();
}

#[test]
fn the_json_has_the_documented_keys_in_the_order_of_the_policies() {
    let text = data::sample(2000).to_json();
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    let order =
        ["rfc", "lksctp", "thin"].map(|name| text.find(&format!("\"{name}\": {{")).unwrap());
    assert!(order.is_sorted());
    let thin = &document["policies"]["thin"];
    assert_eq!(thin["messages"], 2000);
    assert_eq!(thin["delivered"], 2000);
    for key in ["p50", "p90", "p99", "p999", "max", "mean"] {
        assert!(thin["latency_ms"][key].as_f64().unwrap() >= 50.0, "{key}");
    }
    let count = |key: &str| thin["retransmissions"][key].as_u64().unwrap();
    assert_eq!(count("timeout") + count("fast"), count("total"));
    for key in ["spurious", "packets_sent", "bytes_sent"] {
        assert!(thin[key].is_u64(), "{key}");
    }
}

#[test]
fn the_text_has_aligned_columns_and_no_escape_sequences() {
    let text = data::sample(2000).to_text();
    assert!(text.is_ascii());
    assert!(!text.contains('\x1b'));
    let rows = text.lines().filter(|line| line.starts_with("  "));
    let widths: Vec<_> = rows.map(str::len).collect();
    assert!(widths.len() > 20);
    assert!(widths.iter().all(|width| *width == widths[0]), "{widths:?}");
}

#[test]
fn a_policy_that_delivered_nothing_is_said_to() {
    let mut report = data::sample(100);
    report.policies.push(empty_policy("blackout"));
    assert!(report.to_html().contains("nothing delivered"));
    roxmltree::Document::parse(&report.to_svg()).unwrap();
    let document: serde_json::Value = serde_json::from_str(&report.to_json()).unwrap();
    assert!(document["policies"]["blackout"]["latency_ms"].is_null());
}

#[test]
fn reports_without_policies_or_without_numbers_are_drawn_too() {
    for policies in [Vec::new(), vec![empty_policy("one"), empty_policy("two")]] {
        let report = DemoReport {
            title: String::new(),
            parameters: Vec::new(),
            settings: Vec::new(),
            interrupted: false,
            policies,
            reproduce: String::new(),
        };
        assert!(!report.to_html().contains("NaN") && !report.to_svg().contains("inf"));
        report.to_text();
    }
}

#[test]
fn undelivered_messages_leave_the_curve_open_at_the_right_end() {
    let mut recorder = LatencyRecorder::new();
    (0..90).for_each(|step| recorder.record(Duration::from_millis(50 + step)));
    let mut policy = empty_policy("lossy");
    (policy.results.messages, policy.results.delivered) = (100, 90);
    policy.cdf = recorder.cdf(100);
    let mut report = data::sample(100);
    report.policies = vec![policy];
    assert!(!report.to_svg().contains("<circle"));
    report.policies[0].cdf = recorder.cdf(90);
    assert!(report.to_svg().contains("<circle"));
}

#[test]
fn a_ladder_of_events_in_any_order_even_before_the_loss_is_drawn() {
    let mut report = data::sample(100);
    let mark = |at| LadderEvent::Mark {
        side: Side::Receiver,
        at,
        kind: MarkKind::Delivered,
        label: "delivered".to_owned(),
    };
    let due = Instant::from_millis(100);
    let events = vec![mark(Instant::FAR_FUTURE), mark(due), mark(Instant::ZERO)];
    report.policies[0].ladder = Some(Ladder { due, delivered: Some(Instant::ZERO), events });
    let page = report.to_html();
    drawings(&page).into_iter().for_each(|one| drop(roxmltree::Document::parse(one).unwrap()));
    report.policies[0].ladder = Some(Ladder { due, delivered: None, events: Vec::new() });
    assert!(report.to_html().contains("not delivered in the time shown"));
}
