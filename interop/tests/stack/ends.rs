//! Ends that are not peaceful: either side aborts, and the other learns it at once.

use std::net::Ipv4Addr;
use std::time::Duration;

use interop::scenario::kernel_has_no_association;
use interop::{EchoPlan, Encapsulation, End, Impairment, Program, Uml, available, free_udp_port};
use thinstream::{Association, AssociationError, Failure, StreamId};

use crate::ours::{self, runtime};

/// Cause code of a user-initiated abort (RFC 9260, section 3.3.10.12).
const USER_INITIATED_ABORT: u16 = 12;
const LIMIT: Duration = Duration::from_secs(20);

/// A few echoes, with an abort at their end.
fn ending_in_abort() -> EchoPlan {
    EchoPlan { end: End::ClientAbort, limit: LIMIT, ..EchoPlan::of(10, 100) }
}

/// More echoes than any test waits for.
fn endless() -> EchoPlan {
    EchoPlan { limit: LIMIT, ..EchoPlan::of(1_000_000, 100) }
}

/// Echoes some messages, then gives up.
async fn echo_then_abort(association: Association) {
    for _ in 0..10 {
        let message = association.receive().await.unwrap().unwrap();
        association.send(message.stream, message.payload.into_bytes()).await.unwrap();
    }
    association.abort("enough");
    assert_eq!(association.ended().await, AssociationError::Failed(Failure::Aborted));
}

async fn send_then_abort(association: Association) {
    association.send(StreamId(0), "hello").await.unwrap();
    association.receive().await.unwrap().unwrap();
    association.abort("enough");
    assert_eq!(association.ended().await, AssociationError::Failed(Failure::Aborted));
}

fn assert_aborted_by_peer(end: AssociationError) {
    let AssociationError::Failed(Failure::AbortedByPeer { code, .. }) = end else {
        panic!("ended otherwise: {end:?}");
    };
    assert!(matches!(code, 0 | USER_INITIATED_ABORT), "cause {code}");
}

#[test]
fn an_abort_of_a_usrsctp_client_is_seen_here() {
    let Some(usrsctp) = available(Program::usrsctp()) else { return };
    let runtime = runtime();
    let server = ours::server_on_loopback(runtime.handle()).unwrap();
    let served = ours::serve_one(runtime.handle(), &server);
    let remote = server.local_addr().port();
    let udp = Encapsulation::Udp { local: free_udp_port().unwrap(), remote };
    let report = usrsctp.run_client(None, Ipv4Addr::LOCALHOST, udp, &ending_in_abort()).unwrap();
    assert_eq!((report.echoes, report.wrong), (10, 0));
    let seen = ours::within(runtime.handle(), LIMIT, served).unwrap().unwrap().unwrap();
    assert_aborted_by_peer(seen.end);
}

#[test]
fn an_abort_of_ours_is_seen_by_usrsctp_as_client_and_as_server() {
    let Some(usrsctp) = available(Program::usrsctp()) else { return };
    let runtime = runtime();
    let server = ours::server_on_loopback(runtime.handle()).unwrap();
    let remote = server.local_addr().port();
    let serving =
        runtime.spawn(async move { echo_then_abort(server.accept().await.unwrap()).await });
    let udp = Encapsulation::Udp { local: free_udp_port().unwrap(), remote };
    let error = usrsctp.run_client(None, Ipv4Addr::LOCALHOST, udp, &endless()).unwrap_err();
    assert!(format!("{error:#}").contains("communication lost"), "{error:#}");
    ours::within(runtime.handle(), LIMIT, serving).unwrap().unwrap();

    let port = free_udp_port().unwrap();
    let udp = Encapsulation::Udp { local: port, remote: 0 };
    let server = usrsctp.start_server(None, Ipv4Addr::LOCALHOST, udp, &endless(), 1).unwrap();
    let association = ours::connect(runtime.handle(), (Ipv4Addr::LOCALHOST, port).into()).unwrap();
    ours::within(runtime.handle(), LIMIT, send_then_abort(association)).unwrap();
    let error = server.finish().unwrap_err();
    assert!(format!("{error:#}").contains("communication lost"), "{error:#}");
}

#[test]
fn aborts_cross_between_the_kernel_and_us_both_ways() {
    let Some(()) = available(Uml::find()) else { return };
    let (runtime, uml) = (runtime(), Uml::boot().unwrap());
    let server = ours::server_on_loopback(runtime.handle()).unwrap();
    let none = Impairment::none();

    let relay = uml.relay_from_client(server.local_addr(), &none).unwrap();
    let served = ours::serve_one(runtime.handle(), &server);
    let report = uml.run_client(Some(relay.address().port()), &ending_in_abort()).unwrap();
    assert_eq!((report.echoes, report.wrong), (10, 0));
    let seen = ours::within(runtime.handle(), LIMIT, served).unwrap().unwrap().unwrap();
    assert_aborted_by_peer(seen.end);

    let relay = uml.relay_from_client(server.local_addr(), &none).unwrap();
    let serving =
        runtime.spawn(async move { echo_then_abort(server.accept().await.unwrap()).await });
    let error = uml.run_client(Some(relay.address().port()), &endless()).unwrap_err();
    assert!(format!("{error:#}").contains("communication lost"), "{error:#}");
    ours::within(runtime.handle(), LIMIT, serving).unwrap().unwrap();

    let relay = uml.relay_to_server(&none).unwrap();
    let association = ours::connect(runtime.handle(), relay.address()).unwrap();
    ours::within(runtime.handle(), LIMIT, send_then_abort(association)).unwrap();
    kernel_has_no_association(&uml).unwrap();
}
