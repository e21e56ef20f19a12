//! The TUN device of Linux.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv6Addr, UdpSocket};
use std::sync::Arc;

use tun_rs::{AsyncDevice, DeviceBuilder, SyncDevice};

use super::addresses::Addresses;
use super::carrier::{Common, TunCarrier};
use super::mailbox::Mailbox;
use super::{TunError, TunOptions};
use crate::ip::Identifications;

/// Most checks, a millisecond apart, whether the kernel has enabled an address.
const ATTEMPTS: u32 = 1000;

/// A TUN device that is up and has its addresses. The system removes it with its last queue.
pub struct Tun {
    name: String,
    mtu: usize,
    offload: bool,
    /// Addresses that the system routes to it, with the lengths of their prefixes.
    networks: Vec<(IpAddr, u8)>,
    queues: Vec<SyncDevice>,
}

impl fmt::Debug for Tun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tun {{ {}, {} queues }}", self.name, self.queues.len())
    }
}

impl Tun {
    /// Creates the device in the network namespace of the calling thread and brings it up.
    ///
    /// # Errors
    /// /dev/net/tun or the rights are missing, the name is taken, or an address is refused.
    pub fn open(options: &TunOptions) -> Result<Tun, TunError> {
        let device = match create(options, options.offload) {
            // A kernel without such offloads says so with one of these.
            Err(error) if options.offload && is_about_offload(&error) => create(options, false),
            other => other,
        };
        let wanted = options.name.as_deref().map(|name| format!("the TUN device {name}"));
        let wanted = wanted.unwrap_or_else(|| "a TUN device".to_owned());
        let device = device.map_err(during(format!("create {wanted}")))?;
        let name = device.name().map_err(during("learn the name of the TUN device"))?;
        for (address, prefix) in &options.host {
            if let IpAddr::V6(v6) = address {
                let step = format!("give {name} the address {address}/{prefix}");
                device.add_address_v6(*v6, *prefix).map_err(during(step))?;
                wait_for(*v6);
            }
        }
        let offload = device.tcp_gso();
        let mut queues = vec![device];
        while queues.len() < options.queues {
            let step = format!("open queue {} of {name}", queues.len() + 1);
            queues.push(queues[0].try_clone().map_err(during(step))?);
        }
        let (mtu, networks) = (usize::from(options.mtu), options.host.clone());
        Ok(Tun { name, mtu, offload, networks, queues })
    }

    /// Name of the network interface, such as `tun0`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether large packets pass unsegmented.
    pub fn offload(&self) -> bool {
        self.offload
    }

    /// A carrier of `protocol` (of IP: [`ip::TCP`](crate::ip::TCP), [`ip::SCTP`](crate::ip::SCTP))
    /// for each queue, for a machine with these addresses, of which the first of each family is
    /// the default source. The unspecified address stands for all addresses of its family
    /// outside the device's own networks: packets that the system passes on for them are the
    /// machine's, too, except for pings. Needs a tokio runtime with I/O enabled.
    ///
    /// # Errors
    /// Where the runtime does not take the device, or the system has no randomness.
    pub fn carriers(self, protocol: u8, addresses: &[IpAddr]) -> Result<Vec<TunCarrier>, TunError> {
        let queues = self.queues(protocol, addresses)?;
        queues.into_iter().map(TunQueue::carrier).collect()
    }

    /// Like [`Tun::carriers`], of which each is made where it is to be used: on a runtime of its
    /// own.
    ///
    /// # Errors
    /// Where the system has no randomness.
    pub fn queues(self, protocol: u8, addresses: &[IpAddr]) -> Result<Vec<TunQueue>, TunError> {
        let mailboxes = self.queues.iter().map(|_| Mailbox::default()).collect();
        let mut seed = [0; 32];
        let drawn = getrandom::fill(&mut seed).map_err(|error| io::Error::other(error.to_string()));
        drawn.map_err(during("draw random numbers"))?;
        let common = Arc::new(Common {
            protocol,
            addresses: Addresses::new(addresses, self.networks),
            mtu: self.mtu,
            offload: self.offload,
            mailboxes,
            identifications: Identifications::new(seed),
        });
        let name = self.name;
        let queue = |(index, device)| {
            let (name, common) = (name.clone(), common.clone());
            TunQueue { name, device, common, index }
        };
        Ok(self.queues.into_iter().enumerate().map(queue).collect())
    }
}

/// A queue of a TUN device, before a runtime has it.
pub struct TunQueue {
    name: String,
    device: SyncDevice,
    common: Arc<Common>,
    index: usize,
}

impl fmt::Debug for TunQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TunQueue {{ queue {} of {} }}", self.index, self.name)
    }
}

impl TunQueue {
    /// The queue as a carrier. Needs a tokio runtime with I/O enabled, which its driver runs on.
    ///
    /// # Errors
    /// Where the runtime does not take the device.
    pub fn carrier(self) -> Result<TunCarrier, TunError> {
        let step = format!("wait for packets of {}", self.name);
        let device = AsyncDevice::new(self.device).map_err(during(step))?;
        Ok(TunCarrier::new(device, self.common, self.index))
    }
}

/// Waits until the kernel's new address can be used: duplicate address detection takes time, on a
/// TUN device, too.
fn wait_for(address: Ipv6Addr) {
    for _ in 0..ATTEMPTS {
        if UdpSocket::bind((address, 0)).is_ok() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

impl Tun {
    /// The device as a port for whole packets, each behind ten bytes of virtio if it has offloads.
    /// Only the first of several queues is kept. Needs a tokio runtime with I/O enabled.
    ///
    /// # Errors
    /// The runtime cannot register the device.
    pub fn into_port(mut self) -> io::Result<TunPort> {
        self.queues.truncate(1);
        let device = self.queues.pop().ok_or(io::ErrorKind::NotFound)?;
        Ok(TunPort { device: AsyncDevice::new(device)? })
    }
}

/// A TUN device as a port for packets in both directions.
pub struct TunPort {
    device: AsyncDevice,
}

impl fmt::Debug for TunPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TunPort")
    }
}

impl TunPort {
    /// Waits until there may be a packet.
    ///
    /// # Errors
    /// Where the device is gone.
    pub async fn readable(&self) -> io::Result<()> {
        self.device.readable().await
    }

    /// Reads a packet into `buffer` and returns its length; `WouldBlock` if there is none.
    ///
    /// # Errors
    /// Where the device is gone.
    pub fn try_recv(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.device.try_recv(buffer)
    }

    /// Passes a packet to the system. A packet that it refuses is lost, as on any wire.
    ///
    /// # Errors
    /// Where the device is gone.
    pub async fn send(&self, packet: &[u8]) -> io::Result<()> {
        match self.device.send(packet).await {
            Err(error) if error.kind() != io::ErrorKind::InvalidInput => Err(error),
            _ => Ok(()),
        }
    }
}

fn during(step: impl Into<String>) -> impl FnOnce(io::Error) -> TunError {
    let step = step.into();
    move |source| TunError { step, source }
}

fn create(options: &TunOptions, offload: bool) -> io::Result<SyncDevice> {
    let mut builder = DeviceBuilder::new().mtu(options.mtu);
    if let Some(name) = &options.name {
        builder = builder.name(name.as_str());
    }
    for (address, prefix) in &options.host {
        if let IpAddr::V4(v4) = address {
            builder = builder.ipv4(*v4, *prefix, None);
        }
    }
    let multi_queue = options.queues > 1;
    let prepare = |device: &mut tun_rs::DeviceBuilderGuard<'_>| {
        device.offload(offload).multi_queue(multi_queue);
    };
    builder.with(prepare).build_sync()
}

fn is_about_offload(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported)
}
