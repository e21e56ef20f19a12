//! The distance between the clocks of two captures, from the first packets that both have.

use std::collections::BTreeMap;
use std::io::Read;

use base::Instant;

use super::Options;
use crate::capture::{Capture, Frame};
use crate::packet::{Packet, Protocol, dissect};
use crate::receiver::difference;

/// Packets of either capture that are looked at.
const COMPARED: usize = 200_000;
/// Common packets that are enough.
const ENOUGH: usize = 1000;

/// The receiver's clock less the sender's in nanoseconds, except for the time of a way: what the
/// captures need to be read side by side. None if they do not begin with common packets. Both
/// captures are read, and have to be opened again.
pub fn clock_difference<S: Read, R: Read>(
    sender: &mut Capture<S>,
    receiver: &mut Capture<R>,
    options: &Options,
) -> Option<i64> {
    // A packet that looks like another is ambiguous: it is kept without a time.
    let mut sent: BTreeMap<u64, Option<Instant>> = BTreeMap::new();
    for _ in 0..COMPARED {
        let Ok(Some(frame)) = sender.next_frame() else { break };
        if options.interfaces.admits(&frame)
            && let Some(print) = fingerprint(&frame, options)
        {
            sent.entry(print).and_modify(|time| *time = None).or_insert(Some(frame.at));
        }
    }
    let mut least: Option<i64> = None;
    let mut common = 0;
    for _ in 0..COMPARED {
        let Ok(Some(frame)) = receiver.next_frame() else { break };
        let is_admitted = options.receiver_interfaces.admits(&frame);
        let Some(print) = fingerprint(&frame, options).filter(|_| is_admitted) else { continue };
        let Some(Some(at)) = sent.get(&print) else { continue };
        let difference = difference(*at, frame.at);
        least = Some(least.map_or(difference, |least| least.min(difference)));
        common += 1;
        if common >= ENOUGH {
            break;
        }
    }
    least
}

/// Numbers of a packet that are equal on both sides of an address translator.
fn fingerprint(frame: &Frame<'_>, options: &Options) -> Option<u64> {
    let packet = dissect(frame, &options.udp_ports).ok()?;
    let Packet { bytes, length, protocol, .. } = packet;
    let numbers = match protocol {
        // From the sequence number to the flags, and timestamps, if any.
        Protocol::Tcp => [bytes.get(4..14)?, bytes.get(20..32).unwrap_or_default()],
        // The tag, and the first chunk's fixed fields.
        Protocol::Sctp => [bytes.get(4..8)?, bytes.get(12..32).unwrap_or_default()],
    };
    let mut hash = u64::from(length);
    for byte in numbers.into_iter().flatten() {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(5);
    }
    Some(hash)
}
