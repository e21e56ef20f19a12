//! Media: streams that are played while they arrive, and images that load in parallel.

use core::fmt;

use base::{ByteCount, Rate};

use super::Arrivals;

/// Images that are fetched at the same time, all of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Images {
    /// Number of images.
    pub count: u32,
    /// Size of every image, in bytes.
    pub bytes: u64,
}

impl Images {
    pub(super) fn is_empty(&self) -> bool {
        self.count == 0 || self.bytes == 0
    }

    /// Number of parts of `part` bytes in all images.
    pub(super) fn parts(&self, part: u64) -> u64 {
        u64::from(self.count).saturating_mul(self.bytes.div_ceil(part.max(1)))
    }

    /// Bytes of part number `index`: the first parts of all images come before the second ones, and
    /// the last part of an image has the remainder.
    pub(super) fn part(&self, index: u64, part: u64) -> usize {
        let before = index / u64::from(self.count.max(1));
        self.bytes.saturating_sub(before.saturating_mul(part)).min(part) as usize
    }
}

impl fmt::Display for Images {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.count, ByteCount(self.bytes))
    }
}

/// Arrivals of media; `None` if the text begins otherwise, `Some(None)` if it is invalid.
pub(super) fn parse(text: &str) -> Option<Option<Arrivals>> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let rate = |text: &str| text.parse::<Rate>().ok();
    Some(match words[..] {
        ["live", text] => rate(text).map(|rate| Arrivals::Live { rate }),
        ["stored", text] => rate(text).map(|rate| Arrivals::Stored { rate }),
        ["images", count, bytes] => parse_images(count, bytes).map(Arrivals::Images),
        ["live" | "stored" | "images", ..] => None,
        _ => return None,
    })
}

fn parse_images(count: &str, bytes: &str) -> Option<Images> {
    let images = Images { count: count.parse().ok()?, bytes: bytes.parse::<ByteCount>().ok()?.0 };
    (!images.is_empty()).then_some(images)
}
