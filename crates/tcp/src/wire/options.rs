//! Options of the header (RFC 9293, section 3.2; RFC 7323, 2018, 5482).
//!
//! Each option is a kind, a length that includes both bytes, and a value; kinds 0 and 1 are single
//! bytes. A header has room for 40 bytes of options.

use base::Duration;
use smallvec::SmallVec;

use super::sequence::SeqNumber;

/// Most bytes of options: the data offset counts words of four bytes in four bits, header included.
pub const MAX_OPTIONS_LENGTH: usize = 40;

/// Most SACK blocks in an option, if there is no other option.
pub const MAX_SACK_BLOCKS: usize = 4;

/// The largest shift count (RFC 7323, section 2.3); what is greater counts as this.
pub const MAX_WINDOW_SCALE: u8 = 14;

const END: u8 = 0;
const NO_OPERATION: u8 = 1;
const MSS: u8 = 2;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;
const MD5: u8 = 19;
const USER_TIMEOUT: u8 = 28;
const AUTHENTICATION: u8 = 29;
const FAST_OPEN: u8 = 34;

/// SACK blocks of one segment, in their order.
pub type SackBlocks = SmallVec<[SackBlock; MAX_SACK_BLOCKS]>;

/// The options of a segment.
///
/// MSS, window scale and SACK-permitted are only valid in a segment with SYN (RFC 9293, section
/// 3.2; RFC 7323, section 2.2; RFC 2018, section 2); the receiver of the segment observes that.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Largest segment that the sender of this one accepts, in bytes of data (RFC 9293, section
    /// 3.7.1).
    pub mss: Option<u16>,
    /// Shift of the sender's windows (RFC 7323, section 2), as on the wire; see
    /// [`MAX_WINDOW_SCALE`].
    pub window_scale: Option<u8>,
    /// Whether the sender accepts SACK options (RFC 2018, section 2).
    pub sack_permitted: bool,
    /// Timestamps (RFC 7323, section 3).
    pub timestamps: Option<Timestamps>,
    /// Data received out of order; the first block may report a duplicate (RFC 2018, 2883).
    pub sack: SackBlocks,
    /// Time for which the sender keeps unacknowledged data before it gives up (RFC 5482).
    pub user_timeout: Option<UserTimeout>,
    /// Options that were present and skipped; never emitted.
    pub skipped: Skipped,
}

/// A timestamps option (RFC 7323, section 3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Timestamps {
    /// TSval: the sender's clock when the segment left.
    pub value: u32,
    /// TSecr: the latest value received from the other side; only valid with ACK.
    pub echo: u32,
}

impl Timestamps {
    fn from_bytes(&[v0, v1, v2, v3, e0, e1, e2, e3]: &[u8; 8]) -> Timestamps {
        Timestamps {
            value: u32::from_be_bytes([v0, v1, v2, v3]),
            echo: u32::from_be_bytes([e0, e1, e2, e3]),
        }
    }
}

/// A block of a SACK option (RFC 2018, section 3): bytes from `start` up to, not including, `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct SackBlock {
    /// Left edge: the first number of the block.
    pub start: SeqNumber,
    /// Right edge: the number after the last.
    pub end: SeqNumber,
}

/// A user timeout (RFC 5482, section 3): fifteen bits of seconds or minutes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UserTimeout {
    /// Whether the value counts minutes, not seconds.
    pub minutes: bool,
    /// The value, at most 32767.
    pub value: u16,
}

impl UserTimeout {
    const GRANULARITY: u16 = 0x8000;

    /// The shortest option value that is no shorter than `timeout`: in seconds if fifteen bits
    /// suffice.
    pub fn from_duration(timeout: Duration) -> UserTimeout {
        let seconds = timeout.as_nanos().div_ceil(1_000_000_000);
        let longest = Self::GRANULARITY - 1;
        match u16::try_from(seconds).ok().filter(|seconds| *seconds <= longest) {
            Some(value) => UserTimeout { minutes: false, value },
            None => {
                let minutes = u16::try_from(seconds.div_ceil(60)).unwrap_or(longest);
                UserTimeout { minutes: true, value: minutes.min(longest) }
            }
        }
    }

    /// The timeout that the option asks for.
    pub fn duration(self) -> Duration {
        Duration::from_secs(u64::from(self.value) * if self.minutes { 60 } else { 1 })
    }
}

/// Counts of options that this implementation skips.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Skipped {
    /// Fast Open cookies and requests (RFC 7413).
    pub fast_open: u8,
    /// MD5 signatures (RFC 2385) and authentication (RFC 5925).
    pub signatures: u8,
    /// Options of kinds without a meaning here.
    pub unknown: u8,
    /// Options with an invalid length, or after which the rest could not be parsed.
    pub malformed: u8,
}

/// Number of SACK blocks that fit beside timestamps (or without them), with each option aligned to
/// four bytes.
pub const fn sack_blocks_that_fit(timestamps: bool) -> usize {
    if timestamps { 3 } else { MAX_SACK_BLOCKS }
}

impl Options {
    /// Parses the options of a header. Unreadable ones are skipped and counted.
    pub fn parse(bytes: &[u8]) -> Options {
        let mut options = Options::default();
        // Nearly all segments of a connection have aligned timestamps and nothing else.
        if let [NO_OPERATION, NO_OPERATION, TIMESTAMPS, 10, value @ ..] = bytes
            && let Some(timestamps) =
                value.first_chunk().filter(|_| value.len() == 8).map(Timestamps::from_bytes)
        {
            options.timestamps = Some(timestamps);
            return options;
        }
        let mut rest = bytes;
        while let [kind, after @ ..] = rest {
            rest = match *kind {
                END => break,
                NO_OPERATION => after,
                kind => match options.parse_one(kind, rest) {
                    Some(next) => next,
                    None => {
                        options.skipped.malformed = options.skipped.malformed.saturating_add(1);
                        break;
                    }
                },
            };
        }
        options
    }

    /// Parses the option at the beginning of `bytes`. Returns the rest, `None` if its beginning
    /// cannot be known.
    fn parse_one<'a>(&mut self, kind: u8, bytes: &'a [u8]) -> Option<&'a [u8]> {
        let length = usize::from(*bytes.get(1)?);
        let (option, rest) = bytes.split_at_checked(length)?;
        let value = option.get(2..)?;
        let skipped = &mut self.skipped;
        match (kind, value) {
            (MSS, &[m0, m1]) => self.mss = Some(u16::from_be_bytes([m0, m1])),
            (WINDOW_SCALE, &[shift]) => self.window_scale = Some(shift),
            (SACK_PERMITTED, &[]) => self.sack_permitted = true,
            (TIMESTAMPS, value) if value.len() == 8 => {
                self.timestamps = value.first_chunk().map(Timestamps::from_bytes);
            }
            (USER_TIMEOUT, &[u0, u1]) => {
                let bits = u16::from_be_bytes([u0, u1]);
                self.user_timeout = Some(UserTimeout {
                    minutes: bits & UserTimeout::GRANULARITY != 0,
                    value: bits & !UserTimeout::GRANULARITY,
                });
            }
            (SACK, blocks) if !blocks.is_empty() && blocks.len() % 8 == 0 => {
                self.sack = sack_blocks(blocks);
            }
            (MSS | WINDOW_SCALE | SACK_PERMITTED | TIMESTAMPS | USER_TIMEOUT | SACK, _) => {
                skipped.malformed = skipped.malformed.saturating_add(1);
            }
            (FAST_OPEN, _) => skipped.fast_open = skipped.fast_open.saturating_add(1),
            (MD5 | AUTHENTICATION, _) => {
                skipped.signatures = skipped.signatures.saturating_add(1);
            }
            _ => skipped.unknown = skipped.unknown.saturating_add(1),
        }
        Some(rest)
    }

    /// Bytes that [`Options::emit`] appends: a multiple of four, at most [`MAX_OPTIONS_LENGTH`].
    ///
    /// SACK blocks that do not fit are omitted, the last ones first.
    pub fn emitted_length(&self) -> usize {
        let sack = match self.sack_blocks_emitted() {
            0 => 0,
            blocks => 4 + 8 * blocks,
        };
        self.length_without_sack() + sack
    }

    /// Bytes of all options except SACK, at most 24.
    fn length_without_sack(&self) -> usize {
        let timestamps = match (self.timestamps, self.sack_permitted) {
            (Some(_), _) => 12,
            (None, true) => 4,
            (None, false) => 0,
        };
        let words = usize::from(self.mss.is_some())
            + usize::from(self.window_scale.is_some())
            + usize::from(self.user_timeout.is_some());
        timestamps + 4 * words
    }

    fn sack_blocks_emitted(&self) -> usize {
        let room = MAX_OPTIONS_LENGTH.saturating_sub(self.length_without_sack() + 4);
        self.sack.len().min(room / 8)
    }

    /// Appends the options, each aligned to four bytes: MSS, SACK-permitted, timestamps, window
    /// scale, user timeout, SACK. The order is always this one, which is that of most senders'
    /// SYNs.
    pub fn emit(&self, buffer: &mut Vec<u8>) {
        if let Some(mss) = self.mss {
            let [m0, m1] = mss.to_be_bytes();
            buffer.extend_from_slice(&[MSS, 4, m0, m1]);
        }
        match (self.sack_permitted, self.timestamps) {
            (true, None) => {
                buffer.extend_from_slice(&[NO_OPERATION, NO_OPERATION, SACK_PERMITTED, 2]);
            }
            (true, Some(_)) => buffer.extend_from_slice(&[SACK_PERMITTED, 2]),
            (false, Some(_)) => buffer.extend_from_slice(&[NO_OPERATION, NO_OPERATION]),
            (false, None) => {}
        }
        if let Some(Timestamps { value, echo }) = self.timestamps {
            let ([v0, v1, v2, v3], [e0, e1, e2, e3]) = (value.to_be_bytes(), echo.to_be_bytes());
            buffer.extend_from_slice(&[TIMESTAMPS, 10, v0, v1, v2, v3, e0, e1, e2, e3]);
        }
        if let Some(shift) = self.window_scale {
            buffer.extend_from_slice(&[NO_OPERATION, WINDOW_SCALE, 3, shift]);
        }
        if let Some(timeout) = self.user_timeout {
            let granularity = if timeout.minutes { UserTimeout::GRANULARITY } else { 0 };
            let bits = timeout.value & !UserTimeout::GRANULARITY | granularity;
            let [u0, u1] = bits.to_be_bytes();
            buffer.extend_from_slice(&[USER_TIMEOUT, 4, u0, u1]);
        }
        self.emit_sack(buffer);
    }

    fn emit_sack(&self, buffer: &mut Vec<u8>) {
        let blocks = self.sack_blocks_emitted();
        if blocks == 0 {
            return;
        }
        let length = (2 + 8 * blocks) as u8;
        buffer.extend_from_slice(&[NO_OPERATION, NO_OPERATION, SACK, length]);
        for block in self.sack.iter().take(blocks) {
            buffer.extend_from_slice(&block.start.0.to_be_bytes());
            buffer.extend_from_slice(&block.end.0.to_be_bytes());
        }
    }
}

/// The blocks of a SACK option's value: at most four, since options have at most 40 bytes.
fn sack_blocks(value: &[u8]) -> SackBlocks {
    let (blocks, _) = value.as_chunks::<8>();
    let read = |&[s0, s1, s2, s3, e0, e1, e2, e3]: &[u8; 8]| SackBlock {
        start: SeqNumber(u32::from_be_bytes([s0, s1, s2, s3])),
        end: SeqNumber(u32::from_be_bytes([e0, e1, e2, e3])),
    };
    blocks.iter().take(MAX_SACK_BLOCKS).map(read).collect()
}

#[cfg(test)]
mod tests;
