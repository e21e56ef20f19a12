//! Path MTU discovery at work: probes out, answers, losses and ICMP in, and what follows for the packets of
//! a path. What to probe is decided in [`mtu_discovery`](super::mtu_discovery).

use base::{Ecn, Instant, RandomStream, Transmit};

use crate::association::{Association, Control, State};
use crate::paths::heartbeat::info;
use crate::paths::mtu_discovery::{PathMtuDiscovery, SizeLimits};
use crate::paths::path::{Path, max_packet};
use crate::wire::chunk::{Heartbeat, Pad};
use crate::wire::{ChunkType, CommonHeader, PacketBuilder};

/// Bytes of an IP packet that nearly every path carries (BASE_PLPMTU; RFC 8899, section 5.1.2).
const BASE_MTU: u16 = 1200;

/// Bytes of an IP packet below which discovery does not go: what IPv4 hosts must take.
const MIN_MTU: u16 = 576;

/// Likewise what links of IPv6 must carry (RFC 8200, section 5).
const MIN_MTU_V6: u16 = 1280;

/// Bytes of a chunk before its value.
const CHUNK_HEADER: usize = 4;

impl Path {
    fn size_limits(&self, path_mtu: u16) -> SizeLimits {
        // Every path of IPv6 carries as much (RFC 8899, section 5.1.2).
        let (min, base) = match self.remote.is_ipv4() {
            true => (MIN_MTU, BASE_MTU),
            false => (MIN_MTU_V6, MIN_MTU_V6),
        };
        SizeLimits {
            min: max_packet(self.remote, min).into(),
            base: max_packet(self.remote, base).into(),
            max: max_packet(self.remote, path_mtu).into(),
        }
    }

    /// Whether packets as large as [`Path::max_packet`] must pass in one piece.
    pub(crate) fn discovers_mtu(&self) -> bool {
        self.discovery.is_some()
    }
}

impl Association {
    /// Discovery begins, if it is wanted, on all paths whose address is the peer's for certain: an
    /// unconfirmed one gets no packets that large.
    pub(crate) fn start_path_mtu_discovery(&mut self, now: Instant) {
        if !self.options.path_mtu_discovery || self.state == State::Closed {
            return;
        }
        for index in 0..self.paths.len() {
            if self.paths[index].confirmed && self.paths[index].discovery.is_none() {
                let limits = self.paths[index].size_limits(self.largest_mtu(index));
                self.paths[index].discovery = Some(Box::new(PathMtuDiscovery::new(now, limits)));
                self.apply_path_mtu(index);
            }
        }
    }

    /// The path MTU that is known, or the largest that may be found.
    pub(crate) fn largest_mtu(&self, index: usize) -> u16 {
        let own = self.paths[index].options.as_ref().and_then(|options| options.path_mtu);
        own.unwrap_or(self.options.path_mtu)
    }

    /// The next instant that matters to discovery on any path.
    pub(crate) fn path_mtu_timeout(&self) -> Option<Instant> {
        let discoveries = self.paths.iter().filter_map(|path| path.discovery.as_ref());
        discoveries.filter_map(|discovery| discovery.next_timeout()).min()
    }

    pub(crate) fn handle_path_mtu_timers(&mut self, now: Instant, random: &mut RandomStream) {
        for index in 0..self.paths.len() {
            let rto = self.tx.recovery.rto(index as u8);
            let Some(discovery) = &mut self.paths[index].discovery else { continue };
            discovery.handle_timeout(now);
            let nonce = random.next_u64();
            if let Some(size) = discovery.take_probe(now, rto, nonce) {
                let path = index as u8;
                self.push_control(Control::Probe { path, nonce, size: size as u16 });
            }
            self.apply_path_mtu(index);
        }
    }

    /// A HEARTBEAT came back that may have been a probe; false if it was none.
    pub(crate) fn on_probe_acked(&mut self, now: Instant, answer: &[u8]) -> bool {
        let answered = |(index, path): (usize, &mut Path)| {
            let discovery = path.discovery.as_mut()?;
            let nonce = u64::from_be_bytes(*answer.last_chunk()?);
            let is_probe = discovery.is_probe(nonce) && *answer == info(index as u8, nonce);
            is_probe.then(|| discovery.on_probe_acked(now)).map(|()| index)
        };
        let Some(index) = self.paths.iter_mut().enumerate().find_map(answered) else {
            return false;
        };
        self.apply_path_mtu(index);
        true
    }

    /// The retransmission timer of a path expired: large packets may be vanishing.
    pub(crate) fn suspect_black_hole(&mut self, now: Instant, path: u8) {
        let index = usize::from(path);
        // Less than that cannot have filled a larger packet.
        let outstanding = self.tx.outstanding_in_one_packet();
        let cumulative = self.tx.recovery.ledger().cumulative();
        if let Some(discovery) = &mut self.paths[index].discovery
            && outstanding > discovery.floor()
            && discovery.on_data_timeout(now, cumulative)
        {
            self.apply_path_mtu(index);
        }
    }

    /// A router on a path does not carry IP packets above `mtu` bytes: verified to be about a packet of
    /// this association (RFC 8899, section 6.2.1.4).
    pub(crate) fn on_packet_too_big(&mut self, now: Instant, path: u8, mtu: u32) {
        let index = usize::from(path);
        let mtu = u16::try_from(mtu).unwrap_or(u16::MAX);
        let size = max_packet(self.paths[index].remote, mtu).into();
        if let Some(discovery) = &mut self.paths[index].discovery
            && mtu >= MIN_MTU
        {
            discovery.on_packet_too_big(now, size);
            self.apply_path_mtu(index);
        }
    }

    /// A packet with nothing but a probe, of exactly its size.
    pub(crate) fn emit_probe(
        &mut self,
        header: CommonHeader,
        (path, nonce, size): (u8, u64, u16),
        buffer: &mut Vec<u8>,
    ) -> Option<Transmit> {
        let (remote, local) = {
            let path = self.paths.get(usize::from(path))?;
            (path.remote, path.local)
        };
        let mut packet = PacketBuilder::start(buffer, header, size.into()).signed(self.signer());
        let info = info(path, nonce);
        // The peer may want PAD authenticated and HEARTBEAT not: then an AUTH chunk stands between them.
        let fits = packet.append(Heartbeat { info: &info }).is_ok()
            && packet
                .remaining_for(ChunkType::PAD)
                .checked_sub(CHUNK_HEADER)
                .is_some_and(|length| packet.append(Pad(length)).is_ok());
        if !fits {
            packet.discard();
            return None;
        }
        let size = self.finish_packet(packet, true);
        let local = self.source_of(local, false);
        Some(Transmit { local, remote, ecn: Ecn::NotEct, dont_fragment: true, size })
    }
}
