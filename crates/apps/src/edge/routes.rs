//! What the system must do so that clients on other machines reach the edge: forward packets, and give those for the
//! services' ports the edge's address (DNAT). Planned here as text, applied and taken back on demand.

mod found;
mod guard;
mod kept;
mod system;

use std::fmt;
use std::io;
use std::net::IpAddr;

use self::found::{Found, Note};
pub use self::guard::Applied;
pub(super) use self::kept::Kept;
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
    /// What it was before this edge, or another before it, changed it; none if it cannot be read.
    before: Option<String>,
    /// The setting that stands above it, by which others may have changed it.
    above: &'static str,
    /// What that is as long as no others have.
    then: String,
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

/// How the names of edges' tables begin.
const TABLES: &str = "thinstream_";
const FORWARDING_V4: &str = "net.ipv4.ip_forward";
const FORWARDING_V6: &str = "net.ipv6.conf.all.forwarding";
/// Those that stand above the interfaces' own.
const SWITCHES: [&str; 2] = [FORWARDING_V4, FORWARDING_V6];
const FORWARDING: &str = "forwarding";
const FORCE_FORWARDING: &str = "force_forwarding";
const ACCEPT_RA: &str = "accept_ra";

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
        let both = || outside.iter().map(String::as_str).chain([device]);
        let found =
            Found::ask(system, both().flat_map(names_for).chain(SWITCHES.map(str::to_owned)));
        let mut settings = Vec::new();
        // The machine is to become a router for the edge, not for everybody.
        let mut closed = Vec::new();
        let has = |v4: bool| options.addresses.iter().any(|net| net.address().is_ipv4() == v4);
        if has(true) {
            settings.extend(both().map(|interface| forwarding_v4(&found, interface)));
            closed.extend(closed_v4(&found, &outside));
        }
        if has(false) {
            settings.extend(forwarding_v6(&found, both()));
            closed.extend(closed_v6(&found, &outside, device));
        }
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
        // Without this, what other edges have found is not known.
        Real.tables()?;
        Applied::new(&self.rules)
    }
}

impl Rule {
    /// The setting, if it is one.
    fn setting(&self) -> Option<&Setting> {
        match self {
            Rule::Setting(setting) => Some(setting),
            Rule::Table { .. } => None,
        }
    }
}

impl Setting {
    /// One that must be so, below this switch.
    fn new(found: &Found, name: String, value: &'static str, above: &'static str) -> Setting {
        let before = found.before(&name).map(str::to_owned);
        let then = found.now(above).unwrap_or_default().to_owned();
        Setting { name, value, before, above, then }
    }

    /// What is to be noted when it is changed; none if it is so already.
    fn note(&self) -> Option<Note> {
        let was = self.before.clone().filter(|before| before != self.value)?;
        let (name, above, then) = (self.name.clone(), self.above.to_owned(), self.then.clone());
        Some(Note { name, was, above, then })
    }
}

/// Interfaces by which clients may come: all but the edge's own and the loopback.
fn others(system: &impl System, device: &str) -> Vec<String> {
    let mut names = system.interfaces();
    names.retain(|name| name != "lo" && name != device);
    names
}

/// With IPv4 the interface by which a packet comes decides.
fn forwarding_v4(found: &Found, interface: &str) -> Setting {
    Setting::new(found, of_interface(4, interface, FORWARDING), "1", FORWARDING_V4)
}

/// With IPv6, too, since Linux 6.17. Before, there is one switch for the whole machine, which makes it deaf to router
/// advertisements unless it is told otherwise.
fn forwarding_v6<'a>(found: &Found, interfaces: impl Iterator<Item = &'a str>) -> Vec<Setting> {
    let mut settings = Vec::new();
    let mut all = false;
    for interface in interfaces {
        let of = |what: &str| of_interface(6, interface, what);
        if found.now(&of(FORCE_FORWARDING)).is_some() {
            settings.push(Setting::new(found, of(FORCE_FORWARDING), "1", FORWARDING_V6));
            continue;
        }
        if found.before(&of(ACCEPT_RA)) == Some("1") {
            let stays = Setting::new(found, of(ACCEPT_RA), "2", FORWARDING_V6);
            settings.push(Setting { then: "1".into(), ..stays });
        }
        all = true;
    }
    if all {
        let switch = Setting::new(found, FORWARDING_V6.into(), "1", FORWARDING_V6);
        settings.push(Setting { then: "1".into(), ..switch });
    }
    settings
}

/// What matches IPv4 packets that were not forwarded until now.
fn closed_v4(found: &Found, outside: &[String]) -> Option<String> {
    let is_off = |name: &&String| found.before(&of_interface(4, name, FORWARDING)) != Some("1");
    come_by(4, outside.iter().filter(is_off))
}

/// What matches IPv6 packets that were not forwarded until now. One switch for the whole machine lets in what comes
/// by any interface.
fn closed_v6(found: &Found, outside: &[String], device: &str) -> Option<String> {
    if found.before(FORWARDING_V6) == Some("1") {
        return None;
    }
    let forced = |name: &str| of_interface(6, name, FORCE_FORWARDING);
    if found.now(&forced(device)).is_none() {
        return Some(format!("meta nfproto ipv6 iifname != \"{device}\""));
    }
    come_by(6, outside.iter().filter(|name| found.before(&forced(name)) != Some("1")))
}

/// What matches packets of a family that come by one of these interfaces.
fn come_by<'a>(family: u8, interfaces: impl Iterator<Item = &'a String>) -> Option<String> {
    let names: Vec<String> = interfaces.map(|name| format!("\"{name}\"")).collect();
    (!names.is_empty())
        .then(|| format!("meta nfproto ipv{family} iifname {{ {} }}", names.join(", ")))
}

/// All settings of an interface that may matter.
fn names_for(interface: &str) -> [String; 3] {
    [(4, FORWARDING), (6, FORCE_FORWARDING), (6, ACCEPT_RA)]
        .map(|(family, what)| of_interface(family, interface, what))
}

/// A setting of an interface.
fn of_interface(family: u8, interface: &str, what: &str) -> String {
    format!("net.ipv{family}.conf.{}.{what}", sysctl_name(interface))
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
    format!("{TABLES}{}", device.chars().map(fine).collect::<String>())
}

/// A table that replaces one of the same name. Only SYNs are translated: the system takes the next segment of a
/// connection that it had not tracked before for the first of a new one.
///
/// `closed`: what matches packets that were not forwarded until now. They go to the edge and nowhere else, but for
/// what others have seen to, by a translation of their own.
fn script(options: &EdgeOptions, device: &str, name: &str, closed: &[String]) -> String {
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
    if !closed.is_empty() {
        lines.push("chain forward {".to_owned());
        lines.push("  type filter hook forward priority filter; policy accept;".to_owned());
        for packets in closed {
            // A status is that of an entry: what has none (a reset that comes alone) takes a rule of its own.
            for kind in ["new ct status & dnat == 0", "{ invalid, untracked }"] {
                lines.push(format!("  {packets} oifname != \"{device}\" ct state {kind} drop"));
            }
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
