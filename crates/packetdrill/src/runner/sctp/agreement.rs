//! The association's tag among those that the script offered. Packets within the association carry
//! it, whatever INITs came later (RFC 9260, sections 5.2.1, 5.2.2 and 8.5).

/// Chunk types that bear on the tag (RFC 9260, section 3.2).
const INIT: u8 = 1;
const INIT_ACK: u8 = 2;
const ABORT: u8 = 6;
const ERROR: u8 = 9;
const COOKIE_ECHO: u8 = 10;
const COOKIE_ACK: u8 = 11;

/// The association's tag, once the stack has shown which of the offered ones it accepted.
#[derive(Debug, Default)]
pub(super) struct Agreement {
    tag: Option<u32>,
    /// The tag that the stack's last INIT ACK answers, and to which its cookie belongs.
    answered: Option<u32>,
    /// The tag of the cookie that the script returned last.
    returned: Option<u32>,
}

impl Agreement {
    /// The script sends a COOKIE ECHO, with the stack's last cookie or with other bytes.
    pub(super) fn note_returned(&mut self, is_last_cookie: bool) {
        self.returned = if is_last_cookie { self.answered } else { None };
    }

    /// The stack sent a packet with `tag` whose first chunk has this type.
    pub(super) fn note_sent(&mut self, chunk: Option<u8>, tag: u32) {
        match chunk {
            Some(INIT) => self.tag = None,
            Some(INIT_ACK) => self.answered = Some(tag),
            Some(COOKIE_ECHO) => self.tag = Some(tag),
            Some(COOKIE_ACK) => self.tag = self.returned,
            _ => {}
        }
    }

    /// The tag required in a packet whose first chunk has this type, if only one is valid. The
    /// answer to a cookie has the cookie's tag; answers to an INIT, and errors, have the tag of
    /// the packet that they answer.
    pub(super) fn required(&self, chunk: Option<u8>) -> Option<u32> {
        match chunk {
            Some(INIT | INIT_ACK | ABORT | ERROR | COOKIE_ECHO) => None,
            Some(COOKIE_ACK) => self.returned,
            _ => self.tag,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DATA: Option<u8> = Some(0);

    #[test]
    fn an_init_within_an_association_changes_its_tag_only_if_its_cookie_is_returned() {
        let mut agreement = Agreement::default();
        agreement.note_sent(Some(INIT_ACK), 1);
        assert_eq!(agreement.required(DATA), None);
        agreement.note_returned(true);
        assert_eq!(agreement.required(Some(COOKIE_ACK)), Some(1));
        agreement.note_sent(Some(COOKIE_ACK), 1);
        agreement.note_sent(Some(INIT_ACK), 5);
        assert_eq!(agreement.required(DATA), Some(1));
        assert_eq!(agreement.required(Some(ABORT)), None, "it may answer the INIT");
        agreement.note_returned(true);
        agreement.note_sent(Some(COOKIE_ACK), 5);
        assert_eq!(agreement.required(DATA), Some(5));
    }

    #[test]
    fn an_association_that_the_stack_opens_has_the_tag_of_its_cookie_echo() {
        let mut agreement = Agreement::default();
        agreement.note_sent(Some(INIT), 0);
        agreement.note_sent(Some(COOKIE_ECHO), 7);
        assert_eq!(agreement.required(DATA), Some(7));
        agreement.note_sent(Some(INIT), 0);
        assert_eq!(agreement.required(DATA), None, "another association");
    }
}
