//! Our stack behind a TUN device: it swallows what comes to one port, and sends to clients that
//! connect to another.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use base::RandomStream;
use interop::Namespace;
use io::{Clock, Shared, ip};
use tcp::{
    ConnectionId, ConnectionOptions, Endpoint, EndpointOptions, Event, ListenOptions, ListenerId,
    Received, SendFlags,
};

use crate::pattern::Pattern;
use crate::{Outcome, tun};

pub(crate) const SINK: u16 = 7001;
pub(crate) const SOURCE: u16 = 7002;

/// Counts of arrived segments and bytes.
#[derive(Default)]
pub(crate) struct Counts {
    pub(crate) accepted: AtomicU64,
    /// Bytes that came to the sink as they were to be sent, of one connection after the other.
    pub(crate) intact: AtomicU64,
}

struct Ends {
    source: ListenerId,
    /// Connections to send to, and how much they have got.
    sources: Vec<(ConnectionId, u64)>,
    total: u64,
    counts: Arc<Counts>,
    pattern: Pattern,
}

impl Ends {
    fn act(&mut self, endpoint: &mut Endpoint, now: base::Instant) {
        while let Some((id, event)) = endpoint.poll_event() {
            match event {
                Event::Incoming { listener } => {
                    while let Some(id) = endpoint.accept(listener) {
                        self.counts.accepted.fetch_add(1, Ordering::Relaxed);
                        if listener == self.source {
                            self.sources.push((id, 0));
                        }
                    }
                }
                Event::Readable => self.swallow(endpoint, now, id),
                _ => {}
            }
        }
        self.send(endpoint, now);
    }

    fn swallow(&self, endpoint: &mut Endpoint, now: base::Instant, id: ConnectionId) {
        let intact = &self.counts.intact;
        loop {
            let own = endpoint.connection_mut(id);
            match own.map(|mut own| own.receive(now, Pattern::PERIOD)) {
                Some(Ok(Received::Data(data))) => {
                    let count = self.pattern.count_intact(intact.load(Ordering::Acquire), &data);
                    intact.fetch_add(count, Ordering::Release);
                }
                Some(Ok(Received::Finished)) => break endpoint.release(now, id),
                _ => break,
            }
        }
    }

    fn send(&mut self, endpoint: &mut Endpoint, now: base::Instant) {
        for (id, sent) in &mut self.sources {
            let Some(mut own) = endpoint.connection_mut(*id) else {
                *sent = self.total;
                continue;
            };
            while *sent < self.total {
                let piece = self.pattern.at(*sent, self.total);
                match own.send(now, piece, SendFlags::default()) {
                    Ok(taken @ 1..) => *sent += taken as u64,
                    Ok(0) => break,
                    Err(_) => *sent = self.total,
                }
            }
            if *sent == self.total {
                own.shutdown_write(now);
            }
        }
        self.sources.retain(|(_, sent)| *sent < self.total);
    }
}

/// Starts it in this namespace, on a separate thread that ends with the process. It sends `total`
/// bytes to each client that asks.
pub(crate) fn start(namespace: &Namespace, total: u64, offload: bool) -> Outcome<Arc<Counts>> {
    let tun = tun(namespace, "10.78.0.1", offload)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let carrier = {
        let _context = runtime.enter();
        tun.carriers(ip::TCP, &["10.78.0.2".parse()?])?.pop().ok_or("no queue")?
    };
    let options = EndpointOptions { syn_backlog: 20_000, ..EndpointOptions::default() };
    let mut endpoint = Endpoint::new(options, RandomStream::from_secret([1; 32]));
    let accepted = ConnectionOptions { no_delay: true, ..ConnectionOptions::default() };
    let options = ListenOptions { backlog: 20_000, accepted };
    let listen = |endpoint: &mut Endpoint, port| {
        endpoint.listen(SocketAddr::from(([10, 78, 0, 2], port)), options.clone())
    };
    let counts = Arc::<Counts>::default();
    listen(&mut endpoint, SINK)?;
    let mut ends = Ends {
        source: listen(&mut endpoint, SOURCE)?,
        sources: Vec::new(),
        total,
        counts: counts.clone(),
        pattern: Pattern::new(),
    };
    let machine = Shared::new(endpoint, Clock::start());
    let hook = move |endpoint: &mut Endpoint, now| ends.act(endpoint, now);
    std::thread::spawn(move || runtime.block_on(io::run(machine, Arc::new(carrier), hook)));
    Ok(counts)
}
