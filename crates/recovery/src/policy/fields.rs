//! The fields of a policy by name: one table for the command's options, files and scripts.

use base::{Duration, ParseQuantityError};

use super::form::{Bundling, Bytes, Count, Form, Gain, Number, OrOff, Size, Switch, Time, Words};
use super::{
    BackoffEnd, BundleReaction, BundlingPolicy, Controller, EarlyRule, EarlyWindow, ErrorCounting,
    FineGrainedTimer, IdleRestart, ImmediateRequest, LeastWindow, PartialAck, ProbeSizes, Protocol,
    RecoveryPolicy, ReorderingWindow, RepeatFast, RetransmissionPath, RtoMargin, RttSamples,
    SackFlight, SackLosses, ThinBackoff, ThinDetector, ThinTimeout, TimeoutResends, TimerRestart,
    WindowCounts, WindowFalls,
};
use crate::rtt::{Deviation, Ratio};

/// Group under which a field is listed in documents and help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topic {
    /// Retransmission timeouts and thin-stream detection.
    Timeout,
    /// Evidence that data is lost, and what is retransmitted for it.
    Loss,
    /// Congestion windows and their response to losses.
    Congestion,
    /// Data sent more than once before any evidence of loss.
    Redundancy,
    /// Acknowledgements of the receiver, and the sender's requests for them.
    Acknowledgement,
    /// The search for the path MTU.
    PathMtu,
}

/// A field of a [`RecoveryPolicy`] in text form.
#[derive(Debug)]
pub struct Field {
    /// Name of the field: lower-case words joined by hyphens.
    pub name: &'static str,
    /// Placeholder of its value in a line of usage, such as `DURATION|off`.
    pub value: &'static str,
    /// Description of its values, such as `a duration such as 50ms, or off`.
    pub expected: &'static str,
    /// Meaning of the field, a sentence.
    pub meaning: &'static str,
    /// Group under which the field is listed.
    pub topic: Topic,
    /// The protocol that the field is restricted to, and the reason why the other one has no use
    /// for it; `None`: both have.
    pub only: Option<(Protocol, &'static str)>,
    read: fn(&mut RecoveryPolicy, &str) -> Option<()>,
    write: fn(&RecoveryPolicy) -> Option<String>,
}

impl Field {
    /// Whether the field has an effect on `protocol`.
    pub fn is_of(&self, protocol: Protocol) -> bool {
        self.only.is_none_or(|(only, _)| only == protocol)
    }

    /// The field of this name, with `_` or `-` between words.
    pub fn find(name: &str) -> Option<&'static Field> {
        let same = |field: &&Field| {
            let differs = |(a, b): (u8, u8)| a != b && !(a == b'-' && b == b'_');
            field.name.len() == name.len() && !field.name.bytes().zip(name.bytes()).any(differs)
        };
        FIELDS.iter().find(same)
    }

    /// Whether its only values are `on` and `off`.
    pub fn is_switch(&self) -> bool {
        self.value == <Switch as Form<bool>>::VALUE
    }

    /// Sets the field in `policy`.
    ///
    /// # Errors
    /// [`FieldError::Value`] if the text is no value of the field; [`FieldError::Off`] for
    /// sub-fields of a parent that is off.
    pub fn set(&self, policy: &mut RecoveryPolicy, text: &str) -> Result<(), FieldError> {
        if (self.write)(policy).is_none() {
            return Err(FieldError::Off(self.name));
        }
        (self.read)(policy, text).ok_or_else(|| FieldError::Value(self.name, self.wrong(text)))
    }

    /// Checks that a text is a value of the field.
    ///
    /// # Errors
    /// The expected values.
    pub fn check(&self, text: &str) -> Result<(), ParseQuantityError> {
        let mut policy = RecoveryPolicy::sctp_rfc();
        policy.redundancy.bundling = Some(BundlingPolicy::PAPER);
        (self.read)(&mut policy, text).ok_or_else(|| self.wrong(text))
    }

    /// Value of the field in `policy`; `None` for sub-fields of a parent that is off.
    pub fn get(&self, policy: &RecoveryPolicy) -> Option<String> {
        (self.write)(policy)
    }

    fn wrong(&self, text: &str) -> ParseQuantityError {
        ParseQuantityError::new(text, self.expected)
    }
}

/// Reason why a field was not set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldError {
    /// No field has this name.
    Unknown(String),
    /// The text is no value of the field of this name.
    Value(&'static str, ParseQuantityError),
    /// The field of this name is a sub-field of bundling, which is off.
    Off(&'static str),
    /// The field of this name has no effect on this protocol.
    Elsewhere(&'static str, Protocol),
    /// This protocol has no preset of this name.
    Preset(String, Protocol),
    /// The lower bound of the timeout (the first value) is above the upper bound.
    Bounds(Duration, Duration),
    /// Two values exclude each other.
    Contradiction {
        /// Assignment `name=value` of the first field.
        value: &'static str,
        /// Assignment `name=value` of the field that it excludes.
        other: &'static str,
        /// Reason why the first has no meaning beside the other.
        reason: &'static str,
    },
}

/// Reason why rules for a peer's reports contradict `use-sack=off`.
const NO_REPORTS: &str = "without SACK the peer reports no holes";
/// Reason why losses by position contradict RACK.
const BY_TIME: &str = "RACK finds losses by time, not by position";
/// Reason why a flight that acknowledgements lower contradicts proportional rate reduction.
const PACED_BY_REPORTS: &str =
    "proportional rate reduction compares the window with a flight that losses lower";

impl std::error::Error for FieldError {}

impl RecoveryPolicy {
    /// Sets the field of this name.
    ///
    /// # Errors
    /// [`FieldError`].
    pub fn set(&mut self, name: &str, text: &str) -> Result<(), FieldError> {
        let field = Field::find(name).ok_or_else(|| FieldError::Unknown(name.to_owned()))?;
        field.set(self, text)
    }

    /// All fields with their values, in an order in which [`RecoveryPolicy::set`] turns any other
    /// policy into this one.
    pub fn fields(&self) -> impl Iterator<Item = (&'static Field, String)> + '_ {
        FIELDS.iter().filter_map(|field| Some((field, field.get(self)?)))
    }

    /// Checks that the values do not contradict each other.
    ///
    /// # Errors
    /// [`FieldError::Bounds`]; [`FieldError::Contradiction`].
    pub fn check(&self) -> Result<(), FieldError> {
        let rto = &self.rto;
        let least = rto.min_while_thin.unwrap_or(rto.min).max(rto.min).max(rto.min_variation);
        if least > self.rto.max {
            return Err(FieldError::Bounds(least, self.rto.max));
        }
        let each_hole = self.loss.sack_losses == SackLosses::EachHole;
        let by_acknowledgements = self.loss.sack_flight == SackFlight::Acknowledgements;
        let contradictions = [
            (
                each_hole && !self.loss.use_sack,
                ["sack-losses=each-hole", "use-sack=off", NO_REPORTS],
            ),
            (each_hole && self.loss.rack, ["sack-losses=each-hole", "rack=on", BY_TIME]),
            (
                by_acknowledgements && !self.loss.use_sack,
                ["sack-flight=acknowledgements", "use-sack=off", NO_REPORTS],
            ),
            (
                by_acknowledgements && self.congestion.prr,
                ["sack-flight=acknowledgements", "prr=on", PACED_BY_REPORTS],
            ),
        ];
        match contradictions.into_iter().find(|(contradicts, _)| *contradicts) {
            Some((_, [value, other, reason])) => {
                Err(FieldError::Contradiction { value, other, reason })
            }
            None => Ok(()),
        }
    }
}

macro_rules! field {
    ($topic:ident, $only:expr, $name:literal, $form:ident, $type:ty, $($path:ident).+, $meaning:literal) => {
        Field {
            name: $name,
            value: <$form as Form<$type>>::VALUE,
            expected: <$form as Form<$type>>::EXPECTED,
            meaning: $meaning,
            topic: Topic::$topic,
            only: $only,
            read: |policy, text| {
                policy.$($path).+ = <$form as Form<$type>>::read(text)?;
                Some(())
            },
            write: |policy| Some(<$form as Form<$type>>::write(&policy.$($path).+)),
        }
    };
}

/// Defines a field that has a value only while bundling is enabled.
macro_rules! detail {
    ($name:literal, $form:ident, $type:ty, $field:ident, $meaning:literal) => {
        Field {
            name: $name,
            value: <$form as Form<$type>>::VALUE,
            expected: <$form as Form<$type>>::EXPECTED,
            meaning: $meaning,
            topic: Topic::Redundancy,
            only: None,
            read: |policy, text| {
                let value = <$form as Form<$type>>::read(text)?;
                policy.redundancy.bundling.as_mut()?.$field = value;
                Some(())
            },
            write: |policy| {
                let bundling = policy.redundancy.bundling.as_ref()?;
                Some(<$form as Form<$type>>::write(&bundling.$field))
            },
        }
    };
}

type MaybeTime = Option<Duration>;
type MaybeCount = Option<u8>;
type MaybeSize = Option<u32>;
type MaybeBundling = Option<BundlingPolicy>;
type MaybeRatio = Option<Ratio>;
type OrOffGain = OrOff<Gain>;
type OrOffTime = OrOff<Time>;
type OrOffCount = OrOff<Count>;
type OrOffSize = OrOff<Size>;

/// Restricts a field to TCP; SCTP has no use for it for this reason.
const fn tcp(reason: &'static str) -> Option<(Protocol, &'static str)> {
    Some((Protocol::Tcp, reason))
}

/// Restricts a field to SCTP; TCP has no use for it for this reason.
const fn sctp(reason: &'static str) -> Option<(Protocol, &'static str)> {
    Some((Protocol::Sctp, reason))
}

/// All policy fields; sub-fields follow their parent.
#[rustfmt::skip]
pub static FIELDS: &[Field] = &[
    field!(Timeout, None, "rto-min", Time, Duration, rto.min,
        "Lower bound of the retransmission timeout."),
    field!(Timeout, None, "rto-min-thin", OrOffTime, MaybeTime, rto.min_while_thin,
        "Lower bound of the timeout while the stream is thin; off: rto-min always."),
    field!(Timeout, None, "rto-initial", Time, Duration, rto.initial,
        "Timeout before the first measurement."),
    field!(Timeout, None, "rto-max", Time, Duration, rto.max,
        "Upper bound of the timeout."),
    field!(Timeout, None, "rto-max-thin", OrOffTime, MaybeTime, rto.max_while_thin,
        "Upper bound of the backed-off timeout while the stream is thin; off: rto-max always."),
    field!(Timeout, None, "rto-samples", Words, RttSamples, rto.samples,
        "Data that gives a round-trip time: sent once (Karn), proven to have arrived when sent first, or sent again, too (from-first, from-latest)."),
    field!(Timeout, None, "rto-margin", Words, RtoMargin, rto.margin,
        "Variations that the timeout allows for: four, or more where it expired too soon."),
    field!(Timeout, None, "rto-granularity", Time, Duration, rto.granularity,
        "Clock granularity G: the variation never counts for less."),
    field!(Timeout, None, "rto-min-variation", Time, Duration, rto.min_variation,
        "What four times the variation counts for at least (Linux: 200ms); 0: the granularity."),
    field!(Timeout, None, "rto-ack-delay", OrOffTime, MaybeTime, rto.ack_delay,
        "Most of the peer's acknowledgement delay, as learned, that the timeout allows for; off: none."),
    field!(Timeout, None, "rto-tick", Time, Duration, rto.tick,
        "The timer expires at whole multiples of this, as a kernel's does; 0: when due."),
    field!(Timeout, None, "rto-alpha", Gain, Ratio, rto.alpha,
        "Gain of the smoothed round-trip time, such as 1/8."),
    field!(Timeout, None, "rto-beta", Gain, Ratio, rto.beta,
        "Gain of the round-trip time variation, such as 1/4."),
    field!(Timeout, None, "rto-deviation", Words, Deviation, rto.deviation,
        "What the variation follows: the deviation without or with its sign, or cut down to whole seconds."),
    field!(Timeout, None, "thin-detector", Words, ThinDetector, thin,
        "When the stream is thin: off, in-flight (:3, :3:inclusive), few-or-slow (:10ms), fewer-than-four, interval (:10ms), always."),
    field!(Timeout, None, "backoff", Words, ThinBackoff, backoff.while_thin,
        "Timeouts in a row while thin: exponential, linear, or linear:N for the first N."),
    field!(Timeout, None, "linear-step", Time, Duration, backoff.linear_step,
        "Until N of these have passed in an outage, timeouts of linear:N double up to this only; 0s: at each after N."),
    field!(Timeout, None, "linear-queue", Number, u8, backoff.linear_queue,
        "Timeouts are linear up to a round trip of this many times the least one: beyond, there is a queue; 0: always."),
    field!(Timeout, None, "outage-data", Time, Duration, backoff.outage_data,
        "In an outage beyond linear timeouts a packet of new data may leave each such time whatever the window says; 0s: none."),
    field!(Timeout, None, "backoff-ends", Words, BackoffEnd, backoff.ends,
        "What ends back-off: a measured round trip, or also the first acknowledgement after an outage."),
    field!(Timeout, None, "error-counting", Words, ErrorCounting, backoff.errors,
        "Expiries that count towards path failure: every, or those of an exponential schedule."),
    field!(Timeout, None, "linear-setup", Number, u8, backoff.linear_setup,
        "Expiries of the set-up's timer at which it does not double beyond rto-initial (Linux TCP: 4); 0: none."),
    field!(Timeout, None, "rto-setup", OrOffTime, MaybeTime, backoff.first_setup,
        "First timeout of INIT, COOKIE ECHO or a SYN before any measurement, doubled up to rto-initial; off: rto-initial."),
    field!(Timeout, None, "timer-restart", Words, TimerRestart, timer_restart,
        "Timer when data stays outstanding: full, timer-age (2009 paper), oldest-age (:4; RFC 7765)."),
    field!(Timeout, None, "timeout-resends", Words, TimeoutResends, timeout_resends,
        "What a timeout resends: all, what is old-enough (FreeBSD), or lost by-rack (RFC 8985)."),
    field!(Timeout, None, "timeout-thin", Words, ThinTimeout, timeout_while_thin,
        "What a timeout is while the stream is thin or its path works: a loss, or a probe that leaves the window alone."),
    field!(Timeout, sctp("a TCP connection has one path"),
        "retransmission-path", Words, RetransmissionPath, retransmission_path,
        "Path on which a timeout resends, where there are several."),
    field!(Timeout, None, "frto", Switch, bool, loss.frto,
        "Find out whether a timeout was needless (F-RTO, RFC 5682)."),
    field!(Timeout, tcp("each report names all units that arrived, so that there is nothing to forget"),
        "forget-sack-at-timeout", Switch, bool, loss.forget_sack_at_timeout,
        "Whether a timeout forgets what the peer reported by SACK (RFC 2018, section 8)."),
    field!(Loss, None, "dup-threshold", Count, u8, loss.dup_threshold,
        "Miss indications, or duplicate acknowledgements, that mean loss."),
    field!(Loss, None, "dup-threshold-thin", OrOffCount, MaybeCount, loss.dup_threshold_while_thin,
        "The same while the stream is thin; off: dup-threshold always."),
    field!(Loss, sctp("recovery by TCP's SACK, or rack, decides that"),
        "repeat-fast-retransmit", Words, RepeatFast, loss.repeat_fast_retransmit,
        "Whether what was fast-retransmitted may be so again: off, while thin, or on."),
    field!(Loss, None, "fast-restarts-timer", Switch, bool, loss.fast_restarts_timer,
        "Whether a fast retransmission of the oldest data restarts the timer."),
    field!(Loss, None, "early-retransmit", Switch, bool, loss.early_retransmit,
        "Early retransmit (RFC 5827)."),
    field!(Loss, tcp("units are numbered, not bytes"),
        "early-retransmit-by-bytes", Switch, bool, loss.early_retransmit_by_bytes,
        "Early retransmit counts bytes in full segments (RFC 5827, section 3.1)."),
    field!(Loss, None, "early-timer", OrOffTime, MaybeTime, loss.early_timer,
        "FreeBSD's early fast retransmit timer: the least it waits."),
    field!(Loss, None, "early-rule", Words, EarlyRule, loss.early_rule,
        "What the early timer times: the last SACK (freebsd), or each packet, as the paper of 2009 has it (described)."),
    field!(Loss, tcp("SACK is a part of SCTP that cannot be switched off"),
        "use-sack", Switch, bool, loss.use_sack,
        "Whether what the peer reports by SACK is looked at."),
    field!(Loss, None, "rack", Switch, bool, loss.rack,
        "Loss detection by the time at which packets were sent (RACK, RFC 8985), instead of dup-threshold."),
    field!(Loss, None, "reordering-window", Words, ReorderingWindow, loss.reordering_window,
        "How late RACK lets packets be: a quarter of the round trip, or as measured and no more than that."),
    field!(Loss, None, "tail-probe", OrOffTime, MaybeTime, loss.tail_probe,
        "Tail loss probes (RFC 8985); the longest that the peer delays an acknowledgement."),
    field!(Loss, None, "fine-grained", Words, FineGrainedTimer, loss.fine_grained,
        "Vegas' fine-grained timer at duplicate acknowledgements: off, on, or robust to reordering."),
    field!(Loss, tcp("each report names the units that arrived, so that the others are missing"),
        "rescue", Switch, bool, loss.rescue,
        "In recovery, with room, send again what is not known to be lost (RFC 6675, NextSeg, rules 3 and 4)."),
    field!(Loss, tcp("each report names the units that arrived, so that the next hole is known"),
        "partial-ack", Words, PartialAck, loss.partial_ack,
        "Which partial acknowledgements restart the timer without SACK (RFC 6582)."),
    field!(Loss, tcp("miss indications are counted for each unit (RFC 9260, section 7.2.4)"),
        "sack-losses", Words, SackLosses, loss.sack_losses,
        "What is lost where the peer reports gaps: by IsLost of RFC 6675 (is-lost), or in a recovery each hole, once (each-hole; ns-2)."),
    field!(Loss, tcp("each report names the units that arrived, and those leave the flight"),
        "sack-flight", Words, SackFlight, loss.sack_flight,
        "What lowers the flight where the peer reports gaps: reports and losses, or each acknowledgement by a packet (ns-2)."),
    field!(Congestion, None, "congestion", Words, Controller, congestion.controller,
        "Congestion control: rfc9260, newreno, cubic, vegas (:1:3:1; alpha, beta, gamma)."),
    field!(Congestion, None, "initial-window", OrOffSize, MaybeSize, congestion.initial_window,
        "Congestion window at the beginning; off: what the protocol makes of the path MTU."),
    field!(Congestion, tcp("RFC 9260 knows no such rule"),
        "handshake-losses", Count, u8, congestion.handshake_losses,
        "SYNs or SYN ACKs sent again before the first window is one segment only (RFC 5681: 1)."),
    field!(Congestion, None, "max-burst", Number, u8, congestion.max_burst,
        "Packets that one input may release at most (Max.Burst); 0: no limit."),
    field!(Congestion, None, "limited-transmit", Switch, bool, congestion.limited_transmit,
        "Limited transmit (RFC 3042)."),
    field!(Congestion, None, "abc-limit", Count, u8, congestion.abc_limit,
        "Packets by which one acknowledgement may open the window in slow start (RFC 3465)."),
    field!(Congestion, None, "hystart", Switch, bool, congestion.hystart,
        "Leave the first slow start when the round trip grows (HyStart++, RFC 9406; with cubic)."),
    field!(Congestion, None, "window-counts", Words, WindowCounts, congestion.window_counts,
        "What a packet takes of the window: bytes of its data, or packets: a full one (Linux)."),
    field!(Congestion, None, "idle-restart", Words, IdleRestart, congestion.idle_restart,
        "The window after an idle period: keep, initial-window (RFC 5681) or halve (RFC 2861, Linux)."),
    field!(Congestion, None, "prr", Switch, bool, congestion.prr,
        "Proportional rate reduction (RFC 9937)."),
    field!(Congestion, None, "undo", Switch, bool, congestion.undo,
        "Give the window back when nothing had been lost (RFC 3708, 3522)."),
    field!(Congestion, None, "early-window", Words, EarlyWindow, congestion.early_window,
        "The window after an early retransmission: the controller's, that of tcp-er (Yin et al.), or algorithm-1, as they print it."),
    field!(Congestion, None, "least-window", Words, LeastWindow, congestion.least_window,
        "The least window after a loss: the controller's, twice what a round trip carried (carried), or one packet (one-packet; ns-2)."),
    field!(Congestion, tcp("RFC 9260, section 7.2.4, lowers the window once in a recovery"),
        "window-falls", Words, WindowFalls, congestion.window_falls,
        "How often the window falls in a recovery: again for each retransmission that is lost, or once (ns-2)."),
    field!(Redundancy, None, "bundling", Bundling, MaybeBundling, redundancy.bundling,
        "Copies of what is in flight that ride along: all that fits (paper), or one packet's (linux)."),
    detail!("bundling-packets", Number, u8, packets,
        "Previous packets' data that rides along at most; 0: as much as fits."),
    detail!("bundling-bytes", Bytes, u16, bytes,
        "Most bytes of data in a packet that carries copies; 0B: as much as fits."),
    detail!("bundling-when", Words, ThinDetector, when,
        "When copies ride along, as thin-detector."),
    detail!("bundling-on-retransmission", Switch, bool, on_retransmission,
        "Whether copies ride along with what is sent again, too."),
    detail!("bundling-charged", Switch, bool, charged,
        "Whether copies must fit the congestion window."),
    detail!("bundling-reaction", Words, BundleReaction, reaction,
        "What a loss that a copy repaired does to the window: ignore, presume a loss, or only if verified."),
    detail!("bundling-brake", OrOffGain, MaybeRatio, brake,
        "Share of the least round trip by which it may grow before copies stop; off: they never do."),
    detail!("bundling-alone", OrOffGain, MaybeRatio, alone,
        "Share of the round trip after which data that nothing followed is sent again, ahead of any loss; off: never."),
    detail!("bundling-age", OrOffGain, MaybeRatio, age,
        "Share of the round trip within which the packet before must have left for copies to ride along; off: any time."),
    detail!("bundling-after-loss", Number, u16, after_loss,
        "Packets delivered after a loss for which copies go on; 0: copies do not wait for a loss."),
    detail!("bundling-weighed", Switch, bool, weighed,
        "Whether copies ride along only as far back as they gain more than they delay, as measured."),
    detail!("bundling-budget", Number, u16, budget,
        "Bytes of copies that ride along for each hundred new ones, at most; 0: no limit."),
    field!(Acknowledgement, None, "sack-delay", OrOffTime, MaybeTime, acknowledgement.delay,
        "Longest delay of an acknowledgement; off acknowledges every packet at once."),
    field!(Acknowledgement, None, "sack-every", Count, u8, acknowledgement.every_packets,
        "Packets after which an acknowledgement is not delayed any more."),
    field!(Acknowledgement, tcp("RFC 9260, section 6.2, knows no such phase"),
        "quick-acks", Number, u8, acknowledgement.quick,
        "Packets acknowledged at once when a connection begins (Linux: 16); 0: none."),
    field!(Acknowledgement, None, "request-sack", Words, ImmediateRequest, acknowledgement.request_immediate,
        "Which data asks for an acknowledgement at once: by SCTP's I bit (RFC 7053), by TCP's last byte again."),
    field!(PathMtu, None, "mtu-probes", Count, u8, path_mtu.max_probes,
        "Probes of a packet size in a row whose loss makes it too large (MAX_PROBES, RFC 8899)."),
    field!(PathMtu, None, "mtu-probe-timer", Time, Duration, path_mtu.probe_timer,
        "Least time from one probe of a packet size to the next (PROBE_TIMER, RFC 8899)."),
    field!(PathMtu, None, "mtu-raise-timer", Time, Duration, path_mtu.raise_timer,
        "How long a path MTU holds before a larger one is tried (PMTU_RAISE_TIMER, RFC 8899)."),
    field!(PathMtu, None, "mtu-timeouts", Count, u8, path_mtu.black_hole_timeouts,
        "Timeouts in a row after which large packets are thought to vanish (RFC 8899, section 4.3)."),
    field!(PathMtu, None, "mtu-base", Bytes, u16, path_mtu.base,
        "IPv4 packet that nearly every path carries: where the search begins (BASE_PLPMTU), and where large ones vanish."),
    field!(PathMtu, None, "mtu-sizes", Words, ProbeSizes, path_mtu.sizes,
        "Packet sizes that are probed: halving what is left, or those that are common."),
    field!(PathMtu, tcp("a probe is answered whether data follows it or not"),
        "mtu-patience", Time, Duration, path_mtu.patience,
        "How long a probe waits for data to follow it (RFC 4821, section 7.4)."),
];

#[cfg(test)]
mod tests;
