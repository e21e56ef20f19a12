//! Packets expected from the stack.

use base::{Duration, Ecn};

use super::super::state::Runner;
use super::super::times::{Due, ENDLESS, PATIENCE};
use super::Sctp;
use crate::element::{Element, Kind, Value, decode, describe, is_padded_with_zeros, split};
use crate::leniency::Leniency;
use crate::mapping::Side;
use crate::script::{Action, Checksum, Content, Event, Packet, SctpBody, SctpPacket, When};
use crate::sockets::{Emitted, PORT};
use crate::stop::Stop;

const HEADER: usize = 12;

/// Chunk types by which packets are told apart (RFC 9260, section 3.2).
const INIT: u8 = 1;
const INIT_ACK: u8 = 2;
const COOKIE_ACK: u8 = 11;

impl Runner<'_, Sctp> {
    /// Compares the next packet of the stack with a pattern. `next`: the following event; returns
    /// whether the packet matched that as well.
    pub(super) fn expect(
        &mut self,
        packet: &Packet,
        due: Option<Due>,
        next: Option<&Event>,
    ) -> Result<bool, Stop> {
        let Content::Sctp(sctp) = &packet.content else { return Ok(false) };
        let hosts = self.party.sockets.hosts;
        let (local, remote) = packet.addresses.unwrap_or((hosts.local, hosts.remote));
        self.party.switch_to(remote);
        loop {
            let found = self.next_packet(sctp, due)?;
            let elsewhere = (found.local, found.remote) != (local, remote);
            let outcome = self.match_packet(sctp, &found);
            let mut met_next = false;
            match outcome {
                Ok(())
                    if elsewhere
                        && (packet.addresses.is_some()
                            || !self.config.overlooks(Leniency::OtherAddresses)) =>
                {
                    let way = format!("{} > {}", found.local, found.remote);
                    return Err(Stop::fail(format!("expected {local} > {remote}, found {way}")));
                }
                Err(_) if elsewhere && self.config.overlooks(Leniency::OtherAddresses) => {
                    self.used(Leniency::OtherAddresses);
                    continue;
                }
                Err(why) => {
                    let bundled = next.and_then(|next| bundle(sctp, next));
                    met_next = bundled.is_some_and(|both| self.match_bundle(&both, &found));
                    if !met_next {
                        return Err(why);
                    }
                    self.used(Leniency::Bundled);
                }
                Ok(()) => {}
            }
            if let Some(due) = due {
                self.check_time("packet", found.at, due)?;
            }
            return Ok(met_next);
        }
    }

    /// Whether a packet bundles the chunks that the script expects in two packets, in a permissible
    /// order.
    fn match_bundle(&mut self, both: &[SctpPacket], found: &Emitted) -> bool {
        self.config.overlooks(Leniency::Bundled)
            && both.iter().any(|wanted| self.match_packet(wanted, found).is_ok())
    }

    /// The next packet of the stack, awaited for a limited time.
    fn next_packet(&mut self, wanted: &SctpPacket, due: Option<Due>) -> Result<Emitted, Stop> {
        let limit = due.map_or(self.now + ENDLESS, |due| due.to + due.tolerance + PATIENCE);
        while self.emitted.is_empty() {
            if !self.step(limit)? {
                let message = format!("expected {}, but no packet came", show_wanted(wanted));
                return Err(Stop::Fail(message));
            }
        }
        let found = self.emitted.pop_front().ok_or_else(|| Stop::fail("no packet came"))?;
        if found.bytes.len() < HEADER {
            return Err(Stop::fail("a packet is too short"));
        }
        let chunks = split(&found.bytes[HEADER..]).unwrap_or_default();
        self.follow(&chunks);
        self.party.talk.keys.note(Side::Stack, &chunks);
        let authentic =
            self.party.talk.keys.check(&self.party.sockets.secrets, &found.bytes[HEADER..]);
        authentic.map_err(Stop::Fail)?;
        self.party.user_data().check_sent(&chunks).map_err(|why| {
            let shown = describe(&chunks, self.party.talk.mapping.perspective(Side::Stack));
            Stop::fail(format!("{why}\n  found:    sctp: {shown}"))
        })?;
        Ok(found)
    }

    /// Records that the association was replaced: the stack opens one with a tag of its own, or
    /// accepts the cookie of an INIT ACK that had one (RFC 9260, section 5.2.4, action A).
    fn follow(&mut self, chunks: &[&[u8]]) {
        let Some(chunk) = chunks.first() else { return };
        let is_another = match chunk.first().copied() {
            Some(INIT) => {
                let tag = word(chunk, 4);
                let known = self.party.talk.mapping.stack_tag();
                known.is_some() && self.party.talk.bound_by_init && tag.is_some() && tag != known
            }
            Some(COOKIE_ACK) => self.party.talk.mapping.accept_offer(),
            _ => false,
        };
        if is_another {
            if chunk.first() == Some(&INIT) {
                self.party.talk.mapping.unbind();
            }
            self.party.user_data().restart();
        }
    }

    fn match_packet(&mut self, wanted: &SctpPacket, found: &Emitted) -> Result<(), Stop> {
        let parts = self.party.dissect(&found.bytes, wanted.checksum);
        let (tag, chunks) = parts.map_err(|why| Stop::fail(format!("a packet {why}")))?;
        if let SctpBody::Chunks(patterns) = &wanted.body {
            offers_a_tag(patterns.first(), chunks.first().copied()).map_err(Stop::Fail)?;
            self.bind(patterns.first(), chunks.first().copied());
        }
        let outcome = match &wanted.body {
            SctpBody::Chunks(patterns) => {
                let is_offer = chunks.first().and_then(|chunk| chunk.first()) == Some(&INIT_ACK);
                let known = self.party.talk.mapping.clone();
                if is_offer {
                    self.party.talk.mapping.apply_offer();
                }
                let outcome = self.match_chunks(patterns, &chunks);
                self.party.talk.mapping = known;
                outcome
            }
            SctpBody::Raw(raw) if raw.as_slice() == &found.bytes[HEADER..] => Ok(()),
            SctpBody::Raw(_) => Err("other bytes".to_owned()),
        };
        let outcome = outcome.and_then(|()| self.check_tag(wanted.tag, tag, chunks.first()));
        let own = self.party.sockets.config.udp_port;
        let outcome =
            outcome.and_then(|()| match (wanted.udp, found.udp.map(|port| (own, port))) {
                (wanted, found) if wanted == found => Ok(()),
                (wanted, found) => {
                    Err(format!("UDP encapsulation: expected {wanted:?}, found {found:?}"))
                }
            });
        let outcome = outcome.and_then(|()| match found.ecn {
            // SCTP has no ECN here (RFC 9260 leaves it undefined).
            Ecn::NotEct => Ok(()),
            other => Err(format!("a packet with the ECN codepoint {other:?}")),
        });
        self.remember(&chunks);
        if outcome.is_ok() {
            let first = chunks.first().and_then(|chunk| chunk.first().copied());
            self.party.talk.agreed.note_sent(first, tag);
        }
        outcome.map_err(|why| {
            let shown = describe(&chunks, self.party.talk.mapping.perspective(Side::Stack));
            Stop::fail(format!(
                "{why}\n  expected: {}\n  found:    sctp: {shown}",
                show_wanted(wanted)
            ))
        })
    }

    /// Binds the stack's tag and TSNs by its first INIT or INIT ACK; of several INIT ACKs by the
    /// last before the script returns a cookie, since the cookie is that one's.
    fn bind(&mut self, pattern: Option<&Element>, chunk: Option<&[u8]>) {
        let (Some(pattern), Some(chunk)) = (pattern, chunk) else { return };
        let is_setup = matches!(pattern.name(), "INIT" | "INIT_ACK");
        if let (true, Some(tag), Some(tsn)) = (
            is_setup && chunk.first().map(|code| u16::from(*code)) == Some(pattern.code),
            word(chunk, 4),
            word(chunk, 16),
        ) {
            let mapping = &mut self.party.talk.mapping;
            if pattern.name() == "INIT" {
                self.party.talk.bound_by_init = true;
            } else if !self.party.talk.bound_by_init && !self.party.talk.cookie_returned {
                mapping.unbind();
            } else if mapping.stack_tag() != Some(tag) {
                // The existing association continues, unless the script returns this INIT ACK's
                // cookie.
                mapping.offer((pattern.number("tag"), tag), (pattern.number("tsn"), tsn));
                return;
            }
            self.party.talk.mapping.bind_tag(pattern.number("tag"), tag);
            if let Some(script) = pattern.number("tsn") {
                self.party.talk.mapping.bind_tsn(script, tsn);
            }
        }
    }

    /// Checks the tag of a packet from the stack: the script's, the one that it reflects, or none
    /// (RFC 9260, section 8.5).
    fn check_tag(
        &self,
        wanted: Option<u32>,
        found: u32,
        first: Option<&&[u8]>,
    ) -> Result<(), String> {
        if let Some(tag) = wanted {
            let live = self.party.talk.mapping.live_tag(Side::Script, tag);
            return if live == found { Ok(()) } else { Err(wrong_tag(found, &[live])) };
        }
        let allowed = match first {
            Some([1, ..]) => vec![0],
            Some([6 | 14, flags, ..]) if flags & 1 != 0 => vec![self.party.talk.last_tag],
            first => {
                match self
                    .party
                    .talk
                    .agreed
                    .required(first.and_then(|chunk| chunk.first().copied()))
                {
                    Some(tag) => vec![tag],
                    None => self.party.talk.script_tags.clone(),
                }
            }
        };
        if allowed.contains(&found) { Ok(()) } else { Err(wrong_tag(found, &allowed)) }
    }

    /// Stores values that the script may return.
    fn remember(&mut self, chunks: &[&[u8]]) {
        for chunk in chunks {
            match chunk {
                [2, ..] => {
                    let perspective = self.party.talk.mapping.perspective(Side::Stack);
                    let element = decode(chunk, Kind::Chunk, perspective);
                    if let Some(cookie) = element.ok().as_ref().and_then(cookie_of) {
                        self.party.talk.memory.cookie = cookie;
                    }
                }
                [4, _, _, _, information @ ..] => {
                    self.party.talk.memory.heartbeat = information.to_vec()
                }
                _ => {}
            }
        }
    }
}

impl Sctp {
    /// Checks common header and checksum; returns tag and chunks.
    fn dissect<'p>(
        &self,
        bytes: &'p [u8],
        checksum: Checksum,
    ) -> Result<(u32, Vec<&'p [u8]>), String> {
        let (header, body) = bytes.split_first_chunk::<HEADER>().ok_or("is too short")?;
        let [s0, s1, d0, d1, t0, t1, t2, t3, c0, c1, c2, c3] = *header;
        let (source, destination) = (u16::from_be_bytes([s0, s1]), u16::from_be_bytes([d0, d1]));
        if (source, destination) != (self.sockets.port(), PORT) {
            return Err(format!("goes from port {source} to {destination}"));
        }
        let mut zeroed = bytes.to_vec();
        zeroed[8..HEADER].fill(0);
        let right = match checksum {
            Checksum::Good | Checksum::Bad => crc32c::crc32c(&zeroed),
            Checksum::Zero => 0,
        };
        if u32::from_le_bytes([c0, c1, c2, c3]) != right {
            return Err("has a wrong checksum".to_owned());
        }
        if body.len() % 4 != 0 {
            return Err("is not padded".to_owned());
        }
        if !is_padded_with_zeros(body) {
            return Err("is padded with other bytes than zeros".to_owned());
        }
        let chunks = split(body).map_err(|why| format!("is malformed: {why}"))?;
        Ok((u32::from_be_bytes([t0, t1, t2, t3]), chunks))
    }
}

/// Text of a packet in the script's language, for a message.
pub(super) fn show(party: &Sctp, packet: &Emitted) -> String {
    let without = packet.bytes.get(8..HEADER) == Some(&[0; 4]);
    let checksum = if without { Checksum::Zero } else { Checksum::Good };
    match party.dissect(&packet.bytes, checksum) {
        Ok((_, chunks)) => describe(&chunks, party.talk.mapping.perspective(Side::Stack)),
        Err(why) => format!("a packet that {why}"),
    }
}

/// The packets with the chunks of `first` and of the packet that `next` expects at the same time.
fn bundle(first: &SctpPacket, next: &Event) -> Option<Vec<SctpPacket>> {
    let together = matches!(next.when, When::At { relative: true, from: Duration::ZERO, .. });
    let Action::Expect(Packet { content: Content::Sctp(second), .. }) = &next.action else {
        return None;
    };
    let (SctpBody::Chunks(one), SctpBody::Chunks(other)) = (&first.body, &second.body) else {
        return None;
    };
    let orders = [[&one[..], &other[..]].concat(), [&other[..], &one[..]].concat()];
    let legal = orders.into_iter().filter(|chunks| is_legal_order(chunks));
    let with = |chunks| SctpPacket { body: SctpBody::Chunks(chunks), ..first.clone() };
    together.then(|| legal.map(with).collect())
}

/// Whether one packet may contain the chunks in this order: control chunks before user data, and
/// user data in the order of TSNs (RFC 9260, section 6.10).
fn is_legal_order(chunks: &[Element]) -> bool {
    let is_data = |chunk: &&Element| matches!(chunk.name(), "DATA" | "I_DATA");
    let data = || chunks.iter().skip_while(|chunk| !is_data(chunk));
    let tsns: Vec<_> = data().filter_map(|chunk| chunk.number("tsn")).collect();
    data().all(|chunk| is_data(&chunk))
        && tsns.windows(2).all(|pair| pair[1].wrapping_sub(pair[0]).cast_signed() > 0)
}

fn cookie_of(init_ack: &Element) -> Option<Vec<u8>> {
    let Some(Value::Elements(parameters)) = init_ack.value("params") else { return None };
    let cookie = parameters.list.iter().find(|parameter| parameter.name() == "STATE_COOKIE")?;
    match cookie.value("val") {
        Some(Value::Bytes(bytes)) => Some(bytes.clone()),
        _ => None,
    }
}

/// Checks that the Initiate Tag of an INIT or INIT ACK is not 0 (RFC 9260, sections 3.3.2 and
/// 3.3.3), to which no other number of a script translates.
fn offers_a_tag(pattern: Option<&Element>, chunk: Option<&[u8]>) -> Result<(), String> {
    let Some(pattern) = pattern.filter(|one| matches!(one.name(), "INIT" | "INIT_ACK")) else {
        return Ok(());
    };
    let is_same =
        chunk.and_then(|chunk| chunk.first()).is_some_and(|code| u16::from(*code) == pattern.code);
    let found = chunk.filter(|_| is_same).and_then(|chunk| word(chunk, 4));
    match (pattern.number("tag"), found) {
        (Some(0), _) => Err(format!("{} cannot have the tag 0", pattern.name())),
        (_, Some(0)) => Err(format!("{} has the tag 0", pattern.name())),
        _ => Ok(()),
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
    bytes.map(u32::from_be_bytes)
}

fn wrong_tag(found: u32, allowed: &[u32]) -> String {
    let allowed: Vec<_> = allowed.iter().map(|tag| format!("{tag:#x}")).collect();
    format!("the verification tag is {found:#x}, expected {}", allowed.join(" or "))
}

fn show_wanted(wanted: &SctpPacket) -> String {
    match &wanted.body {
        SctpBody::Chunks(chunks) => {
            let chunks: Vec<_> = chunks.iter().map(Element::to_string).collect();
            format!("sctp: {}", chunks.join("; "))
        }
        SctpBody::Raw(raw) => format!("sctp: {raw:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_tag_is_told_on_one_line_with_those_that_would_be_right() {
        let text = wrong_tag(0x4d, &[2, 0xb59f_e738]);
        assert_eq!(text, "the verification tag is 0x4d, expected 0x2 or 0xb59fe738");
    }
}
