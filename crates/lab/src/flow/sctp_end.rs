//! The two ends of a flow over SCTP.

use core::net::SocketAddr;
use std::sync::Arc;

use base::{Instant, Purpose, RandomStream};
use recovery::{Advice, AdviceError, PathId, PathView};
use sctp::{
    AssociationId, AssociationOptions, Endpoint, EndpointOptions, Event, PathChange, Ppid,
    SendError, SendOptions, StreamId,
};

use super::config::{Addresses, FlowConfig, PORT, PathHint};
use super::filler::filler;
use super::log::LogHandle;
use super::source::{Pending, Source};
use super::source_end::SourceEnd;
use super::source_transport::{Notice, Sent, SourceTransport};
use super::spans::INITIAL_TSN;

/// Endpoint and association of the sender of a flow.
#[derive(Debug)]
pub struct SctpSender {
    pub(super) endpoint: Endpoint,
    peer: Vec<SocketAddr>,
}

/// Endpoint and association of the receiver of a flow.
#[derive(Debug)]
pub struct SctpSink {
    pub(super) endpoint: Endpoint,
    pub(super) log: LogHandle,
}

/// The endpoint of one end of flow number `number`.
fn endpoint(
    options: &AssociationOptions,
    addresses: &[SocketAddr],
    (seed, number): (u64, u32),
    listen: bool,
) -> Endpoint {
    let options = EndpointOptions {
        port: PORT,
        listen,
        accepted: options.clone(),
        // With a single one there is nothing to choose.
        addresses: if addresses.len() > 1 { addresses.to_vec() } else { Vec::new() },
        initial_tsn: Some(INITIAL_TSN),
        max_associations: 1,
        ..EndpointOptions::default()
    };
    let index = u64::from(number) * 2 + u64::from(listen);
    Endpoint::new(options, RandomStream::new(seed, Purpose("endpoint", index)))
}

/// The sending end of a flow.
pub(super) fn source(
    sender: &Arc<AssociationOptions>,
    source: Source,
    config: &FlowConfig,
    place: (u64, u32),
    addresses: &Addresses,
    log: &LogHandle,
) -> Box<SourceEnd<SctpSender>> {
    let endpoint = endpoint(sender, &addresses.sender, place, false);
    let transport = SctpSender { endpoint, peer: addresses.receiver.clone() };
    SourceEnd::new(transport, source, config.start, config.hint, log)
        .advised(config.advice.as_ref())
}

/// The receiving end of a flow.
pub(super) fn sink(
    receiver: &Arc<AssociationOptions>,
    place: (u64, u32),
    addresses: &Addresses,
    log: &LogHandle,
) -> Box<SctpSink> {
    let endpoint = endpoint(receiver, &addresses.receiver, place, true);
    Box::new(SctpSink { endpoint, log: log.clone() })
}

impl SourceTransport for SctpSender {
    type Id = AssociationId;

    fn open(&mut self, now: Instant, tell_recovery: bool) -> Option<(AssociationId, u64)> {
        let options = self.endpoint.options().accepted.clone();
        let id = self.endpoint.connect(now, self.peer.as_slice(), PORT, options).ok()?;
        if tell_recovery && let Some(mut own) = self.endpoint.association_mut(id) {
            own.set_recovery_events(true);
        }
        let first = self.endpoint.association(id).map_or(0, sctp::Association::first_unit);
        Some((id, first))
    }

    fn send(&mut self, now: Instant, id: AssociationId, pending: &mut Pending) -> Sent {
        let payload = filler(pending.message.size);
        let (stream, options) = (StreamId(pending.stream), SendOptions::default());
        match self.endpoint.association_mut(id).map_or(Err(sctp::SendError::Closed), |mut own| {
            own.send(now, stream, Ppid(0), payload, options)
        }) {
            Ok(()) => Sent::All,
            Err(SendError::BufferFull) => Sent::Full,
            Err(_) => Sent::Failed,
        }
    }

    /// SCTP keeps message boundaries: nothing is poured.
    fn pour(&mut self, _: Instant, _: AssociationId) -> Option<Sent> {
        None
    }

    fn poll_notice(&mut self) -> Option<Notice> {
        Some(match self.endpoint.poll_event()?.1 {
            Event::Writable => Notice::Writable,
            Event::Failed(_) | Event::Closed => Notice::Ended,
            Event::PathChanged { path, change: PathChange::CarriesData, .. } => Notice::Path(path),
            _ => Notice::Other,
        })
    }

    fn poll_recovery_event(&mut self, id: AssociationId) -> Option<(Instant, recovery::Event)> {
        self.endpoint.association_mut(id).and_then(|mut own| own.poll_recovery_event())
    }

    fn advise(
        &mut self,
        now: Instant,
        id: AssociationId,
        advice: Advice,
    ) -> Result<(), AdviceError> {
        let own = self.endpoint.association_mut(id);
        own.map_or(Err(AdviceError::Gone), |mut own| own.advise(now, advice))
    }

    fn view(&self, id: AssociationId, path: PathId, units: usize) -> Option<PathView> {
        self.endpoint.association(id)?.path_view(path, units)
    }

    fn hint(&mut self, now: Instant, id: AssociationId, hint: PathHint) {
        if let Some(first) = self.peer.first()
            && let Some(mut own) = self.endpoint.association_mut(id)
        {
            let hint = match hint {
                PathHint::Down => sctp::PathHint::Down,
                PathHint::Weak => sctp::PathHint::Weak,
                PathHint::Up => sctp::PathHint::Up,
            };
            own.path_hint(now, *first, hint);
        }
    }
}

impl SctpSink {
    pub(super) fn after_input(&mut self, now: Instant) {
        let mut log = self.log.borrow_mut();
        while let Some((id, event)) = self.endpoint.poll_event() {
            if event != Event::Readable {
                continue;
            }
            while let Some(message) =
                self.endpoint.association_mut(id).and_then(|mut own| own.receive(now))
            {
                let unit = u64::from(message.tsn.0.wrapping_sub(INITIAL_TSN.0));
                log.on_message_read(now, unit, message.payload.len());
            }
        }
    }
}
