//! Agents on stacks in virtual time.

use base::Probability;
use virtual_peers::{DcSctp, SctpProto, StackOptions};

use super::*;
use crate::virtual_run::{self, AnyStack};

fn options(server: bool) -> StackOptions {
    StackOptions {
        remote: if server { virtual_run::CLIENT } else { virtual_run::SERVER },
        server,
        rto: [200, 100, 1_000].map(Duration::from_millis),
        interleaving: false,
        largest_message: 1 << 20,
    }
}

fn dcsctp(server: bool) -> AnyStack {
    Box::new(DcSctp::for_exercise(&options(server)))
}

fn sctp_proto(server: bool) -> AnyStack {
    Box::new(SctpProto::for_exercise(&options(server)))
}

fn run(plan: &EchoPlan, make: fn(bool) -> AnyStack, loss_percent: u64) -> [anyhow::Result<()>; 2] {
    let loss = Probability::from_ratio(loss_percent, 100);
    let ran = virtual_run::run(plan, make(false), make(true), loss, 7, None);
    let (client, server, _) = ran.unwrap();
    [client.check(plan, Part::Client, false), server.check(plan, Part::Server, false)]
}

fn assert_passes(plan: &EchoPlan, make: fn(bool) -> AnyStack, loss_percent: u64) {
    for checked in run(plan, make, loss_percent) {
        checked.unwrap();
    }
}

#[test]
fn messages_of_all_sizes_come_back_through_loss() {
    for make in [dcsctp, sctp_proto] {
        assert_passes(&EchoPlan::graded(40, 1 << 20), make, 0);
        assert_passes(&EchoPlan::graded(100, 3_000), make, 10);
    }
}

#[test]
fn either_side_ends_the_association() {
    for end in [End::ClientShutdown, End::ServerShutdown] {
        let plan = EchoPlan { end, ..EchoPlan::of(5, 100) };
        assert_passes(&plan, dcsctp, 0);
        assert_passes(&plan, sctp_proto, 0);
    }
    for end in [End::ClientAbort, End::ServerAbort] {
        assert_passes(&EchoPlan { end, ..EchoPlan::of(5, 100) }, dcsctp, 0);
    }
}

#[test]
fn lost_messages_are_abandoned_and_the_last_arrives() {
    let reliability = Reliability::Retransmissions(0);
    let plan = EchoPlan { streams: 1, reliability, ..EchoPlan::of(200, 100) };
    let plan = EchoPlan { pace: Some(std::time::Duration::from_millis(5)), ..plan };
    assert_passes(&plan, dcsctp, 10);
    // Without loss nothing is abandoned, and that is noticed.
    let error = run(&plan, dcsctp, 0)[0].as_ref().unwrap_err().to_string();
    assert!(error.contains("nothing was abandoned"), "{error}");
}

#[test]
fn streams_are_reset_by_both_sides_and_go_on() {
    let plan = EchoPlan { reset: Some((10, Reset::EachItsOwn)), ..EchoPlan::of(20, 100) };
    assert_passes(&plan, dcsctp, 0);
}

#[test]
fn an_end_that_the_plan_does_not_say_is_an_error() {
    let aborting = EchoPlan { end: End::ServerAbort, ..EchoPlan::of(5, 100) };
    let loss = Probability::from_ratio(0, 1);
    let ran = virtual_run::run(&aborting, dcsctp(false), dcsctp(true), loss, 7, None);
    let (client, server, _) = ran.unwrap();
    let plan = EchoPlan::of(5, 100);
    let error = client.check(&plan, Part::Client, true).unwrap_err().to_string();
    assert!(error.contains("AbortedByPeer"), "{error}");
    let error = server.check(&plan, Part::Server, false).unwrap_err().to_string();
    assert!(error.contains("Aborted"), "{error}");
}
