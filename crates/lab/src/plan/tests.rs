use super::*;
use base::Duration;
use netsim::LossModel;
use netsim::link::QueueLimit;

const PLAN: &str = r#"
title = "A thin stream"
[run]
duration = "60s"
warm_up = "5s"
seeds = 3
[full]
duration = "2h"
seeds = 50
[small]
sweep = { "network.rtt" = ["100ms"] }
[network]
kind = "pair"
rtt = "50ms"
loss = "5%"
[[flow]]
name = "thin"
transport = "sctp"
policy = "lksctp"
receiver = { delayed_ack = "off" }
workload = { arrivals = "250ms", size = 100 }
[sweep]
"network.rtt" = ["0ms", "100ms"]
"flow.thin.policy" = ["lksctp", "thin", { name = "mod", preset = "lksctp", dup-threshold-thin = 1 }]
[measure]
latency = { of = "thin", by = "retransmission", quantiles = [0.5, 0.99] }
[open]
"network.queue" = "none: nothing is said of one"
[[expect]]
where = { "flow.thin.policy" = "thin" }
measure = "latency.mean[order=1]"
value = 300
unit = "ms"
source = "made up"
"#;

fn flows(plan: &Plan, cell: usize) -> &FlowsPlan {
    match &plan.cells[cell].1.subject {
        Subject::Flows(flows) => flows,
        Subject::Study(study) => panic!("{study:?}"),
    }
}

fn parse(text: &str) -> Result<Plan, PlanError> {
    Plan::parse(text, Size::Normal, None)
}

fn refused(from: &str, to: &str) -> String {
    assert!(PLAN.contains(from), "{from}");
    parse(&PLAN.replacen(from, to, 1)).unwrap_err().to_string()
}

#[test]
fn a_plan_has_a_cell_for_each_combination() {
    let plan = parse(PLAN).unwrap();
    let cells: Vec<_> = plan.cells.iter().map(|(cell, _)| cell.to_string()).collect();
    assert_eq!(
        cells,
        [
            "flow.thin.policy = lksctp, network.rtt = 0ms",
            "flow.thin.policy = lksctp, network.rtt = 100ms",
            "flow.thin.policy = thin, network.rtt = 0ms",
            "flow.thin.policy = thin, network.rtt = 100ms",
            "flow.thin.policy = mod, network.rtt = 0ms",
            "flow.thin.policy = mod, network.rtt = 100ms",
        ]
    );
    assert_eq!((plan.seeds, plan.jobs()), (3, 18));
    let policy = |cell: usize| {
        let flow = &flows(&plan, cell).flows[0];
        flow.policy.build(flow.transport).unwrap()
    };
    assert_eq!(policy(2), recovery::RecoveryPolicy::thin());
    assert_eq!(policy(4).loss.dup_threshold_while_thin, Some(1));
}

#[test]
fn other_sizes_replace_numbers_and_lists() {
    let full = Plan::parse(PLAN, Size::Full, None).unwrap();
    assert_eq!((full.cells.len(), full.seeds), (6, 50));
    assert_eq!(flows(&full, 0).duration, Duration::from_secs(7200));
    let small = Plan::parse(PLAN, Size::Small, Some(2)).unwrap();
    assert_eq!((small.cells.len(), small.seeds), (3, 2));
}

#[test]
fn what_makes_no_sense_is_named_with_what_would() {
    for (from, to, parts) in [
        ("rtt = \"50ms\"", "rtt = \"50\"", &["50", "50ms"][..]),
        ("rtt = \"50ms\"", "rrt = \"50ms\"", &["rrt", "rtt", "line"]),
        ("kind = \"pair\"", "kind = \"ring\"", &["ring", "dumbbell"]),
        ("\"thin\", { name", "\"thick\", { name", &["thick", "flow.thin.policy = thick", "lksctp"]),
        ("arrivals = \"250ms\"", "arrivals = \"often\"", &["often", "250ms", "bzflag"]),
        ("warm_up = \"5s\"", "warm_up = \"5min\"", &["300s", "run.warm_up"]),
        (
            "name = \"thin\"\ntransport",
            "name = \"thin\"\nstart = \"0s..59s\"\ntransport",
            &["thin", "60s", "start"],
        ),
        ("seeds = 3", "seeds = 0", &["seeds", "1"]),
        ("of = \"thin\"", "of = \"thick\"", &["thick", "thin"]),
        ("quantiles = [0.5, 0.99]", "quantiles = [99]", &["99", "0 to 1"]),
        (
            "\"network.rtt\" = [\"0ms\", \"100ms\"]",
            "\"network.rtt\" = []",
            &["network.rtt", "no values"],
        ),
        (
            "\"network.rtt\" = [\"0ms\", \"100ms\"]",
            "\"net.rtt\" = [\"0ms\"]",
            &["net.rtt", "\"net\""],
        ),
        ("delayed_ack = \"off\"", "delayed_ack = \"no\"", &["no", "off", "200ms"]),
        (
            "where = { \"flow.thin.policy\"",
            "where = { \"flow.thick.policy\"",
            &["flow.thick.policy"],
        ),
        ("value = 300", "", &["latency.mean[order=1]", "reported"]),
        ("dup-threshold-thin = 1", "dup-thresholds = 1", &["dup-threshold"]),
        ("[measure]", "[parameters]", &["[parameters]", "study"]),
        ("[run]", "study = \"tank\"\n[run]", &["[network]", "tank", "[parameters]"]),
        ("duration = \"60s\"\n", "", &["run.duration"]),
        (
            "where = { \"flow.thin.policy\" = \"thin\" }",
            "where = {}\nover = \"x\"\nminus = { \"flow.thin.policy\" = \"thin\" }",
            &["minus", "over"],
        ),
        ("loss = \"5%\"", "loss = \"5%\"\nqueue = \"100p\"", &["queue", "rate"]),
        ("size = 100", "size = 0", &["size", "1 byte"]),
    ] {
        let text = refused(from, to);
        assert!(parts.iter().all(|part| text.contains(part)), "{to}: {text}");
    }
}

#[test]
fn networks_read_as_people_write_them() {
    let network = |text: &str| -> NetworkSection { toml::from_str(text).unwrap() };
    let built = network(
        "kind = \"dumbbell\"\nrtt = \"50ms\"\nrate = \"8mbit\"\nqueue = \"1.5bdp\"\nbackward = { loss = \"bursts 5% 4\" }",
    );
    let crate::world::Network::Dumbbell(links) = built.build().unwrap() else { panic!() };
    assert_eq!(links.forward.delay, Duration::from_millis(25));
    assert_eq!(links.forward.queue, QueueLimit::bytes(75_000));
    assert_eq!(links.forward.loss, LossModel::None);
    assert!(matches!(links.backward.loss, LossModel::GilbertElliott(_)));
    let two = "kind = \"two-path\"\nrtt = \"10ms\"\npaths = [{ blackouts = [\"10s..20s\"] }, { delay = \"20ms\" }]";
    let crate::world::Network::Paths(paths) = network(two).build().unwrap() else { panic!() };
    assert_eq!((paths.len(), paths[0].forward.blackouts.len()), (2, 1));
    assert_eq!(paths[1].backward.delay, Duration::from_millis(20));
    for wrong in ["kind = \"two-path\"", "kind = \"pair\"\npaths = [{}, {}]"] {
        assert!(network(wrong).build().is_err());
    }
}

#[test]
fn a_study_stands_in_the_place_of_flows() {
    let plan = r#"
title = "Tanks"
study = "tank"
[run]
seeds = 2
[full]
seeds = 9
[parameters]
tanks = 3
[sweep]
"parameters.policy" = ["sack", "thin"]
"#;
    let full = Plan::parse(plan, Size::Full, None).unwrap();
    assert_eq!((full.cells.len(), full.seeds), (2, 9));
    let Subject::Study(study) = &full.cells[1].1.subject else { panic!() };
    assert!(matches!(&**study, Study::Tank(tank) if tank.policy == "thin" && tank.tanks == 3));
    for (from, to, parts) in [
        ("\"tank\"", "\"tanks\"", &["tanks", "rto-wlan-transfer"][..]),
        ("tanks = 3", "tonks = 3", &["tonks", "`tanks`"]),
        ("tanks = 3", "tanks = 1", &["`tanks`", "2 to 1000", "parameters.policy = sack"]),
        ("\"thin\"]", "\"fast\"]", &["fast", "parameters.policy = fast", "thin-rdb"]),
        ("seeds = 2", "seeds = 2\nduration = \"1s\"", &["run.duration", "tank"]),
        ("seeds = 9", "seeds = 9\nwarm_up = \"1s\"", &["run.warm_up", "tank"]),
    ] {
        let error = Plan::parse(&plan.replacen(from, to, 1), Size::Full, None).unwrap_err();
        let error = error.to_string();
        assert!(parts.iter().all(|part| error.contains(part)), "{to}: {error}");
    }
}

const FIGURE: &str = r#"
[[figure]]
kind = "lines"
title = "By round trip"
of = "thin"
measure = "latency.mean[order=1]"
x = "network.rtt"
by = "flow.thin.policy"
where = { "network.rtt" = ["0ms", "100ms"] }
axes = { x = { label = "RTT", unit = "ms", scale = "log" } }
marks = [{ axis = "y", value = 100, label = "shooters" }]
paper = [{ name = "paper", points = [[100, 350], ["200ms", 400]] }]
"#;

#[test]
fn figures_are_read_with_their_axes_marks_and_the_papers_points() {
    let plan = parse(&format!("{PLAN}{FIGURE}")).unwrap();
    let [figure] = plan.base.figures.as_slice() else { panic!() };
    assert_eq!(figure.kind, FigureKind::Lines);
    assert_eq!(figure.by, Names(vec!["flow.thin.policy".to_owned()]));
    assert_eq!(figure.cells["network.rtt"], Values(vec!["0ms".to_owned(), "100ms".to_owned()]));
    assert_eq!(figure.axes.x.scale, Some(ScaleName::Log));
    assert_eq!(figure.axes.y, AxisSection::default());
    let points = &figure.paper[0].points;
    assert_eq!(points, &[(Place::Number(100.0), 350.0), (Place::Name("200ms".to_owned()), 400.0)]);
}

#[test]
fn a_figure_that_cannot_be_drawn_says_what_would_be_right() {
    let refused = |from: &str, to: &str| {
        assert!(FIGURE.contains(from), "{from}");
        let figure = FIGURE.replacen(from, to, 1);
        parse(&format!("{PLAN}{figure}")).unwrap_err().to_string()
    };
    for (from, to, said) in [
        ("x = \"network.rtt\"\n", "", "needs x"),
        (
            "x = \"network.rtt\"",
            "x = \"network.rate\"",
            "it varies \"flow.thin.policy\", \"network.rtt\"",
        ),
        ("by = \"flow.thin.policy\"", "by = \"network.rtt\"", "stands twice"),
        ("kind = \"lines\"", "kind = \"heat-map\"", "needs y"),
        ("kind = \"lines\"", "kind = \"lines\"\ny = \"order\"", "y is for heat maps"),
        ("kind = \"lines\"", "kind = \"lines\"\nstacked = true", "stacked is for bars"),
        ("kind = \"lines\"", "kind = \"gallery\"", "two axes"),
        ("kind = \"lines\"", "kind = \"pie\"", "pie"),
        (
            "where = { \"network.rtt\"",
            "where = { \"network.loss\"",
            "does not vary \"network.loss\"",
        ),
    ] {
        let message = refused(from, to);
        assert!(message.contains(said), "{to}: {message}");
    }
}
