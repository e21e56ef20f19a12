//! A thick stream sees nothing of the thin-stream mechanisms: `thin` and `lksctp`, on which it is
//! based, send the same packets at the same times.
#![expect(clippy::unwrap_used, reason = "a test may fail")]

use std::cell::RefCell;
use std::fmt::Write as _;
use std::rc::Rc;

use base::{Duration, Instant, Rate};
use lab::flow::{Detail, FlowConfig, SourcePlan, TransportOptions};
use lab::observed::GroupMeter;
use lab::world::{Network, World};
use lab::{Arrivals, Limit, Sizes, WorkloadPlan};
use netsim::link::QueueLimit;
use netsim::topology::Directions;
use netsim::{Checker, HostId, LinkConfig, LossModel, Packet};
use recovery::{RecoveryPolicy, TimedEvent};

/// A sender's transcript: packets by time and bytes, and recovery's events.
#[derive(Default)]
struct Transcript {
    packets: Vec<(Instant, bytes::Bytes)>,
    events: Vec<TimedEvent>,
    acknowledgements: usize,
}

impl Checker for Transcript {
    fn on_sent(&mut self, now: Instant, packet: &Packet) {
        match packet.sender {
            HostId(0) => self.packets.push((now, packet.datagram.payload.clone())),
            _ => self.acknowledgements += 1,
        }
    }
}

const MESSAGES: u64 = 3000;
/// The end of the stream, where the flight drains and becomes thin, is not compared.
const COMPARED: usize = 2900;

/// A greedy sender over 10 Mbit/s and 40 ms, from which the packets with these numbers are lost.
fn transcript(name: &str, lost: &[u64]) -> Transcript {
    let mut forward = LinkConfig::with_delay(Duration::from_millis(20));
    forward.rate = Rate::from_bits_per_second(10_000_000);
    forward.queue = QueueLimit::packets(1000);
    forward.loss = LossModel::List(lost.to_vec());
    let backward = LinkConfig::with_delay(Duration::from_millis(20));
    let policy = || RecoveryPolicy::preset(name).unwrap();
    let workload = WorkloadPlan {
        arrivals: Arrivals::Greedy,
        size: Sizes::Constant(1400),
        limit: Limit::Count(MESSAGES),
    };
    let end = Instant::ZERO + Duration::from_secs(600);
    let flow = FlowConfig {
        transport: TransportOptions::sctp(policy(), policy()),
        source: SourcePlan::Messages { workload, streams: 1 },
        start: Instant::ZERO,
        set_up: Duration::from_secs(1),
        detail: Detail::Messages,
        group: Rc::new(RefCell::new(GroupMeter::none(Instant::ZERO..end))),
        extra_rtt: Duration::ZERO,
        hint: None,
        advice: None,
    };
    let network = Network::Pair(Directions { forward, backward });
    let mut world = World::new(&network, &[flow], None, 1).unwrap();
    let log = Rc::clone(&world.flows[0].log);
    log.borrow_mut().keep_steps();
    let transcript = Rc::new(RefCell::new(Transcript::default()));
    world.watch(Rc::clone(&transcript));
    world.run_until(end).unwrap();
    drop(world);
    let mut transcript = transcript.take();
    transcript.events = log.borrow_mut().steps.take().unwrap();
    let delivered = log.borrow().deliveries.as_ref().map_or(0, Vec::len);
    assert_eq!(delivered as u64, MESSAGES, "{name}");
    assert!(transcript.packets.len() >= MESSAGES as usize);
    assert!(transcript.acknowledgements > 1000);
    transcript
}

/// Place at which two transcripts part, with what recovery did just before; none if they do not.
fn first_difference(one: &Transcript, other: &Transcript) -> Option<String> {
    let pairs = one.packets.iter().zip(&other.packets).take(COMPARED);
    let index = pairs.enumerate().find(|(_, (a, b))| a != b)?.0;
    let mut text = format!("packet {index} of the sender differs\n");
    for (name, transcript) in [("one", one), ("other", other)] {
        let (at, bytes) = &transcript.packets[index];
        let _ = writeln!(text, "{name}: {} bytes at {at}, after", bytes.len());
        let before: Vec<_> = transcript.events.iter().filter(|(then, _)| then <= at).collect();
        for (at, event) in before.iter().rev().take(6).rev() {
            let _ = writeln!(text, "    {at} {event:?}");
        }
    }
    Some(text)
}

#[test]
fn a_thick_stream_that_loses_packets_is_the_same_under_thin_and_lksctp() {
    for lost in [&[][..], &[500], &[500, 501, 502], &[400, 600, 605, 900, 1300, 1302, 1304, 2000]] {
        let (thin, lksctp) = (transcript("thin-paper", lost), transcript("lksctp", lost));
        if let Some(difference) = first_difference(&thin, &lksctp) {
            panic!("losing {lost:?}: {difference}");
        }
        let resent = |event: &&TimedEvent| {
            matches!(event.1, recovery::Event::Resent { cause: recovery::Cause::Fast, .. })
        };
        // The losses were there, and fast retransmission repaired them.
        assert_eq!(lksctp.events.iter().filter(resent).count(), lost.len(), "{lost:?}");
    }
}

#[test]
fn the_comparison_notices_when_a_thin_stream_is_treated_differently() {
    // One of the stream's last packets is lost, when the flight is thin.
    let lost = [MESSAGES + 1];
    let (thin, lksctp) = (transcript("thin-paper", &lost), transcript("lksctp", &lost));
    assert_ne!(thin.packets, lksctp.packets);
    assert!(first_difference(&thin, &lksctp).is_none());
}
