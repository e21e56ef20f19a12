//! Segments that the script sends.

use base::Ecn;

use super::super::state::Runner;
use super::Tcp;
use super::wire::{self, WireSegment};
use crate::leniency::Leniency;
use crate::script::{Content, Number, Packet, Segment, TcpOption};
use crate::sockets::tcp::peer_byte;
use crate::stop::Stop;

impl Runner<'_, Tcp> {
    pub(super) fn inject(&mut self, packet: &Packet) -> Result<(), Stop> {
        let segment = match &packet.content {
            Content::Tcp(segment) => segment,
            Content::Icmp(message) => return self.inject_icmp(message),
            Content::Sctp(_) => return Ok(()),
        };
        let hosts = self.party.sockets.hosts;
        let addresses = packet.addresses.unwrap_or((hosts.remote, hosts.local));
        let ecn = match packet.ecn.as_deref() {
            Some("ect0" | "ect01") => Ecn::Ect0,
            Some("ect1") => Ecn::Ect1,
            Some("ce") => Ecn::Ce,
            _ => Ecn::NotEct,
        };
        let ecn = match (ecn, packet.traffic_class.map(|class| class & 3)) {
            (Ecn::NotEct, Some(1)) => Ecn::Ect1,
            (Ecn::NotEct, Some(2)) => Ecn::Ect0,
            (Ecn::NotEct, Some(3)) => Ecn::Ce,
            (ecn, _) => ecn,
        };
        let assembled = self.assemble(segment)?;
        if assembled.flags & wire::SYN != 0 {
            self.party.ecn_agreed = assembled.flags & wire::ECE != 0;
        }
        self.party.promise.note_script(&assembled);
        let bytes = assembled.emit(addresses);
        self.party.sockets.handle_datagram(self.now, addresses, ecn, bytes);
        self.drain()
    }

    fn assemble(&mut self, segment: &Segment) -> Result<WireSegment, Stop> {
        let flags = wire::flags(&segment.flags);
        let Some(sequence) = segment.sequence else {
            return Err(Stop::fail("a segment to send needs a sequence number"));
        };
        if segment.options.is_none() {
            return Err(Stop::fail("a segment to send needs its options"));
        }
        let number = |number: Option<Number>, what: &str| match number {
            Some(Number::Is(number)) => Ok(number),
            None => Ok(0),
            Some(Number::Any) => Err(Stop::fail(format!("a segment to send needs its {what}"))),
        };
        if flags & wire::SYN != 0 {
            self.party.numbers.script_begins(sequence);
        }
        let beyond = self.beyond_edge(sequence);
        let numbers = &self.party.numbers;
        let ack = number(segment.ack, "acknowledgement")?;
        let is_ack = flags & wire::ACK != 0 || segment.ack.is_some();
        let (local, remote) = self.party.sockets.ports();
        let is_syn = u32::from(flags & wire::SYN != 0);
        let first = numbers.offset_of_script(sequence).wrapping_add(is_syn);
        let payload = (0..segment.length).map(|index| peer_byte(first.wrapping_add(index)));
        let options = segment.options.iter().flatten().map(|option| self.live(option));
        Ok(WireSegment {
            source: remote,
            destination: local,
            sequence: match segment.absolute {
                true => sequence,
                false => numbers.live_of_script(sequence).wrapping_sub(beyond),
            },
            ack: if is_ack { numbers.live_of_stack(ack) } else { 0 },
            flags,
            window: number(segment.window, "window")? as u16,
            urgent: segment.urgent.unwrap_or(0) as u16,
            options: options.collect(),
            payload: payload.collect(),
        })
    }

    /// Distance of the window's right edge in the script's system beyond the stack's, if a segment
    /// is sent there: its last byte, or the first outside. FreeBSD rounds its buffer of 65,536
    /// bytes up to whole segments, and keeps the window although the header cannot express it.
    fn beyond_edge(&mut self, sequence: u32) -> u32 {
        let Some((ack, window)) = self.party.last_ack else { return 0 };
        if !self.config.overlooks(Leniency::WindowEdge) {
            return 0;
        }
        let buffer = self.party.sockets.config.connection.receive_buffer as u32;
        let rounded = buffer.next_multiple_of(self.party.largest_segment());
        let distance = self.party.numbers.live_of_script(sequence).wrapping_sub(ack);
        if u32::from(window) > rounded
            || (distance != rounded && distance.wrapping_add(1) != rounded)
        {
            return 0;
        }
        self.used(Leniency::WindowEdge);
        rounded - u32::from(window)
    }

    /// An option with the numbers on the wire.
    fn live(&self, option: &TcpOption) -> TcpOption {
        let numbers = &self.party.numbers;
        match option {
            TcpOption::Sack(blocks) => {
                let live = |(start, end): &(u32, u32)| {
                    (numbers.live_of_stack(*start), numbers.live_of_stack(*end))
                };
                TcpOption::Sack(blocks.iter().map(live).collect())
            }
            TcpOption::Timestamp(value, echo) => {
                let echo = echo.map(|echo| if echo == 0 { 0 } else { numbers.live_echo(echo) });
                TcpOption::Timestamp(value.map(|value| numbers.live_clock(value)), echo)
            }
            other => other.clone(),
        }
    }
}
