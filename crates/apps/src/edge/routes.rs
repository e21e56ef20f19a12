//! Settings of the system that let clients on other machines reach the edge: the system hands over
//! packets for the services' ports at this machine's own addresses, and sends the edge's answers.
//! Planned here as text, applied and taken back on demand.
//!
//! No address is translated and no connection is tracked. A packet for a service's port is handed
//! to the device as it is, with this machine's address in it; the stack answers from that address,
//! and the kernel sends the answer as if it were its own. So nothing on this machine keeps state
//! that a stranger's packets could change or fill.

mod existing;
mod guard;
mod kept;
mod script;
mod system;

use std::fmt;
use std::io;

pub use self::guard::Applied;
pub(super) use self::kept::Kept;
use self::script::{Family, Pair};
use self::system::{Real, System};
use super::options::EdgeOptions;

/// The tables of nftables that lead clients to an edge, one for each family of its addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Routes {
    /// Name of the tables in nftables.
    name: String,
    families: Vec<Family>,
    /// Networks of the edge, for routes to them.
    networks: Vec<String>,
    /// Connections that the kernel has at the services' ports when the rules are planned.
    existing: Vec<Pair>,
    /// The interface that must be there.
    outside: Option<String>,
    /// TUN device of the edge, to which the rules send packets.
    device: String,
}

/// Reason for which the rules could not be applied.
#[derive(Debug, thiserror::Error)]
pub enum RouteError {
    /// No network interface has the first name; the second text lists those that exist.
    #[error("there is no network interface {0} for clients to come from; there is: {1}")]
    NoInterface(String, String),
    /// The kernel's connections cannot be listed.
    #[error("cannot learn which connections the services have already: {0}")]
    Connections(io::Error),
    /// The program `nft` cannot be started.
    #[error("cannot run nft: {0} (Debian package nftables)")]
    NoNft(io::Error),
    /// `nft` refused the tables, with its message.
    #[error(
        "nft refused the rules: {0} (needed: root, nftables 0.9.9, Linux 5.12 with its modules nft_dup_ipv4 and \
         nft_dup_ipv6)"
    )]
    Refused(String),
}

/// Beginning of the names of edges' tables.
const TABLES: &str = "thinstream_";

impl Routes {
    /// The rules for `options` on this system, with the device of this name.
    pub fn plan(options: &EdgeOptions, device: &str) -> Routes {
        Routes::plan_on(&Real, options, device)
    }

    fn plan_on(system: &impl System, options: &EdgeOptions, device: &str) -> Routes {
        let families = Family::all(options, device);
        // A plan that is only printed does without; what is applied asks again.
        let existing = existing::at(system, &families).unwrap_or_default();
        Routes {
            name: table_name(device),
            families,
            networks: options.addresses.iter().map(|net| net.route()).collect(),
            existing,
            outside: options.outside.clone(),
            device: device.to_owned(),
        }
    }

    /// Whether the interface is there by which clients are to come.
    ///
    /// # Errors
    /// [`RouteError::NoInterface`].
    pub(super) fn check_outside(options: &EdgeOptions) -> Result<(), RouteError> {
        let Some(outside) = &options.outside else { return Ok(()) };
        let mut names = Real.interfaces();
        names.retain(|name| name != "lo" && Some(name) != options.device.as_ref());
        match names.contains(outside) {
            true => Ok(()),
            false => Err(RouteError::NoInterface(outside.clone(), names.join(", "))),
        }
    }

    /// Applies them; they are taken back when the result is dropped, and also when this process
    /// ends in any other way. Connections that the kernel has at the services' ports stay where
    /// they are.
    ///
    /// # Errors
    /// [`RouteError`]; nothing is left of what was applied before.
    pub fn apply(&self) -> Result<Applied, RouteError> {
        Applied::new(self)
    }
}

/// The commands that apply the rules, as one types them.
impl fmt::Display for Routes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Routes { name, families, existing, .. } = self;
        writeln!(
            f,
            "# Clients on other machines reach the services at this machine's addresses once this is done. The sets \
             \"before\""
        )?;
        writeln!(
            f,
            "# name connections that the services have now, and keep; those that begin until it is done are reset."
        )?;
        writeln!(f, "nft -f - <<'END'")?;
        for family in families {
            f.write_str(&family.table(name, existing))?;
        }
        writeln!(f, "END")?;
        writeln!(
            f,
            "# or at the edge's own addresses, with net.ipv4.ip_forward=1 (net.ipv6.conf.all.forwarding=1) here and, \
             on"
        )?;
        writeln!(f, "# the clients or their router:")?;
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

#[cfg(test)]
mod tests;
