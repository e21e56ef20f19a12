//! Exercises: rows of the matrix.

use std::time::Duration;

use virtual_peers::Reliability;

use super::Column;
use crate::plan::{EchoPlan, End, Reset};

/// A row of the table: steps for both sides and what must have been seen.
pub struct Exercise {
    /// The exercise's head in the table.
    pub name: &'static str,
    /// Steps and checks of the exercise.
    pub about: &'static str,
    /// Probability of losing a packet, each way, in percent.
    pub loss_percent: u32,
    /// Chunk types of which packets of this exercise must have one.
    pub evidence: &'static [u8],
    /// Network between the two sides.
    pub network: Network,
    /// Whether it is quick enough for every change.
    pub quick: bool,
    /// Messages, and the end of the association.
    pub plan: fn() -> EchoPlan,
    /// Reason for which a peer cannot take part, where it lacks what is exercised.
    pub lacks: fn(Column) -> Option<&'static str>,
}

/// Network between the two sides of an exercise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// A single pair of addresses.
    OnePath,
    /// Two paths, each between one address of one side and one of the other. The first is cut in
    /// the middle.
    FirstPathCut,
    /// Two paths, of which the client at first has the first address only: it moves to the second.
    ClientMoves,
}

/// Chunk types that show what an exercise is about (RFC 9260, section 3.2).
const HEARTBEAT: u8 = 4;
const HEARTBEAT_ACK: u8 = 5;
const ABORT: u8 = 6;
const SHUTDOWN: u8 = 7;

/// All rows, in the order of the table.
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
        about: "As above, but the server closes.",
        plan: || EchoPlan { end: End::ServerShutdown, ..SIMPLE_PLAN() },
        evidence: &[SHUTDOWN],
        ..SIMPLE
    },
    Exercise {
        name: "abort by the client",
        quick: false,
        about: "Ten messages there and back, then the client aborts, and the server is notified.",
        plan: || EchoPlan { end: End::ClientAbort, ..EchoPlan::of(10, 100) },
        evidence: &[ABORT],
        ..SIMPLE
    },
    Exercise {
        name: "abort by the server",
        about: "As above, but the server aborts.",
        plan: || EchoPlan { end: End::ServerAbort, ..EchoPlan::of(10, 100) },
        evidence: &[ABORT],
        ..SIMPLE
    },
    Exercise {
        name: "messages of 1 B to 1 MB",
        about: "60 messages, small ones as often as large ones, each echoed before the next one is sent.",
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
        about: "200 unordered messages, one every 5 ms, each echoed exactly once, in any order.",
        loss_percent: 10,
        plan: || {
            let plan = EchoPlan { unordered: true, streams: 1, ..EchoPlan::of(200, 300) };
            EchoPlan { pace: Some(Duration::from_millis(5)), ..plan.with_fast_timers() }
        },
        ..SIMPLE
    },
    Exercise {
        name: "partial reliability, retransmissions",
        about: "200 messages, one every 5 ms, none retransmitted but the last: FORWARD-TSN skips lost \
                ones, and later ones arrive. 10 % loss.",
        loss_percent: 10,
        evidence: &[FORWARD_TSN],
        plan: || partially_reliable(200, 5, Reliability::Retransmissions(0)),
        ..SIMPLE
    },
    Exercise {
        name: "partial reliability, lifetime",
        quick: false,
        about: "100 messages, one every 20 ms, with a lifetime of 15 ms, except for the last. 10 % loss.",
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
        about: "200 messages, one every 20 ms, between two addresses on each side. After the fiftieth \
                the network drops all packets between the first addresses; the rest takes the second \
                path.",
        network: Network::FirstPathCut,
        evidence: &[HEARTBEAT, HEARTBEAT_ACK],
        plan: || EchoPlan {
            pace: Some(Duration::from_millis(20)),
            streams: 1,
            heartbeat: Duration::from_millis(500),
            path_max_retrans: 2,
            ..EchoPlan::of(200, 100).with_fast_timers()
        },
        lacks: lacks_paths,
        ..SIMPLE
    },
    Exercise {
        name: "addresses added, made primary, deleted",
        about: "200 messages, one every 20 ms. The client, which announced one address, adds its \
                second one after 50 messages, makes it the server's destination after 100, and deletes \
                the first after 150. Both sides authenticate their requests; at each point data goes \
                to the right address.",
        network: Network::ClientMoves,
        evidence: &[ASCONF, ASCONF_ACK, AUTH],
        plan: || EchoPlan {
            pace: Some(Duration::from_millis(20)),
            streams: 1,
            heartbeat: Duration::from_millis(200),
            // usrsctp grants the wish only when it has heard of the address, by a heartbeat after
            // RTO.Initial.
            rto_min: Duration::from_millis(250),
            ..EchoPlan::of(200, 100)
        },
        lacks: lacks_paths,
        ..SIMPLE
    },
    Exercise {
        name: "stream reset",
        about: "40 messages on four streams; in between the client resets its streams, the server answers with \
                a reset of its own, and messages begin again at SSN 0.",
        evidence: &[RE_CONFIG],
        plan: || EchoPlan { reset: Some((20, Reset::EachItsOwn)), ..EchoPlan::of(40, 100) },
        ..SIMPLE
    },
    Exercise {
        name: "stream reset, asked for",
        about: "As above, but the client asks the server to reset the server's streams, and keeps its own.",
        evidence: &[RE_CONFIG],
        plan: || EchoPlan { reset: Some((20, Reset::AskedFor)), ..EchoPlan::of(40, 100) },
        lacks: |column| match column {
            Column::Pion | Column::DcSctp | Column::SctpProto => {
                Some("neither sends nor follows requests to reset its own streams")
            }
            _ => None,
        },
        ..SIMPLE
    },
    Exercise {
        name: "association reset",
        about: "As above, but the client resets the association: all streams and the TSNs of both \
                sides begin again.",
        evidence: &[RE_CONFIG],
        plan: || EchoPlan { reset: Some((20, Reset::Association)), ..EchoPlan::of(40, 100) },
        lacks: |column| match column {
            Column::Pion | Column::DcSctp | Column::SctpProto => Some("has no such request"),
            _ => None,
        },
        ..SIMPLE
    },
    Exercise {
        name: "stream reset under traffic, 10 % loss",
        about: "200 messages, one every 10 ms; after the hundredth both sides reset their streams.",
        loss_percent: 10,
        quick: false,
        evidence: &[RE_CONFIG],
        plan: || EchoPlan {
            reset: Some((100, Reset::EachItsOwn)),
            pace: Some(Duration::from_millis(10)),
            streams: 1,
            ..EchoPlan::of(200, 100).with_fast_timers()
        },
        ..SIMPLE
    },
    Exercise {
        name: "streams added",
        about: "40 messages on two streams; in between the client adds four streams in each direction, and the \
                rest goes on six.",
        evidence: &[RE_CONFIG],
        plan: || EchoPlan { added_streams: Some((20, 4)), streams: 2, ..EchoPlan::of(40, 100) },
        lacks: |column| match column {
            Column::Pion | Column::DcSctp | Column::SctpProto => {
                Some("has no requests to add streams")
            }
            _ => None,
        },
        ..SIMPLE
    },
    Exercise {
        name: "10 % loss",
        about: "100 messages of up to 1 kB, and one of 100 kB.",
        loss_percent: 10,
        plan: || EchoPlan::graded(100, 1_000).and_one_of(100_000).with_fast_timers(),
        ..SIMPLE
    },
];

#[allow(non_snake_case, reason = "stands where a constant would, which cannot allocate")]
fn SIMPLE_PLAN() -> EchoPlan {
    EchoPlan::of(1, 100)
}

/// Values common to most rows.
const SIMPLE: Exercise = Exercise {
    name: "",
    about: "",
    loss_percent: 0,
    evidence: &[],
    network: Network::OnePath,
    quick: true,
    plan: SIMPLE_PLAN,
    lacks: |_| None,
};

const FORWARD_TSN: u8 = 192;
const RE_CONFIG: u8 = 130;
const I_DATA: u8 = 64;
/// Chunk type of AUTH (RFC 4895, section 4.1).
pub(super) const AUTH: u8 = 15;
/// Chunk type of ASCONF (RFC 5061, section 4.1).
pub(super) const ASCONF: u8 = 193;
/// Chunk type of ASCONF-ACK (RFC 5061, section 4.1).
pub(super) const ASCONF_ACK: u8 = 128;

fn lacks_paths(column: Column) -> Option<&'static str> {
    match column {
        Column::Pion | Column::DcSctp | Column::SctpProto => Some("one path only"),
        // Its answers leave from any of its addresses, whatever the route: the paths cross.
        Column::UsrsctpRaw => Some("over IP its source addresses follow no route"),
        _ => None,
    }
}

fn lacks_interleaving(column: Column) -> Option<&'static str> {
    matches!(column, Column::Pion | Column::SctpProto).then_some("no I-DATA")
}

fn partially_reliable(count: usize, pace_ms: u64, reliability: Reliability) -> EchoPlan {
    let plan = EchoPlan { streams: 1, reliability, ..EchoPlan::of(count, 300) };
    EchoPlan { pace: Some(Duration::from_millis(pace_ms)), ..plan.with_fast_timers() }
}

/// Features that a peer lacks in every exercise.
pub(super) fn lacks(column: Column, plan: &EchoPlan, peer_is_client: bool) -> Option<&'static str> {
    let peer_aborts = match plan.end {
        End::ClientAbort => peer_is_client,
        End::ServerAbort => !peer_is_client,
        _ => false,
    };
    let resets_association = plan.reset.is_some_and(|(_, how)| how == Reset::Association);
    let is_usrsctp = matches!(column, Column::UsrsctpUdp | Column::UsrsctpRaw);
    let peer_expires = peer_is_client && matches!(plan.reliability, Reliability::Lifetime(_));
    let resets_under_traffic = plan.reset.is_some() && plan.pace.is_some() && peer_is_client;
    match column {
        _ if is_usrsctp && resets_association && peer_is_client => {
            Some("sometimes sends no SHUTDOWN afterwards, though all data is acknowledged")
        }
        // It skips a TSN, names the next one to the client, and has forgotten the skip when that is
        // acknowledged.
        _ if is_usrsctp && resets_association => Some(
            "aborts when its new TSNs are acknowledged before its last data from before the reset",
        ),
        Column::SctpProto if resets_under_traffic => {
            Some("delivers nothing more of a stream that it resets, though it acknowledges it")
        }
        Column::SctpProto if peer_aborts => Some("cannot send an ABORT"),
        // It does not know the request's number again, and by then the stream is open again.
        Column::Pion if resets_under_traffic => {
            Some("resets a stream once more where the request is repeated, its answer being lost")
        }
        // It looks at the lifetime after a retransmission, not before.
        Column::Pion if peer_expires => Some("as sender it retransmits once what has expired"),
        _ => None,
    }
}
