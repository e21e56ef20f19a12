use std::net::SocketAddr;

use base::Duration;

use recovery::RecoveryPolicy;

use super::counters::{End, ServiceCounters};
use super::status::StackReport;
use super::*;

fn options() -> EdgeOptions {
    let addresses = ["10.78.0.2/24", "fd78::2/64"].map(|text| text.parse().unwrap());
    let mut options = EdgeOptions::new(addresses.into());
    options.services.push(Service::new(listen("22"), "127.0.0.1:22".parse().unwrap()));
    options
}

fn listen(text: &str) -> Listen {
    text.parse().unwrap()
}

#[test]
fn what_cannot_be_done_is_said_before_anything_is() {
    let error = |change: &dyn Fn(&mut EdgeOptions)| {
        let mut options = options();
        change(&mut options);
        options.check().err().map_or_else(String::new, |error| error.to_string())
    };
    assert_eq!(error(&|_| ()), "");
    assert!(error(&|options| options.addresses.clear()).contains("--address"));
    assert!(error(&|options| options.services.clear()).contains("--listen"));
    assert!(error(&|options| options.mtu = 1279).contains("1280"));
    assert!(error(&|options| (options.memory, options.shards) = (1 << 21, 4)).contains("4194304"));
    let other = |options: &mut EdgeOptions| options.services[0].listen = listen("10.78.0.3:22");
    assert!(error(&other).contains("10.78.0.3:22"));
    let circle =
        |options: &mut EdgeOptions| options.services[0].forward = "10.78.0.2:22".parse().unwrap();
    assert!(error(&circle).contains("the edge itself"));
    for (name, text) in
        [("eth0\" accept #", "eth0"), ("", "eth0"), ("sixteen-letters-", "eth0"), ("eth*", "eth0")]
    {
        assert!(error(&|options| options.outside = Some(name.into())).contains(text), "{name}");
    }
    assert_eq!(error(&|options| options.outside = Some("eth0.7".into())), "");
    let second =
        |options: &mut EdgeOptions| options.addresses.push("10.79.0.2/24".parse().unwrap());
    assert!(error(&second).contains("one IPv4 address"));
}

#[test]
fn numbers_with_which_nothing_works_are_refused_with_what_would_be_right() {
    let check = |change: &dyn Fn(&mut EdgeOptions)| {
        let mut options = options();
        change(&mut options);
        options.check().err().map(|error| error.to_string())
    };
    let shards = |shards| check(&|options| options.shards = shards);
    assert_eq!([1, 256].map(shards), [None, None]);
    for number in [0, 257] {
        assert_eq!(shards(number), Some(format!("shards is {number}: it should be from 1 to 256")));
    }
    let of_service =
        |change: &dyn Fn(&mut Service)| check(&|options| change(&mut options.services[0]));
    let wrong = |what: &str| Some(format!("service 22: {what}"));
    for (most, error) in [(1, None), (0, wrong("max_connections is 0: it should be at least 1"))] {
        assert_eq!(of_service(&|service| service.max_connections = most), error);
    }
    for (most, error) in [(1, None), (0, wrong("max_per_client is 0: it should be at least 1"))] {
        assert_eq!(of_service(&|service| service.max_per_client = most), error);
    }
    let least = wrong("buffer_bytes is 4095: it should be at least 4096");
    for (buffer, error) in [(4096, None), (4095, least)] {
        assert_eq!(of_service(&|service| service.buffer = buffer), error);
    }
    let millis = Duration::from_millis;
    for (idle, error) in [
        (None, None),
        (Some(millis(1000)), None),
        (Some(millis(999)), wrong("keep_alive is 999ms: it should be at least 1s")),
    ] {
        assert_eq!(of_service(&|service| service.keep_alive = idle), error);
    }
    for (silence, error) in [
        (None, None),
        (Some(millis(1000)), None),
        (Some(millis(999)), wrong("dead_after is 999ms: it should be at least 1s")),
    ] {
        assert_eq!(of_service(&|service| service.dead_after = silence), error);
    }
    let probe =
        |millis| of_service(&|service| service.finished_probe = Duration::from_millis(millis));
    assert_eq!((probe(1000), probe(0).is_some()), (None, true));
    let interval = |length| check(&|options| options.interval = length);
    assert_eq!((interval(millis(10)), interval(millis(9)).is_some()), (None, true));
}

#[test]
fn services_have_names_of_their_own_by_which_figures_tell_them_apart() {
    let mut options = options();
    let mut other = Service::new(listen("23"), "127.0.0.1:23".parse().unwrap());
    options.services.push(other.clone());
    assert_eq!(options.check(), Ok(()));
    // The name that the first service, which was given none, has by its port.
    other.name = "22".into();
    options.services[1] = other;
    assert_eq!(options.check(), Err(EdgeOptionsError::SameName("22".into())));
}

#[test]
fn a_file_describes_an_edge_with_several_services() {
    let file: EdgeFile = toml::from_str(
        r#"
        address = ["10.78.0.2/24", "fd78::2/64"]
        device = "edge0"
        drain = "10s"
        memory = "64MiB"
        metrics = "127.0.0.1:9178"

        [[service]]
        name = "ssh"
        listen = 22
        forward = "127.0.0.1:22"
        policy = "thin"
        recovery = { rto-min = "200ms", dup-threshold = 2 }

        [[service]]
        listen = "10.78.0.2:5154"
        forward = "localhost:5154"
        keep_alive = "off"
        "#,
    )
    .unwrap();
    assert_eq!(file.address.len(), 2);
    assert_eq!(file.drain, Some(Duration::from_secs(10)));
    assert_eq!(file.memory, Some(base::ByteCount(64 << 20)));
    assert_eq!(file.service[0].listen, listen("22"));
    let mut policy = RecoveryPolicy::tcp_thin();
    file.service[0].recovery.apply(&mut policy).unwrap();
    assert_eq!((policy.rto.min, policy.loss.dup_threshold), (Duration::from_millis(200), 2));
    assert_eq!(file.service[1].resolve().unwrap().port(), 5154);
    let wrong = |text: &str| toml::from_str::<EdgeFile>(text).unwrap_err().to_string();
    assert!(wrong("adress = \"10.78.0.2/24\"").contains("adress"));
    assert!(wrong("address = \"10.78.0.2\"").contains("10.78.0.2/24"));
    assert!(wrong("drain = \"10\"").contains("duration"));
    let service = "[[service]]\nlisten = 22\nforward = \"127.0.0.1:22\"\n";
    assert!(wrong(&format!("{service}recovery = {{ rto-mim = \"1s\" }}")).contains("rto-min"));
    assert!(wrong(&format!("{service}recovery = {{ backoff = 3 }}")).contains("linear:6"));
}

#[test]
fn mistakes_in_a_file_are_told_with_line_column_and_what_was_meant() {
    let path = std::env::temp_dir().join(format!("thinstream-edge-{}.toml", std::process::id()));
    let told = |text: &str| {
        std::fs::write(&path, text).unwrap();
        let error = EdgeFile::read(&path).unwrap_err().to_string();
        error.strip_prefix(&format!("{}:", path.display())).expect("the file's name").to_owned()
    };
    let misspelt =
        "address = \"10.78.0.2/24\"\n\n[[service]]\nlisten = 22\n  fordward = \"127.0.0.1:22\"\n";
    assert_eq!(told(misspelt), "5:3: unknown key \"fordward\"; did you mean \"forward\"?");
    let far = told("zebra = 1\n");
    assert!(far.starts_with("1:1: unknown key \"zebra\"; expected one of \"address\", "), "{far}");
    let value = told("mtu = 1500\nmemory = \"lots\"\n");
    assert!(value.starts_with("2:10: ") && value.contains("lots"), "{value}");
    let broken = told("mtu = 1500\nmemory = = 3\n");
    assert!(broken.starts_with("2:10: ") && !broken.contains('\n'), "{broken}");
    std::fs::remove_file(&path).unwrap();
}

fn status() -> EdgeStatus {
    let service = Service { name: "a \"b\"".into(), ..options().services[0].clone() };
    let mut tally = ServiceCounters {
        bytes_up: 7,
        timeouts: 3,
        bundle_hits: 4,
        bundle_misses: 50,
        ..ServiceCounters::default()
    };
    tally.count_end(End::Finished);
    tally.count_end(End::ServiceReset);
    let client: SocketAddr = "192.0.2.1:40000".parse().unwrap();
    let mut connection =
        ConnectionStatus::new("a \"b\"".into(), client, Duration::from_secs(2), (1, 2), None);
    (connection.bundle_hits, connection.bundle_misses) = (3, 41);
    EdgeStatus {
        elapsed_s: 2.5,
        services: vec![ServiceReport::new(&service, 1, tally)],
        stack: StackReport {
            syns: 9,
            stalled_reset: 6,
            orphans_reset: 2,
            memory: tcp::MemoryState::Full,
            ..Default::default()
        },
        connections: vec![connection; 3],
    }
}

#[test]
fn metrics_are_in_the_text_format_with_escaped_labels() {
    let text = metrics::render(&status());
    for line in [
        "# TYPE thinstream_edge_connections gauge",
        "thinstream_edge_connections{service=\"a \\\"b\\\"\"} 1",
        "thinstream_edge_connections_ended_total{service=\"a \\\"b\\\"\",reason=\"finished\"} 1",
        "thinstream_edge_bytes_up_total{service=\"a \\\"b\\\"\"} 7",
        "thinstream_edge_bundle_hits_total{service=\"a \\\"b\\\"\"} 4",
        "thinstream_edge_bundle_misses_total{service=\"a \\\"b\\\"\"} 50",
        "thinstream_edge_syns_total 9",
        "thinstream_edge_orphans_reset_total 2",
        "thinstream_edge_stalled_reset_total 6",
        "thinstream_edge_memory_state 2",
    ] {
        assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
    }
    let families = text.lines().filter(|line| line.starts_with("# TYPE")).count();
    assert_eq!(families, text.lines().filter(|line| line.starts_with("# HELP")).count());
}

#[test]
fn every_figure_of_a_service_is_added_up_and_told_once() {
    let zero = serde_json::to_value(ServiceCounters::default()).unwrap();
    for figure in zero.as_object().unwrap().keys() {
        let tally = |count: u64| {
            let mut figures = zero.clone();
            figures[figure] = count.into();
            serde_json::from_value::<ServiceCounters>(figures).unwrap()
        };
        let mut sum = tally(3);
        sum.add(&tally(4));
        assert_eq!(sum, tally(7));
        let ended = sum.ended();
        let mut status = status();
        status.services = vec![ServiceReport::new(&options().services[0], 0, sum)];
        let text = metrics::render(&status);
        let told = |line: &&str| line.contains("{service=\"22\"") && line.ends_with(" 7");
        let told: Vec<&str> = text.lines().filter(told).collect();
        let line = match ended {
            0 => format!("thinstream_edge_{figure}_total{{service=\"22\"}} 7"),
            _ => format!(
                "thinstream_edge_connections_ended_total{{service=\"22\",reason=\"{figure}\"}} 7"
            ),
        };
        assert_eq!((told, ended % 7), (vec![&*line], 0));
    }
}

#[test]
fn connections_that_lost_something_are_shown_first_and_thin_ones_before_others() {
    let mut status = status();
    let blank = status.connections[0].clone();
    let connection = |port, bytes_down, thin, lost| ConnectionStatus {
        client: SocketAddr::from(([192, 0, 2, 1], port)),
        bytes_down,
        thin,
        bundle_hits: lost,
        ..blank.clone()
    };
    status.connections = vec![
        connection(1, 1_000_000, false, 0),
        connection(2, 10, true, 0),
        connection(3, 2_000_000, false, 1),
        connection(4, 20, true, 0),
        connection(5, 30, true, 1),
    ];
    let lines = status.lines(4);
    let shown = [5, 3, 4, 2].map(|port| format!(" 192.0.2.1:{port} "));
    assert!(
        lines[3..7].iter().zip(shown).all(|(line, client)| line.contains(&client)),
        "{lines:#?}"
    );
    assert_eq!(lines[7], "and 1 more");
}

#[test]
fn on_eighty_columns_a_connection_shows_its_losses() {
    let mut status = status();
    for connection in &mut status.connections {
        connection.service = "ssh".into();
        connection.client = "192.168.200.100:40000".parse().unwrap();
        (connection.srtt_ms, connection.rto_ms, connection.thin) = (Some(123.4), 60_000.0, true);
        (connection.bytes_retransmitted, connection.timeouts) = (123_456, 12);
    }
    let lines = status.lines(2);
    let cut = |line: &str| line.chars().take(79).collect::<String>();
    assert!(cut(&lines[2]).contains(" timeouts"), "{}", lines[2]);
    for cell in [" thin ", " 123.4ms ", " 60000ms ", " 123k ", " 3/41 ", " 12 "] {
        assert!(cut(&lines[3]).contains(cell), "{cell} in {}", lines[3]);
    }
    assert!(cut(&lines[1]).starts_with("memory "), "{}", lines[1]);
}

#[test]
fn a_status_is_told_in_lines_of_which_no_more_are_connections_than_asked_for() {
    let lines = status().lines(2);
    assert!(lines[0].contains("1 connections, 2 ended (1 in order)"), "{}", lines[0]);
    assert!(lines[0].contains("(4 hits, 50 misses)"), "{}", lines[0]);
    assert!(lines[1].contains("2 closing and 6 stalled reset"), "{}", lines[1]);
    assert!(lines[2].contains("hit/miss"), "{}", lines[2]);
    assert!(lines[3].contains("192.0.2.1:40000") && lines[3].contains(" 3/41 "), "{}", lines[3]);
    assert_eq!(lines.last().unwrap(), "and 1 more");
    let json = serde_json::to_value(status()).unwrap();
    assert_eq!(json["services"][0]["timeouts"], 3);
    assert_eq!(json["services"][0]["bundle_misses"], 50);
    assert_eq!(json["stack"]["stalled_reset"], 6);
    assert_eq!(json["stack"]["memory"], "full");
    assert_eq!(json["connections"][0]["client"], "192.0.2.1:40000");
    assert_eq!(json["connections"][0]["bundle_hits"], 3);
}
