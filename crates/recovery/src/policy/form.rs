//! Text forms of a policy's values.

use base::{ByteCount, Duration};

use super::{
    BackoffEnd, BundleReaction, BundlingPolicy, Controller, EarlyRule, EarlyWindow, ErrorCounting,
    FineGrainedTimer, IdleRestart, ImmediateRequest, LeastWindow, PartialAck, ProbeSizes,
    ReorderingWindow, RepeatFast, RetransmissionPath, RtoMargin, RttSamples, SackFlight,
    SackLosses, ThinBackoff, ThinDetector, ThinTimeout, TimeoutResends, TimerRestart, VegasPolicy,
    WindowCounts, WindowFalls,
};
use crate::rtt::{Deviation, Ratio};

/// Text form of the values of type `T`.
pub(super) trait Form<T> {
    /// Placeholder of a value in a line of usage.
    const VALUE: &'static str;
    /// Description of the values, for the error message about a text that is none.
    const EXPECTED: &'static str;

    /// Parses a text; `None` if it is no value.
    fn read(text: &str) -> Option<T>;

    /// Text of a value, which `read` parses back.
    fn write(value: &T) -> String;
}

/// A duration with its unit, such as `50ms`.
pub(super) struct Time;
/// An integer of at least 1.
pub(super) struct Count;
/// An integer of at least 0.
pub(super) struct Number;
/// A number of bytes, at most 65,535.
pub(super) struct Bytes;
/// A number of bytes, at least 1.
pub(super) struct Size;
/// `on` or `off`, for a boolean.
pub(super) struct Switch;
/// A fraction between 0 and 1.
pub(super) struct Gain;
/// One of a list of words.
pub(super) struct Words;
/// The form `F`, or `off` for `None`.
pub(super) struct OrOff<F>(F);
/// Bundling: a named set of initial values.
pub(super) struct Bundling;

impl Form<Duration> for Time {
    const VALUE: &'static str = "DURATION";
    const EXPECTED: &'static str = "a duration such as 50ms or 1.5s";

    fn read(text: &str) -> Option<Duration> {
        text.parse().ok()
    }

    fn write(value: &Duration) -> String {
        value.to_string()
    }
}

impl Form<u8> for Count {
    const VALUE: &'static str = "N";
    const EXPECTED: &'static str = "a number from 1 to 255";

    fn read(text: &str) -> Option<u8> {
        text.parse().ok().filter(|number| *number > 0)
    }

    fn write(value: &u8) -> String {
        value.to_string()
    }
}

impl Form<u8> for Number {
    const VALUE: &'static str = "N";
    const EXPECTED: &'static str = "a number from 0 to 255";

    fn read(text: &str) -> Option<u8> {
        text.parse().ok()
    }

    fn write(value: &u8) -> String {
        value.to_string()
    }
}

impl Form<u16> for Number {
    const VALUE: &'static str = <Number as Form<u8>>::VALUE;
    const EXPECTED: &'static str = "a whole number from 0 to 65535";

    fn read(text: &str) -> Option<u16> {
        text.parse().ok()
    }

    fn write(value: &u16) -> String {
        value.to_string()
    }
}

impl Form<u16> for Bytes {
    const VALUE: &'static str = "SIZE";
    const EXPECTED: &'static str = "a size from 0B to 65535B";

    fn read(text: &str) -> Option<u16> {
        u16::try_from(text.parse::<ByteCount>().ok()?.0).ok()
    }

    fn write(value: &u16) -> String {
        ByteCount(u64::from(*value)).to_string()
    }
}

impl Form<u32> for Size {
    const VALUE: &'static str = "SIZE";
    const EXPECTED: &'static str = "a size from 1B to 4GB such as 4404B";

    fn read(text: &str) -> Option<u32> {
        u32::try_from(text.parse::<ByteCount>().ok()?.0).ok().filter(|size| *size > 0)
    }

    fn write(value: &u32) -> String {
        ByteCount(u64::from(*value)).to_string()
    }
}

impl Form<bool> for Switch {
    const VALUE: &'static str = "on|off";
    const EXPECTED: &'static str = "on or off";

    fn read(text: &str) -> Option<bool> {
        match text {
            "on" => Some(true),
            "off" => Some(false),
            _ => None,
        }
    }

    fn write(value: &bool) -> String {
        if *value { "on" } else { "off" }.to_owned()
    }
}

impl Form<Ratio> for Gain {
    const VALUE: &'static str = "RATIO";
    const EXPECTED: &'static str = "a ratio between 0 and 1 such as 1/8 or 0.7";

    fn read(text: &str) -> Option<Ratio> {
        let (numerator, denominator) = match text.split_once('/') {
            Some((numerator, denominator)) => (numerator.parse().ok()?, denominator.parse().ok()?),
            None => {
                let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
                let scale = 10u16.checked_pow(u32::try_from(decimals.len()).ok()?)?;
                (format!("{whole}{decimals}").parse().ok()?, scale)
            }
        };
        (denominator > 0 && numerator <= denominator).then(|| Ratio::new(numerator, denominator))
    }

    fn write(value: &Ratio) -> String {
        value.to_string()
    }
}

/// A form with `off` as an additional value.
macro_rules! or_off {
    ($form:ident, $type:ty, $value:literal, $expected:literal) => {
        impl Form<Option<$type>> for OrOff<$form> {
            const VALUE: &'static str = $value;
            const EXPECTED: &'static str = $expected;

            fn read(text: &str) -> Option<Option<$type>> {
                if text == "off" { Some(None) } else { $form::read(text).map(Some) }
            }

            fn write(value: &Option<$type>) -> String {
                value.as_ref().map_or_else(|| "off".to_owned(), $form::write)
            }
        }
    };
}

or_off!(Time, Duration, "DURATION|off", "a duration such as 50ms, or off");
or_off!(Gain, Ratio, "RATIO|off", "a ratio between 0 and 1 such as 1/8 or 0.7, or off");
or_off!(Count, u8, "N|off", "a number from 1 to 255, or off");
or_off!(Size, u32, "SIZE|off", "a size from 1B to 4GB such as 4404B, or off");

/// Types whose values have one word each.
macro_rules! words {
    ($type:ident, $value:literal, $expected:literal, $($word:literal => $variant:ident),+) => {
        impl Form<$type> for Words {
            const VALUE: &'static str = $value;
            const EXPECTED: &'static str = $expected;

            fn read(text: &str) -> Option<$type> {
                match text {
                    $($word => Some($type::$variant),)+
                    _ => None,
                }
            }

            fn write(value: &$type) -> String {
                match value {
                    $($type::$variant => $word,)+
                }
                .to_owned()
            }
        }
    };
}

words!(Deviation, "absolute|signed|truncated", "absolute, signed or truncated",
    "absolute" => Absolute, "signed" => Signed, "truncated" => Truncated);
words!(ErrorCounting, "every|exponential", "every or exponential",
    "every" => EveryExpiry, "exponential" => ExponentialSchedule);
words!(RttSamples, "once|proven|from-first|from-latest", "once, proven, from-first or from-latest",
    "once" => SentOnce, "proven" => Proven, "from-first" => FromFirst, "from-latest" => FromLatest);
words!(RtoMargin, "fixed|learned", "fixed or learned",
    "fixed" => Fixed, "learned" => Learned, "learned-narrow" => LearnedNarrow);
words!(BackoffEnd, "sample|acknowledgement", "sample or acknowledgement",
    "sample" => Sample, "acknowledgement" => Acknowledgement);
words!(RepeatFast, "off|thin|on", "off, thin or on",
    "off" => Never, "thin" => WhileThin, "on" => Always);
words!(ThinTimeout, "loss|probe", "loss or probe",
    "loss" => Loss, "probe" => Probe);
words!(ImmediateRequest, "never|thin|always", "never, thin or always",
    "never" => Never, "thin" => WhileThin, "always" => Always);
words!(TimeoutResends, "all|old-enough|by-rack", "all, old-enough or by-rack",
    "all" => AllOutstanding, "old-enough" => OldEnough, "by-rack" => ByRack);
words!(RetransmissionPath, "alternate|same", "alternate or same",
    "alternate" => Alternate, "same" => Same);
words!(IdleRestart, "keep|initial-window|halve", "keep, initial-window or halve",
    "keep" => Keep, "initial-window" => InitialWindow, "halve" => Halve);
words!(WindowCounts, "bytes|packets", "bytes or packets",
    "bytes" => Bytes, "packets" => Packets);
words!(LeastWindow, "controller|carried|one-packet", "controller, carried or one-packet",
    "controller" => Controller, "carried" => Carried, "one-packet" => OnePacket);
words!(EarlyWindow, "controller|tcp-er|algorithm-1", "controller, tcp-er or algorithm-1",
    "controller" => Controller, "tcp-er" => TcpEr, "algorithm-1" => Algorithm1);
words!(EarlyRule, "freebsd|described", "freebsd or described",
    "freebsd" => FreeBsd, "described" => Described);
words!(SackLosses, "is-lost|each-hole", "is-lost or each-hole",
    "is-lost" => IsLost, "each-hole" => EachHole);
words!(SackFlight, "reports|acknowledgements", "reports or acknowledgements",
    "reports" => Reports, "acknowledgements" => Acknowledgements);
words!(WindowFalls, "again|once", "again or once",
    "again" => Again, "once" => Once);
words!(FineGrainedTimer, "off|on|robust", "off, on or robust",
    "off" => Off, "on" => On, "robust" => Robust);
words!(ReorderingWindow, "quarter|measured", "quarter or measured",
    "quarter" => Quarter, "measured" => Measured);
words!(ProbeSizes, "halving|common", "halving or common",
    "halving" => Halving, "common" => Common);
words!(PartialAck, "first|every", "first or every",
    "first" => First, "every" => Every);
words!(BundleReaction, "ignore|presume|verified", "ignore, presume or verified",
    "ignore" => Ignore, "presume" => Presume, "verified" => Verified);

impl Form<ThinDetector> for Words {
    const VALUE: &'static str = "DETECTOR";
    const EXPECTED: &'static str = "off, in-flight, in-flight:3, in-flight:3:inclusive, \
                                    few-or-slow, few-or-slow:10ms, fewer-than-four, interval, interval:10ms or always";

    fn read(text: &str) -> Option<ThinDetector> {
        let mut parts = text.split(':');
        let in_flight = |threshold, inclusive| ThinDetector::InFlight { threshold, inclusive };
        let detector = match [parts.next(), parts.next(), parts.next()] {
            [Some("off"), None, None] => ThinDetector::Off,
            [Some("fewer-than-four"), None, None] => ThinDetector::FewerThanFour,
            [Some("always"), None, None] => ThinDetector::Always,
            [Some("few-or-slow"), least, None] => {
                let least = Time::read(least.unwrap_or("10ms"))?;
                ThinDetector::FewOrSlow { least }
            }
            [Some("interval"), least, None] => {
                ThinDetector::Interval { least: Time::read(least.unwrap_or("10ms"))? }
            }
            [Some("in-flight"), threshold, None] => {
                in_flight(Number::read(threshold.unwrap_or("3"))?, false)
            }
            [Some("in-flight"), Some(threshold), Some("inclusive")] => {
                in_flight(Number::read(threshold)?, true)
            }
            _ => return None,
        };
        parts.next().is_none().then_some(detector)
    }

    fn write(value: &ThinDetector) -> String {
        match value {
            ThinDetector::Off => "off".to_owned(),
            ThinDetector::FewerThanFour => "fewer-than-four".to_owned(),
            ThinDetector::Always => "always".to_owned(),
            ThinDetector::FewOrSlow { least } => format!("few-or-slow:{least}"),
            ThinDetector::Interval { least } => format!("interval:{least}"),
            ThinDetector::InFlight { threshold, inclusive } => {
                format!("in-flight:{threshold}{}", if *inclusive { ":inclusive" } else { "" })
            }
        }
    }
}

impl Form<ThinBackoff> for Words {
    const VALUE: &'static str = "exponential|linear|linear:N";
    const EXPECTED: &'static str = "exponential, linear or linear:6";

    fn read(text: &str) -> Option<ThinBackoff> {
        match text.split_once(':') {
            None if text == "exponential" => Some(ThinBackoff::Exponential),
            None if text == "linear" => Some(ThinBackoff::Linear),
            Some(("linear", cap)) => Some(ThinBackoff::LinearFor(Number::read(cap)?)),
            _ => None,
        }
    }

    fn write(value: &ThinBackoff) -> String {
        match value {
            ThinBackoff::Exponential => "exponential".to_owned(),
            ThinBackoff::Linear => "linear".to_owned(),
            ThinBackoff::LinearFor(cap) => format!("linear:{cap}"),
        }
    }
}

impl Form<TimerRestart> for Words {
    const VALUE: &'static str = "full|timer-age|oldest-age|oldest-age:N";
    const EXPECTED: &'static str = "full, timer-age, oldest-age or oldest-age:4";

    fn read(text: &str) -> Option<TimerRestart> {
        let oldest = |threshold| Some(TimerRestart::LessOldestAge { threshold });
        match text.split_once(':') {
            None if text == "full" => Some(TimerRestart::Full),
            None if text == "timer-age" => Some(TimerRestart::LessTimerAge),
            None if text == "oldest-age" => oldest(4),
            Some(("oldest-age", threshold)) => oldest(Number::read(threshold)?),
            _ => None,
        }
    }

    fn write(value: &TimerRestart) -> String {
        match value {
            TimerRestart::Full => "full".to_owned(),
            TimerRestart::LessTimerAge => "timer-age".to_owned(),
            TimerRestart::LessOldestAge { threshold } => format!("oldest-age:{threshold}"),
        }
    }
}

impl Form<Controller> for Words {
    const VALUE: &'static str = "CONTROLLER";
    const EXPECTED: &'static str = "rfc9260, newreno, cubic, vegas or vegas:1:3:1";

    fn read(text: &str) -> Option<Controller> {
        match text.split_once(':') {
            None if text == "rfc9260" => Some(Controller::Rfc9260),
            None if text == "newreno" => Some(Controller::NewReno),
            None if text == "cubic" => Some(Controller::Cubic),
            None if text == "vegas" => Some(Controller::Vegas(VegasPolicy::default())),
            Some(("vegas", limits)) => {
                let mut limits = limits.split(':').map(Number::read);
                let mut next = || limits.next().flatten();
                let policy = VegasPolicy { alpha: next()?, beta: next()?, gamma: next()? };
                limits.next().is_none().then_some(Controller::Vegas(policy))
            }
            _ => None,
        }
    }

    fn write(value: &Controller) -> String {
        match value {
            Controller::Rfc9260 => "rfc9260".to_owned(),
            Controller::NewReno => "newreno".to_owned(),
            Controller::Cubic => "cubic".to_owned(),
            Controller::Vegas(VegasPolicy { alpha, beta, gamma }) => {
                format!("vegas:{alpha}:{beta}:{gamma}")
            }
        }
    }
}

impl Form<Option<BundlingPolicy>> for Bundling {
    const VALUE: &'static str = "off|paper|linux";
    const EXPECTED: &'static str = "off, paper or linux";

    fn read(text: &str) -> Option<Option<BundlingPolicy>> {
        match text {
            "off" => Some(None),
            "paper" => Some(Some(BundlingPolicy::PAPER)),
            "linux" => Some(Some(BundlingPolicy::LINUX)),
            _ => None,
        }
    }

    /// The initial values; the sub-fields that follow give the differences.
    fn write(value: &Option<BundlingPolicy>) -> String {
        let word = value.map_or("off", |policy| match policy {
            BundlingPolicy::LINUX => "linux",
            _ => "paper",
        });
        word.to_owned()
    }
}
