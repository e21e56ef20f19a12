//! ICMP (RFC 5927; RFC 9293, section 3.9.2.2): the connection that a message is about, and the
//! proof that its sender saw an outstanding segment.

use core::net::SocketAddr;

use base::{Icmp, Instant};

use super::Endpoint;
use crate::wire::Quoted;

impl Endpoint {
    pub(super) fn on_icmp(&mut self, now: Instant, icmp: Icmp<'_>) {
        let found = Quoted::parse(icmp.quoted).and_then(|quoted| {
            let local = SocketAddr::new(icmp.local?, quoted.source_port);
            let remote = SocketAddr::new(icmp.remote.ip(), quoted.destination_port);
            let id = self.table.find(local, remote)?;
            self.table.get(id).filter(|own| own.has_outstanding(quoted.seq)).map(|_| id)
        });
        match found {
            Some(id) => {
                self.stats.icmp += 1;
                self.with(now, id, |connection| connection.on_icmp(now, icmp.error));
            }
            None => self.stats.icmp_ignored += 1,
        }
    }
}
