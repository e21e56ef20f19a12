//! Notifications that an application asked for (RFC 6458, section 6.1; RFC 6525, section 6.1): about
//! associations, and about streams that were reset or added.

use std::collections::BTreeSet;

use sctp::wire::chunk::ReconfigResult;
use sctp::{Association, AssociationId, Event, ReconfigurationRequest, ResetDirection};

use super::{Outcome, Output, Returned, Role, Sockets};
use crate::expression::Expression;
use crate::stop::Stop;

const STREAM_RESET: &str = "SCTP_STREAM_RESET_EVENT";
const ASSOC_RESET: &str = "SCTP_ASSOC_RESET_EVENT";
const STREAM_CHANGE: &str = "SCTP_STREAM_CHANGE_EVENT";
const ASSOC_CHANGE: &str = "SCTP_ASSOC_CHANGE";

/// Kinds of notifications that there are here.
const KINDS: [&str; 4] = [STREAM_RESET, ASSOC_RESET, STREAM_CHANGE, ASSOC_CHANGE];

const INCOMING: i64 = 1;
const OUTGOING: i64 = 2;
const DENIED: i64 = 4;
const FAILED: i64 = 8;

/// What an application is told, as the struct that it reads.
#[derive(Clone, Debug)]
pub(super) struct Notification {
    kind: &'static str,
    /// Of the whole struct, bytes.
    length: i64,
    fields: Vec<(&'static str, Output)>,
}

/// Names of the fields that all have: type, flags, length.
type Header = [&'static str; 3];

const STREAM_RESET_HEADER: Header = ["strreset_type", "strreset_flags", "strreset_length"];
const ASSOC_RESET_HEADER: Header = ["assocreset_type", "assocreset_flags", "assocreset_length"];
const STREAM_CHANGE_HEADER: Header = ["strchange_type", "strchange_flags", "strchange_length"];

impl Notification {
    fn new(kind: &'static str, header: Header, flags: i64, length: i64) -> Self {
        let [kind_field, flags_field, length_field] = header;
        let fields = vec![
            (kind_field, Output::Name(kind)),
            (flags_field, Output::Number(flags)),
            (length_field, Output::Number(length)),
        ];
        Notification { kind, length, fields }
    }

    fn with(mut self, name: &'static str, value: Output) -> Self {
        self.fields.push((name, value));
        self
    }

    /// What an event means to an application, if it is one of ours.
    pub(super) fn of(event: &Event, association: Option<&Association>) -> Option<Notification> {
        Some(match event {
            Event::Established => association_changed("SCTP_COMM_UP", association),
            Event::Restarted => association_changed("SCTP_RESTART", association),
            Event::Closed => association_changed("SCTP_SHUTDOWN_COMP", association),
            Event::Failed(_) => association_changed("SCTP_COMM_LOST", association),
            Event::StreamsReset { direction, streams } => {
                let streams: Vec<_> = streams.iter().map(|stream| stream.0).collect();
                streams_reset(direction_flag(*direction), &streams)
            }
            Event::StreamsAdded { .. } => streams_changed(0, association),
            Event::AssociationReset { local_tsn, peer_tsn } => association_reset(0)
                .with("assocreset_local_tsn", Output::OwnTsn(local_tsn.0))
                .with("assocreset_remote_tsn", Output::Tsn(peer_tsn.0)),
            Event::ReconfigurationRefused { request, result } => {
                let flag = if *result == ReconfigResult::DENIED { DENIED } else { FAILED };
                match request {
                    ReconfigurationRequest::ResetStreams { direction, streams } => {
                        let streams: Vec<_> = streams.iter().map(|stream| stream.0).collect();
                        streams_reset(direction_flag(*direction) | flag, &streams)
                    }
                    ReconfigurationRequest::ResetAssociation => association_reset(flag),
                    ReconfigurationRequest::AddOutgoing(_)
                    | ReconfigurationRequest::AddIncoming(_) => streams_changed(flag, association),
                }
            }
            _ => return None,
        })
    }

    fn output(self) -> Output {
        Output::Struct(self.fields)
    }
}

fn direction_flag(direction: ResetDirection) -> i64 {
    match direction {
        ResetDirection::Incoming => INCOMING,
        ResetDirection::Outgoing => OUTGOING,
        ResetDirection::Both => INCOMING | OUTGOING,
    }
}

fn streams_reset(flags: i64, streams: &[u16]) -> Notification {
    let list = streams.iter().map(|stream| Output::Number((*stream).into())).collect();
    let length = 12 + 2 * streams.len() as i64;
    Notification::new(STREAM_RESET, STREAM_RESET_HEADER, flags, length)
        .with("strreset_stream_list", Output::List(list))
}

fn association_reset(flags: i64) -> Notification {
    Notification::new(ASSOC_RESET, ASSOC_RESET_HEADER, flags, 20)
}

/// What became of an association (RFC 6458, section 6.1.1). What it supports is not told.
fn association_changed(state: &'static str, association: Option<&Association>) -> Notification {
    let (inbound, outbound) = association.map_or((0, 0), |association| {
        (association.inbound_streams(), association.outbound_streams())
    });
    let notification =
        Notification::new(ASSOC_CHANGE, ["sac_type", "sac_flags", "sac_length"], 0, 20)
            .with("sac_state", Output::Name(state));
    // Which cause there was is not told.
    let notification = match state {
        "SCTP_COMM_LOST" => notification,
        _ => notification.with("sac_error", Output::Number(0)),
    };
    notification
        .with("sac_outbound_streams", Output::Number(outbound.into()))
        .with("sac_inbound_streams", Output::Number(inbound.into()))
}

fn streams_changed(flags: i64, association: Option<&Association>) -> Notification {
    let (inbound, outbound) = association.map_or((0, 0), |association| {
        (association.inbound_streams(), association.outbound_streams())
    });
    Notification::new(STREAM_CHANGE, STREAM_CHANGE_HEADER, flags, 16)
        .with("strchange_instrms", Output::Number(inbound.into()))
        .with("strchange_outstrms", Output::Number(outbound.into()))
}

/// Asks for a kind of notification or does not: SCTP_EVENT (RFC 6458, section 6.2.2).
pub(super) fn subscribe(
    wanted: &mut BTreeSet<&'static str>,
    event: Option<&Expression>,
    on: Option<i64>,
) -> Result<(), Stop> {
    let refuse = || Stop::skip("setsockopt(SCTP_EVENT) with this value is not supported");
    match (kind_of(event), on.ok_or_else(refuse)?) {
        (_, 0) if event.is_none() => return Err(refuse()),
        // What is never sent need not be switched off.
        (None, 0) => {}
        (Some(kind), 0) => drop(wanted.remove(kind)),
        (Some(kind), _) => drop(wanted.insert(kind)),
        (None, _) => {
            return Err(Stop::skip(format!(
                "notifications of this kind are not supported: {event:?}"
            )));
        }
    }
    Ok(())
}

/// What getsockopt(SCTP_EVENT) says of a kind.
pub(super) fn subscription(
    wanted: &BTreeSet<&'static str>,
    event: Option<&Expression>,
) -> Result<Output, Stop> {
    let unknown = || Stop::skip("getsockopt(SCTP_EVENT) of this kind is not supported");
    let kind = kind_of(event).ok_or_else(unknown)?;
    let on = Output::Number(wanted.contains(kind).into());
    Ok(Output::Struct(vec![("se_type", Output::Name(kind)), ("se_on", on)]))
}

fn kind_of(event: Option<&Expression>) -> Option<&'static str> {
    let Some(Expression::Name(name)) = event else { return None };
    KINDS.into_iter().find(|kind| kind == name)
}

impl Sockets {
    /// The next notification that the application of a socket asked for. Others are dropped.
    fn next_notification(&mut self, descriptor: i64, role: Role) -> Option<Notification> {
        let Role::Association(stack, id) = role else { return None };
        let wanted = &self.sockets.get(descriptor)?.notifications;
        let waiting = &mut self.stacks.get_mut(stack)?.notifications;
        waiting.retain(|(of, found)| *of != id || wanted.contains(found.kind));
        let next = waiting.iter().position(|(of, _)| *of == id)?;
        waiting.remove(next).map(|(_, notification)| notification)
    }

    /// Reads a notification, if one waits. Those come before messages, in the order of the events.
    pub(super) fn receive_notification(
        &mut self,
        descriptor: i64,
        role: Role,
        call: &str,
    ) -> Option<Outcome> {
        let notification = self.next_notification(descriptor, role)?;
        let value = notification.length;
        if call == "sctp_recvv" {
            return Some(super::receiving::of_notification(value, notification.output()));
        }
        let flags = Output::Names(&["MSG_NOTIFICATION", "MSG_EOR"]);
        let outputs = match call {
            "recvmsg" => vec![(1, super::transfer::header(Some(notification.output()), flags))],
            "sctp_recvmsg" => vec![(1, notification.output()), (6, flags)],
            _ => vec![(1, notification.output())],
        };
        Some(Outcome::Returned(Returned { value, errno: None, outputs }))
    }
}

/// Notifications that wait to be read, in the order of the events.
pub(super) type Waiting = std::collections::VecDeque<(AssociationId, Notification)>;
