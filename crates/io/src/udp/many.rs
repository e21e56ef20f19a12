//! Datagrams to many peers in one system call (sendmmsg of Linux).

use std::io::{self, IoSlice};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsRawFd;

use base::Transmit;
use nix::sys::socket::{MsgFlags, MultiHeaders, SockaddrStorage, sendmmsg};

use crate::controls::Controls;

/// Most datagrams of one call.
const MOST: usize = 64;

/// Number of `transmits`, from the first, that may leave in one call: they differ only in
/// destination and size. If two consecutive ones have the same destination, the second begins
/// another call, since the system can segment these from one buffer.
pub(super) fn count(transmits: &[Transmit]) -> usize {
    let Some(first) = transmits.first() else { return 0 };
    let key = |one: &Transmit| (one.local, one.ecn, one.dont_fragment, one.remote.is_ipv4());
    let goes_on =
        |pair: &&[Transmit]| key(&pair[1]) == key(first) && pair[0].remote != pair[1].remote;
    1 + transmits.windows(2).take(MOST - 1).take_while(goes_on).count()
}

/// Sends `transmits`, whose bytes are consecutive in `contents`, from `source` (or any address) to
/// addresses in the form of the socket; returns how many the system accepted, at least one.
pub(super) fn send(
    socket: &impl AsRawFd,
    transmits: &[Transmit],
    contents: &[u8],
    source: Option<IpAddr>,
    address: impl Fn(SocketAddr) -> SocketAddr,
) -> io::Result<usize> {
    let Some(first) = transmits.first() else { return Ok(0) };
    let mut rest = contents;
    let slices = transmits.iter().map(|transmit| {
        let (datagram, after) = rest.split_at(transmit.size.min(rest.len()));
        rest = after;
        [IoSlice::new(datagram)]
    });
    let slices: Vec<_> = slices.collect();
    let remotes = transmits.iter().map(|transmit| Some(address(transmit.remote).into()));
    let remotes: Vec<Option<SockaddrStorage>> = remotes.collect();
    let controls = Controls::of(first, source);
    let mut headers = MultiHeaders::preallocate(transmits.len(), Some(controls.space()));
    let (descriptor, flags) = (socket.as_raw_fd(), MsgFlags::empty());
    let sent = sendmmsg(descriptor, &mut headers, &slices, &remotes, controls.messages(), flags)?;
    Ok(sent.count())
}
