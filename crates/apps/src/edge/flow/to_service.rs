//! The connection to a service.

use std::cell::RefCell;
use std::io::{self, IoSlice};
use std::net::Shutdown;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::{Buf, Bytes};
use socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncRead, AsyncWriteExt, Interest, ReadBuf};
use tokio::net::TcpStream;

use crate::edge::carry::{PIECE, Read, Service, Written};
use crate::edge::options::Service as Options;

thread_local! {
    /// Memory to read into, of all connections that this thread serves.
    static SCRATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// A connection to a service.
///
/// The connection ends with a reset unless everything was carried: the service must not take half
/// of what a client wanted to say for the whole.
pub(super) struct ToService {
    stream: TcpStream,
    complete: bool,
    probe: Duration,
}

impl ToService {
    /// A connection to `service`, which is asked each `finished_probe` whether it is still there,
    /// once it has finished.
    pub(super) fn new(stream: TcpStream, service: &Options) -> ToService {
        // The client's TCP has combined small writes already.
        let _ = stream.set_nodelay(true);
        // This machine's own system never falls silent: it resets connections whose process is
        // gone.
        let remote = !service.forward.ip().is_loopback();
        if let Some(silence) = service.dead_after.filter(|_| remote) {
            let _ = SockRef::from(&stream).set_tcp_keepalive(&probes_within(silence));
        }
        ToService { stream, complete: false, probe: service.finished_probe.into() }
    }

    /// Records that all data was carried: the connection ends in order.
    pub(super) fn complete(&mut self) {
        self.complete = true;
    }

    /// Waits until it may be ready.
    ///
    /// # Errors
    /// Where the service reset the connection.
    pub(super) async fn ready(&self, interest: Interest) -> io::Result<()> {
        match self.stream.ready(interest).await?.is_error() {
            true => Err(io::ErrorKind::ConnectionReset.into()),
            false => Ok(()),
        }
    }

    /// Writes all of a few bytes.
    pub(super) async fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes).await
    }

    /// A service that has finished may have closed its socket, which TCP only shows to a sender.
    /// Its system forgets such a connection after a while (FIN-WAIT-2, a minute with Linux) and
    /// then answers a probe with a reset; a service that has only finished sending answers as
    /// usual.
    fn probe_from_now_on(&self) {
        let often = TcpKeepalive::new().with_time(self.probe).with_interval(self.probe);
        // Without it, the connection lasts as long as the client wants.
        let _ = SockRef::from(&self.stream).set_tcp_keepalive(&often);
    }
}

/// Probes by which the system finds an idle service dead once it has been silent for `span`.
/// TCP_USER_TIMEOUT would bound unacknowledged data, too, but Linux also ends connections by it
/// whose peer only keeps its window closed.
fn probes_within(span: base::Duration) -> TcpKeepalive {
    /// The shortest spans that the system takes.
    const LEAST: Duration = Duration::from_secs(1);
    let probes = tcp::KeepAlive::within(span);
    TcpKeepalive::new()
        .with_time(Duration::from(probes.idle).max(LEAST))
        .with_interval(Duration::from(probes.interval).max(LEAST))
        .with_retries(probes.probes.into())
}

impl Service for ToService {
    type Error = io::Error;

    fn write(&mut self, pieces: &mut Vec<Bytes>) -> io::Result<Written> {
        let written = match pieces.as_slice() {
            [only] => self.stream.try_write(only),
            all => {
                let slices: Vec<IoSlice<'_>> =
                    all.iter().map(|piece| IoSlice::new(piece)).collect();
                self.stream.try_write_vectored(&slices)
            }
        };
        match written {
            Ok(taken) => {
                advance(pieces, taken);
                Ok(Written::Bytes(taken))
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(Written::Full),
            Err(error) => Err(error),
        }
    }

    fn read(&mut self, limit: usize) -> io::Result<Read> {
        SCRATCH.with_borrow_mut(|scratch| {
            scratch.resize(PIECE, 0);
            let mut read = ReadBuf::new(&mut scratch[..limit.min(PIECE)]);
            // Unlike `try_read`, this takes from a read that does not fill the buffer that there is
            // no more, so that no further call asks in vain. Who waits is the task, by
            // `ready`.
            let context = &mut Context::from_waker(Waker::noop());
            match Pin::new(&mut self.stream).poll_read(context, &mut read) {
                Poll::Ready(Ok(())) if read.filled().is_empty() => {
                    self.probe_from_now_on();
                    Ok(Read::Finished)
                }
                // A piece of its own: the scratch memory stays here, and a few bytes do not keep
                // that of many.
                Poll::Ready(Ok(())) => Ok(Read::Data(Bytes::copy_from_slice(read.filled()))),
                Poll::Ready(Err(error)) => Err(error),
                Poll::Pending => Ok(Read::Nothing),
            }
        })
    }

    fn finish(&mut self) -> io::Result<()> {
        SockRef::from(&self.stream).shutdown(Shutdown::Write)
    }
}

impl Drop for ToService {
    fn drop(&mut self) {
        if !self.complete {
            let _ = self.stream.set_zero_linger();
        }
    }
}

/// Takes the first `taken` bytes away.
pub(in crate::edge) fn advance(pieces: &mut Vec<Bytes>, mut taken: usize) {
    let whole = pieces.iter().take_while(|piece| {
        let fits = piece.len() <= taken;
        taken -= if fits { piece.len() } else { 0 };
        fits
    });
    let whole = whole.count();
    pieces.drain(..whole);
    if let Some(first) = pieces.first_mut() {
        first.advance(taken);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_taken_away_across_pieces() {
        for (taken, left) in [(0, "abcdef"), (2, "cdef"), (3, "def"), (5, "f"), (6, "")] {
            let mut pieces: Vec<Bytes> =
                ["ab", "cde", "f"].map(|text| Bytes::from_static(text.as_bytes())).into();
            advance(&mut pieces, taken);
            assert_eq!(pieces.concat(), left.as_bytes());
            assert!(pieces.iter().all(|piece| !piece.is_empty()));
        }
    }
}
