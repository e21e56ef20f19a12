//! A thin stream through the edge while its wire is dark: what is sent again meanwhile is what the
//! policy says.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use apps::edge::ConnectionStatus;
use base::Instant;
use interop::{EDGE_PORT, EdgePlace, Wire, WirePlan, available};
use netsim::LinkConfig;
use recovery::RecoveryPolicy;
use recovery::policy::ThinBackoff;

use super::edge::{LIMIT, Running, greet, is_reset, patient};

const SIZE: usize = 30;
const DELAY: base::Duration = base::Duration::from_millis(65);
/// Beginning of the blackout after the start of the wire: there is time for a few messages before,
/// on a slow machine, too.
const BEGIN: base::Duration = base::Duration::from_secs(6);
const SECONDS: u64 = 5;

/// Actions of the edge during the blackout.
#[derive(Clone, Copy, Debug)]
struct Dark {
    /// The timeout, before it was doubled.
    rto: Duration,
    /// Messages sent again, up to the first that was acknowledged.
    resent: u64,
}

/// Number of retransmissions of a message that leave within `span` of it, if the first `linear`
/// expiries do not double, and no timeout is longer than `longest`.
fn schedule(rto: Duration, linear: u32, longest: Duration, span: Duration) -> u64 {
    let (mut at, mut expiries) = (Duration::ZERO, 0u32);
    loop {
        at += (rto * 2u32.pow(expiries.saturating_sub(linear).min(16))).min(longest);
        if at > span {
            return expiries.into();
        }
        expiries += 1;
    }
}

/// A message of the server, and the client's answer, over and over: one packet is in flight.
fn converse(mut server: TcpStream, mut client: TcpStream, mut go_on: impl FnMut() -> bool) -> u32 {
    let answering = std::thread::spawn(move || {
        let mut message = [0; SIZE];
        while client.read_exact(&mut message).is_ok() {
            client.write_all(&message).unwrap();
        }
    });
    let mut count = 0u32;
    while go_on() {
        let (message, mut back) = ([count as u8; SIZE], [0; SIZE]);
        server.write_all(&message).unwrap();
        server.read_exact(&mut back).unwrap();
        assert_eq!(back, message);
        count += 1;
    }
    drop(server);
    answering.join().unwrap();
    count
}

/// The connection as it stands, in the light or in the dark.
fn look(edge: &Running) -> ConnectionStatus {
    edge.wait("a connection", |seen| seen.status.as_ref()?.connections.first().cloned())
}

fn through_a_blackout(policy: &RecoveryPolicy, linear: u32) -> Dark {
    let begin = Instant::ZERO + BEGIN;
    let link = LinkConfig {
        blackouts: vec![begin..begin + base::Duration::from_secs(SECONDS)],
        ..LinkConfig::with_delay(DELAY)
    };
    let place = EdgePlace::with_way(WirePlan { link, seed: 1 }).unwrap();
    let service = SocketAddr::from(([127, 0, 0, 1], EDGE_PORT));
    let listener = place.far.enter(|| TcpListener::bind(service)).unwrap().unwrap();
    let edge = Running::start(&place.far, service, |options| {
        options.services[0].policy = Arc::new(policy.clone());
    });
    let client = place.connect().unwrap();
    let server = listener.accept().unwrap().0;
    for stream in [&client, &server] {
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        stream.set_nodelay(true).unwrap();
    }
    let dropped = || place.wire.statistics().iter().map(|link| link.dropped().packets).sum::<u64>();
    assert_eq!(dropped(), 0, "everything is set up in the light");
    let (mut before, mut within) = (None, None);
    let told = std::thread::scope(|scope| {
        let watching = scope.spawn(|| {
            while dropped() == 0 {
                before = Some(look(&edge));
                std::thread::sleep(Duration::from_millis(20));
            }
            let expired = before.as_ref().map_or(0, |status| status.timeouts) + 1;
            within = Some(edge.wait("a timeout", |seen| {
                let status = seen.status.as_ref()?.connections.first()?;
                (status.timeouts >= expired).then(|| status.clone())
            }));
        });
        // Some more when it is light again.
        let mut after = 10;
        let told = converse(server, client, || {
            after -= u32::from(dropped() > 0);
            after > 0
        });
        watching.join().unwrap();
        told
    });
    assert!(told > 20, "{told} messages");
    let tally = edge.end().services[0].tally.clone();
    assert_eq!(tally.finished, 1, "{tally:?}");
    let (before, within) = (before.unwrap(), within.unwrap());
    let expired = (within.timeouts - before.timeouts) as u32;
    let doubled = 2u32.pow(expired.saturating_sub(linear));
    Dark {
        rto: Duration::from_secs_f64(within.rto_ms / 1000.0) / doubled,
        resent: (tally.bytes_retransmitted - before.bytes_retransmitted) / SIZE as u64,
    }
}

#[test]
fn a_thin_stream_survives_five_seconds_of_darkness_and_tries_as_often_as_its_policy_says() {
    let Some(()) = available(Wire::find()) else { return };
    let thin = RecoveryPolicy::tcp_thin_rdb();
    assert_eq!(thin.backoff.while_thin, ThinBackoff::LinearFor(6));
    let plain = RecoveryPolicy::tcp_sack();
    assert_eq!(plain.backoff.while_thin, ThinBackoff::Exponential);
    let runs = [(thin, 6), (plain, 0)].map(|(policy, linear)| {
        let longest = policy.rto.max_while_thin.unwrap_or(policy.rto.max);
        let longest = Duration::from_nanos(longest.as_nanos());
        (linear, longest, std::thread::spawn(move || through_a_blackout(&policy, linear)))
    });
    for (linear, longest, run) in runs {
        let dark = run.join().unwrap();
        // The message may have left a round trip before darkness or after, and timers be late. What
        // leaves in the light is one more, unless the client's own retransmission
        // acknowledged the message first.
        let (dark_for, slack) = (Duration::from_secs(SECONDS), Duration::from_millis(700));
        let least = schedule(dark.rto, linear, longest, dark_for - slack);
        let most = schedule(dark.rto, linear, longest, dark_for + slack / 3) + 1;
        assert!((least..=most).contains(&dark.resent), "{dark:?}, not {least} to {most}");
    }
}

#[test]
fn the_schedule_is_that_of_linear_timeouts_with_a_cap() {
    let (rto, minute) = (Duration::from_millis(200), Duration::from_secs(60));
    let at = |linear, millis| schedule(rto, linear, minute, Duration::from_millis(millis));
    let short = |millis| schedule(rto, 6, Duration::from_secs(1), Duration::from_millis(millis));
    assert_eq!([2599, 2600, 3600, 5599, 7399].map(short), [8, 9, 10, 11, 13]);
    assert_eq!(
        [199, 200, 1400, 1799, 1800, 4200, 7399].map(|span| at(6, span)),
        [0, 1, 7, 7, 8, 10, 10]
    );
    assert_eq!([199, 200, 600, 1400, 3000, 6199].map(|span| at(0, span)), [0, 1, 2, 3, 4, 4]);
}

#[test]
fn clients_that_vanish_idle_or_not_are_given_up_after_dead_after_and_their_services_hear_of_it() {
    let Some(()) = available(Wire::find()) else { return };
    let begin = Instant::ZERO + BEGIN;
    let for_ever = begin..begin + base::Duration::from_secs(100_000);
    let link = LinkConfig { blackouts: vec![for_ever], ..LinkConfig::with_delay(DELAY) };
    let place = EdgePlace::with_way(WirePlan { link, seed: 1 }).unwrap();
    let service = SocketAddr::from(([127, 0, 0, 1], EDGE_PORT));
    let listener = place.far.enter(|| TcpListener::bind(service)).unwrap().unwrap();
    let edge = Running::start(&place.far, service, |options| {
        assert_eq!(options.services[0].dead_after, Some(base::Duration::from_secs(30)));
        options.services[0].dead_after = Some(base::Duration::from_secs(1));
    });
    let pair = || {
        let mut client = patient(place.connect().unwrap());
        let mut server = patient(listener.accept().unwrap().0);
        greet(&mut client, &mut server);
        (client, server)
    };
    let ((_idle, mut idle), (_busy, mut busy)) = (pair(), pair());
    let dropped = || place.wire.statistics().iter().map(|link| link.dropped().packets).sum::<u64>();
    assert_eq!(dropped(), 0, "everything is set up in the light");
    // A probe of the idle connection is the first packet that is lost; the other has data for its
    // client from then on.
    while dropped() == 0 {
        std::thread::sleep(Duration::from_millis(10));
    }
    busy.write_all(&[7; SIZE]).unwrap();
    assert!(is_reset(&mut idle) && is_reset(&mut busy));
    assert_eq!(edge.end().services[0].tally.client_lost, 2);
}
