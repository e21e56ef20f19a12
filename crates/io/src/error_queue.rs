//! ICMP messages about datagrams that a UDP socket sent: Linux's error queue (`IP_RECVERR` of
//! ip(7)), which quotes the beginning of the datagram.

use std::collections::VecDeque;
use std::future::Future;
use std::io::{self, IoSliceMut};
use std::net::IpAddr;
use std::os::fd::AsRawFd;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use base::IcmpError;
use bytes::Bytes;
use nix::libc;
use nix::sys::socket::{
    ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, setsockopt, sockopt,
};

use crate::carrier::canonical;
use crate::ip::{IcmpReport, icmp_error};
use crate::registered::Registered;

/// Bytes of a quoted datagram that are kept: enough for an SCTP header and the beginning of a
/// chunk.
const QUOTE: usize = 128;

/// Most messages read at a time.
const BURST: usize = 32;

type Waiting = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Reads the error queue of a socket.
pub(crate) struct ErrorQueue {
    socket: Arc<Registered>,
    local: IpAddr,
    waiting: Mutex<Option<Waiting>>,
}

impl std::fmt::Debug for ErrorQueue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ErrorQueue").finish_non_exhaustive()
    }
}

impl ErrorQueue {
    /// Makes the system queue ICMP messages about datagrams of `socket`.
    pub(crate) fn open(socket: &Arc<Registered>, local: IpAddr) -> io::Result<ErrorQueue> {
        match local.is_ipv4() {
            true => setsockopt(socket.socket(), sockopt::Ipv4RecvErr, &true)?,
            false => setsockopt(socket.socket(), sockopt::Ipv6RecvErr, &true)?,
        }
        Ok(ErrorQueue { socket: Arc::clone(socket), local, waiting: Mutex::new(None) })
    }

    /// Whether there may be something to read; if not, `context` is woken when there is.
    pub(crate) fn poll_readable(&self, context: &mut Context<'_>) -> Poll<()> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let future = waiting.get_or_insert_with(|| {
            let socket = Arc::clone(&self.socket);
            // Without a reactor nothing else would work either.
            Box::pin(async move { drop(socket.failing().await) })
        });
        let ready = future.as_mut().poll(context);
        if ready.is_ready() {
            *waiting = None;
        }
        ready
    }

    /// Removes and returns the waiting messages.
    pub(crate) fn drain(&self) -> VecDeque<IcmpReport> {
        let mut reports = VecDeque::new();
        for _ in 0..BURST {
            match self.socket.try_read_error(|| self.read()) {
                Ok(report) => reports.extend(report),
                Err(_) => break,
            }
        }
        reports
    }

    /// Reads one message; none if it is not from ICMP or the datagram's destination is unknown.
    fn read(&self) -> io::Result<Option<IcmpReport>> {
        let (mut quoted, mut control) = ([0; QUOTE], nix::cmsg_space!([u8; 256]));
        let (length, remote, error) = {
            let mut slots = [IoSliceMut::new(&mut quoted)];
            let flags = MsgFlags::MSG_ERRQUEUE | MsgFlags::MSG_DONTWAIT;
            let descriptor = self.socket.socket().as_raw_fd();
            let message =
                recvmsg::<SockaddrStorage>(descriptor, &mut slots, Some(&mut control), flags)?;
            let v4 =
                || message.address?.as_sockaddr_in().map(|v4| (IpAddr::V4(v4.ip()), v4.port()));
            let v6 =
                || message.address?.as_sockaddr_in6().map(|v6| (IpAddr::V6(v6.ip()), v6.port()));
            let error = message.cmsgs().into_iter().flatten().find_map(|one| match one {
                ControlMessageOwned::Ipv4RecvErr(error, _)
                | ControlMessageOwned::Ipv6RecvErr(error, _) => Some(error),
                _ => None,
            });
            (message.bytes, v4().or_else(v6), error)
        };
        let (Some(remote), Some(error)) = (remote, error.and_then(|error| meaning(&error))) else {
            return Ok(None);
        };
        Ok(Some(IcmpReport {
            local: self.local,
            remote: canonical(remote.into()),
            error,
            quoted: Bytes::copy_from_slice(quoted.get(..length).unwrap_or_default()),
        }))
    }
}

/// The meaning of a message; none if it is not from ICMP.
fn meaning(error: &libc::sock_extended_err) -> Option<IcmpError> {
    let is_v4 = match error.ee_origin {
        libc::SO_EE_ORIGIN_ICMP => true,
        libc::SO_EE_ORIGIN_ICMP6 => false,
        _ => return None,
    };
    icmp_error(is_v4, error.ee_type, error.ee_code, error.ee_info)
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use socket2::{Domain, Socket, Type};

    use super::*;

    async fn next(queue: &ErrorQueue) -> IcmpReport {
        let wait = std::future::poll_fn(|context| queue.poll_readable(context));
        tokio::time::timeout(std::time::Duration::from_secs(5), wait).await.expect("no message");
        queue.drain().pop_front().expect("nothing was read")
    }

    /// Opens a UDP socket that does not block, at a free port.
    fn bind(any: SocketAddr) -> io::Result<(Socket, SocketAddr)> {
        let socket = Socket::new(Domain::for_address(any), Type::DGRAM, None)?;
        socket.set_nonblocking(true)?;
        socket.bind(&any.into())?;
        let address = socket.local_addr()?.as_socket().unwrap();
        Ok((socket, address))
    }

    async fn assert_tells(any: &str) {
        let Ok((socket, address)) = bind(any.parse().unwrap()) else { return };
        let socket = Arc::new(Registered::new(socket).unwrap());
        let queue = ErrorQueue::open(&socket, address.ip()).unwrap();
        for round in 0..3_u8 {
            // A port without a listener.
            let (_, nobody) = bind(any.parse().unwrap()).unwrap();
            let (datagram, to) = ([round; 200], nobody.into());
            // What an earlier message left behind makes one call fail.
            if socket.socket().send_to(&datagram, &to).is_err() {
                socket.socket().send_to(&datagram, &to).unwrap();
            }
            let report = next(&queue).await;
            assert_eq!((report.remote, report.error), (nobody, IcmpError::NoListener));
            assert!(report.quoted.len() >= 20 && report.quoted.iter().all(|byte| *byte == round));
        }
    }

    #[tokio::test]
    async fn a_closed_port_is_told_with_what_went_there() {
        assert_tells("127.0.0.1:0").await;
        assert_tells("[::1]:0").await;
    }
}
