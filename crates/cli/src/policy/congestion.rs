//! Options of congestion control, of loss told by time, and of what is taken back.

use base::Duration;
use recovery::RecoveryPolicy;
use recovery::policy::{Controller, EarlyWindow, FineGrainedTimer, IdleRestart};

use super::forms::{Form, Switch};
use super::{OrOff, set};

/// Single mechanisms of these kinds, each in the place of what the preset says.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "Congestion control and loss told by time")]
pub(crate) struct CongestionOverrides {
    /// Congestion control: rfc9260, newreno, cubic, vegas (:1:3:1; alpha, beta, gamma).
    #[arg(long, value_name = "CONTROLLER")]
    congestion: Option<Form<Controller>>,
    /// Packets by which one acknowledgement may open the window in slow start (RFC 3465).
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..))]
    abc_limit: Option<u8>,
    /// Leave the first slow start when the round trip grows (HyStart++, RFC 9406; with cubic).
    #[arg(long, value_name = "on|off", num_args = 0..=1, require_equals = true, default_missing_value = "on")]
    hystart: Option<Switch>,
    /// The window after quiet: keep, initial-window (RFC 5681) or halve (Linux).
    #[arg(long, value_name = "WINDOW")]
    idle_restart: Option<Form<IdleRestart>>,
    /// Proportional rate reduction (RFC 9937).
    #[arg(long, value_name = "on|off", num_args = 0..=1, require_equals = true, default_missing_value = "on")]
    prr: Option<Switch>,
    /// Give the window back when nothing had been lost (RFC 3708, 3522).
    #[arg(long, value_name = "on|off", num_args = 0..=1, require_equals = true, default_missing_value = "on")]
    undo: Option<Switch>,
    /// The window after an early retransmission: controller or tcp-er (Yin et al.).
    #[arg(long, value_name = "WINDOW")]
    early_window: Option<Form<EarlyWindow>>,
    /// Loss told by when packets were sent (RACK, RFC 8985), in the place of --dup-threshold.
    #[arg(long, value_name = "on|off", num_args = 0..=1, require_equals = true, default_missing_value = "on")]
    rack: Option<Switch>,
    /// Tail loss probes (RFC 8985); the longest that the peer delays an acknowledgement.
    #[arg(long, value_name = "DURATION|off")]
    tail_probe: Option<OrOff<Duration>>,
    /// Find out whether a timeout was needless (F-RTO, RFC 5682).
    #[arg(long, value_name = "on|off", num_args = 0..=1, require_equals = true, default_missing_value = "on")]
    frto: Option<Switch>,
    /// Vegas' fine-grained timer at duplicate acknowledgements: off, on, or robust to reordering.
    #[arg(long, value_name = "off|on|robust")]
    fine_grained: Option<Form<FineGrainedTimer>>,
}

impl CongestionOverrides {
    /// Changes `policy` where an option was given.
    pub(super) fn apply(&self, policy: &mut RecoveryPolicy) {
        let congestion = &mut policy.congestion;
        set(&mut congestion.controller, self.congestion.map(|form| form.0));
        set(&mut congestion.abc_limit, self.abc_limit);
        set(&mut congestion.hystart, self.hystart.map(Switch::is_on));
        set(&mut congestion.idle_restart, self.idle_restart.map(|form| form.0));
        set(&mut congestion.prr, self.prr.map(Switch::is_on));
        set(&mut congestion.undo, self.undo.map(Switch::is_on));
        set(&mut congestion.early_window, self.early_window.map(|form| form.0));
        let loss = &mut policy.loss;
        set(&mut loss.rack, self.rack.map(Switch::is_on));
        set(&mut loss.tail_probe, self.tail_probe.map(|value| value.0));
        set(&mut loss.frto, self.frto.map(Switch::is_on));
        set(&mut loss.fine_grained, self.fine_grained.map(|form| form.0));
    }
}
