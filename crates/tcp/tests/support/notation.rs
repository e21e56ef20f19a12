//! Segments as short text: flags, `sequence:end(length)`, then `ack`, `win`, `urg` and options.
//!
//! `S 0:0(0) win 1000 <mss 1460,sackOK,TS 100 0,wscale 7>`; `. 1:1(0) ack 1 win 500 <sack 5:9>`.
//! Numbers count from the SYN of their side. What is not written is not looked at when segments are
//! compared, except for options, which are left out of the text of a segment that has none.

use bytes::Bytes;
use tcp::wire::{Flags, Options, SackBlock, Segment, SeqNumber, Timestamps};

/// Writes a segment; `own` and `peer` are the numbers of the SYNs of its sender and of the other
/// side.
pub(crate) fn write(segment: &Segment, own: SeqNumber, peer: SeqNumber) -> String {
    let start = segment.seq.distance_from(own);
    let length = segment.payload.len() as u32;
    let mut text = format!("{} {start}:{}({length})", segment.flags, start.wrapping_add(length));
    if segment.flags.ack() {
        text += &format!(" ack {}", segment.ack.distance_from(peer));
    }
    if segment.flags.urg() {
        text += &format!(" urg {}", segment.urgent);
    }
    let options = options(&segment.options, peer);
    if !options.is_empty() {
        text += &format!(" <{options}>");
    }
    text
}

fn options(options: &Options, peer: SeqNumber) -> String {
    let mut parts = Vec::new();
    if let Some(mss) = options.mss {
        parts.push(format!("mss {mss}"));
    }
    if options.sack_permitted {
        parts.push("sackOK".into());
    }
    if let Some(stamps) = options.timestamps {
        parts.push(format!("TS {} {}", stamps.value, stamps.echo));
    }
    if let Some(shift) = options.window_scale {
        parts.push(format!("wscale {shift}"));
    }
    if !options.sack.is_empty() {
        let edge = |number: SeqNumber| number.distance_from(peer);
        let blocks = options.sack.iter();
        let blocks = blocks.map(|block| format!("{}:{}", edge(block.start), edge(block.end)));
        parts.push(format!("sack {}", blocks.collect::<Vec<_>>().join(" ")));
    }
    parts.join(",")
}

/// Reads a segment from port 4000 to port 80; the window is 65535 unless it is written.
pub(crate) fn read(text: &str, own: SeqNumber, peer: SeqNumber) -> Segment {
    let mut segment = Segment::new(4000, 80);
    let (text, options) = text.split_once('<').unwrap_or((text, ""));
    segment.window = u16::MAX;
    let mut words = text.split_whitespace();
    segment.flags = words.next().unwrap().chars().fold(Flags::NONE, |all, letter| {
        all | match letter {
            'F' => Flags::FIN,
            'S' => Flags::SYN,
            'R' => Flags::RST,
            'P' => Flags::PSH,
            '.' => Flags::ACK,
            'U' => Flags::URG,
            'E' => Flags::ECE,
            'W' => Flags::CWR,
            '-' => Flags::NONE,
            letter => panic!("no flag {letter}"),
        }
    });
    let place = words.next().unwrap();
    let (start, rest) = place.split_once(':').unwrap();
    let (_, length) = rest.trim_end_matches(')').split_once('(').unwrap();
    segment.seq = own.advance(number(start));
    segment.payload = pattern(number(start).into(), number(length) as usize);
    while let Some(word) = words.next() {
        let value = words.next().unwrap();
        match word {
            "ack" => segment.ack = peer.advance(number(value)),
            "win" => segment.window = number(value) as u16,
            "urg" => segment.urgent = number(value) as u16,
            word => panic!("no {word}"),
        }
    }
    for option in options.trim_end_matches('>').split(',').filter(|option| !option.is_empty()) {
        read_option(&mut segment.options, option, peer);
    }
    segment
}

fn read_option(options: &mut Options, text: &str, peer: SeqNumber) {
    let words: Vec<&str> = text.split_whitespace().collect();
    match words.as_slice() {
        ["mss", mss] => options.mss = Some(number(mss) as u16),
        ["sackOK"] => options.sack_permitted = true,
        ["wscale", shift] => options.window_scale = Some(number(shift) as u8),
        ["TS", value, echo] => {
            options.timestamps = Some(Timestamps { value: number(value), echo: number(echo) });
        }
        ["sack", blocks @ ..] => {
            let block = |text: &&str| {
                let (start, end) = text.split_once(':').unwrap();
                SackBlock { start: peer.advance(number(start)), end: peer.advance(number(end)) }
            };
            options.sack = blocks.iter().map(block).collect();
        }
        _ => panic!("no option {text}"),
    }
}

/// A number; a negative one wraps.
fn number(text: &str) -> u32 {
    text.parse::<i64>().unwrap_or_else(|_| panic!("{text} is no number")) as u32
}

/// The bytes at these offsets of a stream that tells where each stands.
pub(crate) fn pattern(start: u64, length: usize) -> Bytes {
    (start..start + length as u64).map(|at| (at ^ (at >> 8)) as u8).collect()
}
