//! A NAT that forgets its mapping in mid-association: the UDP port of one side changes, and the
//! other follows (RFC 6951, section 5.4).

use std::net::{Ipv4Addr, UdpSocket};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use interop::{
    EchoPlan, Encapsulation, HOST, Impairment, Namespace, Program, Relay, Uml, available,
    free_udp_port,
};

use crate::ours::{self, runtime};

fn plan() -> EchoPlan {
    EchoPlan::graded(400, 2_000).with_fast_timers()
}

fn loopback_socket() -> UdpSocket {
    UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a UDP port")
}

/// Gives the client another port as soon as it has sent a part of its messages.
fn rebind_in_between(relay: &Relay, far: UdpSocket) -> Result<()> {
    const ENOUGH: u64 = 200;
    let mut patience = 20_000;
    while relay.counts().carried < ENOUGH {
        patience -= 1;
        ensure!(patience > 0, "{:?} packets only", relay.counts());
        std::thread::sleep(Duration::from_millis(1));
    }
    relay.rebind(far)
}

/// Runs `peer`, a client that sends to `relay`, which sends to our server, and judges our side.
fn judge_our_server(
    relay_and_peer: impl FnOnce(std::net::SocketAddr) -> Result<(Relay, PeerClient)>,
) -> Result<()> {
    let runtime = runtime();
    let server = ours::server_on_loopback(runtime.handle())?;
    let served = ours::serve_one(runtime.handle(), &server);
    let (relay, peer) = relay_and_peer(server.local_addr())?;
    let client = std::thread::spawn(peer);
    let far = loopback_socket();
    let port = far.local_addr()?.port();
    rebind_in_between(&relay, far)?;
    client.join().expect("the client's thread")?;
    let seen = ours::within(runtime.handle(), plan().limit, served)???;
    seen.check(&plan())?;
    println!("{}", seen.summary());
    let stats = seen.stats.context("statistics")?;
    ensure!(stats.paths[0].remote.port() == port, "the path did not follow: {stats:?}");
    Ok(())
}

type PeerClient = Box<dyn FnOnce() -> Result<()> + Send>;

/// Runs our client through `relay`, whose server sees another port in mid-association.
fn judge_our_client(relay: &Relay, far: UdpSocket) -> Result<()> {
    let runtime = runtime();
    let association = ours::connect(runtime.handle(), relay.address())?;
    let client = runtime.spawn(async move { ours::run_client(&association, &plan()).await });
    rebind_in_between(relay, far)?;
    let seen = ours::within(runtime.handle(), plan().limit, client)???;
    println!("{}", seen.summary());
    seen.check(&plan())
}

#[test]
fn our_server_follows_a_usrsctp_client_whose_nat_rebinds() {
    let Some(usrsctp) = available(Program::usrsctp()) else { return };
    judge_our_server(|server| {
        let relay = Relay::on_loopback(server, &Impairment::none())?;
        let udp = Encapsulation::Udp { local: free_udp_port()?, remote: relay.address().port() };
        let client =
            move || usrsctp.run_client(None, Ipv4Addr::LOCALHOST, udp, &plan())?.check(&plan());
        Ok((relay, Box::new(client) as PeerClient))
    })
    .unwrap();
}

#[test]
fn our_server_follows_a_kernel_client_whose_nat_rebinds() {
    let Some(()) = available(Uml::find()) else { return };
    let uml = Uml::boot().unwrap();
    judge_our_server(|server| {
        let relay = uml.relay_from_client(server, &Impairment::none())?;
        let port = relay.address().port();
        let client = move || uml.run_client(Some(port), &plan())?.check(&plan());
        Ok((relay, Box::new(client) as PeerClient))
    })
    .unwrap();
}

#[test]
fn a_usrsctp_server_follows_our_client_when_its_nat_rebinds() {
    let Some(usrsctp) = available(Program::usrsctp()) else { return };
    let port = free_udp_port().unwrap();
    let udp = Encapsulation::Udp { local: port, remote: 0 };
    let server = usrsctp.start_server(None, Ipv4Addr::LOCALHOST, udp, &plan(), 1).unwrap();
    let relay =
        Relay::on_loopback((Ipv4Addr::LOCALHOST, port).into(), &Impairment::none()).unwrap();
    judge_our_client(&relay, loopback_socket()).unwrap();
    server.finish().unwrap()[0].check(&plan()).unwrap();
}

#[test]
fn the_kernel_as_server_follows_our_client_when_its_nat_rebinds() {
    let Some(()) = available(Uml::find()) else { return };
    let uml = Uml::boot().unwrap();
    uml.set_timers(&plan()).unwrap();
    let relay = uml.relay_to_server(&Impairment::none()).unwrap();
    let namespace: &Namespace = uml.namespace();
    let far = namespace.enter(|| UdpSocket::bind((HOST, 0))).unwrap().unwrap();
    judge_our_client(&relay, far).unwrap();
}
