//! dcsctp: the stack of Chromium's data channels, in Rust. A socket is one association's end.

use std::collections::VecDeque;
use std::net::SocketAddr;

use ::dcsctp::api::{
    DcSctpSocket, ErrorKind, Message, Options, PpId, SendError, SendOptions, SocketEvent,
    SocketTime, StreamId,
};
use base::{DatagramMeta, Ecn, Instant, Machine, Transmit};

use crate::{
    Ending, Incoming, Outgoing, PACKET, Refused, Reliability, Stack, StackEvent, StackOptions,
};

/// One end of an association.
pub struct DcSctp {
    socket: Box<dyn DcSctpSocket>,
    remote: SocketAddr,
    packets: VecDeque<Vec<u8>>,
    events: VecDeque<StackEvent>,
}

impl DcSctp {
    /// An end with these options.
    pub fn new(options: &Options, remote: SocketAddr) -> DcSctp {
        let socket = ::dcsctp::new_socket("", options);
        DcSctp { socket, remote, packets: VecDeque::new(), events: VecDeque::new() }
    }

    /// Options that bound neither packets below [`PACKET`] nor what may wait to be sent.
    pub fn options() -> Options {
        Options {
            mtu: PACKET,
            max_send_buffer_size: usize::MAX,
            per_stream_send_queue_limit: usize::MAX,
            ..Options::default()
        }
    }

    /// An end with the options of an exercise.
    pub fn for_exercise(options: &StackOptions) -> DcSctp {
        let [rto_initial, rto_min, rto_max] = options.rto.map(to_std);
        let own = Options {
            max_message_size: options.largest_message,
            enable_message_interleaving: options.interleaving,
            rto_initial,
            rto_min,
            rto_max,
            t1_init_timeout: rto_initial,
            t1_cookie_timeout: rto_initial,
            t2_shutdown_timeout: rto_initial,
            ..DcSctp::options()
        };
        DcSctp::new(&own, options.remote)
    }

    /// Takes the next packet to send.
    pub fn poll_packet(&mut self) -> Option<Vec<u8>> {
        self.packets.pop_front()
    }

    /// Hands over a packet that arrived, and takes what follows from it.
    pub fn handle_packet(&mut self, now: Instant, packet: &[u8]) {
        self.socket.advance_time(to_socket_time(now));
        self.socket.handle_input(packet);
        self.drain();
    }

    /// Takes the next message that arrived.
    pub fn receive_message(&mut self) -> Option<Message> {
        if self.socket.messages_ready_count() == 0 {
            return None;
        }
        self.socket.get_next_message()
    }

    fn call(&mut self, now: Instant, call: impl FnOnce(&mut dyn DcSctpSocket)) {
        self.socket.advance_time(to_socket_time(now));
        call(&mut *self.socket);
        self.drain();
    }

    fn drain(&mut self) {
        while let Some(event) = self.socket.poll_event() {
            let event = match event {
                SocketEvent::SendPacket(packet) => {
                    self.packets.push_back(packet);
                    continue;
                }
                SocketEvent::OnConnected() => StackEvent::Established,
                SocketEvent::OnClosed() => StackEvent::Ended(Ending::Closed),
                SocketEvent::OnAborted(ErrorKind::PeerReported, _) => {
                    StackEvent::Ended(Ending::AbortedByPeer)
                }
                SocketEvent::OnAborted(ErrorKind::TooManyRetries, _) => {
                    StackEvent::Ended(Ending::Unanswered)
                }
                SocketEvent::OnAborted(kind, why) => {
                    StackEvent::Ended(Ending::Failed(format!("{kind:?}: {why}")))
                }
                SocketEvent::OnStreamsResetPerformed(_) => StackEvent::ResetDone,
                SocketEvent::OnStreamsResetFailed(streams) => {
                    StackEvent::Refused(format!("{streams:?}"))
                }
                SocketEvent::OnIncomingStreamReset(streams) => StackEvent::PeerReset(streams.len()),
                _ => continue,
            };
            self.events.push_back(event);
        }
    }
}

impl Machine for DcSctp {
    fn handle_datagram(&mut self, now: Instant, _meta: DatagramMeta, datagram: base::Datagram) {
        self.handle_packet(now, &datagram.into_bytes());
    }

    fn handle_icmp(&mut self, _: Instant, _: base::Icmp<'_>) {}

    fn handle_timeout(&mut self, now: Instant) {
        self.call(now, |_| ());
    }

    fn poll_transmit(
        &mut self,
        _now: Instant,
        buffer: &mut dyn base::TransmitBuffer,
    ) -> Option<Transmit> {
        let packet = self.poll_packet()?;
        buffer.head().extend_from_slice(&packet);
        Some(Transmit {
            local: None,
            remote: self.remote,
            ecn: Ecn::NotEct,
            dont_fragment: false,
            service: base::IpService::default(),
            size: packet.len(),
        })
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let due = self.socket.poll_timeout();
        let since = || due - SocketTime::zero();
        (due != SocketTime::infinite_future())
            .then(|| Instant::from_nanos(u64::try_from(since().as_nanos()).unwrap_or(u64::MAX)))
    }
}

impl Stack for DcSctp {
    fn connect(&mut self, now: Instant) {
        self.call(now, |socket| socket.connect());
    }

    fn poll_event(&mut self) -> Option<StackEvent> {
        self.events.pop_front()
    }

    fn send(&mut self, now: Instant, message: &Outgoing) -> Result<(), Refused> {
        let mut options = SendOptions { unordered: message.unordered, ..SendOptions::default() };
        match message.reliability {
            Reliability::Full => {}
            Reliability::Retransmissions(limit) => options.max_retransmissions = Some(limit),
            Reliability::Lifetime(lifetime) => options.lifetime = Some(to_std(lifetime)),
        }
        let own = Message::new(StreamId(message.stream), PpId(53), message.payload.to_vec());
        let mut sent = Ok(());
        self.call(now, |socket| sent = socket.send(own, &options));
        sent.map_err(|error| match error {
            SendError::ResourceExhaustion => Refused::Later,
            _ => Refused::Closed,
        })
    }

    fn receive(&mut self, now: Instant) -> Option<Incoming> {
        let message = self.receive_message()?;
        // Reading may have opened the window.
        self.call(now, |_| ());
        let (stream, payload) = (message.stream_id.0, message.payload.into());
        Some(Incoming { stream, payload, unordered: None })
    }

    fn reset_streams(&mut self, now: Instant, streams: u16) {
        let streams: Vec<StreamId> = (0..streams).map(StreamId).collect();
        let mut asked = Ok(());
        self.call(now, |socket| asked = socket.reset_streams(&streams));
        if let Err(error) = asked {
            self.events.push_back(StackEvent::Refused(error.to_string()));
        }
    }

    fn shutdown(&mut self, now: Instant) {
        self.call(now, |socket| socket.shutdown());
    }

    fn abort(&mut self, now: Instant) {
        // It calls that closed, too.
        self.events.push_back(StackEvent::Ended(Ending::Aborted));
        self.call(now, |socket| socket.close());
    }
}

fn to_std(duration: base::Duration) -> std::time::Duration {
    std::time::Duration::from_nanos(duration.as_nanos())
}

fn to_socket_time(now: Instant) -> SocketTime {
    SocketTime::zero() + std::time::Duration::from_nanos(now.as_nanos())
}
