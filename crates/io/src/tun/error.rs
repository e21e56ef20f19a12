//! Errors of opening a TUN device, with advice.

use std::fmt;
use std::io;

/// Reason for which a TUN device could not be made.
#[derive(Debug)]
pub struct TunError {
    /// The step that failed, such as `create the device tun0`.
    pub(crate) step: String,
    pub(crate) source: io::Error,
}

impl TunError {
    /// Kind of the system's error.
    pub fn kind(&self) -> io::ErrorKind {
        self.source.kind()
    }
}

impl fmt::Display for TunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TunError { step, source } = self;
        write!(f, "cannot {step}: ")?;
        match source.kind() {
            io::ErrorKind::NotFound => write!(
                f,
                "there is no /dev/net/tun here (load the kernel's module \"tun\"; a container needs the device \
                 passed in)"
            ),
            io::ErrorKind::PermissionDenied => {
                write!(f, "it needs root or CAP_NET_ADMIN, and /dev/net/tun open to it ({source})")
            }
            io::ErrorKind::ResourceBusy => {
                write!(f, "a device of this name is in use by another program")
            }
            // What the kernel says of a name that it has for something else.
            io::ErrorKind::InvalidInput if step.starts_with("create") => write!(
                f,
                "there is a network interface of this name that is no TUN device, or no device may be called so \
                 ({source})"
            ),
            _ => write!(f, "{source}"),
        }
    }
}

impl std::error::Error for TunError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_said_and_what_would_help() {
        let say = |kind: io::ErrorKind| {
            TunError { step: "create the device edge0".into(), source: kind.into() }.to_string()
        };
        assert!(say(io::ErrorKind::NotFound).contains("/dev/net/tun"));
        let rights = say(io::ErrorKind::PermissionDenied);
        assert!(rights.contains("CAP_NET_ADMIN") && rights.contains("edge0"), "{rights}");
        assert!(say(io::ErrorKind::InvalidInput).contains("no TUN device"));
        assert!(say(io::ErrorKind::ResourceBusy).contains("in use"));
    }
}
