//! Defaults of an application for all its messages (RFC 6458, sections 8.1.13, 8.1.25, 8.1.31 and
//! 8.1.32).

use sctp::Reliability;

use super::sending::{self, Outgoing};
use super::{Outcome, Output, Returned};
use crate::expression::Expression;
use crate::sockets::arguments::{Numbers, integer, part};
use crate::stop::Stop;

/// Fields of SCTP_DEFAULT_SEND_PARAM, the first four with their equivalents in
/// SCTP_DEFAULT_SNDINFO. The others do not affect a sent message.
const PARAM: [(&str, &str); 8] = [
    ("sinfo_stream", "snd_sid"),
    ("sinfo_flags", "snd_flags"),
    ("sinfo_ppid", "snd_ppid"),
    ("sinfo_context", "snd_context"),
    ("sinfo_timetolive", ""),
    ("sinfo_ssn", ""),
    ("sinfo_tsn", ""),
    ("sinfo_cumtsn", ""),
];

/// Policies of SCTP_DEFAULT_PRINFO (RFC 7496), by their numbers.
const POLICIES: [&str; 4] =
    ["SCTP_PR_SCTP_NONE", "SCTP_PR_SCTP_TTL", "SCTP_PR_SCTP_RTX", "SCTP_PR_SCTP_PRIO"];

/// The defaults of a socket.
#[derive(Clone, Copy, Debug)]
pub(super) struct Defaults {
    /// Values in the order of [`PARAM`].
    param: [i64; 8],
    policy: &'static str,
    value: i64,
    /// SCTP_CONTEXT: returned with each received message.
    pub(super) context: i64,
    /// SCTP_DISABLE_FRAGMENTS: a message that does not fit a packet is refused.
    pub(super) refuses_fragments: bool,
}

impl Default for Defaults {
    fn default() -> Defaults {
        Defaults {
            param: [0; 8],
            policy: POLICIES[0],
            value: 0,
            context: 0,
            refuses_fragments: false,
        }
    }
}

impl Defaults {
    /// Sets an option; `None` if it is another one.
    pub(super) fn set(
        &mut self,
        name: &str,
        value: Option<&Expression>,
        numbers: &Numbers<'_>,
    ) -> Result<Option<Outcome>, Stop> {
        let refuse = || Stop::skip(format!("setsockopt({name}) with this value is not supported"));
        match name {
            "SCTP_DEFAULT_SEND_PARAM" | "SCTP_DEFAULT_SNDINFO" => {
                for (place, (param, info)) in self.param.iter_mut().zip(PARAM) {
                    let field = if name == "SCTP_DEFAULT_SNDINFO" { info } else { param };
                    *place = numbers.get(field).copied().unwrap_or(*place);
                }
            }
            "SCTP_DEFAULT_PRINFO" => {
                let value = value.ok_or_else(refuse)?;
                self.value = integer(name, part(value, "pr_value"))?;
                self.policy = match part(value, "pr_policy") {
                    Some(Expression::Integer(0)) => POLICIES[0],
                    Some(Expression::Name(policy)) => {
                        POLICIES.into_iter().find(|known| known == policy).ok_or_else(refuse)?
                    }
                    _ => return Err(refuse()),
                };
            }
            "SCTP_CONTEXT" => self.context = *numbers.get("assoc_value").ok_or_else(refuse)?,
            "SCTP_DISABLE_FRAGMENTS" => {
                let on = value.and_then(crate::sockets::arguments::single).ok_or_else(refuse)?;
                self.refuses_fragments = on != 0;
            }
            _ => return Ok(None),
        }
        Ok(Some(Returned::value(0)))
    }

    /// Value for getsockopt(); `None` if it is another option.
    pub(super) fn get(&self, name: &str) -> Option<Output> {
        let named = |take: fn(&(&'static str, &'static str)) -> &'static str| {
            let fields = PARAM.iter().map(take).zip(self.param);
            fields.filter(|(name, _)| !name.is_empty()).map(|(name, value)| (name, number(value)))
        };
        Some(match name {
            "SCTP_DEFAULT_SEND_PARAM" => Output::Struct(named(|names| names.0).collect()),
            "SCTP_DEFAULT_SNDINFO" => Output::Struct(named(|names| names.1).collect()),
            "SCTP_DEFAULT_PRINFO" => Output::Struct(vec![
                ("pr_policy", Output::Name(self.policy)),
                ("pr_value", number(self.value)),
            ]),
            "SCTP_CONTEXT" => Output::Struct(vec![("assoc_value", number(self.context))]),
            "SCTP_DISABLE_FRAGMENTS" => number(self.refuses_fragments.into()),
            _ => return None,
        })
    }

    /// Applies the defaults to a message.
    pub(super) fn apply(&self, outgoing: &mut Outgoing) -> Result<(), Stop> {
        let [stream, flags, ppid, context, lifetime, ..] = self.param;
        outgoing.stream = sctp::StreamId(sending::small(stream)?);
        outgoing.ppid = sctp::Ppid(ppid as u32);
        outgoing.options.context = context as u32;
        outgoing.options.reliability = match self.policy {
            "SCTP_PR_SCTP_NONE" => sending::lifetime(lifetime),
            policy => sending::reliability(policy, self.value).unwrap_or(Reliability::Full),
        };
        outgoing.set_flags(flags)
    }
}

fn number(value: i64) -> Output {
    Output::Number(value)
}
