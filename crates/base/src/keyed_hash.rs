//! Keyed hashes: short, and unpredictable without the key.

use core::net::{IpAddr, SocketAddr};

use siphasher::sip::SipHasher24;

use crate::random::RandomStream;

/// A key of 128 bits for SipHash-2-4 (Aumasson and Bernstein 2012). It makes numbers that strangers
/// must not guess, and the places of things in tables whose keys strangers choose.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct HashKey([u8; 16]);

impl core::fmt::Debug for HashKey {
    /// Writes the type's name only, so that no log shows the secret.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("HashKey")
    }
}

impl HashKey {
    /// A key from a random stream, which is seeded from the system unless the run is to be
    /// repeated.
    pub fn draw(random: &mut RandomStream) -> HashKey {
        let mut key = [0; 16];
        random.fill(&mut key);
        HashKey(key)
    }

    /// SipHash-2-4 of `bytes`, unpredictable without the key.
    pub fn hash(&self, bytes: &[u8]) -> u64 {
        SipHasher24::new_with_key(&self.0).hash(bytes)
    }

    /// The hash of two addresses with their ports and a number; an IPv4 address is the same as
    /// mapped into IPv6.
    pub fn hash_addresses(&self, a: SocketAddr, b: SocketAddr, number: u64) -> u64 {
        let mut bytes = [0; 44];
        let mut rest = &mut bytes[..];
        let mut put = |part: &[u8]| {
            let (place, after) = core::mem::take(&mut rest).split_at_mut(part.len());
            place.copy_from_slice(part);
            rest = after;
        };
        for address in [a, b] {
            put(&octets(address.ip()));
            put(&address.port().to_be_bytes());
        }
        put(&number.to_be_bytes());
        self.hash(&bytes)
    }
}

/// An address as IPv6 has it.
fn octets(ip: IpAddr) -> [u8; 16] {
    match ip {
        IpAddr::V4(ip) => ip.to_ipv6_mapped().octets(),
        IpAddr::V6(ip) => ip.octets(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_function_of_the_paper() {
        // Appendix A of the paper: key 00 01 … 0f, input 00 01 … 0e.
        let bytes: Vec<u8> = (0..16).collect();
        let key = HashKey(bytes.clone().try_into().unwrap());
        assert_eq!(key.hash(&bytes[..15]), 0xa129_ca61_49be_45e5);
    }

    #[test]
    fn every_part_of_two_addresses_and_the_number_counts() {
        let key = HashKey([7; 16]);
        let hash = |a: &str, b: &str, number| {
            key.hash_addresses(a.parse().unwrap(), b.parse().unwrap(), number)
        };
        let first = hash("10.0.0.1:80", "[2001:db8::1]:4000", 7);
        assert_eq!(first, hash("[::ffff:10.0.0.1]:80", "[2001:db8::1]:4000", 7));
        for other in [
            hash("10.0.0.2:80", "[2001:db8::1]:4000", 7),
            hash("10.0.0.1:81", "[2001:db8::1]:4000", 7),
            hash("10.0.0.1:80", "[2001:db8::2]:4000", 7),
            hash("10.0.0.1:80", "[2001:db8::1]:4001", 7),
            hash("10.0.0.1:80", "[2001:db8::1]:4000", 8),
            hash("[2001:db8::1]:4000", "10.0.0.1:80", 7),
        ] {
            assert_ne!(first, other);
        }
        // So does the key: who does not know it cannot look for addresses whose hashes are alike.
        let other = HashKey([8; 16]);
        let (a, b) = ("10.0.0.1:80".parse().unwrap(), "[2001:db8::1]:4000".parse().unwrap());
        assert_ne!(first, other.hash_addresses(a, b, 7));
    }
}
