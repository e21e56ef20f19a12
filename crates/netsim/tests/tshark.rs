//! Captures as an independent reader sees them: tshark, if it is installed.

#![expect(clippy::unwrap_used, reason = "a failure here fails the test")]

use std::io::Write;
use std::path::Path;
use std::process::Command;

use base::{Ecn, Instant};
use netsim::capture::PcapWriter;
use netsim::frame::{FrameHeader, IP_PROTOCOL_SCTP};

/// CRC32c, bit by bit (RFC 9260, appendix A).
fn crc32c(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _| if crc & 1 == 1 { crc >> 1 ^ 0x82f6_3b78 } else { crc >> 1 };
    !bytes.iter().fold(!0, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), step))
}

/// An SCTP packet with an INIT chunk (RFC 9260, section 3.3.2).
fn sctp_init() -> Vec<u8> {
    let mut packet = vec![
        0x13, 0x88, 0x13, 0x89, // ports 5000 and 5001
        0, 0, 0, 0, // verification tag
        0, 0, 0, 0, // checksum
        1, 0, 0, 20, // INIT, flags, length
        0xde, 0xad, 0xbe, 0xef, // initiate tag
        0, 1, 0, 0, // a_rwnd
        0, 10, 0, 10, // streams
        0, 0, 0, 1, // initial TSN
    ];
    let checksum = crc32c(&packet).to_le_bytes();
    packet[8..12].copy_from_slice(&checksum);
    packet
}

fn write_capture(path: &Path, ends: &[(&str, &str)]) {
    let mut writer = PcapWriter::new(std::fs::File::create(path).unwrap()).unwrap();
    let interface = writer.add_interface("test").unwrap();
    for (index, (source, destination)) in (1..).zip(ends) {
        let header = FrameHeader {
            source: source.parse().unwrap(),
            destination: destination.parse().unwrap(),
            ecn: Ecn::Ect0,
            raw_protocol: IP_PROTOCOL_SCTP,
        };
        let at = Instant::from_nanos(1_000_000_000 + index);
        writer.write(interface, at, header, &sctp_init()).unwrap();
    }
    writer.flush().unwrap();
}

#[test]
fn tshark_finds_the_sctp_init_and_nothing_wrong() {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("init.pcapng");
    write_capture(
        &path,
        &[
            ("10.0.0.1:9899", "10.0.0.2:9899"),
            ("[fd00::1]:9899", "[fd00::2]:9899"),
            ("10.0.0.1:0", "10.0.0.2:0"),
            ("[fd00::1]:0", "[fd00::2]:0"),
        ],
    );
    let mut tshark = Command::new("tshark");
    tshark.arg("-r").arg(&path);
    for option in ["ip.check_checksum:TRUE", "udp.check_checksum:TRUE", "sctp.checksum:CRC 32c"] {
        tshark.args(["-o", option]);
    }
    tshark.args(["-T", "fields", "-E", "separator=;"]);
    for field in [
        "frame.time_epoch",
        "ip.checksum.status",
        "udp.checksum.status",
        "sctp.checksum.status",
        "sctp.chunk_type",
        "sctp.init_initiate_tag",
        "_ws.malformed",
        "_ws.expert",
    ] {
        tshark.args(["-e", field]);
    }
    let output = match tshark.output() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let _ = writeln!(std::io::stderr(), "SKIPPED: tshark is not installed");
            return;
        }
        output => output.unwrap(),
    };
    let lines = String::from_utf8(output.stdout).unwrap();
    // 1 is a good checksum, and absent ones are empty.
    let expected = [
        "1.000000001;1;1;1;1;0xdeadbeef;;",
        "1.000000002;;1;1;1;0xdeadbeef;;",
        "1.000000003;1;;1;1;0xdeadbeef;;",
        "1.000000004;;;1;1;0xdeadbeef;;",
    ];
    assert_eq!(lines.lines().collect::<Vec<_>>(), expected);
}
