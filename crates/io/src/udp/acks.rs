//! A socket beside another at the same address, where what arrives wakes no task (Linux).

use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::{Duration, SystemTime};

use bytes::{Bytes, BytesMut};
use nix::sys::socket::{getsockopt, sockopt};
use quinn_udp::{RecvMeta, UdpSockRef, UdpSocketState};
use socket2::Socket;

use super::{omit_known_address, open_socket};
use crate::registered::Registered;

/// Bytes of a datagram that are read: no datagram here is longer.
const LENGTH: usize = 64;

/// System calls of one reading at most: a flood does not hold up the driver beyond what a large
/// buffer holds.
const READS: usize = 512;

/// A second socket at a carrier's address. Unless it wakes the task, what arrives waits until it is
/// asked for.
#[derive(Debug)]
pub(crate) struct AckSocket {
    socket: Socket,
    state: UdpSocketState,
    /// Another descriptor of the socket, which the runtime knows, while it wakes the task.
    registered: Mutex<Option<Registered>>,
}

impl AckSocket {
    /// Opens a further socket at an address that others share.
    pub(crate) fn bind_beside(address: SocketAddr) -> io::Result<AckSocket> {
        let socket = open_socket(address, true)?;
        let state = UdpSocketState::new(UdpSockRef::from(&socket))?;
        omit_known_address(&socket, address)?;
        // Without the time of their arrival, datagrams that wait would lengthen the round trips
        // that are measured.
        if !getsockopt(&socket, sockopt::ReceiveTimestampns)? {
            return Err(io::ErrorKind::Unsupported.into());
        }
        Ok(AckSocket { socket, state, registered: Mutex::default() })
    }

    /// Ready if a datagram may have arrived, while the socket wakes the task; else `context` is
    /// woken by the next.
    pub(super) fn poll_arrival(&self, context: &mut Context<'_>) -> Poll<()> {
        let registered = self.registered();
        let Some(socket) = &*registered else { return Poll::Pending };
        // An error means that the runtime ends.
        if ready!(socket.poll_readable(context)).is_ok() {
            // The caller reads all of them: as after a call in vain, the system then reports the
            // next datagram.
            let read = || Err::<(), _>(io::ErrorKind::WouldBlock.into());
            let _ = socket.try_read(read);
        }
        Poll::Ready(())
    }

    /// Has arrivals wake the task that waits for them, or not any more. Where the system cannot,
    /// for want of descriptors, they are read with the datagrams of the other socket. Needs a
    /// tokio runtime with I/O enabled.
    pub(super) fn set_waking(&self, wanted: bool) {
        let mut registered = self.registered();
        if !wanted {
            *registered = None;
        } else if registered.is_none() {
            *registered = self.socket.try_clone().and_then(Registered::new).ok();
        }
    }

    fn registered(&self) -> MutexGuard<'_, Option<Registered>> {
        self.registered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Passes each waiting datagram to `take`, with how long it has waited.
    pub(super) fn receive(
        &self,
        mut take: impl FnMut(Duration, &RecvMeta, Bytes),
    ) -> io::Result<()> {
        for _ in 0..READS {
            let mut memory = [[0; LENGTH]; quinn_udp::BATCH_SIZE];
            let mut metas = [RecvMeta::default(); quinn_udp::BATCH_SIZE];
            let count = {
                let mut slots = memory.each_mut().map(|slot| IoSliceMut::new(slot));
                self.state.recv(UdpSockRef::from(&self.socket), &mut slots, &mut metas)?
            };
            let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
            // One block for all of them.
            let mut block = BytesMut::with_capacity(count * LENGTH);
            for (meta, bytes) in metas[..count].iter().zip(&memory) {
                block.extend_from_slice(&bytes[..meta.len.min(LENGTH)]);
            }
            let mut block = block.freeze();
            for meta in &metas[..count] {
                let arrived = meta.timestamp.unwrap_or(now);
                take(now.saturating_sub(arrived), meta, block.split_to(meta.len.min(LENGTH)));
            }
            if count < memory.len() {
                break;
            }
        }
        Ok(())
    }
}
