//! What the system lets a process have.

use std::io;

use nix::errno::Errno;
use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// Lets this process open as many files and sockets as it may without more rights, and says how many these are.
///
/// # Errors
/// Where the system does not tell or refuses.
pub fn raise_descriptor_limit() -> io::Result<u64> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    if soft < hard {
        setrlimit(Resource::RLIMIT_NOFILE, hard, hard)?;
    }
    Ok(hard)
}

/// Whether the system refused something because it has no more of it: open files, local ports, memory.
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
