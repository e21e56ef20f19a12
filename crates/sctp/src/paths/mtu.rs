//! Execution of path MTU discovery: sends probes, and processes answers, losses and ICMP.
//! [`mtu_discovery`](super::mtu_discovery) decides what to probe.

use base::{Instant, RandomStream};
use recovery::PathId;
use recovery::path_mtu::SizeLimits;
use recovery::policy::{IPV6_MIN_MTU, PathMtuPolicy};

use super::Paths;
use super::action::Action;
use super::context::Context;
use super::heartbeat::Asked;
use super::mtu_discovery::{DataSizes, PathMtuDiscovery};
use super::path::{Path, WORD};
use crate::options::AssociationOptions;

/// Least IPv4 packet in bytes that discovery considers: the size that every host must accept
/// (MIN_PLPMTU).
const MIN_MTU: u16 = 576;

/// A probe to send on a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) struct Probe {
    /// The HEARTBEAT that is padded to the size.
    pub(crate) heartbeat: Asked,
    /// Size of its SCTP packet in bytes.
    pub(crate) size: u16,
}

impl Path {
    fn size_limits(&self, path_mtu: u16, policy: &PathMtuPolicy) -> SizeLimits {
        let is_ipv6 = !self.remote().is_ipv4();
        // Every IPv6 path carries the base size (RFC 8899, section 5.1.2).
        let min = if is_ipv6 { IPV6_MIN_MTU } else { MIN_MTU };
        SizeLimits {
            min: self.packet_within(min),
            base: self.packet_within(policy.base_mtu(is_ipv6)),
            max: self.packet_within(path_mtu),
            headers: self.headers(),
            multiple: WORD,
        }
    }

    /// Whether packets up to [`Path::max_packet`] must be sent unfragmented.
    pub(crate) fn discovers_mtu(&self) -> bool {
        self.discovery.is_some()
    }
}

impl Paths {
    /// Starts discovery, if it is enabled, on all confirmed paths: an unconfirmed address gets no
    /// packets that large.
    pub(crate) fn start_mtu_discovery(&mut self, now: Instant, context: &mut Context<'_>) {
        if !context.options.path_mtu_discovery {
            return;
        }
        for id in self.ids() {
            if self[id].confirmed && self[id].discovery.is_none() {
                let policy = context.path_mtu_policy();
                let limits = self[id].size_limits(self.largest_mtu(context.options, id), policy);
                let discovery = PathMtuDiscovery::new(now, limits);
                self.list[id].discovery = Some(Box::new(discovery));
                self.apply_path_mtu(context, id);
            }
        }
    }

    /// The known path MTU, or the largest that may be found.
    fn largest_mtu(&self, options: &AssociationOptions, path: PathId) -> u16 {
        let own = self[path].options.as_ref().and_then(|own| own.path_mtu);
        own.unwrap_or(options.path_mtu)
    }

    /// Applies the application's or the discovered path MTU to new data.
    pub(crate) fn apply_path_mtu(&mut self, context: &mut Context<'_>, path: PathId) {
        let largest = self.largest_mtu(context.options, path);
        let state = &mut self.list[path];
        let before = state.pmdcs();
        state.set_path_mtu(largest);
        let mss = state.pmdcs();
        if mss != before {
            context.actions.push(Action::SetMss { path, mss });
        }
    }

    /// Whether discovery is active on any path.
    pub(crate) fn discover_mtu(&self) -> bool {
        self.list.values().any(|path| path.discovery.is_some())
    }

    /// Earliest deadline of discovery on all paths.
    pub(crate) fn next_mtu_timeout(&self) -> Option<Instant> {
        self.list.earliest(|path| path.discovery.as_ref()?.next_timeout())
    }

    /// Runs discovery on a path at `now`; returns the probe to send.
    pub(crate) fn handle_mtu_timer(
        &mut self,
        now: Instant,
        context: &mut Context<'_>,
        path: PathId,
        random: &mut RandomStream,
    ) -> Option<Probe> {
        let rto = context.rto(path);
        let policy = context.path_mtu_policy();
        let discovery = self.list[path].discovery.as_mut()?;
        discovery.handle_timeout(now, policy);
        let nonce = random.next_u64();
        let probe = discovery.take_probe(now, rto, nonce, policy);
        self.apply_path_mtu(context, path);
        Some(Probe { heartbeat: Asked { path, nonce }, size: probe? })
    }

    /// A HEARTBEAT ACK arrived; returns whether it answers a probe.
    pub(crate) fn on_probe_acked(
        &mut self,
        now: Instant,
        context: &mut Context<'_>,
        answer: &[u8],
    ) -> bool {
        let Some(Asked { path, nonce }) = Asked::read(answer) else { return false };
        let discovery = self.list.get_mut(path).and_then(|path| path.discovery.as_mut());
        let policy = context.path_mtu_policy();
        let is_probe = discovery.is_some_and(|discovery| discovery.on_answer(now, nonce, policy));
        if is_probe {
            self.apply_path_mtu(context, path);
        }
        is_probe
    }

    /// The retransmission timer of a path expired: large packets may vanish.
    pub(crate) fn suspect_black_hole(
        &mut self,
        now: Instant,
        context: &mut Context<'_>,
        path: PathId,
        sizes: DataSizes,
    ) {
        let cumulative = context.cumulative();
        let policy = context.path_mtu_policy();
        if let Some(discovery) = &mut self.list[path].discovery
            && discovery.on_data_timeout(now, cumulative, sizes, policy)
        {
            self.apply_path_mtu(context, path);
        }
    }

    /// A router on a path does not carry IP packets above `mtu` bytes. The message was verified to
    /// be about a packet of this association (RFC 8899, section 6.2.1.4).
    pub(crate) fn on_packet_too_big(
        &mut self,
        now: Instant,
        context: &mut Context<'_>,
        path: PathId,
        mtu: u32,
    ) {
        let mtu = u16::try_from(mtu).unwrap_or(u16::MAX);
        let size = self[path].packet_within(mtu);
        if let Some(discovery) = &mut self.list[path].discovery
            && mtu >= MIN_MTU
        {
            discovery.on_packet_too_big(now, size, context.path_mtu_policy());
            self.apply_path_mtu(context, path);
        }
    }
}
