//! One endpoint at [`LOCAL`], fed by hand with segments from [`REMOTE`].

use std::net::SocketAddr;
use std::sync::Arc;

use base::{DatagramMeta, Duration, Ecn, Icmp, Instant, IpService, Machine, Purpose, RandomStream};
use bytes::Bytes;
use recovery::RecoveryPolicy;
use tcp::wire::{Pseudo, Segment, SeqNumber};
use tcp::{
    ConnectionId, ConnectionMut, ConnectionOptions, Endpoint, EndpointOptions, Event,
    ListenOptions, ListenerId, Received, SendFlags, State,
};

use super::notation::{read, write};

pub(crate) const LOCAL: &str = "10.0.0.1:80";
pub(crate) const REMOTE: &str = "10.0.0.2:4000";

/// The number of the SYN of the one who is played by hand.
const ISS: SeqNumber = SeqNumber(u32::MAX - 99);

pub(crate) fn address(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

/// An endpoint and what it said.
pub(crate) struct Bench {
    pub(crate) endpoint: Endpoint,
    pub(crate) now: Instant,
    pub(crate) events: Vec<(ConnectionId, Event)>,
    /// Segments that left and were not looked at, with when and how.
    pub(crate) sent: Vec<(Instant, Segment, Ecn)>,
    /// Requests of the latest packet's IP header to the network.
    pub(crate) service: IpService,
    pub(crate) listener: Option<ListenerId>,
    /// The connection that was opened or accepted last.
    pub(crate) id: Option<ConnectionId>,
    /// The number of the endpoint's SYN, once it left.
    pub(crate) iss: SeqNumber,
    pub(crate) local: SocketAddr,
    pub(crate) remote: SocketAddr,
}

impl Bench {
    pub(crate) fn new(options: EndpointOptions) -> Bench {
        Bench {
            endpoint: Endpoint::new(options, RandomStream::new(1, Purpose("endpoint", 0))),
            now: Instant::from_millis(10_000),
            events: Vec::new(),
            sent: Vec::new(),
            service: IpService::default(),
            listener: None,
            id: None,
            iss: SeqNumber(0),
            local: address(LOCAL),
            remote: address(REMOTE),
        }
    }

    /// Puts the bench between other addresses, before anything happened.
    pub(crate) fn between(mut self, local: &str, remote: &str) -> Bench {
        (self.local, self.remote) = (address(local), address(remote));
        self
    }

    /// Options under which segments have no timestamps, no scaling and no SACK, so that they read
    /// short, and times are those of the RFCs.
    pub(crate) fn plain() -> ConnectionOptions {
        ConnectionOptions {
            timestamps: false,
            window_scaling: false,
            sack: false,
            ecn: tcp::EcnMode::Off,
            policy: Arc::new(RecoveryPolicy::tcp_rfc()),
            ..ConnectionOptions::default()
        }
    }

    /// An endpoint that listens at port 80, whose connections have these options.
    pub(crate) fn listening(accepted: ConnectionOptions) -> Bench {
        let mut bench = Bench::new(EndpointOptions::default());
        bench.listen(accepted);
        bench
    }

    /// Listens at every address of the family.
    pub(crate) fn listen(&mut self, accepted: ConnectionOptions) {
        let any = if self.local.is_ipv6() { "[::]:80" } else { "0.0.0.0:80" };
        let options = ListenOptions { accepted, ..ListenOptions::default() };
        self.listener = Some(self.endpoint.listen(address(any), options).unwrap());
    }

    /// Begins to open a connection.
    pub(crate) fn open(&mut self, options: ConnectionOptions) {
        let (now, local, remote) = (self.now, self.local, self.remote);
        self.id = Some(self.endpoint.connect(now, local, remote, options).unwrap());
        self.settle();
    }

    /// An endpoint that has begun to open a connection.
    pub(crate) fn opening(options: ConnectionOptions) -> Bench {
        let mut bench = Bench::new(EndpointOptions::default());
        bench.open(options);
        bench
    }

    /// A connection that the other side opened.
    pub(crate) fn accepted(options: ConnectionOptions) -> Bench {
        let mut bench = Bench::listening(options);
        bench.inject("S 0:0(0) <mss 1460>");
        bench.sent.clear();
        bench.inject(". 1:1(0) ack 1");
        bench.expect(&[]);
        assert_eq!(bench.state(), Some(State::Established));
        bench.events.clear();
        bench
    }

    /// A connection that this side opened.
    pub(crate) fn connected(options: ConnectionOptions) -> Bench {
        let mut bench = Bench::opening(options);
        bench.sent.clear();
        bench.inject("S. 0:0(0) ack 1 <mss 1460>");
        bench.expect(&[". 1:1(0) ack 1"]);
        bench.events.clear();
        bench
    }

    // ---- what happens --------------------------------------------------------------------------

    /// Hands over a segment in packetdrill's notation, and settles.
    pub(crate) fn inject(&mut self, text: &str) {
        let segment = read(text, ISS, self.iss);
        self.inject_segment(&segment, Ecn::NotEct);
    }

    pub(crate) fn inject_with(&mut self, text: &str, ecn: Ecn) {
        let segment = read(text, ISS, self.iss);
        self.inject_segment(&segment, ecn);
    }

    /// Segments arrive before the driver asks what is to be sent.
    pub(crate) fn inject_together(&mut self, texts: &[&str]) {
        for text in texts {
            let segment = read(text, ISS, self.iss);
            self.arrive(&segment, Ecn::NotEct);
        }
        self.settle();
    }

    /// A segment arrives, and the application does something before the driver asks what is to be
    /// sent.
    pub(crate) fn inject_and(
        &mut self,
        text: &str,
        act: impl FnOnce(&mut Endpoint, Instant, ConnectionId),
    ) {
        let segment = read(text, ISS, self.iss);
        self.arrive(&segment, Ecn::NotEct);
        self.act(act);
    }

    pub(crate) fn inject_segment(&mut self, segment: &Segment, ecn: Ecn) {
        self.arrive(segment, ecn);
        self.settle();
    }

    fn arrive(&mut self, segment: &Segment, ecn: Ecn) {
        let mut segment = segment.clone();
        segment.source_port = self.remote.port();
        let local = self.local;
        let mut datagram = Vec::new();
        segment.emit(Pseudo::new(self.remote.ip(), local.ip()), &mut datagram);
        let meta = DatagramMeta {
            local: SocketAddr::new(local.ip(), 0),
            remote: SocketAddr::new(self.remote.ip(), 0),
            ecn,
            origin: None,
        };
        self.endpoint.handle_datagram(self.now, meta, datagram.into());
    }

    /// Hands over an ICMP message, and settles.
    pub(crate) fn icmp(&mut self, icmp: Icmp<'_>) {
        self.endpoint.handle_icmp(self.now, icmp);
        self.settle();
    }

    /// Lets the application act on the connection, and settles.
    pub(crate) fn act<R>(
        &mut self,
        act: impl FnOnce(&mut Endpoint, Instant, ConnectionId) -> R,
    ) -> R {
        let result = act(&mut self.endpoint, self.now, self.id.unwrap());
        self.settle();
        result
    }

    /// The application uses the connection.
    pub(crate) fn own<R>(&mut self, call: impl FnOnce(&mut ConnectionMut<'_>, Instant) -> R) -> R {
        self.act(|endpoint, now, id| call(&mut endpoint.connection_mut(id).unwrap(), now))
    }

    pub(crate) fn send(&mut self, length: usize) -> usize {
        let data = vec![7; length];
        self.own(|own, now| own.send(now, data.into(), SendFlags::default()).unwrap())
    }

    pub(crate) fn receive(&mut self) -> Received {
        self.own(|own, now| own.receive(now, usize::MAX).unwrap())
    }

    /// Time passes, with all that is due in it.
    pub(crate) fn wait(&mut self, millis: u64) {
        let until = self.now + Duration::from_millis(millis);
        while let Some(due) = self.endpoint.poll_timeout().filter(|due| *due <= until) {
            self.now = self.now.max(due);
            self.endpoint.handle_timeout(self.now);
            self.settle();
        }
        self.now = until;
    }

    fn settle(&mut self) {
        let mut buffer = Vec::new();
        while let Some(transmit) = self.endpoint.poll_transmit(self.now, &mut buffer) {
            assert_eq!(transmit.remote, SocketAddr::new(self.remote.ip(), 0));
            let addresses = Pseudo::new(transmit.local.unwrap().ip(), transmit.remote.ip());
            let datagram = Bytes::from(core::mem::take(&mut buffer));
            assert_eq!(datagram.len(), transmit.size);
            let segment = Segment::parse(datagram, addresses).unwrap();
            if segment.flags.syn() {
                self.iss = segment.seq;
            }
            self.service = transmit.service;
            self.sent.push((self.now, segment, transmit.ecn));
        }
        while let Some((id, event)) = self.endpoint.poll_event() {
            if let Event::Incoming { listener } = event {
                assert_eq!(self.endpoint.accept(listener), Some(id));
                self.id = Some(id);
            }
            self.events.push((id, event));
        }
    }

    // ---- what is seen --------------------------------------------------------------------------

    /// Takes what left, as text.
    pub(crate) fn taken(&mut self) -> Vec<String> {
        let sent = core::mem::take(&mut self.sent);
        sent.iter().map(|(_, segment, _)| write(segment, self.iss, ISS)).collect()
    }

    /// Asserts that just these segments left since the last look.
    #[track_caller]
    pub(crate) fn expect(&mut self, expected: &[&str]) {
        assert_eq!(self.taken(), expected);
    }

    /// Asserts that these segments left since the last look, each at its number of milliseconds
    /// after `since`.
    #[track_caller]
    pub(crate) fn expect_at(&mut self, since: Instant, expected: &[(u64, &str)]) {
        let times: Vec<u64> =
            self.sent.iter().map(|(at, _, _)| at.since(since).as_millis()).collect();
        let seen: Vec<_> = times.into_iter().zip(self.taken()).collect();
        let seen: Vec<_> = seen.iter().map(|(at, text)| (*at, text.as_str())).collect();
        assert_eq!(seen, expected);
    }

    /// Events since the last call.
    pub(crate) fn take_events(&mut self) -> Vec<Event> {
        core::mem::take(&mut self.events).into_iter().map(|(_, event)| event).collect()
    }

    /// State of the connection, while there is one.
    pub(crate) fn state(&self) -> Option<State> {
        self.endpoint.connection(self.id?).map(|connection| connection.state())
    }
}
