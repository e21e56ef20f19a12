//! The tables as nftables reads them.

use std::collections::BTreeSet;
use std::fmt::{self, Write};
use std::net::{IpAddr, SocketAddr};

use crate::edge::options::EdgeOptions;

/// The two ends of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pair {
    pub(super) local: SocketAddr,
    pub(super) remote: SocketAddr,
}

/// Form as an element of a set: source and destination of what the peer sends.
impl fmt::Display for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Pair { local, remote } = self;
        write!(f, "{} . {} . {} . {}", remote.ip(), remote.port(), local.ip(), local.port())
    }
}

/// Parameters of the table of one family.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Family {
    /// An address of the edge: where the device's network is.
    gateway: IpAddr,
    /// TCP ports of the services, which the rules match.
    pub(super) ports: BTreeSet<u16>,
    /// Matches packets of clients by where they come in.
    from: String,
    device: String,
}

/// The packets that are led to the edge.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Rules for connections that begin from now on. What the kernel has already can be listed
    /// meanwhile.
    Opening,
    /// All but those of connections that were listed.
    Settled,
}

/// Connections of the kernel's that are named in one command.
const TOGETHER: usize = 200;

impl Family {
    /// Families that the edge has addresses of and services in.
    pub(super) fn all(options: &EdgeOptions, device: &str) -> Vec<Family> {
        // Link-local clients are on this link alone, and answers to them need an interface: they
        // stay with the kernel.
        let from = match &options.outside {
            Some(interface) => format!("iifname \"{interface}\""),
            None => format!("iifname != {{ \"{device}\", \"lo\" }}"),
        };
        let listeners =
            || options.services.iter().flat_map(|one| one.listen.at(&options.addresses));
        let of = |v4: bool| {
            let is_mine = |ip: &IpAddr| ip.is_ipv4() == v4;
            let gateway = options.addresses.iter().map(|net| net.address()).find(is_mine)?;
            let mine = listeners().filter(|at| is_mine(&at.ip()));
            let ports: BTreeSet<u16> = mine.map(|at: SocketAddr| at.port()).collect();
            let more = if v4 { "" } else { " ip6 saddr != fe80::/10" };
            let (from, device) = (format!("{from}{more}"), device.to_owned());
            (!ports.is_empty()).then_some(Family { gateway, ports, from, device })
        };
        [true, false].into_iter().filter_map(of).collect()
    }

    pub(super) fn is_v4(&self) -> bool {
        self.gateway.is_ipv4()
    }

    /// Word of nftables for the family and its headers.
    fn word(&self) -> &'static str {
        if self.is_v4() { "ip" } else { "ip6" }
    }

    fn tuple(&self) -> String {
        let ip = self.word();
        format!("{ip} saddr . tcp sport . {ip} daddr . tcp dport")
    }

    /// The table in force, in place of whatever has its name, with these connections left to the
    /// kernel.
    pub(super) fn table(&self, name: &str, existing: &[Pair]) -> String {
        let mine: Vec<String> =
            existing.iter().filter(|pair| self.has(pair)).map(ToString::to_string).collect();
        let elements = match mine.is_empty() {
            true => String::new(),
            false => format!("    elements = {{ {} }}\n", mine.join(", ")),
        };
        self.replace(name, "", Stage::Settled, &elements)
    }

    /// The script for a process that is to own the table, at first only for connections that begin.
    pub(super) fn begin(&self, name: &str) -> String {
        self.replace(name, "  flags owner\n", Stage::Opening, "")
    }

    /// Names connections that are left to the kernel: one command each.
    pub(super) fn leave(&self, name: &str, existing: &[Pair]) -> Vec<String> {
        let mine: Vec<String> =
            existing.iter().filter(|pair| self.has(pair)).map(ToString::to_string).collect();
        let command = |some: &[String]| {
            format!("add element {} {name} before {{ {} }}", self.word(), some.join(", "))
        };
        mine.chunks(TOGETHER).map(command).collect()
    }

    /// Makes everything else the edge's, at once.
    pub(super) fn settle(&self, name: &str) -> String {
        let table = format!("{} {name}", self.word());
        let mut commands = format!("flush table {table}\ndelete set {table} opening\n");
        for (chain, rules) in self.rules(Stage::Settled) {
            for rule in rules {
                let _ = writeln!(commands, "add rule {table} {chain} {rule}");
            }
        }
        commands
    }

    fn has(&self, pair: &Pair) -> bool {
        pair.local.is_ipv4() == self.is_v4() && self.ports.contains(&pair.local.port())
    }

    fn replace(&self, name: &str, flags: &str, stage: Stage, elements: &str) -> String {
        let word = self.word();
        let address = if self.is_v4() { "ipv4_addr" } else { "ipv6_addr" };
        let kind = format!("type {address} . inet_service . {address} . inet_service;");
        let opening = match stage {
            Stage::Settled => String::new(),
            Stage::Opening => format!(
                "  set opening {{\n    {kind} flags dynamic,timeout; timeout 1m; size 65536;\n  }}\n"
            ),
        };
        let mut text = format!(
            "table {word} {name}\ndelete table {word} {name}\ntable {word} {name} {{\n{flags}  \
             set before {{\n    {kind}\n{elements}  }}\n{opening}"
        );
        for (chain, rules) in self.rules(stage) {
            // Before connections are tracked; and after the machine's own filters had their say.
            let priority = if chain == "prerouting" { "raw" } else { "300" };
            let _ = writeln!(text, "  chain {chain} {{");
            let _ =
                writeln!(text, "    type filter hook {chain} priority {priority}; policy accept;");
            rules.iter().for_each(|rule| {
                let _ = writeln!(text, "    {rule}");
            });
            text.push_str("  }\n");
        }
        text.push_str("}\n");
        text
    }

    /// Each chain and its rules.
    fn rules(&self, stage: Stage) -> [(&'static str, Vec<String>); 2] {
        let Family { gateway, from, device, .. } = self;
        let (ip, tuple) = (self.word(), self.tuple());
        let list: Vec<String> = self.ports.iter().map(ToString::to_string).collect();
        let packets = format!("{from} tcp dport {{ {} }}", list.join(", "));
        let here = format!("{packets} fib daddr type local");
        let mine = match stage {
            Stage::Opening => format!("{tuple} @opening"),
            Stage::Settled => format!("{tuple} != @before"),
        };
        // The answers: sent by the kernel as its own, without being forwarded.
        let mut prerouting = vec![format!(
            "iifname \"{device}\" meta l4proto tcp fib saddr type local dup to {ip} daddr drop"
        )];
        if stage == Stage::Opening {
            let first = "tcp flags & (fin | syn | rst | ack) == syn";
            prerouting.push(format!("{here} {first} add @opening {{ {tuple} }}"));
        }
        prerouting.push(format!("{here} {mine} notrack"));
        let hand_over = format!("dup to {gateway} device \"{device}\"");
        let mut input = vec![format!("{packets} {mine} {hand_over} drop")];
        // Both the kernel and the edge use the packet that an error quotes.
        let errors = |port| format!("iifname != \"{device}\" {} {hand_over}", self.errors(port));
        input.extend(self.ports.iter().map(errors));
        [("prerouting", prerouting), ("input", input)]
    }

    /// Matches ICMP errors that quote a segment from this port: the type, and the quoted fields
    /// after an IP header without options.
    fn errors(&self, port: &u16) -> String {
        match self.is_v4() {
            true => format!(
                "icmp type {{ destination-unreachable, time-exceeded, parameter-problem }} \
                 @th,64,8 0x45 @th,136,8 6 @th,224,16 {port}"
            ),
            false => format!(
                "icmpv6 type {{ destination-unreachable, packet-too-big, time-exceeded, parameter-problem }} \
                 @th,112,8 6 @th,384,16 {port}"
            ),
        }
    }
}
