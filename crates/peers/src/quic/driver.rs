//! A connection of quinn in virtual time, with all messages on one stream from its client.
//!
//! The benchmark of set-ups (`benches/set-up`) has this file, too.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Instant as StdInstant;

use base::{Datagram, DatagramMeta, Icmp, Instant, Machine, Transmit, TransmitBuffer};
use bytes::{Bytes, BytesMut};
use quinn_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, Dir, Endpoint, Event, StreamEvent,
    StreamId,
};

use crate::datagram::{transmit, with_port};

/// One end of a connection.
pub(crate) struct Driver {
    origin: StdInstant,
    endpoint: Endpoint,
    /// Address of the other end.
    remote: SocketAddr,
    connection: Option<(ConnectionHandle, Box<Connection>)>,
    stream: Option<StreamId>,
    established: bool,
    failed: bool,
    /// Datagrams that the endpoint sends by itself.
    answers: VecDeque<Vec<u8>>,
    /// Bytes for which the stream had no room.
    unsent: VecDeque<Bytes>,
    received: VecDeque<Bytes>,
    due: Option<Instant>,
}

impl Driver {
    /// An end that waits for the other to connect, until [`Driver::connect`].
    pub(crate) fn new(endpoint: Endpoint, remote: SocketAddr) -> Driver {
        Driver {
            origin: StdInstant::now(),
            endpoint,
            remote,
            connection: None,
            stream: None,
            established: false,
            failed: false,
            answers: VecDeque::new(),
            unsent: VecDeque::new(),
            received: VecDeque::new(),
            due: None,
        }
    }

    /// Connects to the other end, which becomes the server.
    pub(crate) fn connect(&mut self, now: Instant, config: ClientConfig) {
        let (time, remote) = (self.time(now), with_port(self.remote));
        if let Ok(connection) = self.endpoint.connect(time, config, remote, "server") {
            self.accept(connection);
        }
        self.drive();
    }

    /// Sends a message of the client, once the connection is established.
    pub(crate) fn send(&mut self, message: Bytes) {
        self.unsent.push_back(message);
        self.drive();
    }

    /// The next bytes that arrived at the server, in order.
    pub(crate) fn receive(&mut self) -> Option<Bytes> {
        self.received.pop_front()
    }

    /// Whether the connection ended, for any reason.
    pub(crate) fn has_failed(&self) -> bool {
        self.failed
    }

    fn time(&self, now: Instant) -> StdInstant {
        self.origin + std::time::Duration::from_nanos(now.as_nanos())
    }

    fn accept(&mut self, (handle, connection): (ConnectionHandle, Connection)) {
        self.connection = Some((handle, Box::new(connection)));
    }

    /// Passes events between endpoint and connection, and takes what happened.
    fn drive(&mut self) {
        let Some((handle, connection)) = &mut self.connection else { return };
        loop {
            let mut done = true;
            while let Some(event) = connection.poll_endpoint_events() {
                done = false;
                if let Some(event) = self.endpoint.handle_event(*handle, event) {
                    connection.handle_event(event);
                }
            }
            while let Some(event) = connection.poll() {
                done = false;
                match event {
                    Event::Connected => self.established = true,
                    Event::ConnectionLost { .. } => self.failed = true,
                    Event::Stream(StreamEvent::Opened { dir }) => {
                        self.stream = connection.streams().accept(dir);
                    }
                    _ => {}
                }
            }
            if done {
                break;
            }
        }
        match connection.side().is_client() {
            true => self.write(),
            false => self.read(),
        }
        self.look_at_timers();
    }

    fn write(&mut self) {
        let Some((_, connection)) = &mut self.connection else { return };
        if !self.established {
            return;
        }
        self.stream = self.stream.or_else(|| connection.streams().open(Dir::Uni));
        let Some(id) = self.stream else { return };
        while let Some(message) = self.unsent.front_mut() {
            match connection.send_stream(id).write(message) {
                Ok(taken) if taken == message.len() => drop(self.unsent.pop_front()),
                Ok(taken) => drop(message.split_to(taken)),
                Err(_) => return,
            }
        }
    }

    fn read(&mut self) {
        let Some((_, connection)) = &mut self.connection else { return };
        let Some(id) = self.stream else { return };
        let mut stream = connection.recv_stream(id);
        let Ok(mut chunks) = stream.read(true) else { return };
        while let Ok(Some(chunk)) = chunks.next(usize::MAX) {
            self.received.push_back(chunk.bytes);
        }
        // Packets that this makes possible are polled after every input anyway.
        let _ = chunks.finalize();
    }

    fn look_at_timers(&mut self) {
        let origin = self.origin;
        let due = self.connection.as_mut().and_then(|(_, connection)| connection.poll_timeout());
        self.due = due.map(|due| {
            let since = due.saturating_duration_since(origin).as_nanos();
            Instant::from_nanos(u64::try_from(since).unwrap_or(u64::MAX))
        });
    }
}

impl Machine for Driver {
    fn handle_datagram(&mut self, now: Instant, meta: DatagramMeta, datagram: Datagram) {
        let (time, mut answer) = (self.time(now), Vec::new());
        let datagram = BytesMut::from(&datagram.into_bytes()[..]);
        match self.endpoint.handle(time, with_port(meta.remote), None, None, datagram, &mut answer)
        {
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                if let Some((_, connection)) = &mut self.connection {
                    connection.handle_event(event);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                if let Ok(connection) = self.endpoint.accept(incoming, time, &mut answer, None) {
                    self.accept(connection);
                }
            }
            Some(DatagramEvent::Response(transmit)) => {
                answer.truncate(transmit.size);
                self.answers.push_back(answer);
            }
            None => {}
        }
        self.drive();
    }

    fn handle_icmp(&mut self, _: Instant, _: Icmp<'_>) {}

    fn handle_timeout(&mut self, now: Instant) {
        let time = self.time(now);
        if let Some((_, connection)) = &mut self.connection {
            connection.handle_timeout(time);
        }
        self.drive();
    }

    fn poll_transmit(&mut self, now: Instant, buffer: &mut dyn TransmitBuffer) -> Option<Transmit> {
        if let Some(answer) = self.answers.pop_front() {
            return Some(transmit(self.remote, &answer, buffer));
        }
        let (time, mut datagram) = (self.time(now), Vec::new());
        let sent = self.connection.as_mut()?.1.poll_transmit(time, 1, &mut datagram);
        self.drive();
        let size = sent?.size;
        Some(transmit(self.remote, &datagram[..size], buffer))
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.due
    }
}
