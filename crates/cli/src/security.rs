//! Encryption on the command line: this side's key, or none at all.

use std::path::PathBuf;

use thinstream::{Encapsulation, Identity};

use crate::failure::Failure;

/// Options that server and client share.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "Security")]
pub(crate) struct Security {
    /// File with this side's private key ("thinstream keygen" makes one), optionally with a
    /// certificate that an authority signed for it (PEM).
    #[arg(long, value_name = "FILE", conflicts_with = "plain")]
    pub(crate) key: Option<PathBuf>,
    /// Send unencrypted, for peers without encryption. Anyone on the path can read and change the
    /// traffic.
    #[arg(long)]
    pub(crate) plain: bool,
    /// Directly over IP (protocol 132) instead of UDP, unencrypted; needs --plain, and root or
    /// CAP_NET_RAW.
    #[arg(long, help_heading = "Connection")]
    pub(crate) raw_ip: bool,
}

impl Security {
    /// Encapsulation of packets that the options select.
    pub(crate) fn encapsulation(&self) -> Result<Encapsulation, Failure> {
        match (self.plain, self.raw_ip) {
            (false, false) => Ok(Encapsulation::Secure),
            (true, false) => Ok(Encapsulation::PlainUdp),
            (true, true) => Ok(Encapsulation::PlainRawIp),
            (false, true) => Err(Failure::usage(
                "--raw-ip cannot be encrypted, since DTLS goes over UDP; --plain --raw-ip sends in plain",
            )),
        }
    }

    /// The key that was named, if any.
    pub(crate) fn named_key(&self) -> Result<Option<Identity>, Failure> {
        self.key.as_deref().map(apps::read_key).transpose().map_err(Failure::usage)
    }
}
