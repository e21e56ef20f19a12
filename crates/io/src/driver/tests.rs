use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration as StdDuration;

use base::{DatagramMeta, Duration, Ecn, Instant, Transmit};
use bytes::Bytes;

use tokio::sync::Notify;

use super::*;
use crate::clock::Clock;
use crate::udp::UdpCarrier;

/// Sends numbered pings to a peer, each until its pong comes; answers pings with pongs.
#[derive(Default)]
struct PingPong {
    peer: Option<SocketAddr>,
    /// The ping that waits for its pong, and how many more are to follow.
    ping: Option<u32>,
    left: u32,
    outgoing: Vec<(SocketAddr, bool, u32)>,
    /// Time from which on the ping counts as lost.
    timer: Option<Instant>,
    retransmissions: u32,
    /// Received pings, of which each third is ignored.
    pings_seen: u32,
    latest: Instant,
    events: Vec<u32>,
}

impl PingPong {
    const TIMEOUT: Duration = Duration::from_millis(5);

    fn start(&mut self, now: Instant, peer: SocketAddr, count: u32) {
        self.peer = Some(peer);
        self.left = count;
        self.next(now);
    }

    fn next(&mut self, now: Instant) {
        self.ping = self.left.checked_sub(1);
        self.left = self.left.saturating_sub(1);
        self.timer = None;
        if let (Some(ping), Some(peer)) = (self.ping, self.peer) {
            self.outgoing.push((peer, true, ping));
            self.timer = Some(now + Self::TIMEOUT);
        }
    }

    fn see(&mut self, now: Instant) {
        assert!(now >= self.latest, "time went back");
        self.latest = now;
    }
}

impl Machine for PingPong {
    fn handle_datagram(&mut self, now: Instant, meta: DatagramMeta, datagram: base::Datagram) {
        self.see(now);
        assert!(self.outgoing.is_empty(), "not drained before the next input");
        let Ok([kind, number @ ..]) = <[u8; 5]>::try_from(&datagram.head[..]) else { return };
        let number = u32::from_be_bytes(number);
        if kind == 0 {
            self.pings_seen += 1;
            if !self.pings_seen.is_multiple_of(3) {
                self.outgoing.push((meta.remote, false, number));
            }
        } else if self.ping == Some(number) {
            self.events.push(number);
            self.next(now);
        }
    }

    fn handle_icmp(&mut self, _: Instant, _: base::Icmp<'_>) {}

    fn handle_timeout(&mut self, now: Instant) {
        self.see(now);
        if self.timer.is_some_and(|at| at <= now) {
            self.retransmissions += 1;
            self.left += 1;
            self.next(now);
        }
    }

    fn poll_transmit(
        &mut self,
        now: Instant,
        buffer: &mut dyn base::TransmitBuffer,
    ) -> Option<Transmit> {
        self.see(now);
        let (remote, is_ping, number) = self.outgoing.pop()?;
        buffer.head().push(u8::from(!is_ping));
        buffer.head().extend_from_slice(&number.to_be_bytes());
        Some(transmit(remote, 5))
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.timer
    }
}

/// Sends each event of the machine to the test's channel.
struct Events(tokio::sync::mpsc::UnboundedSender<u32>);

impl Hook<PingPong> for Events {
    fn after_input(&mut self, machine: &mut PingPong, _now: Instant) {
        for event in machine.events.drain(..) {
            self.0.send(event).unwrap();
        }
    }
}

fn loopback() -> Arc<UdpCarrier> {
    Arc::new(UdpCarrier::bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap())
}

#[tokio::test]
async fn a_machine_with_a_timer_gets_all_its_answers_over_real_sockets() {
    const PINGS: u32 = 60;
    let clock = Clock::start();
    let (client, server) = (loopback(), loopback());
    let server_address = server.local_addr();
    let ponger = Shared::new(PingPong::default(), clock);
    let ponging = tokio::spawn(run(ponger.clone(), server, |_: &mut PingPong, _: Instant| {}));

    let pinger = Shared::new(PingPong::default(), clock);
    let (sender, mut events) = tokio::sync::mpsc::unbounded_channel();
    let pinging = tokio::spawn(run(pinger.clone(), client.clone(), Events(sender)));

    pinger.call(|machine, now| machine.start(now, server_address, PINGS));
    let wait = async {
        for expected in (0..PINGS).rev() {
            assert_eq!(events.recv().await, Some(expected));
        }
    };
    tokio::time::timeout(StdDuration::from_secs(20), wait).await.expect("pongs are missing");

    let retransmissions = pinger.inspect(|machine| machine.retransmissions);
    assert!(retransmissions >= PINGS / 3 - 1, "a third is lost: {retransmissions}");
    pinger.close();
    ponger.close();
    pinging.await.unwrap().unwrap();
    ponging.await.unwrap().unwrap();
    let statistics = client.statistics();
    assert!(statistics.datagrams_received >= u64::from(PINGS));
    assert_eq!(statistics.datagrams_sent, u64::from(PINGS + retransmissions));
}

/// A datagram of `size` bytes to this address.
fn transmit(remote: SocketAddr, size: usize) -> Transmit {
    let service = base::IpService::default();
    Transmit { local: None, remote, ecn: Ecn::NotEct, dont_fragment: false, service, size }
}

/// Has a number of datagrams of 1000 bytes to send at once.
struct Greedy(u32, SocketAddr);

impl Machine for Greedy {
    fn handle_datagram(&mut self, _: Instant, _: DatagramMeta, _: base::Datagram) {}
    fn handle_icmp(&mut self, _: Instant, _: base::Icmp<'_>) {}

    fn handle_timeout(&mut self, _: Instant) {}
    fn poll_timeout(&self) -> Option<Instant> {
        None
    }
    fn poll_transmit(
        &mut self,
        _: Instant,
        buffer: &mut dyn base::TransmitBuffer,
    ) -> Option<Transmit> {
        self.0 = self.0.checked_sub(1)?;
        let buffer = buffer.head();
        buffer.resize(buffer.len() + 1000, 0);
        Some(transmit(self.1, 1000))
    }
}

#[tokio::test]
async fn closing_sends_what_is_left_even_when_it_is_more_than_the_outbox_holds() {
    let (sender, receiver) = (loopback(), loopback());
    let greedy = Shared::new(Greedy(1_000, receiver.local_addr()), Clock::start());
    greedy.close();
    run(greedy.clone(), sender.clone(), |_: &mut Greedy, _: Instant| {}).await.unwrap();
    assert_eq!(greedy.inspect(|machine| machine.0), 0);
    assert_eq!(sender.statistics().datagrams_sent, 1_000);
}

/// Lets the tasks of this thread run until the driver of `shared` waits.
async fn until_the_driver_waits<M: Machine>(shared: &Shared<M>) {
    while shared.is_driver_awake() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn what_a_call_queues_while_the_driver_waits_leaves_within_the_call() {
    let (sender, receiver) = (loopback(), loopback());
    let greedy = Shared::new(Greedy(1, receiver.local_addr()), Clock::start());
    let driving = tokio::spawn(run(greedy.clone(), sender.clone(), |_: &mut Greedy, _| {}));
    until_the_driver_waits(&greedy).await;
    assert_eq!(sender.statistics().datagrams_sent, 1);
    // The system has told of the socket that it can be written, and no burst is under way.
    tokio::time::sleep(StdDuration::from_millis(1)).await;
    greedy.call(|machine, _| machine.0 = 3);
    assert_eq!(sender.statistics().datagrams_sent, 4, "no task ran in between");
    for _ in 0..100 {
        greedy.call(|machine, _| machine.0 += 1);
    }
    until_the_driver_waits(&greedy).await;
    assert_eq!(sender.statistics().datagrams_sent, 104);
    greedy.post(|machine, _| machine.0 = 1);
    assert_eq!(sender.statistics().datagrams_sent, 104, "the driver sends it");
    until_the_driver_waits(&greedy).await;
    assert_eq!(sender.statistics().datagrams_sent, 105);
    greedy.close();
    driving.await.unwrap().unwrap();
    greedy.call(|machine, _| machine.0 = 1);
    assert_eq!(sender.statistics().datagrams_sent, 105, "a driver that has ended sends no more");
}

/// Tells its application at each look of the hook that it may try again.
#[derive(Default)]
struct Full {
    tells: u32,
}

impl Machine for Full {
    fn handle_datagram(&mut self, _: Instant, _: DatagramMeta, _: base::Datagram) {}
    fn handle_icmp(&mut self, _: Instant, _: base::Icmp<'_>) {}
    fn handle_timeout(&mut self, _: Instant) {}

    fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    fn poll_transmit(&mut self, _: Instant, _: &mut dyn base::TransmitBuffer) -> Option<Transmit> {
        None
    }
}

#[tokio::test]
async fn a_call_that_fails_is_told_to_try_again_by_the_driver_and_not_within_itself() {
    let full = Shared::new(Full::default(), Clock::start());
    let driving = tokio::spawn(run(full.clone(), loopback(), |full: &mut Full, _| full.tells += 1));
    until_the_driver_waits(&full).await;
    let tells = || full.inspect(|full| full.tells);
    let before = tells();
    assert_eq!(full.attempt(|_, _| Err::<(), ()>(())), Err(()));
    assert_eq!(tells(), before, "nothing ran within the call");
    until_the_driver_waits(&full).await;
    assert!(tells() > before);
    let before = tells();
    assert_eq!(full.attempt(|_, _| Ok::<(), ()>(())), Ok(()));
    assert!(tells() > before, "a call that succeeds is seen to at once");
    full.close();
    driving.await.unwrap().unwrap();
}

/// Answers each datagram, and notes how many answers wait when one arrives.
#[derive(Default)]
struct Answering {
    answers: Vec<SocketAddr>,
    waiting: Vec<usize>,
}

impl Machine for Answering {
    fn handle_datagram(&mut self, _: Instant, meta: DatagramMeta, _: base::Datagram) {
        self.waiting.push(self.answers.len());
        self.answers.push(meta.remote);
    }

    fn handle_icmp(&mut self, _: Instant, _: base::Icmp<'_>) {}
    fn handle_timeout(&mut self, _: Instant) {}

    fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    fn poll_transmit(
        &mut self,
        _: Instant,
        buffer: &mut dyn base::TransmitBuffer,
    ) -> Option<Transmit> {
        let remote = self.answers.pop()?;
        buffer.head().push(1);
        Some(transmit(remote, 1))
    }
}

#[test]
fn datagrams_of_different_peers_are_answered_together_and_those_of_one_peer_in_turn() {
    let shared = Shared::new(Answering::default(), Clock::start());
    let mut inbox = RecvBatch::new(1);
    let address = |last: u8| SocketAddr::from(([10, 0, 0, last], 9));
    let (one, many) = ([1, 2, 2, 2, 3].to_vec(), (0..100).collect::<Vec<u8>>());
    for last in one.into_iter().chain(many) {
        let (local, remote) = (address(0), address(last));
        let meta = DatagramMeta { local, remote, ecn: Ecn::NotEct, origin: None };
        inbox.push_datagram(meta, Bytes::from_static(b"x").into());
    }
    assert!(shared.feed(&mut inbox) && !inbox.has_any());
    let waiting = shared.inspect(|machine| machine.waiting.clone());
    assert_eq!(waiting[..7], [0, 1, 0, 0, 1, 2, 3]);
    assert_eq!(waiting.iter().max(), Some(&63));
    let mut sending = Outbox::default();
    assert_eq!(shared.next(&mut sending), shared::Next::Send);
    assert_eq!(sending.transmits.len(), 105);
    sending.clear();
    assert_eq!(shared.next(&mut sending), shared::Next::Wait);
}

/// Gives its machine what lies in a mailbox.
struct Mail(Arc<std::sync::Mutex<Vec<SocketAddr>>>);

impl Hook<Answering> for Mail {
    fn after_input(&mut self, _: &mut Answering, _: Instant) {}

    fn take_input(&mut self, machine: &mut Answering, now: Instant) -> bool {
        let Some(remote) = self.0.lock().unwrap().pop() else { return false };
        let meta = DatagramMeta { local: remote, remote, ecn: Ecn::NotEct, origin: None };
        machine.handle_datagram(now, meta, Bytes::from_static(b"x").into());
        true
    }
}

#[tokio::test]
async fn a_driver_that_is_woken_takes_input_that_came_by_another_way_and_answers_each() {
    const INPUTS: usize = 200;
    let (mail, wake) = (Arc::<std::sync::Mutex<Vec<_>>>::default(), Arc::new(Notify::new()));
    let shared = Shared::woken_by(Answering::default(), Clock::start(), Arc::clone(&wake));
    let (carrier, peer) = (loopback(), loopback());
    let driving = tokio::spawn(run(shared.clone(), carrier, Mail(Arc::clone(&mail))));
    until_the_driver_waits(&shared).await;
    // More than the driver takes in one go.
    mail.lock().unwrap().extend([peer.local_addr(); INPUTS]);
    wake.notify_one();
    let mut batch = RecvBatch::new(4);
    let mut answers = 0;
    let wait = async {
        while answers < INPUTS {
            peer.recv(&mut batch).await.unwrap();
            answers += batch.drain().count();
        }
    };
    tokio::time::timeout(StdDuration::from_secs(20), wait).await.expect("answers are missing");
    assert_eq!(shared.inspect(|machine| machine.waiting.clone()), [0; INPUTS]);
    shared.close();
    driving.await.unwrap().unwrap();
}

/// A carrier that gives what the test puts into it: datagrams, and pure acknowledgements with the
/// time that they have waited.
#[derive(Default)]
struct Prepared {
    loud: std::sync::Mutex<Vec<SocketAddr>>,
    acks: std::sync::Mutex<Vec<(Duration, SocketAddr)>>,
    wakes: std::sync::atomic::AtomicBool,
    sent: std::sync::atomic::AtomicUsize,
    task: std::sync::Mutex<Option<std::task::Waker>>,
}

impl Prepared {
    fn meta(remote: SocketAddr) -> DatagramMeta {
        DatagramMeta { local: remote, remote, ecn: Ecn::NotEct, origin: None }
    }

    fn push(&self, remote: SocketAddr) {
        self.loud.lock().unwrap().push(remote);
        self.wake();
    }

    fn push_ack(&self, waited: Duration, remote: SocketAddr) {
        self.acks.lock().unwrap().push((waited, remote));
        if self.is_woken_by_acks() {
            self.wake();
        }
    }

    fn wake(&self) {
        if let Some(task) = self.task.lock().unwrap().take() {
            task.wake();
        }
    }

    fn is_woken_by_acks(&self) -> bool {
        self.wakes.load(std::sync::atomic::Ordering::Relaxed)
    }

    fn sent(&self) -> usize {
        self.sent.load(std::sync::atomic::Ordering::Relaxed)
    }
}

impl Carrier for Prepared {
    fn local_addr(&self) -> SocketAddr {
        ([10, 0, 0, 9], 9).into()
    }

    async fn send(&self, transmits: &[Transmit], buffer: &[u8]) {
        self.try_send(transmits, buffer);
    }

    fn try_send(&self, transmits: &[Transmit], _: &[u8]) -> usize {
        self.sent.fetch_add(transmits.len(), std::sync::atomic::Ordering::Relaxed);
        transmits.len()
    }

    fn poll_readable(&self, context: &mut std::task::Context<'_>) -> Poll<io::Result<()>> {
        *self.task.lock().unwrap() = Some(context.waker().clone());
        match self.loud.lock().unwrap().is_empty() {
            true => Poll::Pending,
            false => Poll::Ready(Ok(())),
        }
    }

    fn try_recv(&self, batch: &mut RecvBatch) -> io::Result<()> {
        for remote in self.loud.lock().unwrap().drain(..) {
            batch.push_datagram(Prepared::meta(remote), Bytes::from_static(b"data").into());
        }
        Ok(())
    }

    fn separates_acks(&self) -> bool {
        true
    }

    fn wake_on_acks(&self, wakes: bool) {
        self.wakes.store(wakes, std::sync::atomic::Ordering::Relaxed);
    }

    fn poll_acks(&self, _: &mut std::task::Context<'_>) -> Poll<()> {
        match self.is_woken_by_acks() && !self.acks.lock().unwrap().is_empty() {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }

    fn try_recv_acks(&self, batch: &mut RecvBatch) {
        for (waited, remote) in self.acks.lock().unwrap().drain(..) {
            batch.push_ack(waited, Prepared::meta(remote), Bytes::from_static(b"ack"));
        }
    }

    fn statistics(&self) -> crate::CarrierStatistics {
        crate::CarrierStatistics::default()
    }
}

/// Notes each input with its time.
#[derive(Default)]
struct Noting {
    inputs: Vec<(&'static str, Instant)>,
    timer: Option<Instant>,
    sends: Vec<SocketAddr>,
    is_impatient: bool,
}

impl Machine for Noting {
    fn handle_datagram(&mut self, now: Instant, _: DatagramMeta, datagram: base::Datagram) {
        let kind = if datagram.head == b"ack"[..] { "ack" } else { "data" };
        assert!(self.inputs.last().is_none_or(|(_, at)| *at <= now), "time went back");
        self.inputs.push((kind, now));
    }

    fn handle_icmp(&mut self, _: Instant, _: base::Icmp<'_>) {}

    fn handle_timeout(&mut self, now: Instant) {
        if self.timer.take_if(|at| *at <= now).is_some() {
            self.inputs.push(("timeout", now));
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.timer
    }

    fn poll_transmit(
        &mut self,
        _: Instant,
        buffer: &mut dyn base::TransmitBuffer,
    ) -> Option<Transmit> {
        let remote = self.sends.pop()?;
        buffer.head().push(1);
        Some(transmit(remote, 1))
    }
}

struct NotingHook;

impl Hook<Noting> for NotingHook {
    fn after_input(&mut self, _: &mut Noting, _: Instant) {}

    fn awaits_acknowledgements(&self, machine: &Noting) -> bool {
        machine.is_impatient
    }
}

type NotingDriver = tokio::task::JoinHandle<io::Result<()>>;

/// A driver that waits, and has just read the pure acknowledgements.
async fn noting() -> (Arc<Shared<Noting>>, Arc<Prepared>, NotingDriver) {
    let shared = Shared::new(Noting::default(), Clock::start());
    let carrier = Arc::new(Prepared::default());
    let driving = tokio::spawn(run(shared.clone(), carrier.clone(), NotingHook));
    until_the_driver_waits(&shared).await;
    (shared, carrier, driving)
}

fn kinds(shared: &Shared<Noting>) -> Vec<&'static str> {
    shared.inspect(|machine| machine.inputs.iter().map(|(kind, _)| *kind).collect())
}

const PEER: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), 9);

#[tokio::test]
async fn a_pure_acknowledgement_waits_for_the_timer_and_comes_before_it_as_of_its_arrival() {
    let (shared, carrier, driving) = noting().await;
    let due = shared.clock().now() + Duration::from_millis(30);
    let called = shared.call(|machine, now| {
        machine.timer = Some(due);
        now
    });
    // Longer than since the call, before which the machine was told of nothing.
    carrier.push_ack(Duration::from_secs(1000), PEER);
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    assert!(kinds(&shared).is_empty(), "it woke no task");
    let rung = async {
        while kinds(&shared).len() < 2 {
            tokio::time::sleep(StdDuration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(StdDuration::from_secs(20), rung).await.unwrap();
    assert_eq!(kinds(&shared), ["ack", "timeout"]);
    assert_eq!(shared.inspect(|machine| machine.inputs[0].1), called);
    shared.close();
    driving.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_pure_acknowledgement_is_known_before_a_datagram_of_a_peer_that_was_sent_something() {
    let (shared, carrier, driving) = noting().await;
    tokio::time::sleep(StdDuration::from_millis(1)).await;
    shared.call(|machine, _| machine.sends.push(PEER));
    assert_eq!(carrier.sent(), 1, "it left within the call");
    carrier.push_ack(Duration::ZERO, PEER);
    carrier.push(PEER);
    until_the_driver_waits(&shared).await;
    while kinds(&shared).len() < 2 {
        tokio::task::yield_now().await;
    }
    assert_eq!(kinds(&shared), ["ack", "data"]);
    shared.close();
    driving.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_call_that_sends_and_one_that_looks_know_of_what_arrived_a_while_ago() {
    let (shared, carrier, driving) = noting().await;
    let pause = || tokio::time::sleep(StdDuration::from_millis(2));
    let exchange = async || {
        pause().await;
        shared.call(|machine, _| machine.sends.push(PEER));
        carrier.push_ack(Duration::ZERO, PEER);
        pause().await;
    };
    exchange().await;
    assert_eq!(shared.attempt(|machine, _| Ok::<_, ()>(machine.inputs.len())), Ok(1));
    exchange().await;
    assert_eq!(shared.inspect_present(|machine| machine.inputs.len()), 2);
    shared.close();
    driving.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_machine_that_waits_for_acknowledgements_gets_each_at_once() {
    let (shared, carrier, driving) = noting().await;
    assert!(!carrier.is_woken_by_acks());
    shared.call(|machine, _| machine.is_impatient = true);
    until_the_driver_waits(&shared).await;
    assert!(carrier.is_woken_by_acks());
    carrier.push_ack(Duration::ZERO, PEER);
    while kinds(&shared).is_empty() {
        tokio::task::yield_now().await;
    }
    shared.call(|machine, _| machine.is_impatient = false);
    // Patient for long enough, acknowledgements wake the driver no more.
    tokio::time::sleep(StdDuration::from_millis(150)).await;
    carrier.push(PEER);
    let over = async {
        while carrier.is_woken_by_acks() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(StdDuration::from_secs(20), over).await.unwrap();
    shared.close();
    driving.await.unwrap().unwrap();
}
