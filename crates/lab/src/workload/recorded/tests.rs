use super::*;

const TABLE: &str = "# a game\ntime_s,size,stream\n10.5,100,1a\n10,40,1b\n12.000000001,7,1a\n";

fn at(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

fn due(recording: &Recording, flow: usize, stream: Option<&str>) -> Vec<(u64, usize)> {
    let messages = recording.due(flow, stream, (at(1000), at(3000)), 64).unwrap();
    assert!(messages.iter().zip(0..).all(|(message, index)| message.index == index));
    messages.iter().map(|one| (one.due.since(Instant::ZERO).as_millis(), one.size)).collect()
}

#[test]
fn flows_take_streams_in_turn_or_the_one_that_is_named() {
    let recording = Recording::parse(TABLE).unwrap();
    assert_eq!((recording.count(), recording.duration().as_nanos()), (3, 2_000_000_001));
    // Messages longer than 64 bytes are split; those due at the end or later are not sent.
    assert_eq!(due(&recording, 0, None), [(1500, 64), (1500, 36)]);
    assert_eq!(due(&recording, 1, None), [(1000, 40)]);
    assert_eq!(due(&recording, 2, None), due(&recording, 0, None));
    assert_eq!(due(&recording, 5, Some("1a")), [(1000, 64), (1000, 36), (2500, 7)]);
    let error = recording.due(0, Some("2a"), (at(0), at(1)), 64).unwrap_err().to_string();
    assert_eq!(error, "there is no stream 2a; there is 1a, 1b");
}

#[test]
fn what_is_written_reads_the_same() {
    let recording = Recording::parse(TABLE).unwrap();
    let text = recording.to_csv();
    assert_eq!(text, "time_s,size,stream\n0.5,100,1a\n2.000000001,7,1a\n0,40,1b\n");
    assert_eq!(Recording::parse(&text).unwrap().to_csv(), text);
    let one = Recording::parse("size, time\n100B, 20ms\n1kB, 10ms\n").unwrap();
    assert_eq!(one.to_csv(), "time_s,size\n0,1000\n0.01,100\n");
}

#[test]
fn what_is_no_recording_is_told_with_its_line() {
    for (text, told) in [
        ("", "there is nothing in it"),
        ("time_s,size\n", "there are no messages in it"),
        ("0.5,100\n", "line 1: \"0.5,100\" does not name the columns"),
        ("time_s,time,size\n", "line 1: "),
        ("time_s\n1\n", "does not name the columns"),
        ("time_s,size\n1,2\n\n1\n", "line 4: 1 cells under 2 columns"),
        ("time_s,size\n1,0\n", "line 2: a message has no bytes"),
        ("time_s,size\n-1,5\n", "line 2: "),
        ("time_s,size\nsoon,5\n", "line 2: \"soons\""),
        ("time_s,size\n1,many\n", "line 2: \"many\""),
    ] {
        let error = Recording::parse(text).unwrap_err().to_string();
        assert!(error.contains(told), "{text:?}: {error}");
    }
}

#[test]
fn a_replay_is_a_file_and_perhaps_a_stream() {
    for text in ["replay a.csv", "replay a.pcap 3a", "~5ms", "greedy"] {
        assert_eq!(text.parse::<ArrivalsText>().unwrap().to_string(), text);
    }
    for text in ["replay", "replay a b c"] {
        let error = text.parse::<ArrivalsText>().unwrap_err().to_string();
        assert!(error.contains("\"replay messages.csv\""), "{error}");
    }
}
