//! A host of the laboratory: one end of one flow.

use base::{DatagramMeta, Icmp, Instant, Machine, Transmit, TransmitBuffer};
use netsim::{AddressedDatagram, Host};

use super::peer_end::{PeerSender, PeerSink};
use super::sctp_end::{SctpSender, SctpSink};
use super::source_end::SourceEnd;
use super::tcp_end::{TcpSender, TcpSink};
use super::transfers::{TransferSink, TransferSource};

/// One end of one flow, with its endpoint.
#[derive(Debug)]
pub enum FlowHost {
    /// Sends the messages of a flow over SCTP.
    SctpSource(Box<SourceEnd<SctpSender>>),
    /// Receives the messages of a flow over SCTP.
    SctpSink(Box<SctpSink>),
    /// Sends the messages of a flow over TCP.
    TcpSource(Box<SourceEnd<TcpSender>>),
    /// Receives the messages of a flow over TCP.
    TcpSink(Box<TcpSink>),
    /// Sends over another implementation's transport.
    PeerSource(Box<SourceEnd<PeerSender>>),
    /// Receives over another implementation's transport, or over SCTP with its stack.
    PeerSink(Box<PeerSink>),
    /// Sends each message over a separate TCP connection.
    TransferSource(Box<TransferSource>),
    /// The receiver of such transfers.
    TransferSink(Box<TransferSink>),
}

/// Calls a method on the endpoint of a host of any kind.
macro_rules! on_endpoint {
    ($host:expr, $endpoint:ident => $call:expr) => {
        match $host {
            FlowHost::SctpSource(end) => {
                let $endpoint = &mut end.transport.endpoint;
                $call
            }
            FlowHost::SctpSink(end) => {
                let $endpoint = &mut end.endpoint;
                $call
            }
            FlowHost::TcpSource(end) => {
                let $endpoint = &mut end.transport.endpoint;
                $call
            }
            FlowHost::TcpSink(end) => {
                let $endpoint = &mut end.endpoint;
                $call
            }
            FlowHost::PeerSource(end) => {
                let $endpoint = &mut end.transport.endpoint;
                $call
            }
            FlowHost::PeerSink(end) => {
                let $endpoint = &mut end.endpoint;
                $call
            }
            FlowHost::TransferSource(end) => {
                let $endpoint = &mut end.endpoint;
                $call
            }
            FlowHost::TransferSink(end) => {
                let $endpoint = &mut end.endpoint;
                $call
            }
        }
    };
}

impl FlowHost {
    /// Asks for advice, where there is any.
    fn consult(&mut self, now: Instant) {
        match self {
            FlowHost::SctpSource(end) => end.consult(now),
            FlowHost::TcpSource(end) => end.consult(now),
            _ => {}
        }
    }
}

impl Machine for FlowHost {
    fn handle_datagram(&mut self, now: Instant, meta: DatagramMeta, datagram: base::Datagram) {
        // The network vouches for undamaged datagrams: these have arrived.
        if datagram.verified {
            let (head, tail) = (&datagram.head, &datagram.tail);
            match self {
                FlowHost::SctpSink(end) => end.log.borrow_mut().on_arrived(now, head, tail),
                FlowHost::TcpSink(end) => end.log.borrow_mut().on_arrived(now, head, tail),
                FlowHost::PeerSink(end) => end.log.borrow_mut().on_arrived(now, head, tail),
                _ => {}
            }
        }
        on_endpoint!(self, endpoint => endpoint.handle_datagram(now, meta, datagram));
        self.consult(now);
    }

    fn handle_icmp(&mut self, now: Instant, icmp: Icmp<'_>) {
        on_endpoint!(self, endpoint => endpoint.handle_icmp(now, icmp));
    }

    fn handle_timeout(&mut self, now: Instant) {
        on_endpoint!(self, endpoint => endpoint.handle_timeout(now));
        self.consult(now);
    }

    fn poll_transmit(&mut self, now: Instant, buffer: &mut dyn TransmitBuffer) -> Option<Transmit> {
        on_endpoint!(self, endpoint => endpoint.poll_transmit(now, buffer))
    }

    fn poll_timeout(&self) -> Option<Instant> {
        match self {
            FlowHost::SctpSource(end) => end.transport.endpoint.poll_timeout(),
            FlowHost::SctpSink(end) => end.endpoint.poll_timeout(),
            FlowHost::TcpSource(end) => end.transport.endpoint.poll_timeout(),
            FlowHost::TcpSink(end) => end.endpoint.poll_timeout(),
            FlowHost::PeerSource(end) => end.transport.endpoint.poll_timeout(),
            FlowHost::PeerSink(end) => end.endpoint.poll_timeout(),
            FlowHost::TransferSource(end) => end.endpoint.poll_timeout(),
            FlowHost::TransferSink(end) => end.endpoint.poll_timeout(),
        }
    }
}

impl Host for FlowHost {
    fn poll_wake(&self) -> Option<Instant> {
        match self {
            FlowHost::SctpSource(end) => end.poll_wake(),
            FlowHost::TcpSource(end) => end.poll_wake(),
            FlowHost::PeerSource(end) => end.poll_wake(),
            FlowHost::TransferSource(end) => end.poll_wake(),
            _ => None,
        }
    }

    fn on_wake(&mut self, now: Instant) {
        match self {
            FlowHost::SctpSource(end) => end.on_wake(now),
            FlowHost::TcpSource(end) => end.on_wake(now),
            FlowHost::PeerSource(end) => end.on_wake(now),
            FlowHost::TransferSource(end) => end.on_wake(now),
            _ => {}
        }
    }

    fn on_transmitted(&mut self, now: Instant, datagram: &AddressedDatagram) {
        match self {
            FlowHost::SctpSource(end) => end.on_transmitted(now, datagram),
            FlowHost::TcpSource(end) => end.on_transmitted(now, datagram),
            FlowHost::PeerSource(end) => end.on_transmitted(now, datagram),
            FlowHost::TransferSource(end) => end.on_transmitted(now, datagram),
            _ => {}
        }
    }

    fn warm(&self, depth: usize) {
        match self {
            FlowHost::TcpSource(end) => end.warm(depth),
            FlowHost::TcpSink(end) => end.warm(depth),
            _ => {}
        }
    }

    fn after_input(&mut self, now: Instant) {
        match self {
            FlowHost::SctpSource(end) => end.after_input(now),
            FlowHost::SctpSink(end) => end.after_input(now),
            FlowHost::TcpSource(end) => end.after_input(now),
            FlowHost::TcpSink(end) => end.after_input(now),
            FlowHost::PeerSource(end) => end.after_input(now),
            FlowHost::PeerSink(end) => end.after_input(now),
            FlowHost::TransferSource(end) => end.after_input(now),
            FlowHost::TransferSink(end) => end.after_input(now),
        }
    }
}
