//! What is exercised: rows of the matrix.

use std::time::Duration;

use virtual_peers::Reliability;

use super::Column;
use crate::plan::{EchoPlan, End};

/// A row.
pub struct Exercise {
    /// Its head in the table.
    pub name: &'static str,
    /// What happens and what is checked.
    pub about: &'static str,
    /// Of each packet, each way.
    pub loss_percent: u32,
    /// Chunk types of which packets of this exercise must have one.
    pub evidence: &'static [u8],
    /// Whether both sides have two addresses, and the path between the first ones is cut in the middle.
    pub two_paths: bool,
    /// Whether it is quick enough for every change.
    pub quick: bool,
    /// What is sent, and how the association ends.
    pub plan: fn() -> EchoPlan,
    /// Why a peer cannot take part, where it lacks what is exercised.
    pub lacks: fn(Column) -> Option<&'static str>,
}

/// Chunk types.
const HEARTBEAT: u8 = 4;
const HEARTBEAT_ACK: u8 = 5;
const ABORT: u8 = 6;
const SHUTDOWN: u8 = 7;

/// All rows.
pub const EXERCISES: &[Exercise] = &[
    Exercise {
        name: "set-up, shutdown by the client",
        about: "One message there and back, then the client closes.",
        evidence: &[SHUTDOWN],
        ..SIMPLE
    },
    Exercise {
        name: "shutdown by the server",
        quick: false,
        about: "The same, and the server closes.",
        plan: || EchoPlan { end: End::ServerShutdown, ..SIMPLE_PLAN() },
        evidence: &[SHUTDOWN],
        ..SIMPLE
    },
    Exercise {
        name: "abort by the client",
        quick: false,
        about: "Ten messages there and back, then the client aborts, and the server learns it.",
        plan: || EchoPlan { end: End::ClientAbort, ..EchoPlan::of(10, 100) },
        evidence: &[ABORT],
        ..SIMPLE
    },
    Exercise {
        name: "abort by the server",
        about: "The same, and the server aborts.",
        plan: || EchoPlan { end: End::ServerAbort, ..EchoPlan::of(10, 100) },
        evidence: &[ABORT],
        ..SIMPLE
    },
    Exercise {
        name: "messages of 1 B to 1 MB",
        about: "60 messages, small ones as often as large ones, each back before the next leaves.",
        plan: || EchoPlan::graded(60, 1 << 20),
        ..SIMPLE
    },
    Exercise {
        name: "50 streams",
        quick: false,
        about: "200 messages on 50 streams in turn.",
        plan: || EchoPlan { streams: 50, ..EchoPlan::of(200, 200) },
        ..SIMPLE
    },
    Exercise {
        name: "unordered, 10 % loss",
        quick: false,
        about: "200 unordered messages, one each 5 ms, each back exactly once in whatever order.",
        loss_percent: 10,
        plan: || {
            let plan = EchoPlan { unordered: true, streams: 1, ..EchoPlan::of(200, 300) };
            EchoPlan { pace: Some(Duration::from_millis(5)), ..plan.with_fast_timers() }
        },
        ..SIMPLE
    },
    Exercise {
        name: "partial reliability, retransmissions",
        about: "200 messages, one each 5 ms, none retransmitted but the last: what is lost is skipped by \
                FORWARD-TSN, and what comes later arrives. 10 % loss.",
        loss_percent: 10,
        evidence: &[FORWARD_TSN],
        plan: || partially_reliable(200, 5, Reliability::Retransmissions(0)),
        ..SIMPLE
    },
    Exercise {
        name: "partial reliability, lifetime",
        quick: false,
        about: "100 messages, one each 20 ms, that live 15 ms, but for the last. 10 % loss.",
        loss_percent: 10,
        evidence: &[FORWARD_TSN],
        plan: || {
            let lifetime = base::Duration::from_millis(15);
            partially_reliable(100, 20, Reliability::Lifetime(lifetime))
        },
        ..SIMPLE
    },
    Exercise {
        name: "I-DATA",
        about: "40 messages of 1 B to 1 kB in I-DATA chunks.",
        evidence: &[I_DATA],
        plan: || EchoPlan { interleaving: true, ..EchoPlan::graded(40, 1_000) },
        lacks: lacks_interleaving,
        ..SIMPLE
    },
    Exercise {
        name: "I-DATA, fragments",
        about: "40 messages of 1 B to 200 kB in I-DATA chunks.",
        evidence: &[I_DATA],
        plan: || EchoPlan { interleaving: true, ..EchoPlan::graded(40, 200_000) },
        lacks: |column| match column.is_kernel() {
            // Nor if usrsctp sends them: 6.1 acknowledges the fragments and keeps them.
            true => Some("does not deliver messages that came in several packets of I-DATA"),
            false => lacks_interleaving(column),
        },
        ..SIMPLE
    },
    Exercise {
        name: "two paths, the primary cut",
        about: "200 messages, one each 20 ms, between two addresses on each side. After the fiftieth the network \
                swallows all packets between the first addresses; the rest goes by the second path.",
        two_paths: true,
        evidence: &[HEARTBEAT, HEARTBEAT_ACK],
        plan: || EchoPlan {
            pace: Some(Duration::from_millis(20)),
            streams: 1,
            heartbeat: Duration::from_millis(500),
            path_max_retrans: 2,
            ..EchoPlan::of(200, 100).with_fast_timers()
        },
        lacks: |column| match column {
            Column::Pion | Column::DcSctp | Column::SctpProto => Some("one path only"),
            // Its answers leave from any of its addresses, whatever the route: the paths cross.
            Column::UsrsctpRaw => Some("over IP its source addresses follow no route"),
            _ => None,
        },
        ..SIMPLE
    },
    Exercise {
        name: "10 % loss",
        about: "150 messages of up to 1 kB, and one of 100 kB.",
        loss_percent: 10,
        plan: || EchoPlan::graded(150, 1_000).and_one_of(100_000).with_fast_timers(),
        ..SIMPLE
    },
];

#[allow(non_snake_case, reason = "stands where a constant would, which cannot allocate")]
fn SIMPLE_PLAN() -> EchoPlan {
    EchoPlan::of(1, 100)
}

/// What most rows have in common.
const SIMPLE: Exercise = Exercise {
    name: "",
    about: "",
    loss_percent: 0,
    evidence: &[],
    two_paths: false,
    quick: true,
    plan: SIMPLE_PLAN,
    lacks: |_| None,
};

/// Rows for extensions that our side is about to have.
#[allow(dead_code, reason = "their time comes with the extensions")]
const EXTENSIONS: &[Exercise] = &[Exercise {
    name: "stream reset",
    about: "40 messages on four streams; in between the client resets its streams, the server answers with \
                a reset of its own, and messages begin again at SSN 0.",
    evidence: &[RE_CONFIG],
    plan: || EchoPlan { reset_after: Some(20), ..EchoPlan::of(40, 100) },
    ..SIMPLE
}];

const FORWARD_TSN: u8 = 192;
const RE_CONFIG: u8 = 130;
const I_DATA: u8 = 64;

fn lacks_interleaving(column: Column) -> Option<&'static str> {
    matches!(column, Column::Pion | Column::SctpProto).then_some("no I-DATA")
}

fn partially_reliable(count: usize, pace_ms: u64, reliability: Reliability) -> EchoPlan {
    let plan = EchoPlan { streams: 1, reliability, ..EchoPlan::of(count, 300) };
    EchoPlan { pace: Some(Duration::from_millis(pace_ms)), ..plan.with_fast_timers() }
}

/// What a peer lacks whatever is exercised.
pub(super) fn lacks(column: Column, plan: &EchoPlan, peer_is_client: bool) -> Option<&'static str> {
    let peer_aborts = match plan.end {
        End::ClientAbort => peer_is_client,
        End::ServerAbort => !peer_is_client,
        _ => false,
    };
    let peer_expires = peer_is_client && matches!(plan.reliability, Reliability::Lifetime(_));
    match column {
        Column::SctpProto if peer_aborts => Some("cannot send an ABORT"),
        // It looks at the lifetime after a retransmission, not before.
        Column::Pion if peer_expires => Some("as sender it retransmits once what has expired"),
        _ => None,
    }
}
