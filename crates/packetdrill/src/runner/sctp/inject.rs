//! Packets that the script sends.

use core::net::SocketAddr;

use super::super::state::Runner;
use super::Sctp;
use crate::element::{Element, Value, chunks_of, encode, split};
use crate::mapping::Side;
use crate::script::{Checksum, Content, Packet, SctpBody, SctpPacket};
use crate::sockets::PORT;
use crate::stop::Stop;

/// Chunk type of AUTH (RFC 4895, section 4.1).
const AUTH: u16 = 15;

/// Tag in packets to a stack that has none yet.
const ANY_TAG: u32 = 1;

impl Runner<'_, Sctp> {
    pub(super) fn inject(&mut self, packet: &Packet) -> Result<(), Stop> {
        let sctp = match &packet.content {
            Content::Sctp(sctp) => sctp,
            Content::Icmp(message) => return self.inject_icmp(message),
            Content::Tcp(_) => return Ok(()),
        };
        if let SctpBody::Chunks(chunks) = &sctp.body
            && let Some((name, key)) = chunks.iter().find_map(Element::left_open)
        {
            return Err(Stop::fail(format!("a packet to send needs {key} of {name}")));
        }
        let hosts = self.party.sockets.hosts;
        let (source, destination) = packet.addresses.unwrap_or((hosts.remote, hosts.local));
        self.party.switch_to(source);
        // Bytes that form chunks are symbolic as chunks are.
        let symbolic = match &sctp.body {
            SctpBody::Raw(raw) => chunks_of(raw).filter(|chunks| !chunks.is_empty()),
            SctpBody::Chunks(_) => None,
        };
        let bytes = match symbolic {
            Some(chunks) => {
                self.assemble(&SctpPacket { body: SctpBody::Chunks(chunks), ..sctp.clone() })
            }
            None => self.assemble(sctp),
        };
        let (from, to) = sctp.udp.unwrap_or_default();
        if sctp.udp.is_some() && to != self.party.sockets.config.udp_port {
            // UDP has no socket for it.
            return Ok(());
        }
        let addresses = (SocketAddr::new(source, from), SocketAddr::new(destination, to));
        self.party.sockets.handle_datagram(self.now, addresses, bytes);
        self.drain()
    }

    fn assemble(&mut self, packet: &SctpPacket) -> Vec<u8> {
        let first = match &packet.body {
            SctpBody::Chunks(chunks) => chunks.first(),
            SctpBody::Raw(_) => None,
        };
        let tag = match (packet.tag, first) {
            (None, Some(first)) if first.name() == "COOKIE_ECHO" => {
                self.party.talk.mapping.return_offer()
            }
            _ => None,
        };
        let tag = tag.unwrap_or_else(|| self.tag_for(packet.tag, first, is_init(&packet.body)));
        self.party.talk.last_tag = tag;
        let mut bytes = Vec::new();
        bytes.extend(PORT.to_be_bytes());
        bytes.extend(self.party.sockets.port().to_be_bytes());
        bytes.extend(tag.to_be_bytes());
        bytes.extend([0; 4]);
        match &packet.body {
            SctpBody::Chunks(chunks) => {
                for chunk in chunks {
                    if chunk.name() == "COOKIE_ECHO" {
                        self.party.talk.cookie_returned = true;
                        let is_last =
                            chunk.value("val") == Some(&Value::Any) && chunk.length.is_none();
                        self.party.talk.agreed.note_returned(is_last);
                    }
                    let perspective = self.party.talk.mapping.perspective(Side::Script);
                    encode(chunk, perspective, &self.party.talk.memory, &mut bytes);
                }
            }
            SctpBody::Raw(raw) => bytes.extend(raw),
        }
        self.party.talk.keys.note(Side::Script, &split(&bytes[12..]).unwrap_or_default());
        if let SctpBody::Chunks(chunks) = &packet.body
            && chunks
                .iter()
                .any(|chunk| chunk.code == AUTH && chunk.value("hmac") == Some(&Value::Any))
        {
            self.party.talk.keys.sign(&self.party.sockets.secrets, &mut bytes[12..]);
        }
        self.note_own_tag(bytes.get(12..).unwrap_or_default());
        let is_right =
            packet.checksum != Checksum::Bad && Some(tag) == self.party.talk.mapping.stack_tag();
        if is_right || first.is_some_and(|chunk| chunk.name() == "COOKIE_ECHO") {
            let chunks = split(&bytes[12..]).unwrap_or_default();
            self.party.user_data().note_arrived(&chunks);
        }
        let good = crc32c::crc32c(&bytes);
        let checksum = match packet.checksum {
            Checksum::Good => good,
            Checksum::Bad => !good,
            Checksum::Zero => 0,
        };
        bytes[8..12].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// The verification tag: the script's, or the one that section 8.5 of RFC 9260 requires.
    fn tag_for(&self, wanted: Option<u32>, first: Option<&Element>, is_init: bool) -> u32 {
        if let Some(tag) = wanted {
            return self.party.talk.mapping.live_tag(Side::Stack, tag);
        }
        let reflects = first.is_some_and(|chunk| {
            matches!(chunk.name(), "ABORT" | "SHUTDOWN_COMPLETE") && chunk.flags == Some(1)
        });
        match self.party.talk.mapping.stack_tag() {
            _ if is_init => 0,
            _ if reflects => self.party.talk.script_tags.first().copied().unwrap_or(ANY_TAG),
            tag => tag.unwrap_or(ANY_TAG),
        }
    }

    /// Records the tag that an INIT or INIT ACK offers, however malformed: answers carry it.
    fn note_own_tag(&mut self, chunk: &[u8]) {
        if let [1 | 2, _, _, _, t0, t1, t2, t3, ..] = *chunk {
            self.party.talk.script_tags.push(u32::from_be_bytes([t0, t1, t2, t3]));
        }
    }
}

fn is_init(body: &SctpBody) -> bool {
    match body {
        SctpBody::Chunks(chunks) => chunks.first().is_some_and(|chunk| chunk.code == 1),
        SctpBody::Raw(bytes) => bytes.first() == Some(&1),
    }
}
