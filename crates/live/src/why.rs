//! Reason for which a packet was sent: what the sender or the receiver went by, the field of its
//! policy that decided, and the source of the field.
//!
//! Derived from the events of recovery, in their order, and from the packets themselves. Where
//! several rules can have decided, the text says so.

mod sources;

use base::{Duration, Instant};
use recovery::policy::{
    Field, ImmediateRequest, Protocol, ReorderingWindow, ThinTimeout, TimerRestart,
};
use recovery::{Cause, Event, RecoveryPolicy};
use results::Role;
use serde::Serialize;

pub use sources::source;

/// Reason for which a packet was sent.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Reason {
    /// One or two sentences for the visitor.
    pub text: String,
    /// Fields of the policy that decided, the most important first.
    pub fields: Vec<Decided>,
}

/// A field of the policy to which a packet is due.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Decided {
    /// Name of the field, as in policies.
    pub name: &'static str,
    /// Value of the field in the policy.
    pub value: String,
    /// Meaning of the field, a sentence.
    pub meaning: &'static str,
    /// The paper or RFC that it comes from.
    pub source: &'static str,
}

/// Follows the events of one flow.
#[derive(Debug)]
pub(crate) struct Reasons {
    protocol: Protocol,
    policy: RecoveryPolicy,
    /// The timeout that the timer was last set to.
    rto: Duration,
    is_measured: bool,
    /// Expiries since the last acknowledgement.
    expiries: u32,
    expired: Option<Expired>,
    /// Causes for which the next packet sends units again.
    resent: Vec<Cause>,
    /// Whether the next packet is a probe with new data.
    probes_new: bool,
    /// Packets of data that the receiver has not acknowledged, and when the first of them arrived.
    unacknowledged: u32,
    first_arrival: Option<Instant>,
}

/// The expiry of a timer.
#[derive(Clone, Copy, Debug)]
struct Expired {
    after: Duration,
    /// Expiries before it, without an acknowledgement in between.
    before: u32,
    is_thin: bool,
    is_linear: bool,
    was_measured: bool,
}

impl Reasons {
    pub(crate) fn new(protocol: Protocol, policy: RecoveryPolicy) -> Reasons {
        Reasons {
            protocol,
            rto: policy.rto.initial,
            policy,
            is_measured: false,
            expiries: 0,
            expired: None,
            resent: Vec::new(),
            probes_new: false,
            unacknowledged: 0,
            first_arrival: None,
        }
    }

    /// A step of recovery; a few words if it is worth showing.
    pub(crate) fn on_event(&mut self, _: Instant, event: &Event) -> Option<String> {
        match *event {
            Event::Acknowledged { bytes, rtt, rto, .. } => {
                self.rto = rto;
                self.is_measured |= rtt.is_some();
                if bytes > 0 {
                    self.expiries = 0;
                }
                None
            }
            Event::Timeout { next_rto, thin, linear, .. } => {
                self.expired = Some(Expired {
                    after: self.rto,
                    before: self.expiries,
                    is_thin: thin,
                    is_linear: linear,
                    was_measured: self.is_measured,
                });
                let after = span(self.rto);
                self.expiries += 1;
                self.rto = next_rto;
                Some(format!("timer expired after {after}"))
            }
            Event::Resent { cause, .. } => {
                self.resent.push(cause);
                None
            }
            Event::Lost { cause: Cause::Fast, .. } => Some("loss reported".to_owned()),
            Event::Lost { cause: Cause::Early, .. } => Some("loss reported early".to_owned()),
            Event::Probed { new, .. } => {
                self.probes_new = new;
                Some("probe".to_owned())
            }
            Event::Spurious { units } => Some(match units {
                1 => "one copy was needless".to_owned(),
                _ => format!("{units} units were sent again needlessly"),
            }),
            Event::Repaired { .. } => Some("a copy repaired the loss".to_owned()),
            _ => None,
        }
    }

    /// A packet with data, or any other one, reached the receiver.
    pub(crate) fn on_arrival(&mut self, now: Instant) {
        self.unacknowledged += 1;
        self.first_arrival.get_or_insert(now);
    }

    /// Reason for which the sender's packet leaves.
    pub(crate) fn of_data(&mut self, role: Role, _: Instant) -> Reason {
        let resent = core::mem::take(&mut self.resent);
        let probes_new = core::mem::take(&mut self.probes_new);
        let expired = self.expired.take();
        match role {
            Role::Again => self.again(&resent, expired),
            Role::Along => {
                let mut reason = self.along(&resent);
                if let Some(cause) = resent.first() {
                    reason.fields.extend(self.cause(*cause, expired).fields);
                }
                reason
            }
            Role::Data if probes_new => self.decided(
                "Data that waited for room in the window goes out as a probe, so that an acknowledgement tells what is lost.",
                &["tail-probe"],
            ),
            Role::Data => Reason {
                text: "New data. Small messages are not held back: Nagle's algorithm is off.".to_owned(),
                fields: Vec::new(),
            },
            Role::Ack => Reason {
                text: "The sender acknowledges what it received.".to_owned(),
                fields: Vec::new(),
            },
            Role::Other => Reason {
                text: "It sets the association or connection up, ends it, or tests whether the peer is there.".to_owned(),
                fields: Vec::new(),
            },
        }
    }

    /// Reason for which the receiver's packet leaves.
    pub(crate) fn of_answer(&mut self, role: Role, now: Instant) -> Reason {
        let waited = self.first_arrival.take().map(|at| now.since(at)).unwrap_or_default();
        let packets = core::mem::take(&mut self.unacknowledged);
        if role != Role::Ack {
            return Reason {
                text: "It sets the association or connection up, or ends it.".to_owned(),
                fields: Vec::new(),
            };
        }
        let every = u32::from(self.policy.acknowledgement.every_packets);
        if !waited.is_zero() && packets < every {
            let text = format!(
                "An acknowledgement that waited {} for a second packet to acknowledge with it.",
                span(waited)
            );
            return self.decided(&text, &["sack-delay", "sack-every"]);
        }
        if packets >= every {
            let text =
                format!("An acknowledgement after {packets} packets: no more are waited for.");
            return self.decided(&text, &["sack-every"]);
        }
        if self.policy.acknowledgement.delay.is_none() {
            return self.decided("Each packet is acknowledged at once.", &["sack-delay"]);
        }
        if self.policy.acknowledgement.request_immediate == ImmediateRequest::Never {
            return Reason {
                text: "An acknowledgement at once: something is missing before it, it came twice, or it filled a hole.".to_owned(),
                fields: Vec::new(),
            };
        }
        self.decided(
            "An acknowledgement at once: the sender asked for it, something is missing before it, it came twice, or it filled a hole.",
            &["request-sack"],
        )
    }

    /// A packet with nothing new.
    fn again(&self, resent: &[Cause], expired: Option<Expired>) -> Reason {
        let order = [Cause::Timeout, Cause::Fast, Cause::Early, Cause::Probe, Cause::Copy];
        let first = order.into_iter().find(|cause| resent.contains(cause));
        match first.or(resent.first().copied()) {
            Some(cause) => self.cause(cause, expired),
            // A byte sent before, while nothing is lost: the sender asks for an acknowledgement.
            None if self.protocol == Protocol::Tcp => self.decided(
                "The last byte once more: a receiver acknowledges what it has already at once, so the sender needs not wait for a delayed acknowledgement.",
                &["request-sack"],
            ),
            None => self.decided(
                "A copy of data in flight, before anything is known to be lost.",
                &["bundling"],
            ),
        }
    }

    fn along(&self, resent: &[Cause]) -> Reason {
        let text = match resent.is_empty() {
            true => {
                "New data, and with it a copy of messages that are not acknowledged yet: if they were lost, this packet repairs them a message later, without a timer."
            }
            false => "New data, together with data that is sent again.",
        };
        self.decided(text, if resent.is_empty() { &["bundling", "bundling-packets"] } else { &[] })
    }

    fn cause(&self, cause: Cause, expired: Option<Expired>) -> Reason {
        match cause {
            Cause::Timeout => self.timeout(expired),
            Cause::Bundled => self.decided(
                "It had not been acknowledged when the timer of an older packet expired, and is sent again with it.",
                &["timeout-resends"],
            ),
            Cause::Fast => self.fast(),
            Cause::Early if self.policy.loss.early_timer.is_some() => self.decided(
                "A short timer after the last acknowledgement expired, without waiting for the retransmission timer.",
                &["early-timer"],
            ),
            Cause::Early if self.policy.loss.early_retransmit => self.decided(
                "Too few packets are in flight to bring three reports of a loss, so fewer are enough.",
                &["early-retransmit"],
            ),
            Cause::Early => self.decided(
                "An acknowledgement came twice, and the oldest packet is older than the measured round trip allows.",
                &["fine-grained"],
            ),
            Cause::Probe => self.decided(
                "Nothing was heard for two round trips: the last packet is sent again as a probe, so that an acknowledgement tells what is lost.",
                &["tail-probe"],
            ),
            Cause::Copy => self.decided(
                "No message followed this one for a share of the round trip, so a copy is sent ahead of any sign of a loss.",
                &["bundling-alone"],
            ),
        }
    }

    fn fast(&self) -> Reason {
        let loss = &self.policy.loss;
        if loss.rack && loss.use_sack {
            let measured = loss.reordering_window == ReorderingWindow::Measured;
            let fields: &[&str] = if measured { &["rack", "reordering-window"] } else { &["rack"] };
            return self.decided(
                "A packet that was sent later has arrived, and this one had time to arrive as well: it counts as lost.",
                fields,
            );
        }
        let (count, fields): (u8, &[&str]) = match loss.dup_threshold_while_thin {
            Some(count) => (count, &["dup-threshold-thin", "thin-detector"]),
            None => (loss.dup_threshold, &["dup-threshold"]),
        };
        let text = match count {
            1 => "One acknowledgement said that something sent later has arrived: for a thin stream that is enough, since more may never come.".to_owned(),
            _ => format!("{count} acknowledgements said that something sent later has arrived and this has not."),
        };
        self.decided(&text, fields)
    }

    fn timeout(&self, expired: Option<Expired>) -> Reason {
        let Some(expired) = expired else {
            return self.decided(
                "The retransmission timer expired before, and this is the rest of what it sends again.",
                &["timeout-resends"],
            );
        };
        let after = span(expired.after);
        let head = format!("Nothing was heard for {after}, so the retransmission timer expired.");
        if expired.before > 0 {
            let text = match expired.is_linear {
                true => format!(
                    "{head} It had expired before, and was not doubled: a thin stream causes no congestion."
                ),
                false => {
                    format!("{head} It had expired before, and each time it waits twice as long.")
                }
            };
            return self.decided(&text, &["backoff", "thin-detector"]);
        }
        if !expired.was_measured {
            let text = format!("{head} No round trip was measured before.");
            return self.decided(&text, &["rto-initial"]);
        }
        let (text, field) = self.bound(expired);
        let mut fields = vec![field];
        if matches!(self.policy.timer_restart, TimerRestart::LessOldestAge { .. }) {
            fields.push("timer-restart");
        }
        if expired.is_thin && self.policy.timeout_while_thin == ThinTimeout::Probe {
            fields.push("timeout-thin");
        }
        self.decided(&format!("{head} {text}"), &fields)
    }

    /// The bound that determined the timeout, if any.
    fn bound(&self, expired: Expired) -> (&'static str, &'static str) {
        let rto = &self.policy.rto;
        let least = rto.min_while_thin.filter(|_| expired.is_thin);
        match least {
            Some(least) if expired.after == least => (
                "The measured round trip would allow less; this is the least while the stream is thin.",
                "rto-min-thin",
            ),
            None if expired.after == rto.min => (
                "The measured round trip would allow less, but this is the least that the policy waits.",
                "rto-min",
            ),
            _ if !rto.min_variation.is_zero() => {
                ("That is the measured round trip and a fixed margin.", "rto-min-variation")
            }
            Some(_) => (
                "That is little more than the measured round trip: there is no minimum to wait for.",
                "rto-min-thin",
            ),
            None => {
                ("That is the measured round trip with a margin for its variation.", "rto-margin")
            }
        }
    }

    fn decided(&self, text: &str, names: &[&'static str]) -> Reason {
        let fields = names.iter().filter_map(|name| {
            let field = Field::find(name)?;
            Some(Decided {
                name: field.name,
                value: field.get(&self.policy)?,
                meaning: field.meaning,
                source: source(field.name, self.protocol)?,
            })
        });
        Reason { text: text.to_owned(), fields: fields.collect() }
    }
}

/// A duration in milliseconds or seconds, with as many digits as people read.
fn span(of: Duration) -> String {
    let millis = of.as_millis_f64();
    match millis {
        _ if millis < 10.0 => format!("{millis:.1} ms"),
        _ if millis < 1000.0 => format!("{millis:.0} ms"),
        _ => format!("{:.2} s", millis / 1000.0),
    }
}
