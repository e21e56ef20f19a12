//! Attacks on a measuring server in a process of its own, and what the system says that it holds.
//! `make attacks` has the same at full size, against the built command.

use std::net::SocketAddr;
use std::process::Command;
use std::time::Duration;

use apps::Notice;
use apps::serve::{ServeOptions, serve};
use interop::attack::{Attack, AttackReport, attack};
use interop::{Namespace, Process, available};
use nix::sys::signal::Signal;
use thinstream::Encapsulation;

use crate::ours::runtime;

const LIMIT: Duration = Duration::from_secs(30);
const MIB: u64 = 1 << 20;
/// Variable in the environment of the process that is to be a server: the memory of its
/// associations; and the test that is one then.
const CHILD: &str = "THINSTREAM_TEST_SERVER_MEMORY";
const CHILD_TEST: &str = "attacks::a_server_in_a_process_of_its_own_says_when_it_is_ready";
const ADDRESS: &str = "127.0.0.1:9899";

#[test]
fn a_server_in_a_process_of_its_own_says_when_it_is_ready() {
    let Ok(memory) = std::env::var(CHILD) else { return };
    let mut options = ServeOptions::new(ADDRESS.parse().unwrap());
    options.encapsulation = Encapsulation::PlainUdp;
    options.memory = memory.parse().unwrap();
    options.max_per_peer = Some(2_000);
    let mut notice = |notice: Notice| {
        if let Notice::Line(line) = notice {
            println!("{line}");
        }
    };
    runtime().block_on(serve(&options, &mut notice)).unwrap();
}

/// An attack on a server whose associations may hold this many bytes; nothing where it cannot be
/// made here.
fn run(what: Attack, memory: u64) -> Option<AttackReport> {
    let () = available(Namespace::find())?;
    let namespace = Namespace::new().unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", CHILD_TEST, "--nocapture"]).env(CHILD, memory.to_string());
    let process = Process::start(Some(&namespace), command).unwrap();
    process.wait_for_line("serving at", LIMIT).unwrap();
    let address: SocketAddr = ADDRESS.parse().unwrap();
    let seen = attack(&namespace, &process, address, what).unwrap();
    assert_eq!(seen.faults(what, memory), [""; 0], "{seen:?}");
    process.signal(Signal::SIGTERM);
    assert!(process.wait(LIMIT).unwrap().success(), "{}", process.text());
    Some(seen)
}

#[test]
fn an_address_that_asks_for_more_places_than_it_may_have_holds_up_no_honest_client() {
    let Some(seen) = run(Attack::Places(5_000), 64 * MIB) else { return };
    assert!(seen.taken.associations <= 2_000 && seen.taken.refused >= 3_000, "{:?}", seen.taken);
}

#[test]
fn unfinished_messages_leave_the_process_within_its_memory_and_honest_clients_served() {
    run(Attack::Unfinished(300), 32 * MIB);
}

#[test]
fn echoes_that_are_not_taken_leave_the_process_within_its_memory_and_honest_clients_served() {
    run(Attack::Echoes(300), 32 * MIB);
}
