//! Our sender to unmodified receivers of others, beside virtual time.

use std::collections::BTreeMap;
use std::net::UdpSocket;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base::Instant;
use interop::{ThinReceiver, Uml};
use lab::Probe;
use lab::plan::FlowsPlan;
use tokio::task::LocalSet;

use crate::case::Case;
use crate::compare::Comparison;
use crate::sockets::{Counts, Flows, Measured, Server};
use crate::through_sockets::{SERVERS, compare};
use crate::{Outcome, Wishes};

/// SCTP port of the first receiver, which the others follow.
const PORT: u16 = 6000;

/// Measures thin flows to usrsctp and to the kernel in a guest; only SCTP's cases.
pub(crate) fn run(cases: &[Case], wishes: &Wishes) -> Outcome<Vec<Comparison>> {
    ThinReceiver::find_usrsctp()?;
    Uml::find()?;
    let mut all = vec![];
    for case in cases.iter().filter(|case| case.name != "tcp") {
        all.push(compare(case, wishes, "usrsctp", to_usrsctp)?);
        // A guest for each case, so that ports are free.
        let guest = Uml::boot_real_time()?;
        let release = guest.shell("uname -r", Duration::from_secs(10))?;
        let release = release.split_whitespace().next().unwrap_or_default();
        all.push(compare(case, wishes, &format!("Linux {release}"), |plan| {
            to_linux(plan, &guest)
        })?);
    }
    Ok(all)
}

fn to_usrsctp(plan: &FlowsPlan) -> Outcome<Vec<Measured>> {
    measure_all(
        |port| Ok(ThinReceiver::usrsctp(port)?),
        |receiver, port, seed| measure(plan, receiver, port, seed),
    )
}

fn to_linux(plan: &FlowsPlan, guest: &Uml) -> Outcome<Vec<Measured>> {
    measure_all(
        |port| Ok(ThinReceiver::linux(guest, port)?),
        |receiver, port, seed| guest.namespace().enter(|| measure(plan, receiver, port, seed))?,
    )
}

/// Measures with all receivers at the same time, each with a link and clients of its own.
fn measure_all(
    start: impl Fn(u16) -> Outcome<ThinReceiver>,
    measure: impl Fn(&ThinReceiver, u16, u64) -> Outcome<Measured> + Sync,
) -> Outcome<Vec<Measured>> {
    let ports = (1..=SERVERS).zip(PORT..);
    let receivers = ports.map(|(seed, port)| Ok((start(port)?, port, seed)));
    let receivers = receivers.collect::<Outcome<Vec<_>>>()?;
    let measure = &measure;
    let runs: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = receivers
            .iter()
            .map(|(receiver, port, seed)| scope.spawn(move || measure(receiver, *port, *seed)))
            .collect();
        threads.into_iter().map(std::thread::ScopedJoinHandle::join).collect()
    });
    runs.into_iter().map(|run| run.map_err(|_| "a run's thread died")?).collect()
}

fn measure(plan: &FlowsPlan, receiver: &ThinReceiver, port: u16, seed: u64) -> Outcome<Measured> {
    let flows = Flows::of(plan)?;
    let told = receiver.told()?;
    let server = Server { at: receiver.address(), sctp_port: Some(port) };
    // Until all clients are done: the receiver may say nothing while they wait for their first
    // answer.
    told.set_read_timeout(Some(Duration::from_millis(200)))?;
    std::thread::scope(|scope| {
        let sending = scope.spawn(move || -> Outcome<Counts> {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(LocalSet::new().run_until(flows.carry(server, seed)))
        });
        let mut latencies = BTreeMap::new();
        let mut last_arrival = std::time::Instant::now();
        while !sending.is_finished() || last_arrival.elapsed() < Duration::from_secs(1) {
            if hear(&told, &mut latencies)? {
                last_arrival = std::time::Instant::now();
            }
        }
        let Counts { sent, late_ms } = sending.join().map_err(|_| "the senders' thread died")??;
        let heard: u64 = latencies.values().sum();
        if heard != sent {
            return Err(format!("{heard} of {sent} messages arrived, seed {seed}").into());
        }
        Ok(Measured { latencies: latencies.into_iter().collect(), late_ms })
    })
}

/// Takes in one message that the receiver reports, if it does so soon.
fn hear(told: &UdpSocket, latencies: &mut BTreeMap<u64, u64>) -> Outcome<bool> {
    use std::io::ErrorKind::{TimedOut, WouldBlock};
    let mut message = [0; 2048];
    let size = match told.recv(&mut message) {
        Ok(size) => size,
        Err(error) if matches!(error.kind(), TimedOut | WouldBlock) => return Ok(false),
        Err(error) => return Err(error.into()),
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_nanos();
    let due = Probe::decode(&message[..size])?.due;
    let latency = Instant::from_nanos(u64::try_from(now)?).since(due);
    *latencies.entry(latency.as_nanos()).or_default() += 1;
    Ok(true)
}
