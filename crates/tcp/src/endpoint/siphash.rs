//! SipHash-2-4 (Aumasson and Bernstein 2012): a short keyed hash that strangers cannot predict. It makes
//! initial sequence numbers (RFC 6528), SYN cookies, and the places of connections in their table.

use core::net::{IpAddr, SocketAddr};

use base::RandomStream;

/// A key of 128 bits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct SipKey(u64, u64);

impl core::fmt::Debug for SipKey {
    /// Secrets are not printed.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("SipKey")
    }
}

impl SipKey {
    pub(super) fn draw(random: &mut RandomStream) -> SipKey {
        SipKey(random.next_u64(), random.next_u64())
    }

    /// The hash of two addresses with their ports and a number.
    pub(super) fn hash_addresses(self, a: SocketAddr, b: SocketAddr, number: u64) -> u64 {
        let mut state = State::new(self);
        let words = |ip: IpAddr| match ip {
            IpAddr::V4(ip) => u128::from(ip.to_bits()) | 0xffff << 32,
            IpAddr::V6(ip) => ip.to_bits(),
        };
        for ip in [words(a.ip()), words(b.ip())] {
            state.word(ip as u64);
            state.word((ip >> 64) as u64);
        }
        state.word(u64::from(a.port()) << 16 | u64::from(b.port()));
        state.word(number);
        // Six words: the length, modulo 256, in the last one's upper byte.
        state.finish(48 << 56)
    }

    /// The hash of any bytes.
    #[cfg(test)]
    fn hash(self, bytes: &[u8]) -> u64 {
        let mut state = State::new(self);
        let (words, rest) = bytes.as_chunks::<8>();
        words.iter().for_each(|word| state.word(u64::from_le_bytes(*word)));
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        last[7] = bytes.len() as u8;
        state.finish(u64::from_le_bytes(last))
    }
}

struct State([u64; 4]);

impl State {
    fn new(SipKey(k0, k1): SipKey) -> State {
        State([
            k0 ^ 0x736f_6d65_7073_6575,
            k1 ^ 0x646f_7261_6e64_6f6d,
            k0 ^ 0x6c79_6765_6e65_7261,
            k1 ^ 0x7465_6462_7974_6573,
        ])
    }

    fn round(&mut self) {
        let [v0, v1, v2, v3] = &mut self.0;
        *v0 = v0.wrapping_add(*v1);
        *v2 = v2.wrapping_add(*v3);
        *v1 = v1.rotate_left(13) ^ *v0;
        *v3 = v3.rotate_left(16) ^ *v2;
        *v0 = v0.rotate_left(32);
        *v2 = v2.wrapping_add(*v1);
        *v0 = v0.wrapping_add(*v3);
        *v1 = v1.rotate_left(17) ^ *v2;
        *v3 = v3.rotate_left(21) ^ *v0;
        *v2 = v2.rotate_left(32);
    }

    fn word(&mut self, word: u64) {
        self.0[3] ^= word;
        self.round();
        self.round();
        self.0[0] ^= word;
    }

    fn finish(mut self, last: u64) -> u64 {
        self.word(last);
        self.0[2] ^= 0xff;
        (0..4).for_each(|_| self.round());
        self.0.iter().fold(0, |all, word| all ^ word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_function_of_the_paper() {
        // Appendix A of the paper: key 00 01 … 0f, input 00 01 … 0e.
        let key = SipKey(0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908);
        let input: Vec<u8> = (0..15).collect();
        assert_eq!(key.hash(&input), 0xa129_ca61_49be_45e5);
    }

    #[test]
    fn addresses_hash_as_their_bytes() {
        let key = SipKey(1, 2);
        let (a, b) = ("10.0.0.1:80".parse().unwrap(), "[2001:db8::1]:4000".parse().unwrap());
        let mut bytes = vec![1, 0, 0, 10, 0xff, 0xff, 0, 0];
        bytes.extend([0; 8]);
        bytes.extend((0x2001_0db8_u128 << 96 | 1).to_le_bytes());
        bytes.extend((80u64 << 16 | 4000).to_le_bytes());
        bytes.extend(7u64.to_le_bytes());
        assert_eq!(key.hash_addresses(a, b, 7), key.hash(&bytes));
    }
}
