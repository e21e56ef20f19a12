//! A wire between two TUN devices, usually of different network namespaces: packets sent into one
//! come out of the other, at once or as links of [`netsim`] deliver them in real time. Linux only.

use std::io;

use base::Instant;
use netsim::link::{Link, LinkConfig, LinkConfigError, LinkPacket, LinkStatistics, flip_bit};

use crate::clock::{Alarm, Clock};
use crate::ip;
use crate::tun::{Tun, TunPort};

/// Bytes of one packet, including headers of the device.
const BUFFER: usize = 66_000;
/// Packets read from one end before the other gets its turn.
const BURST: usize = 64;

/// The bytes of an IP packet, header included, as a link carries them.
#[derive(Clone, Debug)]
struct Whole(Vec<u8>);

impl LinkPacket for Whole {
    fn is_ecn_capable(&self) -> bool {
        ip::codepoint(&self.0).is_some_and(|ecn| ecn.is_ecn_capable())
    }

    fn mark_congestion(&mut self) {
        ip::mark_congestion(&mut self.0);
    }
}

/// Two TUN devices and the links between them.
#[derive(Debug)]
pub struct Bridge {
    ends: [TunPort; 2],
}

impl Bridge {
    /// A wire between two devices of one queue each. Large packets pass unsegmented if both devices
    /// have offloads; it is an error if only one has. Needs a tokio runtime with I/O and time
    /// enabled.
    ///
    /// # Errors
    /// The runtime cannot register the devices, or their offloads differ.
    pub fn new(first: Tun, second: Tun) -> io::Result<Bridge> {
        if first.offload() != second.offload() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "one of two ends has offloads",
            ));
        }
        Ok(Bridge { ends: [first.into_port()?, second.into_port()?] })
    }

    /// Copies packets both ways until an end fails.
    pub async fn copy(&self) -> io::Error {
        let [first, second] = &self.ends;
        tokio::select! {
            error = copy(first, second) => error,
            error = copy(second, first) => error,
        }
    }

    /// Carries packets over links: one from the first end to the second, and one back. Sizes of
    /// packets are those of whole IP packets; the devices must have no offloads. `report` is called
    /// regularly with the links' statistics.
    ///
    /// # Errors
    /// Invalid link descriptions; otherwise the error that ended the transfer.
    pub async fn carry(
        &self,
        links: [LinkConfig; 2],
        seed: u64,
        mut report: impl FnMut([LinkStatistics; 2]),
    ) -> Result<io::Error, LinkConfigError> {
        let [up, down] = links;
        let mut links = [Link::new(up, seed, 0)?, Link::new(down, seed, 1)?];
        let clock = Clock::start();
        let mut alarm = match Alarm::new(clock) {
            Ok(alarm) => alarm,
            Err(error) => return Ok(error),
        };
        let mut buffer = vec![0; BUFFER];
        loop {
            match self.deliver(&mut links, clock.now()).await {
                Ok(next) => {
                    report([links[0].statistics(), links[1].statistics()]);
                    let taken = tokio::select! {
                        ready = self.ends[0].readable() => ready.map(|()| 0),
                        ready = self.ends[1].readable() => ready.map(|()| 1),
                        () = alarm.wait_until(next) => continue,
                    };
                    let end = match taken {
                        Ok(end) => end,
                        Err(error) => return Ok(error),
                    };
                    for _ in 0..BURST {
                        match self.ends[end].try_recv(&mut buffer) {
                            Ok(size) => {
                                let packet = Whole(buffer[..size].to_vec());
                                links[end].send(clock.now(), packet, size as u64);
                            }
                            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                            Err(error) => return Ok(error),
                        }
                    }
                }
                Err(error) => return Ok(error),
            }
            tokio::task::consume_budget().await;
        }
    }

    /// Sends the packets that the links deliver now, and returns when the next are due.
    async fn deliver(
        &self,
        links: &mut [Link<Whole>; 2],
        now: Instant,
    ) -> io::Result<Option<Instant>> {
        for (from, link) in links.iter_mut().enumerate() {
            while let Some(delivery) = link.poll(now) {
                let mut packet = delivery.packet.0;
                if let Some(bits) = delivery.corrupted {
                    flip_bit(&mut packet, bits);
                }
                self.ends[1 - from].send(&packet).await?;
            }
            while link.poll_outcome().is_some() {}
        }
        Ok(links.iter().filter_map(Link::poll_timeout).min())
    }
}

/// Copies from one end to the other until one fails.
async fn copy(from: &TunPort, to: &TunPort) -> io::Error {
    let mut buffer = vec![0; BUFFER];
    loop {
        for _ in 0..BURST {
            let result = match from.try_recv(&mut buffer) {
                Ok(size) => to.send(&buffer[..size]).await,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => from.readable().await,
                Err(error) => Err(error),
            };
            if let Err(error) = result {
                return error;
            }
        }
        tokio::task::yield_now().await;
    }
}
