//! Values of a policy as people write them.

use std::str::FromStr;

use base::ParseQuantityError;
use recovery::policy::{
    Controller, EarlyWindow, ErrorCounting, FineGrainedTimer, IdleRestart, ImmediateRequest,
    RetransmissionPath, ThinBackoff, ThinDetector, TimeoutResends, TimerRestart, VegasPolicy,
};
use recovery::rtt::{Deviation, Ratio};

/// A value of a policy that is read from text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Form<T>(pub(crate) T);

/// A mechanism with a number, or `off`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OrOff<T>(pub(crate) Option<T>);

/// A mechanism without a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Switch {
    On,
    Off,
}

impl Switch {
    pub(crate) fn is_on(self) -> bool {
        self == Switch::On
    }
}

type Parsed<T> = Result<T, ParseQuantityError>;

impl FromStr for Switch {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Parsed<Switch> {
        match text {
            "on" => Ok(Switch::On),
            "off" => Ok(Switch::Off),
            _ => Err(ParseQuantityError::new(text, "on or off")),
        }
    }
}

impl FromStr for OrOff<base::Duration> {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Parsed<Self> {
        let value = (text != "off").then(|| text.parse()).transpose();
        value
            .map(OrOff)
            .map_err(|_| ParseQuantityError::new(text, "a duration such as 50ms, or off"))
    }
}

impl FromStr for OrOff<u8> {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Parsed<Self> {
        let refused = || ParseQuantityError::new(text, "a number from 1 to 255, or off");
        match text {
            "off" => Ok(OrOff(None)),
            _ => Ok(OrOff(Some(text.parse().ok().filter(|n| *n > 0).ok_or_else(refused)?))),
        }
    }
}

impl FromStr for OrOff<u32> {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Parsed<Self> {
        let refused =
            || ParseQuantityError::new(text, "a size from 1B to 4GB such as 4404B, or off");
        if text == "off" {
            return Ok(OrOff(None));
        }
        let size: base::ByteCount = text.parse().map_err(|_| refused())?;
        let size = u32::try_from(size.0).ok().filter(|size| *size > 0).ok_or_else(refused)?;
        Ok(OrOff(Some(size)))
    }
}

impl FromStr for Form<Ratio> {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Parsed<Self> {
        let refused = || ParseQuantityError::new(text, "a ratio between 0 and 1 such as 1/8");
        let (numerator, denominator) = text.split_once('/').unwrap_or((text, "1"));
        let number = |text: &str| text.parse::<u16>().map_err(|_| refused());
        let (numerator, denominator) = (number(numerator)?, number(denominator)?);
        match denominator > 0 && numerator <= denominator {
            true => Ok(Form(Ratio::new(numerator, denominator))),
            false => Err(refused()),
        }
    }
}

impl FromStr for Form<Deviation> {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Parsed<Self> {
        match text {
            "absolute" => Ok(Form(Deviation::Absolute)),
            "signed" => Ok(Form(Deviation::Signed)),
            _ => Err(ParseQuantityError::new(text, "absolute or signed")),
        }
    }
}

impl FromStr for Form<ThinDetector> {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Parsed<Self> {
        let refused = || {
            const FORM: &str =
                "off, in-flight, in-flight:3, in-flight:3:inclusive, fewer-than-four or always";
            ParseQuantityError::new(text, FORM)
        };
        let parts: Vec<_> = text.split(':').collect();
        let in_flight = |threshold: &str, inclusive| {
            let threshold = threshold.parse().map_err(|_| refused())?;
            Ok(ThinDetector::InFlight { threshold, inclusive })
        };
        let detector = match parts[..] {
            ["off"] => Ok(ThinDetector::Off),
            ["fewer-than-four"] => Ok(ThinDetector::FewerThanFour),
            ["always"] => Ok(ThinDetector::Always),
            ["in-flight"] => in_flight("3", false),
            ["in-flight", threshold] => in_flight(threshold, false),
            ["in-flight", threshold, "inclusive"] => in_flight(threshold, true),
            _ => Err(refused()),
        };
        detector.map(Form)
    }
}

impl FromStr for Form<ThinBackoff> {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Parsed<Self> {
        let refused = || ParseQuantityError::new(text, "exponential, linear or linear:6");
        Ok(Form(match text.split_once(':') {
            None if text == "exponential" => ThinBackoff::Exponential,
            None if text == "linear" => ThinBackoff::Linear,
            Some(("linear", cap)) => ThinBackoff::LinearFor(cap.parse().map_err(|_| refused())?),
            _ => return Err(refused()),
        }))
    }
}

impl FromStr for Form<ErrorCounting> {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Parsed<Self> {
        match text {
            "every" => Ok(Form(ErrorCounting::EveryExpiry)),
            "exponential" => Ok(Form(ErrorCounting::ExponentialSchedule)),
            _ => Err(ParseQuantityError::new(text, "every or exponential")),
        }
    }
}

impl FromStr for Form<ImmediateRequest> {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Parsed<Self> {
        match text {
            "never" => Ok(Form(ImmediateRequest::Never)),
            "thin" => Ok(Form(ImmediateRequest::WhileThin)),
            "always" => Ok(Form(ImmediateRequest::Always)),
            _ => Err(ParseQuantityError::new(text, "never, thin or always")),
        }
    }
}

impl FromStr for Form<TimerRestart> {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Parsed<Self> {
        let refused =
            || ParseQuantityError::new(text, "full, timer-age, oldest-age or oldest-age:4");
        let oldest = |threshold| TimerRestart::LessOldestAge { threshold };
        Ok(Form(match text.split_once(':') {
            None if text == "full" => TimerRestart::Full,
            None if text == "timer-age" => TimerRestart::LessTimerAge,
            None if text == "oldest-age" => oldest(4),
            Some(("oldest-age", threshold)) => oldest(threshold.parse().map_err(|_| refused())?),
            _ => return Err(refused()),
        }))
    }
}

impl FromStr for Form<TimeoutResends> {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Parsed<Self> {
        match text {
            "all" => Ok(Form(TimeoutResends::AllOutstanding)),
            "old-enough" => Ok(Form(TimeoutResends::OldEnough)),
            "by-rack" => Ok(Form(TimeoutResends::ByRack)),
            _ => Err(ParseQuantityError::new(text, "all, old-enough or by-rack")),
        }
    }
}

impl FromStr for Form<RetransmissionPath> {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Parsed<Self> {
        match text {
            "alternate" => Ok(Form(RetransmissionPath::Alternate)),
            "same" => Ok(Form(RetransmissionPath::Same)),
            _ => Err(ParseQuantityError::new(text, "alternate or same")),
        }
    }
}

impl FromStr for Form<Controller> {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Parsed<Self> {
        let refused =
            || ParseQuantityError::new(text, "rfc9260, newreno, cubic, vegas or vegas:1:3:1");
        let number = |text: &str| text.parse().map_err(|_| refused());
        let parts: Vec<_> = text.split(':').collect();
        let controller = match parts[..] {
            ["rfc9260"] => Controller::Rfc9260,
            ["newreno"] => Controller::NewReno,
            ["cubic"] => Controller::Cubic,
            ["vegas"] => Controller::Vegas(VegasPolicy::default()),
            ["vegas", alpha, beta, gamma] => Controller::Vegas(VegasPolicy {
                alpha: number(alpha)?,
                beta: number(beta)?,
                gamma: number(gamma)?,
            }),
            _ => return Err(refused()),
        };
        Ok(Form(controller))
    }
}

impl FromStr for Form<IdleRestart> {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Parsed<Self> {
        match text {
            "keep" => Ok(Form(IdleRestart::Keep)),
            "initial-window" => Ok(Form(IdleRestart::InitialWindow)),
            "halve" => Ok(Form(IdleRestart::Halve)),
            _ => Err(ParseQuantityError::new(text, "keep, initial-window or halve")),
        }
    }
}

impl FromStr for Form<EarlyWindow> {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Parsed<Self> {
        match text {
            "controller" => Ok(Form(EarlyWindow::Controller)),
            "tcp-er" => Ok(Form(EarlyWindow::TcpEr)),
            _ => Err(ParseQuantityError::new(text, "controller or tcp-er")),
        }
    }
}

impl FromStr for Form<FineGrainedTimer> {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Parsed<Self> {
        match text {
            "off" => Ok(Form(FineGrainedTimer::Off)),
            "on" => Ok(Form(FineGrainedTimer::On)),
            "robust" => Ok(Form(FineGrainedTimer::Robust)),
            _ => Err(ParseQuantityError::new(text, "off, on or robust")),
        }
    }
}
