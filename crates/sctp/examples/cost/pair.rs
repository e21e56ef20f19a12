//! Two endpoints in one thread that hand each other their datagrams in memory.

use core::net::{IpAddr, Ipv4Addr, SocketAddr};

use base::{DatagramMeta, Duration, Ecn, Instant, Machine, Purpose, RandomStream};
use bytes::Bytes;
use sctp::{AssociationId, AssociationOptions, Endpoint, EndpointOptions, Event, Message};

const SCTP_PORT: u16 = 5000;
const UDP_PORT: u16 = 9899;

/// Datagrams on their way to one side, in the order sent, in one block of memory: as a driver with
/// receive offload would have them. The block is used again when nothing refers to it any more, so
/// that a datagram costs no allocation.
#[derive(Default)]
struct Mailbox {
    block: Vec<u8>,
    datagrams: Vec<(SocketAddr, usize)>,
    bytes: u64,
    packets: u64,
}

impl Mailbox {
    fn collect(&mut self, now: Instant, from: &mut Endpoint) {
        while let Some(transmit) = from.poll_transmit(now, &mut self.block) {
            self.datagrams.push((transmit.remote, transmit.size));
            self.packets += 1;
            self.bytes += transmit.size as u64;
        }
    }
}

/// One end: an endpoint, its mail, and what its application does.
struct End {
    endpoint: Endpoint,
    inbox: Mailbox,
    messages: u64,
    bytes: u64,
}

impl End {
    fn new(options: &AssociationOptions, index: u64) -> End {
        let options = EndpointOptions {
            port: SCTP_PORT,
            listen: index > 0,
            max_associations: usize::MAX,
            accepted: options.clone(),
            ..EndpointOptions::default()
        };
        End {
            endpoint: Endpoint::new(options, RandomStream::new(1, Purpose("cost", index))),
            inbox: Mailbox::default(),
            messages: 0,
            bytes: 0,
        }
    }

    /// The application: reads every message at once.
    fn after_input(&mut self, now: Instant, out: &mut Mailbox) {
        while let Some((id, event)) = self.endpoint.poll_event() {
            match event {
                Event::Readable => {
                    while let Some(Message { payload, .. }) =
                        self.endpoint.association_mut(id).and_then(|mut own| own.receive(now))
                    {
                        self.messages += 1;
                        self.bytes += payload.len() as u64;
                    }
                }
                Event::Failed(failure) => println!("an association failed: {failure}"),
                _ => {}
            }
        }
        out.collect(now, &mut self.endpoint);
    }

    /// Takes in all that lies in the inbox. After each datagram the outputs are drained, as the
    /// contract of the machine asks.
    fn take_mail(&mut self, now: Instant, out: &mut Mailbox) {
        if self.inbox.datagrams.is_empty() {
            return;
        }
        let block = Bytes::from(core::mem::take(&mut self.inbox.block));
        let mut datagrams = core::mem::take(&mut self.inbox.datagrams);
        let mut start = 0;
        for (local, size) in datagrams.drain(..) {
            let meta =
                DatagramMeta { local, remote: across(local), ecn: Ecn::NotEct, origin: None };
            self.endpoint.handle_datagram(now, meta, block.slice(start..start + size).into());
            start += size;
            self.after_input(now, out);
        }
        self.inbox.datagrams = datagrams;
        self.inbox.block = block.try_into_mut().map(Vec::from).unwrap_or_default();
        self.inbox.block.clear();
    }

    fn run_timers(&mut self, now: Instant, out: &mut Mailbox) {
        while self.endpoint.poll_timeout().is_some_and(|at| at <= now) {
            self.endpoint.handle_timeout(now);
            self.after_input(now, out);
        }
    }
}

/// A client and a server endpoint with any number of associations between them.
pub(crate) struct Pair {
    pub(crate) now: Instant,
    client: End,
    server: End,
    pub(crate) associations: Vec<AssociationId>,
}

impl Pair {
    /// Opens `count` associations, each between two IP addresses of its own.
    pub(crate) fn new(options: &AssociationOptions, count: u32) -> Pair {
        let mut pair = Pair {
            now: Instant::from_millis(1),
            client: End::new(options, 0),
            server: End::new(options, 1),
            associations: Vec::with_capacity(count as usize),
        };
        for index in 0..count {
            let remote = SocketAddr::new(server_address(index), UDP_PORT);
            match pair.client.endpoint.connect(pair.now, remote, SCTP_PORT, options.clone()) {
                Ok(id) => pair.associations.push(id),
                Err(error) => println!("association {index}: {error}"),
            }
            pair.client.after_input(pair.now, &mut pair.server.inbox);
            pair.exchange();
            // Set up over the whole of a round, as the timers of real ones would be spread.
            pair.advance(Duration::from_micros(25));
        }
        pair
    }

    /// The client's application sends; false if the send buffer is full.
    pub(crate) fn send(&mut self, association: AssociationId, payload: Bytes) -> bool {
        let (stream, ppid, options) = Default::default();
        let sent = self
            .client
            .endpoint
            .association_mut(association)
            .map_or(Err(sctp::SendError::Closed), |mut own| {
                own.send(self.now, stream, ppid, payload, options)
            })
            .is_ok();
        self.client.after_input(self.now, &mut self.server.inbox);
        sent
    }

    /// Hands over datagrams until none is left.
    pub(crate) fn exchange(&mut self) {
        while !(self.client.inbox.datagrams.is_empty() && self.server.inbox.datagrams.is_empty()) {
            self.server.take_mail(self.now, &mut self.client.inbox);
            self.client.take_mail(self.now, &mut self.server.inbox);
        }
    }

    /// Lets `span` pass, with all timers that are due in it, one after the other.
    pub(crate) fn advance(&mut self, span: Duration) {
        let until = self.now + span;
        loop {
            let client = self.client.endpoint.poll_timeout();
            let server = self.server.endpoint.poll_timeout();
            let Some(next) = client.into_iter().chain(server).min().filter(|at| *at <= until)
            else {
                break;
            };
            self.now = self.now.max(next);
            self.client.run_timers(self.now, &mut self.server.inbox);
            self.server.run_timers(self.now, &mut self.client.inbox);
            self.exchange();
        }
        self.now = until;
    }

    /// Messages and bytes of payload that the server's application has received.
    pub(crate) fn received(&self) -> (u64, u64) {
        (self.server.messages, self.server.bytes)
    }

    /// Packets sent in both directions.
    pub(crate) fn packets(&self) -> u64 {
        self.client.inbox.packets + self.server.inbox.packets
    }
}

fn server_address(index: u32) -> IpAddr {
    let [_, b, c, d] = index.to_be_bytes();
    IpAddr::V4(Ipv4Addr::new(10, b, c, d))
}

/// The other end of the way to `address`: 10.x.y.z and 11.x.y.z belong together.
fn across(address: SocketAddr) -> SocketAddr {
    let IpAddr::V4(ip) = address.ip() else { return address };
    let [a, b, c, d] = ip.octets();
    SocketAddr::new(Ipv4Addr::new(a ^ 1, b, c, d).into(), UDP_PORT)
}
