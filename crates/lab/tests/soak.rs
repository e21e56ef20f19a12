//! A small soak: the example of that name with few associations for a quarter of an hour of virtual
//! time. `make soak` runs the large one.
#![allow(dead_code, reason = "uses a part of the example")]

#[path = "../examples/soak/client.rs"]
mod client;
#[path = "../examples/soak/host.rs"]
mod host;
#[path = "../examples/soak/model.rs"]
mod model;
#[path = "../examples/soak/protocol.rs"]
mod protocol;
#[path = "../examples/soak/sctp.rs"]
mod sctp;
#[path = "../examples/soak/server.rs"]
mod server;
#[path = "../examples/soak/shared.rs"]
mod shared;
#[path = "../examples/soak/tcp.rs"]
mod tcp;
#[path = "../examples/soak/weather.rs"]
mod weather;
#[path = "../examples/soak/world.rs"]
mod world;

use base::Duration;

use protocol::Protocol;
use world::{Plan, Report, World};

fn soak<P: Protocol>(seed: u64) -> Result<Report, String> {
    let plan = Plan {
        associations: 60,
        servers: 3,
        zones: 10,
        span: Duration::from_secs(900),
        interval: Duration::from_secs(4),
        life: Duration::from_secs(200),
        seed,
    };
    World::<P>::new(plan).run(|_, _| {})
}

#[test]
fn every_message_of_many_associations_arrives_once_or_its_sender_is_told() {
    for seed in 0..2 {
        let report = soak::<sctp::Sctp>(seed).unwrap_or_else(|what| panic!("seed {seed}: {what}"));
        assert!(report.messages > 5_000, "{report:?}");
        assert!(report.given_up > 20 && report.resets > 20, "{report:?}");
        assert!(report.closed > 150 && report.failed > 5, "{report:?}");
        assert!(report.rebindings > 10 && report.client_restarts > 5, "{report:?}");
        assert!(report.policies > 200, "{report:?}");
    }
}

#[test]
fn every_message_of_many_connections_arrives_once_or_its_connection_fails() {
    for seed in 0..2 {
        let report = soak::<tcp::Tcp>(seed).unwrap_or_else(|what| panic!("seed {seed}: {what}"));
        assert!(report.messages > 5_000 && report.given_up == 0, "{report:?}");
        assert!(report.closed > 150 && report.failed > 20, "{report:?}");
        assert!(report.client_restarts > 5 && report.policies > 200, "{report:?}");
    }
}

#[test]
fn a_soak_repeats_itself() {
    assert_eq!(soak::<sctp::Sctp>(7), soak::<sctp::Sctp>(7));
    assert_eq!(soak::<tcp::Tcp>(7), soak::<tcp::Tcp>(7));
}

#[test]
fn the_judge_notices_what_is_missing_doubled_changed_or_out_of_order() {
    use model::{Account, Conversation, End, Header, Inbox, Ledger, Outbox, read, write};
    let conversation = Conversation { client: 1, life: 2 };
    let header = |stream, number| Header { conversation, from_client: true, stream, number };
    let bytes = write(header(0, 0), 300);
    assert_eq!(read(&bytes), Ok(header(0, 0)));
    for at in 0..bytes.len() {
        let mut changed = bytes.to_vec();
        changed[at] ^= 4;
        assert_ne!(read(&changed), Ok(header(0, 0)), "byte {at}");
    }
    assert!(read(&bytes[..299]).is_err());
    let mut inbox = Inbox::default();
    assert!(inbox.take(header(0, 0), false).is_ok());
    assert!(inbox.take(header(0, 0), false).is_err(), "doubled");
    assert!(inbox.take(header(0, 2), false).is_err(), "one is missing");
    assert!(inbox.take(header(3, 5), false).is_ok(), "without order");
    assert!(inbox.take(header(3, 5), false).is_err(), "doubled without order");
    let account = |end, counts, received| {
        let sent = Outbox::of(counts);
        Account { end, sent, received }
    };
    let mut ledger = Ledger::default();
    let sent = [2, 0, 0, 0];
    assert!(ledger.enter(conversation, true, account(End::Closed, sent, Inbox::default())).is_ok());
    assert!(
        ledger.enter(conversation, false, account(End::Closed, [0; 4], inbox.clone())).is_err()
    );
    assert!(ledger.enter(conversation, true, account(End::Failed, sent, Inbox::default())).is_ok());
    assert!(ledger.enter(conversation, false, account(End::Failed, [0; 4], inbox)).is_ok());
}

#[test]
fn the_judge_lets_be_missing_what_was_given_up_and_nothing_else() {
    use model::{Account, Conversation, End, Header, Inbox, Ledger, Outbox, context};
    // Message 1 of stream 0 is missing.
    let conversation = Conversation { client: 2, life: 1 };
    let header = |stream, number| Header { conversation, from_client: true, stream, number };
    let mut inbox = Inbox::default();
    for (stream, number) in [(0, 0), (0, 2), (3, 1)] {
        assert!(inbox.take(header(stream, number), true).is_ok());
    }
    assert!(inbox.take(header(0, 1), true).is_err(), "late is out of order");
    assert_eq!(inbox.total(), 3);
    let counts = [3, 0, 0, 2];
    let verdict = |given_up: &[(usize, u32, bool)], further| {
        let mut sent = Outbox::of(counts);
        for (stream, number, left) in given_up {
            sent.on_abandoned(context(*stream, *number), *left).unwrap();
        }
        sent.on_further(further);
        let (received, end) = (inbox.clone(), End::Closed);
        let mut ledger = Ledger::default();
        let nothing = Account { end, sent: Outbox::default(), received };
        ledger.enter(conversation, false, nothing).unwrap();
        let received = Inbox::default();
        ledger.enter(conversation, true, Account { end, sent, received })
    };
    assert!(verdict(&[], 0).is_err());
    assert!(verdict(&[(0, 1, true)], 0).is_err(), "one more is missing");
    assert!(verdict(&[(0, 1, true), (3, 0, false)], 0).is_ok());
    assert!(verdict(&[(0, 1, true)], 1).is_ok(), "given up without being named");
    let and_came = [(0, 1, true), (3, 0, false), (0, 0, true)];
    assert!(verdict(&and_came, 0).is_ok(), "it had left, and may come");
    let and_came = [(0, 1, true), (3, 0, false), (0, 0, false)];
    assert!(verdict(&and_came, 0).is_err(), "it never left");
    let mut twice = Outbox::default();
    assert!(twice.on_abandoned(context(1, 1), true).is_ok());
    assert!(twice.on_abandoned(context(1, 1), true).is_err());
}
