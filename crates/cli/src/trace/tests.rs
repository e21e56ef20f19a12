use super::*;

use std::path::PathBuf;
use std::sync::Arc;

use apps::demo::{Contender, DemoOptions, Length, PolicyResults, run_virtual};
use lab::workload::Arrivals;
use recovery::RecoveryPolicy;

use crate::line::parse;

fn parsed(line: &[&str]) -> Result<Arguments, String> {
    parse(line).map_err(|error| error.to_string())
}

fn selection(line: &[&str]) -> Selection {
    match parsed(line).unwrap().view {
        View::Summary(shown) | View::Latency(shown) => shown.selection,
        _ => panic!("{line:?}"),
    }
}

/// A folder of a test's own, which is gone in the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("thinstream-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Writes the capture of a demo; its own numbers, by policy.
fn demo(path: &str, policies: &[&str]) -> Vec<(String, PolicyResults)> {
    let contender = |name: &&str| Contender {
        name: (*name).to_owned(),
        description: String::new(),
        policy: Arc::new(RecoveryPolicy::preset(name).unwrap()),
    };
    let options = DemoOptions {
        length: Length::Messages(2000),
        rtt: Duration::from_millis(100),
        loss: base::Probability::from_ratio(5, 100),
        network: None,
        arrivals: Arrivals::Constant { interval: Duration::from_millis(250) },
        size: 100,
        flows: 4,
        seed: 1,
        policies: policies.iter().map(contender).collect(),
        pcap: Some(path.into()),
        events: None,
        verbose: false,
        reproduce: String::new(),
    };
    let report = run_virtual(&options, &|_, _| {}).unwrap();
    report.report.policies.into_iter().map(|policy| (policy.name, policy.results)).collect()
}

/// The sums of a policy's streams, whose interfaces have its name.
fn sums(report: &Report, policy: &str) -> [u64; 7] {
    let of_policy = report.streams.iter().filter(|stream| {
        let name = stream.interface.as_deref().unwrap_or_default();
        name.rsplit_once('-').is_some_and(|(name, _)| name == policy)
    });
    let mut sums = [0; 7];
    for stream in of_policy {
        let again = &stream.totals.retransmissions;
        let order = again.by_order;
        let counts = [
            again.total,
            order.first,
            order.second,
            order.third,
            order.more,
            again.spurious,
            stream.totals.bytes.unique / 100,
        ];
        sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
    }
    sums
}

#[test]
fn the_analysis_of_a_demos_capture_finds_what_the_demo_counted() {
    let folder = Folder::new("trace");
    let path = folder.path("demo.pcapng");
    let truth = demo(&path, &["rfc", "lksctp", "freebsd", "thin"]);
    let (report, ()) = selection(&["summary", &path]).analyse(()).unwrap();
    assert_eq!(report.streams.len(), 16);
    for (policy, results) in truth {
        let again = results.retransmissions;
        let expected = [
            again.total,
            again.first,
            again.second,
            again.third,
            again.more,
            results.spurious,
            results.messages,
        ];
        assert_eq!(sums(&report, &policy), expected, "{policy}");
    }
    // Which streams are thin is beyond doubt: a packet each 250 ms over a path of 100 ms.
    assert!(report.streams.iter().all(|stream| stream.thin.is_thin));
}

#[test]
fn causes_are_found_for_nearly_all_retransmissions() {
    let folder = Folder::new("trace-causes");
    let path = folder.path("demo.pcapng");
    let truth = demo(&path, &["rfc"]);
    let (report, ()) = selection(&["summary", &path]).analyse(()).unwrap();
    let again = report.all.retransmissions;
    let (found, known) = (again.by_cause, truth[0].1.retransmissions);
    // What the sender had heard cannot always be told from what happened a moment later.
    let off = found.timeout.abs_diff(known.timeout) + found.fast.abs_diff(known.fast);
    assert!(off * 50 <= again.total, "{found:?} {known:?}");
    assert_eq!(found.unknown, 0);
}

#[test]
fn lists_of_before_are_replaced_only_if_that_is_asked_for() {
    let folder = Folder::new("trace-anew");
    let path = folder.path("demo.pcapng");
    demo(&path, &["rfc"]);
    let lists = folder.path("lists");
    let line = ["summary", &path, "--csv", &lists];
    run(&parsed(&line).unwrap()).unwrap();
    let packets = || std::fs::read_to_string(Path::new(&lists).join("packets.csv")).unwrap();
    let before = packets();
    // A capture that is not there must not cost the lists of another.
    for other in [&path, "nowhere.pcapng"] {
        let refused = run(&parsed(&["summary", other, "--csv", &lists]).unwrap()).unwrap_err();
        let text = refused.to_string();
        assert!(refused.exit_code() == 2 && text.contains("--anew"), "{text}");
        assert_eq!(packets(), before);
    }
    run(&parsed(&["summary", &path, "--csv", &lists, "--anew"]).unwrap()).unwrap();
    assert_eq!(packets(), before);
}

#[test]
fn packets_of_which_acknowledgements_say_nothing_are_counted_and_told() {
    let folder = Folder::new("trace-left-out");
    let path = folder.path("demo.pcapng");
    demo(&path, &["rfc"]);
    // At any moment a packet of one of the streams is on its way.
    let told = (0..10).map(|step| {
        let end = format!("{}ms", 20_000 + step * 25);
        let selection = selection(&["summary", &path, "--end", &end]);
        let (report, ()) = selection.analyse(()).unwrap();
        for stream in &report.streams {
            let fates = stream.totals.fates;
            let known = fates.arrived + fates.lost + fates.repaired + fates.doubtful + fates.silent;
            assert_eq!(known + fates.left_out, stream.totals.packets.data, "{}", stream.id);
        }
        let left_out = report.streams.iter().map(|stream| stream.totals.fates.left_out).max();
        let text = tables::summary(&report, true, tables::Width::Wide);
        let line = format!("of {} packets acknowledgements say nothing", left_out.unwrap());
        assert_eq!(text.contains(&line), left_out > Some(0), "{text}");
        left_out
    });
    assert!(told.max().flatten() > Some(0));
}

#[test]
fn tables_name_every_stream_and_lists_have_every_packet() {
    let folder = Folder::new("trace-tables");
    let path = folder.path("demo.pcapng");
    demo(&path, &["thin"]);
    let lists = folder.path("lists");
    let line = ["summary", &path, "--csv", &lists, "--interval", "10s"];
    run(&parsed(&line).unwrap()).unwrap();
    let selection = selection(&["summary", &path]);
    let (report, ()) = selection.analyse(()).unwrap();
    let narrow = tables::summary(&report, false, tables::Width::Narrow);
    let too_wide = narrow.lines().find(|line| line.chars().count() > 100);
    assert!(too_wide.is_none() && narrow.contains("--wide") && !narrow.contains("2nd"), "{narrow}");
    let text = tables::summary(&report, true, tables::Width::Wide);
    assert!(text.contains("2nd") && text.contains("dup acks"), "{text}");
    for expected in
        ["1a  SCTP 10.", "thin", "packets/s", "bundled", "stream 0: 500 messages", "all: "]
    {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    let line = ["summary", &path, "--percentiles", "12.5,100", "-A"];
    let View::Summary(shown) = parsed(&line).unwrap().view else { panic!() };
    let options = Options { percentiles: shown.percentiles.clone(), ..shown.selection.options() };
    let (chosen, ()) = shown.selection.analyse_with(options, ()).unwrap();
    let own = chosen.all.percentiles.as_deref().unwrap();
    assert_eq!(own.of, [12.5, 100.0]);
    assert_eq!(own.payload_bytes, [100.0, chosen.all.payload_bytes.max]);
    assert_eq!(own.ack_latency_ms[1], chosen.all.ack_latency_ms.all.max);
    let mut text = tables::head(&chosen);
    tables::percentiles(&chosen, true, &mut text);
    tables::across(&chosen.across, &mut text);
    for expected in ["12.5%", "Over 4 streams", "| greatest: min"] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    assert!(!text.contains("1a"), "{text}");
    run(&parsed(&line).unwrap()).unwrap();
    let text = tables::latency(&report);
    assert!(text.contains("never retransmitted") && text.contains("round trip"), "{text}");
    let lines = |name: &str| {
        let text = std::fs::read_to_string(Path::new(&lists).join(name)).unwrap();
        let columns: Vec<usize> = text.lines().map(|line| line.split(',').count()).collect();
        assert!(columns.windows(2).all(|two| two[0] == two[1]), "{name}: {columns:?}");
        text.lines().count() as u64 - 1
    };
    assert_eq!(lines("packets.csv"), report.all.packets.data);
    assert_eq!(lines("latency.csv"), report.all.ack_latency_ms.all.count);
    // Each packet with something new was acknowledged, and says how long that took; what was sent
    // again does not.
    let packets = std::fs::read_to_string(Path::new(&lists).join("packets.csv")).unwrap();
    for line in packets.lines().skip(1) {
        let is_new = !line.contains(",retransmission,");
        assert_eq!(!line.ends_with(','), is_new, "{line}");
    }
    let sent = packets.lines().skip(1).map(|line| {
        let mut columns = line.split(',');
        (columns.next().unwrap(), columns.next().unwrap().parse::<f64>().unwrap())
    });
    let sent: Vec<(&str, f64)> = sent.collect();
    let in_order = |two: &[(&str, f64)]| two[0].0 != two[1].0 || two[0].1 <= two[1].1;
    assert!(sent.windows(2).all(in_order), "as they were sent");
    assert_eq!(lines("streams.csv"), 4);
    assert!((4 * 12..4 * 15).contains(&lines("intervals.csv")));
    assert_eq!((lines("delays.csv"), lines("delay_cdf.csv")), (0, 0));
    assert!(!Path::new(&lists).join("intervals.csv.part").exists());
}

#[test]
fn a_capture_packed_with_gzip_is_read_as_it_is_and_one_cut_short_as_far_as_it_goes() {
    use std::io::Write;
    let folder = Folder::new("trace-packed");
    let path = folder.path("demo.pcapng");
    demo(&path, &["thin"]);
    let plain = std::fs::read(&path).unwrap();
    // Two members, as tools write that pack in parts.
    let mut packed = Vec::new();
    for part in plain.chunks(plain.len() / 2 + 1) {
        let mut encoder = flate2::write::GzEncoder::new(&mut packed, flate2::Compression::fast());
        encoder.write_all(part).unwrap();
        encoder.finish().unwrap();
    }
    let report = |bytes: &[u8]| {
        let path = folder.path("demo.pcapng.gz");
        std::fs::write(&path, bytes).unwrap();
        selection(&["summary", &path]).analyse(()).unwrap().0
    };
    let (whole, cut) = (report(&packed), report(&packed[..packed.len() * 3 / 4]));
    let (unpacked, ()) = selection(&["summary", &path]).analyse(()).unwrap();
    assert_eq!(whole.capture.packets, unpacked.capture.packets);
    assert_eq!((whole.capture.damage, whole.all.packets.data), (None, unpacked.all.packets.data));
    assert!(cut.capture.packets < unpacked.capture.packets && cut.capture.damage.is_some());
}

#[test]
fn losses_are_shares_of_their_stream_and_delays_are_told_of_all_together() {
    let folder = Folder::new("trace-shares");
    let path = folder.path("demo.pcapng");
    demo(&path, &["thin"]);
    let lists = folder.path("lists");
    // The senders' side captured again as if it were the receivers': nothing is lost, nothing late.
    let copy = folder.path("copy.pcapng");
    std::fs::copy(&path, &copy).unwrap();
    let line = ["latency", &path, "--receiver", &copy, "--csv", &lists, "--packets", "2-3,5"];
    run(&parsed(&line).unwrap()).unwrap();
    let View::Latency(shown) = parsed(&[&line[..], &["--anew"]].concat()).unwrap().view else {
        panic!()
    };
    let report = shown.analyse(shown.selection.options(), &mut Failures::default()).unwrap();
    let delays = report.delays.as_ref().unwrap();
    let of_streams = report.streams.iter().filter_map(|it| it.receiver.as_ref());
    let counts = of_streams.map(|it| it.delay_variation_ms.latency.count);
    assert_eq!(delays.delay_variation_ms.latency.count, counts.sum::<u64>());
    assert!(tables::latency(&report).contains("all streams together"));
    let text = std::fs::read_to_string(Path::new(&lists).join("delay_cdf.csv")).unwrap();
    assert!(text.lines().any(|line| line.starts_with("all,application,")), "{text}");
    let mut text = String::new();
    tables::packets(&report, &mut text);
    let of_first = text.lines().skip_while(|line| *line != "Packets of 1a with user data").skip(2);
    let numbers: Vec<&str> = of_first.map_while(|line| line.split_whitespace().next()).collect();
    assert_eq!(numbers, ["2", "3", "5"], "{text}");
}

#[test]
fn streams_are_chosen_sorted_and_cut_as_asked() {
    let folder = Folder::new("trace-choice");
    let path = folder.path("demo.pcapng");
    demo(&path, &["rfc", "thin"]);
    let chosen = |more: &[&str]| {
        let selection = selection(&[&["summary", path.as_str()], more].concat());
        let (mut report, ()) = selection.analyse(()).unwrap();
        selection.choose(&mut report).map(|()| report)
    };
    let ids = |report: Report| report.streams.into_iter().map(|it| it.id).collect::<Vec<_>>();
    assert_eq!(ids(chosen(&["--stream", "2a", "--stream", "5"]).unwrap()), ["2a", "5a"]);
    let top = chosen(&["--sort", "retransmissions", "--top", "3"]).unwrap();
    let again: Vec<u64> = top.streams.iter().map(|it| it.totals.retransmissions.total).collect();
    assert!(again.len() == 3 && again.is_sorted_by(|one, two| one >= two), "{again:?}");
    assert_eq!(chosen(&["--interface", "thin-0"]).unwrap().streams.len(), 1);
    let stream = &top.streams[0];
    let (host, port) = stream.source.rsplit_once(':').unwrap();
    let (_, to) = stream.destination.rsplit_once(':').unwrap();
    let range = format!("{port}-{port}");
    let directed = ["--source-host", host, "--source-port", &range, "--destination-port", to];
    assert!(chosen(&directed).unwrap().streams.iter().all(|it| it.source == stream.source));
    assert!(!chosen(&directed).unwrap().streams.is_empty());
    assert!(chosen(&["--source-port", "1-2"]).unwrap().streams.is_empty());
    let error = chosen(&["--stream", "99"]).unwrap_err().to_string();
    assert!(error.contains("99") && error.contains("1a, 2a"), "{error}");
}

#[test]
fn what_a_capture_carried_is_written_and_replayed() {
    let folder = Folder::new("trace-replay");
    let path = folder.path("demo.pcapng");
    demo(&path, &["rfc"]);
    let (table, plan, page) =
        (folder.path("messages.csv"), folder.path("plan.toml"), folder.path("page.html"));
    run(&parsed(&["convert", &path, "--stream", "2a", "--out", &table]).unwrap()).unwrap();
    let lines = std::fs::read_to_string(&table).unwrap();
    assert_eq!((lines.lines().next(), lines.lines().count()), (Some("time_s,size"), 501));
    assert!(lines.lines().skip(1).all(|line| line.ends_with(",100")));
    let line = [
        "replay",
        &path,
        "--flow",
        "2a",
        "--policy",
        "lksctp,tcp:thin",
        "--network",
        "measured",
        "--network",
        "rtt=20ms",
        "--seeds",
        "2",
        "--plan",
        &plan,
        "--report",
        &page,
    ];
    run(&parsed(&line).unwrap()).unwrap();
    let text = std::fs::read_to_string(&plan).unwrap();
    let read = ::lab::plan::Plan::parse(&text, Default::default(), None).unwrap();
    assert_eq!((read.cells.len(), read.seeds), (4, 2));
    assert!(read.cells[0].0.to_string().contains("rtt=100ms forward.loss="), "{}", read.cells[0].0);
    assert!(std::fs::read_to_string(&page).unwrap().contains("the capture"));
    let line = [
        "replay", &path, "--flow", "2a", "--seeds", "1", "--loss", "7%", "--plan", &plan, "--anew",
    ];
    run(&parsed(&line).unwrap()).unwrap();
    let text = std::fs::read_to_string(&plan).unwrap();
    assert!(text.contains("rtt=100ms forward.loss=7.00%"), "{text}");
    let fails = |line: &[&str]| run(&parsed(line).unwrap()).unwrap_err().to_string();
    let error = fails(&["convert", &path, "--flow", "99"]);
    assert!(error.contains("no stream 99") && error.contains("1a, 2a"), "{error}");
    let error = fails(&["convert", &path, "--port", "1"]);
    assert!(error.contains("no stream with user data that is asked for"), "{error}");
    let error = fails(&["replay", &path, "--network", "los=2%"]);
    assert!(error.contains("--network: \"los=2%\""), "{error}");
    let error = fails(&["replay", &path, "--network", "rtt=soon"]);
    assert!(error.contains("\"soon\""), "{error}");
}

#[test]
fn what_is_no_capture_and_what_is_cut_off_is_told() {
    let folder = Folder::new("trace-damage");
    let path = folder.path("text");
    std::fs::write(&path, "not a capture").unwrap();
    let fails = |line: &[&str]| match run(&parsed(line).unwrap()) {
        Err(failure) => (failure.exit_code(), failure.to_string()),
        Ok(()) => panic!("{line:?}"),
    };
    let (code, text) = fails(&["summary", &path]);
    assert!(code == 2 && text.contains(&path) && text.contains("pcapng"), "{text}");
    let (code, text) = fails(&["latency", "/no/such/file"]);
    assert!(code == 2 && text.contains("/no/such/file"), "{text}");
    let (_, text) = fails(&["latency", "-", "--receiver", &path]);
    assert!(text.contains("standard input"), "{text}");

    let path = folder.path("demo.pcapng");
    demo(&path, &["rfc"]);
    let whole = std::fs::read(&path).unwrap();
    std::fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    let (report, ()) = selection(&["summary", &path]).analyse(()).unwrap();
    let damage = report.capture.damage.unwrap();
    assert!(damage.starts_with("cut off") && !report.streams.is_empty(), "{damage}");
    assert!(damage.contains(&format!("after packet {}", report.capture.packets)), "{damage}");
}

#[test]
fn wrong_usage_is_named_with_what_would_be_right() {
    for (line, expected) in [
        (&["summary"][..], "<FILE>"),
        (&["summary", "x", "--stream", "x"], "3a"),
        (&["summary", "x", "--receiver", "y", "--nat", "1.2.3.4"], "192.168.1.5=203.0.113.7"),
        (&["summary", "x", "--nat", "1.2.3.4=1.2.3.5"], "--receiver"),
        (&["summary", "x", "--top", "0"], "from 1 to"),
        (&["summary", "x", "--sort", "size"], "bytes"),
        (&["summary", "x", "--source-port", "9-1"], "5000-5010"),
        (&["summary", "x", "--packets", "0-x"], "5000-5010"),
        (&["summary", "x", "--receiver", "y", "--nat", "1.2.3.4:5=1.2.3.5"], "203.0.113.7:61000"),
        (&["summary", "x", "--percentiles", "101"], "from 0 to 100"),
        (&["replay", "x", "--policy", "fast"], "lksctp"),
        (&["replay", "x", "--seeds", "0"], "from 1 to"),
    ] {
        let error = parsed(line).err().unwrap();
        assert!(error.contains(expected), "{line:?}: {error}");
    }
}
