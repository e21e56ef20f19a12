//! Several UDP sockets at one address, over which the system distributes arriving datagrams.

use std::net::SocketAddr;
use std::num::NonZeroUsize;

use crate::carrier::BindError;
use crate::udp::UdpCarrier;

/// Rules by which the system distributes datagrams over a group of sockets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steering {
    /// A hash of both addresses and ports.
    Addresses,
    /// The verification tag of the SCTP packet in the datagram: the remainder of the tag by the
    /// number of sockets is the number of the socket. Without a tag, as in INIT, address and
    /// port of the sender decide.
    VerificationTag,
    /// The hash of [`Steering::Addresses`], for SCTP in records of DTLS 1.3.
    Records,
}

/// Whether this system can distribute datagrams over several sockets as [`Steering`] says: Linux
/// can.
pub fn can_group() -> bool {
    cfg!(target_os = "linux")
}

/// Opens `count` sockets at `address`, over which the system distributes datagrams as `steering`
/// says; port 0 means a free one. No other socket may be there, as with [`UdpCarrier::bind`]. Needs
/// a tokio runtime with I/O enabled.
///
/// With [`Steering::VerificationTag`] and [`Steering::Records`], packets that only acknowledge data
/// wait apart on Linux and wake
/// no task ([`Carrier::try_recv_acks`](crate::Carrier::try_recv_acks)). An encrypted one is known
/// by its size.
///
/// The order of the sockets is that of their numbers; it changes as soon as one of them is closed,
/// so that all should be kept until none is needed. What distributes them is a hint: a datagram may
/// come to any.
///
/// # Errors
/// When the address is not available, or several were asked for and [`can_group`] is false.
pub fn bind_group(
    address: SocketAddr,
    count: NonZeroUsize,
    steering: Steering,
) -> Result<Vec<UdpCarrier>, BindError> {
    let first = UdpCarrier::bind(address)?;
    #[cfg(target_os = "linux")]
    let group = linux::group(first, count.get(), steering);
    #[cfg(not(target_os = "linux"))]
    let group = {
        let _ = steering;
        match count.get() {
            1 => Ok(vec![first]),
            _ => Err(std::io::ErrorKind::Unsupported.into()),
        }
    };
    group.map_err(|source| BindError::new("UDP", address, source))
}

#[cfg(target_os = "linux")]
mod linux {
    use std::io;

    use nix::libc::{self, sock_filter, sock_fprog};
    use nix::sys::socket::{setsockopt, sockopt};

    use super::Steering;
    use crate::carrier::Carrier;
    use crate::udp::{AckSocket, UdpCarrier};

    /// Adds `count - 1` sockets to `first`, and one for pure acknowledgements to each unless
    /// addresses alone steer. `first` is alone at its address: the system refuses an address
    /// for several sockets unless each of them agreed, and the first one agrees once it has the
    /// address.
    pub(super) fn group(
        first: UdpCarrier,
        count: usize,
        steering: Steering,
    ) -> io::Result<Vec<UdpCarrier>> {
        let address = first.local_addr();
        setsockopt(first.socket(), sockopt::ReusePort, &true)?;
        let mut group = vec![first];
        for _ in 1..count {
            group.push(UdpCarrier::bind_beside(address)?);
        }
        let modulus = u32::try_from(count).map_err(|_| io::ErrorKind::InvalidInput)?;
        let (of_acknowledgements, mut program) = match steering {
            Steering::VerificationTag => (count, by_tag(modulus)),
            Steering::Records => (count, by_record(modulus)),
            Steering::Addresses => (0, by_addresses(modulus, 0)),
        };
        // Needed only where there are several others; without the program they would get datagrams.
        let acks = (0..of_acknowledgements).map(|_| AckSocket::bind_beside(address));
        let acks = match acks.collect::<io::Result<Vec<_>>>() {
            Ok(acks) => acks,
            Err(_) if count == 1 => return Ok(group),
            Err(_) => Vec::new(),
        };
        match attach(&group[0], &mut program) {
            Err(_) if count == 1 => return Ok(group),
            attached => attached?,
        }
        group.iter_mut().zip(acks).for_each(|(carrier, acks)| carrier.set_acks(acks));
        Ok(group)
    }

    /// Bytes of an SCTP packet with one SACK chunk that reports neither gaps nor duplicates: the
    /// common header and the chunk.
    const ACK_LENGTH: u32 = 12 + 16;

    /// Classic BPF over the payload of UDP, an SCTP packet: returns the number of a socket, and for
    /// a packet of one SACK chunk that reports neither gaps nor duplicates (RFC 9260, section
    /// 3.3.4) the number of the same tag's socket for acknowledgements. For a payload that is
    /// too short the program returns 0.
    fn by_tag(sockets: u32) -> Vec<sock_filter> {
        const SACK: u32 = 3;
        /// Offset in the packet, in bytes: first that of the verification tag, then that of the
        /// first chunk's type.
        const TAG: u32 = 4;
        const CHUNK_TYPE: u32 = 12;
        let (remainder, answer) = (compute(libc::BPF_MOD, sockets), answer());
        let by_tag = [
            operation(libc::BPF_LD | libc::BPF_W | libc::BPF_LEN, 0),
            unless(ACK_LENGTH, 6),
            load(libc::BPF_B, CHUNK_TYPE),
            unless(SACK, 4),
            load(libc::BPF_W, TAG),
            remainder,
            compute(libc::BPF_ADD, sockets),
            answer,
            // Any other packet; one without a tag goes by addresses.
            load(libc::BPF_W, TAG),
            sock_filter { jt: 2, ..equal(0) },
            remainder,
            answer,
        ];
        [&by_tag[..], &by_addresses(sockets, 0)].concat()
    }

    /// Classic BPF over the payload of UDP, a record of DTLS 1.3 (RFC 9147, section 4) without a
    /// connection id: returns the number of a socket for the sender's address and port, and for
    /// a record of the size that a SACK has the number of that one's socket for
    /// acknowledgements. Another packet of that size, such as an ABORT with a reason of eight
    /// bytes, waits as long as a SACK may.
    fn by_record(sockets: u32) -> Vec<sock_filter> {
        /// Bytes of the record around its content: the header with a sequence number of 16 bits and
        /// a length, the type of the content, and the tag of the cipher.
        const AROUND: u32 = 5 + 1 + 16;
        /// First bits of a unified header of DTLS, above those of the epoch.
        const FORM: u32 = 0b0010_1100;
        const FORM_BITS: u32 = 0b1111_1100;
        let acks = by_addresses(sockets, sockets);
        // Programs are a few operations long.
        let past_acks = acks.len() as u8;
        let by_form = [
            operation(libc::BPF_LD | libc::BPF_W | libc::BPF_LEN, 0),
            unless(AROUND + ACK_LENGTH, 3 + past_acks),
            load(libc::BPF_B, 0),
            compute(libc::BPF_AND, FORM_BITS),
            unless(FORM, past_acks),
        ];
        [&by_form[..], &acks, &by_addresses(sockets, 0)].concat()
    }

    /// Classic BPF that returns a number of `sockets`, from `first`, for the address and port of
    /// the sender.
    fn by_addresses(sockets: u32, first: u32) -> Vec<sock_filter> {
        /// The beginning of the IP header, among places.
        const NET: u32 = libc::SKF_NET_OFF as u32;
        const V4: u32 = 4;
        /// The latter half of the source address, and the source port, behind IP headers without
        /// options.
        const V4_SOURCE: [u32; 2] = [NET + 12, NET + 20];
        const V6_SOURCE: [u32; 2] = [NET + 20, NET + 40];
        /// Spreads the bits of a number (multiplicative hash).
        const SPREAD: u32 = 0x9e37_79b1;
        let keep = operation(libc::BPF_MISC | libc::BPF_TAX, 0);
        vec![
            load(libc::BPF_B, NET),
            compute(libc::BPF_RSH, 4),
            unless(V4, 4),
            load(libc::BPF_W, V4_SOURCE[0]),
            keep,
            load(libc::BPF_H, V4_SOURCE[1]),
            operation(libc::BPF_JMP | libc::BPF_JA, 3),
            load(libc::BPF_W, V6_SOURCE[0]),
            keep,
            load(libc::BPF_H, V6_SOURCE[1]),
            operation(libc::BPF_ALU | libc::BPF_XOR | libc::BPF_X, 0),
            compute(libc::BPF_MUL, SPREAD),
            compute(libc::BPF_RSH, 16),
            compute(libc::BPF_MOD, sockets),
            compute(libc::BPF_ADD, first),
            answer(),
        ]
    }

    fn load(size: u32, at: u32) -> sock_filter {
        operation(libc::BPF_LD | libc::BPF_ABS | size, at)
    }

    fn compute(code: u32, k: u32) -> sock_filter {
        operation(libc::BPF_ALU | libc::BPF_K | code, k)
    }

    /// Skips as many operations if the number is another.
    fn unless(value: u32, skip: u8) -> sock_filter {
        sock_filter { jf: skip, ..equal(value) }
    }

    fn answer() -> sock_filter {
        operation(libc::BPF_RET | libc::BPF_A, 0)
    }

    fn operation(code: u32, k: u32) -> sock_filter {
        sock_filter { code: code as u16, jt: 0, jf: 0, k }
    }

    fn equal(value: u32) -> sock_filter {
        operation(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, value)
    }

    fn attach(socket: &UdpCarrier, program: &mut [sock_filter]) -> io::Result<()> {
        let len = u16::try_from(program.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
        let program = sock_fprog { len, filter: program.as_mut_ptr() };
        Ok(setsockopt(socket.socket(), sockopt::AttachReusePortCbpf, &program)?)
    }
}

#[cfg(test)]
mod tests;
