use std::collections::BTreeMap;

mod several;

use super::*;
use crate::edge::Service;

/// A system with these settings.
#[derive(Default)]
struct Settings(BTreeMap<String, String>);

impl System for Settings {
    fn read(&self, setting: &str) -> Option<String> {
        self.0.get(setting).cloned()
    }

    fn interfaces(&self) -> Vec<String> {
        ["edge0", "eth0", "eth1.7", "lo"].map(str::to_owned).into()
    }

    fn tables(&self) -> Result<String, RouteError> {
        Err(RouteError::Refused("this one does not run as root".into()))
    }
}

fn system(settings: &[(&str, &str)]) -> Settings {
    Settings(settings.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect())
}

fn options(outside: Option<&str>, addresses: &[&str]) -> EdgeOptions {
    let addresses = addresses.iter().map(|text| text.parse().unwrap()).collect();
    let mut options = EdgeOptions::new(addresses);
    options.outside = outside.map(str::to_owned);
    options.services.push(Service::new("22".parse().unwrap(), "127.0.0.1:22".parse().unwrap()));
    options
}

fn plan(system: &Settings, options: &EdgeOptions) -> String {
    Routes::plan_on(system, options, "edge0").to_string()
}

const BOTH: [&str; 2] = ["10.78.0.2/24", "fd78::2/64"];

#[test]
fn the_rules_name_each_port_in_both_families_and_the_device() {
    let new_kernel = system(&[
        ("net.ipv6.conf.eth0.force_forwarding", "0"),
        ("net.ipv6.conf.edge0.force_forwarding", "0"),
    ]);
    let text = plan(&new_kernel, &options(Some("eth0"), &BOTH));
    for expected in [
        "sysctl -w net.ipv4.conf.eth0.forwarding=1",
        "sysctl -w net.ipv4.conf.edge0.forwarding=1",
        "sysctl -w net.ipv6.conf.eth0.force_forwarding=1",
        "sysctl -w net.ipv6.conf.edge0.force_forwarding=1",
        "tcp dport 22 tcp flags & (fin | syn | rst | ack) == syn dnat ip to 10.78.0.2:22",
        "tcp dport 22 tcp flags & (fin | syn | rst | ack) == syn dnat ip6 to [fd78::2]:22",
        "iifname \"eth0\"",
        "ip route add 10.78.0.0/24 via",
    ] {
        assert!(text.contains(expected), "{expected} is not in\n{text}");
    }
    assert!(!text.contains("ip_forward") && !text.contains("conf.all"), "{text}");
}

#[test]
fn without_an_interface_to_come_from_clients_come_by_all_that_there_are() {
    let text = plan(&system(&[]), &options(None, &["10.78.0.2/24"]));
    let set: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("sysctl -w ")).collect();
    let expected = [
        "net.ipv4.conf.eth0.forwarding=1",
        "net.ipv4.conf.eth1/7.forwarding=1",
        "net.ipv4.conf.edge0.forwarding=1",
    ];
    assert_eq!(set, expected);
}

#[test]
fn a_machine_that_was_no_router_becomes_one_for_the_edge_only() {
    let drops = |value| {
        let system = system(&[("net.ipv4.conf.eth0.forwarding", value)]);
        let text = plan(&system, &options(Some("eth0"), &["10.78.0.2/24"]));
        let drops = text.lines().filter(|line| line.contains("drop"));
        drops.map(|line| line.trim().to_owned()).collect::<Vec<_>>()
    };
    let packets = "meta nfproto ipv4 iifname { \"eth0\" } oifname != \"edge0\"";
    let expected = ["new ct status & dnat == 0", "{ invalid, untracked }"]
        .map(|kind| format!("{packets} ct state {kind} drop"));
    assert_eq!(drops("0"), expected);
    assert!(drops("1").is_empty(), "what was forwarded still is");
}

#[test]
fn where_one_switch_makes_a_router_of_ipv6_the_machine_still_hears_its_own() {
    let old_kernel =
        system(&[("net.ipv6.conf.eth0.accept_ra", "1"), ("net.ipv6.conf.edge0.accept_ra", "0")]);
    let text = plan(&old_kernel, &options(Some("eth0"), &["fd78::2/64"]));
    let set: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("sysctl -w ")).collect();
    assert_eq!(set, ["net.ipv6.conf.eth0.accept_ra=2", "net.ipv6.conf.all.forwarding=1"]);
}

#[test]
fn a_machine_that_was_no_router_of_ipv6_becomes_one_for_the_edge_only() {
    let drops = |settings: &[(&str, &str)]| {
        let text = plan(&system(settings), &options(Some("eth0"), &["fd78::2/64"]));
        let line = text.lines().find(|line| line.contains("drop"));
        line.map(|line| line.split(" ct state").next().unwrap().trim().to_owned())
    };
    let (switch, forced) = ("net.ipv6.conf.all.forwarding", "net.ipv6.conf.eth0.force_forwarding");
    let own = ("net.ipv6.conf.edge0.force_forwarding", "0");
    let by_eth0 = "meta nfproto ipv6 iifname { \"eth0\" } oifname != \"edge0\"";
    assert_eq!(drops(&[(switch, "0"), (forced, "0"), own]).as_deref(), Some(by_eth0));
    assert_eq!(drops(&[(switch, "0"), (forced, "1"), own]), None, "what was forwarded still is");
    assert_eq!(drops(&[(switch, "1"), (forced, "0"), own]), None, "what was forwarded still is");
    // Before Linux 6.17 the switch lets in what comes by other interfaces, too.
    let by_any = "meta nfproto ipv6 iifname != \"edge0\" oifname != \"edge0\"";
    assert_eq!(drops(&[(switch, "0")]).as_deref(), Some(by_any));
    assert_eq!(drops(&[(switch, "1")]), None, "what was forwarded still is");
}
