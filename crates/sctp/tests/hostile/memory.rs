//! Memory of an idle association.

#![allow(dead_code, reason = "uses a part of the harness of the examples")]

#[path = "../../examples/cost/pair.rs"]
mod pair;
#[path = "../../examples/cost/thin.rs"]
mod thin;

use std::sync::Arc;

use allocation_counter::measure;
use base::Duration;
use recovery::RecoveryPolicy;
use recovery::policy::PRESETS;
use sctp::AssociationOptions;

use self::pair::Pair;

const ASSOCIATIONS: u32 = 2000;

/// Bytes of an association and end, tables of the endpoint included: after the set-up, and after
/// four messages of 100 bytes.
fn bytes(policy: RecoveryPolicy) -> (i64, i64) {
    let options = AssociationOptions { policy: Arc::new(policy), ..AssociationOptions::default() };
    let mut kept = None;
    let opened = measure(|| kept = Some(Pair::new(&options, ASSOCIATIONS)));
    let pair = kept.as_mut().unwrap();
    let talked = measure(|| {
        thin::send_rounds(pair, 4);
        pair.advance(Duration::from_secs(1));
    });
    assert_eq!(pair.received().0, u64::from(4 * ASSOCIATIONS));
    let each = |bytes: i64| bytes / i64::from(2 * ASSOCIATIONS);
    (each(opened.bytes_current), each(opened.bytes_current + talked.bytes_current))
}

#[test]
fn an_idle_association_takes_less_than_two_kilobytes() {
    for (preset, _) in PRESETS {
        let policy = RecoveryPolicy::preset(preset).unwrap();
        // The learned delay of the peer and the state of copies are kept.
        let learned = match preset {
            "thin" | "latency-lean" => 80,
            "latency" | "latency-max" => 136,
            _ => 0,
        };
        let (opened, talked) = bytes(policy);
        assert!(opened <= 1850, "{preset}: {opened} bytes after the set-up");
        assert!(talked - learned <= 2048, "{preset}: {talked} bytes after four messages");
    }
}
