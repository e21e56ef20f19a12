//! Comparison of the stack's segments with patterns, with the leniencies of the run.

use base::Ecn;

use super::super::state::Runner;
use super::Tcp;
use super::wire::{self, Shown, WireSegment};
use crate::leniency::Leniency;
use crate::script::{Number, Segment, TcpOption};
use crate::sockets::Emitted;
use crate::sockets::tcp::stack_byte;

/// Pattern of a segment, from a line of the script.
pub(super) struct Pattern<'a> {
    pub(super) segment: &'a Segment,
    pub(super) ecn: Option<&'a str>,
}

impl Runner<'_, Tcp> {
    /// Compares a segment with a pattern; returns the leniencies that were needed, or the
    /// difference.
    pub(super) fn match_segment(
        &mut self,
        pattern: &Pattern<'_>,
        found: &WireSegment,
        (ecn, room): (Ecn, u64),
    ) -> Result<Vec<Leniency>, String> {
        let mut needed = Vec::new();
        let behind_fin;
        let mut wanted = pattern.segment;
        if self.is_behind_fin(wanted, found) {
            behind_fin = Segment {
                flags: ".".to_owned(),
                sequence: wanted.sequence.map(|sequence| sequence.wrapping_add(1)),
                ..wanted.clone()
            };
            wanted = &behind_fin;
            needed.push(Leniency::FinNotRepeated);
        }
        self.match_flags(wanted, found, &mut needed)?;
        self.match_numbers(wanted, found)?;
        self.match_window(wanted, found, room, &mut needed)?;
        if let Some(options) = &wanted.options {
            self.match_options(options, found, &mut needed)?;
        }
        let is_right = match pattern.ecn {
            Some(name) => is_codepoint(name, ecn),
            None => ecn == Ecn::NotEct || self.party.ecn_agreed,
        };
        if !is_right {
            return Err(format!("other ECN codepoint, {ecn:?}"));
        }
        self.match_payload(found)?;
        match needed.iter().find(|leniency| !self.config.overlooks(**leniency)) {
            Some(leniency) => Err(format!("differs by {}", leniency.name())),
            None => Ok(needed),
        }
    }

    /// Whether the script expects a FIN without data again, and an acknowledgement after the FIN is
    /// found.
    fn is_behind_fin(&self, wanted: &Segment, found: &WireSegment) -> bool {
        wire::flags(&wanted.flags) == wire::FIN | wire::ACK
            && wanted.length == 0
            && found.flags == wire::ACK
            && found.payload.is_empty()
            && self.party.fin_sent.is_some_and(|fin| fin.wrapping_add(1) == found.sequence)
    }

    fn match_flags(
        &self,
        wanted: &Segment,
        found: &WireSegment,
        needed: &mut Vec<Leniency>,
    ) -> Result<(), String> {
        let differing = wire::flags(&wanted.flags) ^ found.flags;
        match differing {
            0 => Ok(()),
            wire::PSH => {
                needed.push(Leniency::Push);
                Ok(())
            }
            _ => Err("other flags".to_owned()),
        }
    }

    fn match_numbers(&self, wanted: &Segment, found: &WireSegment) -> Result<(), String> {
        let numbers = &self.party.numbers;
        let sequence = match wanted.absolute {
            true => found.sequence,
            false => numbers.stack_in_script(found.sequence),
        };
        if wanted.sequence.is_some_and(|wanted| wanted != sequence) {
            return Err("other sequence number".to_owned());
        }
        if found.payload.len() != wanted.length as usize {
            return Err("other length".to_owned());
        }
        let ack = match found.flags & wire::ACK != 0 {
            true => numbers.script_in_script(found.ack),
            false => found.ack,
        };
        // A field that the script does not mention is 0.
        let is_other = match wanted.ack {
            Some(Number::Any) => false,
            Some(Number::Is(wanted)) => wanted != ack,
            None => found.ack != 0,
        };
        if is_other {
            return Err("other acknowledgement number".to_owned());
        }
        if wanted.urgent.unwrap_or(0) != u32::from(found.urgent) {
            return Err("other urgent pointer".to_owned());
        }
        Ok(())
    }

    /// Systems round their buffers to whole segments, and windows to the unit of their scale; some
    /// move the right edge with each acknowledgement, this stack by whole segments (RFC 9293,
    /// section 3.8.6.2.2). If the script's window is the whole room, that room rounded
    /// otherwise is accepted, and so is the edge advertised before as long as less than a whole
    /// segment is missing.
    fn match_window(
        &self,
        wanted: &Segment,
        found: &WireSegment,
        room: u64,
        needed: &mut Vec<Leniency>,
    ) -> Result<(), String> {
        let Some(Number::Is(window)) = wanted.window else { return Ok(()) };
        if window == u32::from(found.window) {
            return Ok(());
        }
        let (promise, connection) = (&self.party.promise, &self.party.sockets.config.connection);
        let shift = promise.shift_of(found);
        let unit = 1 << connection.window_shift.unwrap_or(0);
        let (wanted, largest) = (u64::from(window) << shift, u64::from(u16::MAX) << shift);
        let found_window = u64::from(found.window) << shift;
        let is_of_system = wanted.abs_diff(room.min(largest)) <= unit;
        let is_all = found_window.abs_diff(wanted) <= unit;
        let is_kept = promise.is_kept_by(found, unit)
            && wanted.abs_diff(found_window) < self.party.largest_segment().into();
        if wanted == 0 || found_window == 0 || !is_of_system || !(is_all || is_kept) {
            return Err("other window".to_owned());
        }
        if promise.is_broken_by(found) {
            return Err("the right edge of the window goes back".to_owned());
        }
        needed.push(Leniency::RoundedWindow);
        Ok(())
    }

    fn match_options(
        &mut self,
        wanted: &[TcpOption],
        found: &WireSegment,
        needed: &mut Vec<Leniency>,
    ) -> Result<(), String> {
        if let Some(TcpOption::Timestamp(Some(script), _)) =
            wanted.iter().find(|option| is_clock(option))
            && let Some((live, _)) = found.timestamp()
        {
            let by_clock = self.party.numbers.note_clock(*script, live);
            self.check_clock(*script, by_clock)?;
        }
        let options: Vec<_> =
            found.options.iter().map(|option| self.party.symbolic(option)).collect();
        let same = |(wanted, found): (&TcpOption, &TcpOption)| is_option(wanted, found);
        if wanted.len() == options.len() && wanted.iter().zip(&options).all(same) {
            return Ok(());
        }
        let mut left: Vec<_> = options.iter().filter(|option| !is_padding(option)).collect();
        for option in wanted.iter().filter(|option| !is_padding(option)) {
            let position = left.iter().position(|found| is_option(option, found));
            let position = position.ok_or_else(|| format!("no option {}", Shown(option)))?;
            left.remove(position);
        }
        if let Some(extra) = left.first() {
            return Err(format!("an unexpected option, {}", Shown(extra)));
        }
        needed.push(Leniency::OptionSet);
        Ok(())
    }

    /// Compares the stack's clock with the script's, if the script gives its rate.
    fn check_clock(&self, script: u32, by_clock: u32) -> Result<(), String> {
        let Some(tick) = self.party.tick else { return Ok(()) };
        let off = i64::from(by_clock.wrapping_sub(script).cast_signed()).unsigned_abs();
        let allowed =
            if self.config.exact { 0 } else { self.tolerance.as_nanos() / tick.as_nanos() };
        if off <= allowed {
            return Ok(());
        }
        Err(format!("the timestamp is {off} ticks off"))
    }

    /// Each byte is a function of its position in the stream.
    fn match_payload(&self, found: &WireSegment) -> Result<(), String> {
        let is_syn = u32::from(found.flags & wire::SYN != 0);
        let first = self.party.numbers.offset_of_stack(found.sequence).wrapping_add(is_syn);
        let right = |(index, byte): (u32, &u8)| stack_byte(first.wrapping_add(index)) == *byte;
        if (0..).zip(&found.payload).all(right) {
            Ok(())
        } else {
            Err("other bytes than the application wrote".to_owned())
        }
    }
}

impl Tcp {
    /// Size in bytes of a segment that fills a packet.
    pub(super) fn largest_segment(&self) -> u32 {
        let path_mtu = self.sockets.config.connection.path_mtu;
        self.sockets.hosts.largest_segment(path_mtu) as u32
    }

    /// An option in the script's numbers.
    fn symbolic(&self, option: &TcpOption) -> TcpOption {
        let numbers = &self.numbers;
        match option {
            TcpOption::Sack(blocks) => {
                let script = |(start, end): &(u32, u32)| {
                    (numbers.script_in_script(*start), numbers.script_in_script(*end))
                };
                TcpOption::Sack(blocks.iter().map(script).collect())
            }
            TcpOption::Timestamp(value, echo) => TcpOption::Timestamp(
                value.map(|value| numbers.clock_in_script(value)),
                echo.map(|echo| numbers.echo_in_script(echo)),
            ),
            other => other.clone(),
        }
    }

    /// A segment in the script's syntax.
    pub(super) fn show_segment(&self, segment: &WireSegment) -> String {
        let sequence = self.numbers.stack_in_script(segment.sequence);
        let length = segment.payload.len() as u32;
        let mut text = format!(
            "{} {sequence}:{}({length})",
            wire::letters(segment.flags),
            sequence.wrapping_add(length)
        );
        if segment.flags & wire::ACK != 0 {
            text += &format!(" ack {}", self.numbers.script_in_script(segment.ack));
        }
        text += &format!(" win {}", segment.window);
        if segment.urgent != 0 {
            text += &format!(" urg {}", segment.urgent);
        }
        let options: Vec<_> = segment.options.iter().map(|option| self.symbolic(option)).collect();
        text + &show_options(&options)
    }
}

/// Text of a packet in the script's language, for a message.
pub(super) fn show_packet(party: &Tcp, packet: &Emitted) -> String {
    match WireSegment::parse(&packet.bytes, (packet.local, packet.remote)) {
        Ok(segment) => party.show_segment(&segment),
        Err(why) => format!("a segment that {why}"),
    }
}

pub(super) fn show_pattern(pattern: &Pattern<'_>) -> String {
    let segment = pattern.segment;
    let number = |number: Option<u32>| number.map_or("...".to_owned(), |number| number.to_string());
    let end = segment.sequence.map(|first| first.wrapping_add(segment.length));
    let mut text = pattern.ecn.map_or(String::new(), |name| format!("[{name}] "));
    let (first, end) = (number(segment.sequence), number(end));
    text += &format!("{} {first}:{end}({})", segment.flags, segment.length);
    for (name, value) in [("ack", segment.ack), ("win", segment.window)] {
        match value {
            None => {}
            Some(Number::Any) => text += &format!(" {name} ..."),
            Some(Number::Is(value)) => text += &format!(" {name} {value}"),
        }
    }
    if let Some(urgent) = segment.urgent {
        text += &format!(" urg {urgent}");
    }
    match &segment.options {
        None => text + " <...>",
        Some(options) => text + &show_options(options),
    }
}

fn show_options(options: &[TcpOption]) -> String {
    if options.is_empty() {
        return String::new();
    }
    let options: Vec<_> = options.iter().map(|option| Shown(option).to_string()).collect();
    format!(" <{}>", options.join(","))
}

impl WireSegment {
    /// Value and echo of its timestamps.
    fn timestamp(&self) -> Option<(u32, u32)> {
        self.options.iter().find_map(|option| match option {
            TcpOption::Timestamp(Some(value), Some(echo)) => Some((*value, *echo)),
            _ => None,
        })
    }
}

/// Whether an option matches the script's; of timestamps, only the echo is compared.
fn is_option(wanted: &TcpOption, found: &TcpOption) -> bool {
    match (wanted, found) {
        (TcpOption::Timestamp(_, wanted), TcpOption::Timestamp(_, found)) => {
            wanted.is_none() || wanted == found
        }
        _ => wanted == found,
    }
}

fn is_clock(option: &TcpOption) -> bool {
    matches!(option, TcpOption::Timestamp(..))
}

fn is_padding(option: &TcpOption) -> bool {
    matches!(option, TcpOption::Nop | TcpOption::End)
}

fn is_codepoint(name: &str, found: Ecn) -> bool {
    match name {
        "ect0" => found == Ecn::Ect0,
        "ect1" => found == Ecn::Ect1,
        "ect01" => matches!(found, Ecn::Ect0 | Ecn::Ect1),
        "ce" => found == Ecn::Ce,
        _ => found == Ecn::NotEct,
    }
}
