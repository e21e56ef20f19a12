use super::*;
use crate::setting::Setting;
use crate::show::Show;

const CLIENT: [u8; 4] = [10, 0, 0, 1];
const SERVER: [u8; 4] = [10, 0, 0, 2];

/// A segment of TCP over IPv4.
fn segment(from: [u8; 4], to: [u8; 4], (seq, ack): (u32, u32), flags: u8, data: usize) -> Vec<u8> {
    let (near, far) = if from == CLIENT { (4000u16, 80u16) } else { (80, 4000) };
    let mut bytes = vec![0x45, 0];
    bytes.extend((40 + data as u16).to_be_bytes());
    bytes.extend([0, 0, 0, 0, 64, 6, 0, 0]);
    bytes.extend(from);
    bytes.extend(to);
    bytes.extend(near.to_be_bytes());
    bytes.extend(far.to_be_bytes());
    bytes.extend(seq.to_be_bytes());
    bytes.extend(ack.to_be_bytes());
    bytes.extend([0x50, flags, 0xff, 0xff, 0, 0, 0, 0]);
    bytes.resize(bytes.len() + data, 0x74);
    bytes
}

/// A capture at the client of a connection with 20 messages of 80 bytes, 100 ms apart, over a round
/// trip of 60 ms.
fn capture() -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 101] {
        file.extend(word.to_le_bytes());
    }
    let mut packets = vec![
        (0, segment(CLIENT, SERVER, (100, 0), 0x02, 0)),
        (60, segment(SERVER, CLIENT, (500, 101), 0x12, 0)),
        (60, segment(CLIENT, SERVER, (101, 501), 0x10, 0)),
    ];
    for message in 0..20u32 {
        let at = 100 + 100 * message;
        let sent = 101 + 80 * message;
        packets.push((at, segment(CLIENT, SERVER, (sent, 501), 0x18, 80)));
        packets.push((at + 60, segment(SERVER, CLIENT, (501, sent + 80), 0x10, 0)));
    }
    for (millis, bytes) in packets {
        let size = bytes.len() as u32;
        for word in [millis / 1000, millis % 1000 * 1000, size, size] {
            file.extend(word.to_le_bytes());
        }
        file.extend(bytes);
    }
    file
}

#[test]
fn a_captures_messages_run_under_both_policies() {
    let traffic = Traffic::read(&capture()).unwrap();
    let told = &traffic.told;
    assert_eq!((told.messages, told.transport, told.streams.len()), (20, "tcp", 1));
    assert_eq!((told.rtt_ms, told.loss), (Some(60.0), Some(0.0)));
    let setting = Setting {
        application: "capture".to_owned(),
        network: "continent".to_owned(),
        policies: ["tcp:linux", "sctp:latency"].map(str::to_owned),
        flows: 1,
        flow: 0,
        seed: 1,
        changes: vec!["0:rtt=60".to_owned(), "0:loss=0".to_owned(), "m5".to_owned()],
    };
    let mut show = Show::new(setting.clone(), Some(traffic.clone())).unwrap();
    let frame = show.advance(5_000.0).unwrap();
    for side in &frame.sides {
        assert_eq!(side.marks.len(), 20);
        let slow = side.marks.iter().filter(|mark| mark.latency_ms > 31.0).count();
        assert!(slow > 0 && side.marks[5].again > 0, "{:?}", side.marks);
    }
    // As far apart as they were captured.
    assert!((frame.due[19].1 - frame.due[0].1 - 1_900.0).abs() < 1.0, "{:?}", frame.due);
    let error = Show::new(Setting { flows: 2, ..setting }, Some(traffic)).err().unwrap();
    assert!(error.to_string().contains("1 to 1"), "{error}");
}

#[test]
fn a_file_that_carries_nothing_is_refused_with_the_reason() {
    for (bytes, hint) in [(&b"notes"[..], "capture"), (&capture()[..24], "TCP or SCTP")] {
        let error = Traffic::read(bytes).unwrap_err().to_string();
        assert!(error.contains(hint), "{error}");
    }
    // Cut anywhere, it is read as far as it goes, or refused.
    let whole = capture();
    for end in 0..whole.len() {
        let _ = Traffic::read(&whole[..end]);
    }
}
