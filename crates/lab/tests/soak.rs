//! A small soak: the example of that name with few associations for a quarter of an hour of virtual time.
//! `make soak` runs the large one.
#![allow(dead_code, reason = "uses a part of the example")]

#[path = "../examples/soak/model.rs"]
mod model;
#[path = "../examples/soak/node.rs"]
mod node;
#[path = "../examples/soak/world.rs"]
mod world;

use base::Duration;

use world::{Plan, Report, World};

fn soak(seed: u64) -> Result<Report, String> {
    let plan = Plan {
        associations: 60,
        servers: 3,
        zones: 10,
        span: Duration::from_secs(900),
        interval: Duration::from_secs(4),
        life: Duration::from_secs(200),
        seed,
    };
    World::new(plan).run(|_, _| {})
}

#[test]
fn every_message_of_many_associations_arrives_once_or_its_sender_is_told() {
    for seed in 0..2 {
        let report = soak(seed).unwrap_or_else(|what| panic!("seed {seed}: {what}"));
        assert!(report.messages > 5_000, "{report:?}");
        assert!(report.closed > 150 && report.failed > 5, "{report:?}");
        assert!(report.rebindings > 10 && report.client_restarts > 5, "{report:?}");
    }
}

#[test]
fn a_soak_repeats_itself() {
    assert_eq!(soak(7), soak(7));
}

#[test]
fn the_judge_notices_what_is_missing_doubled_changed_or_out_of_order() {
    use model::{Account, Conversation, End, Header, Inbox, Ledger, read, write};
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
    assert!(inbox.take(header(0, 0)).is_ok());
    assert!(inbox.take(header(0, 0)).is_err(), "doubled");
    assert!(inbox.take(header(0, 2)).is_err(), "one is missing");
    assert!(inbox.take(header(3, 5)).is_ok(), "without order");
    assert!(inbox.take(header(3, 5)).is_err(), "doubled without order");
    let account = |end, sent, received| Account { end, sent, received };
    let mut ledger = Ledger::default();
    let sent = [2, 0, 0, 0];
    assert!(ledger.enter(conversation, true, account(End::Closed, sent, Inbox::default())).is_ok());
    assert!(
        ledger.enter(conversation, false, account(End::Closed, [0; 4], inbox.clone())).is_err()
    );
    assert!(ledger.enter(conversation, true, account(End::Failed, sent, Inbox::default())).is_ok());
    assert!(ledger.enter(conversation, false, account(End::Failed, [0; 4], inbox)).is_ok());
}
