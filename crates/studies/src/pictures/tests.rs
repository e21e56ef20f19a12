use proptest::prelude::*;
use results::Results;
use serde_json::json;

use super::progressive::{decode, encode};
use super::scenes::paint;
use super::*;
use crate::run;

const SMALL: (u16, u16) = (24, 20);

fn gif(scene: usize) -> Vec<u8> {
    encode(&paint(scene, SMALL.0, SMALL.1)).unwrap()
}

#[test]
fn a_whole_picture_decodes_to_what_was_painted() {
    for scene in 0..SCENES {
        let painting = paint(scene, SMALL.0, SMALL.1);
        let shown = decode(&gif(scene), SMALL);
        assert_eq!(shown.count(), 480);
        for (place, index) in painting.indices.iter().enumerate() {
            let at = shown.at(place % 24, place / 24);
            assert_eq!(
                at,
                Some(painting.palette[usize::from(*index)]),
                "scene {scene}, pixel {place}"
            );
        }
    }
}

#[test]
fn scenes_differ_and_use_their_range_of_colours() {
    let paintings: Vec<_> = (0..SCENES).map(|scene| paint(scene, 64, 48)).collect();
    for (index, painting) in paintings.iter().enumerate() {
        assert!(paintings[..index].iter().all(|other| other.palette != painting.palette));
        let used: std::collections::BTreeSet<_> = painting.indices.iter().collect();
        assert!(used.len() > 24, "scene {index} uses {} colours", used.len());
    }
    assert_eq!(paint(3, 64, 48), paint(3, 64, 48));
}

#[test]
fn more_bytes_never_show_less_and_rows_come_from_coarse_to_fine() {
    let bytes = gif(1);
    let whole = decode(&bytes, SMALL);
    let mut before = 0;
    for length in 0..=bytes.len() {
        let shown = decode(&bytes[..length], SMALL);
        assert!(shown.count() >= before, "{length} bytes");
        before = shown.count();
        if shown.count() == 24 {
            assert_eq!(shown.at(5, 0), whole.at(5, 0));
            assert_eq!(shown.at(5, 7), whole.at(5, 0), "until its own row has come");
            assert_eq!(shown.at(5, 8), None, "nothing is known of the eighth row");
        }
    }
    assert_eq!(before, 480);
}

proptest! {
    #[test]
    fn damaged_pictures_show_something_or_nothing_and_never_panic(
        scene in 0..SCENES, cut in 0usize..2000, at in 0usize..2000, byte: u8,
    ) {
        let mut bytes = gif(scene);
        let place = at % bytes.len();
        bytes[place] = byte;
        bytes.truncate(cut);
        prop_assert!(decode(&bytes, SMALL).count() <= 480);
    }
}

#[test]
fn parts_take_turns_and_each_waits_for_the_one_before_it() {
    let gifs =
        [Bytes::from_static(b"aaab"), Bytes::from_static(b"c"), Bytes::from_static(b"dddee")];
    let items = to_items(&gifs, 3, Order::Turns, Reliability::Full);
    let all: Vec<_> =
        items.iter().map(|item| (item.object, &item.content[..], &item.after[..])).collect();
    let expected: [(u16, &[u8], &[usize]); 5] =
        [(0, b"aaa", &[]), (1, b"c", &[]), (2, b"ddd", &[]), (0, b"b", &[0]), (2, b"ee", &[2])];
    assert_eq!(all, expected);
    assert_eq!(items[0].size, Item::HEADER + 3);
    let items = to_items(&gifs, 3, Order::OneAfterAnother, Reliability::Full);
    let all: Vec<_> = items.iter().map(|item| (item.object, &item.after[..])).collect();
    let expected: [(u16, &[usize]); 5] = [(0, &[]), (0, &[0]), (1, &[]), (2, &[]), (2, &[3])];
    assert_eq!(all, expected);
}

#[test]
fn a_part_fills_a_packet_unless_it_is_given() {
    let part = |path_mtu, part| Parameters { path_mtu, part, ..Parameters::default() }.part();
    assert_eq!((part(576, None), part(1500, None), part(576, Some(7))), (480, 1404, 7));
    let tiny = Parameters { path_mtu: 90, ..Parameters::default() };
    assert!(tiny.check().unwrap_err().contains("`part` is 0"));
}

/// Small pictures on a faster line keep the test short.
fn small(carriage: &str, loss: &str, seed: u64) -> Results {
    let parameters = json!({
        "carriage": carriage, "loss": loss, "width": 48, "height": 36, "looks": [3, 6, 9], "part": 200,
        "rate": "19200bit", "duration": "60s",
    });
    run(NAME, parameters, seed).unwrap()
}

#[test]
fn the_sender_s_recovery_is_a_parameter_and_a_preset_of_sctp() {
    let shown = |policy: Option<&str>| {
        let mut parameters = json!({
            "loss": "10%", "width": 24, "height": 20, "looks": [3], "part": 200, "rate": "19200bit",
            "duration": "10s",
        });
        if let Some(policy) = policy {
            parameters["policy"] = policy.into();
        }
        run(NAME, parameters, 1).unwrap()
    };
    assert_eq!(shown(None), shown(Some("rfc")));
    assert_ne!(shown(None), shown(Some("latency")));
    let foreign = Parameters { policy: PolicySection::preset("thin-rdb"), ..Parameters::default() };
    assert!(foreign.check().unwrap_err().contains("thin-rdb"));
}

fn pixels(findings: &Results, at: &str) -> f64 {
    findings.value("pixels", &[("at", at)]).unwrap()
}

#[test]
fn without_loss_one_stream_is_as_good_as_eight() {
    assert_eq!(small("one-stream", "0%", 1), small("streams", "0%", 1));
}

#[test]
fn everything_arrives_at_last_whatever_is_lost() {
    for carriage in ["one-stream", "streams"] {
        let findings = small(carriage, "20%", 2);
        let pixels = findings.curves.iter().find(|line| line.measure == "pixels").unwrap();
        assert_eq!(
            pixels.points.last().map(|(_, count)| *count),
            findings.value("pixels.all", &[])
        );
    }
}

#[test]
fn eight_streams_show_more_than_one_where_packets_are_lost() {
    let total = |carriage| -> f64 {
        (1..=6)
            .map(|seed| small(carriage, "10%", seed))
            .map(|one| pixels(&one, "3") + pixels(&one, "6"))
            .sum()
    };
    let (streams, one) = (total("streams"), total("one-stream"));
    assert!(streams > 1.05 * one, "{streams} and {one} pixels");
}

#[test]
fn a_contact_sheet_has_a_row_for_each_look() {
    let parameters = json!({
        "width": 16, "height": 12, "looks": [1, 2], "duration": "3s", "rate": "9600bit", "sheets": true,
    });
    let findings = run(NAME, parameters, 1).unwrap();
    let decoder = png::Decoder::new(std::io::Cursor::new(&findings.pictures[0].png));
    let reader = decoder.read_info().unwrap();
    assert_eq!((reader.info().width, reader.info().height), (6 + 8 * 22, 6 + 2 * 18));
}

#[test]
fn how_often_eight_streams_are_ahead_of_one_is_counted_where_the_two_differ() {
    let curve = |of: &str, values: &[f64]| Curve {
        of: NAME.to_owned(),
        measure: of.to_owned(),
        labels: Vec::new(),
        x: Quantity::new("time", "s"),
        y: Quantity::new("shown", ""),
        points: (0..).map(f64::from).zip(values.iter().copied()).collect(),
    };
    let results = |pixels: &[f64], bytes: &[f64]| Results {
        curves: vec![curve("pixels", pixels), curve("bytes", bytes)],
        ..Results::default()
    };
    let runs = [
        ("one-stream", "5%", results(&[0.0, 1.0, 2.0, 9.0], &[1.0, 1.0, 1.0, 1.0])),
        ("streams", "5%", results(&[0.0, 2.0, 3.0, 8.0], &[1.0, 1.0, 1.0, 1.0])),
        ("streams", "9%", results(&[0.0, 2.0, 3.0, 8.0], &[1.0, 1.0, 1.0, 1.0])),
        ("partial-order", "5%", results(&[9.0; 4], &[9.0; 4])),
    ];
    let cells: Vec<_> = runs
        .iter()
        .map(|(carriage, loss, results)| {
            let keys = [("parameters.carriage", *carriage), ("parameters.loss", *loss)];
            let keys = keys.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec();
            CellResults { keys, results }
        })
        .collect();
    // The numbers of bytes are equal everywhere, and at 9 % there is no run in one stream.
    let rows = compare(&cells);
    let [(1, row)] = rows.as_slice() else { panic!("{rows:?}") };
    assert_eq!((row.measure.as_str(), row.labels[0].1.as_str()), ("ahead", "pixels"));
    assert!((row.value - 200.0 / 3.0).abs() < 1e-9);
}
