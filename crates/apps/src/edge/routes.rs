//! What the system must do so that clients on other machines reach the edge: forward packets, and give those for the
//! services' ports the edge's address (DNAT). Planned here as text, applied and taken back on demand.

use std::fmt;
use std::io::{self, Write};
use std::net::IpAddr;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::options::EdgeOptions;

/// A thing that must be so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rule {
    /// A setting of the kernel: `net.ipv4.ip_forward`, and its value.
    Setting(&'static str, &'static str),
    /// A table of nftables with this name, made by this script.
    Table {
        /// The name.
        name: String,
        /// What `nft -f -` reads.
        script: String,
    },
}

/// All that must be so, and a way without address translation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Routes {
    rules: Vec<Rule>,
    networks: Vec<String>,
}

/// Why a rule could not be applied.
#[derive(Debug, thiserror::Error)]
pub enum RouteError {
    /// A setting cannot be read or written.
    #[error("cannot set {setting} to {value}: {source} (it needs root)")]
    Setting {
        /// Which.
        setting: &'static str,
        /// To what.
        value: &'static str,
        /// Why not.
        source: io::Error,
    },
    /// There is no nft.
    #[error("cannot run nft: {0} (Debian package nftables)")]
    NoNft(io::Error),
    /// It refused the table.
    #[error("nft refused the rules: {0}")]
    Refused(String),
}

impl Routes {
    /// The rules for `options`, with the device of this name.
    pub fn plan(options: &EdgeOptions, device: &str) -> Routes {
        let mut rules = Vec::new();
        let has = |v4: bool| options.addresses.iter().any(|net| net.address().is_ipv4() == v4);
        if has(true) {
            rules.push(Rule::Setting("net.ipv4.ip_forward", "1"));
        }
        if has(false) {
            rules.push(Rule::Setting("net.ipv6.conf.all.forwarding", "1"));
        }
        let name = table_name(device);
        let script = script(options, device, &name);
        rules.push(Rule::Table { name, script });
        let networks = options.addresses.iter().map(|net| net.route()).collect();
        Routes { rules, networks }
    }

    /// The rules.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Applies them; they are taken back when the result is dropped.
    ///
    /// # Errors
    /// Of the first that cannot be; those before it are taken back.
    pub fn apply(&self) -> Result<Applied, RouteError> {
        let mut applied = Applied { undo: Vec::new() };
        for rule in &self.rules {
            match rule {
                Rule::Setting(setting, value) => {
                    let failed = |source| RouteError::Setting { setting, value, source };
                    let before = std::fs::read_to_string(path(setting)).map_err(failed)?;
                    if before.trim() != *value {
                        std::fs::write(path(setting), value).map_err(failed)?;
                        applied.undo.push(Undo::Setting(setting, before));
                    }
                }
                Rule::Table { name, script } => {
                    run_nft(script)?;
                    applied.undo.push(Undo::Table(name.clone()));
                }
            }
        }
        Ok(applied)
    }
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
                Rule::Setting(setting, value) => writeln!(f, "sysctl -w {setting}={value}")?,
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

/// Rules in force; dropping it takes them back.
#[derive(Debug)]
pub struct Applied {
    undo: Vec<Undo>,
}

#[derive(Debug)]
enum Undo {
    Setting(&'static str, String),
    Table(String),
}

impl Drop for Applied {
    fn drop(&mut self) {
        for undo in self.undo.drain(..).rev() {
            // Nobody is left to tell, and the rest must be tried.
            match undo {
                Undo::Setting(setting, before) => drop(std::fs::write(path(setting), before)),
                Undo::Table(name) => drop(run_nft(&format!("delete table inet {name}\n"))),
            }
        }
    }
}

/// `net.ipv4.ip_forward` is a file.
fn path(setting: &str) -> PathBuf {
    PathBuf::from("/proc/sys").join(setting.replace('.', "/"))
}

/// Names of tables have fewer letters than names of devices.
fn table_name(device: &str) -> String {
    let fine = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '_' };
    format!("thinstream_{}", device.chars().map(fine).collect::<String>())
}

/// A table that replaces one of the same name, which a killed edge may have left. Only SYNs are translated: the
/// system takes the next segment of a connection that it had not tracked before for the first of a new one.
fn script(options: &EdgeOptions, device: &str, name: &str) -> String {
    let from = match &options.outside {
        Some(interface) => format!("iifname \"{interface}\""),
        None => format!("iifname != {{ \"{device}\", \"lo\" }}"),
    };
    let mut translations = String::new();
    for service in &options.services {
        for at in service.listen.at(&options.addresses) {
            let (port, family) = (at.port(), family(at.ip()));
            translations.push_str(&format!(
                "    {from} meta nfproto ipv{family} fib daddr type local tcp dport {port} \
                 tcp flags & (fin | syn | rst | ack) == syn dnat {ip} to {at}\n",
                ip = if family == 4 { "ip" } else { "ip6" },
            ));
        }
    }
    format!(
        "table inet {name}\ndelete table inet {name}\ntable inet {name} {{\n  \
         chain prerouting {{\n    type nat hook prerouting priority dstnat; policy accept;\n{translations}  }}\n  \
         chain forward {{\n    type filter hook forward priority filter; policy accept;\n    \
         oifname \"{device}\" accept\n    iifname \"{device}\" accept\n  }}\n}}\n"
    )
}

fn family(ip: IpAddr) -> u8 {
    if ip.is_ipv4() { 4 } else { 6 }
}

fn run_nft(script: &str) -> Result<(), RouteError> {
    let mut command = Command::new("nft");
    command.args(["-f", "-"]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut nft = command.spawn().map_err(RouteError::NoNft)?;
    if let Some(mut input) = nft.stdin.take() {
        // What it thinks of a script that it did not read to its end, it says below.
        let _ = input.write_all(script.as_bytes());
    }
    let output = nft.wait_with_output().map_err(RouteError::NoNft)?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(RouteError::Refused(said.lines().take(3).collect::<Vec<_>>().join("; ")))
}
