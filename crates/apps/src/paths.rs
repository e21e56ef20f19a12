//! The paths of an association, for people and for programs.

use base::Duration;
use serde::Serialize;
use thinstream::{
    Association, AssociationOptions, AssociationStats, PathChange, PathEvent, PathState, PathStats,
    RedundantWhen,
};

/// A path of an association in the end.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PathReport {
    /// IP address of the peer, with the UDP port if there is one.
    pub remote: String,
    /// The local address; none if the system chose it.
    pub local: Option<String>,
    /// `unconfirmed`, `active`, `potentially failed` or `inactive`.
    pub state: &'static str,
    /// Whether SCTP prefers the path for new data (RFC 9260, section 6.4).
    pub primary: bool,
    /// Whether new data takes it.
    pub carries_data: bool,
    /// Smoothed round-trip time, in milliseconds.
    pub srtt_ms: Option<f64>,
    /// Retransmission timeout in force, in milliseconds.
    pub rto_ms: f64,
    /// Packets with DATA chunks that were sent on the path.
    pub data_packets: u32,
    /// Packets sent with nothing but redundant copies.
    pub redundant_packets: u32,
    /// HEARTBEAT chunks sent on the path.
    pub heartbeats: u32,
}

/// A row for each path, in the order in which they came to be.
pub(crate) fn reports(stats: &AssociationStats) -> Vec<PathReport> {
    let row = |(index, path): (usize, &PathStats)| PathReport {
        remote: path.remote.to_string(),
        local: path.local.map(|local| local.to_string()),
        state: if path.confirmed { name(path.state) } else { "unconfirmed" },
        primary: index == usize::from(stats.primary_path),
        carries_data: index == usize::from(stats.data_path),
        srtt_ms: path.recovery.srtt.map(Duration::as_millis_f64),
        rto_ms: path.recovery.rto.as_millis_f64(),
        data_packets: path.counters.data_packets_sent,
        redundant_packets: path.counters.copies_sent,
        heartbeats: path.counters.heartbeats_sent,
    };
    stats.paths.iter().enumerate().map(row).collect()
}

/// Whether data is to go on several paths, and there is but one.
pub(crate) fn lacks_second(association: &Association, options: &AssociationOptions) -> bool {
    options.switchover.redundancy.when != RedundantWhen::Never
        && association.stats().is_some_and(|stats| stats.paths.len() < 2)
}

impl std::fmt::Display for PathReport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let local = self.local.as_deref().unwrap_or("any address");
        let roles = [(self.primary, ", primary"), (self.carries_data, ", carries data")];
        let roles: String = roles.iter().filter(|role| role.0).map(|role| role.1).collect();
        let srtt = self.srtt_ms.map_or("none".to_owned(), |srtt| format!("{srtt:.2} ms"));
        let PathReport { remote, state, rto_ms, data_packets, redundant_packets, .. } = self;
        write!(
            f,
            "{remote} from {local}: {state}{roles}; SRTT {srtt}, RTO {rto_ms:.0} ms, \
             {data_packets} packets with data, {redundant_packets} redundant"
        )
    }
}

fn name(state: PathState) -> &'static str {
    match state {
        PathState::Active => "active",
        PathState::PotentiallyFailed => "potentially failed",
        PathState::Inactive => "inactive",
    }
}

/// Waits for changes of paths and describes them, one line for those that came at once; `None` once
/// the association has ended.
pub(crate) async fn next_changes(association: &Association) -> Option<Vec<String>> {
    let first = association.path_event().await?;
    let mut events = vec![first];
    events.extend(std::iter::from_fn(|| association.try_path_event()));
    Some(describe(&events))
}

/// `12.3 s: path 127.0.0.1:9901 potentially failed; data takes 127.0.0.2:9901`. That the first path
/// was confirmed goes without saying.
fn describe(events: &[PathEvent]) -> Vec<String> {
    let told = |event: &PathEvent| event.path > 0 || event.change != PathChange::Confirmed;
    let events: Vec<_> = events.iter().copied().filter(told).collect();
    let at_once = events.chunk_by(|one, next| one.at == next.at);
    at_once
        .map(|group| {
            let changes: Vec<_> = group.iter().map(change).collect();
            format!("{:.1} s: {}", group[0].at.as_secs_f64(), changes.join("; "))
        })
        .collect()
}

fn change(event: &PathEvent) -> String {
    let remote = event.remote;
    match event.change {
        PathChange::Confirmed => format!("path {remote} confirmed"),
        PathChange::State(state) => format!("path {remote} {}", name(state)),
        PathChange::Primary => format!("path {remote} is the primary one"),
        PathChange::CarriesData => format!("data takes {remote}"),
    }
}

#[cfg(test)]
mod tests {
    use base::Instant;

    use super::*;

    #[test]
    fn changes_that_come_at_once_are_one_line() {
        let event = |millis, path: u8, change| PathEvent {
            at: Instant::from_millis(millis),
            path,
            remote: format!("127.0.0.{}:9901", path + 1).parse().unwrap(),
            change,
        };
        let lines = describe(&[
            event(20, 0, PathChange::Confirmed),
            event(130, 1, PathChange::Confirmed),
            event(12_340, 0, PathChange::State(PathState::PotentiallyFailed)),
            event(12_340, 1, PathChange::CarriesData),
            event(15_000, 0, PathChange::State(PathState::Active)),
        ]);
        assert_eq!(
            lines,
            [
                "0.1 s: path 127.0.0.2:9901 confirmed",
                "12.3 s: path 127.0.0.1:9901 potentially failed; data takes 127.0.0.2:9901",
                "15.0 s: path 127.0.0.1:9901 active",
            ]
        );
    }
}
