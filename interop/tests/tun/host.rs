//! Our TCP behind a TUN device, with calls that wait.

use std::net::SocketAddr;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use base::RandomStream;
use bytes::Bytes;
use interop::Namespace;
use io::{Clock, Shared, Tun, TunOptions, ip};
use tcp::{
    ConnectionError, ConnectionId, ConnectionInfo, ConnectionOptions, Endpoint, EndpointOptions,
    Failure, ListenOptions, ListenerId, Received, SendFlags,
};
use tokio::runtime::Runtime;

/// Addresses of the stack, and of the kernel on the same device.
pub(crate) const OURS: [&str; 2] = ["10.78.0.2", "fd78::2"];
pub(crate) const KERNEL: [&str; 2] = ["10.78.0.1", "fd78::1"];

/// Time limit for any step, even on a slow machine.
const LIMIT: Duration = Duration::from_secs(120);

/// A stack of its own; its device vanishes with it.
pub(crate) struct Host {
    machine: Arc<Shared<Endpoint>>,
    happened: Arc<(Mutex<u64>, Condvar)>,
    _runtime: Runtime,
}

/// A connection of the stack, valid for the [`Host`] that opened it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Connection(pub(crate) ConnectionId);

impl Host {
    /// A stack behind the device `edge0` of this namespace.
    pub(crate) fn start(namespace: &Namespace, offload: bool) -> Host {
        let runtime = super::runtime();
        let host = vec![(KERNEL[0].parse().unwrap(), 24), (KERNEL[1].parse().unwrap(), 64)];
        let name = Some("edge0".into());
        let options = TunOptions { name, host, offload, ..TunOptions::default() };
        let tun = namespace.enter(|| Tun::open(&options)).unwrap().unwrap();
        let _context = runtime.enter();
        let carriers = tun.carriers(ip::TCP, &OURS.map(|text| text.parse().unwrap())).unwrap();
        let random = RandomStream::from_secret([7; 32]);
        let endpoint = Endpoint::new(EndpointOptions::default(), random);
        let machine = Shared::new(endpoint, Clock::start());
        let happened = Arc::<(Mutex<u64>, Condvar)>::default();
        let notify = happened.clone();
        let hook = move |endpoint: &mut Endpoint, _: base::Instant| {
            let events = std::iter::from_fn(|| endpoint.poll_event()).count();
            if events > 0 {
                *notify.0.lock().unwrap() += 1;
                notify.1.notify_all();
            }
        };
        let carrier = Arc::new(carriers.into_iter().next().unwrap());
        runtime.spawn(io::run(machine.clone(), carrier, hook));
        drop(_context);
        Host { machine, happened, _runtime: runtime }
    }

    /// Calls `attempt` after whatever happens until it gives something.
    fn wait<T>(
        &self,
        what: &str,
        mut attempt: impl FnMut(&mut Endpoint, base::Instant) -> Option<T>,
    ) -> T {
        let deadline = Instant::now() + LIMIT;
        loop {
            let seen = *self.happened.0.lock().unwrap();
            if let Some(found) = self.machine.call(&mut attempt) {
                return found;
            }
            assert!(Instant::now() < deadline, "waited in vain: {what}");
            let mut now = self.happened.0.lock().unwrap();
            while *now == seen && Instant::now() < deadline {
                now = self.happened.1.wait_timeout(now, Duration::from_millis(200)).unwrap().0;
                if *now == seen {
                    break;
                }
            }
        }
    }

    pub(crate) fn listen(&self, port: u16, accepted: ConnectionOptions) -> ListenerId {
        self.listen_at(SocketAddr::from(([0; 4], port)), accepted)
    }

    pub(crate) fn listen_at(&self, address: SocketAddr, accepted: ConnectionOptions) -> ListenerId {
        let options = ListenOptions { accepted, ..ListenOptions::default() };
        self.machine.call(|endpoint, _| endpoint.listen(address, options)).unwrap()
    }

    pub(crate) fn close_listener(&self, listener: ListenerId) {
        self.machine.call(|endpoint, now| endpoint.close_listener(now, listener));
    }

    pub(crate) fn accept(&self, listener: ListenerId) -> Connection {
        Connection(self.wait("a client", |endpoint, _| endpoint.accept(listener)))
    }

    pub(crate) fn connect(&self, remote: SocketAddr, options: ConnectionOptions) -> Connection {
        self.try_connect(remote, options).unwrap()
    }

    /// Connects, or says why that failed.
    pub(crate) fn try_connect(
        &self,
        remote: SocketAddr,
        options: ConnectionOptions,
    ) -> Result<Connection, Failure> {
        let own = OURS[usize::from(remote.is_ipv6())];
        let local = SocketAddr::new(own.parse().unwrap(), 0);
        let connect =
            |endpoint: &mut Endpoint, now| endpoint.connect(now, local, remote, options.clone());
        let id = self.machine.call(connect).unwrap();
        self.wait("to be connected", |endpoint, _| {
            let connection = endpoint.connection(id).expect("a connection");
            match connection.failure() {
                Some(failure) => Some(Err(failure)),
                None => connection.state().is_synchronized().then_some(Ok(Connection(id))),
            }
        })
    }

    pub(crate) fn send(&self, connection: Connection, data: &[u8]) {
        let mut rest = Bytes::copy_from_slice(data);
        while !rest.is_empty() {
            let taken = self.wait("room to send", |endpoint, now| {
                let mut own = endpoint.connection_mut(connection.0).unwrap();
                let taken = own.send(now, rest.clone(), SendFlags::default()).unwrap();
                (taken > 0).then_some(taken)
            });
            bytes::Buf::advance(&mut rest, taken);
        }
    }

    /// The next bytes that arrive; empty at the end.
    pub(crate) fn receive(&self, connection: Connection) -> Result<Bytes, Failure> {
        self.wait("data", |endpoint, now| {
            match endpoint.connection_mut(connection.0).unwrap().receive(now, 1 << 20) {
                Ok(Received::Data(data)) => Some(Ok(data)),
                Ok(Received::Finished) => Some(Ok(Bytes::new())),
                Ok(Received::Nothing) => None,
                Err(ConnectionError::Failed(failure)) => Some(Err(failure)),
                Err(other) => panic!("{other}"),
            }
        })
    }

    /// Receives until there are `count` bytes, and no more.
    pub(crate) fn receive_exactly(&self, connection: Connection, count: usize) -> Vec<u8> {
        let mut all = Vec::with_capacity(count);
        while all.len() < count {
            let data = self.receive(connection).unwrap();
            assert!(!data.is_empty(), "the end after {} of {count} bytes", all.len());
            all.extend_from_slice(&data);
        }
        all
    }

    /// All bytes up to the end of the stream.
    pub(crate) fn receive_all(&self, connection: Connection) -> Vec<u8> {
        let mut all = Vec::new();
        loop {
            match &self.receive(connection).unwrap()[..] {
                [] => return all,
                data => all.extend_from_slice(data),
            }
        }
    }

    pub(crate) fn finish(&self, connection: Connection) {
        self.machine.call(|endpoint, now| {
            endpoint.connection_mut(connection.0).unwrap().shutdown_write(now)
        });
    }

    pub(crate) fn abort(&self, connection: Connection) {
        self.machine
            .call(|endpoint, now| endpoint.connection_mut(connection.0).unwrap().abort(now));
    }

    /// Lets go of it, and waits until it is over.
    pub(crate) fn release(&self, connection: Connection) {
        self.machine.call(|endpoint, now| endpoint.release(now, connection.0));
        self.wait("the end", |endpoint, _| {
            endpoint.connection(connection.0).is_none().then_some(())
        });
    }

    /// State and statistics of the connection.
    pub(crate) fn info(&self, connection: Connection) -> ConnectionInfo {
        let info =
            |endpoint: &mut Endpoint, now| Some(endpoint.connection(connection.0)?.info(now));
        self.machine.call(info).expect("a connection")
    }

    /// Failure of the connection, once it has failed.
    pub(crate) fn failure(&self, connection: Connection) -> Failure {
        self.wait("a failure", |endpoint, _| endpoint.connection(connection.0)?.failure())
    }
}
