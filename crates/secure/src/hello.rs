//! The ClientHello of a datagram, as far as the exchange of cookies needs it (RFC 9147, sections
//! 5.1 and 5.3).

/// Bytes of a record's header in plaintext: type, version, epoch and number, length.
pub(crate) const RECORD: usize = 13;
/// Bytes of a handshake message's header: type, length, message number, offset and length of the
/// fragment.
const MESSAGE: usize = 12;
/// Content type of records with handshake messages (RFC 8446, section 5.1).
pub(crate) const HANDSHAKE: u8 = 22;
/// Message type of ClientHello (RFC 8446, section 4).
const CLIENT_HELLO: u8 = 1;
/// Number of the extension with the cookie (RFC 8446, section 4.2).
const COOKIE: usize = 44;
/// Number of the extension with padding (RFC 7685).
const PADDING: usize = 21;

/// Whether a datagram begins with a ClientHello, by its first bytes: all other datagrams belong to
/// a session.
pub fn asks_for_session(datagram: &[u8]) -> bool {
    datagram.first() == Some(&HANDSHAKE) && datagram.get(RECORD) == Some(&CLIENT_HELLO)
}

/// Bytes of padding of a client's first ClientHello; the second may have more or less (RFC 8446,
/// section 4.1.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Padding(pub(crate) u16);

impl Padding {
    /// No extension with padding at all.
    const NONE: Padding = Padding(u16::MAX);
}

/// A complete ClientHello in the first record of a datagram.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClientHello<'a> {
    /// Bytes from the version to the last extension.
    body: &'a [u8],
    /// Cookie of DTLS 1.2, its length before it; in DTLS 1.3 a length of zero.
    legacy_cookie: (usize, usize),
    /// Start and end of all extensions, and of the one with the cookie of DTLS 1.3, its header
    /// included.
    extensions: (usize, usize),
    cookie: Option<(usize, usize)>,
    padding: Option<(usize, usize)>,
}

impl<'a> ClientHello<'a> {
    /// The ClientHello at the start of `datagram`; none for another message, a fragment or invalid
    /// bytes.
    pub(crate) fn parse(datagram: &'a [u8]) -> Option<ClientHello<'a>> {
        let [HANDSHAKE, 0xfe, _, 0, 0, ..] = datagram else { return None };
        let record = datagram.get(RECORD..RECORD + number(datagram, RECORD - 2, 2)?)?;
        let [CLIENT_HELLO, ..] = record else { return None };
        let length = number(record, 1, 3)?;
        if number(record, 6, 3)? != 0 || number(record, 9, 3)? != length {
            return None;
        }
        let body = record.get(MESSAGE..MESSAGE + length)?;
        // Version and random, then four parts with a length before each, then the extensions.
        let session = skip(body, 34, 1)?;
        let suites = skip(body, session, 1)?;
        let compression = skip(body, suites, 2)?;
        let extensions = skip(body, compression, 1)?;
        let end = skip(body, extensions, 2)?;
        let mut hello = ClientHello {
            body,
            legacy_cookie: (session, suites),
            extensions: (extensions + 2, end),
            cookie: None,
            padding: None,
        };
        let mut at = extensions + 2;
        while at < end {
            let next = skip(body, at + 2, 2)?;
            match number(body, at, 2)? {
                COOKIE => hello.cookie = Some((at, next)),
                PADDING => hello.padding = Some((at, next)),
                _ => {}
            }
            at = next;
        }
        (at == end && end == body.len()).then_some(hello)
    }

    /// The client's random number, the same in both of its ClientHellos.
    pub(crate) fn random(&self) -> [u8; 32] {
        let random = self.body.get(2..34).and_then(|random| random.try_into().ok());
        random.unwrap_or_default()
    }

    /// Bytes of the cookie that the server had sent; `None` if empty (RFC 9147, section 5.1).
    pub(crate) fn cookie(&self) -> Option<&'a [u8]> {
        let (start, end) = match self.cookie {
            // The extension's header, and the cookie's length.
            Some((start, end)) => (start + 6, end),
            None => (self.legacy_cookie.0 + 1, self.legacy_cookie.1),
        };
        self.body.get(start..end).filter(|cookie| !cookie.is_empty())
    }

    /// Length of the padding extension (RFC 7685), [`Padding::NONE`] without one.
    pub(crate) fn padding(&self) -> Padding {
        self.padding.map_or(Padding::NONE, |(start, end)| Padding((end - start - 4) as u16))
    }

    /// The ClientHello that the client sent before it had the cookie, as a datagram: it differs by
    /// the cookie and the `padding` alone, unless the client was asked for another key share
    /// (RFC 8446, section 4.1.2).
    pub(crate) fn first(&self, padding: Padding) -> Vec<u8> {
        let part = |start: usize, end: usize| self.body.get(start..end).unwrap_or_default();
        let mut extensions = Vec::new();
        let pad = |extensions: &mut Vec<u8>| {
            if padding != Padding::NONE {
                extensions.extend((PADDING as u16).to_be_bytes());
                extensions.extend(padding.0.to_be_bytes());
                extensions.resize(extensions.len() + usize::from(padding.0), 0);
            }
        };
        let (start, end) = self.extensions;
        let mut cuts = [self.cookie, self.padding];
        cuts.sort_unstable();
        let mut at = start;
        for cut in cuts.into_iter().flatten() {
            extensions.extend_from_slice(part(at, cut.0));
            if self.padding == Some(cut) {
                pad(&mut extensions);
            }
            at = cut.1;
        }
        extensions.extend_from_slice(part(at, end));
        if self.padding.is_none() {
            pad(&mut extensions);
        }
        let length = (extensions.len() as u16).to_be_bytes();
        let body = [
            part(0, self.legacy_cookie.0),
            &[0],
            part(self.legacy_cookie.1, start - 2),
            &length,
            &extensions,
        ]
        .concat();
        let [_, high, middle, low] = (body.len() as u32).to_be_bytes();
        let whole = [high, middle, low];
        let message = [&[CLIENT_HELLO], &whole[..], &[0, 0], &[0, 0, 0], &whole, &body].concat();
        let length = (message.len() as u16).to_be_bytes();
        [&[HANDSHAKE, 0xfe, 0xfd], &[0; 8][..], &length, &message].concat()
    }
}

/// Reads `width` bytes in network byte order; none beyond the end.
fn number(bytes: &[u8], at: usize, width: usize) -> Option<usize> {
    let bytes = bytes.get(at..at + width)?;
    Some(bytes.iter().fold(0, |number, byte| number << 8 | usize::from(*byte)))
}

/// The end of the part at `at`, whose length has `width` bytes before it.
fn skip(bytes: &[u8], at: usize, width: usize) -> Option<usize> {
    let end = at + width + number(bytes, at, width)?;
    (end <= bytes.len()).then_some(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A ClientHello with these parts, as a datagram.
    fn datagram(message_number: u8, legacy_cookie: &[u8], extensions: &[u8]) -> Vec<u8> {
        let mut body = vec![0xfe, 0xfd];
        body.extend([7; 32]);
        body.push(0);
        body.push(legacy_cookie.len() as u8);
        body.extend(legacy_cookie);
        body.extend([0, 2, 0x13, 1, 1, 0, 0, extensions.len() as u8]);
        body.extend(extensions);
        let length = [0, 0, body.len() as u8];
        let head: [&[u8]; 5] = [&[1], &length, &[0, message_number], &[0, 0, 0], &length];
        let message = [&head.concat()[..], &body].concat();
        let record = [22, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, message_number, 0, message.len() as u8];
        [&record[..], &message].concat()
    }

    #[test]
    fn the_cookie_is_found_and_the_first_hello_is_the_one_without() {
        let other = [0, 43, 0, 3, 2, 0xfe, 0xfc];
        let cookie = [0, 44, 0, 5, 0, 3, 8, 8, 8];
        for extensions in
            [[&other[..], &cookie, &other].concat(), [&cookie[..], &other, &other].concat()]
        {
            let second = datagram(1, &[], &extensions);
            let hello = ClientHello::parse(&second).unwrap();
            assert_eq!(hello.cookie(), Some(&[8, 8, 8][..]));
            assert_eq!(hello.first(Padding::NONE), datagram(0, &[], &[other, other].concat()));
        }
        let second = datagram(1, &[9, 9], &other);
        let hello = ClientHello::parse(&second).unwrap();
        assert_eq!(hello.cookie(), Some(&[9, 9][..]));
        assert_eq!(hello.first(Padding::NONE), datagram(0, &[], &other));
        let first = hello.first(Padding::NONE);
        assert_eq!(ClientHello::parse(&first).unwrap().cookie(), None);
    }

    #[test]
    fn the_padding_of_the_first_hello_replaces_that_of_the_second() {
        let (cookie, other) = ([0, 44, 0, 3, 0, 1, 8], [0, 43, 0, 0]);
        let padding = |bytes: u8| [&[0, 21, 0, bytes][..], &vec![0; bytes.into()]].concat();
        for (first, second) in [
            ([&other[..], &padding(5)].concat(), [&other[..], &padding(9), &cookie].concat()),
            ([&padding(5)[..], &other].concat(), [&padding(0)[..], &cookie, &other].concat()),
            ([&other[..], &padding(5)].concat(), [&other[..], &cookie].concat()),
            (other.to_vec(), [&other[..], &cookie, &padding(3)].concat()),
        ] {
            let first = datagram(0, &[], &first);
            let padding = ClientHello::parse(&first).unwrap().padding();
            let second = datagram(1, &[], &second);
            assert_eq!(ClientHello::parse(&second).unwrap().first(padding), first);
        }
    }

    #[test]
    fn a_hello_cut_short_or_changed_anywhere_is_refused_or_read_without_harm() {
        let whole = datagram(1, &[], &[0, 44, 0, 5, 0, 3, 8, 8, 8, 0, 21, 0, 0]);
        for length in 0..whole.len() {
            assert!(ClientHello::parse(&whole[..length]).is_none(), "{length} bytes");
        }
        for place in 0..whole.len() {
            for value in 0..=255 {
                let mut changed = whole.clone();
                changed[place] = value;
                if let Some(hello) = ClientHello::parse(&changed) {
                    assert!(hello.cookie().is_none_or(|cookie| cookie.len() < changed.len()));
                    assert!(hello.first(hello.padding()).len() <= changed.len());
                }
            }
        }
    }
}
