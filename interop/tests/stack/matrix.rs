//! The matrix: both peers, both roles, both carriers, with and without loss; every byte intact, every
//! shutdown clean, every packet well-formed.

use interop::scenario::kernel_has_no_association;
use interop::{EchoPlan, Namespace, Program, Tshark, Uml, available};
use thinstream::{Carrier, RecoveryPolicy};

use crate::cell::{Cell, Peer, Role, run_all};
use crate::ours::runtime;

/// 500 messages of 1 B to 100 kB.
fn without_loss() -> EchoPlan {
    let plan = EchoPlan::graded(500, 100_000);
    EchoPlan { limit: std::time::Duration::from_secs(120), ..plan }
}

/// 500 messages of up to 1 kB and one of 100 kB.
fn with_loss() -> EchoPlan {
    EchoPlan::graded(500, 1_000).and_one_of(100_000).with_fast_timers()
}

/// Both roles over both carriers (raw IP where the process has the right) with the default policy, and
/// one each by the book.
fn cells(peer: Peer<'_>, loss_percent: u32, plan: EchoPlan, few: EchoPlan) -> Vec<Cell<'_>> {
    let mut carriers = vec![Carrier::Udp];
    if let Some(()) = available(Namespace::find()) {
        carriers.push(Carrier::RawIp);
    }
    let thin = ("thin", RecoveryPolicy::thin());
    let rfc = ("rfc", RecoveryPolicy::rfc());
    let mut cells = vec![];
    let mut add = |role, carrier, policy, plan| {
        let number = cells.len() as u8;
        cells.push(Cell { peer, role, carrier, policy, loss_percent, plan, number });
    };
    for role in [Role::Client, Role::Server] {
        for carrier in &carriers {
            add(role, *carrier, thin.clone(), plan.clone());
        }
        add(role, Carrier::Udp, rfc.clone(), few.clone());
    }
    cells
}

#[test]
fn usrsctp_gets_every_byte_and_a_clean_shutdown_without_loss() {
    let Some(usrsctp) = available(Program::usrsctp()) else { return };
    let tshark = available(Tshark::find());
    let runtime = runtime();
    let few = EchoPlan::graded(200, 100_000);
    let cells = cells(Peer::Usrsctp(&usrsctp), 0, without_loss(), few);
    run_all(&cells, runtime.handle(), tshark.as_ref());
}

#[test]
fn usrsctp_gets_every_byte_and_a_clean_shutdown_through_ten_percent_loss() {
    let Some(usrsctp) = available(Program::usrsctp()) else { return };
    let tshark = available(Tshark::find());
    let runtime = runtime();
    let few = EchoPlan::graded(60, 1_000).with_fast_timers();
    let cells = cells(Peer::Usrsctp(&usrsctp), 10, with_loss(), few);
    run_all(&cells, runtime.handle(), tshark.as_ref());
}

#[test]
fn the_kernel_gets_every_byte_and_a_clean_shutdown_without_loss() {
    let Some(()) = available(Uml::find()) else { return };
    let tshark = available(Tshark::find());
    let (runtime, uml) = (runtime(), Uml::boot().unwrap());
    let few = EchoPlan::graded(100, 100_000);
    let cells = cells(Peer::Kernel(&uml), 0, without_loss(), few);
    run_all(&cells, runtime.handle(), tshark.as_ref());
    kernel_has_no_association(&uml).unwrap();
}

#[test]
fn the_kernel_gets_every_byte_and_a_clean_shutdown_through_ten_percent_loss() {
    let Some(()) = available(Uml::find()) else { return };
    let tshark = available(Tshark::find());
    let (runtime, uml) = (runtime(), Uml::boot().unwrap());
    let few = EchoPlan::graded(60, 1_000).with_fast_timers();
    uml.set_timers(&few).unwrap();
    let cells = cells(Peer::Kernel(&uml), 10, with_loss(), few);
    run_all(&cells, runtime.handle(), tshark.as_ref());
    kernel_has_no_association(&uml).unwrap();
}
