//! The two directions of a connection or association.

/// One of two directions: from the end that was seen to send first, or to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Way {
    There,
    Back,
}

impl Way {
    pub(crate) fn index(self) -> usize {
        self as usize
    }

    pub(crate) fn opposite(self) -> Way {
        match self {
            Way::There => Way::Back,
            Way::Back => Way::There,
        }
    }
}
