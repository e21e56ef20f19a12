//! The states of an association (RFC 9260, section 4).

/// The states, named as in RFC 9260.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    CookieWait,
    CookieEchoed,
    Established,
    ShutdownPending,
    ShutdownSent,
    ShutdownReceived,
    ShutdownAckSent,
    Closed,
}

impl State {
    /// The state's name in RFC 9260.
    pub(crate) fn name(self) -> &'static str {
        match self {
            State::CookieWait => "COOKIE-WAIT",
            State::CookieEchoed => "COOKIE-ECHOED",
            State::Established => "ESTABLISHED",
            State::ShutdownPending => "SHUTDOWN-PENDING",
            State::ShutdownSent => "SHUTDOWN-SENT",
            State::ShutdownReceived => "SHUTDOWN-RECEIVED",
            State::ShutdownAckSent => "SHUTDOWN-ACK-SENT",
            State::Closed => "CLOSED",
        }
    }

    /// Whether the handshake is in progress.
    pub(crate) fn is_opening(self) -> bool {
        matches!(self, State::CookieWait | State::CookieEchoed)
    }

    /// Whether the association is set up and has not ended.
    pub(crate) fn is_alive(self) -> bool {
        !self.is_opening() && self != State::Closed
    }

    /// Whether DATA may be sent.
    pub(crate) fn sends_data(self) -> bool {
        matches!(self, State::Established | State::ShutdownPending | State::ShutdownReceived)
    }

    /// Whether DATA is accepted (section 6).
    pub(crate) fn receives_data(self) -> bool {
        matches!(self, State::Established | State::ShutdownPending | State::ShutdownSent)
    }

    /// Whether the application or the peer has closed the association, and data may still be
    /// outstanding.
    pub(crate) fn is_closing(self) -> bool {
        matches!(self, State::ShutdownPending | State::ShutdownReceived | State::ShutdownAckSent)
    }
}
