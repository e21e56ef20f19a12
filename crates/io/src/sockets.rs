//! Several sockets as one carrier: the local addresses of a multihomed endpoint.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use base::Transmit;

use crate::carrier::{BindError, Carrier, CarrierStatistics, RecvBatch};

/// One or more sockets, each at a different local address. A datagram leaves through the socket
/// whose address its [`Transmit::local`] names.
#[derive(Debug)]
pub struct Sockets<T> {
    /// One socket or more, in the order of the addresses.
    sockets: Box<[T]>,
    /// The socket to be read first next time, so that a busy one does not starve the others.
    next: AtomicUsize,
}

impl<T: Carrier> Sockets<T> {
    /// Opens a socket with `bind` at each of `addresses`. With port 0 for several, the second and
    /// later sockets get the first one's port if it is free, since a peer that learns the other
    /// addresses from INIT assumes the same port there (RFC 6951, section 5.1).
    ///
    /// # Errors
    /// The first address that is not available; an empty list, or an address given twice.
    pub fn bind(
        addresses: &[SocketAddr],
        bind: impl Fn(SocketAddr) -> Result<T, BindError>,
    ) -> Result<Sockets<T>, BindError> {
        let groups = bind_all(addresses, |address| Ok(vec![bind(address)?]))?;
        let sockets = groups.into_iter().flatten().collect();
        Ok(Sockets { sockets, next: AtomicUsize::new(0) })
    }

    /// Binds as [`Sockets::bind`] does, with several sockets at each address, as `bind` opens them:
    /// the first of all addresses, then the second, and so on.
    ///
    /// # Errors
    /// As [`Sockets::bind`].
    pub fn bind_groups(
        addresses: &[SocketAddr],
        bind: impl Fn(SocketAddr) -> Result<Vec<T>, BindError>,
    ) -> Result<Vec<Sockets<T>>, BindError> {
        let mut groups =
            bind_all(addresses, bind)?.into_iter().map(Vec::into_iter).collect::<Vec<_>>();
        let mut all = Vec::new();
        loop {
            let sockets: Box<[T]> = groups.iter_mut().filter_map(Iterator::next).collect();
            if sockets.is_empty() {
                return Ok(all);
            }
            all.push(Sockets { sockets, next: AtomicUsize::new(0) });
        }
    }

    /// The addresses at which the sockets listen, in the order in which they were asked for.
    pub fn local_addrs(&self) -> impl ExactSizeIterator<Item = SocketAddr> + '_ {
        self.sockets.iter().map(Carrier::local_addr)
    }

    /// The socket for a datagram: the one at its local address; for one without, the first of its
    /// family.
    fn socket_for(&self, transmit: &Transmit) -> &T {
        let serves = |socket: &&T| {
            let own = socket.local_addr();
            match transmit.local {
                Some(local) => {
                    own.port() == local.port()
                        && (own.ip() == local.ip() || own.ip().is_unspecified())
                }
                None => own.is_ipv4() == transmit.remote.is_ipv4(),
            }
        };
        self.sockets.iter().find(serves).unwrap_or(&self.sockets[0])
    }
}

/// Opens a socket by `bind` at each of `addresses`, at least one at each: see [`Sockets::bind`].
fn bind_all<T: Carrier>(
    addresses: &[SocketAddr],
    bind: impl Fn(SocketAddr) -> Result<Vec<T>, BindError>,
) -> Result<Vec<Vec<T>>, BindError> {
    let mut groups: Vec<Vec<T>> = Vec::with_capacity(addresses.len());
    for address in addresses {
        let first = groups.first().and_then(|group| group.first());
        let like_first = first.map(|first| first.local_addr().port());
        groups.push(match like_first.filter(|_| address.port() == 0) {
            Some(port) => bind(SocketAddr::new(address.ip(), port)).or_else(|_| bind(*address))?,
            None => bind(*address)?,
        });
    }
    if groups.is_empty() {
        let nowhere = SocketAddr::from(([0, 0, 0, 0], 0));
        let none = io::Error::new(io::ErrorKind::InvalidInput, "no local address was given");
        return Err(BindError::new("any socket at", nowhere, none));
    }
    Ok(groups)
}

impl<T: Carrier> Carrier for Sockets<T> {
    /// The address of the first socket.
    fn local_addr(&self) -> SocketAddr {
        self.sockets[0].local_addr()
    }

    async fn send(&self, transmits: &[Transmit], buffer: &[u8]) {
        if let [only] = &*self.sockets {
            return only.send(transmits, buffer).await;
        }
        let same =
            |a: &Transmit, b: &Transmit| core::ptr::eq(self.socket_for(a), self.socket_for(b));
        let mut rest = buffer;
        for together in transmits.chunk_by(same) {
            let size: usize = together.iter().map(|transmit| transmit.size).sum();
            let (contents, after) = rest.split_at(size.min(rest.len()));
            rest = after;
            self.socket_for(&together[0]).send(together, contents).await;
        }
    }

    fn try_send(&self, transmits: &[Transmit], buffer: &[u8]) -> usize {
        if let [only] = &*self.sockets {
            return only.try_send(transmits, buffer);
        }
        let (mut handled, mut rest) = (0, buffer);
        for transmit in transmits {
            let (datagram, after) = rest.split_at(transmit.size.min(rest.len()));
            let one = std::slice::from_ref(transmit);
            if self.socket_for(transmit).try_send(one, datagram) == 0 {
                break;
            }
            (handled, rest) = (handled + 1, after);
        }
        handled
    }

    fn poll_readable(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut ready = Poll::Pending;
        // All of them, so that each wakes the task.
        for socket in &self.sockets {
            match socket.poll_readable(context) {
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Ready(Ok(())) => ready = Poll::Ready(Ok(())),
                Poll::Pending => {}
            }
        }
        ready
    }

    fn try_recv(&self, batch: &mut RecvBatch) -> io::Result<()> {
        let count = self.sockets.len();
        let first = if count == 1 { 0 } else { self.next.fetch_add(1, Ordering::Relaxed) };
        let mut received = false;
        for index in 0..count {
            match self.sockets[(first % count + index) % count].try_recv(batch) {
                Ok(()) => received = true,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
        if received { Ok(()) } else { Err(io::ErrorKind::WouldBlock.into()) }
    }

    fn separates_acks(&self) -> bool {
        self.sockets.iter().any(Carrier::separates_acks)
    }

    fn wake_on_acks(&self, wakes: bool) {
        self.sockets.iter().for_each(|socket| socket.wake_on_acks(wakes));
    }

    fn poll_acks(&self, context: &mut Context<'_>) -> Poll<()> {
        // All of them, so that each wakes the task.
        let ready = self.sockets.iter().filter(|one| one.poll_acks(context).is_ready()).count();
        if ready > 0 { Poll::Ready(()) } else { Poll::Pending }
    }

    fn try_recv_acks(&self, batch: &mut RecvBatch) {
        self.sockets.iter().for_each(|socket| socket.try_recv_acks(batch));
    }

    fn statistics(&self) -> CarrierStatistics {
        let mut sum = CarrierStatistics::default();
        self.sockets.iter().for_each(|socket| sum.add(socket.statistics()));
        sum
    }
}

#[cfg(test)]
mod tests {
    use base::Ecn;

    use super::*;
    use crate::udp::UdpCarrier;

    fn address(last: u8) -> SocketAddr {
        ([127, 0, 3, last], 0).into()
    }

    #[tokio::test]
    async fn datagrams_leave_where_they_are_told_and_arrive_from_all_sockets() {
        let two = Sockets::bind(&[address(1), address(2)], UdpCarrier::bind).unwrap();
        let peer = UdpCarrier::bind(address(3)).unwrap();
        let locals: Vec<_> = two.local_addrs().collect();
        assert_eq!(locals[0].port(), locals[1].port());
        let to_peer = |local| Transmit {
            local: Some(local),
            remote: peer.local_addr(),
            ecn: Ecn::NotEct,
            dont_fragment: false,
            service: base::IpService::default(),
            size: 1,
        };
        two.send(&[to_peer(locals[1]), to_peer(locals[0]), to_peer(locals[1])], b"bab").await;
        let mut batch = RecvBatch::new(4);
        let mut seen = Vec::new();
        while seen.len() < 3 {
            peer.recv(&mut batch).await.unwrap();
            seen.extend(batch.drain().map(|(meta, data)| (data.head[0], meta.remote)));
        }
        seen.sort();
        assert_eq!(seen, [(b'a', locals[0]), (b'b', locals[1]), (b'b', locals[1])]);
        for local in &locals {
            let back = Transmit {
                local: None,
                remote: *local,
                ecn: Ecn::NotEct,
                dont_fragment: false,
                service: base::IpService::default(),
                size: 1,
            };
            peer.send(&[back], b"x").await;
            two.recv(&mut batch).await.unwrap();
            let (meta, _) = batch.pop().unwrap();
            assert_eq!((meta.local, meta.remote), (*local, peer.local_addr()));
        }
        assert_eq!((two.statistics().datagrams_sent, two.statistics().datagrams_received), (3, 2));
    }

    #[tokio::test]
    async fn an_address_that_cannot_be_had_is_named() {
        let elsewhere: SocketAddr = "192.0.2.1:0".parse().unwrap();
        let error = Sockets::bind(&[address(4), elsewhere], UdpCarrier::bind).unwrap_err();
        assert_eq!(error.address(), elsewhere);
        assert!(Sockets::bind(&[], UdpCarrier::bind).is_err());
        let taken = Sockets::bind(&[address(5)], UdpCarrier::bind).unwrap();
        let again = [taken.local_addr(), taken.local_addr()];
        assert_eq!(
            Sockets::bind(&again, UdpCarrier::bind).unwrap_err().kind(),
            io::ErrorKind::AddrInUse
        );
    }
}
