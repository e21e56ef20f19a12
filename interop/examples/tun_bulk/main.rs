//! Bulk over TUN and idle connections: our TCP beside the kernel's own, in one run.
//!
//! `make bench-tcp` runs it, as root, on one core: `tun_bulk [MEGABYTES] [CONNECTIONS]` behind
//! `taskset -c 0`. The kernel's TCP goes from one namespace to another through two TUN devices that
//! a relay joins by copying; ours ends at a TUN device in the namespace of a kernel peer. Both with
//! packets of the wire's size, and with those that the kernel lets pass whole (GSO, GRO). The
//! receiver compares every byte with what was to be sent, in all cases alike. Then idle
//! connections: what each takes in the stack alone, and in an edge that has forwarded it to a
//! service.

mod bulk;
mod idle;
mod ours;
mod pattern;

use std::error::Error;

use interop::Namespace;
use io::{Tun, TunOptions};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> Outcome<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let Some(ended) = idle::be_an_end(&words) {
        return ended;
    }
    let mut arguments = words.iter();
    let megabytes: u64 = arguments.next().map_or(Ok(1000), |text| text.parse())?;
    let connections: usize = arguments.next().map_or(Ok(10_000), |text| text.parse())?;
    println!("{megabytes} MB each way, all of them intact at the other end:");
    for offload in [false, true] {
        let packets = if offload { "large packets" } else { "packets of 1500 bytes" };
        let kernel = bulk::kernel_to_kernel(megabytes, offload)?;
        let (to_ours, from_ours) = bulk::with_ours(megabytes, offload)?;
        println!(
            "{packets}: kernel to kernel {kernel:.0} Mbit/s; kernel to ours {to_ours:.0}, ours to kernel {from_ours:.0}"
        );
    }
    idle::in_the_stack(connections)?;
    idle::in_an_edge(connections)
}

/// A device of `namespace`, whose kernel has the address `host` there.
fn tun(namespace: &Namespace, host: &str, offload: bool) -> Outcome<Tun> {
    let host = vec![(host.parse()?, 24)];
    let options = TunOptions { host, offload, ..TunOptions::default() };
    Ok(namespace.enter(|| Tun::open(&options))??)
}
