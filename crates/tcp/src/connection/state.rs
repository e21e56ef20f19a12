//! The states of a connection (RFC 9293, section 3.3.2).

/// State of a connection. A listener is none of them: LISTEN belongs to the endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// This side sent a SYN.
    SynSent,
    /// Both sent a SYN; this side's is not acknowledged.
    SynReceived,
    /// Data flows both ways.
    Established,
    /// This side finished; the peer has not acknowledged that.
    FinWait1,
    /// This side finished, and the peer knows.
    FinWait2,
    /// The peer finished.
    CloseWait,
    /// Both finished at once.
    Closing,
    /// The peer finished, then this side; the peer has not acknowledged that.
    LastAck,
    /// Both finished; old segments may still arrive.
    TimeWait,
    /// Over.
    Closed,
}

impl State {
    /// The name as RFC 9293 spells it.
    pub fn name(self) -> &'static str {
        match self {
            State::SynSent => "SYN-SENT",
            State::SynReceived => "SYN-RECEIVED",
            State::Established => "ESTABLISHED",
            State::FinWait1 => "FIN-WAIT-1",
            State::FinWait2 => "FIN-WAIT-2",
            State::CloseWait => "CLOSE-WAIT",
            State::Closing => "CLOSING",
            State::LastAck => "LAST-ACK",
            State::TimeWait => "TIME-WAIT",
            State::Closed => "CLOSED",
        }
    }

    /// Whether both SYNs were exchanged and acknowledged.
    pub fn is_synchronized(self) -> bool {
        !matches!(self, State::SynSent | State::SynReceived | State::Closed)
    }

    /// Whether the peer may still send data.
    pub fn may_receive(self) -> bool {
        matches!(self, State::Established | State::FinWait1 | State::FinWait2)
    }

    /// Whether the application may still send data.
    pub fn may_send(self) -> bool {
        matches!(self, State::SynSent | State::SynReceived | State::Established | State::CloseWait)
    }
}
