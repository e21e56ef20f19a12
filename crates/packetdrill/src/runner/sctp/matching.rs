//! Comparison of the stack's chunks with patterns, with the leniencies of the run.

use super::super::state::Runner;
use super::Sctp;
use crate::element::{Element, Elements, Kind, Value, compare, compare_list, decode, split};
use crate::leniency::Leniency;
use crate::mapping::{Perspective, Side};

/// Parameter of an ECN-capable endpoint.
const ECN_CAPABLE: u16 = 0x8000;
const SUPPORTED_EXTENSIONS: u16 = 0x8008;
const UNRECOGNIZED_PARAMETER: u16 = 8;

/// Length of the fixed part of INIT and INIT ACK, with the chunk's header.
const INIT_LENGTH: usize = 20;

impl Runner<'_, Sctp> {
    /// Compares the chunks of a packet with patterns; the error says where they differ.
    pub(super) fn match_chunks(
        &mut self,
        patterns: &[Element],
        chunks: &[&[u8]],
    ) -> Result<(), String> {
        let perspective = self.party.talk.mapping.perspective(Side::Stack);
        let strict = compare_list(patterns, false, chunks, Kind::Chunk, perspective);
        let Err(mismatch) = strict else { return Ok(()) };
        let lenient = self.lenient(patterns, chunks, perspective);
        let Some(needed) = lenient else { return Err(mismatch.to_string()) };
        needed.into_iter().for_each(|leniency| self.used(leniency));
        Ok(())
    }

    /// Leniencies with which the chunks match the patterns, if those of the run suffice.
    fn lenient(
        &self,
        patterns: &[Element],
        chunks: &[&[u8]],
        perspective: Perspective<'_>,
    ) -> Option<Vec<Leniency>> {
        if patterns.len() != chunks.len() {
            return None;
        }
        let mut needed = Vec::new();
        for (index, (pattern, chunk)) in patterns.iter().zip(chunks).enumerate() {
            if compare(pattern, chunk, perspective).is_ok() {
                continue;
            }
            match pattern.name() {
                "PAD" if index == 1 && patterns[0].name() == "HEARTBEAT" => {
                    needed.push(padding(pattern, chunks[0], chunk, perspective)?);
                }
                "INIT" | "INIT_ACK" => needed.extend(set_up(pattern, chunk, perspective)?),
                "FORWARD_TSN" | "I_FORWARD_TSN" => needed.push(skip(pattern, chunk, perspective)?),
                _ => return None,
            }
        }
        needed.iter().all(|leniency| self.config.overlooks(*leniency)).then_some(needed)
    }
}

/// Leniencies needed for INIT or INIT ACK to match the pattern.
fn set_up(pattern: &Element, chunk: &[u8], perspective: Perspective<'_>) -> Option<Vec<Leniency>> {
    let mut needed = Vec::new();
    let mut open = pattern.clone();
    let Some(Value::Elements(wanted)) = open.values.last_mut() else { return None };
    let wanted = core::mem::replace(wanted, Elements { list: Vec::new(), open: true });
    compare(&open, chunk, perspective).ok()?;
    // With their original positions.
    let mut left: Vec<(usize, &[u8])> =
        split(chunk.get(INIT_LENGTH..)?).ok()?.into_iter().enumerate().collect();
    let mut last = 0;
    for parameter in &wanted.list {
        let is_wanted =
            |(_, bytes): &(usize, &[u8])| compare(parameter, bytes, perspective).is_ok();
        let is_almost = |(_, bytes): &(usize, &[u8])| same_set(parameter, bytes, perspective);
        let position = left.iter().position(is_wanted);
        match position.or_else(|| left.iter().position(is_almost)) {
            Some(found) => {
                let (place, _) = left.remove(found);
                if place < last || position.is_none() {
                    needed.push(Leniency::ParameterSet);
                }
                last = place;
            }
            None if parameter.code == ECN_CAPABLE => needed.push(Leniency::NoEcn),
            None => return None,
        }
    }
    if wanted.open {
        return Some(needed);
    }
    for (_, extra) in left {
        needed.push(match extra {
            [high, low, ..] => match u16::from_be_bytes([*high, *low]) {
                UNRECOGNIZED_PARAMETER => Leniency::UnrecognizedReport,
                SUPPORTED_EXTENSIONS => Leniency::ListedExtensions,
                // The upper bit of an extension's number means that it may be skipped.
                code if code & 0x8000 != 0 => Leniency::ExtraParameters,
                _ => return None,
            },
            _ => return None,
        });
    }
    Some(needed)
}

/// Length of FreeBSD's HEARTBEAT in bytes.
const HEARTBEAT_LENGTH: usize = 48;

/// Leniency needed for HEARTBEAT and PAD to have the sum of sizes in the script.
fn padding(
    pattern: &Element,
    heartbeat: &[u8],
    pad: &[u8],
    perspective: Perspective<'_>,
) -> Option<Leniency> {
    let open = Element { length: None, ..pattern.clone() };
    compare(&open, pad, perspective).ok()?;
    let wanted = HEARTBEAT_LENGTH + usize::from(pattern.length?);
    let found = heartbeat.len().next_multiple_of(4) + pad.len();
    (wanted == found).then_some(Leniency::ProbePadding)
}

/// Whether a parameter lists the pattern's numbers in another order.
fn same_set(pattern: &Element, bytes: &[u8], perspective: Perspective<'_>) -> bool {
    let Ok(found) = decode(bytes, Kind::Parameter, perspective) else { return false };
    let sorted = |element: &Element| match element.values.first() {
        Some(Value::Numbers(numbers)) => {
            let mut numbers = numbers.clone();
            numbers.sort_unstable();
            Some(numbers)
        }
        _ => None,
    };
    found.code == pattern.code && sorted(&found).is_some() && sorted(&found) == sorted(pattern)
}

/// Leniency needed for FORWARD-TSN or I-FORWARD-TSN to match the pattern.
fn skip(pattern: &Element, chunk: &[u8], perspective: Perspective<'_>) -> Option<Leniency> {
    let found = decode(chunk, Kind::Chunk, perspective).ok()?;
    let streams = |element: &Element| match element.value("ids") {
        Some(Value::Tuples(list)) => {
            let mut list = list.clone();
            list.sort_unstable();
            list.dedup();
            Some(list)
        }
        _ => None,
    };
    let flags = pattern.flags.is_none() || pattern.flags == found.flags;
    let same = found.code == pattern.code
        && flags
        && found.number("cum_tsn") == pattern.number("cum_tsn")
        && streams(&found).is_some()
        && streams(&found) == streams(pattern);
    same.then_some(Leniency::SkippedStreams)
}
