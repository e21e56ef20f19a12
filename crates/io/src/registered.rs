//! Sockets that the runtime reports as readable.
//!
//! A socket whose writability the runtime waits for, as tokio's own sockets, wakes its thread once
//! more for each datagram that it sends, when the datagram has left the socket's buffer and there
//! is room again. For a thin stream this doubles the wake-ups. Here writability is registered only
//! while someone waits for it.

use std::io;
use std::task::{Context, Poll};

use tokio::io::Interest;

#[cfg(not(unix))]
pub(crate) use other::Registered;
#[cfg(unix)]
pub(crate) use unix::Registered;

#[cfg(unix)]
mod unix {
    use std::task::ready;

    use socket2::Socket;
    use tokio::io::unix::AsyncFd;

    use super::*;

    /// A socket, registered with the runtime for what arrives.
    #[derive(Debug)]
    pub(crate) struct Registered(AsyncFd<Socket>);

    #[expect(
        deprecated,
        reason = "what replaces it is unsafe, for descriptors that a type may change or close; a Socket has one"
    )]
    fn register(socket: Socket, interest: Interest) -> io::Result<AsyncFd<Socket>> {
        AsyncFd::with_interest(socket, interest)
    }

    impl Registered {
        /// Registers a socket that does not block. Needs a tokio runtime with I/O enabled.
        pub(crate) fn new(socket: Socket) -> io::Result<Registered> {
            // Interest in errors is without price: the system reports them in any case.
            register(socket, Interest::READABLE | Interest::ERROR).map(Registered)
        }

        pub(crate) fn socket(&self) -> &Socket {
            self.0.get_ref()
        }

        /// Ready if something may have arrived; if not, `context` is woken when it has.
        pub(crate) fn poll_readable(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(
                ready!(self.0.poll_read_ready(context)).map(|mut ready| ready.retain_ready()),
            )
        }

        /// Makes a receiving call; if it would block, the next arrival is reported.
        pub(crate) fn try_read<R>(&self, call: impl FnOnce() -> io::Result<R>) -> io::Result<R> {
            self.0.try_io(Interest::READABLE, |_| call())
        }

        /// Makes a sending call as it is: the socket is registered for reading only.
        pub(crate) fn try_send<R>(&self, call: impl FnOnce() -> io::Result<R>) -> io::Result<R> {
            call()
        }

        /// Waits until the socket may have room for a datagram, after a sending call that would
        /// have blocked.
        pub(crate) async fn writable(&self) -> io::Result<()> {
            register(self.socket().try_clone()?, Interest::WRITABLE)?.writable().await.map(drop)
        }

        /// Makes a sending call, again for as long as it would block.
        #[cfg(target_os = "linux")]
        pub(crate) async fn send<R>(
            &self,
            mut call: impl FnMut() -> io::Result<R>,
        ) -> io::Result<R> {
            loop {
                match call() {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                        self.writable().await?
                    }
                    sent => return sent,
                }
            }
        }

        /// Waits until the socket's error queue may have an entry.
        #[cfg(target_os = "linux")]
        pub(crate) async fn failing(&self) -> io::Result<()> {
            self.0.ready(Interest::ERROR).await.map(|mut ready| ready.retain_ready())
        }

        /// Makes a call that reads the error queue; if it would block, the next entry is reported.
        #[cfg(target_os = "linux")]
        pub(crate) fn try_read_error<R>(
            &self,
            call: impl FnOnce() -> io::Result<R>,
        ) -> io::Result<R> {
            self.0.try_io(Interest::ERROR, |_| call())
        }
    }
}

#[cfg(not(unix))]
mod other {
    use socket2::Socket;
    use tokio::net::UdpSocket;

    use super::*;

    /// A UDP socket, registered with the runtime.
    #[derive(Debug)]
    pub(crate) struct Registered(UdpSocket);

    impl Registered {
        /// Registers a socket that does not block. Needs a tokio runtime with I/O enabled.
        pub(crate) fn new(socket: Socket) -> io::Result<Registered> {
            Ok(Registered(UdpSocket::from_std(socket.into())?))
        }

        pub(crate) fn socket(&self) -> &UdpSocket {
            &self.0
        }

        /// Ready if something may have arrived; if not, `context` is woken when it has.
        pub(crate) fn poll_readable(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
            self.0.poll_recv_ready(context)
        }

        /// Makes a receiving call; if it would block, the next arrival is reported.
        pub(crate) fn try_read<R>(&self, call: impl FnOnce() -> io::Result<R>) -> io::Result<R> {
            self.0.try_io(Interest::READABLE, call)
        }

        /// Makes a sending call; if it would block, the next room is reported.
        pub(crate) fn try_send<R>(&self, call: impl FnOnce() -> io::Result<R>) -> io::Result<R> {
            self.0.try_io(Interest::WRITABLE, call)
        }

        /// Waits until the socket may have room for a datagram, after a sending call that would
        /// have blocked.
        pub(crate) async fn writable(&self) -> io::Result<()> {
            self.0.writable().await
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    #![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

    use std::future::poll_fn;
    use std::mem::MaybeUninit;
    use std::pin::pin;
    use std::time::Duration;

    use socket2::{Domain, Socket, Type};

    use super::*;

    /// Two sockets connected to each other; a sending call blocks while the other side has much
    /// unread.
    fn pair() -> (Registered, Socket) {
        let (one, other) = Socket::pair(Domain::UNIX, Type::DGRAM, None).unwrap();
        one.set_nonblocking(true).unwrap();
        other.set_nonblocking(true).unwrap();
        (Registered::new(one).unwrap(), other)
    }

    fn receive(socket: &Socket) -> io::Result<usize> {
        socket.recv(&mut [const { MaybeUninit::uninit() }; 1000])
    }

    async fn within<R>(waiting: impl Future<Output = R>) -> R {
        tokio::time::timeout(Duration::from_secs(5), waiting).await.unwrap()
    }

    #[tokio::test]
    async fn what_arrives_is_reported_until_a_call_would_block() {
        let (socket, peer) = pair();
        let read = || socket.try_read(|| receive(socket.socket()));
        for _ in 0..3 {
            peer.send(b"one").unwrap();
            within(poll_fn(|context| socket.poll_readable(context))).await.unwrap();
            assert_eq!(read().unwrap(), 3);
            assert_eq!(read().unwrap_err().kind(), io::ErrorKind::WouldBlock);
            let waiting = poll_fn(|context| Poll::Ready(socket.poll_readable(context).is_ready()));
            assert!(!waiting.await);
        }
    }

    #[tokio::test]
    async fn a_full_socket_is_waited_for_until_it_has_room() {
        let (socket, peer) = pair();
        while socket.try_send(|| socket.socket().send(&[0; 1000])).is_ok() {}
        {
            let mut waiting = pin!(socket.writable());
            let begun = poll_fn(|context| Poll::Ready(waiting.as_mut().poll(context).is_ready()));
            assert!(!begun.await, "there is no room");
            tokio::time::sleep(Duration::from_millis(20)).await;
            while receive(&peer).is_ok() {}
            within(waiting).await.unwrap();
        }
        socket.try_send(|| socket.socket().send(&[0; 1000])).unwrap();
    }
}
