//! Recovery policies on the command line: presets by name, and single mechanisms that override them.

mod congestion;
mod forms;

use base::Duration;
use recovery::policy::{
    ErrorCounting, ImmediateRequest, RetransmissionPath, ThinBackoff, ThinDetector, TimeoutResends,
    TimerRestart,
};
use recovery::rtt::{Deviation, Ratio};
use recovery::{PRESETS, RecoveryPolicy, TCP_PRESETS};

use self::congestion::CongestionOverrides;
use crate::failure::Failure;
pub(crate) use forms::OrOff;
use forms::{Form, Switch};

/// A preset with its name and what it does.
#[derive(Clone, Debug)]
pub(crate) struct NamedPolicy {
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    pub(crate) policy: RecoveryPolicy,
}

/// Single mechanisms, each in the place of what the preset says.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "Single mechanisms, in the place of what the policy says")]
pub(crate) struct Overrides {
    /// Lower bound of the retransmission timeout.
    #[arg(long, value_name = "DURATION")]
    rto_min: Option<Duration>,
    /// Lower bound of the timeout while the stream is thin; off: --rto-min always.
    #[arg(long, value_name = "DURATION|off")]
    rto_min_thin: Option<OrOff<Duration>>,
    /// Timeout before the first measurement.
    #[arg(long, value_name = "DURATION")]
    rto_initial: Option<Duration>,
    /// Upper bound of the timeout.
    #[arg(long, value_name = "DURATION")]
    rto_max: Option<Duration>,
    /// Gain of the smoothed round-trip time, such as 1/8.
    #[arg(long, value_name = "RATIO")]
    rto_alpha: Option<Form<Ratio>>,
    /// Gain of the round-trip time variation, such as 1/4.
    #[arg(long, value_name = "RATIO")]
    rto_beta: Option<Form<Ratio>>,
    /// What the variation follows: absolute or signed.
    #[arg(long, value_name = "DEVIATION")]
    rto_deviation: Option<Form<Deviation>>,
    /// When the stream is thin: off, in-flight (:3, :3:inclusive), fewer-than-four, always.
    #[arg(long, value_name = "DETECTOR")]
    thin_detector: Option<Form<ThinDetector>>,
    /// Timeouts in a row while thin: exponential, linear, or linear:N for the first N.
    #[arg(long, value_name = "BACKOFF")]
    backoff: Option<Form<ThinBackoff>>,
    /// Expiries that count towards path failure: every, or those of an exponential schedule.
    #[arg(long, value_name = "every|exponential")]
    error_counting: Option<Form<ErrorCounting>>,
    /// Timer when data stays outstanding: full, timer-age (2009 paper), oldest-age (:4; RFC 7765).
    #[arg(long, value_name = "RESTART")]
    timer_restart: Option<Form<TimerRestart>>,
    /// Miss indications that mean loss.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..))]
    dup_threshold: Option<u8>,
    /// The same while the stream is thin; off: --dup-threshold always.
    #[arg(long, value_name = "N|off")]
    dup_threshold_thin: Option<OrOff<u8>>,
    /// Whether what was fast-retransmitted may be so again.
    #[arg(long, value_name = "on|off", num_args = 0..=1, require_equals = true, default_missing_value = "on")]
    repeat_fast_retransmit: Option<Switch>,
    /// Early retransmit (RFC 5827).
    #[arg(long, value_name = "on|off", num_args = 0..=1, require_equals = true, default_missing_value = "on")]
    early_retransmit: Option<Switch>,
    /// FreeBSD's early fast retransmit timer: the least it waits.
    #[arg(long, value_name = "DURATION|off")]
    early_timer: Option<OrOff<Duration>>,
    /// Limited transmit (RFC 3042).
    #[arg(long, value_name = "on|off", num_args = 0..=1, require_equals = true, default_missing_value = "on")]
    limited_transmit: Option<Switch>,
    /// What a timeout resends: all, what is old-enough (FreeBSD), or lost by-rack (RFC 8985).
    #[arg(long, value_name = "all|old-enough|by-rack")]
    timeout_resends: Option<Form<TimeoutResends>>,
    /// Congestion window at the beginning; off: what RFC 9260 makes of the path MTU.
    #[arg(long, value_name = "SIZE|off")]
    initial_window: Option<OrOff<u32>>,
    /// Path on which a timeout resends, where there are several: alternate or same.
    #[arg(long, value_name = "alternate|same")]
    retransmission_path: Option<Form<RetransmissionPath>>,
    /// Packets that one input may release at most (Max.Burst); 0: no limit.
    #[arg(long, value_name = "N")]
    max_burst: Option<u8>,
    /// Longest delay of an acknowledgement; off acknowledges every packet at once.
    #[arg(long, value_name = "DURATION|off")]
    sack_delay: Option<OrOff<Duration>>,
    /// Packets after which an acknowledgement is not delayed any more.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..))]
    sack_every: Option<u8>,
    /// Which data asks the peer for a SACK at once (I bit, RFC 7053).
    #[arg(long, value_name = "never|thin|always")]
    request_sack: Option<Form<ImmediateRequest>>,
    #[command(flatten)]
    congestion: CongestionOverrides,
}

impl Overrides {
    /// Changes `policy` where an option was given.
    ///
    /// # Errors
    /// When the result contradicts itself.
    pub(crate) fn apply(&self, policy: &mut RecoveryPolicy) -> Result<(), Failure> {
        self.apply_rto(policy);
        self.apply_timer(policy);
        self.apply_loss(policy);
        self.apply_acknowledgement(policy);
        self.congestion.apply(policy);
        let rto = &policy.rto;
        let least = rto.min_while_thin.unwrap_or(rto.min).max(rto.min);
        if least > rto.max {
            let max = rto.max;
            return Err(Failure::usage(format!(
                "the lower bound of the timeout, {least}, is above the upper bound, {max}: \
                 lower --rto-min or raise --rto-max"
            )));
        }
        Ok(())
    }

    fn apply_rto(&self, policy: &mut RecoveryPolicy) {
        let rto = &mut policy.rto;
        set(&mut rto.min, self.rto_min);
        set(&mut rto.min_while_thin, self.rto_min_thin.map(|value| value.0));
        set(&mut rto.initial, self.rto_initial);
        set(&mut rto.max, self.rto_max);
        set(&mut rto.alpha, self.rto_alpha.map(|form| form.0));
        set(&mut rto.beta, self.rto_beta.map(|form| form.0));
        set(&mut rto.deviation, self.rto_deviation.map(|form| form.0));
    }

    fn apply_timer(&self, policy: &mut RecoveryPolicy) {
        set(&mut policy.thin, self.thin_detector.map(|form| form.0));
        set(&mut policy.backoff.while_thin, self.backoff.map(|form| form.0));
        set(&mut policy.backoff.errors, self.error_counting.map(|form| form.0));
        set(&mut policy.timer_restart, self.timer_restart.map(|form| form.0));
        set(&mut policy.timeout_resends, self.timeout_resends.map(|form| form.0));
        set(&mut policy.retransmission_path, self.retransmission_path.map(|form| form.0));
    }

    fn apply_loss(&self, policy: &mut RecoveryPolicy) {
        let loss = &mut policy.loss;
        set(&mut loss.dup_threshold, self.dup_threshold);
        set(&mut loss.dup_threshold_while_thin, self.dup_threshold_thin.map(|value| value.0));
        set(&mut loss.repeat_fast_retransmit, self.repeat_fast_retransmit.map(Switch::is_on));
        set(&mut loss.early_retransmit, self.early_retransmit.map(Switch::is_on));
        set(&mut loss.early_timer, self.early_timer.map(|value| value.0));
        set(&mut policy.congestion.initial_window, self.initial_window.map(|value| value.0));
        set(&mut policy.congestion.max_burst, self.max_burst);
        set(&mut policy.congestion.limited_transmit, self.limited_transmit.map(Switch::is_on));
    }

    fn apply_acknowledgement(&self, policy: &mut RecoveryPolicy) {
        let acknowledgement = &mut policy.acknowledgement;
        set(&mut acknowledgement.delay, self.sack_delay.map(|value| value.0));
        set(&mut acknowledgement.every_packets, self.sack_every);
        set(&mut acknowledgement.request_immediate, self.request_sack.map(|form| form.0));
    }
}

fn set<T>(field: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *field = value;
    }
}

/// The preset for SCTP of this name.
///
/// # Errors
/// When there is none; says which there are.
pub(crate) fn preset(name: &str) -> Result<NamedPolicy, String> {
    find(&PRESETS, RecoveryPolicy::preset, name)
}

/// The preset for TCP of this name.
///
/// # Errors
/// When there is none; says which there are.
pub(crate) fn tcp_preset(name: &str) -> Result<NamedPolicy, String> {
    find(&TCP_PRESETS, RecoveryPolicy::tcp_preset, name)
}

fn find(
    presets: &'static [(&'static str, &'static str)],
    make: impl Fn(&str) -> Option<RecoveryPolicy>,
    name: &str,
) -> Result<NamedPolicy, String> {
    let known = presets.iter().find(|(known, _)| *known == name);
    match known.zip(make(name)) {
        Some((&(name, description), policy)) => Ok(NamedPolicy { name, description, policy }),
        None => {
            let names: Vec<_> = presets.iter().map(|(name, _)| *name).collect();
            Err(format!("there is no policy \"{name}\"; there are {}", names.join(", ")))
        }
    }
}

#[cfg(test)]
mod tests;
