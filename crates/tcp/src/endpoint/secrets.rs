//! Numbers that an attacker must not guess, computed from addresses and keys without state.

use core::net::SocketAddr;

use base::{HashKey, Instant, RandomStream};

use crate::options::EndpointOptions;
use crate::wire::SeqNumber;

/// Keys of an endpoint, and values that replays fix.
#[derive(Debug)]
pub(super) struct Secrets {
    sequence: HashKey,
    timestamps: HashKey,
    /// Key by which SYN cookies are computed and verified.
    pub(super) cookies: HashKey,
    fixed_sequence: Option<u32>,
    fixed_offset: Option<u32>,
}

impl Secrets {
    pub(super) fn draw(options: &EndpointOptions, random: &mut RandomStream) -> Secrets {
        Secrets {
            sequence: HashKey::draw(random),
            timestamps: HashKey::draw(random),
            cookies: HashKey::draw(random),
            fixed_sequence: options.initial_sequence,
            fixed_offset: options.timestamp_offset,
        }
    }

    /// The initial sequence number of a connection (RFC 6528, section 3): a clock of four
    /// microseconds plus a keyed hash of its addresses, so that a later connection between the
    /// same addresses begins after the earlier one, and other connections reveal nothing about
    /// it.
    pub(super) fn initial_sequence(
        &self,
        now: Instant,
        local: SocketAddr,
        remote: SocketAddr,
    ) -> SeqNumber {
        let clock = (now.as_nanos() / 4_000) as u32;
        let hashed = || self.sequence.hash_addresses(local, remote, 0) as u32;
        SeqNumber(self.fixed_sequence.unwrap_or_else(|| clock.wrapping_add(hashed())))
    }

    /// The offset of a connection's timestamp clock, which hides the machine's uptime (RFC 7323,
    /// section 5.4). Equal for all connections between the same addresses, so that their
    /// timestamps never go back (RFC 6191), and a SYN cookie need not store it.
    pub(super) fn timestamp_offset(&self, local: SocketAddr, remote: SocketAddr) -> u32 {
        let hashed = || self.timestamps.hash_addresses(local, remote, 0) as u32;
        self.fixed_offset.unwrap_or_else(hashed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::{Duration, Purpose};

    #[test]
    fn initial_sequence_numbers_follow_the_clock_for_one_pair_and_nothing_for_others() {
        let mut random = RandomStream::new(1, Purpose("test", 0));
        let secrets = Secrets::draw(&EndpointOptions::default(), &mut random);
        let address = |text: &str| text.parse::<SocketAddr>().unwrap();
        let (local, remote) = (address("10.0.0.1:80"), address("10.0.0.2:4000"));
        let first = secrets.initial_sequence(Instant::ZERO, local, remote);
        let later = Instant::ZERO + Duration::from_secs(1);
        assert_eq!(secrets.initial_sequence(later, local, remote), first.advance(250_000));
        // Each address and each port counts.
        for (from, to) in [
            (local, address("10.0.0.2:4001")),
            (local, address("10.0.0.3:4000")),
            (address("10.0.0.1:81"), remote),
            (address("10.0.0.4:80"), remote),
        ] {
            let other = secrets.initial_sequence(Instant::ZERO, from, to);
            let apart = other.distance_from(first).min(first.distance_from(other));
            assert!(apart > 1000, "{from} to {to}");
        }
        assert_ne!(
            secrets.timestamp_offset(local, remote),
            secrets.timestamp_offset(remote, local)
        );
    }

    #[test]
    fn another_seed_gives_other_initial_sequence_numbers_and_timestamps() {
        let address = |text: &str| text.parse::<SocketAddr>().unwrap();
        let (local, remote) = (address("10.0.0.1:80"), address("10.0.0.2:4000"));
        let secrets = |seed| {
            let mut random = RandomStream::new(seed, Purpose("test", 0));
            Secrets::draw(&EndpointOptions::default(), &mut random)
        };
        let sequence = |own: &Secrets| own.initial_sequence(Instant::ZERO, local, remote).0;
        let offset = |own: &Secrets| own.timestamp_offset(local, remote);
        let kinds: [&dyn Fn(&Secrets) -> u32; 2] = [&sequence, &offset];
        for kind in kinds {
            let mut numbers: Vec<u32> = (0..1000).map(|seed| kind(&secrets(seed))).collect();
            // The numbers are spread over the whole space: none reveals another.
            numbers.sort_unstable();
            numbers.dedup();
            assert!(numbers.len() > 995);
            assert!(numbers[100] < 1 << 30 && numbers[900] > 3 << 30);
        }
    }
}
