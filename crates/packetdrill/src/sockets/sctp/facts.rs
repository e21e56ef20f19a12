//! Facts about the association created last for assertions: `sctpi_…`, modelled on the kernel's
//! `tcpi_…`.

use base::Duration;
use recovery::PathSnapshot;

use super::Sockets;

impl Sockets {
    /// The number called `name`, if it exists now. Times are in microseconds, sizes in bytes; the
    /// path is the primary one.
    pub(crate) fn fact(&self, name: &str) -> Option<i64> {
        let name = name.strip_prefix("sctpi_")?;
        let stack = self.stacks.last()?;
        let (id, _) = stack.associations.last_key_value()?;
        let stats = stack.endpoint.association(*id)?.stats();
        let path = stats.paths.first()?;
        let number = |number: u64| i64::try_from(number).ok();
        match name {
            "error_count" => Some(stats.error_count.into()),
            "peer_rwnd" => number(stats.peer_rwnd),
            "queued" => number(stats.queued_bytes as u64),
            "outstanding" => number(stats.outstanding_bytes as u64),
            "path_active" => Some(path.active.into()),
            "path_error_count" => Some(path.error_count.into()),
            "timeouts" => number(stats.recovery.timeouts),
            "fast_recoveries" => number(stats.recovery.fast_recoveries),
            "retransmissions" => number(stats.recovery.retransmissions.total()),
            "spurious" => number(stats.recovery.spurious),
            _ => of_path(&path.recovery, name),
        }
    }
}

fn of_path(path: &PathSnapshot, name: &str) -> Option<i64> {
    // Before a threshold is set, it is the largest number.
    let number = |number: u64| Some(i64::try_from(number).unwrap_or(i64::MAX));
    let micros = |span: Duration| number(span.as_nanos() / 1000);
    match name {
        "cwnd" => number(path.cwnd),
        "ssthresh" => number(path.ssthresh),
        "partial_bytes_acked" => number(path.partial_bytes_acked),
        "flight" => number(path.flight.bytes),
        "flight_packets" => number(path.flight.packets.into()),
        "rto" => micros(path.rto),
        "srtt" => path.srtt.map_or(Some(0), micros),
        "thin" => Some(path.thin.into()),
        _ => None,
    }
}
