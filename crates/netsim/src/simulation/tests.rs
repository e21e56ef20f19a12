use core::cell::Cell;
use std::collections::VecDeque;

use base::{Duration, Ecn, Rate, Transmit};

use super::*;
use crate::checker::Conservation;
use crate::link::{Jitter, LossModel, QueueLimit, Reorder};
use crate::topology::{Directions, Dumbbell, DumbbellConfig, Pair, Placed, dumbbell, pair};

/// Asks for echoes one after the other, again after a timeout; or echoes what it gets.
#[derive(Default)]
struct Toy {
    peer: Option<SocketAddr>,
    from: Option<SocketAddr>,
    /// Questions still to be asked, from the application's timer on.
    left: u64,
    wake: Option<Instant>,
    again: Option<Instant>,
    outgoing: VecDeque<(Option<SocketAddr>, SocketAddr, u64)>,
    /// Time at which each answer came.
    answered: Vec<Instant>,
    answers: VecDeque<u64>,
    sources: Vec<SocketAddr>,
    polled: Cell<u64>,
}

const TIMEOUT: Duration = Duration::from_millis(300);

impl Toy {
    fn asking(peer: &str, questions: u64) -> Toy {
        let wake = Some(Instant::from_millis(1));
        Toy { peer: Some(address(peer)), left: questions, wake, ..Toy::default() }
    }

    fn ask(&mut self, now: Instant) {
        let Some(peer) = self.peer else { return };
        self.again = (self.left > 0).then_some(now + TIMEOUT);
        if self.left > 0 {
            self.outgoing.push_back((self.from, peer, self.left));
        }
    }
}

impl Machine for Toy {
    fn handle_datagram(&mut self, _: Instant, meta: DatagramMeta, datagram: base::Datagram) {
        let number = datagram.head[..8].try_into().map(u64::from_be_bytes).unwrap();
        self.sources.push(meta.remote);
        match self.peer {
            None => self.outgoing.push_back((Some(meta.local), meta.remote, number)),
            Some(_) => self.answers.push_back(number),
        }
    }

    fn handle_icmp(&mut self, _: Instant, _: base::Icmp<'_>) {}

    fn handle_timeout(&mut self, now: Instant) {
        if self.again.is_some_and(|again| again <= now) {
            self.ask(now);
        }
    }

    fn poll_transmit(
        &mut self,
        _: Instant,
        buffer: &mut dyn base::TransmitBuffer,
    ) -> Option<Transmit> {
        let (local, remote, number) = self.outgoing.pop_front()?;
        buffer.head().extend_from_slice(&number.to_be_bytes());
        buffer.head().resize(100, 0);
        let end = buffer.head()[30..].to_vec();
        if let Some(tail) = buffer.tail() {
            *tail = end.into();
            buffer.head().truncate(30);
        }
        Some(Transmit {
            local,
            remote,
            ecn: Ecn::Ect0,
            dont_fragment: false,
            service: base::IpService::default(),
            size: buffer.head().len(),
        })
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.polled.set(self.polled.get() + 1);
        self.again
    }
}

impl Host for Toy {
    fn poll_wake(&self) -> Option<Instant> {
        self.wake
    }

    fn on_wake(&mut self, now: Instant) {
        self.wake = None;
        self.ask(now);
    }

    fn after_input(&mut self, now: Instant) {
        while let Some(number) = self.answers.pop_front() {
            if number == self.left {
                self.left -= 1;
                self.answered.push(now);
                self.ask(now);
            }
        }
    }
}

/// Notes every event as a line of text, so that two runs can be compared.
#[derive(Default, PartialEq, Debug)]
struct Trace(Vec<String>);

impl Checker for Trace {
    fn on_sent(&mut self, now: Instant, packet: &Packet) {
        self.0.push(format!("{now:?} sent {packet:?}"));
    }
    fn on_duplicated(&mut self, now: Instant, number: u64) {
        self.0.push(format!("{now:?} duplicated {number}"));
    }
    fn on_dropped(&mut self, now: Instant, packet: &Packet, cause: DropCause) {
        self.0.push(format!("{now:?} dropped {packet:?} {cause:?}"));
    }
    fn on_delivered(&mut self, now: Instant, packet: &Packet, receiver: HostId) {
        self.0.push(format!("{now:?} delivered {packet:?} {receiver:?}"));
    }
}

/// Causes of all drops, in order.
#[derive(Default)]
struct Drops(Vec<DropCause>);

impl Checker for Drops {
    fn on_dropped(&mut self, _: Instant, _: &Packet, cause: DropCause) {
        self.0.push(cause);
    }
}

/// Adds something up of each packet sent.
struct Sum(usize, fn(&Packet) -> usize);

impl Checker for Sum {
    fn on_sent(&mut self, _: Instant, packet: &Packet) {
        self.0 += (self.1)(packet);
    }
}

fn address(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

const CLIENT: &str = "10.0.0.1:9899";
const SERVER: &str = "10.0.0.2:9899";

fn client_and_server<C: Checker>(
    simulation: &mut Simulation<Toy, C>,
    questions: u64,
    link: LinkConfig,
) -> Pair {
    let client = Placed::at(Toy::asking(SERVER, questions), address(CLIENT));
    let server = Placed::at(Toy::default(), address(SERVER));
    pair(simulation, client, server, &[Directions::both(link)]).unwrap()
}

fn bad_link() -> LinkConfig {
    LinkConfig {
        jitter: Jitter::Exponential { mean: Duration::from_millis(10) },
        allow_reordering: true,
        rate: Rate::from_bits_per_second(1_000_000),
        queue: QueueLimit::packets(5),
        duplicate: "5%".parse().unwrap(),
        reorder: Reorder {
            probability: "5%".parse().unwrap(),
            extra_delay: Duration::from_millis(40),
        },
        blackouts: vec![Instant::from_millis(2_000)..Instant::from_millis(4_000)],
        ..LinkConfig::lossy(Duration::from_millis(50), "10%".parse().unwrap())
    }
}

fn end() -> Instant {
    Instant::from_millis(3_600_000)
}

#[test]
fn an_answer_comes_after_a_round_trip_to_the_nanosecond() {
    let mut simulation = Simulation::new(1);
    // 100 bytes and 28 of headers at 1 Mbit/s take 1.024 ms.
    let link = LinkConfig {
        rate: Rate::from_bits_per_second(1_000_000),
        ..LinkConfig::with_delay(Duration::from_millis(50))
    };
    let pair = client_and_server(&mut simulation, 3, link);
    assert!(simulation.run_until_idle(end()).unwrap());
    let answered = simulation.host(pair.first).answered.iter().map(|at| at.as_nanos());
    assert_eq!(answered.collect::<Vec<_>>(), [103_048_000, 205_096_000, 307_144_000]);
    let forward = simulation.link_statistics(pair.paths[0].forward);
    assert_eq!((forward.delivered.packets, forward.delivered.bytes), (3, 3 * 128));
}

#[test]
fn headers_are_charged_by_address_family_and_encapsulation() {
    let bytes = |client, server| {
        let mut simulation = Simulation::new(1);
        let client = Placed::at(Toy::asking(server, 1), address(client));
        let server = Placed::at(Toy::default(), address(server));
        let links = [Directions::both(LinkConfig::default())];
        let pair = pair(&mut simulation, client, server, &links).unwrap();
        simulation.run_until_idle(end()).unwrap();
        simulation.link_statistics(pair.paths[0].backward).delivered.bytes
    };
    assert_eq!(bytes(CLIENT, SERVER), 128);
    assert_eq!(bytes("10.0.0.1:0", "10.0.0.2:0"), 120);
    assert_eq!(bytes("[fd00::1]:1", "[fd00::2]:1"), 148);
}

#[test]
fn a_lost_question_is_asked_again_after_the_timeout() {
    let mut simulation = Simulation::new(1);
    let loss = LossModel::List(vec![1]);
    let pair = client_and_server(&mut simulation, 1, LinkConfig { loss, ..LinkConfig::default() });
    assert!(!simulation.run_until_idle(Instant::from_millis(300)).unwrap());
    assert_eq!(simulation.host(pair.second).sources.len(), 0);
    // The first answer is lost as well.
    assert!(simulation.run_until_idle(end()).unwrap());
    assert_eq!(simulation.host(pair.first).answered, [Instant::from_millis(601)]);
}

#[test]
fn the_same_seed_gives_the_same_trace_and_another_seed_another() {
    let run = |seed| {
        let mut simulation = Simulation::with_checker(seed, Trace::default());
        client_and_server(&mut simulation, 500, bad_link());
        assert!(simulation.run_until_idle(end()).unwrap());
        simulation.into_checker()
    };
    let first = run(7);
    assert!(first.0.len() > 2_000);
    for word in ["duplicated", "Loss", "Blackout"] {
        assert!(first.0.iter().any(|line| line.contains(word)), "no {word}");
    }
    assert_eq!(first, run(7));
    assert_ne!(first, run(8));
}

#[test]
fn gathered_packets_do_the_same_as_those_in_one_piece_and_are_never_damaged() {
    let run = |gathers, corrupt: &str| {
        let tails = |packet: &Packet| packet.datagram.tail.len();
        let mut simulation = Simulation::with_checker(7, Sum(0, tails));
        simulation.set_gathering(gathers);
        let config = LinkConfig { corrupt: corrupt.parse().unwrap(), ..bad_link() };
        let pair = client_and_server(&mut simulation, 200, config);
        assert!(simulation.run_until_idle(end()).unwrap());
        let answered = simulation.host(pair.first).answered.clone();
        (answered, simulation.link_statistics(pair.paths[0].forward), simulation.checker().0)
    };
    let (whole, gathered) = (run(false, "0"), run(true, "0"));
    assert_eq!((&whole.0, whole.1), (&gathered.0, gathered.1));
    assert_eq!((whole.2, gathered.2 % 70), (0, 0));
    assert!(gathered.2 > 200 * 70);
    assert_eq!(run(true, "5%").2, 0);
}

#[test]
fn a_run_in_pieces_is_the_same_as_in_one() {
    let run = |piece: u64| {
        let mut simulation = Simulation::with_checker(7, Trace::default());
        client_and_server(&mut simulation, 100, bad_link());
        for part in 1..=60_000 / piece {
            simulation.run_until(Instant::from_millis(part * piece)).unwrap();
        }
        assert_eq!(simulation.now(), Instant::from_millis(60_000));
        simulation.into_checker()
    };
    assert_eq!(run(60_000), run(7_500));
    assert_eq!(run(60_000), run(3));
}

#[test]
fn packets_are_conserved_on_bad_links() {
    let mut simulation = Simulation::with_checker(3, Conservation::default());
    let config = LinkConfig { corrupt: "5%".parse().unwrap(), ..bad_link() };
    client_and_server(&mut simulation, 300, config);
    for second in 1..60 {
        simulation.run_until(Instant::from_millis(1_000 * second)).unwrap();
        simulation.verdict().unwrap();
    }
    assert!(simulation.packets_sent() > 300);
}

#[test]
fn a_corrupted_packet_is_marked_and_differs_in_one_bit() {
    struct Corruption(u32, Bytes);
    impl Checker for Corruption {
        fn on_sent(&mut self, _: Instant, packet: &Packet) {
            self.1 = packet.datagram.payload.clone();
        }
        fn on_delivered(&mut self, _: Instant, packet: &Packet, _: HostId) {
            let pairs = self.1.iter().zip(&packet.datagram.payload);
            self.0 += pairs.map(|(sent, got)| (sent ^ got).count_ones()).sum::<u32>();
            assert!(packet.corrupted);
        }
    }
    let checker = Corruption(0, Bytes::new());
    let mut simulation = Simulation::with_checker(3, checker);
    let corrupt = "100%".parse().unwrap();
    client_and_server(&mut simulation, 1, LinkConfig { corrupt, ..LinkConfig::default() });
    simulation.run_until(Instant::from_millis(1)).unwrap();
    assert_eq!(simulation.checker().0, 2, "question and answer");
}

#[test]
fn hosts_to_which_nothing_happens_are_not_polled() {
    let mut simulation = Simulation::new(1);
    let pair = client_and_server(&mut simulation, 1_000, LinkConfig::default());
    let idle = simulation.add_host(Toy::default(), &[address("10.0.0.3:1")]);
    simulation.run_until_idle(end()).unwrap();
    assert_eq!(simulation.host(pair.first).answered.len(), 1_000);
    assert!(simulation.host(idle).polled.get() <= 2);
}

#[test]
fn the_network_does_not_grow_with_the_run() {
    let mut simulation = Simulation::new(1);
    client_and_server(&mut simulation, 20_000, bad_link());
    let mut most = 0;
    let done = |simulation: &Simulation<Toy>| {
        most = most.max(simulation.in_transit());
        false
    };
    simulation.run_until_done(end(), done).unwrap();
    assert!(simulation.packets_sent() > 40_000);
    assert!(most <= 10, "{most}");
}

#[test]
fn an_application_may_act_between_events() {
    let mut simulation = Simulation::new(1);
    let delay = LinkConfig::with_delay(Duration::from_millis(10));
    let pair = client_and_server(&mut simulation, 1, delay);
    simulation.run_until_idle(end()).unwrap();
    let at = Instant::from_millis(500);
    simulation.run_until(at).unwrap();
    simulation.with_host(pair.first, |host, now| {
        host.left = 1;
        host.ask(now);
    });
    let answered = |simulation: &Simulation<Toy>| simulation.host(pair.first).answered.len() == 2;
    assert!(simulation.run_until_done(end(), answered).unwrap());
    assert_eq!(simulation.now(), Instant::from_millis(520));
}

#[test]
fn packets_without_route_or_host_are_dropped_with_their_cause() {
    let mut simulation = Simulation::with_checker(1, (Drops::default(), Conservation::default()));
    simulation.add_host(Toy::asking(SERVER, 1), &[address(CLIENT)]);
    simulation.run_until(Instant::from_millis(10)).unwrap();
    assert_eq!(simulation.checker().0.0, [DropCause::NoRoute]);
    simulation.add_route(address(CLIENT).ip(), address(SERVER).ip(), &[]);
    simulation.run_until(Instant::from_millis(310)).unwrap();
    assert_eq!(simulation.checker().0.0, [DropCause::NoRoute, DropCause::NoHost]);
    simulation.add_route(address(CLIENT).ip(), address(SERVER).ip(), &[LinkId(9)]);
    simulation.run_until(Instant::from_millis(610)).unwrap();
    assert_eq!(simulation.checker().0.0[2..], [DropCause::NoRoute]);
    simulation.verdict().unwrap();
}

#[test]
fn the_source_address_is_the_first_with_a_route_or_the_chosen_one() {
    let other = address("10.1.0.1:9899");
    let run = |peer, from| {
        let mut simulation = Simulation::new(1);
        let client = Toy { from, ..Toy::asking(peer, 1) };
        let client = Placed { host: client, addresses: vec![address(CLIENT), other] };
        let addresses = vec![address(SERVER), address("10.1.0.2:9899")];
        let server = Placed { host: Toy::default(), addresses };
        let links = [Directions::both(LinkConfig::default()), Directions::both(bad_link())];
        let pair = pair(&mut simulation, client, server, &links).unwrap();
        simulation.run_until_idle(Instant::from_millis(150)).unwrap();
        (simulation.host(pair.second).sources.clone(), pair.paths.len())
    };
    assert_eq!(run(SERVER, None), (vec![address(CLIENT)], 2));
    assert_eq!(run("10.1.0.2:9899", None), (vec![other], 2));
    assert_eq!(run("10.1.0.2:9899", Some(other)), (vec![other], 2));
    assert_eq!(run(SERVER, Some(other)), (vec![], 2), "no route between the paths");
}

#[test]
fn after_a_rebinding_answers_go_to_the_new_address_only() {
    let mut simulation = Simulation::with_checker(1, Drops::default());
    let delay = LinkConfig::with_delay(Duration::from_millis(10));
    let pair = client_and_server(&mut simulation, 4, delay);
    let outside = [address("10.0.0.1:40000"), address("10.0.0.1:40001")];
    simulation.translate(pair.first, address(CLIENT), outside[0]);
    // The second question arrives at 31 ms, its answer would at 41 ms.
    simulation.run_until(Instant::from_millis(35)).unwrap();
    simulation.translate(pair.first, address(CLIENT), outside[1]);
    simulation.run_until_idle(end()).unwrap();
    let sources = &simulation.host(pair.second).sources;
    assert_eq!(sources[..2], [outside[0]; 2]);
    assert_eq!(sources[2..], [outside[1]; 3]);
    assert_eq!(simulation.host(pair.first).answered.len(), 4);
    assert_eq!(simulation.checker().0, [DropCause::NoHost]);
}

#[test]
fn time_that_stands_still_is_an_error_and_no_hang() {
    let mut simulation = Simulation::new(1);
    // The timeout is always due.
    let stuck = Toy { again: Some(Instant::ZERO), ..Toy::default() };
    let id = simulation.add_host(stuck, &[address(CLIENT)]);
    let stalled = Stalled { at: Instant::ZERO, host: id };
    assert_eq!(simulation.run_until(end()), Err(stalled));
}

#[test]
fn an_oracle_decides_by_the_content_of_packets() {
    let mut simulation = Simulation::new(1);
    let second = |_: Instant, packet: &Packet| packet.datagram.payload[7] == 2;
    let there = simulation.add_link_with_oracle(LinkConfig::default(), Box::new(second)).unwrap();
    let back = simulation.add_link(LinkConfig::default()).unwrap();
    simulation.add_route(address(CLIENT).ip(), address(SERVER).ip(), &[there]);
    simulation.add_route(address(SERVER).ip(), address(CLIENT).ip(), &[back]);
    let client = simulation.add_host(Toy::asking(SERVER, 3), &[address(CLIENT)]);
    simulation.add_host(Toy::default(), &[address(SERVER)]);
    simulation.run_until_idle(Instant::from_millis(1_000)).unwrap();
    assert_eq!(simulation.host(client).answered.len(), 1);
    assert_eq!(simulation.link_statistics(there).dropped_by_loss.packets, 4);
}

#[test]
fn a_bottleneck_is_shared_by_those_who_cross_it() {
    let mut simulation = Simulation::new(1);
    let clients = (0..20u8).map(|index| {
        let client = SocketAddr::from(([10, 0, 1, index], 9899));
        Placed::at(Toy::asking(SERVER, 10), client)
    });
    let server = vec![Placed::at(Toy::default(), address(SERVER))];
    let config = DumbbellConfig {
        bottleneck: Directions {
            forward: LinkConfig {
                rate: Rate::from_bits_per_second(1_024_000), // 128 bytes a millisecond
                ..LinkConfig::default()
            },
            backward: LinkConfig::default(),
        },
        left_access: Some(Directions::both(LinkConfig::with_delay(Duration::from_millis(3)))),
        right_access: None,
    };
    let Dumbbell { left, bottleneck, .. } =
        dumbbell(&mut simulation, clients.collect(), server, &config).unwrap();
    simulation.run_until_idle(end()).unwrap();
    let answered: Vec<_> = left.iter().map(|id| simulation.host(*id).answered.clone()).collect();
    // All ask at 1 ms and reach the bottleneck at 4 ms, which then serves one each millisecond.
    for (place, answers) in (1..).zip(&answered) {
        assert_eq!(answers[0], Instant::from_millis(4 + place + 3));
    }
    let last = answered.iter().filter_map(|answers| answers.last()).max();
    assert_eq!(last, Some(&Instant::from_millis(4 + 200 + 3)));
    assert_eq!(simulation.link_statistics(bottleneck.forward).delivered.packets, 200);
}

#[test]
fn a_deadline_in_the_far_future_is_none() {
    let mut simulation = Simulation::new(1);
    let sleeper = Toy { again: Some(Instant::FAR_FUTURE), ..Toy::default() };
    simulation.add_host(sleeper, &[address(CLIENT)]);
    assert!(simulation.run_until_idle(Instant::FAR_FUTURE).unwrap());
}

#[test]
fn simulations_may_run_on_any_thread() {
    let run = || {
        let mut simulation = Simulation::with_checker(7, Trace::default());
        client_and_server(&mut simulation, 50, bad_link());
        simulation.run_until_idle(end()).unwrap();
        simulation
    };
    let threads = [0, 1].map(|_| std::thread::spawn(run));
    let here = run().into_checker();
    for thread in threads {
        assert_eq!(thread.join().unwrap().into_checker(), here);
    }
}
