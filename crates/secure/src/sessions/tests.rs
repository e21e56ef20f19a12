//! Tests of hosts with sessions below a machine that stores its packets, with datagrams passed by
//! hand, and with attackers.

use base::{Duration, Ecn, IcmpError, Origin, Purpose};

use super::session::plain_transmit;
use super::{
    Bytes, Context, Datagram, DatagramMeta, Icmp, Instant, Limits, Machine, Notice, RandomStream,
    Role, Secrets, Sessions, SocketAddr, Transmit, TransmitBuffer, Trust, VecDeque,
};
use crate::dtls::Settings;
use crate::identity::Identity;
use crate::sealer::Failure;
use crate::secured::Secured;
use crate::trust::Refusal;

/// A machine that sends given packets and stores received ones.
#[derive(Debug, Default)]
struct Mailbox {
    /// Packet to send once a session is open.
    greeting: Option<(SocketAddr, &'static [u8])>,
    outgoing: VecDeque<(SocketAddr, &'static [u8])>,
    /// Packets to send, each with the host that it is for.
    marked: VecDeque<(SocketAddr, &'static [u8], Origin)>,
    received: Vec<(SocketAddr, Bytes)>,
    origins: Vec<Option<Origin>>,
    quoted: Vec<Bytes>,
}

impl Machine for Mailbox {
    fn handle_datagram(&mut self, _: Instant, meta: DatagramMeta, datagram: Datagram) {
        assert!(datagram.verified);
        self.received.push((meta.remote, datagram.into_bytes()));
        self.origins.push(meta.origin);
    }

    fn handle_icmp(&mut self, _: Instant, icmp: Icmp<'_>) {
        self.quoted.push(Bytes::copy_from_slice(icmp.quoted));
    }

    fn handle_timeout(&mut self, _: Instant) {}

    fn poll_transmit(&mut self, _: Instant, buffer: &mut dyn TransmitBuffer) -> Option<Transmit> {
        let marked = self.marked.pop_front().map(|(remote, packet, origin)| {
            buffer.only_for(origin);
            (remote, packet)
        });
        let (remote, packet) = marked.or_else(|| self.outgoing.pop_front())?;
        buffer.head().extend_from_slice(packet);
        Some(Transmit { ecn: Ecn::Ect0, ..plain_transmit(remote, None, packet.len()) })
    }

    fn poll_timeout(&self) -> Option<Instant> {
        None
    }
}

type Host = Secured<Mailbox>;

fn identity(seed: u64) -> Identity {
    Identity::generate(&mut RandomStream::new(seed, Purpose("identity", 0)))
}

fn trust(identities: &[u64]) -> Trust {
    Trust::Listed(identities.iter().map(|seed| identity(*seed).fingerprint()).collect())
}

fn host(seed: u64, limits: Limits) -> Host {
    let settings =
        Settings { first_retransmission: Duration::from_millis(150), ..Settings::default() };
    let context = Context::new(settings, &identity(seed)).unwrap();
    let random = RandomStream::new(seed, Purpose("host", 0));
    let sessions = Sessions::new(context, limits, Secrets::System, random);
    Secured { machine: Mailbox::default(), sessions }
}

/// A server with key 2 that accepts key 1.
fn server(limits: Limits) -> Host {
    let mut server = host(2, limits);
    server.sessions.accept(Some(trust(&[1])));
    server
}

/// A client with key 1 that has a packet for the server.
fn client(seed: u64) -> Host {
    let mut client = host(seed, Limits::default());
    connect(&mut client, at(0), trust(&[2]));
    client.machine.greeting = Some((SERVER, b"hello"));
    client
}

fn connect(client: &mut Host, now: Instant, trust: Trust) {
    let patience = client.sessions.context.settings().patience();
    client.sessions.connect(now, (SERVER, None), trust, patience).unwrap();
}

const SERVER: SocketAddr =
    SocketAddr::new(core::net::IpAddr::V4(core::net::Ipv4Addr::new(10, 0, 0, 0)), 9899);

fn address(number: u32) -> SocketAddr {
    let [_, a, b, c] = number.to_be_bytes();
    SocketAddr::from(([10, a, b, c], 9899))
}

fn at(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

/// All datagrams that a host has to send.
fn drain(host: &mut Host, now: Instant) -> Vec<(SocketAddr, Vec<u8>, Ecn)> {
    let mut sent = Vec::new();
    let mut buffer = Vec::new();
    let is_open = |(to, _): &mut (SocketAddr, _)| host.sessions.is_open(*to);
    host.machine.outgoing.extend(host.machine.greeting.take_if(is_open));
    while let Some(transmit) = host.poll_transmit(now, &mut buffer) {
        assert_eq!(transmit.size, buffer.len());
        sent.push((transmit.remote, std::mem::take(&mut buffer), transmit.ecn));
    }
    sent
}

fn give(host: &mut Host, now: Instant, remote: SocketAddr, bytes: &[u8]) {
    let meta = DatagramMeta { local: SERVER, remote, ecn: Ecn::NotEct, origin: None };
    host.handle_datagram(now, meta, bytes.to_vec().into());
}

/// Carries the datagrams of one host to the other; returns their number.
fn carry(from: &mut Host, from_address: SocketAddr, to: &mut Host, now: Instant) -> usize {
    let sent = drain(from, now);
    for (_, bytes, _) in &sent {
        give(to, now, from_address, bytes);
    }
    sent.len()
}

/// Carries until neither has more to send.
fn settle(client: &mut Host, client_address: SocketAddr, server: &mut Host, now: Instant) {
    while carry(client, client_address, server, now) + carry(server, SERVER, client, now) > 0 {}
}

/// A client and a server with an open session, and all datagrams of the client.
fn open_pair() -> (Host, Host, Vec<Vec<u8>>) {
    let (mut client, mut server) = (client(1), server(Limits::default()));
    let mut sent = Vec::new();
    for _ in 0..4 {
        for (_, bytes, _) in drain(&mut client, at(0)) {
            give(&mut server, at(0), address(1), &bytes);
            sent.push(bytes);
        }
        carry(&mut server, SERVER, &mut client, at(0));
    }
    assert!(client.sessions.is_open(SERVER) && server.sessions.is_open(address(1)));
    (client, server, sent)
}

#[test]
fn packets_pass_once_both_have_proved_their_keys() {
    let (mut client, mut server, _) = open_pair();
    assert_eq!(server.machine.received, [(address(1), Bytes::from("hello"))]);
    server.machine.outgoing.push_back((address(1), b"answer"));
    let sent = drain(&mut server, at(1));
    assert_eq!(sent[0].2, Ecn::Ect0, "the packet's own mark");
    assert!(!sent[0].1.windows(6).any(|part| part == b"answer"));
    give(&mut client, at(1), SERVER, &sent[0].1);
    assert_eq!(client.machine.received, [(SERVER, Bytes::from("answer"))]);
    let Some(Notice::Opened { remote, role: Role::Server, peer }) = server.sessions.poll_notice()
    else {
        panic!("no notice")
    };
    assert_eq!((remote, peer.fingerprint), (address(1), identity(1).fingerprint()));
    assert_eq!(server.sessions.half_open(), 0);
}

#[test]
fn nothing_is_kept_of_a_stranger_before_its_cookie_comes_back() {
    let mut server = server(Limits::default());
    for number in 1..200 {
        let mut client = client(1);
        let hello = drain(&mut client, at(0)).remove(0).1;
        give(&mut server, at(0), address(number), &hello);
        assert!(server.sessions.is_empty());
        let answers = drain(&mut server, at(0));
        assert_eq!(answers.len(), 1);
        assert!(answers[0].1.len() < hello.len(), "{} for {}", answers[0].1.len(), hello.len());
    }
    assert_eq!(server.poll_timeout(), None);
    assert_eq!(server.sessions.stats().cookies_sent, 199);
}

#[test]
fn a_cookie_is_worth_nothing_at_another_address_and_after_two_minutes() {
    let mut server = server(Limits::default());
    let mut client = client(1);
    carry(&mut client, address(1), &mut server, at(0));
    carry(&mut server, SERVER, &mut client, at(0));
    let second = drain(&mut client, at(0)).remove(0).1;
    give(&mut server, at(0), address(2), &second);
    give(&mut server, at(121_000), address(1), &second);
    assert!(server.sessions.is_empty());
    assert_eq!(drain(&mut server, at(121_000)), []);
    assert_eq!(server.sessions.stats().strangers_ignored, 2);
    // The right address at the right time.
    let mut server = super::tests::server(Limits::default());
    let mut client = super::tests::client(1);
    carry(&mut client, address(1), &mut server, at(0));
    carry(&mut server, SERVER, &mut client, at(0));
    carry(&mut client, address(1), &mut server, at(59_000));
    assert_eq!(server.sessions.half_open(), 1);
}

#[test]
fn a_host_that_accepts_no_peer_answers_none() {
    let mut server = host(2, Limits::default());
    let mut client = client(1);
    carry(&mut client, address(1), &mut server, at(0));
    assert_eq!(drain(&mut server, at(0)), []);
    assert_eq!(server.sessions.stats().strangers_ignored, 1);
}

#[test]
fn packets_to_addresses_that_were_not_named_are_dropped() {
    let mut host = host(1, Limits::default());
    host.machine.outgoing.push_back((SERVER, b"hello"));
    assert_eq!(drain(&mut host, at(0)), []);
    assert_eq!(host.sessions.stats().packets_unsent, 1);
}

#[test]
fn a_wrong_key_gets_no_packet_through_and_is_told_of_once() {
    let mut server = server(Limits::default());
    let mut stranger = client(3);
    settle(&mut stranger, address(1), &mut server, at(0));
    assert_eq!(server.machine.received, []);
    assert!(server.sessions.is_empty());
    let refused = Failure::Refused(Refusal::NotListed(identity(3).fingerprint()));
    let notice = Notice::Failed {
        remote: address(1),
        role: Role::Server,
        failure: refused,
        answered: false,
    };
    assert_eq!(server.sessions.poll_notice(), Some(notice));
    assert_eq!(server.sessions.poll_notice(), None);
    // A server with a wrong key: the client gives up, and does not try again by itself.
    let mut client = host(1, Limits::default());
    connect(&mut client, at(0), trust(&[4]));
    let mut server = super::tests::server(Limits::default());
    for _ in 0..3 {
        client.machine.outgoing.push_back((SERVER, b"hello"));
        settle(&mut client, address(1), &mut server, at(0));
    }
    assert_eq!(client.sessions.stats().failed, 1);
    assert!(client.sessions.is_empty());
    assert_eq!(server.machine.received, []);
}

#[test]
fn replayed_truncated_and_changed_datagrams_bring_nothing_and_end_nothing() {
    let (mut client, mut server, sent) = open_pair();
    let received = server.machine.received.clone();
    for bytes in &sent {
        give(&mut server, at(1), address(1), bytes);
        for length in 0..bytes.len() {
            give(&mut server, at(1), address(1), &bytes[..length]);
        }
        for place in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[place] ^= 1;
            give(&mut server, at(1), address(1), &changed);
        }
    }
    for first in 0..=255 {
        give(&mut server, at(1), address(1), &[first; 60]);
    }
    assert_eq!(server.machine.received, received);
    drain(&mut server, at(1));
    client.machine.outgoing.push_back((SERVER, b"again"));
    carry(&mut client, address(1), &mut server, at(2));
    assert_eq!(server.machine.received.last(), Some(&(address(1), Bytes::from("again"))));
}

#[test]
fn a_replayed_hello_with_its_cookie_opens_nothing_and_is_soon_forgotten() {
    let (_, _, sent) = open_pair();
    // At a server that never saw the session, again and again: its cookies are others.
    let mut server = host(7, Limits::default());
    server.sessions.accept(Some(trust(&[1])));
    for _ in 0..50 {
        for bytes in &sent {
            give(&mut server, at(1), address(1), bytes);
        }
    }
    assert_eq!((server.sessions.len(), server.machine.received.len()), (0, 0));
    // At the server that it was made for: beside the session, once that is over, it gets as far as
    // a half-open handshake.
    let (mut client, mut server, sent) = open_pair();
    for _ in 0..50 {
        sent.iter().for_each(|bytes| give(&mut server, at(1), address(1), bytes));
    }
    assert_eq!((server.sessions.len(), server.sessions.half_open()), (1, 0));
    client.sessions.close();
    carry(&mut client, address(1), &mut server, at(2));
    assert!(server.sessions.is_empty());
    // Each costs some of the bytes that a handshake may have.
    for _ in 0..5 {
        sent.iter().for_each(|bytes| give(&mut server, at(3), address(1), bytes));
        drain(&mut server, at(3));
    }
    assert_eq!((server.sessions.len(), server.sessions.half_open()), (1, 1));
    assert_eq!(server.machine.received.len(), 1, "the greeting, once");
    while let Some(due) = server.poll_timeout() {
        assert!(due <= at(15_003), "{due}");
        server.handle_timeout(due);
        drain(&mut server, due);
    }
    assert!(server.sessions.is_empty());
}

#[test]
fn rubbish_of_strangers_gets_no_answer() {
    let mut server = server(Limits::default());
    let hello = drain(&mut client(1), at(0)).remove(0).1;
    for length in 0..hello.len() {
        give(&mut server, at(0), address(1), &hello[..length]);
    }
    let mut random = RandomStream::new(1, Purpose("rubbish", 0));
    for _ in 0..500 {
        let mut bytes = vec![0; random.below(1500) as usize];
        random.fill(&mut bytes);
        give(&mut server, at(0), address(1), &bytes);
    }
    assert_eq!(drain(&mut server, at(0)), []);
    assert!(server.sessions.is_empty());
}

#[test]
fn ten_thousand_half_open_handshakes_leave_a_bounded_number_and_an_honest_client_gets_in() {
    let count = 10_000;
    let limits = Limits { half_open: 32, ..Limits::default() };
    let mut server = server(limits);
    // One attacker's handshakes as far as the cookie, from many addresses.
    for number in 1..=count {
        let now = at(u64::from(number));
        let hello = FIRST_HELLO.with(Clone::clone);
        give(&mut server, now, address(number), &hello);
        let retry = drain(&mut server, now).remove(0).1;
        give(&mut server, now, address(number), &with_cookie(&hello, &retry));
        drain(&mut server, now);
        assert!(server.sessions.half_open() <= 32 && server.sessions.len() <= 32);
    }
    assert_eq!(server.sessions.stats().half_open_dropped, u64::from(count) - 32);
    let mut honest = client(1);
    settle(&mut honest, address(20_000), &mut server, at(u64::from(count) + 1));
    assert_eq!(server.machine.received, [(address(20_000), Bytes::from("hello"))]);
    // The rest is forgotten in time, without another datagram.
    while let Some(due) = server.poll_timeout().filter(|due| *due <= at(30_000)) {
        server.handle_timeout(due);
        drain(&mut server, due);
    }
    assert_eq!((server.sessions.half_open(), server.sessions.len()), (0, 1));
}

thread_local! {
    static FIRST_HELLO: Vec<u8> = drain(&mut client(1), at(0)).remove(0).1;
}

/// The second ClientHello: `hello` with the cookie of `retry`, whose last extension it is.
fn with_cookie(hello: &[u8], retry: &[u8]) -> Vec<u8> {
    let extension = &retry[retry.len() - 38..];
    assert_eq!(extension[..6], [0, 44, 0, 34, 0, 32]);
    let mut second = [hello, extension].concat();
    let longer = |second: &mut Vec<u8>, at: usize| {
        let length = u16::from_be_bytes([second[at], second[at + 1]]) + 38;
        second[at..at + 2].copy_from_slice(&length.to_be_bytes());
    };
    second[10] = 1;
    second[18] = 1;
    for place in [11, 14 + 1, 22 + 1] {
        longer(&mut second, place);
    }
    let session = 25 + 34;
    let cookie = session + 1 + usize::from(second[session]);
    let suites = cookie + 1;
    let compression =
        suites + 2 + usize::from(u16::from_be_bytes([second[suites], second[suites + 1]]));
    let extensions = compression + 1 + usize::from(second[compression]);
    longer(&mut second, extensions);
    second
}

#[test]
fn one_host_takes_no_more_than_its_share_of_half_open_handshakes() {
    let mut server = server(Limits { half_open_per_host: 3, ..Limits::default() });
    for port in 1..=10 {
        let remote = SocketAddr::from(([10, 9, 9, 9], port));
        let hello = FIRST_HELLO.with(Clone::clone);
        give(&mut server, at(0), remote, &hello);
        if let Some((_, retry, _)) = drain(&mut server, at(0)).pop() {
            give(&mut server, at(0), remote, &with_cookie(&hello, &retry));
            drain(&mut server, at(0));
        }
    }
    assert_eq!(server.sessions.half_open(), 3);
    assert_eq!(server.sessions.stats().strangers_turned_away, 7);
}

#[test]
fn a_handshake_that_brings_too_many_bytes_ends() {
    let mut server = server(Limits { half_open_bytes: 20_000, ..Limits::default() });
    let hello = FIRST_HELLO.with(Clone::clone);
    give(&mut server, at(0), address(1), &hello);
    let retry = drain(&mut server, at(0)).remove(0).1;
    let second = with_cookie(&hello, &retry);
    give(&mut server, at(0), address(1), &second);
    assert_eq!(server.sessions.half_open(), 1);
    let before = 20_000 / second.len() - 1;
    for _ in 0..before {
        give(&mut server, at(0), address(1), &second);
        assert_eq!(server.sessions.half_open(), 1);
    }
    give(&mut server, at(0), address(1), &second);
    assert_eq!(server.sessions.half_open(), 0);
    assert_eq!(server.sessions.stats().half_open_failed, 1);
}

#[test]
fn an_idle_session_closes_and_the_peer_learns_it() {
    let (mut client, mut server, _) = open_pair();
    client.machine.outgoing.push_back((SERVER, b"late"));
    carry(&mut client, address(1), &mut server, at(100_000));
    while let Some(due) = server.poll_timeout() {
        assert!(due <= at(220_000), "{due}");
        server.handle_timeout(due);
        if !server.sessions.is_open(address(1)) {
            assert_eq!(due, at(220_000));
        }
    }
    assert!(server.sessions.is_empty());
    carry(&mut server, SERVER, &mut client, at(220_000));
    assert!(client.sessions.is_empty());
    assert_eq!(client.sessions.poll_notice().map(|_| ()), Some(()));
    assert_eq!(client.sessions.poll_notice(), Some(Notice::Closed { remote: SERVER }));
}

#[test]
fn icmp_about_a_hello_counts_if_it_quotes_the_random_and_goes_on_for_two_seconds() {
    let mut client = client(1);
    let hello = drain(&mut client, at(0)).remove(0).1;
    let error = IcmpError::NoListener;
    let report = |client: &mut Host, now, quoted: &[u8]| {
        client.handle_icmp(now, Icmp { local: None, remote: SERVER, error, quoted });
    };
    report(&mut client, at(1), &hello[..40]);
    report(&mut client, at(1), &[22; 80]);
    assert_eq!(client.sessions.stats().icmp_ignored, 2);
    report(&mut client, at(1), &hello[..59]);
    report(&mut client, at(1_900), &hello);
    assert_eq!(client.sessions.poll_notice(), None);
    report(&mut client, at(2_001), &hello);
    let failed = client.sessions.poll_notice();
    assert!(
        matches!(failed, Some(Notice::Failed { failure: Failure::NoListener, .. })),
        "{failed:?}"
    );
    assert!(client.sessions.is_empty());
}

#[test]
fn icmp_about_a_sealed_packet_quotes_it_in_plain_if_it_quotes_ciphertext() {
    let (mut client, _, _) = open_pair();
    client.machine.outgoing.push_back((SERVER, b"a packet in plain of the machine"));
    let sealed = drain(&mut client, at(1)).remove(0).1;
    let error = IcmpError::PacketTooBig { mtu: 1300 };
    let mut forged = sealed.clone();
    forged[20] ^= 1;
    for (quoted, expected) in [(&sealed[..23], 0), (&forged, 0), (&sealed[..24], 1), (&sealed, 2)] {
        client.handle_icmp(at(1), Icmp { local: None, remote: SERVER, error, quoted });
        assert_eq!(client.machine.quoted.len(), expected);
    }
    assert_eq!(client.machine.quoted[0], b"a packet in plain of"[..]);
}

/// The client begins again, as after a crash, with this key.
fn begin_anew(server: &mut Host, seed: u64, now: Instant) -> Host {
    let mut anew = client(seed);
    settle(&mut anew, address(1), server, now);
    anew
}

#[test]
fn a_client_that_lost_its_session_gets_another_at_the_same_address_at_once() {
    let (mut old, mut server, _) = open_pair();
    let mut anew = begin_anew(&mut server, 1, at(10));
    assert!(anew.sessions.is_open(SERVER));
    assert_eq!(server.machine.received.len(), 2);
    assert_eq!(server.sessions.len(), 1, "the new session takes the place of the old one");
    server.machine.outgoing.push_back((address(1), b"answer"));
    carry(&mut server, SERVER, &mut anew, at(11));
    assert_eq!(anew.machine.received, [(SERVER, Bytes::from("answer"))]);
    // Late datagrams of the old session have no effect.
    old.machine.outgoing.push_back((SERVER, b"late"));
    carry(&mut old, address(1), &mut server, at(12));
    assert_eq!(server.machine.received.len(), 2);
}

#[test]
fn another_key_at_the_address_of_a_session_neither_ends_it_nor_gets_its_packets() {
    let (mut first, mut server, _) = open_pair();
    server.sessions.accept(Some(trust(&[1, 3])));
    let mut second = begin_anew(&mut server, 3, at(10));
    assert_eq!(server.sessions.len(), 2);
    let origin = identity(1).fingerprint().origin();
    server.machine.marked.push_back((address(1), b"for the first alone", origin));
    for (_, bytes, _) in drain(&mut server, at(11)) {
        give(&mut second, at(11), SERVER, &bytes);
        give(&mut first, at(11), SERVER, &bytes);
    }
    assert_eq!(second.machine.received, []);
    assert_eq!(first.machine.received, [(SERVER, Bytes::from("for the first alone"))]);
    // Each goes on, and the machine learns who it is.
    first.machine.outgoing.push_back((SERVER, b"still here"));
    carry(&mut first, address(1), &mut server, at(12));
    assert_eq!(
        server.machine.origins,
        [1, 3, 1].map(|key| Some(identity(key).fingerprint().origin()))
    );
}

#[test]
fn a_refused_key_at_the_address_of_a_session_does_not_disturb_it() {
    let (mut first, mut server, _) = open_pair();
    begin_anew(&mut server, 4, at(10));
    first.machine.outgoing.push_back((SERVER, b"still here"));
    carry(&mut first, address(1), &mut server, at(11));
    assert_eq!(server.machine.received.last().unwrap().1, "still here");
    assert_eq!(server.sessions.len(), 1);
}

#[test]
fn a_client_behind_another_port_goes_on_and_copies_of_its_packets_move_nothing() {
    let (mut client, mut server, sent) = open_pair();
    let elsewhere = SocketAddr::new(address(1).ip(), 4444);
    for bytes in &sent {
        give(&mut server, at(1), elsewhere, bytes);
        give(&mut server, at(1), address(2), bytes);
    }
    drain(&mut server, at(1));
    server.machine.outgoing.push_back((address(1), b"to where it was"));
    assert_eq!(drain(&mut server, at(2)).remove(0).0, address(1));
    // Its NAT has given it another port.
    client.machine.outgoing.push_back((SERVER, b"from elsewhere"));
    carry(&mut client, elsewhere, &mut server, at(1_000));
    assert_eq!(server.machine.received.last(), Some(&(elsewhere, Bytes::from("from elsewhere"))));
    assert_eq!(server.sessions.stats().moved, 1);
    server.machine.outgoing.push_back((elsewhere, b"answer"));
    carry(&mut server, SERVER, &mut client, at(1_001));
    assert_eq!(client.machine.received.last(), Some(&(SERVER, Bytes::from("answer"))));
    // Another host cannot move it, whatever it repeats.
    client.machine.outgoing.push_back((SERVER, b"intercepted"));
    let stolen = drain(&mut client, at(2_000)).remove(0).1;
    give(&mut server, at(2_000), address(2), &stolen);
    assert_eq!(server.sessions.stats().moved, 1);
}

#[test]
fn a_server_that_lost_everything_is_asked_anew_once_it_is_silent() {
    let (mut client, mut old, _) = open_pair();
    old.machine.outgoing.push_back((address(1), b"it spoke"));
    carry(&mut old, SERVER, &mut client, at(1));
    let mut anew = super::tests::server(Limits::default());
    for second in 1..=3 {
        client.machine.outgoing.push_back((SERVER, b"are you there?"));
        settle(&mut client, address(1), &mut anew, at(second * 1_000));
    }
    assert_eq!(client.sessions.stats().renewed, 1);
    assert_eq!(client.sessions.len(), 1);
    client.machine.outgoing.push_back((SERVER, b"and now?"));
    settle(&mut client, address(1), &mut anew, at(3_100));
    assert_eq!(anew.machine.received, [(address(1), Bytes::from("and now?"))]);
}

#[test]
fn a_server_that_answers_handshakes_and_no_packet_is_asked_anew_after_times_that_double() {
    let (mut client, mut server, _) = open_pair();
    server.machine.outgoing.push_back((address(1), b"it spoke"));
    carry(&mut server, SERVER, &mut client, at(1));
    let mut anew = Vec::new();
    for tenth in 1..1_000 {
        client.machine.outgoing.push_back((SERVER, b"are you there?"));
        settle(&mut client, address(1), &mut server, at(tenth * 100));
        if client.sessions.stats().renewed > anew.len() as u64 {
            anew.push(tenth / 10);
        }
    }
    // Seconds; each begins with a packet, a tenth later.
    assert_eq!(anew, [1, 3, 7, 15, 32, 64]);
    // Once it speaks, its next silence is asked about as soon as its first.
    server.machine.outgoing.push_back((address(1), b"here I am"));
    carry(&mut server, SERVER, &mut client, at(100_000));
    for tenth in 1_001..1_020 {
        client.machine.outgoing.push_back((SERVER, b"are you there?"));
        settle(&mut client, address(1), &mut server, at(tenth * 100));
    }
    assert_eq!(client.sessions.stats().renewed, 7);
}

#[test]
fn a_packet_for_a_known_host_at_a_further_address_begins_a_session_with_the_same_key() {
    for (key_there, expected) in [(2, 1), (5, 0)] {
        let (mut client, _, _) = open_pair();
        let further = SocketAddr::from(([10, 0, 0, 77], 9899));
        let mut there = host(key_there, Limits::default());
        there.sessions.accept(Some(trust(&[1])));
        let origin = identity(2).fingerprint().origin();
        for round in 1..4 {
            client.machine.marked.push_back((further, b"on another path", origin));
            while carry(&mut client, address(1), &mut there, at(round)) + {
                let sent = drain(&mut there, at(round));
                sent.iter().for_each(|(_, bytes, _)| give(&mut client, at(round), further, bytes));
                sent.len()
            } > 0
            {}
        }
        // The first packet begins the session, and is lost.
        assert_eq!(there.machine.received.len(), 2 * expected);
    }
}

#[test]
fn a_client_that_opens_a_session_and_says_nothing_loses_it_soon() {
    let mut server = server(Limits::default());
    let mut silent = client(1);
    silent.machine.greeting = None;
    settle(&mut silent, address(1), &mut server, at(0));
    assert!(server.sessions.is_open(address(1)));
    while let Some(due) = server.poll_timeout() {
        assert!(due <= at(15_000), "{due}");
        server.handle_timeout(due);
    }
    assert!(server.sessions.is_empty());
}

#[test]
fn one_host_takes_no_more_than_its_share_of_open_sessions() {
    let mut server = server(Limits { per_host: 2, ..Limits::default() });
    for port in 1..=4 {
        let mut client = client(1);
        settle(&mut client, SocketAddr::from(([10, 9, 9, 9], port)), &mut server, at(0));
    }
    assert_eq!((server.sessions.len(), server.sessions.stats().strangers_turned_away), (2, 2));
    let mut elsewhere = client(1);
    settle(&mut elsewhere, address(7), &mut server, at(1));
    assert_eq!(server.sessions.len(), 3);
}

#[test]
fn an_open_session_goes_on_among_others_with_the_same_key_at_most_four_times() {
    let (mut client, mut first, _) = open_pair();
    let mut second = server(Limits::default());
    let origin = identity(1).fingerprint().origin();
    assert!(second.sessions.give_away(at(1), address(1), Some(SERVER)).is_none());
    for _ in 0..4 {
        let migrant = first.sessions.give_away(at(1), address(1), Some(SERVER)).unwrap();
        assert_eq!((first.sessions.len(), first.sessions.sessions_with(origin)), (0, 0));
        assert!(!first.sessions.is_at(address(1), None));
        second.sessions.adopt(at(1), migrant);
        core::mem::swap(&mut first, &mut second);
        assert_eq!((first.sessions.len(), first.sessions.sessions_with(origin)), (1, 1));
        assert!(first.sessions.is_at(address(1), Some(SERVER)));
        let opened = std::iter::from_fn(|| first.sessions.poll_notice()).last();
        assert!(matches!(opened, Some(Notice::Opened { remote, .. }) if remote == address(1)));
        client.machine.outgoing.push_back((SERVER, b"on"));
        carry(&mut client, address(1), &mut first, at(1));
        first.machine.outgoing.push_back((address(1), b"back"));
        carry(&mut first, SERVER, &mut client, at(1));
    }
    assert!(first.sessions.give_away(at(1), address(1), Some(SERVER)).is_none());
    assert!(first.sessions.is_open(address(1)));
    let packets = first.machine.received.len() + second.machine.received.len();
    assert_eq!((packets, client.machine.received.len()), (5, 4));
    assert!(first.poll_timeout().is_some(), "it ends when it is idle");
    assert_eq!(second.poll_timeout(), None);
}

#[test]
fn a_session_that_is_not_open_stays_where_it_is() {
    let mut server = server(Limits::default());
    let mut client = client(1);
    carry(&mut client, address(1), &mut server, at(0));
    carry(&mut server, SERVER, &mut client, at(0));
    carry(&mut client, address(1), &mut server, at(0));
    assert_eq!(server.sessions.half_open(), 1);
    assert!(server.sessions.is_at(address(1), None));
    assert!(server.sessions.give_away(at(0), address(1), None).is_none());
}
