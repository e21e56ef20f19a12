//! Notifications that an application subscribed to (RFC 6458, section 6.1; RFC 6525, section 6.1):
//! about associations, and about reset or added streams.

use crate::sockets::arguments::{Numbers, header};
use core::net::IpAddr;
use std::collections::BTreeSet;

use sctp::wire::chunk::ReconfigResult;
use sctp::{
    Association, AssociationId, Event, PathChange, PathState, ReconfigurationEvent,
    ReconfigurationRequest, ResetDirection,
};

use super::{Outcome, Output, Returned, Role, Sockets};
use crate::expression::Expression;
use crate::script::Call;
use crate::stop::Stop;

const STREAM_RESET: &str = "SCTP_STREAM_RESET_EVENT";
const ASSOC_RESET: &str = "SCTP_ASSOC_RESET_EVENT";
const STREAM_CHANGE: &str = "SCTP_STREAM_CHANGE_EVENT";
const ASSOC_CHANGE: &str = "SCTP_ASSOC_CHANGE";
const PEER_ADDRESS_CHANGE: &str = "SCTP_PEER_ADDR_CHANGE";
const SHUTDOWN: &str = "SCTP_SHUTDOWN_EVENT";
const SENDER_DRY: &str = "SCTP_SENDER_DRY_EVENT";
const REMOTE_ERROR: &str = "SCTP_REMOTE_ERROR";
pub(super) const SEND_FAILED: &str = "SCTP_SEND_FAILED";
pub(super) const SEND_FAILED_EVENT: &str = "SCTP_SEND_FAILED_EVENT";
const AUTHENTICATION: &str = "SCTP_AUTHENTICATION_EVENT";

/// Kinds of notifications that a script can subscribe to.
const KINDS: [&str; 11] = [
    STREAM_RESET,
    ASSOC_RESET,
    STREAM_CHANGE,
    ASSOC_CHANGE,
    PEER_ADDRESS_CHANGE,
    SHUTDOWN,
    SENDER_DRY,
    SEND_FAILED,
    SEND_FAILED_EVENT,
    REMOTE_ERROR,
    AUTHENTICATION,
];

/// The fields of SCTP_EVENTS (RFC 6458, section 6.2.1), each with its kind; `None` if it is not
/// supported.
const EVENTS: [(&str, Option<&str>); 10] = [
    ("sctp_association_event", Some(ASSOC_CHANGE)),
    ("sctp_address_event", Some(PEER_ADDRESS_CHANGE)),
    ("sctp_shutdown_event", Some(SHUTDOWN)),
    ("sctp_sender_dry_event", Some(SENDER_DRY)),
    ("sctp_stream_reset_event", Some(STREAM_RESET)),
    ("sctp_send_failure_event", Some(SEND_FAILED)),
    ("sctp_peer_error_event", Some(REMOTE_ERROR)),
    ("sctp_partial_delivery_event", None),
    ("sctp_adaptation_layer_event", None),
    ("sctp_authentication_event", Some(AUTHENTICATION)),
];

const INCOMING: i64 = 1;
const OUTGOING: i64 = 2;
const DENIED: i64 = 4;
const FAILED: i64 = 8;

/// A notification, as the struct that the application reads.
#[derive(Clone, Debug)]
pub(super) struct Notification {
    kind: &'static str,
    /// Lengths of the whole struct in bytes; several if systems differ.
    lengths: &'static [i64],
    /// Bytes in addition, which depend on the notification.
    more: i64,
    fields: Vec<(&'static str, Output)>,
}

/// Names of the fields common to all: type, flags, length.
type Header = [&'static str; 3];

const STREAM_RESET_HEADER: Header = ["strreset_type", "strreset_flags", "strreset_length"];
const ASSOC_RESET_HEADER: Header = ["assocreset_type", "assocreset_flags", "assocreset_length"];
const STREAM_CHANGE_HEADER: Header = ["strchange_type", "strchange_flags", "strchange_length"];

impl Notification {
    fn new(kind: &'static str, header: Header, flags: i64, lengths: &'static [i64]) -> Self {
        let [kind_field, flags_field, length_field] = header;
        let fields = vec![
            (kind_field, Output::Name(kind)),
            (flags_field, Output::Number(flags)),
            (length_field, Output::OneOf(lengths)),
        ];
        Notification { kind, lengths, more: 0, fields }
    }

    /// Adds a flag that has a name.
    pub(super) fn flagged(
        kind: &'static str,
        header: Header,
        flag: &'static str,
        lengths: &'static [i64],
    ) -> Self {
        let mut notification = Notification::new(kind, header, 0, lengths);
        if let Some((_, flags)) = notification.fields.get_mut(1) {
            *flags = Output::Name(flag);
        }
        notification
    }

    /// Adds the length of a list or of bytes.
    pub(super) fn longer(mut self, more: i64) -> Self {
        self.more = more;
        if let Some((_, length)) = self.fields.get_mut(2) {
            *length = Output::Number(self.lengths.first().copied().unwrap_or(0) + more);
        }
        self
    }

    /// The notification's length: the script's if it is valid on some system. A notification that
    /// does not fit is truncated; returns false in that case.
    fn length(&self, call: &Call, room: usize) -> (i64, bool) {
        let wanted = call.returns.number(&|_| None);
        let room = i64::try_from(room).unwrap_or(i64::MAX);
        let mut lengths = self.lengths.iter().map(|length| length + self.more);
        let first = lengths.clone().next().unwrap_or(0);
        let whole = lengths.find(|length| Some((*length).min(room)) == wanted).unwrap_or(first);
        (whole.min(room), whole <= room)
    }

    pub(super) fn with(mut self, name: &'static str, value: Output) -> Self {
        self.fields.push((name, value));
        self
    }

    /// The notification for an event, if any.
    pub(super) fn of(event: &Event, association: Option<&Association>) -> Option<Notification> {
        Some(match event {
            Event::Established => association_changed("SCTP_COMM_UP", association),
            Event::Restarted => association_changed("SCTP_RESTART", association),
            Event::Closed => association_changed("SCTP_SHUTDOWN_COMP", association),
            Event::Failed(_) => association_changed("SCTP_COMM_LOST", association),
            Event::Reconfiguration(ReconfigurationEvent::StreamsReset { direction, streams }) => {
                let streams: Vec<_> = streams.iter().map(|stream| stream.0).collect();
                streams_reset(direction_flag(*direction), &streams)
            }
            Event::Reconfiguration(ReconfigurationEvent::StreamsAdded { .. }) => {
                streams_changed(0, association)
            }
            Event::Reconfiguration(ReconfigurationEvent::AssociationReset {
                local_tsn,
                peer_tsn,
            }) => association_reset(0)
                .with("assocreset_local_tsn", Output::OwnTsn(local_tsn.0))
                .with("assocreset_remote_tsn", Output::Tsn(peer_tsn.0)),
            Event::Reconfiguration(ReconfigurationEvent::Refused { request, result }) => {
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
            Event::PeerError { code, chunk } => remote_error(*code, chunk),
            Event::PathChanged { remote, change, .. } => address_changed(remote.ip(), *change)?,
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
    Notification::new(STREAM_RESET, STREAM_RESET_HEADER, flags, &[12])
        .longer(2 * streams.len() as i64)
        .with("strreset_stream_list", Output::List(list))
}

fn association_reset(flags: i64) -> Notification {
    Notification::new(ASSOC_RESET, ASSOC_RESET_HEADER, flags, &[20])
}

/// State change of an association (RFC 6458, section 6.1.1). The supported features are not
/// reported.
fn association_changed(state: &'static str, association: Option<&Association>) -> Notification {
    let (inbound, outbound) = association.map_or((0, 0), |association| {
        (association.inbound_streams(), association.outbound_streams())
    });
    let notification =
        Notification::new(ASSOC_CHANGE, ["sac_type", "sac_flags", "sac_length"], 0, &[20])
            .with("sac_state", Output::Name(state));
    // The error cause is not reported.
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
    Notification::new(STREAM_CHANGE, STREAM_CHANGE_HEADER, flags, &[16])
        .with("strchange_instrms", Output::Number(inbound.into()))
        .with("strchange_outstrms", Output::Number(outbound.into()))
}

impl Sockets {
    /// An application that subscribes to the acknowledgement of all data is notified at once if no
    /// data is outstanding (RFC 6458, section 6.1.9). `before`: its previous subscriptions.
    pub(super) fn tell_at_once(&mut self, descriptor: i64, before: &BTreeSet<&'static str>) {
        let Ok(socket) = self.socket(descriptor) else { return };
        let asks = socket.notifications.contains(SENDER_DRY) && !before.contains(SENDER_DRY);
        if let (true, Role::Association(stack, id)) = (asks, socket.role)
            && let Some(own) = self.stacks.get_mut(stack)
            && own.endpoint.association(id).is_some_and(Association::is_settled)
        {
            own.notifications.push_back((id, sender_dry()));
        }
    }

    /// Drops an endpoint's notifications, from index `from` on, that were not subscribed to when
    /// they happened.
    pub(super) fn drop_unwanted(&mut self, stack: usize, from: usize) {
        let is_of_stack = |role: Role| match role {
            Role::Listening(own) | Role::Many(own) | Role::Association(own, _) => own == stack,
            Role::Fresh => false,
        };
        let own = self.sockets.values().filter(|socket| is_of_stack(socket.role));
        let wanted: BTreeSet<_> = own.flat_map(|socket| socket.notifications.clone()).collect();
        let Some(own) = self.stacks.get_mut(stack) else { return };
        let mut place = 0;
        own.notifications.retain(|(_, notification)| {
            place += 1;
            place <= from || wanted.contains(notification.kind)
        });
    }
}

/// State change of an address of the peer (RFC 6458, section 6.1.2; RFC 7829, section 7.1).
fn address_changed(address: IpAddr, change: PathChange) -> Option<Notification> {
    let state = match change {
        PathChange::Confirmed => "SCTP_ADDR_CONFIRMED",
        PathChange::State(PathState::Active) => "SCTP_ADDR_AVAILABLE",
        PathChange::State(PathState::PotentiallyFailed) => "SCTP_ADDR_PF",
        PathChange::State(PathState::Inactive) => "SCTP_ADDR_UNREACHABLE",
        PathChange::Primary => "SCTP_ADDR_MADE_PRIM",
        PathChange::CarriesData => return None,
    };
    let header = ["spc_type", "spc_flags", "spc_length"];
    // Lengths on FreeBSD and on Linux.
    let notification = Notification::new(PEER_ADDRESS_CHANGE, header, 0, &[152, 148]);
    Some(
        notification
            .with("spc_aaddr", Output::Address(address))
            .with("spc_state", Output::Name(state))
            .with("spc_error", Output::Number(0)),
    )
}

/// An error reported by the peer, with the chunk (RFC 6458, section 6.1.3).
fn remote_error(code: u16, chunk: &[u8]) -> Notification {
    let header = ["sre_type", "sre_flags", "sre_length"];
    let bytes = chunk.iter().map(|byte| Output::Number((*byte).into())).collect();
    Notification::new(REMOTE_ERROR, header, 0, &[20])
        .longer(chunk.len() as i64)
        .with("sre_error", Output::Number(code.into()))
        .with("sre_data", Output::List(bytes))
}

/// The peer does not support authentication (RFC 6458, section 6.1.8).
fn no_authentication() -> Notification {
    Notification::new(AUTHENTICATION, ["auth_type", "auth_flags", "auth_length"], 0, &[20])
        .with("auth_keynumber", Output::Number(0))
        .with("auth_indication", Output::Name("SCTP_AUTH_NO_AUTH"))
}

/// State of an association that is polled, for lack of an event.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Polled {
    /// Data was sent or is queued.
    holds_data: bool,
    /// The peer shuts the association down, and the application was notified.
    shuts_down: bool,
    /// The association was set up.
    is_open: bool,
}

impl Polled {
    /// Polls an association: the peer began to shut it down (RFC 6458, section 6.1.5), or all data
    /// was acknowledged (section 6.1.9).
    pub(super) fn look(&mut self, association: &Association) -> Vec<Notification> {
        let stats = association.stats();
        let mut found = Vec::new();
        let is_open = self.is_open || stats.state == "ESTABLISHED";
        if is_open && !self.is_open && !association.authenticates() {
            found.push(no_authentication());
        }
        let shuts_down = matches!(stats.state, "SHUTDOWN-RECEIVED" | "SHUTDOWN-ACK-SENT");
        if shuts_down && !self.shuts_down {
            found.push(Notification::new(
                SHUTDOWN,
                ["sse_type", "sse_flags", "sse_length"],
                0,
                &[12],
            ));
        }
        let holds_data = stats.queued_bytes + stats.outstanding_bytes > 0;
        if self.holds_data && !holds_data {
            found.push(sender_dry());
        }
        *self = Polled { holds_data, shuts_down, is_open };
        found
    }
}

fn sender_dry() -> Notification {
    let header = ["sender_dry_type", "sender_dry_flags", "sender_dry_length"];
    Notification::new(SENDER_DRY, header, 0, &[12])
}

/// Subscribes to the kinds in SCTP_EVENTS (RFC 6458, section 6.2.1).
pub(super) fn subscribe_all(
    wanted: &mut BTreeSet<&'static str>,
    numbers: &Numbers<'_>,
) -> Result<(), Stop> {
    for (field, kind) in EVENTS {
        match (numbers.get(field), kind) {
            (None, _) | (Some(0), None) => {}
            (Some(0), Some(kind)) => drop(wanted.remove(kind)),
            (Some(_), Some(kind)) => drop(wanted.insert(kind)),
            (Some(_), None) => {
                return Err(Stop::skip(format!(
                    "setsockopt(SCTP_EVENTS) with {field} is not supported"
                )));
            }
        }
    }
    Ok(())
}

/// Value of getsockopt(SCTP_EVENTS): a flag for each kind of notification.
pub(super) fn subscriptions(wanted: &BTreeSet<&'static str>, data_io: bool) -> Output {
    let is_on = |kind: Option<&str>| kind.is_some_and(|kind| wanted.contains(kind));
    let on = EVENTS.iter().map(|(field, kind)| (*field, Output::Number(is_on(*kind).into())));
    let data_io = ("sctp_data_io_event", Output::Number(data_io.into()));
    Output::Struct([data_io].into_iter().chain(on).collect())
}

/// Subscribes to a kind of notification or unsubscribes: SCTP_EVENT (RFC 6458, section 6.2.2).
pub(super) fn subscribe(
    wanted: &mut BTreeSet<&'static str>,
    event: Option<&Expression>,
    on: Option<i64>,
) -> Result<(), Stop> {
    let refuse = || Stop::skip("setsockopt(SCTP_EVENT) with this value is not supported");
    match (kind_of(event), on.ok_or_else(refuse)?) {
        (_, 0) if event.is_none() => return Err(refuse()),
        // A notification that is never sent need not be switched off.
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

/// Value of getsockopt(SCTP_EVENT) for a kind.
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
    /// The next notification that the socket's application subscribed to. Others are dropped.
    fn next_notification(&mut self, descriptor: i64, role: Role) -> Option<Notification> {
        let Role::Association(stack, id) = role else { return None };
        let wanted = &self.sockets.get(descriptor)?.notifications;
        let waiting = &mut self.stacks.get_mut(stack)?.notifications;
        waiting.retain(|(of, found)| *of != id || wanted.contains(found.kind));
        let next = waiting.iter().position(|(of, _)| *of == id)?;
        waiting.remove(next).map(|(_, notification)| notification)
    }

    /// Reads a notification, if any. Notifications come before messages, in the order of the
    /// events.
    pub(super) fn receive_notification(
        &mut self,
        (descriptor, role): (i64, Role),
        room: usize,
        call: &Call,
    ) -> Option<Outcome> {
        let notification = self.next_notification(descriptor, role)?;
        let (value, is_whole) = notification.length(call, room);
        let flags = match is_whole {
            true => Output::Names(&["MSG_NOTIFICATION", "MSG_EOR"]),
            false => Output::Name("MSG_NOTIFICATION"),
        };
        if call.name == "sctp_recvv" {
            return Some(super::receiving::of_notification(value, notification.output(), flags));
        }
        let outputs = match call.name.as_str() {
            "recvmsg" => {
                let none = Output::List(Vec::new());
                vec![(1, header(Some(notification.output()), flags, none))]
            }
            "sctp_recvmsg" => vec![(1, notification.output()), (6, flags)],
            _ => vec![(1, notification.output())],
        };
        Some(Outcome::Returned(Returned { value, errno: None, outputs }))
    }
}

/// Unread notifications, in the order of the events.
pub(super) type Waiting = std::collections::VecDeque<(AssociationId, Notification)>;
