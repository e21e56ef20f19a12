//! Two sessions over a lossy pipe in virtual time, and a peer that does not keep to the protocol.

use std::collections::BTreeMap;

use base::{Probability, Purpose};

use super::*;
use crate::identity::Identity;
use crate::trust::{PeerList, Refusal};

mod forged;

fn identity(seed: u64) -> Identity {
    Identity::generate(&mut RandomStream::new(seed, Purpose("identity", 0)))
}

fn fast() -> Settings {
    Settings { first_retransmission: Duration::from_millis(150), ..Settings::default() }
}

fn listed(identities: &[&Identity]) -> Trust {
    Trust::Listed(identities.iter().map(|identity| identity.fingerprint()).collect())
}

fn session(settings: Settings, role: Role, own: &Identity, trust: Trust, seed: u64) -> Dtls {
    let context = Context::new(settings, own).unwrap();
    Dtls::new(&context, role, trust, Randomness::Seeded(seed), Instant::ZERO).unwrap()
}

/// A client and a server that know each other.
fn pair(settings: Settings, seed: u64) -> [Dtls; 2] {
    let (client, server) = (identity(1), identity(2));
    [
        session(settings, Role::Client, &client, listed(&[&server]), 2 * seed),
        session(settings, Role::Server, &server, listed(&[&client]), 2 * seed + 1),
    ]
}

fn is_open(session: &Dtls) -> bool {
    matches!(session.state(), State::Open(_))
}

/// Client and server, and the datagrams between them: 50 ms each way, up to as much again if they
/// are reordered.
struct Pipe {
    ends: [Dtls; 2],
    random: RandomStream,
    loss: Probability,
    duplication: Probability,
    jitter: Duration,
    now: Instant,
    under_way: BTreeMap<(Instant, u64), (usize, Bytes)>,
    /// All datagrams sent: when, by which end, and their bytes.
    sent: Vec<(Instant, usize, Bytes)>,
    opened: [Vec<Bytes>; 2],
}

impl Pipe {
    fn new(ends: [Dtls; 2], seed: u64, loss: u64, duplication: u64, jitter: Duration) -> Pipe {
        Pipe {
            ends,
            random: RandomStream::new(seed, Purpose("pipe", 0)),
            loss: Probability::from_ratio(loss, 100),
            duplication: Probability::from_ratio(duplication, 100),
            jitter,
            now: Instant::ZERO,
            under_way: BTreeMap::new(),
            sent: Vec::new(),
            opened: [Vec::new(), Vec::new()],
        }
    }

    fn clean(ends: [Dtls; 2]) -> Pipe {
        Pipe::new(ends, 0, 0, 0, Duration::ZERO)
    }

    fn drain(&mut self) {
        for end in 0..2 {
            while let Some(datagram) = self.ends[end].poll_transmit() {
                self.sent.push((self.now, end, datagram.clone()));
                for copy in 0..2 {
                    let passes = if copy == 0 {
                        !self.random.happens(self.loss)
                    } else {
                        self.random.happens(self.duplication)
                    };
                    let delay = Duration::from_nanos(self.random.below(self.jitter.as_nanos()));
                    if passes {
                        let at = self.now + Duration::from_millis(50) + delay;
                        let number = 2 * self.sent.len() as u64 + copy;
                        self.under_way.insert((at, number), (1 - end, datagram.clone()));
                    }
                }
            }
            while let Some(packet) = self.ends[end].poll_opened() {
                self.opened[end].push(packet);
            }
        }
    }

    /// Next event, not after `until`; false if there is none.
    fn step(&mut self, until: Instant) -> bool {
        self.drain();
        let arrival = self.under_way.keys().next().map(|key| key.0);
        let timer = self.ends.iter().filter_map(Sealer::poll_timeout).min();
        let Some(at) = arrival.into_iter().chain(timer).min().filter(|at| *at <= until) else {
            return false;
        };
        self.now = self.now.max(at);
        if arrival == Some(at) {
            let (_, (to, datagram)) = self.under_way.pop_first().unwrap();
            self.ends[to].handle_datagram(self.now, &datagram);
        } else {
            self.ends.iter_mut().for_each(|end| end.handle_timeout(at));
        }
        self.drain();
        true
    }

    /// Runs for `seconds` or until both ends are open.
    fn handshake(&mut self, seconds: u64) {
        let until = self.now + Duration::from_secs(seconds);
        while !self.ends.iter().all(is_open) && self.step(until) {}
    }

    fn run(&mut self, seconds: u64) {
        let until = self.now + Duration::from_secs(seconds);
        for _ in 0..10_000 {
            if !self.step(until) {
                return;
            }
        }
        panic!("a session asks for time without end");
    }

    fn assert_packets_pass(&mut self) {
        let now = self.now;
        for (end, text) in [(0, b"ping"), (1, b"pong")] {
            self.ends[end].seal(now, text).unwrap();
        }
        self.run(5);
        assert_eq!(self.opened, [vec![Bytes::from("pong")], vec![Bytes::from("ping")]]);
    }
}

#[test]
fn two_ends_prove_their_keys_and_packets_pass_in_every_version() {
    for versions in [Versions::Only13, Versions::Only12, Versions::Either] {
        let mut pipe = Pipe::clean(pair(Settings { versions, ..fast() }, 1));
        pipe.handshake(5);
        for (end, peer) in [(0, identity(2)), (1, identity(1))] {
            let certificate = Bytes::copy_from_slice(peer.certificate());
            let fingerprint = peer.fingerprint();
            let open = State::Open(Peer { fingerprint, certificate, line_to_add: None });
            assert_eq!(*pipe.ends[end].state(), open, "{versions:?}");
        }
        pipe.assert_packets_pass();
    }
}

#[test]
fn the_systems_randomness_does_as_well() {
    let (client, server) = (identity(1), identity(2));
    let with = |own: &Identity, role, trust| {
        let context = Context::new(fast(), own).unwrap();
        Dtls::new(&context, role, trust, Randomness::System, Instant::ZERO).unwrap()
    };
    let ends = [
        with(&client, Role::Client, listed(&[&server])),
        with(&server, Role::Server, listed(&[&client])),
    ];
    let mut pipe = Pipe::clean(ends);
    pipe.handshake(5);
    pipe.assert_packets_pass();
}

#[test]
fn a_handshake_over_a_lossy_pipe_always_finishes() {
    for loss in [0, 10, 20, 30] {
        for seed in 0..25 {
            let mut pipe = Pipe::new(pair(fast(), seed), seed, loss, 10, Duration::from_millis(50));
            pipe.handshake(30);
            assert!(pipe.ends.iter().all(is_open), "loss {loss} %, seed {seed}: {:?}", pipe.ends);
        }
    }
}

#[test]
fn the_same_seed_sends_the_same_bytes_at_the_same_times() {
    let run = |seed| {
        let mut pipe = Pipe::new(pair(fast(), seed), 3, 20, 10, Duration::from_millis(50));
        pipe.handshake(30);
        pipe.sent
    };
    assert_eq!(run(5), run(5));
    assert_ne!(run(5), run(6));
}

#[test]
fn a_peer_with_an_unknown_key_gets_no_further_datagram() {
    let (client, server, stranger) = (identity(1), identity(2), identity(3));
    // The server refuses the client: after the flight that every client with a cookie gets,
    // silence.
    let mut pipe = Pipe::clean([
        session(fast(), Role::Client, &stranger, listed(&[&server]), 1),
        session(fast(), Role::Server, &server, listed(&[&client]), 2),
    ]);
    pipe.run(60);
    let refused = State::Failed(Failure::Refused(Refusal::NotListed(stranger.fingerprint())));
    assert_eq!(*pipe.ends[1].state(), refused);
    let last_of_server = pipe.sent.iter().rfind(|sent| sent.1 == 1).unwrap().0;
    assert_eq!(last_of_server, Instant::from_millis(150));
    // In DTLS 1.3 the client has finished on its own; only silence tells it.
    assert!(is_open(&pipe.ends[0]), "{:?}", pipe.ends[0]);
    // The client refuses the server: its own certificate never leaves.
    let mut pipe = Pipe::clean([
        session(fast(), Role::Client, &client, listed(&[&server]), 1),
        session(fast(), Role::Server, &stranger, listed(&[&client]), 2),
    ]);
    pipe.run(60);
    assert_eq!(*pipe.ends[0].state(), refused);
    assert!(
        pipe.sent.iter().filter(|sent| sent.1 == 0).all(|sent| sent.0 <= Instant::from_millis(100))
    );
    assert!(
        matches!(pipe.ends[1].state(), State::Failed(Failure::TimedOut(_))),
        "{:?}",
        pipe.ends[1]
    );
}

#[test]
fn first_use_tells_what_to_add_only_once_the_key_is_proved() {
    let (client, server) = (identity(1), identity(2));
    let first_use = Trust::FirstUse { name: "host:9".to_owned(), known: PeerList::default() };
    let mut pipe = Pipe::clean([
        session(fast(), Role::Client, &client, first_use, 1),
        session(fast(), Role::Server, &server, listed(&[&client]), 2),
    ]);
    pipe.handshake(5);
    let State::Open(peer) = pipe.ends[0].state() else { panic!("{:?}", pipe.ends[0]) };
    assert_eq!(peer.line_to_add, Some(format!("host:9 {}", server.fingerprint())));
}

#[test]
fn a_certificate_without_its_key_is_worth_nothing() {
    let (client, server, thief) = (identity(1), identity(2), identity(3));
    let stolen = thief.with_certificate(client.certificate().to_vec());
    let mut pipe = Pipe::clean([
        session(fast(), Role::Client, &stolen, listed(&[&server]), 1),
        session(fast(), Role::Server, &server, listed(&[&client]), 2),
    ]);
    pipe.run(5);
    assert!(
        matches!(pipe.ends[1].state(), State::Failed(Failure::Protocol(_))),
        "{:?}",
        pipe.ends[1]
    );
}

#[test]
fn a_pinned_certificate_may_have_expired() {
    let (client, server) = (identity(1), identity(2));
    let mut expired = client.certificate().to_vec();
    let end = expired.windows(4).position(|bytes| bytes == b"9999").unwrap();
    expired[end..end + 4].copy_from_slice(b"1971");
    let client = client.with_certificate(expired);
    let mut pipe = Pipe::clean([
        session(fast(), Role::Client, &client, listed(&[&server]), 1),
        session(fast(), Role::Server, &server, listed(&[&client]), 2),
    ]);
    pipe.handshake(5);
    assert!(is_open(&pipe.ends[1]), "{:?}", pipe.ends[1]);
}

/// A server with a certificate of an authority, good in 2030, and a client that believes the
/// authority, at this time since 1970.
fn certified(epoch: Duration, name: &str) -> Pipe {
    let server = Identity::from_pem(include_str!("../authority/server-P-256.pem")).unwrap();
    let authority = include_str!("../authority/authority-P-256.pem");
    let trust = Trust::from(crate::Authority::for_server(authority, name).unwrap());
    let client = identity(1);
    let settings = Settings { epoch, ..fast() };
    Pipe::clean([
        session(settings, Role::Client, &client, trust, 1),
        session(settings, Role::Server, &server, listed(&[&client]), 2),
    ])
}

#[test]
fn a_certificate_of_an_authority_opens_a_session_in_its_time_and_for_its_name_alone() {
    const YEAR: u64 = 365 * 86_400;
    let june_2030 = Duration::from_secs(1_906_502_400);
    let mut good = certified(june_2030, "game.example");
    good.handshake(5);
    good.assert_packets_pass();
    for (epoch, name, wrong) in [
        (june_2030 - Duration::from_secs(YEAR), "game.example", "not valid yet"),
        (june_2030 + Duration::from_secs(YEAR), "game.example", "expired"),
        (june_2030, "other.example", "it is not for other.example"),
        (Duration::ZERO, "game.example", "not valid yet"),
    ] {
        let mut pipe = certified(epoch, name);
        pipe.run(60);
        let State::Failed(Failure::Refused(Refusal::Certificate { reason, .. })) =
            pipe.ends[0].state()
        else {
            panic!("{:?}", pipe.ends[0])
        };
        assert!(reason.contains(wrong), "{reason}");
        assert!(!is_open(&pipe.ends[1]));
    }
}

#[test]
fn a_certificate_of_any_size_does_not_panic() {
    let (client, server) = (identity(1), identity(2));
    for size in [1_500, 3_000, 8_000, 20_000, 30_000] {
        let large = client.with_common_name(&"x".repeat(size));
        let settings = Settings { mtu: HANDSHAKE_DATAGRAM, ..fast() };
        let context = Context::unchecked(settings, &large, true).unwrap();
        let trust = listed(&[&server]);
        let mut pipe = Pipe::clean([
            Dtls::new(&context, Role::Client, trust, Randomness::Seeded(1), Instant::ZERO).unwrap(),
            session(settings, Role::Server, &server, listed(&[&client]), 2),
        ]);
        pipe.run(60);
        let refused = State::Failed(Failure::Refused(Refusal::NotListed(large.fingerprint())));
        let arrived = *pipe.ends[1].state() == refused;
        assert!(arrived || size > 8_000, "{size}: {:?}", pipe.ends);
        assert!(!is_open(&pipe.ends[1]), "{size}");
    }
}

#[test]
fn ends_of_different_versions_never_open() {
    let (client, server) = (identity(1), identity(2));
    for (ours, theirs) in
        [(Versions::Only13, Versions::Only12), (Versions::Only12, Versions::Only13)]
    {
        let mut pipe = Pipe::clean([
            session(
                Settings { versions: ours, ..fast() },
                Role::Client,
                &client,
                listed(&[&server]),
                1,
            ),
            session(
                Settings { versions: theirs, ..fast() },
                Role::Server,
                &server,
                listed(&[&client]),
                2,
            ),
        ]);
        pipe.run(60);
        assert!(!pipe.ends.iter().any(is_open), "{ours:?} {theirs:?}");
    }
}

#[test]
fn before_the_address_is_proved_a_server_sends_less_than_three_times_what_it_received() {
    for versions in [Versions::Only13, Versions::Only12, Versions::Either] {
        let [mut client, mut server] = pair(Settings { versions, ..fast() }, 1);
        let mut hello = Vec::new();
        while let Some(datagram) = client.poll_transmit() {
            hello.push(datagram);
        }
        let received: usize = hello.iter().map(Bytes::len).sum();
        // The same ClientHello again and again, as one who forges its source sends it; and time
        // passes.
        for round in 0..20_u64 {
            let now = Instant::from_millis(100 * round);
            hello.iter().for_each(|datagram| server.handle_datagram(now, datagram));
            let answers: Vec<Bytes> = std::iter::from_fn(|| server.poll_transmit()).collect();
            let sent: usize = answers.iter().map(Bytes::len).sum();
            assert!(
                sent < 3 * received,
                "{versions:?}, round {round}: {sent} for {received} bytes"
            );
        }
        server.handle_timeout(Instant::from_millis(60_000));
        assert_eq!(server.poll_transmit(), None, "{versions:?}");
    }
}

#[test]
fn replayed_records_are_opened_once() {
    let mut pipe = Pipe::clean(pair(fast(), 1));
    pipe.handshake(5);
    pipe.assert_packets_pass();
    let records: Vec<(usize, Bytes)> =
        pipe.sent.iter().map(|sent| (1 - sent.1, sent.2.clone())).collect();
    for (to, record) in records {
        pipe.ends[to].handle_datagram(pipe.now, &record);
    }
    pipe.run(5);
    assert!(pipe.ends.iter().all(is_open));
    assert_eq!(pipe.opened.each_ref().map(Vec::len), [1, 1]);
}

#[test]
fn reordered_fragments_neither_stop_a_handshake_nor_flood_the_path() {
    for mtu in [150, 200, 300] {
        for seed in 0..25 {
            // Small datagrams: each message of the handshake is in fragments, which arrive out of
            // order.
            let ends = pair(Settings { mtu, ..fast() }, seed);
            let mut pipe = Pipe::new(ends, seed, 0, 0, Duration::from_millis(50));
            let mut steps = 0;
            while !pipe.ends.iter().all(is_open) && pipe.step(Instant::from_millis(30_000)) {
                steps += 1;
                assert!(
                    steps < 500,
                    "mtu {mtu}, seed {seed}: {} datagrams at {:?}",
                    pipe.sent.len(),
                    pipe.now
                );
            }
            assert!(pipe.ends.iter().all(is_open), "mtu {mtu}, seed {seed}: {:?}", pipe.ends);
        }
    }
}

#[test]
fn truncated_copies_of_datagrams_do_not_stop_a_handshake() {
    let mut failed = Vec::new();
    for seed in 0..10 {
        let mut pipe = Pipe::new(pair(fast(), seed), seed, 0, 0, Duration::from_millis(50));
        let mut cut = 0;
        while !pipe.ends.iter().all(is_open) && pipe.step(Instant::from_millis(30_000)) {
            if let Some((to, datagram)) = pipe.under_way.values().next().cloned() {
                cut = (cut + 7) % datagram.len();
                pipe.ends[to].handle_datagram(pipe.now, &datagram[..cut]);
            }
        }
        if !pipe.ends.iter().all(is_open) {
            failed.push(seed);
        }
    }
    assert_eq!(failed, Vec::<u64>::new());
}

#[test]
fn a_forged_alert_does_not_end_a_handshake() {
    // Fatal, handshake_failure, alone and behind a record of another type.
    let alert = [21, 254, 253, 0, 0, 0, 0, 0, 0, 0, 9, 0, 2, 2, 40];
    let behind = [&[20, 254, 253, 0, 0, 0, 0, 0, 0, 0, 8, 0, 1, 1], &alert[..]].concat();
    for forged in [&alert[..], &behind] {
        let mut pipe = Pipe::clean(pair(fast(), 1));
        for end in 0..2 {
            pipe.ends[end].handle_datagram(Instant::ZERO, forged);
        }
        pipe.handshake(5);
        assert!(pipe.ends.iter().all(is_open), "{:?}", pipe.ends);
    }
}

#[test]
fn rubbish_after_the_handshake_changes_nothing() {
    let mut pipe = Pipe::clean(pair(fast(), 1));
    pipe.handshake(5);
    pipe.run(5);
    let mut random = RandomStream::new(9, Purpose("rubbish", 0));
    for round in 0..5_000 {
        let mut bytes = vec![0; random.below(300) as usize];
        random.fill(&mut bytes);
        if let Some(first) = bytes.first_mut().filter(|_| round % 2 == 0) {
            *first = 20 + (*first % 44);
        }
        pipe.ends[round % 2].handle_datagram(pipe.now, &bytes);
    }
    pipe.assert_packets_pass();
}

#[test]
fn random_and_damaged_datagrams_do_not_panic_in_a_handshake() {
    let mut random = RandomStream::new(10, Purpose("damage", 0));
    let mut damaged = 0;
    for versions in [Versions::Only13, Versions::Only12, Versions::Either] {
        for seed in 0..60 {
            let mut pipe = Pipe::clean(pair(Settings { versions, ..fast() }, seed));
            for _ in 0..40 {
                pipe.step(Instant::from_millis(2_000));
                let Some((to, datagram)) = pipe.under_way.values().next().cloned() else {
                    continue;
                };
                let mut bytes = datagram.to_vec();
                for _ in 0..1 + random.below(3) {
                    let at = random.below(bytes.len() as u64) as usize;
                    bytes[at] = random.next_u32() as u8;
                }
                pipe.ends[to].handle_datagram(pipe.now, &bytes);
                damaged += 1;
            }
            assert!(pipe.ends.iter().all(|end| end.outgoing.len() < 100 && end.opened.is_empty()));
        }
    }
    assert!(damaged > 500, "{damaged}");
}

#[test]
fn a_record_adds_22_bytes_and_37_in_dtls_1_2() {
    for (versions, expected) in [(Versions::Only13, 22), (Versions::Only12, RECORD_OVERHEAD)] {
        let mut pipe = Pipe::clean(pair(Settings { versions, ..fast() }, 1));
        pipe.handshake(5);
        pipe.run(5);
        for length in [1, 100, 1_400, 9_000] {
            pipe.ends[0].seal(pipe.now, &vec![7; length]).unwrap();
            assert_eq!(
                pipe.ends[0].poll_transmit().unwrap().len(),
                length + expected,
                "{versions:?}"
            );
            assert_eq!(pipe.ends[0].poll_transmit(), None);
        }
    }
}

#[test]
fn packets_are_refused_before_the_session_opens_and_beyond_a_record() {
    let [mut client, _] = pair(fast(), 1);
    assert_eq!(client.seal(Instant::ZERO, b"early"), Err(NotSealed::NotOpen));
    let mut pipe = Pipe::clean(pair(fast(), 1));
    pipe.handshake(5);
    assert_eq!(
        pipe.ends[0].seal(pipe.now, &[0; RECORD + 1]),
        Err(NotSealed::TooLong { limit: RECORD })
    );
}

#[test]
fn a_close_reaches_the_peer_and_frees_both() {
    let mut pipe = Pipe::clean(pair(fast(), 1));
    pipe.handshake(5);
    pipe.run(5);
    let now = pipe.now;
    pipe.ends[0].close(now);
    pipe.run(5);
    for end in &pipe.ends {
        assert_eq!(
            (end.state(), end.poll_timeout(), end.engine.is_none()),
            (&State::Closed, None, true)
        );
    }
}

#[test]
fn without_an_answer_the_first_retransmission_comes_as_configured_and_the_end_in_time() {
    let [client, _] = pair(fast(), 1);
    let [_, deaf] = pair(fast(), 2);
    let mut pipe = Pipe::new([client, deaf], 1, 100, 0, Duration::ZERO);
    pipe.run(60);
    let first = pipe.sent[1].0.as_nanos();
    assert!((112_500_000..=187_500_000).contains(&first), "150 ms, 25 % either way: {first} ns");
    let failure = State::Failed(Failure::TimedOut(Duration::from_secs(30)));
    assert_eq!(*pipe.ends[0].state(), failure);
}

#[test]
fn settings_out_of_range_are_refused() {
    let identity = identity(1);
    for settings in [
        Settings { mtu: 63, ..fast() },
        Settings { mtu: 2049, ..fast() },
        Settings { first_retransmission: Duration::ZERO, ..fast() },
        Settings { handshake_timeout: Duration::ZERO, ..fast() },
    ] {
        assert!(Context::new(settings, &identity).is_err(), "{settings:?}");
    }
}

/// Median and worst time, in milliseconds, until both ends are open: 200 handshakes over 100 ms of
/// round-trip time.
fn handshake_times(first_retransmission: Duration, loss: u64) -> (u64, u64) {
    let time = |seed| {
        let ends = pair(Settings { first_retransmission, ..fast() }, seed);
        let mut pipe = Pipe::new(ends, seed, loss, 0, Duration::ZERO);
        pipe.handshake(30);
        assert!(pipe.ends.iter().all(is_open), "loss {loss} %, seed {seed}");
        pipe.now.as_nanos() / 1_000_000
    };
    let mut times: Vec<u64> = (0..200).map(time).collect();
    times.sort_unstable();
    (times[100], times[199])
}

#[test]
fn a_lost_datagram_of_the_handshake_costs_what_the_first_retransmission_says() {
    let (early, late) = (Duration::from_millis(150), Duration::from_secs(1));
    for loss in [0, 5, 10] {
        let (early, late) = (handshake_times(early, loss), handshake_times(late, loss));
        println!(
            "loss {loss} %: median and worst {early:?} ms after 150 ms, {late:?} ms after 1 s"
        );
        if loss == 0 {
            assert_eq!((early, late), ((250, 250), (250, 250)));
        } else {
            assert!(2 * early.1 < late.1, "loss {loss} %: {early:?} {late:?}");
        }
    }
}
