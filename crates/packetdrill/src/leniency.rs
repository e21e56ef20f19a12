//! Leniencies: permissible differences between a script and a stack, by name.

/// A permissible difference. The report of a script names those that it needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leniency {
    /// INIT and INIT ACK may have parameters, and lists of chunk types, in any order: RFC 9260 and
    /// RFC 5061 define none.
    ParameterSet,
    /// INIT and INIT ACK may offer extensions that the script does not mention: their receiver may
    /// skip them (RFC 9260, section 3.2.1).
    ExtraParameters,
    /// INIT and INIT ACK may list the supported chunk types if the script only has their parameters
    /// (RFC 5061, section 4.2.7, is younger than some systems).
    ListedExtensions,
    /// INIT ACK may report unrecognised parameters of the INIT that the script does not expect to
    /// be reported: section 3.2.1 requires the report.
    UnrecognizedReport,
    /// INIT and INIT ACK may lack the ECN parameter, since RFC 9260 leaves ECN undefined.
    NoEcn,
    /// FORWARD-TSN and I-FORWARD-TSN may list skipped streams in any order, and once each if the
    /// script repeats them: one entry per stream suffices (RFC 3758, section 3.2).
    SkippedStreams,
    /// Chunks that the script expects in two packets at the same time may be bundled in one (RFC
    /// 9260, section 6.10).
    Bundled,
    /// A probe of path MTU discovery may have a HEARTBEAT and a PAD of other lengths with the same
    /// sum: the information in a HEARTBEAT, and so its length, is its sender's choice (RFC
    /// 9260, section 3.3.5). FreeBSD's has 44 bytes.
    ProbePadding,
    /// Packets to other addresses of the peer than its first are ignored unless the script expects
    /// them.
    OtherAddresses,
    /// A segment's window may differ from the script's if the script's is, to the unit of the
    /// window scale, the room in a buffer rounded up to whole segments: the same room rounded
    /// otherwise, or the window up to the right edge advertised before, if less than a full
    /// segment is missing. Neither is 0, and the right edge does not move back (RFC 9293,
    /// section 3.8.6). A system is free to round its buffers, and to move the edge with
    /// each acknowledgement or by whole segments (section 3.8.6.2.2).
    RoundedWindow,
    /// TCP options may come in any order and with any padding (RFC 9293, section 3.1).
    OptionSet,
    /// The PSH bit may be set or not, at the sender's choice (RFC 9293, section 3.9.1.2).
    Push,
    /// Consecutive segments may together match one that is larger than the MSS: the script's system
    /// gave that to a network card which cut it.
    SuperSegment,
    /// SO_RCVBUF and SO_SNDBUF may have any value.
    BufferSize,
    /// An acknowledgement without data may leave up to 40 ms earlier than in the script: the delay
    /// is the receiver's choice (RFC 9293, section 3.8.6.3).
    PromptAck,
    /// An acknowledgement after the FIN may replace a retransmitted FIN with an acknowledgement, as
    /// RFC 9293, section 3.10.7.4, requires.
    FinNotRepeated,
    /// Segments that the script sends at the right edge of its system's rounded window, or just
    /// outside, are sent at the edge of the window that the stack advertised, or just outside.
    WindowEdge,
}

impl Leniency {
    /// All leniencies, each of which a suite may grant.
    pub const ALL: &'static [Leniency] = &[
        Leniency::ParameterSet,
        Leniency::ExtraParameters,
        Leniency::ListedExtensions,
        Leniency::UnrecognizedReport,
        Leniency::NoEcn,
        Leniency::SkippedStreams,
        Leniency::Bundled,
        Leniency::ProbePadding,
        Leniency::OtherAddresses,
        Leniency::RoundedWindow,
        Leniency::OptionSet,
        Leniency::Push,
        Leniency::SuperSegment,
        Leniency::BufferSize,
        Leniency::PromptAck,
        Leniency::FinNotRepeated,
        Leniency::WindowEdge,
    ];

    /// The leniency's name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Leniency::ParameterSet => "parameter-set",
            Leniency::ExtraParameters => "extra-parameters",
            Leniency::ListedExtensions => "listed-extensions",
            Leniency::UnrecognizedReport => "unrecognized-report",
            Leniency::NoEcn => "no-ecn",
            Leniency::SkippedStreams => "skipped-streams",
            Leniency::Bundled => "bundled",
            Leniency::ProbePadding => "probe-padding",
            Leniency::OtherAddresses => "other-addresses",
            Leniency::RoundedWindow => "rounded-window",
            Leniency::OptionSet => "option-set",
            Leniency::Push => "push",
            Leniency::SuperSegment => "super-segment",
            Leniency::BufferSize => "buffer-size",
            Leniency::PromptAck => "prompt-ack",
            Leniency::FinNotRepeated => "fin-not-repeated",
            Leniency::WindowEdge => "window-edge",
        }
    }
}
