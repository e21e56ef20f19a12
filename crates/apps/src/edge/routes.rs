//! What the system must do so that clients on other machines reach the edge: forward packets, and give those for the
//! services' ports the edge's address (DNAT). Planned here as text, applied and taken back on demand.

mod guard;
mod system;

use std::fmt;
use std::io;
use std::net::IpAddr;

pub use self::guard::Applied;
use self::system::{Real, System};
use super::options::EdgeOptions;

/// A thing that must be so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rule {
    /// A setting of the kernel.
    Setting(Setting),
    /// A table of nftables with this name, made by this script.
    Table {
        /// The name.
        name: String,
        /// What `nft -f -` reads.
        script: String,
    },
}

/// A setting of the kernel, and what it must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// As sysctl names it: `net.ipv4.conf.eth0.forwarding`.
    pub name: String,
    /// What it must be.
    pub value: &'static str,
    /// The setting that stands above it, by which others may have changed it.
    above: &'static str,
}

/// All that must be so, and a way without address translation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Routes {
    rules: Vec<Rule>,
    networks: Vec<String>,
    /// The interface that must be there.
    outside: Option<String>,
    /// The edge's own.
    device: String,
}

/// Why a rule could not be applied.
#[derive(Debug, thiserror::Error)]
pub enum RouteError {
    /// There is no such interface.
    #[error("there is no interface {0} for clients to come from; there is: {1}")]
    NoInterface(String, String),
    /// A setting cannot be read or written.
    #[error("cannot set {setting} to {value}: {source} (it needs root)")]
    Setting {
        /// Which.
        setting: String,
        /// To what.
        value: &'static str,
        /// Why not.
        source: io::Error,
    },
    /// There is no nft.
    #[error("cannot run nft: {0} (Debian package nftables)")]
    NoNft(io::Error),
    /// It refused the table.
    #[error("nft refused the rules: {0} (needed: root, Linux 5.12, nftables 0.9.9)")]
    Refused(String),
}

const FORWARDING_V4: &str = "net.ipv4.ip_forward";
const FORWARDING_V6: &str = "net.ipv6.conf.all.forwarding";

impl Routes {
    /// The rules for `options` on this system, with the device of this name.
    pub fn plan(options: &EdgeOptions, device: &str) -> Routes {
        Routes::plan_on(&Real, options, device)
    }

    fn plan_on(system: &impl System, options: &EdgeOptions, device: &str) -> Routes {
        // Where clients come from, and where the answers do.
        let outside: Vec<String> = match &options.outside {
            Some(interface) => vec![interface.clone()],
            None => others(system, device),
        };
        let mut settings = Vec::new();
        let has = |v4: bool| options.addresses.iter().any(|net| net.address().is_ipv4() == v4);
        let both = || outside.iter().map(String::as_str).chain([device]);
        if has(true) {
            settings.extend(both().map(forwarding_v4));
        }
        if has(false) {
            settings.extend(forwarding_v6(system, both()));
        }
        // The machine is to become a router for the edge, not for everybody.
        let opened = |above: &str| {
            let is_off = |name: &String| {
                let wanted =
                    settings.iter().find(|setting| setting.above == above && setting.names(name));
                wanted.is_some_and(|setting| system.read(&setting.name).as_deref() != Some("1"))
            };
            outside.iter().filter(|name| is_off(name)).cloned().collect::<Vec<_>>()
        };
        let closed = [("ipv4", opened(FORWARDING_V4)), ("ipv6", opened(FORWARDING_V6))];
        let name = table_name(device);
        let script = script(options, device, &name, &closed);
        let mut rules: Vec<Rule> = settings.into_iter().map(Rule::Setting).collect();
        rules.push(Rule::Table { name, script });
        let networks = options.addresses.iter().map(|net| net.route()).collect();
        Routes { rules, networks, outside: options.outside.clone(), device: device.to_owned() }
    }

    /// The rules.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Applies them; they are taken back when the result is dropped, and also when this process ends in any other
    /// way.
    ///
    /// # Errors
    /// Of the first that cannot be; those before it are taken back.
    pub fn apply(&self) -> Result<Applied, RouteError> {
        let interfaces = others(&Real, &self.device);
        if let Some(outside) = self.outside.as_ref().filter(|name| !interfaces.contains(name)) {
            return Err(RouteError::NoInterface(outside.clone(), interfaces.join(", ")));
        }
        Applied::new(&self.rules)
    }
}

impl Setting {
    /// Whether it is one of this interface.
    fn names(&self, interface: &str) -> bool {
        self.name.contains(&format!(".{}.", sysctl_name(interface)))
    }
}

/// Interfaces by which clients may come: all but the edge's own and the loopback.
fn others(system: &impl System, device: &str) -> Vec<String> {
    let mut names = system.interfaces();
    names.retain(|name| name != "lo" && name != device);
    names
}

/// With IPv4 the interface by which a packet comes decides.
fn forwarding_v4(interface: &str) -> Setting {
    let name = format!("net.ipv4.conf.{}.forwarding", sysctl_name(interface));
    Setting { name, value: "1", above: FORWARDING_V4 }
}

/// With IPv6, too, since Linux 6.17. Before, there is one switch for the whole machine, which makes it deaf to router
/// advertisements unless it is told otherwise.
fn forwarding_v6<'a>(
    system: &impl System,
    interfaces: impl Iterator<Item = &'a str>,
) -> Vec<Setting> {
    let mut settings = Vec::new();
    let mut all = false;
    for interface in interfaces.map(sysctl_name) {
        let of = |what: &str| format!("net.ipv6.conf.{interface}.{what}");
        if system.read(&of("force_forwarding")).is_some() {
            let name = of("force_forwarding");
            settings.push(Setting { name, value: "1", above: FORWARDING_V6 });
            continue;
        }
        if system.read(&of("accept_ra")).as_deref() == Some("1") {
            settings.push(Setting { name: of("accept_ra"), value: "2", above: FORWARDING_V6 });
        }
        all = true;
    }
    if all {
        settings.push(Setting { name: FORWARDING_V6.into(), value: "1", above: FORWARDING_V6 });
    }
    settings
}

/// An interface's name may have dots, which sysctl writes as slashes.
fn sysctl_name(interface: &str) -> String {
    interface.replace('.', "/")
}

/// The commands that apply the rules, as one types them.
impl fmt::Display for Routes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "# Clients on other machines reach the services at this machine's addresses once this is done:"
        )?;
        for rule in &self.rules {
            match rule {
                Rule::Setting(Setting { name, value, .. }) => {
                    writeln!(f, "sysctl -w {name}={value}")?
                }
                Rule::Table { script, .. } => writeln!(f, "nft -f - <<'END'\n{script}END")?,
            }
        }
        writeln!(f, "# or, without translation of addresses, on the clients or their router:")?;
        for network in &self.networks {
            writeln!(f, "ip route add {network} via ADDRESS-OF-THIS-MACHINE")?;
        }
        Ok(())
    }
}

/// Names of tables have fewer letters than names of devices.
fn table_name(device: &str) -> String {
    let fine = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '_' };
    format!("thinstream_{}", device.chars().map(fine).collect::<String>())
}

/// A table that replaces one of the same name. Only SYNs are translated: the system takes the next segment of a
/// connection that it had not tracked before for the first of a new one.
///
/// `closed`: the interfaces of which nothing was forwarded until now, for each family. What comes by them goes to the
/// edge and nowhere else, but for what others have seen to, by a translation of their own.
fn script(
    options: &EdgeOptions,
    device: &str,
    name: &str,
    closed: &[(&str, Vec<String>)],
) -> String {
    let from = match &options.outside {
        Some(interface) => format!("iifname \"{interface}\""),
        None => format!("iifname != {{ \"{device}\", \"lo\" }}"),
    };
    let mut lines = vec![
        "chain prerouting {".to_owned(),
        "  type nat hook prerouting priority dstnat; policy accept;".to_owned(),
    ];
    for service in &options.services {
        for at in service.listen.at(&options.addresses) {
            let (port, family) = (at.port(), family(at.ip()));
            lines.push(format!(
                "  {from} meta nfproto ipv{family} fib daddr type local tcp dport {port} \
                 tcp flags & (fin | syn | rst | ack) == syn dnat {ip} to {at}",
                ip = if family == 4 { "ip" } else { "ip6" },
            ));
        }
    }
    lines.push("}".to_owned());
    if closed.iter().any(|(_, interfaces)| !interfaces.is_empty()) {
        lines.push("chain forward {".to_owned());
        lines.push("  type filter hook forward priority filter; policy accept;".to_owned());
        for (family, interfaces) in closed.iter().filter(|(_, interfaces)| !interfaces.is_empty()) {
            let names: Vec<String> = interfaces.iter().map(|name| format!("\"{name}\"")).collect();
            lines.push(format!(
                "  meta nfproto {family} iifname {{ {} }} oifname != \"{device}\" ct state new \
                 ct status & dnat == 0 drop",
                names.join(", ")
            ));
        }
        lines.push("}".to_owned());
    }
    let body: String = lines.iter().map(|line| format!("  {line}\n")).collect();
    format!("table inet {name}\ndelete table inet {name}\ntable inet {name} {{\n{body}}}\n")
}

fn family(ip: IpAddr) -> u8 {
    if ip.is_ipv4() { 4 } else { 6 }
}

#[cfg(test)]
mod tests;
