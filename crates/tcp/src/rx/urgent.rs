//! Urgent data (RFC 9293, section 3.8.5; RFC 6093).

/// The end of urgent data, and the byte for an application that wants it out of band.
///
/// As in all implementations (RFC 6093, sections 3.1 and 3.2), only the last byte before the urgent
/// pointer is out of band, and only one at a time.
#[derive(Clone, Debug)]
pub(super) struct Urgent {
    /// Offset of the last byte of urgent data.
    pub(super) mark: u64,
    /// The byte at the mark, once the stream has passed it out of band and the application has not
    /// asked for it.
    pub(super) byte: Option<u8>,
    /// Whether the application has received it.
    pub(super) taken: bool,
}

impl Urgent {
    /// The mark that an urgent pointer sets: the pointer points after the last byte of urgent data
    /// (RFC 6093, section 2.1). A pointer of 0 means that urgent data ended before this
    /// segment, which is not new.
    pub(super) fn mark(start: u64, pointer: u16) -> Option<u64> {
        (start + u64::from(pointer)).checked_sub(1).filter(|_| pointer > 0)
    }

    /// Urgent data up to `mark`, not requested yet.
    pub(super) fn new(mark: u64) -> Urgent {
        Urgent { mark, byte: None, taken: false }
    }
}
