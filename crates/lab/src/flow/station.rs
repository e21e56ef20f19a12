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
pub enum Station {
    /// Sends over SCTP.
    SctpSource(Box<SourceEnd<SctpSender>>),
    /// Receives over SCTP.
    SctpSink(Box<SctpSink>),
    /// Sends over TCP.
    TcpSource(Box<SourceEnd<TcpSender>>),
    /// Receives over TCP.
    TcpSink(Box<TcpSink>),
    /// Sends over a transport of others.
    PeerSource(Box<SourceEnd<PeerSender>>),
    /// Receives over a transport of others, or over SCTP with their stack.
    PeerSink(Box<PeerSink>),
    /// Sends over a TCP connection for each message.
    TransferSource(Box<TransferSource>),
    /// The receiver of such transfers.
    TransferSink(Box<TransferSink>),
}

/// Calls the same on the endpoint of every kind of station.
macro_rules! on_endpoint {
    ($station:expr, $endpoint:ident => $call:expr) => {
        match $station {
            Station::SctpSource(end) => {
                let $endpoint = &mut end.transport.endpoint;
                $call
            }
            Station::SctpSink(end) => {
                let $endpoint = &mut end.endpoint;
                $call
            }
            Station::TcpSource(end) => {
                let $endpoint = &mut end.transport.endpoint;
                $call
            }
            Station::TcpSink(end) => {
                let $endpoint = &mut end.endpoint;
                $call
            }
            Station::PeerSource(end) => {
                let $endpoint = &mut end.transport.endpoint;
                $call
            }
            Station::PeerSink(end) => {
                let $endpoint = &mut end.endpoint;
                $call
            }
            Station::TransferSource(end) => {
                let $endpoint = &mut end.endpoint;
                $call
            }
            Station::TransferSink(end) => {
                let $endpoint = &mut end.endpoint;
                $call
            }
        }
    };
}

impl Machine for Station {
    fn handle_datagram(&mut self, now: Instant, meta: DatagramMeta, datagram: base::Datagram) {
        // The network vouches for undamaged datagrams: these have arrived.
        if datagram.verified {
            let (head, tail) = (&datagram.head, &datagram.tail);
            match self {
                Station::SctpSink(end) => end.log.borrow_mut().on_arrived(now, head, tail),
                Station::TcpSink(end) => end.log.borrow_mut().on_arrived(now, head, tail),
                Station::PeerSink(end) => end.log.borrow_mut().on_arrived(now, head, tail),
                _ => {}
            }
        }
        on_endpoint!(self, endpoint => endpoint.handle_datagram(now, meta, datagram));
    }

    fn handle_icmp(&mut self, now: Instant, icmp: Icmp<'_>) {
        on_endpoint!(self, endpoint => endpoint.handle_icmp(now, icmp));
    }

    fn handle_timeout(&mut self, now: Instant) {
        on_endpoint!(self, endpoint => endpoint.handle_timeout(now));
    }

    fn poll_transmit(&mut self, now: Instant, buffer: &mut dyn TransmitBuffer) -> Option<Transmit> {
        on_endpoint!(self, endpoint => endpoint.poll_transmit(now, buffer))
    }

    fn poll_timeout(&self) -> Option<Instant> {
        match self {
            Station::SctpSource(end) => end.transport.endpoint.poll_timeout(),
            Station::SctpSink(end) => end.endpoint.poll_timeout(),
            Station::TcpSource(end) => end.transport.endpoint.poll_timeout(),
            Station::TcpSink(end) => end.endpoint.poll_timeout(),
            Station::PeerSource(end) => end.transport.endpoint.poll_timeout(),
            Station::PeerSink(end) => end.endpoint.poll_timeout(),
            Station::TransferSource(end) => end.endpoint.poll_timeout(),
            Station::TransferSink(end) => end.endpoint.poll_timeout(),
        }
    }
}

impl Host for Station {
    fn poll_wake(&self) -> Option<Instant> {
        match self {
            Station::SctpSource(end) => end.poll_wake(),
            Station::TcpSource(end) => end.poll_wake(),
            Station::PeerSource(end) => end.poll_wake(),
            Station::TransferSource(end) => end.poll_wake(),
            _ => None,
        }
    }

    fn on_wake(&mut self, now: Instant) {
        match self {
            Station::SctpSource(end) => end.on_wake(now),
            Station::TcpSource(end) => end.on_wake(now),
            Station::PeerSource(end) => end.on_wake(now),
            Station::TransferSource(end) => end.on_wake(now),
            _ => {}
        }
    }

    fn on_transmitted(&mut self, now: Instant, datagram: &AddressedDatagram) {
        match self {
            Station::SctpSource(end) => end.on_transmitted(now, datagram),
            Station::TcpSource(end) => end.on_transmitted(now, datagram),
            Station::PeerSource(end) => end.on_transmitted(now, datagram),
            Station::TransferSource(end) => end.on_transmitted(now, datagram),
            _ => {}
        }
    }

    fn after_input(&mut self, now: Instant) {
        match self {
            Station::SctpSource(end) => end.after_input(now),
            Station::SctpSink(end) => end.after_input(now),
            Station::TcpSource(end) => end.after_input(now),
            Station::TcpSink(end) => end.after_input(now),
            Station::PeerSource(end) => end.after_input(now),
            Station::PeerSink(end) => end.after_input(now),
            Station::TransferSource(end) => end.after_input(now),
            Station::TransferSink(end) => end.after_input(now),
        }
    }
}
