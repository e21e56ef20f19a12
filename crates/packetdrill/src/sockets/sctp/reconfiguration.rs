//! Socket options of stream reconfiguration (RFC 6525, section 6.3).

use crate::sockets::arguments::{Numbers, numbers, part, single};
use crate::vocabulary::constant;
use base::Instant;
use sctp::{Extensions, ReconfigurationPolicy, ReconfigureError, ResetDirection, StreamId};

use super::{Outcome, Output, Returned, Role, Sockets};
use crate::expression::Expression;
use crate::stop::Stop;

const RESET_STREAM_REQUEST: i64 = 1;
const RESET_ASSOCIATION_REQUEST: i64 = 2;
const CHANGE_ASSOCIATION_REQUEST: i64 = 4;

/// SCTP_ENABLE_STREAM_RESET (section 6.3.1): which requests of the peer are granted. A socket that
/// grants any offers the extension.
pub(super) fn enable(options: &mut sctp::AssociationOptions, numbers: &Numbers<'_>) -> Option<()> {
    let value = *numbers.get("assoc_value").filter(|value| (0..8).contains(*value))?;
    options.reconfiguration = ReconfigurationPolicy {
        reset_streams: value & RESET_STREAM_REQUEST != 0,
        reset_association: value & RESET_ASSOCIATION_REQUEST != 0,
        add_streams: value & CHANGE_ASSOCIATION_REQUEST != 0,
    };
    if value != 0 {
        options.extensions = options.extensions | Extensions::STREAM_RECONFIGURATION;
    }
    Some(())
}

/// Value of getsockopt(SCTP_ENABLE_STREAM_RESET): a bit for each kind of request.
pub(super) fn enabled(policy: ReconfigurationPolicy) -> Output {
    let bit = |is_set, bit| if is_set { bit } else { 0 };
    let value = bit(policy.reset_streams, RESET_STREAM_REQUEST)
        | bit(policy.reset_association, RESET_ASSOCIATION_REQUEST)
        | bit(policy.add_streams, CHANGE_ASSOCIATION_REQUEST);
    Output::Struct(vec![("assoc_value", Output::Number(value))])
}

/// Request of SCTP_RESET_STREAMS, SCTP_RESET_ASSOC or SCTP_ADD_STREAMS (sections 6.3.2 to 6.3.4).
enum Wish {
    Streams(ResetDirection, Vec<StreamId>),
    Association,
    More { outgoing: u16, incoming: u16 },
}

impl Sockets {
    /// Executes an option that is a request to the peer; `None` if it is a setting.
    pub(super) fn reconfigure(
        &mut self,
        now: Instant,
        role: Role,
        name: &str,
        value: Option<&Expression>,
    ) -> Result<Option<Outcome>, Stop> {
        let Some(wish) = wish(name, value)? else { return Ok(None) };
        let Role::Association(stack, id) = role else { return Ok(Some(Returned::error("ENOENT"))) };
        let endpoint = &mut self.stacks[stack].endpoint;
        let done = match wish {
            Wish::Streams(direction, streams) => endpoint
                .association_mut(id)
                .map_or(Err(sctp::ReconfigureError::NotEstablished), |mut own| {
                    own.reset_streams(now, direction, &streams)
                }),
            Wish::Association => endpoint
                .association_mut(id)
                .map_or(Err(sctp::ReconfigureError::NotEstablished), |mut own| {
                    own.reset_association(now)
                }),
            Wish::More { outgoing, incoming } => endpoint
                .association_mut(id)
                .map_or(Err(sctp::ReconfigureError::NotEstablished), |mut own| {
                    own.add_streams(now, outgoing, incoming)
                }),
        };
        Ok(Some(match done {
            Ok(()) => Returned::value(0),
            Err(ReconfigureError::NotNegotiated) => Returned::error("EOPNOTSUPP"),
            Err(_) => Returned::error("EINVAL"),
        }))
    }
}

fn wish(name: &str, value: Option<&Expression>) -> Result<Option<Wish>, Stop> {
    let refuse = || Stop::skip(format!("setsockopt({name}) with this value is not supported"));
    let numbers = value.map(numbers).unwrap_or_default();
    let count = |key: &str| {
        let count = numbers.get(key).copied().unwrap_or(0);
        u16::try_from(count).map_err(|_| refuse())
    };
    Ok(Some(match name {
        "SCTP_RESET_STREAMS" => {
            let direction = match numbers.get("srs_flags") {
                Some(1) => ResetDirection::Incoming,
                Some(2) => ResetDirection::Outgoing,
                Some(3) => ResetDirection::Both,
                _ => return Err(refuse()),
            };
            let streams = match value.and_then(|value| part(value, "srs_stream_list")) {
                Some(Expression::List(streams)) => streams,
                _ => return Err(refuse()),
            };
            if usize::from(count("srs_number_streams")?) != streams.len() {
                return Err(refuse());
            }
            let stream =
                |stream: &Expression| stream.number(&constant)?.try_into().ok().map(StreamId);
            let streams: Option<Vec<_>> = streams.iter().map(stream).collect();
            Wish::Streams(direction, streams.ok_or_else(refuse)?)
        }
        "SCTP_RESET_ASSOC" => match value.and_then(single) {
            Some(_) => Wish::Association,
            None => return Err(refuse()),
        },
        "SCTP_ADD_STREAMS" => {
            Wish::More { outgoing: count("sas_outstrms")?, incoming: count("sas_instrms")? }
        }
        _ => return Ok(None),
    }))
}
