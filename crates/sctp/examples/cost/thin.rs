//! Cost of a message when thousands of associations each send one now and then.

use std::sync::Arc;

use base::Duration;
use bytes::Bytes;
use cpu_time::ProcessTime;
use recovery::RecoveryPolicy;
use sctp::AssociationOptions;

use super::pair::Pair;

/// Time between two messages of one association.
const INTERVAL: Duration = Duration::from_millis(250);

/// Bytes of user data of a message.
const SIZE: usize = 100;

/// Options of an association with the preset `name`, and whose SACKs are delayed, as RFC 9260 says,
/// with `rfc` alone: with the others each message has its own at once.
///
/// # Errors
///
/// The name, if no preset of SCTP has it.
pub(crate) fn options(name: &str) -> Result<AssociationOptions, String> {
    let mut options = under(name)?;
    if name != "rfc" {
        Arc::make_mut(&mut options.policy).acknowledgement.delay = None;
    }
    Ok(options)
}

/// Options of an association with the preset `name`.
///
/// # Errors
///
/// The name, if no preset of SCTP has it.
pub(crate) fn under(name: &str) -> Result<AssociationOptions, String> {
    let policy =
        RecoveryPolicy::preset(name).ok_or_else(|| format!("{name:?} is no preset of SCTP"))?;
    Ok(AssociationOptions { policy: Arc::new(policy), ..AssociationOptions::default() })
}

/// Sends `rounds` messages on each of the associations of `pair`, spread evenly over the interval.
pub(crate) fn send_rounds(pair: &mut Pair, rounds: u32) {
    let message = Bytes::from(vec![7; SIZE]);
    let step = INTERVAL / pair.associations.len() as u64;
    for _ in 0..rounds {
        for index in 0..pair.associations.len() {
            pair.advance(step);
            pair.send(pair.associations[index], message.clone());
            pair.exchange();
        }
    }
}

/// CPU time of a message, both ends together, in microseconds, and the packets that it took.
pub(crate) fn measure(options: &AssociationOptions, associations: u32, rounds: u32) -> (f64, f64) {
    let mut pair = Pair::new(options, associations);
    send_rounds(&mut pair, 4);
    let (packets, received, start) = (pair.packets(), pair.received().0, ProcessTime::now());
    send_rounds(&mut pair, rounds);
    let elapsed = start.elapsed();
    let messages = (pair.received().0 - received) as f64;
    (elapsed.as_secs_f64() * 1e6 / messages, (pair.packets() - packets) as f64 / messages)
}
