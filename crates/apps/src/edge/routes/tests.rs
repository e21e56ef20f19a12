use super::*;
use crate::edge::Service;

/// A kernel that reports these connections.
#[derive(Default)]
struct Connections(&'static str);

impl System for Connections {
    fn interfaces(&self) -> Vec<String> {
        Vec::new()
    }

    fn connections(&self) -> io::Result<String> {
        Ok(self.0.to_owned())
    }
}

fn options(outside: Option<&str>, addresses: &[&str], ports: &[u16]) -> EdgeOptions {
    let addresses = addresses.iter().map(|text| text.parse().unwrap()).collect();
    let mut options = EdgeOptions::new(addresses);
    options.outside = outside.map(str::to_owned);
    for port in ports {
        let listen = port.to_string().parse().unwrap();
        options.services.push(Service::new(listen, "127.0.0.1:22".parse().unwrap()));
    }
    options
}

fn plan(options: &EdgeOptions) -> Routes {
    Routes::plan_on(&Connections::default(), options, "edge0")
}

const BOTH: [&str; 2] = ["10.78.0.2/24", "fd78::2/64"];

#[test]
fn the_rules_name_each_port_in_both_families_and_the_device() {
    let text = plan(&options(Some("eth0"), &BOTH, &[22, 80])).to_string();
    for expected in [
        "iifname \"eth0\" tcp dport { 22, 80 } fib daddr type local ip saddr",
        "!= @before dup to 10.78.0.2 device \"edge0\" drop",
        "iifname \"eth0\" ip6 saddr != fe80::/10 tcp dport { 22, 80 } fib daddr type local ip6 saddr",
        "!= @before dup to fd78::2 device \"edge0\" drop",
        "iifname \"edge0\" meta l4proto tcp fib saddr type local dup to ip daddr drop",
        "@th,224,16 80 dup",
        "@th,384,16 22 dup",
        "ip route add 10.78.0.0/24 via",
    ] {
        assert!(text.contains(expected), "{expected} is not in\n{text}");
    }
    for unwanted in ["sysctl", "dnat", "ct state", "opening", "elements", "owner"] {
        assert!(!text.contains(unwanted), "{unwanted} is in\n{text}");
    }
}

#[test]
fn without_an_interface_to_come_from_clients_come_by_all_but_the_machines_own() {
    let text = plan(&options(None, &["10.78.0.2/24"], &[22])).to_string();
    assert!(text.contains("iifname != { \"edge0\", \"lo\" } tcp dport { 22 }"), "{text}");
    assert!(!text.contains("ip6"), "{text}");
}

#[test]
fn a_service_at_one_address_has_no_rules_of_the_other_family() {
    let mut options = options(None, &BOTH, &[22]);
    options.services[0].listen = "[fd78::2]:22".parse().unwrap();
    let text = plan(&options).to_string();
    assert!(text.contains("table ip6 thinstream_edge0"), "{text}");
    assert!(!text.contains("table ip thinstream_edge0"), "{text}");
}

#[test]
#[cfg(target_endian = "little")]
fn connections_that_a_service_has_are_left_to_the_kernel_and_others_are_not_named() {
    let connections = Connections(
        "  sl  local_address rem_address   st\n\
           0: 00000000:0016 00000000:0000 0A\n\
           1: 0A0200C0:0016 0100000A:C350 01\n\
           2: 0A0200C0:C351 0100000A:0016 01\n",
    );
    let options = options(None, &["10.78.0.2/24"], &[22]);
    let text = Routes::plan_on(&connections, &options, "edge0").to_string();
    assert!(text.contains("elements = { 10.0.0.1 . 50000 . 192.0.2.10 . 22 }"), "{text}");
}

#[test]
fn what_is_settled_last_has_the_rules_that_are_printed() {
    for family in &plan(&options(Some("eth0"), &BOTH, &[22, 80])).families {
        let printed = family.table("t", &[]);
        for line in family.settle("t").lines().filter_map(|line| line.strip_prefix("add rule ")) {
            let rule = line.splitn(4, ' ').nth(3).unwrap();
            assert!(printed.contains(&format!("    {rule}\n")), "{rule} is not in\n{printed}");
        }
        assert!(family.begin("t").contains("flags owner"));
    }
}
