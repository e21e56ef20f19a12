//! The peers against each other: what they do without us, and proof that the harness works.
#![cfg(target_os = "linux")]

use std::net::Ipv4Addr;

use interop::scenario::{
    kernel_client_against, kernel_has_no_association, usrsctp_client_against,
    usrsctp_server_behind_relay,
};
use interop::{
    Capture, EchoPlan, Encapsulation, GUEST, HOST, Impairment, Program, Report, Tshark, Uml,
    available, free_udp_port,
};

fn show(name: &str, report: &Report) {
    println!("{name}: connected in {:?}, round trips {:?}", report.connect, report.round_trip);
}

#[test]
fn usrsctp_talks_to_usrsctp_through_a_relay() {
    let Some(usrsctp) = available(Program::usrsctp()) else { return };
    let Some(tshark) = available(Tshark::find()) else { return };
    let folder = tempfile::tempdir().unwrap();
    let capture = Capture::create(&folder.path().join("run.pcap")).unwrap();
    let plan = EchoPlan::graded(500, 100_000);
    let impairment = Impairment::none().captured(&capture);
    let (server, relay) = usrsctp_server_behind_relay(&usrsctp, &plan, 1, &impairment).unwrap();
    let run = usrsctp_client_against(&usrsctp, relay.address(), &plan, &Impairment::none());
    let report = run.unwrap().report;
    show("usrsctp to usrsctp", &report);
    report.check(&plan).unwrap();
    let served = server.finish().unwrap();
    assert_eq!(served.len(), 1);
    served[0].check(&plan).unwrap();
    let verdict = tshark.judge(capture.path(), &[]).unwrap();
    verdict.check().unwrap();
    assert!(verdict.packets as u64 > plan.total() / 1500, "{verdict:?}");
}

#[test]
fn usrsctp_talks_to_usrsctp_through_ten_percent_loss() {
    let Some(usrsctp) = available(Program::usrsctp()) else { return };
    let plan = EchoPlan::graded(200, 1_000).with_fast_timers();
    let none = Impairment::none();
    let (server, relay) = usrsctp_server_behind_relay(&usrsctp, &plan, 1, &none).unwrap();
    let losing = Impairment::losing(10, 1);
    let run = usrsctp_client_against(&usrsctp, relay.address(), &plan, &losing).unwrap();
    show("usrsctp to usrsctp, 10 % loss", &run.report);
    assert!(run.relay.lost * 20 > run.relay.carried, "{:?}", run.relay);
    run.report.check(&plan).unwrap();
    drop(server);
}

#[test]
fn usrsctp_talks_to_the_kernel_and_back_over_udp_and_raw_ip() {
    let Some(usrsctp) = available(Program::usrsctp()) else { return };
    let Some(()) = available(Uml::find()) else { return };
    let started = std::time::Instant::now();
    let uml = Uml::boot().unwrap();
    println!("the guest is up after {:?}", started.elapsed());
    let plan = EchoPlan::graded(200, 100_000);
    let namespace = Some(uml.namespace());

    let relay = uml.relay_to_server(&Impairment::none()).unwrap();
    let run = usrsctp_client_against(&usrsctp, relay.address(), &plan, &Impairment::none());
    let report = run.unwrap().report;
    show("usrsctp to kernel, UDP through a relay", &report);
    report.check(&plan).unwrap();

    let direct = Encapsulation::Udp { local: 9900, remote: 9899 };
    let report = usrsctp.run_client(namespace, GUEST, direct, &plan).unwrap();
    show("usrsctp to kernel, UDP", &report);
    report.check(&plan).unwrap();

    let report = usrsctp.run_client(namespace, GUEST, Encapsulation::Raw, &plan).unwrap();
    show("usrsctp to kernel, raw IP", &report);
    report.check(&plan).unwrap();

    let port = free_udp_port().unwrap();
    let udp = Encapsulation::Udp { local: port, remote: 0 };
    let server = usrsctp.start_server(None, Ipv4Addr::LOCALHOST, udp, &plan, 1).unwrap();
    let outside = (Ipv4Addr::LOCALHOST, port).into();
    let run = kernel_client_against(&uml, outside, &plan, &Impairment::none()).unwrap();
    show("kernel to usrsctp, UDP", &run.report);
    run.report.check(&plan).unwrap();
    server.finish().unwrap()[0].check(&plan).unwrap();

    let server = usrsctp.start_server(namespace, HOST, Encapsulation::Raw, &plan, 1).unwrap();
    let report = uml.run_client(None, &plan).unwrap();
    show("kernel to usrsctp, raw IP", &report);
    report.check(&plan).unwrap();
    server.finish().unwrap()[0].check(&plan).unwrap();
    kernel_has_no_association(&uml).unwrap();
}

#[test]
fn usrsctp_talks_to_the_kernel_through_ten_percent_loss() {
    let Some(usrsctp) = available(Program::usrsctp()) else { return };
    let Some(()) = available(Uml::find()) else { return };
    let uml = Uml::boot().unwrap();
    let plan = EchoPlan::graded(100, 1_000).with_fast_timers();
    uml.set_timers(&plan).unwrap();
    uml.impair_sending(std::time::Duration::ZERO, 10).unwrap();
    uml.impair_receiving(10).unwrap();
    let namespace = Some(uml.namespace());
    let report = usrsctp.run_client(namespace, GUEST, Encapsulation::Raw, &plan).unwrap();
    show("usrsctp to kernel, raw IP, 10 % loss", &report);
    report.check(&plan).unwrap();
    assert!(report.round_trip[3] >= plan.rto_min, "nothing was lost: {:?}", report.round_trip);
    uml.mend().unwrap();
}
