//! One event over the kernel and in virtual time.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};

use base::{Duration, Instant, Probability};
use interop::{ThinFlows, Uml};
use lab::flow::{
    self, Addresses, Detail, FlowConfig, FlowHost, Made, SourcePlan, TransportOptions,
};
use lab::observed::GroupMeter;
use lab::peers::RoundTrips;
use lab::plan::{FlowsPlan, TransportText};
use lab::policy_text::TransportName;
use lab::{Limit, WorkloadPlan};
use netsim::{Checker, DropCause, LinkConfig, LinkId, LossModel, Packet, Simulation};

use crate::case::Case;
use crate::ladder::{self, Event, Reader, Step};
use crate::{Outcome, Wishes};

/// Flows in which all events occur, as far as the guest can capture them, and for how many seconds.
const FLOWS: [(&str, u32); 2] = [("sctp", 40), ("tcp", 8)];
const SECONDS: u64 = 60;

/// Prints each event of each case on both sides.
pub(crate) fn run(cases: &[Case], wishes: &Wishes) -> Outcome<()> {
    Uml::find()?;
    let guest = Uml::boot_real_time()?;
    for case in cases {
        let (_, flows) = *FLOWS.iter().find(|(name, _)| *name == case.name).unwrap_or(&FLOWS[0]);
        let seconds = wishes.seconds.unwrap_or(SECONDS);
        let flows = case.thin_flows(wishes.flows.unwrap_or(flows), seconds)?;
        let crossings = guest.capture_thin_flows(&flows)?;
        let seen = ladder::flows(&crossings, flows.transport, flows.size);
        // An event takes several messages, but others must not come too often in between.
        let span = flows.interval * if case.name == "tcp" { 20 } else { 9 };
        for event in Event::ALL {
            let Some(real) = ladder::find(&seen, event, span) else {
                println!("{}: {} did not occur\n", case.name, event.title());
                continue;
            };
            println!("{}: {}\n", case.name, event.title());
            ladder::print_event("the kernel", real);
            ladder::print_event("virtual time", &simulated(&case.flows, &flows, real)?);
        }
        if let Some(real) = ladder::find_held(&seen) {
            println!("{}: messages wait, though nothing is lost\n", case.name);
            ladder::print("the kernel", real);
            let lossy = (1..=u64::from(flows.flows)).map(|seed| lossy(&case.flows, &flows, seed));
            match ladder::find_held(&lossy.collect::<Outcome<Vec<_>>>()?) {
                Some(virtual_time) => ladder::print("virtual time", virtual_time),
                None => println!("virtual time: did not occur\n"),
            }
        }
    }
    Ok(())
}

/// Fates of packets from the lost message on, by direction.
struct Fates {
    forward: Vec<bool>,
    backward: Vec<bool>,
}

/// Time at which the message is due that is lost here.
const LOST_AT: Duration = Duration::from_secs(20);

/// Runs the flow in virtual time, where a message and what follows it have the fates of the real
/// run; from that message on.
fn simulated(plan: &FlowsPlan, flows: &ThinFlows, real: &[Step]) -> Outcome<Vec<Step>> {
    let fates =
        |forward| real.iter().filter(move |step| step.forward == forward).map(|step| step.lost);
    let fates = Fates { forward: fates(true).collect(), backward: fates(false).collect() };
    let begun = Arc::new(Mutex::new(false));
    let add = |sim: &mut Simulation<FlowHost, Watcher>, link: LinkConfig| -> Outcome<[LinkId; 2]> {
        let forward = {
            let (begun, mut next) = (Arc::clone(&begun), fates.forward.into_iter());
            let lost = move |now: Instant, _: &Packet| {
                let mut begun = begun.lock().unwrap_or_else(PoisonError::into_inner);
                *begun |= now >= Instant::ZERO + LOST_AT;
                *begun && next.next().unwrap_or(false)
            };
            sim.add_link_with_oracle(link.clone(), Box::new(lost))?
        };
        let mut next = fates.backward.into_iter();
        let lost = move |_: Instant, _: &Packet| {
            let begun = *begun.lock().unwrap_or_else(PoisonError::into_inner);
            begun && next.next().unwrap_or(false)
        };
        Ok([forward, sim.add_link_with_oracle(link, Box::new(lost))?])
    };
    let mut steps = conversation(plan, flows, 1, LOST_AT + Duration::from_secs(10), add)?;
    let lost = steps.iter().position(|step: &Step| step.lost);
    let later = || steps.partition_point(|step| step.at < LOST_AT.into());
    let start = lost.unwrap_or_else(later);
    Ok(steps.split_off(start))
}

/// Runs the flow in virtual time over links with the same loss.
fn lossy(plan: &FlowsPlan, flows: &ThinFlows, seed: u64) -> Outcome<Vec<Step>> {
    let loss = LossModel::Bernoulli(Probability::from_ratio(flows.loss_percent.into(), 100));
    let add = |sim: &mut Simulation<FlowHost, Watcher>, link: LinkConfig| -> Outcome<[LinkId; 2]> {
        let link = LinkConfig { loss, ..link };
        Ok([sim.add_link(link.clone())?, sim.add_link(link)?])
    };
    conversation(plan, flows, seed, Duration::from_secs(SECONDS), add)
}

/// Packets between both ends of the flow until then, over the two links that `add` makes, there and
/// back.
fn conversation(
    plan: &FlowsPlan,
    flows: &ThinFlows,
    seed: u64,
    until: Duration,
    add: impl FnOnce(&mut Simulation<FlowHost, Watcher>, LinkConfig) -> Outcome<[LinkId; 2]>,
) -> Outcome<Vec<Step>> {
    let mut sim = Simulation::with_checker(seed, Watcher::default());
    let [forward, backward] = add(&mut sim, LinkConfig::with_delay(flows.delay.into()))?;
    let at: [SocketAddr; 2] = ["10.0.0.1:0".parse()?, "10.0.0.2:0".parse()?];
    let link = LinkConfig::with_delay(flows.delay.into());
    let round_trips = RoundTrips::over(&[&link, &link], base::Duration::ZERO);
    let addresses = Addresses { sender: vec![at[0]], receiver: vec![at[1]], round_trips };
    let Made { sender, receiver, .. } = flow::make(&config(plan)?, 0, 1, &addresses)?;
    sim.add_route(at[0].ip(), at[1].ip(), &[forward]);
    sim.add_route(at[1].ip(), at[0].ip(), &[backward]);
    sim.add_host(sender, &at[..1]);
    sim.add_host(receiver, &at[1..]);
    sim.run_until(Instant::ZERO + until)?;
    let mut reader = Reader::new(flows.transport, flows.size);
    let mut steps = vec![];
    for SentPacket { at, forward, lost, bytes } in sim.into_checker().seen {
        steps.extend(reader.read(at.since(Instant::ZERO).into(), forward, lost, bytes));
    }
    Ok(steps)
}

fn config(plan: &FlowsPlan) -> Outcome<FlowConfig> {
    let section = plan.flows.first().ok_or("no flow")?;
    let TransportText::Own(transport) = section.transport else {
        return Err("the kernel has SCTP and TCP only".into());
    };
    let policy = section.policy.build(transport)?;
    let receiver = section.receiver.policy(&policy)?;
    let workload = WorkloadPlan {
        arrivals: section.workload.drawn().ok_or("arrivals follow no rule")?,
        size: section.workload.size.ok_or("no size")?.0,
        limit: Limit::Unlimited,
    };
    let window = Instant::ZERO..Instant::ZERO + Duration::MAX;
    Ok(FlowConfig {
        transport: match transport {
            TransportName::Sctp => TransportOptions::sctp(policy, receiver),
            TransportName::Tcp => TransportOptions::tcp(policy, receiver),
        },
        source: SourcePlan::Messages { workload, streams: 1 },
        start: Instant::ZERO,
        set_up: Duration::from_secs(1),
        detail: Detail::Bytes,
        group: Rc::new(RefCell::new(GroupMeter::none(window))),
        extra_rtt: Duration::ZERO,
        hint: None,
        advice: None,
    })
}

/// Writes down what leaves, and what of it is lost.
#[derive(Default)]
struct Watcher {
    seen: Vec<SentPacket>,
}

struct SentPacket {
    at: Instant,
    forward: bool,
    lost: bool,
    bytes: bytes::Bytes,
}

impl Checker for Watcher {
    fn on_sent(&mut self, now: Instant, packet: &Packet) {
        // The sender of messages is the first host.
        let (forward, bytes) = (packet.sender.0 == 0, packet.datagram.payload.clone());
        self.seen.push(SentPacket { at: now, forward, lost: false, bytes });
    }

    /// A link decides as soon as it gets a packet: it is the last one that left.
    fn on_dropped(&mut self, _: Instant, _: &Packet, _: DropCause) {
        if let Some(last) = self.seen.last_mut() {
            last.lost = true;
        }
    }
}
