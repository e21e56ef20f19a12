//! Translation between the script's numbers and the stack's.
//!
//! Tags and TSNs of a script are symbolic. The stack's are bound by its first INIT or INIT ACK;
//! those of the script's own side are shifted by a seed, so that a script can run with other tags
//! and with TSNs that wrap. Differences between numbers are preserved: a tag that is one off in the
//! script is one off on the wire.

/// The side whose number a field holds, which decides how it is translated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Plain,
    /// The tag that the packet's sender expects in packets to it.
    OwnTag,
    /// A TSN of the packet's sender, or a request number, which starts at the sender's first TSN.
    OwnTsn,
    /// A TSN of the packet's receiver.
    PeerTsn,
}

/// The side that a number belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// The stack under test, whose numbers are its own.
    Stack,
    /// The script, which plays its peer.
    Script,
}

/// Difference between the wire's and the script's numbers; `None` while it is unknown.
#[derive(Clone, Copy, Debug, Default)]
struct Shift {
    tag: Option<u32>,
    tsn: Option<u32>,
}

/// The translation in one run of a script.
#[derive(Clone, Debug)]
pub(crate) struct Mapping {
    stack: Shift,
    stack_tag: Option<u32>,
    /// Numbers of the stack once it accepts the cookie of an INIT ACK that it sent within an
    /// association, and whether the script has returned that cookie.
    offer: Option<(Shift, u32, bool)>,
    script: Shift,
}

impl Mapping {
    /// A translation that shifts the script's numbers by `tag` and `tsn`, before the stack's are
    /// known.
    pub(crate) fn new(tag: u32, tsn: u32) -> Self {
        let script = Shift { tag: Some(tag), tsn: Some(tsn) };
        Mapping { stack: Shift::default(), stack_tag: None, offer: None, script }
    }

    fn shift(&self, side: Side) -> &Shift {
        match side {
            Side::Stack => &self.stack,
            Side::Script => &self.script,
        }
    }

    /// The stack's tag on the wire; `None` while it is unknown.
    pub(crate) fn stack_tag(&self) -> Option<u32> {
        self.stack_tag
    }

    /// Forgets the stack's numbers, since it has chosen others.
    pub(crate) fn unbind(&mut self) {
        self.stack = Shift::default();
        self.stack_tag = None;
    }

    /// Records an INIT ACK within an association, which offers other numbers of the stack: of each
    /// pair, the first is the script's, the second the wire's. Tags and TSNs that the script
    /// does not mention count from there.
    pub(crate) fn offer(&mut self, tag: (Option<u32>, u32), tsn: (Option<u32>, u32)) {
        let shift =
            |(script, live): (Option<u32>, u32)| script.map(|script| live.wrapping_sub(script));
        self.offer = Some((Shift { tag: shift(tag), tsn: shift(tsn) }, tag.1, false));
    }

    /// The script returns the cookie of the last INIT ACK; returns the tag of the offer that it
    /// belongs to, if any.
    pub(crate) fn return_offer(&mut self) -> Option<u32> {
        let (_, tag, returned) = self.offer.as_mut()?;
        *returned = true;
        Some(*tag)
    }

    /// Applies the numbers of a pending offer.
    pub(crate) fn apply_offer(&mut self) {
        if let Some((stack, tag, _)) = self.offer {
            self.stack = stack;
            self.stack_tag = Some(tag);
        }
    }

    /// The stack accepted a cookie: applies its offer's numbers, if any, and returns whether there
    /// was one.
    pub(crate) fn accept_offer(&mut self) -> bool {
        let is_returned = self.offer.is_some_and(|(_, _, returned)| returned);
        if is_returned {
            self.apply_offer();
            self.offer = None;
        }
        is_returned
    }

    /// Binds the stack's tag by its first INIT or INIT ACK: `script` in the script is `live` on the
    /// wire. If the script mentions no tag, its tags count from there.
    pub(crate) fn bind_tag(&mut self, script: Option<u32>, live: u32) {
        if self.stack_tag.is_none() {
            self.stack_tag = Some(live);
            self.stack.tag = script.map(|script| live.wrapping_sub(script));
        }
    }

    /// Binds the stack's first TSN: `script` in the script is `live` on the wire.
    pub(crate) fn bind_tsn(&mut self, script: u32, live: u32) {
        self.stack.tsn.get_or_insert(live.wrapping_sub(script));
    }

    /// Translates a script's tag of `side` to the wire. 0, no tag, stays 0.
    pub(crate) fn live_tag(&self, side: Side, tag: u32) -> u32 {
        let shifted = tag.wrapping_add(self.shift(side).tag.unwrap_or(0));
        // A tag of 0 is meant literally, and a shift must not produce one.
        if tag == 0 { 0 } else { shifted.max(1) }
    }

    fn script_tag(&self, side: Side, tag: u32) -> u32 {
        if tag == 0 { 0 } else { tag.wrapping_sub(self.shift(side).tag.unwrap_or(0)) }
    }

    /// The translation for packets that `sender` sends.
    pub(crate) fn perspective(&self, sender: Side) -> Perspective<'_> {
        Perspective { mapping: self, sender }
    }
}

/// The translation of numbers in packets of one side.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Perspective<'a> {
    mapping: &'a Mapping,
    sender: Side,
}

impl Perspective<'_> {
    /// The translation for numbers that one side returns to the other.
    pub(crate) fn reflected(self) -> Self {
        Perspective { sender: self.receiver(), ..self }
    }

    fn receiver(self) -> Side {
        match self.sender {
            Side::Stack => Side::Script,
            Side::Script => Side::Stack,
        }
    }

    /// Translates a number from the script to the wire.
    pub(crate) fn live(self, role: Role, number: u32) -> u32 {
        let tsn = |side| number.wrapping_add(self.mapping.shift(side).tsn.unwrap_or(0));
        match role {
            Role::Plain => number,
            Role::OwnTag => self.mapping.live_tag(self.sender, number),
            Role::OwnTsn => tsn(self.sender),
            Role::PeerTsn => tsn(self.receiver()),
        }
    }

    /// Translates a number from the wire to the script.
    pub(crate) fn script(self, role: Role, number: u32) -> u32 {
        let tsn = |side| number.wrapping_sub(self.mapping.shift(side).tsn.unwrap_or(0));
        match role {
            Role::Plain => number,
            Role::OwnTag => self.mapping.script_tag(self.sender, number),
            Role::OwnTsn => tsn(self.sender),
            Role::PeerTsn => tsn(self.receiver()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_go_back_and_forth_and_keep_their_differences() {
        let mut mapping = Mapping::new(100, u32::MAX);
        mapping.bind_tag(Some(2), 5000);
        mapping.bind_tsn(1, 7);
        let from_script = mapping.perspective(Side::Script);
        assert_eq!(from_script.live(Role::OwnTsn, 1), 0, "wraps");
        assert_eq!(from_script.live(Role::PeerTsn, 3), 9);
        assert_eq!(mapping.live_tag(Side::Stack, 3), 5001, "one off stays one off");
        assert_eq!(mapping.live_tag(Side::Script, 0), 0);
        let from_stack = mapping.perspective(Side::Stack);
        for role in [Role::Plain, Role::OwnTag, Role::OwnTsn, Role::PeerTsn] {
            assert_eq!(from_stack.script(role, from_stack.live(role, 42)), 42);
        }
        assert_eq!(from_stack.reflected().live(Role::OwnTsn, 1), 0);
    }

    #[test]
    fn only_the_first_binding_counts() {
        let mut mapping = Mapping::new(0, 0);
        assert_eq!(mapping.stack_tag(), None);
        mapping.bind_tag(Some(1), 11);
        mapping.bind_tag(Some(1), 99);
        assert_eq!(mapping.live_tag(Side::Stack, 1), 11);
    }
}
