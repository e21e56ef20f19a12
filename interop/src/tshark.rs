//! tshark as judge of what went over the wire.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};

use crate::missing::{self, Missing};
use crate::process::Process;

/// Installed tshark, the judge of captures.
#[derive(Clone, Debug)]
pub struct Tshark(PathBuf);

/// Findings of tshark in a capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Packets that tshark dissects as SCTP.
    pub packets: usize,
    /// Packets with DATA chunks that were in the capture before.
    pub retransmissions: usize,
    /// Numbers of frames that are not SCTP, malformed, or worth an error to the dissector; with
    /// its words.
    pub malformed: Vec<String>,
    /// Numbers of frames whose CRC32c is not right.
    pub bad_checksums: Vec<String>,
}

impl Verdict {
    /// Whether everything captured is well-formed SCTP with right checksums, and that there is
    /// something.
    ///
    /// # Errors
    /// Naming the frames that are not.
    pub fn check(&self) -> Result<()> {
        ensure!(self.packets > 0, "the capture holds no SCTP packet");
        ensure!(self.malformed.is_empty(), "malformed frames: {:?}", self.malformed);
        ensure!(self.bad_checksums.is_empty(), "frames with bad CRC: {:?}", self.bad_checksums);
        Ok(())
    }
}

impl Tshark {
    /// The installed tshark.
    ///
    /// # Errors
    /// Where it is not installed.
    pub fn find() -> Result<Tshark, Missing> {
        missing::program("tshark", "tshark").map(Tshark)
    }

    /// Dissects the capture at `path`. UDP is taken for SCTP on port 9899 and on `more_ports`.
    ///
    /// # Errors
    /// Where tshark cannot read the file.
    pub fn judge(&self, path: &Path, more_ports: &[u16]) -> Result<Verdict> {
        let words = ["-n", "-o", "sctp.checksum:CRC 32c", "-d", USER_DATA, "-T", "fields"];
        let mut arguments: Vec<String> = words.map(str::to_owned).to_vec();
        for port in more_ports {
            arguments.extend(["-d".to_owned(), format!("udp.port=={port},sctp")]);
        }
        for field in FIELDS {
            arguments.extend(["-e".to_owned(), field.to_owned()]);
        }
        arguments.extend(["-r".to_owned(), path.display().to_string()]);
        let (status, text) = Process::output(None, &self.0, &arguments)?;
        if !status.success() {
            bail!("tshark: {status}\n{text}");
        }
        // Warnings of tshark itself (running as root) stand between: a row begins with a frame
        // number.
        let rows = text.lines().filter(|l| l.starts_with(|c: char| c.is_ascii_digit()));
        Ok(rows.fold(Verdict::empty(), Verdict::with_row))
    }
}

/// SCTP's user data is shown as bytes, whatever the ports: a port chosen by a client's system may
/// be one by which tshark knows a protocol (38412: NGAP), and as that protocol the exercises'
/// messages are malformed.
const USER_DATA: &str = "sctp.port==0-65535,data";

const FIELDS: [&str; 6] = [
    "frame.number",
    "frame.protocols",
    "sctp.checksum.status",
    "sctp.retransmission",
    "_ws.malformed",
    "_ws.expert.severity",
];
/// `sctp.checksum.status` of a right checksum.
const GOOD: &str = "1";
/// Value of `_ws.expert.severity` for an error.
const EXPERT_ERROR: u64 = 0x0080_0000;

impl Verdict {
    fn empty() -> Verdict {
        Verdict { packets: 0, retransmissions: 0, malformed: vec![], bad_checksums: vec![] }
    }

    fn with_row(mut self, row: &str) -> Verdict {
        let mut columns = row.split('\t');
        let [frame, protocols, checksum, retransmission, malformed, severities] =
            std::array::from_fn(|_| columns.next().unwrap_or(""));
        let is_sctp = protocols.split(':').any(|protocol| protocol == "sctp");
        let is_error = severities.split(',').any(|s| s.parse() == Ok(EXPERT_ERROR));
        if !is_sctp || is_error || !malformed.is_empty() {
            self.malformed.push(format!("{frame} ({protocols}) {malformed}"));
        }
        if is_sctp {
            self.packets += 1;
            self.retransmissions += usize::from(!retransmission.is_empty());
            // A SCTP packet inside an ICMP message has a second status; the outer one comes first.
            if checksum.split(',').next() != Some(GOOD) {
                self.bad_checksums.push(frame.to_owned());
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use sctp::wire::chunk::{Data, DataFlags};
    use sctp::wire::{CommonHeader, PacketBuilder, Ssn, Tsn, VerificationTag};
    use sctp::{Ppid, StreamId};

    use super::*;
    use crate::plan::EchoPlan;
    use crate::{Capture, available};

    /// A COOKIE ACK with the verification tag 1 and the CRC32c that belongs to it.
    const COOKIE_ACK: [u8; 16] =
        [0x13, 0x88, 0, 7, 0, 0, 0, 1, 0xad, 0x09, 0x12, 0x6a, 11, 0, 0, 4];

    #[test]
    fn altered_and_truncated_packets_are_found_and_good_ones_pass() {
        let Some(tshark) = available(Tshark::find()) else { return };
        let folder = tempfile::tempdir().unwrap();
        let judged = |name: &str, payload: &[u8]| {
            let capture = Capture::create(&folder.path().join(name)).unwrap();
            capture.add(true, payload).unwrap();
            tshark.judge(capture.path(), &[]).unwrap()
        };
        judged("good", &COOKIE_ACK).check().unwrap();
        let mut altered = COOKIE_ACK;
        altered[7] ^= 2;
        assert_eq!(judged("altered", &altered).bad_checksums, ["1"]);
        let mut overlong = COOKIE_ACK;
        overlong[15] = 200;
        let verdict = judged("overlong", &overlong);
        assert_eq!(verdict.malformed.len(), 1, "{verdict:?}");
        assert!(judged("nothing", b"not SCTP").check().is_err());
    }

    #[test]
    fn messages_are_not_taken_for_those_of_a_protocol_that_has_the_port() {
        let Some(tshark) = available(Tshark::find()) else { return };
        let folder = tempfile::tempdir().unwrap();
        let capture = Capture::create(&folder.path().join("ngap")).unwrap();
        let verification_tag = VerificationTag(1);
        let header = CommonHeader { source_port: 38_412, destination_port: 7, verification_tag };
        for index in 0..100 {
            let mut bytes = vec![];
            let mut packet = PacketBuilder::start(&mut bytes, header, 1_400);
            let message = Data {
                tsn: Tsn(index),
                stream: StreamId(0),
                ssn: Ssn(index as u16),
                ppid: Ppid(51),
                flags: DataFlags::WHOLE,
                payload: &EchoPlan::of(100, 100).message(index as usize)[..],
            };
            packet.append(message).unwrap();
            packet.finish();
            capture.add(true, &bytes).unwrap();
        }
        tshark.judge(capture.path(), &[]).unwrap().check().unwrap();
    }
}
