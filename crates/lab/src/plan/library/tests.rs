use base::{Duration, Instant};
use netsim::Link;
use netsim::link::Admission;

use super::super::{Files, NetworkSection, links_of};
use super::*;
use crate::world::Network;

/// Round trips in milliseconds, in order of their length, of `count` probes of a byte each, sent
/// `gap` after each other over a network of the library and back; those that arrive.
fn round_trips(name: &str, count: u64, gap: Duration) -> Vec<f64> {
    let links = links_of(name.parse().unwrap()).unwrap();
    let sent = |number| Instant::ZERO + gap * number;
    let there = (0..count).map(|number| (sent(number), number)).collect();
    let arrived = across(Link::new(links.forward, 1, 0).unwrap(), there);
    let back = across(Link::new(links.backward, 1, 1).unwrap(), arrived);
    let trips = back.into_iter().map(|(at, number)| at.since(sent(number)).as_millis_f64());
    let mut trips: Vec<f64> = trips.collect();
    trips.sort_by(f64::total_cmp);
    trips
}

/// Arrival times of packets that are sent at these times.
fn across(mut link: Link<Probe>, sent: Vec<(Instant, u64)>) -> Vec<(Instant, u64)> {
    let mut arrived = Vec::new();
    let mut take = |link: &mut Link<Probe>, until: Instant| {
        while let Some(one) = link.poll(until) {
            arrived.push((one.due, one.packet.0));
        }
    };
    for (at, number) in sent {
        take(&mut link, at);
        let _: Admission<Probe> = link.send(at, Probe(number), 1);
    }
    take(&mut link, Instant::FAR_FUTURE);
    arrived
}

#[derive(Clone)]
struct Probe(u64);

impl netsim::LinkPacket for Probe {}

fn quantile(sorted: &[f64], share: f64) -> f64 {
    results::quantile_of_sorted(sorted, share).unwrap()
}

#[track_caller]
fn within_a_hundredth(found: f64, source: f64) {
    assert!((found / source - 1.0).abs() <= 0.01, "{found} instead of {source}");
}

#[test]
fn the_drive_has_the_round_trips_that_were_recorded() {
    let trips = round_trips("5g-drive", 14_384, Duration::from_millis(55));
    assert_eq!(trips.len(), 14_384, "nothing is lost");
    // Quantiles of the source's column delay(ms), computed from its files.
    for (share, source) in
        [(0.1, 16.), (0.5, 19.), (0.9, 28.), (0.95, 34.), (0.99, 287.), (0.999, 1770.)]
    {
        within_a_hundredth(quantile(&trips, share), source);
    }
    within_a_hundredth(results::mean(trips.iter().copied()), 29.63);
    assert_eq!((trips[0], trips[14_383]), (14., 2480.));
    // The density holds in every repetition, for packets at any phase.
    let dense = round_trips("5g-drive", 400_000, Duration::from_millis(11));
    for (share, source) in [(0.5, 19.), (0.9, 28.)] {
        within_a_hundredth(quantile(&dense, share), source);
    }
}

#[test]
fn wifi_has_the_times_that_its_published_chances_make() {
    // Quantiles of the model alone: frames are so far apart that none waits for the previous one.
    for (name, quantiles) in [
        ("wifi-near", [(0.5, 1.932), (0.9, 4.832), (0.99, 10.47)]),
        ("wifi-mid", [(0.5, 3.412), (0.9, 12.66), (0.99, 89.75)]),
        ("wifi-far", [(0.5, 4.511), (0.9, 18.55), (0.99, 97.06)]),
    ] {
        let trips = round_trips(name, 2_000_000, Duration::from_millis(300));
        assert_eq!(trips.len(), 2_000_000);
        for (share, source) in quantiles {
            within_a_hundredth(quantile(&trips, share) - 20.0, source);
        }
    }
}

#[test]
fn models_have_the_quantiles_that_were_published() {
    let gap = Duration::from_secs(1);
    within_a_hundredth(quantile(&round_trips("lte", 200_000, gap), 0.5), 70.0);
    let leo = round_trips("leo", 2_000_000, gap);
    within_a_hundredth(quantile(&leo, 0.5), 33.0);
    within_a_hundredth(quantile(&leo, 0.99), 65.0);
    let lost = 1.0 - leo.len() as f64 / 2_000_000.0;
    assert!((0.009..0.011).contains(&lost), "{lost}");
    let dsl = round_trips("dsl", 200_000, gap);
    within_a_hundredth(quantile(&dsl, 0.5), 44.0);
    let lost = 1.0 - dsl.len() as f64 / 200_000.0;
    assert!((0.0036..0.0044).contains(&lost), "{lost}");
}

#[test]
fn the_hotel_s_line_takes_ten_milliseconds_for_a_packet_of_1250_bytes() {
    let links = links_of("hotel".parse().unwrap()).unwrap();
    for link in [links.forward, links.backward] {
        let rate = link.rate.unwrap();
        assert_eq!(rate.transmission_time(1_250), Duration::from_millis(10));
        let cross = link.cross.unwrap();
        assert_eq!(cross.limit, Some(Duration::from_millis(250)));
    }
}

#[test]
fn every_network_says_where_its_numbers_come_from() {
    for name in NetworkName::all() {
        let network = name.network().unwrap();
        for said in [&network.about, &network.source, &network.licence, &network.assumed] {
            assert!(said.len() > 8 && !said.contains('\n'), "{name}: {said}");
        }
        assert!(links_of(name).is_ok());
        assert_eq!(name.as_str().parse(), Ok(name));
    }
    let data: usize = RECORDINGS.iter().map(|(_, text)| text.len()).sum();
    assert!(data < 300_000, "{data}");
}

#[test]
fn an_unknown_name_is_told_all_there_are() {
    let error = "5g".parse::<NetworkName>().unwrap_err();
    assert!(NetworkName::all().all(|name| error.contains(name.as_str())), "{error}");
}

#[test]
fn a_network_of_the_library_is_named_and_its_values_can_be_replaced() {
    #[derive(serde::Deserialize)]
    struct Text {
        network: NetworkSection,
    }
    let read = |text: &str| toml::from_str::<Text>(text).map(|text| text.network);
    let pair = |text: &str| match read(text).unwrap().build(&Files::default(), &[]).unwrap() {
        Network::Pair(links) | Network::Dumbbell(links) => links,
        other => panic!("{other:?}"),
    };
    let lte = pair("network = \"lte\"");
    assert_eq!(lte, links_of("lte".parse().unwrap()).unwrap());
    assert_eq!(pair("network = { kind = \"pair\", like = \"lte\" }"), lte);
    let changed = pair(
        "network = { kind = \"dumbbell\", like = \"lte\", queue = \"fq_codel\", loss = \"1%\", backward = { rate = \"1mbit\" } }",
    );
    assert_eq!(
        (changed.forward.rate, changed.forward.delay),
        (lte.forward.rate, lte.forward.delay)
    );
    assert_eq!(changed.backward.rate, base::Rate::from_bits_per_second(1_000_000));
    assert_eq!(changed.forward.loss, "1%".parse().unwrap());
    assert!(matches!(changed.backward.discipline, netsim::link::Discipline::FqCodel(_)));
    let two = read(
        "network = { kind = \"two-path\", paths = [{ like = \"wifi-far\" }, { like = \"5g-drive\" }] }",
    );
    let Network::Paths(paths) = two.unwrap().build(&Files::default(), &[]).unwrap() else {
        panic!()
    };
    assert!(matches!(paths[0].forward.jitter, netsim::Jitter::Wifi(_)));
    assert!(paths[1].forward.recording.shifted && paths[1].backward.recording.is_empty());
    assert_eq!(paths[1].forward.least_delay(), Duration::from_millis(7));
    for unknown in ["network = \"5g\"", "network = { kind = \"pair\", like = \"5g\" }"] {
        let error = read(unknown).unwrap_err().to_string();
        assert!(error.contains("\"5g\"") && error.contains("5g-drive, dsl"), "{error}");
    }
}
