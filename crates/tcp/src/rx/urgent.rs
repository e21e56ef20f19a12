//! Urgent data (RFC 9293, section 3.8.5; RFC 6093).

/// Where urgent data ends, and the byte that an application which wants it out of band gets.
///
/// As all implementations do (RFC 6093, sections 3.1 and 3.2), only the last byte before the urgent pointer
/// counts as out of band, and only one at a time.
#[derive(Clone, Debug)]
pub(super) struct Urgent {
    /// Offset of the last byte of urgent data.
    pub(super) mark: u64,
    /// The byte at the mark once it has been passed in the stream, out of band, before anybody asked for it.
    pub(super) byte: Option<u8>,
    /// The application has asked for it and got it.
    pub(super) taken: bool,
}

impl Urgent {
    /// The mark that an urgent pointer sets: it points behind the last byte of urgent data (RFC 6093,
    /// section 2.1). A pointer of 0 says that urgent data has ended before this segment, which is no news.
    pub(super) fn mark(start: u64, pointer: u16) -> Option<u64> {
        (start + u64::from(pointer)).checked_sub(1).filter(|_| pointer > 0)
    }

    /// Urgent data up to `mark`, not yet asked for.
    pub(super) fn new(mark: u64) -> Urgent {
        Urgent { mark, byte: None, taken: false }
    }
}
