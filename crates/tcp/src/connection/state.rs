//! The states of a connection (RFC 9293, section 3.3.2).

/// State of a connection. LISTEN is not among them: listeners belong to the endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// This side sent a SYN.
    SynSent,
    /// Both sent a SYN; this side's is not acknowledged.
    SynReceived,
    /// Both SYNs are acknowledged; neither side sent FIN.
    Established,
    /// This side sent FIN, which the peer has not acknowledged.
    FinWait1,
    /// This side sent FIN, which the peer acknowledged.
    FinWait2,
    /// The peer sent FIN, and this side may still send data.
    CloseWait,
    /// Both sides sent FIN at once.
    Closing,
    /// The peer sent FIN, then this side, whose FIN is not acknowledged.
    LastAck,
    /// Both sides sent FIN; old segments may still arrive.
    TimeWait,
    /// No state is left (CLOSED): the connection ended or failed.
    Closed,
}

impl State {
    /// The state's name in RFC 9293.
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
