//! Leniencies: differences between what a script says and what a stack may rightly do, by name.

/// A difference that is overlooked. Each one that a script needed is reported with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leniency {
    /// Parameters of INIT and INIT ACK, and the chunk types that they list, may come in any order:
    /// RFC 9260 and RFC 5061 give none.
    ParameterSet,
    /// INIT and INIT ACK may offer extensions that the script does not mention: their receiver may skip
    /// them (RFC 9260, section 3.2.1).
    ExtraParameters,
    /// INIT and INIT ACK may list the chunk types that they support where the script names their
    /// parameters only (RFC 5061, section 4.2.7, is younger than some systems).
    ListedExtensions,
    /// INIT ACK may report parameters of the INIT as unrecognised that the script passes over in
    /// silence: section 3.2.1 asks for the report.
    UnrecognizedReport,
    /// INIT and INIT ACK may come without the ECN parameter: RFC 9260 leaves ECN undefined.
    NoEcn,
    /// Streams that FORWARD-TSN and I-FORWARD-TSN skip may come in any order and once each where the
    /// script repeats them: one entry a stream says it all (RFC 3758, section 3.2).
    SkippedStreams,
    /// Chunks that the script expects in two packets at the same time may come in one (RFC 9260,
    /// section 6.10).
    Bundled,
    /// A probe of path MTU discovery may have a HEARTBEAT and PAD of other lengths that make up the same size: what the
    /// information in a HEARTBEAT is, and so how long it is, is up to its sender (RFC 9260, section 3.3.5). FreeBSD's
    /// has 44 bytes.
    ProbePadding,
    /// Packets to other addresses of the peer than the one it began with are passed over when they are
    /// not what the script waits for.
    OtherAddresses,
    /// A segment's window may be another than the script's if the script's is, to the unit of the window scale, the room
    /// in a buffer that is rounded up to whole segments: the same room in another rounding, or the window up to the right
    /// edge that was advertised before, where less than a full segment is missing. Neither is 0, and the right edge does
    /// not go back (RFC 9293, section 3.8.6). How buffers are rounded, and whether the edge moves with each
    /// acknowledgement or by whole segments (section 3.8.6.2.2), is a system's own affair.
    RoundedWindow,
    /// TCP options may come in any order and with any padding (RFC 9293, section 3.1).
    OptionSet,
    /// The PSH bit may be set or not: when to set it is up to the sender (RFC 9293, section 3.9.1.2).
    Push,
    /// Segments that follow each other may make up one that is larger than the MSS: what the script's
    /// system gave to a network card that cut it.
    SuperSegment,
    /// SO_RCVBUF and SO_SNDBUF may be any number.
    BufferSize,
    /// An acknowledgement without data may come up to 40 ms earlier than the script's system sends it: for how long one
    /// is delayed is up to the receiver (RFC 9293, section 3.8.6.3).
    PromptAck,
    /// Where the script's system sends its FIN again with an acknowledgement, an acknowledgement behind the
    /// FIN is as good: it is what RFC 9293, section 3.10.7.4, asks for.
    FinNotRepeated,
    /// What the script sends at the right edge of a window as its system rounds it, or just outside, is sent
    /// at the edge of the window that the stack advertised, or just outside.
    WindowEdge,
}

impl Leniency {
    /// All of them.
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
