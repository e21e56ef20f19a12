//! The only room with a real clock and real sockets: UDP encapsulation, raw IP, TUN, the driver
//! that runs a machine of [`base::Machine`]'s contract over them, and the virtual link in real
//! time.
//!
//! Parts that need the laboratory's virtual network are behind features, so that applications are
//! built without it: `capture` for `PcapTap`, `emulator` for `Emulator` and `Bridge`.
//!
//! ```
//! use base::Duration;
//!
//! // Machines know time as a number; one clock says what it is now.
//! let clock = io::Clock::start();
//! let due = clock.now() + Duration::from_millis(5);
//! assert!(clock.until(due) <= Duration::from_millis(5));
//! assert_eq!(io::lookup("[::1]:9899")?, ["[::1]:9899".parse()?]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod attempts;
#[cfg(all(target_os = "linux", feature = "emulator"))]
pub mod bridge;
pub mod carrier;
pub mod clock;
#[cfg(target_os = "linux")]
mod controls;
pub mod driver;
#[cfg(feature = "emulator")]
pub mod emulator;
#[cfg(target_os = "linux")]
mod error_queue;
mod fragmentation;
mod group;
#[cfg(target_os = "linux")]
mod interfaces;
pub mod ip;
#[cfg(target_os = "linux")]
mod limits;
mod lookup;
mod mailboxes;
mod offloads;
pub mod raw;
mod registered;
pub mod sockets;
#[cfg(feature = "capture")]
pub mod tap;
pub mod tun;
pub mod udp;

#[cfg(all(target_os = "linux", feature = "emulator"))]
pub use bridge::Bridge;
pub use carrier::{BindError, Carrier, CarrierStatistics, RecvBatch, SendOnly};
pub use clock::{Alarm, Clock};
pub use driver::{Hook, Shared, run};
#[cfg(feature = "emulator")]
pub use emulator::{Emulator, EmulatorConfig, EmulatorStatistics, RelayPacket};
pub use group::{Steering, bind_group, can_group};
#[cfg(target_os = "linux")]
pub use interfaces::interface_addresses;
#[cfg(target_os = "linux")]
pub use limits::{is_shortage, raise_descriptor_limit};
pub use lookup::{host_and_port, lookup};
pub use mailboxes::{HandOverStatistics, Mailboxes};
pub use offloads::{UdpOffloads, try_raw_socket, try_time_stamps, udp_offloads};
pub use raw::RawCarrier;
pub use sockets::Sockets;
#[cfg(feature = "capture")]
pub use tap::PcapTap;
pub use tun::{Tun, TunCarrier, TunError, TunOptions, TunQueue, TunStatistics};
pub use udp::{SCTP_OVER_UDP_PORT, UdpCarrier, unspecified_for};
