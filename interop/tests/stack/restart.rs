//! Peers that surprise: one that dies without a word and comes back, and one that lists many
//! addresses.

use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use interop::{EchoPlan, Encapsulation, Namespace, Program, available, free_udp_port};
use thinstream::{Association, AssociationError, Bytes, EndpointOptions, Failure, PacketTap};
use tokio::runtime::Runtime;

use crate::ours::{self, runtime};

const LIMIT: Duration = Duration::from_secs(20);

#[test]
fn a_usrsctp_client_that_died_and_came_back_with_its_port_gets_a_new_association() {
    let Some(usrsctp) = available(Program::usrsctp()) else { return };
    let runtime = runtime();
    // What the server still sends to the client that died may reach the new one between its bind
    // and its INIT. That client answers with ABORT, T bit set (RFC 9260, 8.4), rightly, and
    // nothing is left that could restart.
    let restarted = (0..5).any(|_| match first_end_beside_a_second_client(&usrsctp, &runtime) {
        AssociationError::Restarted => true,
        AssociationError::Failed(Failure::Forgotten) => false,
        other => panic!("{other:?}"),
    });
    assert!(restarted, "five times the old association was aborted before the INIT came");
}

/// Kills a client amid its messages and lets another use its ports: the new one is served, and the
/// end of the old one's association is returned.
fn first_end_beside_a_second_client(usrsctp: &Program, runtime: &Runtime) -> AssociationError {
    let server = ours::server_on_loopback(runtime.handle()).unwrap();
    let udp =
        Encapsulation::Udp { local: free_udp_port().unwrap(), remote: server.local_addr().port() };
    let plan =
        |count| EchoPlan { local_port: Some(5_555), limit: LIMIT, ..EchoPlan::of(count, 100) };

    let to = Ipv4Addr::LOCALHOST;
    let first = ours::serve_one(runtime.handle(), &server);
    let victim = usrsctp.start_client(None, to, udp, &plan(1_000_000)).unwrap();
    while server.carrier_statistics().datagrams_received < 100 {
        std::thread::sleep(Duration::from_millis(1));
    }
    drop(victim);
    let second = ours::serve_one(runtime.handle(), &server);
    let report = usrsctp.run_client(None, to, udp, &plan(100)).unwrap();
    report.check(&plan(100)).unwrap();
    let first = ours::within(runtime.handle(), LIMIT, first).unwrap().unwrap().unwrap();
    let second = ours::within(runtime.handle(), LIMIT, second).unwrap().unwrap().unwrap();
    second.check(&plan(100)).unwrap();
    assert!(server.association_count() <= 1, "the first association is still there");
    first.end
}

/// Tap that keeps all datagrams that arrived.
#[derive(Clone, Default)]
struct Arrived(Arc<Mutex<Vec<Bytes>>>);

impl PacketTap for Arrived {
    fn on_sent(&mut self, _now: base::Instant, _transmit: &base::Transmit, _datagram: &[u8]) {}

    fn on_received(&mut self, _now: base::Instant, _meta: &base::DatagramMeta, datagram: &Bytes) {
        self.0.lock().unwrap().push(datagram.clone());
    }
}

/// A namespace with addresses on three interfaces.
fn many_addresses() -> Namespace {
    let namespace = Namespace::new().unwrap();
    for number in 1..=3 {
        namespace.ip(&format!("tuntap add many{number} mode tap")).unwrap();
        namespace.ip(&format!("addr add 10.79.{number}.1/24 dev many{number}")).unwrap();
        namespace.ip(&format!("link set many{number} up")).unwrap();
    }
    namespace
}

#[test]
fn a_usrsctp_peer_that_lists_many_addresses_is_served_at_the_one_it_uses() {
    let Some(usrsctp) = available(Program::usrsctp()) else { return };
    let Some(()) = available(Namespace::find()) else { return };
    let (runtime, namespace) = (runtime(), many_addresses());
    let plan = EchoPlan { unbound: true, limit: LIMIT, ..EchoPlan::graded(200, 20_000) };

    let here = (Ipv4Addr::new(10, 79, 1, 1), 19_899).into();
    let arrived = Arrived::default();
    let options = EndpointOptions { tap: Some(Box::new(arrived.clone())), ..ours::server() };
    let server = ours::bind(runtime.handle(), Some(&namespace), here, options).unwrap();
    let served = ours::serve_one(runtime.handle(), &server);
    let udp = Encapsulation::Udp { local: 9_899, remote: 19_899 };
    let client = usrsctp.run_client(Some(&namespace), Ipv4Addr::new(10, 79, 1, 1), udp, &plan);
    client.unwrap().check(&plan).unwrap();
    let seen = ours::within(runtime.handle(), LIMIT, served).unwrap().unwrap().unwrap();
    seen.check(&plan).unwrap();

    let init = arrived.0.lock().unwrap()[0].clone();
    for number in 1..=3 {
        // An IPv4 Address parameter (RFC 9260, section 3.3.2.1.1).
        let listed = [0, 5, 0, 8, 10, 79, number, 1];
        assert!(init.windows(8).any(|part| part == listed), "10.79.{number}.1 is not in INIT");
    }

    let udp = Encapsulation::Udp { local: 9_899, remote: 0 };
    let any = Ipv4Addr::UNSPECIFIED;
    let server = usrsctp.start_server(Some(&namespace), any, udp, &plan, 1).unwrap();
    let client = namespace
        .enter(|| ours::connect(runtime.handle(), (Ipv4Addr::new(10, 79, 2, 1), 9_899).into()))
        .unwrap();
    let client: Association = client.unwrap();
    let run = ours::run_client(&client, &plan);
    ours::within(runtime.handle(), LIMIT, run).unwrap().unwrap().check(&plan).unwrap();
    server.finish().unwrap()[0].check(&plan).unwrap();
}
