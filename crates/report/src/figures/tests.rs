use results::{Picture, Results, Row};

use super::*;
use crate::document::{Axis, Point, Scale, Series as Drawn, Shape};
use crate::section::tests::study;
use lab::plan::{AxisSection, Size};

/// The figures of the plan of two transports, with these sections.
fn drawn(sections: &str) -> Figures {
    let study = study();
    let text = format!("{}\n{sections}", study.plan.text);
    let plan = Plan::parse(&text, Size::Normal, None).unwrap();
    figures(&plan, &study.finished, "two")
}

fn plot(figure: &Figure) -> (&str, &Axis, &Axis, &[Drawn]) {
    match figure {
        Figure::Plot { title, x, y, series, .. } => (title, x, y, series),
        other => panic!("{other:?}"),
    }
}

fn names(series: &[Drawn]) -> Vec<&str> {
    series.iter().map(|one| one.name.as_str()).collect()
}

#[test]
fn bars_stand_over_the_values_of_a_label_with_a_series_for_each_policy() {
    let all = drawn(
        r#"
[[figure]]
kind = "bars"
title = "Causes"
of = "sctp"
measure = "retransmissions.share[order=1]"
x = "cause"
by = "flow.sctp.policy"
stacked = true
axes = { y = { label = "share" } }
paper = [{ name = "paper", points = [["timeout", 20]] }]
"#,
    );
    assert_eq!(all.problems, [""; 0]);
    let [figure] = all.figures.as_slice() else { panic!() };
    assert_eq!(figure.name(), "two-1");
    let (title, x, y, series) = plot(figure);
    assert_eq!(title, "Causes");
    assert_eq!(x.categories.as_ref().unwrap()[..2], ["timeout", "fast"]);
    assert_eq!((y.label.as_str(), y.unit.as_deref()), ("share", Some("%")));
    assert_eq!(names(series), ["lksctp", "thin", "paper"]);
    assert!(series[0].shape == Shape::Stack && series[2].paper);
    assert_eq!(series[2].points, [Point::Plain(0.0, 20.0)]);
    // The shares of all causes are all there is.
    let sum: f64 = series[0].points.iter().map(|point| point.y()).sum();
    assert!((sum - 100.0).abs() < 1e-3, "{sum}");
}

#[test]
fn names_that_are_counts_stand_in_their_order_whatever_came_first() {
    let wished = AxisSection::default();
    let stand = |texts: &[&str]| {
        let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        places::Places::new(&texts, "order", &wished, true).axis.categories.unwrap()
    };
    assert_eq!(stand(&["0", "1", "2", "1+", "3", "4+"]), ["0", "1", "1+", "2", "3", "4+"]);
    assert_eq!(stand(&["10", "9"]), ["9", "10"]);
    assert_eq!(stand(&["timeout", "fast", "1+"]), ["timeout", "fast", "1+"]);
}

#[test]
fn what_does_not_depend_on_another_flows_key_is_drawn_once() {
    let all = drawn(
        "[[figure]]\nkind = \"bars\"\ntitle = \"t\"\nmeasure = \"latency.mean\"\nx = \"order\"\nby = \"flow.sctp.policy\"",
    );
    let (_, _, _, series) = plot(&all.figures[0]);
    assert_eq!(names(series), ["sctp, lksctp", "sctp, thin", "tcp"]);
    assert!(series[0].points[0].bounds().is_some(), "a mean of three seeds has an interval");
}

#[test]
fn a_swept_key_that_is_neither_drawn_nor_fixed_makes_a_figure_for_each_value() {
    let section = "[[figure]]\nkind = \"lines\"\ntitle = \"t\"\nof = \"sctp\"\nmeasure = [\"latency.mean\", \"latency.max\"]\nx = \"order\"\n";
    let all = drawn(section);
    let titles: Vec<_> = all.figures.iter().map(|figure| plot(figure).0).collect();
    assert_eq!(titles, ["t (lksctp)", "t (thin)"]);
    assert_eq!(names(plot(&all.figures[0]).3), ["latency.mean", "latency.max"]);
    let named = drawn(&format!("{section}names = [\"mean\", \"longest\"]\n"));
    assert_eq!(names(plot(&named.figures[0]).3), ["mean", "longest"]);
    let fixed = drawn(&format!("{section}where = {{ \"flow.sctp.policy\" = \"thin\" }}\n"));
    assert_eq!(fixed.figures.len(), 1);
    assert_eq!(plot(&fixed.figures[0]).0, "t");
}

#[test]
fn distributions_rise_to_one_within_bounds_over_seeds_in_the_unit_asked_for() {
    let all = drawn(
        r#"
[[figure]]
kind = "cdf"
title = "Latency"
of = "sctp"
measure = "latency"
by = "flow.sctp.policy"
axes = { x = { unit = "s", scale = "log" }, y = { scale = "tail" } }

[[figure]]
kind = "ccdf"
title = "Latency"
of = "sctp"
measure = "latency"
by = "flow.sctp.policy"
"#,
    );
    let (_, x, y, series) = plot(&all.figures[0]);
    assert_eq!(
        (x.unit.as_deref(), x.scale, y.scale),
        (Some("s"), Some(Scale::Log), Some(Scale::Tail))
    );
    assert!(y.max.unwrap() < 1.0);
    assert_eq!(names(series), ["lksctp", "thin"]);
    for one in series {
        assert!(
            one.points
                .windows(2)
                .all(|pair| pair[0].x() < pair[1].x() && pair[0].y() <= pair[1].y())
        );
        assert_eq!(one.points.last().unwrap().y(), 1.0);
        // A round trip of 100 ms: the first messages take 50 ms.
        assert!((one.points[0].x() - 0.05).abs() < 0.001, "{:?}", one.points[0]);
        assert!(
            one.points
                .iter()
                .filter_map(|point| Some((point.y(), point.bounds()?)))
                .all(|(y, (low, high))| { low <= y && y <= high && high <= 1.0 })
        );
        assert!(one.points.iter().any(|point| point.bounds().is_some()));
        assert!(one.points.len() < 500, "{}", one.points.len());
    }
    let (_, _, y, series) = plot(&all.figures[1]);
    assert_eq!(y.scale, Some(Scale::Log));
    assert!(series[0].points.iter().all(|point| point.y() > 0.0));
}

#[test]
fn a_heat_map_has_a_cell_for_each_pair() {
    let all = drawn(
        "[[figure]]\nkind = \"heat-map\"\ntitle = \"t\"\nof = \"sctp\"\nmeasure = \"retransmissions.share\"\nx = \"cause\"\ny = \"order\"\nwhere = { \"flow.sctp.policy\" = \"thin\" }",
    );
    let Figure::HeatMap { x, y, cells, value, .. } = &all.figures[0] else { panic!() };
    let (columns, rows) = (x.categories.as_ref().unwrap().len(), y.categories.as_ref().unwrap());
    assert_eq!(rows[..2], ["1", "2"]);
    assert_eq!(cells.len(), columns * rows.len());
    assert_eq!(value.unit.as_deref(), Some("%"));
}

#[test]
fn a_plan_that_asks_for_no_figures_gets_those_of_what_it_compares_and_of_distributions() {
    let study = study();
    let all = figures(&study.plan, &study.finished, "two");
    assert_eq!(all.problems, [""; 0]);
    let titles: Vec<_> = all.figures.iter().map(|figure| plot(figure).0).collect();
    assert_eq!(titles[0], "latency, mean (order 1)");
    assert!(titles.contains(&"latency, how it is distributed"), "{titles:?}");
}

#[test]
fn a_figure_of_what_nobody_measured_is_a_problem_and_no_figure() {
    let all = drawn("[[figure]]\nkind = \"cdf\"\ntitle = \"No\"\nmeasure = \"frozen\"");
    assert!(all.figures.is_empty());
    assert_eq!(all.problems, ["figure \"No\": nothing here has frozen"]);
}

#[test]
fn a_gallery_shows_the_run_that_is_the_median_by_the_number_that_its_plan_names() {
    use lab::engine::{Finished, Job};

    studies::register();

    let plan = |more: &str| {
        let text = format!(
            "title = \"t\"\nstudy = \"pictures\"\nrun = {{ seeds = 4 }}\nparameters = {{}}\nsweep = {{ \"parameters.carriage\" = [\"one-stream\", \"streams\"] }}\n[[figure]]\nkind = \"gallery\"\ntitle = \"t\"\ncaption = \"c.\"\nmeasure = \"sheet\"\nby = [\"parameters.carriage\"]\n{more}"
        );
        Plan::parse(&text, Size::Normal, None).unwrap()
    };
    // By the mean of both cells seeds are 3, 4, 1, 2: the lower one in the middle is 4.
    let mut finished = Finished::new();
    for (seed, one, other) in [(1, 30.0, 10.0), (2, 50.0, 10.0), (3, 5.0, 10.0), (4, 10.0, 20.0)] {
        for (cell, value) in [(0, one), (1, other)] {
            let picture = Picture {
                of: "pictures".to_owned(),
                measure: "sheet".to_owned(),
                labels: Vec::new(),
                caption: format!("seed {seed}"),
                png: Vec::new(),
            };
            let rows = vec![Row::new("pictures", "seen", value, "pixels")];
            let results = Results { rows, pictures: vec![picture], ..Results::default() };
            finished.insert(Job { cell, seed }, results);
        }
    }
    for (more, seen, told) in [
        (
            "median_of = \"seen\"",
            "seed 4",
            "c. Of seed 4, whose mean of seen over the pictures shown is the median of 4 seeds.",
        ),
        ("", "seed 1", "c."),
        ("median_of = \"unseen\"", "seed 1", "c."),
    ] {
        let all = figures(&plan(more), &finished, "t").figures;
        let [Figure::Gallery { caption, rows, .. }] = all.as_slice() else { panic!("{all:?}") };
        assert_eq!(caption, told);
        assert!(rows.iter().all(|row| row.images[0].alt == seen), "{rows:?}");
    }
}

#[test]
fn an_interval_of_what_is_never_negative_ends_at_zero() {
    assert_eq!(rows::reachable(-30.0, [5.0, 0.0, 90.0].iter()), 0.0);
    assert_eq!(rows::reachable(4.0, [5.0, 6.0].iter()), 4.0);
    assert_eq!(rows::reachable(-30.0, [5.0, -1.0, 90.0].iter()), -30.0);
}

#[test]
fn titles_keep_the_numbers_of_labels() {
    let title = |measure| defaults::title_of(measure);
    assert_eq!(title("latency.quantile[quantile=0.99]"), "latency, quantile 0.99");
    assert_eq!(title("latency.mean[order=1]"), "latency, mean (order 1)");
    assert_eq!(title("bytes_sent"), "bytes sent");
    assert_eq!(
        title("retransmissions.share[order=1,cause=timeout]"),
        "retransmissions, share (order 1, cause timeout)"
    );
}
