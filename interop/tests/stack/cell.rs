//! One cell of the matrix: a peer in a role over a carrier through a network.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, UdpSocket};
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result};
use interop::{
    Capture, ECHO_PORT, EchoPlan, Encapsulation, GUEST, HOST, Impairment, Namespace, Program,
    Relay, Report, Tshark, Uml, free_udp_port,
};
use thinstream::{
    AssociationOptions, Carrier, Endpoint, EndpointOptions, PeerAddress, RecoveryPolicy,
};
use tokio::runtime::Handle;

use crate::ours::{self, Seen};

/// Where our endpoint is over raw IP, in a namespace of its own.
const OURS: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));
/// Where usrsctp is over raw IP, in a namespace of its own.
const THEIRS: Ipv4Addr = Ipv4Addr::LOCALHOST;
/// Where the relay is over raw IP, in the namespaces of both.
const RELAY: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 3);

/// Who is at the other end.
#[derive(Clone, Copy)]
pub(crate) enum Peer<'a> {
    Usrsctp(&'a Program),
    Kernel(&'a Uml),
}

/// What the other end does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Client,
    Server,
}

/// A run: who, how, over what.
#[derive(Clone)]
pub(crate) struct Cell<'a> {
    pub(crate) peer: Peer<'a>,
    pub(crate) role: Role,
    pub(crate) carrier: Carrier,
    pub(crate) policy: (&'static str, RecoveryPolicy),
    /// Of each packet, in each direction.
    pub(crate) loss_percent: u32,
    pub(crate) plan: EchoPlan,
    /// Tells this cell's addresses in the guest's namespace from others' at the same time.
    pub(crate) number: u8,
}

impl fmt::Display for Cell<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let peer = match self.peer {
            Peer::Usrsctp(_) => "usrsctp",
            Peer::Kernel(_) => "kernel",
        };
        let Cell { role, carrier, loss_percent, policy: (policy, _), .. } = self;
        write!(f, "{peer} as {role:?} over {carrier:?}, {loss_percent} % loss, {policy}")
    }
}

impl Cell<'_> {
    /// Runs the plan, and judges bytes, ends and every packet.
    pub(crate) fn run(&self, runtime: &Handle, tshark: Option<&Tshark>) -> Result<()> {
        let folder = tempfile::tempdir()?;
        let capture = Capture::create(&folder.path().join("run.pcap"))?;
        let seed = u64::from(self.number);
        let impairment = Impairment::losing(self.loss_percent, seed).captured(&capture);
        let started = Instant::now();
        let outcome = match self.role {
            Role::Client => self.run_peer_as_client(runtime, &impairment),
            Role::Server => self.run_peer_as_server(runtime, &impairment),
        };
        let took = started.elapsed();
        let outcome = outcome.and_then(|text| {
            println!("{self}: {took:.1?}; {text}");
            tshark.map_or(Ok(()), |tshark| judge(tshark, capture.path()))
        });
        if outcome.is_err() {
            println!("{self}: failed after {took:.1?}; packets in {}", folder.keep().display());
        }
        outcome.with_context(|| self.to_string())
    }

    fn run_peer_as_client(&self, runtime: &Handle, impairment: &Impairment) -> Result<String> {
        let (endpoint, ours) = self.our_endpoint(runtime)?;
        let served = ours::serve_one(runtime, &endpoint);
        let (relay, report) = match self.carrier {
            Carrier::Udp => self.client_over_udp(&endpoint, impairment)?,
            Carrier::RawIp => self.client_over_raw_ip(ours.as_ref(), impairment)?,
        };
        report.check(&self.plan)?;
        anyhow::ensure!(report.boundaries_kept, "the peer got messages in parts");
        let seen = ours::within(runtime, self.plan.limit, served)???;
        match self.loss_percent {
            0 => seen.check(&self.plan)?,
            _ => seen.check_after_lossy_end(&self.plan)?,
        }
        let [_, median, _, most] = report.round_trip;
        let lost = relay.counts().lost;
        let set_up = report.connect;
        Ok(format!(
            "{lost} lost; set up in {set_up:?}, peer's p50 {median:?}, max {most:?}; {}",
            seen.summary()
        ))
    }

    fn client_over_udp(
        &self,
        endpoint: &Endpoint,
        impairment: &Impairment,
    ) -> Result<(Relay, Report)> {
        let address = endpoint.local_addr();
        match self.peer {
            Peer::Usrsctp(usrsctp) => {
                let relay = Relay::on_loopback(address, impairment)?;
                let (local, remote) = (free_udp_port()?, relay.address().port());
                let udp = Encapsulation::Udp { local, remote };
                let report = usrsctp.run_client(None, THEIRS, udp, &self.plan)?;
                Ok((relay, report))
            }
            Peer::Kernel(uml) => {
                let relay = uml.relay_from_client(address, impairment)?;
                let report = uml.run_client(Some(relay.address().port()), &self.plan)?;
                Ok((relay, report))
            }
        }
    }

    fn client_over_raw_ip(
        &self,
        ours: Option<&Namespace>,
        impairment: &Impairment,
    ) -> Result<(Relay, Report)> {
        let far = raw_socket(ours, RELAY)?;
        match self.peer {
            Peer::Usrsctp(usrsctp) => {
                let theirs = loopback_like_ethernet()?;
                let near = raw_socket(Some(&theirs), RELAY)?;
                let relay = Relay::start_raw(near, far, OURS, impairment)?;
                let raw = Encapsulation::Raw;
                let report = usrsctp.run_client(Some(&theirs), RELAY, raw, &self.plan)?;
                Ok((relay, report))
            }
            Peer::Kernel(uml) => {
                let near = self.raw_socket_at_guest(uml)?;
                let relay = Relay::start_raw(near, far, OURS, impairment)?;
                let report =
                    uml.run_client_to(self.address_at_guest(), ECHO_PORT, None, &self.plan)?;
                Ok((relay, report))
            }
        }
    }

    fn run_peer_as_server(&self, runtime: &Handle, impairment: &Impairment) -> Result<String> {
        let (endpoint, ours) = self.our_endpoint(runtime)?;
        match self.peer {
            Peer::Usrsctp(usrsctp) => {
                let (theirs, encapsulation, port) = match self.carrier {
                    Carrier::Udp => {
                        let port = free_udp_port()?;
                        (None, Encapsulation::Udp { local: port, remote: 0 }, port)
                    }
                    Carrier::RawIp => (Some(loopback_like_ethernet()?), Encapsulation::Raw, 0),
                };
                let server =
                    usrsctp.start_server(theirs.as_ref(), THEIRS, encapsulation, &self.plan, 1)?;
                let relay = match self.carrier {
                    Carrier::Udp => Relay::on_loopback((THEIRS, port).into(), impairment)?,
                    Carrier::RawIp => {
                        let near = raw_socket(ours.as_ref(), RELAY)?;
                        let far = raw_socket(theirs.as_ref(), RELAY)?;
                        Relay::start_raw(near, far, THEIRS.into(), impairment)?
                    }
                };
                let text = self.run_our_client(runtime, &endpoint, &relay, true)?;
                let served = server.finish()?;
                served.first().context("the server saw no association")?.check(&self.plan)?;
                Ok(text)
            }
            Peer::Kernel(uml) => {
                let relay = match self.carrier {
                    Carrier::Udp => uml.relay_to_server(impairment)?,
                    Carrier::RawIp => {
                        let near = raw_socket(ours.as_ref(), RELAY)?;
                        let far = self.raw_socket_at_guest(uml)?;
                        Relay::start_raw(near, far, GUEST.into(), impairment)?
                    }
                };
                self.run_our_client(runtime, &endpoint, &relay, false)
            }
        }
    }

    fn run_our_client(
        &self,
        runtime: &Handle,
        endpoint: &Endpoint,
        relay: &Relay,
        boundaries: bool,
    ) -> Result<String> {
        let port = match self.carrier {
            Carrier::Udp => relay.address().port(),
            Carrier::RawIp => 0,
        };
        let address = (relay.address().ip(), port).into();
        let to = PeerAddress { address, sctp_port: ECHO_PORT };
        let run = async {
            let started = Instant::now();
            let association = endpoint.connect(to, self.options()).await?;
            let set_up = started.elapsed();
            let seen = ours::run_client(&association, &self.plan, boundaries).await?;
            anyhow::Ok((set_up, seen))
        };
        let (set_up, seen): (_, Seen) = ours::within(runtime, self.plan.limit, run)??;
        seen.check(&self.plan)?;
        let lost = relay.counts().lost;
        Ok(format!("{lost} lost; set up in {set_up:?}; {}", seen.summary()))
    }

    /// Our endpoint, and the namespace where it lives if it does not live in the machine's.
    fn our_endpoint(&self, runtime: &Handle) -> Result<(Endpoint, Option<Namespace>)> {
        // A client has a SCTP port of its own: peers that forget the UDP port would take two for one.
        let options = match self.role {
            Role::Client => ours::server(),
            Role::Server => EndpointOptions::client(),
        };
        let (carrier, accepted) = (self.carrier, self.options());
        let options = EndpointOptions { carrier, accepted, ..options };
        let (namespace, ip) = match self.carrier {
            Carrier::Udp => (None, Ipv4Addr::LOCALHOST.into()),
            Carrier::RawIp => (Some(loopback_like_ethernet()?), OURS),
        };
        let at = (ip, 0).into();
        let endpoint = ours::bind(runtime, namespace.as_ref(), at, options)?;
        Ok((endpoint, namespace))
    }

    fn options(&self) -> AssociationOptions {
        ours::with_policy(self.policy.1.clone())
    }

    /// An address at the guest's wire that no other cell uses.
    fn address_at_guest(&self) -> Ipv4Addr {
        let [a, b, c, _] = HOST.octets();
        Ipv4Addr::new(a, b, c, 100 + self.number)
    }

    fn raw_socket_at_guest(&self, uml: &Uml) -> Result<UdpSocket> {
        let address = self.address_at_guest();
        uml.add_address(address)?;
        raw_socket(Some(uml.namespace()), address)
    }
}

/// Runs all cells at the same time: they wait more than they work. All that went wrong, in one error.
pub(crate) fn run_all(cells: &[Cell<'_>], runtime: &Handle, tshark: Option<&Tshark>) {
    let failures: Vec<String> = std::thread::scope(|scope| {
        let run = |cell: &Cell<'_>| cell.run(runtime, tshark).err();
        let threads: Vec<_> = cells.iter().map(|cell| scope.spawn(move || run(cell))).collect();
        let ends = threads.into_iter().map(|thread| thread.join().expect("a cell does not panic"));
        ends.flatten().map(|error| format!("{error:#}")).collect()
    });
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Whether the dissector finds all packets well-formed, with right checksums.
pub(crate) fn judge(tshark: &Tshark, capture: &Path) -> Result<()> {
    tshark.judge(capture, &[])?.check()
}

/// A namespace whose loopback carries packets no larger than Ethernet's.
fn loopback_like_ethernet() -> Result<Namespace> {
    let namespace = Namespace::new()?;
    namespace.ip("link set lo mtu 1500")?;
    Ok(namespace)
}

fn raw_socket(namespace: Option<&Namespace>, address: Ipv4Addr) -> Result<UdpSocket> {
    let open = || Relay::raw_socket(address.into());
    match namespace {
        Some(namespace) => namespace.enter(open)?,
        None => open(),
    }
}
