//! Limits of the system on a process.

use std::io;

use nix::errno::Errno;
use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// Raises this process's limit of open files and sockets to the maximum without privileges, and
/// returns it.
///
/// # Errors
/// The system does not report the limit or refuses to raise it.
pub fn raise_descriptor_limit() -> io::Result<u64> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    if soft < hard {
        setrlimit(Resource::RLIMIT_NOFILE, hard, hard)?;
    }
    Ok(hard)
}

/// Whether an error reports a shortage: of open files, local ports or memory.
pub fn is_shortage(error: &io::Error) -> bool {
    let short = [
        Errno::EMFILE,
        Errno::ENFILE,
        Errno::ENOBUFS,
        Errno::ENOMEM,
        Errno::EADDRNOTAVAIL,
        Errno::EAGAIN,
    ];
    error.raw_os_error().is_some_and(|number| short.contains(&Errno::from_raw(number)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_soft_limit_becomes_the_hard_one() {
        let limit = raise_descriptor_limit().unwrap();
        assert_eq!(getrlimit(Resource::RLIMIT_NOFILE).unwrap(), (limit, limit));
    }

    #[test]
    fn what_runs_out_is_told_from_what_is_refused() {
        let error = |errno: Errno| io::Error::from_raw_os_error(errno as i32);
        assert!(is_shortage(&error(Errno::EMFILE)) && is_shortage(&error(Errno::EADDRNOTAVAIL)));
        assert!(!is_shortage(&error(Errno::ECONNREFUSED)));
        assert!(!is_shortage(&io::Error::from(io::ErrorKind::TimedOut)));
    }
}
