//! The results of an analysis, for text and JSON (docs/json.md).

mod across;
mod build;
mod delays;

use serde::Serialize;

pub use self::across::{Across, Extent, Spread};
pub(crate) use self::build::{of_direction, totals_of};
pub(crate) use self::delays::Gathered;
pub use self::delays::{Delays, DelaysOfAll};
use crate::capture::Damage;
pub use crate::distribution::Summary;
pub use crate::flow::association::{ChunkCounts, StreamCounts};
use crate::observer::PacketKind;
use crate::packet::Protocol;
pub use crate::receiver::Losses;

/// All results of an analysis.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The file that the sender's side captured.
    pub capture: CaptureReport,
    /// The receiver's, if there was one.
    pub receiver_capture: Option<CaptureReport>,
    /// Number of TCP connections and SCTP associations.
    pub connections: u64,
    /// Directions with user data, one by one.
    pub streams: Vec<StreamReport>,
    /// Directions with user data that are not, since they are too many; `all` has them.
    pub streams_left_out: u64,
    /// Connections that were put to an end early, since too many were open at a time.
    pub connections_cut_short: u64,
    /// All directions with user data together.
    pub all: Totals,
    /// Distances between those in `streams`.
    pub across: Across,
    /// Delays of all directions together, shown or not; `null` without a receiver's capture.
    pub delays: Option<DelaysOfAll>,
    /// Packets beyond the most that are reported one by one.
    #[serde(skip_serializing_if = "is_zero")]
    pub packet_details_left_out: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Contents of a capture file: packets, bytes, time, and what was ignored.
#[derive(Clone, Debug, Default, Serialize)]
pub struct CaptureReport {
    /// Packets read from the file, of any protocol.
    pub packets: u64,
    /// Bytes of the file that were read.
    pub bytes: u64,
    /// Time at which the first was captured, in seconds since 1 January 1970 (UTC).
    pub start_s: f64,
    /// Time from the first packet to the last.
    pub duration_s: f64,
    /// Number of TCP segments, of all connections.
    pub tcp: u64,
    /// Number of SCTP packets, of all associations.
    pub sctp: u64,
    /// Packets that were ignored, by reason.
    pub passed_over: PassedOver,
    /// Packets of which only a part was captured; their lengths count nevertheless.
    pub cut_packets: u64,
    /// First fragments, which count as if they were all.
    pub first_fragments: u64,
    /// Packets with a time before that of the packet before them.
    pub out_of_order: u64,
    /// Place and reason of an early end.
    pub damage: Option<String>,
}

/// Packets that were not analysed.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct PassedOver {
    /// Packets of a link layer that is not known.
    pub unknown_link: u64,
    /// Packets that are neither IPv4 nor IPv6.
    pub not_ip: u64,
    /// Packets of neither TCP nor SCTP.
    pub other_protocol: u64,
    /// Fragments that are not the first.
    pub later_fragments: u64,
    /// Packets with headers that cannot be read.
    pub unreadable: u64,
    /// Packets of other interfaces than the chosen one.
    pub other_interface: u64,
    /// Packets that the filters exclude.
    pub filtered: u64,
}

impl CaptureReport {
    pub(crate) fn damaged(&mut self, damage: &Damage) {
        self.damage = Some(damage.to_string());
    }
}

/// One direction of a connection or association.
#[derive(Clone, Debug, Serialize)]
pub struct StreamReport {
    /// The connection's number, and `a` for the direction that was seen first, `b` for the other.
    pub id: String,
    /// Transport protocol of the connection.
    pub protocol: Protocol,
    /// Address and port of the sender.
    pub source: String,
    /// Address and port of the receiver.
    pub destination: String,
    /// The interface where it was captured, as far as the capture names it.
    pub interface: Option<String>,
    /// UDP ports of sender and receiver, for SCTP over UDP.
    pub udp_ports: Option<(u16, u16)>,
    /// Time from the capture's first packet to the first with user data.
    pub start_s: f64,
    /// Time from the first packet with user data to the last.
    pub duration_s: f64,
    /// Whether the beginning of the connection was captured.
    pub is_whole: bool,
    /// Whether the capture was taken nearer to the sender than to the receiver; `null` if it does
    /// not tell. If it was not, losses before it look like gaps, and round trips are too
    /// short.
    pub at_sender: Option<bool>,
    /// Counts and distributions of the direction, as fields beside these.
    #[serde(flatten)]
    pub totals: Totals,
    /// Whether it is thin, and by which measure.
    pub thin: Thin,
    /// Time from SYN or INIT to its answer.
    pub handshake_ms: Option<f64>,
    /// Numbers that only TCP has.
    pub tcp: Option<TcpReport>,
    /// Numbers that only SCTP has.
    pub sctp: Option<SctpReport>,
    /// Numbers from the receiver's capture; `null` where the first capture was not taken at the
    /// sender.
    pub receiver: Option<ReceiverReport>,
    /// The packets that were asked for ([`crate::details::Details`]).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub packet_details: Vec<PacketDetails>,
}

impl StreamReport {
    /// Orders by connection, then by direction.
    pub(crate) fn order(&self) -> (u64, char) {
        let letter = self.id.chars().last().unwrap_or('a');
        (self.id.trim_end_matches(letter).parse().unwrap_or_default(), letter)
    }
}

/// Counts and distributions, of one direction or of all.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Totals {
    /// Packets by content, each kind counted.
    pub packets: Packets,
    /// Bytes by content: frames, user data, retransmissions, copies.
    pub bytes: Bytes,
    /// Bytes of user data in packets that have some.
    pub payload_bytes: Summary,
    /// Time between packets with user data.
    pub interarrival_ms: Summary,
    /// Packets with user data; 1 / mean of `interarrival_ms`.
    pub packets_per_second: f64,
    /// Bits of frames with user data per second, as the papers count.
    pub bits_per_second: f64,
    /// Bits of user data per second.
    pub payload_bits_per_second: f64,
    /// Packets in flight when something new is sent, itself included.
    pub packets_in_flight: Summary,
    /// Retransmitted segments, or DATA chunks.
    pub retransmissions: Retransmissions,
    /// Acknowledgements that repeated, or SACKs with gap ack blocks that did not move the
    /// cumulative TSN.
    pub repeated_acks: ByOrder,
    /// Copies that rode along and were reported to have come in vain.
    pub redundant_reported_needless: u64,
    /// Duplicates that the receiver reported although nothing was sent twice.
    pub other_duplicates: u64,
    /// Fates of packets with user data, as far as acknowledgements show them.
    pub fates: KnownFates,
    /// The share of these that were lost; where nothing was acknowledged, the share of
    /// retransmissions.
    pub loss_estimate: f64,
    /// Whether more may have been lost: redundant copies repaired losses, but a receiver that
    /// reports no duplicates does not show when.
    pub loss_estimate_is_lower_bound: bool,
    /// Time between something sent and its acknowledgement, from what was sent once.
    pub round_trip_ms: Summary,
    /// Time from first sending to cumulative acknowledgement.
    pub ack_latency_ms: AckLatency,
    /// Acknowledged bytes, or DATA chunks, that the capture missed.
    pub missed_by_capture: u64,
    /// The percentiles that were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub percentiles: Option<Box<Percentiles>>,
}

/// Percentiles that were asked for, of each distribution in the order of `of`. They are as exact as
/// those of a [`Summary`].
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Percentiles {
    /// The percentiles, from 0 to 100.
    pub of: Vec<f64>,
    /// Values of [`Totals::payload_bytes`].
    pub payload_bytes: Vec<f64>,
    /// Values of [`Totals::interarrival_ms`].
    pub interarrival_ms: Vec<f64>,
    /// Values of [`Totals::packets_in_flight`].
    pub packets_in_flight: Vec<f64>,
    /// Values of [`Totals::round_trip_ms`].
    pub round_trip_ms: Vec<f64>,
    /// Values of all in [`Totals::ack_latency_ms`].
    pub ack_latency_ms: Vec<f64>,
}

/// Counts of a stream's packets, by contents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Packets {
    /// All packets of the stream.
    pub total: u64,
    /// Packets with user data, new or old.
    pub data: u64,
    /// Packets with nothing but an acknowledgement.
    pub pure_acks: u64,
    /// Packets with nothing but retransmitted user data.
    pub retransmissions: u64,
    /// Packets with new user data and copies of older.
    pub bundles: u64,
}

/// Packets with user data, by what became of them. Acknowledgements do not cover all of them: not
/// of those outstanding when the capture ended, nor of copies where an acknowledgement was lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct KnownFates {
    /// Packets that arrived, as acknowledgements show.
    pub arrived: u64,
    /// Packets that were lost, and whose data was retransmitted.
    pub lost: u64,
    /// Packets that were lost, and whose data arrived in a redundant copy.
    pub repaired: u64,
    /// Lost packets, or pairs with equal data whose acknowledgement was lost; two thirds count as
    /// lost.
    pub doubtful: u64,
    /// Needless retransmissions that were never reported as duplicates: they were lost, or that
    /// report was; half of them count as lost.
    pub silent: u64,
    /// Packets with user data of which acknowledgements say nothing; the estimate of the loss is
    /// without them.
    pub left_out: u64,
}

/// Bytes of user data, and of frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Bytes {
    /// Bytes of whole frames, link headers included.
    pub frames: u64,
    /// User data in all, retransmissions and copies included.
    pub payload: u64,
    /// Sent for the first time.
    pub unique: u64,
    /// Bytes of user data retransmitted.
    pub retransmitted: u64,
    /// Bytes of user data sent as redundant copies.
    pub redundant: u64,
}

/// Counts of retransmissions by their number among those of the same data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ByOrder {
    /// Retransmissions of data that had been sent once.
    pub first: u64,
    /// Retransmissions of data that had been retransmitted once.
    pub second: u64,
    /// Retransmissions of data that had been retransmitted twice.
    pub third: u64,
    /// Retransmissions of data that had been retransmitted three times or more.
    pub more: u64,
}

impl ByOrder {
    /// Number of retransmissions of any order.
    pub fn total(&self) -> u64 {
        self.first + self.second + self.third + self.more
    }
}

/// Retransmissions by the cause that the capture makes most probable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ByCause {
    /// Retransmissions that an expired timer explains.
    pub timeout: u64,
    /// Three reports of something sent later.
    pub fast: u64,
    /// One or two such reports.
    pub early: u64,
    /// Retransmissions in the packet of another (SCTP).
    pub bundled: u64,
    /// Probe of a tail whose acknowledgement was late.
    pub probe: u64,
    /// Retransmissions sooner than anything could be known.
    pub unknown: u64,
}

/// Counts of retransmissions of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Retransmissions {
    /// Number of retransmissions, each range of data counted.
    pub total: u64,
    /// Counts by how often the data had been sent before.
    pub by_order: ByOrder,
    /// Counts by the probable cause.
    pub by_cause: ByCause,
    /// Needless retransmissions that are known.
    pub spurious: u64,
    /// Needless retransmissions that the receiver reported to have got twice (D-SACK, duplicate
    /// TSNs).
    pub spurious_reported: u64,
    /// Needless retransmissions found otherwise: by an echoed timestamp, or an answer that came
    /// too soon.
    pub spurious_inferred: u64,
}

/// Acknowledgement latency, of all data and by how often they were retransmitted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct AckLatency {
    /// Latency of all data, whatever the number of its retransmissions.
    pub all: Summary,
    /// Latency of data that were never retransmitted.
    pub none: Summary,
    /// Latency of data that were retransmitted once.
    pub first: Summary,
    /// Latency of data that were retransmitted twice.
    pub second: Summary,
    /// Latency of data that were retransmitted more than twice.
    pub more: Summary,
}

/// Whether a stream is thin, and the numbers that decide it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Thin {
    /// Whether the stream is thin, in short: at least eight packets with user data, less than 700
    /// bytes in the mean, of which nine in ten were sent with so few in flight that no fast
    /// retransmission was possible.
    pub is_thin: bool,
    /// Share of new packets that were sent with fewer than 4 / (1 - loss) in flight (Petlund et
    /// al. 2009).
    pub share_by_loss: f64,
    /// Share of new packets that were sent with fewer than 4 in flight (Linux).
    pub share_below_four: f64,
    /// Round trip divided by the mean interval: packets that would be in flight at a constant
    /// rate.
    pub packets_per_round_trip: Option<f64>,
}

/// Numbers that only TCP has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TcpReport {
    /// Segments with SYN, repeated ones included.
    pub syn: u64,
    /// Segments with FIN, repeated ones included.
    pub fin: u64,
    /// Segments with RST, whatever else they carry.
    pub rst: u64,
    /// Segments that probe an idle connection (RFC 9293, section 3.8.4).
    pub keep_alives: u64,
}

/// Numbers that only SCTP has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SctpReport {
    /// Chunks that this side sent; SACKs are about the other direction's data.
    pub chunks: ChunkCounts,
    /// The association's streams, the first 1024.
    pub streams: Vec<StreamIdReport>,
    /// Pairs of addresses between which its packets went.
    pub paths: Vec<(String, String)>,
}

/// A stream of an association.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StreamIdReport {
    /// Stream identifier in the chunks.
    pub stream: u16,
    /// Messages and chunks sent on it, as fields beside the identifier.
    #[serde(flatten)]
    pub counts: StreamCounts,
}

/// Numbers of a direction from the receiver's capture.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ReceiverReport {
    /// Packets with user data, by their fate.
    pub packets: Losses,
    /// Bytes of user data in them.
    pub bytes: Losses,
    /// Bytes that were sent for the first time.
    pub new_bytes: Losses,
    /// Bytes that were sent before, by their fate.
    pub old_bytes: Losses,
    /// Share of packets that were lost.
    pub loss: f64,
    /// Packets whose fate the captures do not show, since the receiver's began later or ended
    /// earlier.
    pub undecided_packets: u64,
    /// Packets that arrived more often than they were sent.
    pub duplicated_packets: u64,
    /// Packets with new data that the sender's capture does not have.
    pub unmatched_packets: u64,
    /// Retransmissions that arrived and brought something new.
    pub retransmissions_needed: u64,
    /// Retransmissions that arrived and brought nothing new.
    pub retransmissions_needless: u64,
    /// Value of redundant data: losses that it repaired, and copies in vain.
    pub redundancy: Redundancy,
    /// Delays of packets beyond the least one-way delay.
    pub delay_variation_ms: Delays,
    /// Delay from first sending to arrival, beyond the least one-way delay; each byte counts.
    pub transport_delay_ms: Delays,
    /// Delay from first sending to delivery in order, beyond the least one-way delay; each byte
    /// counts.
    pub application_delay_ms: Delays,
    /// Drift by which the receiver's clock gains on the sender's, in millionths, and which was
    /// taken out of the delays.
    pub clock_drift_ppm: f64,
    /// Whether the drift was measured (in 30 s at the least), or taken to be none.
    pub clock_drift_known: bool,
    /// The least difference between arrival and sending as the two clocks show it.
    pub clock_difference_ms: f64,
}

impl ReceiverReport {
    /// Delays of packets, to the transport layer, and to the application.
    pub fn by_layer(&self) -> [&Delays; 3] {
        [&self.delay_variation_ms, &self.transport_delay_ms, &self.application_delay_ms]
    }
}

/// Value of redundant data: losses that they repaired.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Redundancy {
    /// Bundles that brought old data that had not arrived.
    pub packet_hits: u64,
    /// Bundles that brought only data that had arrived.
    pub packet_misses: u64,
    /// Bundles that were lost on the way.
    pub packets_lost: u64,
    /// Redundant bytes that had not arrived before.
    pub byte_hits: u64,
    /// Redundant bytes that had arrived before.
    pub byte_misses: u64,
}

/// A packet with user data.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PacketDetails {
    /// The packet's number in its stream, from 1.
    pub number: u64,
    /// Time of transmission, since the capture's first packet.
    pub time_s: f64,
    /// Time since the stream's packet before it.
    pub interval_ms: Option<f64>,
    /// Bytes of user data in the packet.
    pub payload_bytes: u32,
    /// Bytes of these that were not sent before.
    pub new_bytes: u32,
    /// Bytes on the wire, link-layer header included.
    pub frame_bytes: u32,
    /// New data, a retransmission, a bundle, or a mixture.
    pub kind: PacketKind,
    /// Packets in flight, itself included.
    pub in_flight: u32,
    /// Time from its sending until all that was new in it was acknowledged; `null` where that did
    /// not come, or nothing was new.
    pub ack_latency_ms: Option<f64>,
}
