use super::*;
use crate::policy_text::{PolicySection, TransportName};
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
fn every_mistake_has_its_line_and_column_and_what_was_meant() {
    for (from, to, told) in [
        ("seeds = 3", "seeds = 0", "6:9: run.seeds is 0"),
        ("of = \"thin\"", "of = \"b\"", "26:18: measure of \"b\": there is no such flow"),
        (
            "\"flow.thin.policy\" = [",
            "\"flow.thin.polcy\" = [",
            "24:1: with flow.thin.polcy = lksctp, network.rtt = 0ms: unknown key \"polcy\"; did you mean \"policy\"?",
        ),
        (
            "[\"lksctp\", \"thin\", {",
            "[\"lksctp\", \"thinn\", {",
            "24:33: with flow.thin.policy = thinn, network.rtt = 0ms: there is no policy \"thinn\"; did you mean \"thin\"?",
        ),
        (
            "[\"0ms\", \"100ms\"]",
            "[\"0ms\", \"100\"]",
            "23:25: with flow.thin.policy = lksctp, network.rtt = 100: ",
        ),
        // The sweep replaces it in every cell, which is no reason to be silent.
        (
            "policy = \"lksctp\"",
            "policy = \"lksctpp\"",
            "19:10: there is no policy \"lksctpp\"; did you mean \"lksctp\"?",
        ),
        ("dup-threshold-thin = 1", "dup-treshold-thin = 1", "24:41: "),
        ("warm_up = \"5s\"", "warm_up = \"60s\"", "5:11: run.warm_up is 60s"),
    ] {
        let text = refused(from, to);
        assert!(text.starts_with(told), "{text}");
    }
    // Lists of a size count for that size alone.
    let small = |text: &str| Plan::parse(text, Size::Small, None).unwrap_err().to_string();
    let text = small(&PLAN.replacen("[\"100ms\"]", "[\"100\"]", 1));
    assert!(text.starts_with("11:28: with "), "{text}");
    assert!(refused("[\"0ms\", \"100ms\"]", "[\"x\", \"100ms\"]").starts_with("23:18: with "));
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
        let TransportText::Own(transport) = flow.transport else { panic!("{flow:?}") };
        flow.policy.build(transport).unwrap()
    };
    assert_eq!(policy(2), recovery::RecoveryPolicy::sctp_thin());
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
        ("rtt = \"50ms\"", "rrt = \"50ms\"", &["rrt", "did you mean \"rtt\"", "14:1: "]),
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
        ("seeds = 3", "seeds = 9000000000000000000", &["10000000 runs", "fewer seeds"]),
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
            "duration = \"60s\"\n",
            "duration = \"1000000h\"\n",
            &["run.duration", "3600000000s", "366 days"],
        ),
        (
            "duration = \"60s\"\n",
            "duration = \"60s\"\ngrace = \"9000h\"\n",
            &["run.grace", "366 days"],
        ),
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
    let crate::world::Network::Dumbbell(links) = built.build(&Files::default(), &[]).unwrap()
    else {
        panic!()
    };
    assert_eq!(links.forward.delay, Duration::from_millis(25));
    assert_eq!(links.forward.queue, QueueLimit::bytes(75_000));
    assert_eq!(links.forward.loss, LossModel::None);
    assert!(matches!(links.backward.loss, LossModel::GilbertElliott(_)));
    let two = "kind = \"two-path\"\nrtt = \"10ms\"\npaths = [{ blackouts = [\"10s..20s\"] }, { delay = \"20ms\" }]";
    let crate::world::Network::Paths(paths) = network(two).build(&Files::default(), &[]).unwrap()
    else {
        panic!()
    };
    assert_eq!((paths.len(), paths[0].forward.blackouts.len()), (2, 1));
    assert_eq!(paths[1].backward.delay, Duration::from_millis(20));
    for wrong in ["kind = \"two-path\"", "kind = \"pair\"\npaths = [{}, {}]"] {
        assert!(network(wrong).build(&Files::default(), &[]).is_err());
    }
}

fn built(text: &str, ways: &[Option<HopsText>]) -> Result<crate::world::Network, PlanError> {
    let section: NetworkSection = toml::from_str(text).unwrap();
    section.build(&Files::default(), ways)
}

#[test]
fn what_is_said_closer_to_a_link_counts() {
    let crate::world::Network::Paths(paths) = built(
        "kind = \"two-path\"\nrtt = \"100ms\"\nrate = \"10mbit\"\nloss = \"1%\"\nforward = { rate = \"5mbit\" }\n\
         paths = [{}, { rate = \"2mbit\", rtt = \"30ms\", backward = { loss = \"0%\", delay = \"1ms\" } }]",
        &[],
    )
    .unwrap() else {
        panic!()
    };
    let rate = |link: &netsim::LinkConfig| link.rate.unwrap().bits_per_second() / 1_000_000;
    let delay = |link: &netsim::LinkConfig| link.delay.as_millis();
    assert_eq!((rate(&paths[0].forward), rate(&paths[0].backward)), (5, 10));
    assert_eq!((rate(&paths[1].forward), rate(&paths[1].backward)), (2, 2));
    assert_eq!((delay(&paths[0].forward), delay(&paths[1].forward)), (50, 15));
    assert_eq!((delay(&paths[0].backward), delay(&paths[1].backward)), (50, 1));
    assert_eq!(paths[1].backward.loss, LossModel::None);
    assert_ne!(paths[1].forward.loss, LossModel::None);
}

#[test]
fn a_link_can_have_all_that_the_virtual_network_knows() {
    let crate::world::Network::Pair(links) = built(
        "kind = \"pair\"\nrate = \"9600bit\"\nframing = \"ppp\"\nqueue = \"red 5p 15p 60p ecn\"\nmtu = 576\n\
         jitter = \"exponential 3ms\"\ncross = \"70% 5ms 60ms\"\nreorder = \"1% 20ms\"\nduplicate = \"2%\"\n\
         corrupt = \"3%\"\nallow_reordering = true\nprofile = \"2s loss=3%\"\nblackouts = [\"5s..6s\"]",
        &[],
    )
    .unwrap() else {
        panic!()
    };
    let link = links.forward;
    assert_eq!((link.framing, link.mtu), (netsim::link::Framing::PPP, Some(576)));
    assert!(link.discipline.marks() && link.cross.is_some() && link.allow_reordering);
    assert_eq!((link.profile.len(), link.blackouts.len()), (1, 1));
    assert_eq!(link.reorder.extra_delay, Duration::from_millis(20));
    assert!(link.duplicate < link.corrupt);
    assert!(matches!(link.jitter, netsim::Jitter::Exponential { .. }));
}

#[test]
fn a_chain_has_its_hops_and_flows_take_some_of_them() {
    let text = "kind = \"chain\"\nrtt = \"90ms\"\nrate = \"10mbit\"\nqueue = \"1bdp\"\n\
                hops = [{}, { rate = \"2mbit\", queue = \"codel\" }, { delay = \"40ms\" }]";
    let ways = [None, Some("2".parse().unwrap()), Some("2..3".parse().unwrap())];
    let crate::world::Network::Chain { hops, ways } = built(text, &ways).unwrap() else { panic!() };
    assert_eq!(ways, [0..3, 1..2, 1..3]);
    let delays = hops.iter().map(|hop| hop.forward.delay.as_millis());
    assert_eq!(delays.collect::<Vec<_>>(), [15, 15, 40]);
    assert_eq!(hops[0].forward.queue, QueueLimit::bytes(112_500), "the round trip is that of all");
    assert!(built(text, &[Some("3..4".parse().unwrap())]).is_err());
    for wrong in ["0", "2..1", "x", ""] {
        assert!(wrong.parse::<HopsText>().is_err(), "{wrong}");
    }
}

#[test]
fn access_lines_are_apart_from_the_core() {
    let crate::world::Network::Access { core, sender, receiver } = built(
        "kind = \"access\"\nrtt = \"20ms\"\nrate = \"100mbit\"\nqueue = \"100p\"\n\
         sender_access = { forward = { rate = \"1mbit\", queue = \"20p\" }, backward = { rate = \"16mbit\" }, rtt = \"10ms\" }",
        &[],
    )
    .unwrap() else {
        panic!()
    };
    let sender = sender.unwrap();
    assert!(receiver.is_none());
    assert_eq!(
        (core.forward.delay, sender.forward.delay),
        (Duration::from_millis(10), Duration::from_millis(5))
    );
    assert_eq!(
        (sender.forward.queue, sender.backward.queue),
        (QueueLimit::packets(20), QueueLimit::default())
    );
}

#[test]
fn keys_that_belong_to_other_kinds_are_refused() {
    for (text, part) in [
        ("kind = \"pair\"\nhops = [{}]", "chain"),
        ("kind = \"dumbbell\"\nsender_access = {}", "access"),
        ("kind = \"access\"", "sender_access"),
        ("kind = \"chain\"", "hops"),
    ] {
        let error = built(text, &[]).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
    let hop = built("kind = \"pair\"", &[Some("1".parse().unwrap())]).unwrap_err().to_string();
    assert!(hop.contains("chain"), "{hop}");
    for unknown in ["kind = \"pair\"\nspeed = 3", "kind = \"pair\"\nforward = { kind = \"pair\" }"]
    {
        let error = toml::from_str::<NetworkSection>(unknown).unwrap_err().to_string();
        assert!(error.contains("expected one of") && error.contains("line 2"), "{error}");
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
        ("kind = \"lines\"", "kind = \"lines\"\nnames = [\"a\", \"b\"]", "names has 2, measure 1"),
        ("kind = \"lines\"", "kind = \"gallery\"", "two axes"),
        ("kind = \"lines\"", "kind = \"cdf\"\nshape = \"step\"", "lines and curves"),
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

#[test]
fn a_key_that_names_several_flows_varies_them_together() {
    let other = "[[flow]]\nname = \"tcp\"\ntransport = \"tcp\"\npolicy = \"newreno\"\nworkload = { arrivals = \"1s\", size = 9 }\n[sweep]\n\"flow.thin, tcp.workload.arrivals\" = [\"50ms\", \"70ms\"]\n";
    let text = PLAN.replacen("[sweep]\n", other, 1);
    let plan = parse(&text).unwrap();
    assert_eq!(plan.cells.len(), 12);
    for (index, (cell, _)) in plan.cells.iter().enumerate() {
        // This key sorts before "flow.thin.policy".
        let (key, value) = &cell.texts()[0];
        assert!(key.contains("thin, tcp"), "{key}");
        let of = |flow: usize| flows(&plan, index).flows[flow].workload.arrivals.0.to_string();
        assert_eq!((of(0), of(1)), (value.clone(), value.clone()));
    }
    let wrong = text.replacen("flow.thin, tcp", "flow.thin,udp", 1);
    assert!(parse(&wrong).unwrap_err().to_string().contains("flow.thin,udp"));
}

#[test]
fn a_key_that_names_a_section_changes_several_of_its_values_together() {
    let sweep = "[sweep]\n\"flow.thin\" = [{ name = \"over TCP\", transport = \"tcp\", policy = \"linux\" }]\n\
                 network = [{ name = \"near\", rtt = \"5ms\" }, { rtt = \"400ms\", loss = \"bursts 5% 4\" }]\n\
                 [unused]\n";
    let text = PLAN.replacen("[sweep]\n\"network.rtt\" = [\"0ms\", \"100ms\"]\n\"flow.thin.policy\" = [\"lksctp\", \"thin\", { name = \"mod\", preset = \"lksctp\", dup-threshold-thin = 1 }]\n", sweep, 1);
    let text =
        text.replace("[unused]\n", "").replace("sweep = { \"network.rtt\" = [\"100ms\"] }\n", "");
    let begin = text.find("[[expect]]").unwrap();
    let plan = parse(&text[..begin]).unwrap();
    let cells: Vec<_> = plan.cells.iter().map(|(cell, _)| cell.texts()).collect();
    let of = |place: usize| cells[place].iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>();
    assert_eq!(of(0), ["over TCP", "near"]);
    assert_eq!(of(1), ["over TCP", "loss=bursts 5% 4 rtt=400ms"]);
    let thin = &flows(&plan, 1).flows[0];
    assert_eq!(
        (thin.transport, thin.name.as_str()),
        (TransportText::Own(TransportName::Tcp), "thin")
    );
    let network = |cell: usize| flows(&plan, cell).network.link.clone();
    assert_eq!(network(0).rtt.unwrap().0, Duration::from_millis(5));
    assert!(matches!(network(0).loss.unwrap().0, LossModel::Bernoulli(_)), "as [network] says");
    assert!(matches!(network(1).loss.unwrap().0, LossModel::GilbertElliott(_)));
    let wrong = text.replacen("\"flow.thin\"", "\"flow.fat\"", 1);
    let begin = wrong.find("[[expect]]").unwrap();
    assert!(parse(&wrong[..begin]).unwrap_err().to_string().contains("flow.fat"));
}

#[test]
fn what_is_expected_of_a_value_that_the_sweep_does_not_have_is_refused() {
    let from = "where = { \"flow.thin.policy\" = \"thin\" }";
    let error = refused(from, "where = { \"flow.thin.policy\" = \"thick\" }");
    assert!(error.contains("never \"thick\"; [sweep] has lksctp, thin, mod"), "{error}");
    // A key that the small version leaves out, or varies in another way, is no error.
    let at = PLAN.replacen(from, "where = { \"network.rtt\" = \"0ms\" }", 1);
    assert!(Plan::parse(&at, Size::Small, None).is_ok());
    let other = ("network.rtt", &["30ms".to_owned()][..]);
    assert!(Plan::parse_varied(&at, Size::Normal, None, Some(other)).is_ok());
}

#[test]
fn limits_of_streams_have_the_names_that_limits_of_latency_have() {
    let text = |limit: &str| {
        PLAN.replacen("[measure]", &format!("[measure]\nstreams = {{ limits = [\"{limit}\"] }}"), 1)
    };
    assert!(PLAN.contains("[measure]"));
    for limit in ["fps", "itu-limit", "500ms"] {
        Plan::parse(&text(limit), Size::Small, None).unwrap();
    }
    let error = Plan::parse(&text("fsp"), Size::Small, None).unwrap_err().to_string();
    assert!(error.contains("fsp") && error.contains("itu-good"), "{error}");
}

#[test]
fn losses_that_are_spared_are_paired_ones_and_limits_are_numbers_or_durations() {
    let with = "loss = \"5%\"\nspared = \"1s\"";
    assert!(parse(&PLAN.replacen("loss = \"5%\"", with, 1)).is_ok());
    let error = refused("loss = \"5%\"", &format!("{with}\npaired = false"));
    assert!(error.contains("network.spared is for paired losses"), "{error}");
    let error = refused("size = 100 }", "size = 100, limit = \"many\" }");
    assert!(error.contains("\"many\" is neither a number such as 800 messages"), "{error}");
    assert!(refused("size = 100 }", "size = 100, limit = \"0 messages\" }").contains("thin"));
}

#[test]
fn a_word_that_is_no_path_changes_values_anywhere_together() {
    let case = "[sweep]\n\"case\" = [{ name = \"near\", \"network.rtt\" = \"5ms\", \"run.duration\" = \"90s\" }, { name = \"far\", \"flow.thin.policy\" = \"thin\" }]\n[unused]\n";
    let from = PLAN.find("[sweep]").unwrap();
    let to = PLAN.find("[measure]").unwrap();
    let head = PLAN[..from].replace("sweep = { \"network.rtt\" = [\"100ms\"] }\n", "");
    let rest = &PLAN[to..PLAN.find("[[expect]]").unwrap()];
    let text = format!("{head}{}{rest}", case.replace("[unused]\n", ""));
    let plan = parse(&text).unwrap();
    let cells: Vec<String> = plan.cells.iter().map(|(cell, _)| cell.to_string()).collect();
    assert_eq!(cells, ["case = near", "case = far"]);
    let rtt = |cell| flows(&plan, cell).network.link.rtt.unwrap().0;
    assert_eq!([rtt(0), rtt(1)], [5, 50].map(Duration::from_millis));
    let lengths = [0, 1].map(|cell| flows(&plan, cell).duration);
    assert_eq!(lengths, [90, 60].map(Duration::from_secs));
    assert_eq!(flows(&plan, 1).flows[0].policy, PolicySection::preset("thin"));
    let wrong =
        parse(&text.replace("\"network.rtt\" = \"5ms\"", "\"netwrok.rtt\" = \"5ms\"")).unwrap_err();
    assert!(wrong.to_string().contains("netwrok"), "{wrong}");
}

#[test]
fn a_transport_that_no_crate_registered_is_refused_with_what_there_is() {
    let error = refused("transport = \"sctp\"", "transport = \"quic\"");
    assert!(error.contains("sctp, tcp") && error.contains("feature \"peers\""), "{error}");
}

#[test]
fn the_shortest_way_leaves_jitter_out_and_counts_lines_and_extra_time() {
    let way = |from: &str, to: &str| {
        let plan = parse(&PLAN.replacen(from, to, 1)).unwrap();
        flows(&plan, 0).shortest_way().unwrap()
    };
    // The sweep sets the round trip to 0; settings of one direction stay.
    let rtt = "rtt = \"50ms\"";
    assert_eq!(way(rtt, rtt), Duration::ZERO);
    let forward = "rtt = \"50ms\"\nforward = { delay = \"30ms\", jitter = \"10ms\" }";
    assert_eq!(way(rtt, forward), Duration::from_millis(20));
    let extra = "receiver = { delayed_ack = \"off\" }\nextra_rtt = \"8ms\"";
    assert_eq!(way("receiver = { delayed_ack = \"off\" }", extra), Duration::from_millis(4));
}
