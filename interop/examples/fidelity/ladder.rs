//! One event on both sides: what left either end when, and what of it was lost.

use core::fmt::Write;
use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use interop::{Crossing, KernelTransport};
use sctp::wire::{Chunk, Packet};
use tcp::wire::{Flags, Segment};

/// A packet as it left.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) at: Duration,
    /// Whether it goes from the sender of messages to their receiver.
    pub(crate) forward: bool,
    pub(crate) lost: bool,
    /// Messages that it carries, counted from the first of the flow.
    pub(crate) messages: Vec<u32>,
    /// Description of the event, as the ladder shows it.
    pub(crate) text: String,
}

/// Reads packets of one flow.
pub(crate) struct Reader {
    transport: KernelTransport,
    /// Bytes of user data in a message.
    size: u32,
    /// The number of the first message's first byte, or TSN.
    first: Option<u32>,
}

/// Behind the IP header: what carries no options here.
const IP: usize = 20;
/// Port of the server, by which directions are told apart.
const PORT: u16 = 5000;

impl Reader {
    pub(crate) fn new(transport: KernelTransport, size: u32) -> Reader {
        Reader { transport, size, first: None }
    }

    /// Event of a packet (without its IP header); `None` if the packet does not belong to the flow.
    pub(crate) fn read(
        &mut self,
        at: Duration,
        forward: bool,
        lost: bool,
        bytes: Bytes,
    ) -> Option<Step> {
        let (messages, text) = match self.transport {
            KernelTransport::Sctp => self.read_sctp(bytes),
            KernelTransport::Tcp => self.read_tcp(bytes),
        }?;
        Some(Step { at, forward, lost, messages, text })
    }

    fn read_sctp(&mut self, bytes: Bytes) -> Option<(Vec<u32>, String)> {
        let (mut messages, mut text) = (vec![], vec![]);
        let packet = Packet::parse_captured(bytes).ok()?;
        for chunk in packet.chunks() {
            match chunk.ok()? {
                Chunk::Data(data) => {
                    let message = data.tsn.0.wrapping_sub(*self.first.get_or_insert(data.tsn.0));
                    messages.push(message);
                    text.push(format!("message {message}"));
                }
                Chunk::Sack(sack) => {
                    let next = sack.cumulative_tsn_ack.0.wrapping_add(1).wrapping_sub(self.first?);
                    let gaps = sack.gap_ack_blocks().map(|gap| {
                        let at = |offset: u16| next + u32::from(offset) - 1;
                        (at(gap.start), at(gap.end))
                    });
                    text.push(acknowledgement(next, gaps.collect()));
                }
                Chunk::Heartbeat(_) => text.push("HEARTBEAT".to_owned()),
                Chunk::HeartbeatAck(_) => text.push("HEARTBEAT ACK".to_owned()),
                _ => {}
            }
        }
        (!text.is_empty()).then(|| (messages, text.join(", ")))
    }

    fn read_tcp(&mut self, bytes: Bytes) -> Option<(Vec<u32>, String)> {
        let segment = Segment::parse_without_checksum(bytes).ok()?;
        if segment.flags.contains(Flags::SYN) {
            return None;
        }
        let message = |number: u32, first: u32| number.wrapping_sub(first) / self.size;
        if segment.payload.is_empty() {
            let first = self.first?;
            let gaps = segment.options.sack.iter();
            let gaps = gaps.map(|gap| (message(gap.start.0, first), message(gap.end.0, first) - 1));
            let text = acknowledgement(message(segment.ack.0, first), gaps.collect());
            return Some((vec![], text));
        }
        let first = *self.first.get_or_insert(segment.seq.0);
        let from = message(segment.seq.0, first);
        let to = from + segment.payload.len() as u32 / self.size;
        let text: Vec<_> = (from..to).map(|message| format!("message {message}")).collect();
        Some(((from..to).collect(), text.join(", ")))
    }
}

/// All before `next` arrived, and these.
fn acknowledgement(next: u32, gaps: Vec<(u32, u32)>) -> String {
    let mut text = format!("acknowledges all before {next}");
    for (from, to) in gaps {
        // Writing to a string does not fail.
        let _ = match from == to {
            true => write!(text, ", and {from}"),
            false => write!(text, ", and {from} to {to}"),
        };
    }
    text
}

/// The flows of a capture, each with its steps in order.
pub(crate) fn flows(
    crossings: &[Crossing],
    transport: KernelTransport,
    size: u32,
) -> Vec<Vec<Step>> {
    let mut flows = BTreeMap::<u16, (Reader, Vec<Step>)>::new();
    for crossing in crossings {
        let bytes = Bytes::copy_from_slice(crossing.packet.get(IP..).unwrap_or_default());
        let Some(&[s0, s1, d0, d1]) = bytes.first_chunk() else { continue };
        // Of the two ports the one that is not the server's.
        let client = u16::from_be_bytes([s0, s1]) ^ u16::from_be_bytes([d0, d1]) ^ PORT;
        let (reader, steps) =
            flows.entry(client).or_insert_with(|| (Reader::new(transport, size), vec![]));
        let forward = [d0, d1] == PORT.to_be_bytes();
        steps.extend(reader.read(crossing.at, forward, crossing.lost, bytes));
    }
    flows.into_values().map(|(_, steps)| steps).collect()
}

/// An event of a flow that has lost nothing for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// A message is lost, nothing else.
    Lost,
    /// A message is lost, and what was sent in its place.
    LostAgain,
}

impl Event {
    pub(crate) const ALL: [Event; 2] = [Event::Lost, Event::LostAgain];

    pub(crate) fn title(self) -> &'static str {
        match self {
            Event::Lost => "a message is lost",
            Event::LostAgain => "a message is lost, and its first retransmission",
        }
    }

    /// Whether these steps, of which the first is a lost message, are the event and nothing else.
    fn is(self, steps: &[Step]) -> bool {
        let lost: Vec<&Step> = steps.iter().filter(|step| step.lost).collect();
        let first = &steps[0].messages;
        match (self, &lost[1..]) {
            (Event::Lost, []) => true,
            (Event::LostAgain, [again]) => again.messages == *first,
            _ => false,
        }
    }
}

/// The steps of the first such event: all from the lost message on, for the time that `span` is, so
/// long after another loss.
pub(crate) fn find(flows: &[Vec<Step>], event: Event, span: Duration) -> Option<&[Step]> {
    flows.iter().find_map(|steps| {
        steps.iter().enumerate().find_map(|(start, step)| {
            let lossless = || {
                let before = steps[..start].iter().rev();
                step.at > span
                    && before.take_while(|one| one.at + span > step.at).all(|one| !one.lost)
            };
            let fresh = || steps[..start].iter().all(|one| one.messages != step.messages);
            if !(step.lost && step.forward && !step.messages.is_empty() && lossless() && fresh()) {
                return None;
            }
            let count = steps[start..].iter().take_while(|one| one.at < step.at + span).count();
            let found = &steps[start..start + count];
            (start + count < steps.len() && event.is(found)).then_some(found)
        })
    })
}

/// Steps around the first packet that carries several messages for the first time, long after the
/// last loss: some of them waited for others.
pub(crate) fn find_held(flows: &[Vec<Step>]) -> Option<&[Step]> {
    const LOSSLESS: Duration = Duration::from_secs(1);
    flows.iter().find_map(|steps| {
        let mut next = 0;
        let mut lost_at = Duration::ZERO;
        let held = steps.iter().position(|step| {
            if step.lost {
                lost_at = step.at;
            }
            let fresh = step.messages.first().is_some_and(|message| *message >= next);
            next = step.messages.last().map_or(next, |message| next.max(message + 1));
            step.forward && fresh && step.messages.len() > 1 && step.at > lost_at + LOSSLESS
        })?;
        let at = steps[held].at;
        let start = steps.partition_point(|step| step.at + HELD_SPAN < at);
        let end = steps.partition_point(|step| step.at <= at + HELD_SPAN / 4);
        Some(&steps[start..end])
    })
}

/// Time before a packet with several messages that is shown.
const HELD_SPAN: Duration = Duration::from_millis(160);

/// The steps of an event until the lost message was acknowledged; messages are counted from it.
pub(crate) fn print_event(name: &str, steps: &[Step]) {
    let message = steps[0].messages[0];
    let acknowledged = |step: &Step| {
        let next = step.text.strip_prefix("acknowledges all before ");
        let next = next.and_then(|rest| rest.split(',').next()?.parse::<u32>().ok());
        !step.lost && next.is_some_and(|next| next > message)
    };
    let end = steps.iter().position(acknowledged).map_or(steps.len(), |last| last + 1);
    print(name, &steps[..end]);
}

/// Steps as lines: milliseconds, direction, what, fate; times and messages are counted from the
/// first.
pub(crate) fn print(name: &str, steps: &[Step]) {
    let message = steps.iter().find_map(|step| step.messages.first()).copied().unwrap_or(0);
    println!("{name}:\n");
    for step in steps {
        let arrow = if step.forward { "->" } else { "<-" };
        let fate = if step.lost { "  LOST" } else { "" };
        let at = (step.at - steps[0].at).as_secs_f64() * 1e3;
        println!("{at:8.1}  {arrow}  {}{fate}", renumber(&step.text, message));
    }
    println!();
}

/// Renumbers the messages of a ladder from the lost one, which becomes 0.
fn renumber(text: &str, zero: u32) -> String {
    let words = text.split(' ').map(|word| {
        let digits = word.trim_end_matches(',');
        match digits.parse::<u32>() {
            Ok(number) => {
                let relative = i64::from(number) - i64::from(zero);
                format!("{relative}{}", &word[digits.len()..])
            }
            Err(_) => word.to_owned(),
        }
    });
    words.collect::<Vec<_>>().join(" ")
}
