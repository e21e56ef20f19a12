//! Sections 3.3.2, 3.3.3 and 5: what a side that opens sends, and what it makes of answers and of
//! the peer's own INIT.

use base::Duration;
use bytes::Bytes;
use sctp::wire::chunk::{CookieEcho, Heartbeat, Init, InitAck, Shutdown};
use sctp::wire::{Chunk, Packet, Parameter, VerificationTag};
use sctp::{
    AssociationId, AssociationOptions, EndpointOptions, Failure, Ppid, SendOptions, StreamId,
};

use crate::support::wire::{Any, Bench, PEER_PORT, PEER_TAG, data, init, init_with, names, tag_of};
use crate::support::{CLIENT, address, plain};

const NO_TAG: VerificationTag = VerificationTag(0);
const COOKIE: &[u8] = b"cookie of the peer";

/// An endpoint that opens an association, and the INIT that it sent.
struct Opening {
    bench: Bench,
    id: AssociationId,
    init: Vec<u8>,
}

/// The numbers of a packet's INIT or INIT ACK, and how many parameters it has of a type.
fn fields(packet: &[u8]) -> Init<()> {
    let packet = Packet::parse(Bytes::copy_from_slice(packet)).unwrap();
    let Some(Ok(Chunk::Init(of) | Chunk::InitAck(InitAck(of)))) = packet.chunks().next() else {
        panic!("neither INIT nor INIT ACK")
    };
    Init {
        initiate_tag: of.initiate_tag,
        a_rwnd: of.a_rwnd,
        outbound_streams: of.outbound_streams,
        inbound_streams: of.inbound_streams,
        initial_tsn: of.initial_tsn,
        parameters: (),
    }
}

fn answer(tag: VerificationTag) -> InitAck<[Parameter<'static>; 1]> {
    InitAck(init_with(tag, [Parameter::StateCookie(COOKIE)]))
}

impl Opening {
    fn new() -> Opening {
        Opening::with(EndpointOptions::default(), 1)
    }

    fn with(options: EndpointOptions, streams: u16) -> Opening {
        let mut bench = Bench::new(options);
        let options = AssociationOptions {
            policy: plain().into(),
            outbound_streams: streams,
            ..AssociationOptions::default()
        };
        let now = bench.now;
        let id = bench.endpoint.connect(now, address(CLIENT), PEER_PORT, options).unwrap();
        let init = bench.drain().remove(0);
        let fields = fields(&init);
        (bench.tag, bench.tsn) = (fields.initiate_tag, fields.initial_tsn);
        Opening { bench, id, init }
    }

    /// An opening in COOKIE-ECHOED, with what it sent.
    fn echoed() -> (Opening, Vec<Vec<u8>>) {
        let mut opening = Opening::new();
        let sent = opening.bench.give_right(|p| p.append(answer(PEER_TAG)).unwrap());
        assert_eq!(opening.state(), "COOKIE-ECHOED");
        (opening, sent)
    }

    fn state(&self) -> &'static str {
        self.bench.endpoint.association(self.id).map_or("none", |own| own.state_name())
    }

    fn send(&mut self, stream: u16) -> Result<(), sctp::SendError> {
        let (payload, options) = (Bytes::from_static(b"hello"), SendOptions::default());
        let now = self.bench.now;
        self.bench.endpoint.association_mut(self.id).unwrap().send(
            now,
            StreamId(stream),
            Ppid(0),
            payload,
            options,
        )
    }
}

#[test]
fn an_init_travels_alone_with_tag_0_no_flags_and_random_numbers_of_its_own() {
    let Opening { mut bench, init, .. } = Opening::new();
    assert_eq!((names(&init), tag_of(&init), init[13]), (vec!["INIT".to_owned()], NO_TAG, 0));
    let first = fields(&init);
    assert!(first.a_rwnd >= 1500 && first.outbound_streams > 0 && first.inbound_streams > 0);
    // Another association, also one to the same peer again, has another tag and another TSN.
    let seed = base::RandomStream::new(2, base::Purpose("another", 0));
    bench.endpoint = sctp::Endpoint::new(EndpointOptions::default(), seed);
    let mut seen = vec![(first.initiate_tag, first.initial_tsn)];
    for _ in 0..50 {
        let (now, options) = (bench.now, AssociationOptions::default());
        let id = bench.endpoint.connect(now, address(CLIENT), PEER_PORT, options).unwrap();
        let fields = fields(&bench.drain()[0]);
        assert!(fields.initiate_tag != NO_TAG);
        assert!(seen.iter().all(|of| of.0 != fields.initiate_tag && of.1 != fields.initial_tsn));
        seen.push((fields.initiate_tag, fields.initial_tsn));
        bench.endpoint.release(id);
        bench.drain();
    }
    // Both are spread over the whole range.
    let numbers = [
        seen.iter().map(|of| of.0.0 >> 30).collect::<Vec<_>>(),
        seen.iter().map(|of| of.1.0 >> 30).collect(),
    ];
    for quarters in numbers {
        let counts = [0, 1, 2, 3].map(|at| quarters.iter().filter(|of| **of == at).count());
        assert!(counts.iter().all(|count| (4..=26).contains(count)), "{counts:?}");
    }
}

#[test]
fn without_a_stream_in_the_options_one_each_way_is_offered() {
    let none = || AssociationOptions {
        outbound_streams: 0,
        inbound_streams: 0,
        policy: plain().into(),
        ..AssociationOptions::default()
    };
    let options = EndpointOptions { listen: true, accepted: none(), ..EndpointOptions::default() };
    let mut bench = Bench::new(options);
    let of = fields(&bench.give(NO_TAG, |p| p.append(init(PEER_TAG)).unwrap())[0]);
    assert_eq!((of.outbound_streams, of.inbound_streams), (1, 1));
    let mut opening = Opening::new();
    let (now, to) = (opening.bench.now, address("10.0.0.9:9899"));
    opening.id = opening.bench.endpoint.connect(now, to, PEER_PORT, none()).unwrap();
    let of = fields(&opening.bench.drain()[0]);
    assert_eq!((of.outbound_streams, of.inbound_streams), (1, 1));
    assert_eq!(opening.send(0), Ok(()));
    assert!(matches!(opening.send(1), Err(sctp::SendError::NoSuchStream { .. })));
}

#[test]
fn no_association_is_opened_to_port_0() {
    let mut bench = Bench::listening();
    let (to, options) = (address(CLIENT), AssociationOptions::default());
    let refused = bench.endpoint.connect(bench.now, to, 0, options).unwrap_err();
    assert_eq!(refused, sctp::ConnectError::ZeroPort);
    assert!(bench.drain().is_empty());
}

#[test]
fn flags_of_init_and_init_ack_are_ignored() {
    let value = |tag: VerificationTag| {
        let mut value = tag.0.to_be_bytes().to_vec();
        value.extend([0, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 1]);
        value
    };
    let mut bench = Bench::listening();
    let answers = bench.give(NO_TAG, |p| p.append(Any(1, 0xff, &value(PEER_TAG))).unwrap());
    assert_eq!((names(&answers[0]), answers[0][13]), (vec!["INIT ACK".to_owned()], 0));
    let mut opening = Opening::new();
    let mut init_ack = value(PEER_TAG);
    init_ack.extend([0, 7, 0, 8, 1, 2, 3, 4]);
    let answers = opening.bench.give_right(|p| p.append(Any(2, 0xff, &init_ack)).unwrap());
    assert_eq!(names(&answers[0]), ["COOKIE ECHO"]);
}

#[test]
fn an_init_with_values_of_nothing_is_refused_with_its_tag_and_leaves_an_association_alone() {
    let spoilt: [fn(&mut Init<[Parameter<'static>; 0]>); 3] = [
        |init| init.a_rwnd = 1499,
        |init| init.outbound_streams = 0,
        |init| init.inbound_streams = 0,
    ];
    for spoil in spoilt {
        for mut bench in [Bench::listening(), Bench::established()] {
            let mut poor = init(VerificationTag(0x55));
            spoil(&mut poor);
            let answers = bench.give(NO_TAG, |p| p.append(poor).unwrap());
            assert_eq!((answers.len(), names(&answers[0])), (1, vec!["ABORT".to_owned()]));
            assert_eq!((tag_of(&answers[0]), answers[0][13] & 1), (VerificationTag(0x55), 0));
            assert!(bench.events.is_empty() || bench.state() == "ESTABLISHED");
        }
    }
    let mut bench = Bench::listening();
    let mut least = init(PEER_TAG);
    (least.a_rwnd, least.outbound_streams, least.inbound_streams) = (1500, 1, 1);
    assert_eq!(names(&bench.give(NO_TAG, |p| p.append(least).unwrap())[0]), ["INIT ACK"]);
}

#[test]
fn an_init_ack_with_a_small_window_is_refused_and_the_attempt_goes_on() {
    let mut opening = Opening::new();
    let mut poor = answer(PEER_TAG);
    poor.0.a_rwnd = 1499;
    let answers = opening.bench.give_right(|p| p.append(poor).unwrap());
    assert_eq!((answers.len(), names(&answers[0])), (1, vec!["ABORT".to_owned()]));
    assert_eq!((tag_of(&answers[0]), answers[0][13] & 1), (PEER_TAG, 0));
    assert_eq!(opening.state(), "COOKIE-WAIT");
    let again = opening.bench.pass(Duration::from_secs(1));
    assert_eq!(again, [opening.init], "T1-init goes on");
}

#[test]
fn an_init_ack_of_more_than_1500_bytes_is_taken_and_its_cookie_returned_as_it_is() {
    let cookie = [0xc0; 9000];
    let mut opening = Opening::new();
    let large = InitAck(init_with(PEER_TAG, [Parameter::StateCookie(&cookie)]));
    let sent = opening.bench.give_right(|p| p.append(large).unwrap());
    for packet in [&sent[0], &opening.bench.pass(Duration::from_secs(1))[0]] {
        let packet = Packet::parse(packet.clone().into()).unwrap();
        let Some(Ok(Chunk::CookieEcho(echo))) = packet.chunks().next() else { panic!() };
        assert!(echo.cookie == cookie && packet.header().verification_tag == PEER_TAG);
    }
}

#[test]
fn until_cookie_ack_nothing_leaves_but_cookie_echo_in_front_of_data() {
    let (mut opening, sent) = Opening::echoed();
    assert_eq!(names(&sent[0]), ["COOKIE ECHO"]);
    opening.send(0).unwrap();
    assert!(opening.bench.drain().is_empty(), "DATA waits");
    let asked = opening.bench.give_right(|p| p.append(Heartbeat { info: b"there?" }).unwrap());
    assert!(asked.is_empty(), "and so does the answer");
    let again = opening.bench.pass(Duration::from_secs(1));
    assert_eq!(names(&again[0])[0], "COOKIE ECHO");
    let acked = opening.bench.give_right(|p| p.append(Any(11, 0, &[])).unwrap());
    assert_eq!(opening.state(), "ESTABLISHED");
    let after: Vec<String> = again.iter().chain(&acked).flat_map(|packet| names(packet)).collect();
    for wanted in ["HEARTBEAT ACK", "DATA"] {
        assert!(after.iter().any(|name| name == wanted), "{wanted} in {after:?}");
    }
}

#[test]
fn an_init_meanwhile_is_answered_with_the_own_tag_and_tsn_and_changes_nothing() {
    for mut opening in [Opening::new(), Opening::echoed().0] {
        let before = opening.state();
        let met = init(VerificationTag(0x99));
        opening.bench.endpoint.set_listen(true);
        let answers = opening.bench.give(NO_TAG, |p| p.append(met).unwrap());
        assert_eq!((answers.len(), names(&answers[0])), (1, vec!["INIT ACK".to_owned()]));
        let (own, of) = (fields(&opening.init), fields(&answers[0]));
        assert_eq!(tag_of(&answers[0]), VerificationTag(0x99));
        assert_eq!((of.initiate_tag, of.initial_tsn), (own.initiate_tag, own.initial_tsn));
        assert!(!opening.bench.take_init_ack(&answers[0]).is_empty(), "a State Cookie");
        assert_eq!((opening.state(), opening.bench.endpoint.association_count()), (before, 1));
        assert_eq!(opening.bench.pass(Duration::from_secs(1)).len(), 1, "T1 goes on");
    }
}

#[test]
fn in_cookie_echoed_an_init_that_brings_an_address_is_refused() {
    let (mut opening, _) = Opening::echoed();
    let more = init_with(VerificationTag(0x99), [Parameter::Ipv4Address([10, 7, 7, 7].into())]);
    let answers = opening.bench.give(NO_TAG, |p| p.append(more).unwrap());
    let packet = Packet::parse(answers[0].clone().into()).unwrap();
    assert_eq!(packet.header().verification_tag, VerificationTag(0x99));
    let Some(Ok(Chunk::Abort(abort))) = packet.chunks().next() else { panic!("no ABORT") };
    let cause = abort.causes.iter().next().unwrap().unwrap();
    let added = sctp::wire::Cause::RestartWithNewAddresses(b"\0\x05\0\x08\x0a\x07\x07\x07");
    assert_eq!((cause, opening.state()), (added, "COOKIE-ECHOED"));
}

#[test]
fn data_sack_and_shutdown_before_the_association_is_up_are_dropped() {
    for mut opening in [Opening::new(), Opening::echoed().0] {
        let before = opening.state();
        let cumulative_tsn_ack = opening.bench.tsn;
        let bench = &mut opening.bench;
        assert!(bench.give_right(|p| p.append(data(0, 0, 0, b"early")).unwrap()).is_empty());
        assert!(bench.give_right(|p| p.append(Any(3, 0, &[0; 12])).unwrap()).is_empty());
        let shutdown = Shutdown { cumulative_tsn_ack };
        assert!(bench.give_right(|p| p.append(shutdown).unwrap()).is_empty());
        assert_eq!((opening.state(), opening.bench.events.len()), (before, 0));
    }
}

#[test]
fn before_the_cookie_is_echoed_neither_cookie_ack_nor_stale_cookie_nor_shutdown_complete_counts() {
    let stale: &[u8] = &[0, 3, 0, 8, 0, 0, 0, 1];
    for (chunk_type, value) in [(11, &[][..]), (9, stale), (14, &[])] {
        let mut opening = Opening::new();
        let bench = &mut opening.bench;
        assert!(bench.give_right(|p| p.append(Any(chunk_type, 0, value)).unwrap()).is_empty());
        assert_eq!((opening.state(), opening.bench.events.len()), ("COOKIE-WAIT", 0));
        assert_eq!(opening.bench.pass(Duration::from_secs(1)), [opening.init], "T1-init goes on");
    }
}

#[test]
fn once_the_cookie_was_echoed_neither_init_ack_nor_shutdown_complete_counts() {
    let init_ack = |tag: u32, a_rwnd: u16, outbound: u8, inbound: u8| {
        let mut value = tag.to_be_bytes().to_vec();
        value.extend([0, 0]);
        value.extend(a_rwnd.to_be_bytes());
        value.extend([0, outbound, 0, inbound, 0, 0, 0, 1, 0, 7, 0, 8, 1, 2, 3, 4]);
        (2, value)
    };
    let chunks = [
        init_ack(PEER_TAG.0, 9000, 1, 1),
        init_ack(0, 9000, 1, 1),
        init_ack(PEER_TAG.0, 1499, 1, 1),
        init_ack(PEER_TAG.0, 9000, 0, 1),
        init_ack(PEER_TAG.0, 9000, 1, 0),
        (14, Vec::new()),
    ];
    for (chunk_type, value) in chunks {
        let (mut opening, sent) = Opening::echoed();
        let bench = &mut opening.bench;
        let answers = bench.give_right(|p| p.append(Any(chunk_type, 0, &value)).unwrap());
        assert!(answers.is_empty(), "{chunk_type}: {value:?}");
        assert_eq!((opening.state(), opening.bench.events.len()), ("COOKIE-ECHOED", 0));
        assert_eq!(opening.bench.pass(Duration::from_secs(1)), sent, "T1-cookie goes on");
    }
}

#[test]
fn an_abort_in_answer_to_init_ends_the_attempt_without_an_answer() {
    let mut opening = Opening::new();
    let answers = opening.bench.give_right(|p| p.append(Any(6, 0, &[])).unwrap());
    assert!(answers.is_empty());
    let events: Vec<_> = opening.bench.events.iter().map(|(_, event)| event.clone()).collect();
    let failed = |event: &sctp::Event| {
        matches!(event, sctp::Event::Failed(Failure::AbortedByPeer { code: 0, .. }))
    };
    assert!(events.len() == 1 && failed(&events[0]), "{events:?}");
}

#[test]
fn streams_are_the_fewer_of_what_one_side_wants_and_the_other_takes() {
    let mut opening = Opening::with(EndpointOptions::default(), 100);
    let mut few = answer(PEER_TAG);
    (few.0.inbound_streams, few.0.outbound_streams) = (3, 5);
    opening.bench.give_right(|p| p.append(few).unwrap());
    opening.bench.give_right(|p| p.append(Any(11, 0, &[])).unwrap());
    assert!(opening.send(2).is_ok());
    assert!(matches!(opening.send(3), Err(sctp::SendError::NoSuchStream { .. })));
    // The peer may use as many as it asked for.
    opening.bench.drain();
    let told = opening.bench.give_right(|p| p.append(data(0, 4, 0, b"x")).unwrap());
    assert_eq!(names(&told[0]), ["SACK"]);
    let told = opening.bench.give_right(|p| p.append(data(1, 5, 0, b"x")).unwrap());
    assert!(told.iter().flat_map(|packet| names(packet)).any(|name| name == "ERROR"));
}

#[test]
fn of_addresses_of_both_families_those_of_the_own_one_are_used_without_an_error() {
    let v6 = Parameter::Ipv6Address("2001:db8::9".parse().unwrap());
    let v4 = Parameter::Ipv4Address([10, 7, 7, 7].into());
    let types = Parameter::SupportedAddressTypes(sctp::wire::parameter::AddressTypes {
        ipv4: false,
        ipv6: true,
    });
    let mut bench = Bench::listening();
    let cookie = bench.init_with(PEER_TAG, &[v6, types, v4]);
    let answers = bench.give_right(|p| p.append(CookieEcho { cookie: &cookie }).unwrap());
    let answered: Vec<String> = answers.iter().flat_map(|packet| names(packet)).collect();
    assert_eq!(answered, ["COOKIE ACK", "HEARTBEAT"], "no word of error");
    let paths = bench.endpoint.association(bench.id()).unwrap().stats().paths;
    let to: Vec<_> = paths.iter().map(|path| path.remote.ip().to_string()).collect();
    assert_eq!(to, ["10.0.0.1", "10.7.7.7"]);
}

#[test]
fn unrecognised_parameters_of_an_init_ack_are_reported_behind_the_cookie() {
    let mut opening = Opening::new();
    let mut value = PEER_TAG.0.to_be_bytes().to_vec();
    value.extend([0, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 1]);
    // Reported and passed over; passed over in silence; the cookie.
    value.extend([0xff, 0xff, 0, 8, 1, 2, 3, 4, 0xbf, 0xff, 0, 4, 0, 7, 0, 8, 5, 6, 7, 8]);
    let sent = opening.bench.give_right(|p| p.append(Any(2, 0, &value)).unwrap());
    assert_eq!(
        (sent.len(), names(&sent[0])),
        (1, ["COOKIE ECHO", "ERROR"].map(String::from).to_vec())
    );
    // Cause 8, Unrecognized Parameters, and the parameter as it came.
    assert_eq!(sent[0][24..36], [0, 8, 0, 12, 0xff, 0xff, 0, 8, 1, 2, 3, 4]);
    // A type that ends the list is reported itself if its second bit says so, and no later one.
    for (last, reports) in [(0x7f, 1), (0x3f, 0)] {
        let mut opening = Opening::new();
        let mut value = PEER_TAG.0.to_be_bytes().to_vec();
        value.extend([0, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 1, 0, 7, 0, 8, 5, 6, 7, 8]);
        value.extend([last, 0xfe, 0, 4, 0xff, 0xff, 0, 4]);
        let sent = opening.bench.give_right(|p| p.append(Any(2, 0, &value)).unwrap());
        let sent: Vec<String> = sent.iter().flat_map(|packet| names(packet)).collect();
        assert_eq!(sent[0], "COOKIE ECHO");
        assert_eq!(sent[1..], vec!["ERROR"; reports]);
    }
}

#[test]
fn an_init_names_each_parameter_once() {
    let all = sctp::Extensions::PARTIAL_RELIABILITY
        | sctp::Extensions::STREAM_RECONFIGURATION
        | sctp::Extensions::INTERLEAVING
        | sctp::Extensions::ADDRESS_RECONFIGURATION
        | sctp::Extensions::PADDING;
    let locals = [crate::support::SERVER, "10.1.0.2:9899"].map(address).to_vec();
    let mut bench = Bench::new(EndpointOptions { addresses: locals, ..Default::default() });
    let options = AssociationOptions { extensions: all, ..AssociationOptions::default() };
    bench.endpoint.connect(bench.now, address(CLIENT), PEER_PORT, options).unwrap();
    let sent = bench.drain();
    let packet = Packet::parse(sent[0].clone().into()).unwrap();
    let Some(Ok(Chunk::Init(init))) = packet.chunks().next() else { panic!("no INIT") };
    let mut seen = Vec::new();
    for parameter in init.parameters.iter() {
        let parameter = parameter.unwrap();
        assert!(!matches!(parameter, Parameter::HostNameAddress(_)));
        if let Parameter::SupportedExtensions(types) = parameter {
            // FORWARD-TSN, RE-CONFIG, I-DATA and I-FORWARD-TSN, ASCONF and ASCONF-ACK, AUTH, PAD.
            let listed = std::collections::BTreeSet::from_iter(types);
            let all = [0xc0, 0x82, 0x40, 0xc2, 0xc1, 0x80, 0x0f, 0x84];
            assert_eq!(listed, std::collections::BTreeSet::from_iter(&all));
        }
        if !matches!(parameter, Parameter::Ipv4Address(_)) {
            let kind = core::mem::discriminant(&parameter);
            assert!(!seen.contains(&kind), "{parameter:?} twice");
            seen.push(kind);
        }
    }
    assert!(seen.len() >= 5, "{seen:?}");
}

#[test]
fn addresses_that_map_ipv4_into_ipv6_are_listed_neither_by_init_nor_by_init_ack() {
    let locals = ["[2001:db8::1]:9899", "[::ffff:10.0.0.2]:9899"].map(address).to_vec();
    let options = EndpointOptions { addresses: locals, listen: true, ..Default::default() };
    let mut bench = Bench::new(options);
    let (now, options) = (bench.now, AssociationOptions::default());
    bench.endpoint.connect(now, address("[2001:db8::9]:9899"), PEER_PORT, options).unwrap();
    let sent = bench.drain();
    bench.remote = address("[2001:db8::7]:9899");
    let answers = bench.give(NO_TAG, |p| p.append(init(PEER_TAG)).unwrap());
    for packet in [&sent[0], &answers[0]] {
        let packet = Packet::parse(packet.clone().into()).unwrap();
        let Some(Ok(Chunk::Init(of) | Chunk::InitAck(InitAck(of)))) = packet.chunks().next() else {
            panic!("neither INIT nor INIT ACK")
        };
        let listed = of.parameters.iter().filter_map(|parameter| match parameter.unwrap() {
            Parameter::Ipv4Address(address) => Some(address.to_string()),
            Parameter::Ipv6Address(address) => Some(address.to_string()),
            _ => None,
        });
        assert_eq!(listed.collect::<Vec<_>>(), ["2001:db8::1"]);
    }
}

#[test]
fn the_default_init_lists_what_costs_nothing_and_neither_interleaving_nor_moving() {
    let Opening { init, .. } = Opening::new();
    let packet = Packet::parse(init.into()).unwrap();
    let Some(Ok(Chunk::Init(init))) = packet.chunks().next() else { panic!("no INIT") };
    let listed = init.parameters.iter().find_map(|parameter| match parameter {
        Ok(Parameter::SupportedExtensions(types)) => Some(types.to_vec()),
        _ => None,
    });
    // FORWARD-TSN and RE-CONFIG.
    assert_eq!(listed, Some(vec![0xc0, 0x82]));
}

#[test]
fn a_receive_buffer_below_1500_bytes_is_offered_as_1500() {
    let little = || AssociationOptions { receive_buffer: 100, ..AssociationOptions::default() };
    let mut bench = Bench::new(EndpointOptions {
        listen: true,
        accepted: little(),
        ..EndpointOptions::default()
    });
    let answers = bench.give(NO_TAG, |p| p.append(init(PEER_TAG)).unwrap());
    assert_eq!(fields(&answers[0]).a_rwnd, 1500);
    bench.endpoint.connect(bench.now, address("10.0.0.9:9899"), PEER_PORT, little()).unwrap();
    assert_eq!(fields(&bench.drain()[0]).a_rwnd, 1500);
}

#[test]
fn init_ack_offers_no_more_streams_than_the_init_takes() {
    let mut bench = Bench::listening();
    let mut few = init(PEER_TAG);
    (few.inbound_streams, few.outbound_streams) = (3, 5);
    let of = fields(&bench.give(NO_TAG, |p| p.append(few).unwrap())[0]);
    assert_eq!(of.outbound_streams, 3);
    assert!(of.inbound_streams >= 5, "those that it asked for");
}

#[test]
fn init_ack_goes_to_where_the_init_came_from() {
    use base::Machine;
    let mut bench = Bench::listening();
    let listed = Parameter::Ipv4Address([10, 7, 7, 7].into());
    for source in ["10.0.0.1:9899", "10.0.0.1:4444", "10.5.5.5:1", "[2001:db8::1]:7"] {
        let bytes = crate::support::wire::packet(PEER_PORT, crate::support::PORT, NO_TAG, |p| {
            p.append(init_with(PEER_TAG, [listed])).unwrap();
        });
        let (local, remote) = (address(crate::support::SERVER), address(source));
        let meta = base::DatagramMeta { local, remote, ecn: base::Ecn::NotEct, origin: None };
        bench.endpoint.handle_datagram(bench.now, meta, bytes.into());
        let mut answer = Vec::new();
        let sent = bench.endpoint.poll_transmit(bench.now, &mut answer).unwrap();
        assert_eq!((sent.remote, sent.local), (remote, Some(local)));
        assert_eq!(names(&answer), ["INIT ACK"]);
    }
}

#[test]
fn a_stale_cookie_in_cookie_echoed_begins_anew_three_times_at_most() {
    let (mut opening, _) = Opening::echoed();
    let stale = || sctp::wire::chunk::OperationError {
        causes: [sctp::wire::Cause::StaleCookie(Duration::from_millis(1))],
    };
    for _ in 0..2 {
        let again = opening.bench.give_right(|p| p.append(stale()).unwrap());
        assert_eq!((names(&again[0]), opening.state()), (vec!["INIT".to_owned()], "COOKIE-WAIT"));
        opening.bench.give_right(|p| p.append(answer(PEER_TAG)).unwrap());
        assert_eq!(opening.state(), "COOKIE-ECHOED");
    }
    opening.bench.give_right(|p| p.append(stale()).unwrap());
    let told = opening.bench.events.last().unwrap().1.clone();
    assert_eq!(told, sctp::Event::Failed(Failure::StaleCookie));
}

#[test]
fn a_cookie_lives_longer_where_the_init_asks_for_it_up_to_twice_as_long() {
    for (more, good) in [(0, 60_000), (5_000, 65_000), (60_000, 120_000), (1_000_000, 120_000)] {
        for late in [0, 1] {
            let mut bench = Bench::listening();
            let more = Parameter::CookiePreservative(Duration::from_millis(more));
            let cookie = bench.init_with(PEER_TAG, &[more]);
            bench.now = base::Instant::from_millis(good + late);
            let answers = bench.give_right(|p| p.append(CookieEcho { cookie: &cookie }).unwrap());
            let expected = if late == 0 { "COOKIE ACK" } else { "ERROR" };
            assert_eq!(names(&answers[0])[0], expected, "after {good} + {late} ms");
        }
    }
}

#[test]
fn the_answer_to_the_init_of_a_restart_has_the_parameters_of_the_association() {
    let accepted = AssociationOptions { outbound_streams: 7, ..AssociationOptions::default() };
    let options = EndpointOptions { accepted, ..EndpointOptions::default() };
    let mut bench = Bench::established_with(options, &[]);
    bench.endpoint.set_accepted_options(AssociationOptions {
        outbound_streams: 3,
        ..AssociationOptions::default()
    });
    let answers = bench.give(NO_TAG, |p| p.append(init(VerificationTag(0x99))).unwrap());
    assert_eq!(fields(&answers[0]).outbound_streams, 7);
}

/// Gives the endpoint an INIT of its peer's, from where it opens to; returns the INIT ACK and where
/// that goes.
fn meet(opening: &mut Opening, tag: VerificationTag) -> (Vec<u8>, std::net::SocketAddr) {
    use base::Machine;
    let bytes = crate::support::wire::packet(PEER_PORT, crate::support::PORT, NO_TAG, |p| {
        p.append(init(tag)).unwrap();
    });
    let (local, remote) = (address(crate::support::SERVER), opening.bench.remote);
    let meta = base::DatagramMeta { local, remote, ecn: base::Ecn::NotEct, origin: None };
    let now = opening.bench.now;
    opening.bench.endpoint.handle_datagram(now, meta, bytes.into());
    let mut answer = Vec::new();
    let sent = opening.bench.endpoint.poll_transmit(now, &mut answer).unwrap();
    assert!(opening.bench.drain().is_empty(), "one answer");
    (answer, sent.remote)
}

#[test]
fn the_cookie_of_an_init_that_met_the_own_one_establishes_with_the_tag_of_that_init() {
    // Section 5.2.4, action B: in COOKIE-WAIT, and in COOKIE-ECHOED where the peer began anew
    // meanwhile.
    let later = VerificationTag(0x99);
    for mut opening in [Opening::new(), Opening::echoed().0] {
        opening.bench.endpoint.set_listen(true);
        let before = opening.state();
        let (init_ack, to) = meet(&mut opening, later);
        assert_eq!((names(&init_ack), to), (vec!["INIT ACK".to_owned()], address(CLIENT)));
        let cookie = opening.bench.take_init_ack(&init_ack);
        let answers =
            opening.bench.give_right(|p| p.append(CookieEcho { cookie: &cookie }).unwrap());
        assert_eq!(
            (names(&answers[0]), tag_of(&answers[0])),
            (vec!["COOKIE ACK".to_owned()], later)
        );
        assert_eq!(opening.state(), "ESTABLISHED", "from {before}");
        opening.bench.events.retain(|(_, event)| *event == sctp::Event::Established);
        assert_eq!(opening.bench.events.len(), 1);
        // T1 has stopped: neither INIT nor COOKIE ECHO leaves any more.
        let sent = opening.bench.pass(Duration::from_secs(25));
        assert!(sent.is_empty(), "{:?} from {before}", names(&sent[0]));
    }
}

#[test]
fn the_cookie_of_the_init_that_was_answered_establishes_in_cookie_echoed_too() {
    // Section 5.2.4, action D, while COOKIE ACK is awaited.
    let (mut opening, _) = Opening::echoed();
    opening.bench.endpoint.set_listen(true);
    let (init_ack, _) = meet(&mut opening, PEER_TAG);
    let cookie = opening.bench.take_init_ack(&init_ack);
    let answers = opening.bench.give_right(|p| p.append(CookieEcho { cookie: &cookie }).unwrap());
    assert_eq!(
        (names(&answers[0]), tag_of(&answers[0])),
        (vec!["COOKIE ACK".to_owned()], PEER_TAG)
    );
    assert_eq!(opening.state(), "ESTABLISHED");
    assert!(opening.bench.pass(Duration::from_secs(25)).is_empty(), "T1-cookie has stopped");
}

#[test]
fn the_answer_to_an_init_that_meets_an_association_offers_the_window_of_that_association() {
    // Sections 5.2.1 and 5.2.2: the endpoint accepts associations with a larger buffer.
    let mut bench = Bench::new(EndpointOptions { listen: true, ..EndpointOptions::default() });
    let options = AssociationOptions {
        receive_buffer: 10_000,
        policy: plain().into(),
        ..AssociationOptions::default()
    };
    let now = bench.now;
    bench.endpoint.connect(now, address(CLIENT), PEER_PORT, options).unwrap();
    let own = fields(&bench.drain()[0]);
    assert_eq!(own.a_rwnd, 10_000);
    let answers = bench.give(NO_TAG, |p| p.append(init(VerificationTag(0x99))).unwrap());
    assert_eq!(fields(&answers[0]).a_rwnd, own.a_rwnd);
}
