//! A run with two paths: the first is cut in the middle, or the client moves from the first to the
//! second.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};

use super::moving::{BEFORE_THE_DELETION, changes_of};
use super::paths::Paths;
use super::run::Run;
use super::{Column, Matrix, Network};
use crate::SCTP_UDP_PORT;
use crate::agent::{Agent, Part};
use crate::capture::Capture;
use crate::live::{Carrier, Live, Socket, randomness};
use crate::ours::Ours;
use crate::plan::EchoPlan;
use crate::program::Encapsulation;

/// Messages after which the first path is cut.
const BEFORE_THE_CUT: usize = 50;
/// Our UDP port, which no other program uses.
const OUR_UDP_PORT: u16 = 19_899;

impl Run {
    pub(super) fn over_two_paths(
        &self,
        matrix: &Matrix,
        carrier: Carrier,
        plan: &EchoPlan,
        capture: &Capture,
    ) -> Result<String> {
        let paths = Paths::new(matrix, self.column, self.number)?;
        let udp_port = match carrier {
            Carrier::Udp => OUR_UDP_PORT + u16::from(self.number),
            Carrier::RawIp => 0,
        };
        let own = paths.our_addresses().map(|ip| SocketAddr::new(ip, udp_port));
        let handle = matrix.runtime.handle();
        let socket = Socket::bind(handle, Some(&paths.ours), carrier, &own)?;
        let plan = &self.plan_for(plan, &paths);
        let named = if self.moves() && self.part == Part::Client { &own[..1] } else { &own[..] };
        let agent = |ours| Agent::new(ours, Arc::new(plan.clone()), self.part);
        let (options, random) = (self.options(plan), randomness()?);
        let live = match self.part {
            Part::Server => {
                let ours = Ours::server(options, self.our_port(), named, random);
                let live = socket.run(agent(ours), Some(capture));
                self.switch(&live, &paths, plan, || {
                    self.peer_as_client(matrix, &paths, udp_port, plan)
                })?;
                live
            }
            Part::Client => {
                let port = if carrier == Carrier::Udp { SCTP_UDP_PORT } else { 0 };
                let to = paths.their_addresses.map(|ip| SocketAddr::new(ip.into(), port));
                let to = (vec![to[0]], self.peer_port());
                let ours = Ours::client(options, self.client_port(), named, to, random);
                let finish = self.start_peer_as_server(matrix, &paths, carrier, plan)?;
                let live = socket.run(agent(ours), Some(capture));
                self.switch(&live, &paths, plan, || {
                    live.wait(plan.limit)?;
                    finish()
                })?;
                live
            }
        };
        let seen = live.wait(plan.limit)?;
        seen.check(plan, self.part, false).context("ours")?;
        let stats = live.stats().context("no association")?;
        let sent = stats.paths.iter().map(|path| path.counters.data_packets_sent);
        let sent: Vec<u32> = sent.collect();
        match self.exercise.network {
            Network::ClientMoves => self.check_move(&paths, capture)?,
            _ => {
                ensure!(
                    sent.len() == 2 && !sent.contains(&0),
                    "packets with DATA by path: {sent:?}"
                );
            }
        }
        Ok(format!("{}; packets with DATA by path: {sent:?}", seen.summary()))
    }

    pub(super) fn moves(&self) -> bool {
        self.exercise.network == Network::ClientMoves
    }

    /// The plan with the addresses of both sides.
    fn plan_for(&self, plan: &EchoPlan, paths: &Paths) -> EchoPlan {
        let mut plan = EchoPlan { addresses: paths.their_addresses.to_vec(), ..plan.clone() };
        if self.moves() {
            let client = match self.part {
                Part::Client => paths.our_addresses,
                Part::Server => {
                    plan.addresses.truncate(1);
                    paths.their_addresses
                }
            };
            plan.address_changes = changes_of(client);
            if self.column == Column::UsrsctpUdp {
                // Over UDP its source addresses follow the routes: to send from the address that
                // stays it must send to where that leads.
                plan.towards = Some((BEFORE_THE_DELETION, paths.our_addresses[1]));
            }
        }
        plan
    }

    /// Lets the peer do its part, and cuts the first path meanwhile if that is to happen.
    fn switch(
        &self,
        live: &Live,
        paths: &Paths,
        plan: &EchoPlan,
        peer: impl FnOnce() -> Result<()> + Send,
    ) -> Result<()> {
        std::thread::scope(|scope| {
            let peer = scope.spawn(peer);
            let cut = match self.exercise.network {
                Network::FirstPathCut => live
                    .wait_for_messages(BEFORE_THE_CUT, plan.limit)
                    .and_then(|()| paths.cut().context("cannot cut the path")),
                _ => Ok(()),
            };
            let peer = peer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            let stats = || format!("ours: {}, {:?}", live.seen().summary(), live.stats());
            peer.and(cut).with_context(stats)
        })
    }

    fn peer_as_client(
        &self,
        matrix: &Matrix,
        paths: &Paths,
        udp_port: u16,
        plan: &EchoPlan,
    ) -> Result<()> {
        let to = paths.our_addresses[0];
        let report = match (&matrix.uml, self.program(matrix)) {
            (Ok(uml), _) if self.column.is_kernel() => {
                let udp = Some(udp_port).filter(|port| *port != 0);
                uml.run_client_to(to, self.our_port(), udp, plan)
            }
            (_, Some(program)) => {
                let encapsulation = match udp_port {
                    0 => Encapsulation::Raw,
                    remote => Encapsulation::Udp { local: SCTP_UDP_PORT, remote },
                };
                program.run_client(paths.theirs.as_ref(), to, encapsulation, plan)
            }
            _ => bail!("no peer"),
        };
        report?.check(plan)
    }

    /// Starts the peer's server; what is returned waits for its end and judges it.
    fn start_peer_as_server(
        &self,
        matrix: &Matrix,
        paths: &Paths,
        carrier: Carrier,
        plan: &EchoPlan,
    ) -> Result<Box<dyn FnOnce() -> Result<()> + Send>> {
        let plan = plan.clone();
        match (&matrix.uml, self.program(matrix)) {
            (Ok(uml), _) if self.column.is_kernel() => {
                let server = uml.start_server(self.peer_port(), &plan)?;
                Ok(Box::new(move || server.finish()?.check(&plan)))
            }
            (_, Some(program)) => {
                let encapsulation = match carrier {
                    Carrier::RawIp => Encapsulation::Raw,
                    Carrier::Udp => Encapsulation::Udp { local: SCTP_UDP_PORT, remote: 0 },
                };
                let namespace = paths.theirs.as_ref();
                let any = Ipv4Addr::UNSPECIFIED;
                let server = program.start_server(namespace, any, encapsulation, &plan, 1)?;
                Ok(Box::new(move || server.finish_anyhow()?.check(&plan)))
            }
            _ => bail!("no peer"),
        }
    }
}
