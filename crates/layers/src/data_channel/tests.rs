use super::*;

/// Two sides, and between them streams that lose nothing.
struct Sides {
    client: DataChannels,
    server: DataChannels,
}

impl Sides {
    fn new() -> Sides {
        Sides::with(|_| ())
    }

    fn with(change: impl Fn(&mut DataChannelsOptions)) -> Sides {
        let side = |role| {
            let mut options = DataChannelsOptions::new(role);
            change(&mut options);
            DataChannels::new(options)
        };
        Sides { client: side(DtlsRole::Client), server: side(DtlsRole::Server) }
    }

    /// Carries everything until nothing is left: messages first, then resets.
    fn settle(&mut self) {
        for _ in 0..10 {
            carry(&mut self.client, &mut self.server);
            carry(&mut self.server, &mut self.client);
        }
    }
}

fn carry(from: &mut DataChannels, to: &mut DataChannels) {
    while let Some(outgoing) = from.poll_outgoing() {
        to.handle_message(outgoing.stream, outgoing.ppid, outgoing.payload);
    }
    let streams = from.poll_reset();
    if !streams.is_empty() {
        to.handle_incoming_reset(&streams);
        from.handle_outgoing_reset(&streams);
    }
}

fn events(side: &mut DataChannels) -> Vec<ChannelEvent> {
    core::iter::from_fn(|| side.poll_event()).collect()
}

fn named(label: &str) -> ChannelOptions {
    ChannelOptions { label: label.into(), ..ChannelOptions::default() }
}

fn open_bytes(options: ChannelOptions) -> Bytes {
    Dcep::Open(options).emit().into()
}

const A: StreamId = StreamId(0);

#[test]
fn a_channel_is_opened_with_two_messages_and_data_need_not_wait() {
    let mut sides = Sides::new();
    let id = sides.client.open(named("chat")).unwrap();
    sides.client.send(id, MessageKind::Text, Bytes::from_static(b"hi")).unwrap();
    sides.settle();
    let kind = MessageKind::Text;
    assert_eq!(
        events(&mut sides.server),
        [
            ChannelEvent::Opened { id, options: named("chat") },
            ChannelEvent::Message { id, kind, payload: Bytes::from_static(b"hi") }
        ]
    );
    assert_eq!(events(&mut sides.client), [ChannelEvent::Confirmed { id }]);
    sides.server.send(id, MessageKind::Binary, Bytes::new()).unwrap();
    sides.settle();
    let kind = MessageKind::Binary;
    let empty = ChannelEvent::Message { id, kind, payload: Bytes::new() };
    assert_eq!(events(&mut sides.client), [empty]);
}

#[test]
fn the_client_has_even_identifiers_and_the_server_odd_ones() {
    let mut sides = Sides::with(|options| options.streams = 5);
    let ids = |side: &mut DataChannels| -> Vec<_> {
        core::iter::from_fn(|| side.open(named("")).ok()).map(|id| id.0).collect()
    };
    assert_eq!(ids(&mut sides.client), [0, 2, 4]);
    assert_eq!(ids(&mut sides.server), [1, 3]);
    assert_eq!(sides.client.open(named("")), Err(ChannelError::TooMany));
    sides.settle();
    assert_eq!(sides.client.ids().len(), 5);
}

#[test]
fn an_unordered_channel_keeps_the_order_until_the_peer_was_heard() {
    let mut sides = Sides::new();
    let options = ChannelOptions { ordered: false, ..named("u") };
    let id = sides.client.open(options).unwrap();
    let unordered = |side: &mut DataChannels| {
        side.send(id, MessageKind::Text, Bytes::from_static(b"x")).unwrap();
        let sent: Vec<_> = core::iter::from_fn(|| side.poll_outgoing()).collect();
        sent.last().unwrap().options.unordered
    };
    sides.client.send(id, MessageKind::Text, Bytes::from_static(b"x")).unwrap();
    let first = sides.client.poll_outgoing().unwrap();
    assert!(!first.options.unordered, "OPEN itself");
    assert!(!unordered(&mut sides.client));
    // Data of the peer shows as well as its ACK that OPEN arrived.
    sides.client.handle_message(id, ppid::BINARY, Bytes::from_static(b"y"));
    assert!(unordered(&mut sides.client));
    sides.server.handle_message(first.stream, first.ppid, first.payload);
    assert!(unordered(&mut sides.server), "the peer that was asked knows it");
}

#[test]
fn messages_are_as_reliable_as_their_channel_and_its_opening_is_fully() {
    use sctp::Reliability;
    let span = base::Duration::from_millis(300);
    for (wanted, expected) in [
        (ChannelReliability::Full, Reliability::Full),
        (ChannelReliability::Retransmissions(2), Reliability::Retransmissions(2)),
        (ChannelReliability::Lifetime(span), Reliability::Lifetime(span)),
    ] {
        let mut sides = Sides::new();
        let options = ChannelOptions { reliability: wanted, ..named("") };
        let id = sides.client.open(options).unwrap();
        sides.client.send(id, MessageKind::Text, Bytes::from_static(b"x")).unwrap();
        let mut sent = || sides.client.poll_outgoing().unwrap().options.reliability;
        assert_eq!((sent(), sent()), (Reliability::Full, expected));
    }
}

#[test]
fn either_side_closes_and_the_identifier_is_used_again() {
    for server_closes in [false, true] {
        let mut sides = Sides::new();
        let id = sides.client.open(named("first")).unwrap();
        sides.settle();
        events(&mut sides.client);
        events(&mut sides.server);
        let Sides { client, server } = &mut sides;
        let (closer, other) = if server_closes { (server, client) } else { (client, server) };
        closer.send(id, MessageKind::Text, Bytes::from_static(b"last")).unwrap();
        closer.close(id).unwrap();
        assert_eq!(closer.poll_reset(), [], "the message goes before");
        assert_eq!(
            closer.send(id, MessageKind::Text, Bytes::from_static(b"late")),
            Err(ChannelError::NotOpen(id))
        );
        carry(closer, other);
        // The other side may still answer until it has noticed.
        let (kind, payload) = (MessageKind::Text, Bytes::from_static(b"last"));
        assert_eq!(
            events(other),
            [
                ChannelEvent::Message { id, kind, payload },
                ChannelEvent::Closing { id, fault: None }
            ]
        );
        carry(other, closer);
        assert_eq!(events(other), [ChannelEvent::Closed { id }]);
        assert_eq!(events(closer), [ChannelEvent::Closed { id }]);
        assert_eq!(sides.client.open(named("second")), Ok(id));
        sides.settle();
        let opened = ChannelEvent::Opened { id, options: named("second") };
        assert_eq!(events(&mut sides.server), [opened]);
    }
}

#[test]
fn an_identifier_used_again_before_the_answer_to_the_reset_arrived_is_accepted() {
    let mut server = DataChannels::new(DataChannelsOptions::new(DtlsRole::Server));
    server.handle_message(A, ppid::DCEP, open_bytes(named("first")));
    server.handle_incoming_reset(&[A]);
    server.flush(|_| Ok::<(), ()>(())).unwrap();
    assert_eq!(server.poll_reset(), [A]);
    server.handle_message(A, ppid::DCEP, open_bytes(named("second")));
    let labels = events(&mut server).into_iter().filter_map(|event| match event {
        ChannelEvent::Opened { options, .. } => Some(options.label),
        ChannelEvent::Closing { fault, .. } => fault.map(|_| "fault".into()),
        _ => None,
    });
    assert_eq!(labels.collect::<Vec<_>>(), ["first", "second"]);
    // The answer that comes late means the first channel.
    server.handle_outgoing_reset(&[A]);
    assert!(server.send(A, MessageKind::Text, Bytes::from_static(b"x")).is_ok());
}

#[test]
fn a_refused_reset_is_asked_for_again() {
    let mut sides = Sides::new();
    let id = sides.client.open(named("")).unwrap();
    sides.settle();
    sides.client.close(id).unwrap();
    assert_eq!((sides.client.poll_reset(), sides.client.poll_reset()), (vec![id], vec![]));
    sides.client.handle_reset_failed(&[id]);
    assert_eq!(sides.client.poll_reset(), [id]);
}

#[test]
fn a_reset_of_all_streams_closes_all_channels() {
    let mut sides = Sides::new();
    for _ in 0..3 {
        sides.client.open(named("")).unwrap();
    }
    sides.settle();
    sides.server.handle_incoming_reset(&[]);
    assert_eq!(sides.server.poll_reset().len(), 3);
}

#[test]
fn a_negotiated_channel_sends_nothing_and_is_unordered_at_once() {
    let mut sides = Sides::new();
    let options = ChannelOptions { ordered: false, ..named("agreed") };
    sides.client.open_negotiated(StreamId(7), options.clone()).unwrap();
    assert_eq!(sides.client.poll_outgoing(), None);
    sides.client.send(StreamId(7), MessageKind::Text, Bytes::from_static(b"x")).unwrap();
    assert!(sides.client.poll_outgoing().unwrap().options.unordered);
    let again = sides.client.open_negotiated(StreamId(7), options);
    assert_eq!(again, Err(ChannelError::Unusable(StreamId(7))));
}

#[test]
fn what_the_peer_may_not_do_closes_the_channel_and_is_not_confirmed() {
    let faults = |message: &dyn Fn(&mut DataChannels)| {
        let mut server = DataChannels::new(DataChannelsOptions::new(DtlsRole::Server));
        message(&mut server);
        let sent: Vec<_> = core::iter::from_fn(|| server.poll_outgoing()).collect();
        let faults = events(&mut server).into_iter().filter_map(|event| match event {
            ChannelEvent::Closing { fault, .. } => fault,
            _ => None,
        });
        (faults.collect::<Vec<_>>(), sent.len(), server.poll_reset().len())
    };
    let odd = |server: &mut DataChannels| {
        server.handle_message(StreamId(1), ppid::DCEP, open_bytes(named("")));
    };
    assert_eq!(faults(&odd), (vec![ChannelFault::WrongParity], 0, 1));
    let malformed = |server: &mut DataChannels| {
        server.handle_message(A, ppid::DCEP, Bytes::from_static(&[3, 0]));
        server.handle_message(A, ppid::DCEP, Bytes::from_static(&[3, 0]));
    };
    assert_eq!(faults(&malformed), (vec![ChannelFault::Dcep(DcepError::TooShort)], 0, 1));
    let twice = |server: &mut DataChannels| {
        server.handle_message(A, ppid::DCEP, open_bytes(named("a")));
        server.handle_message(A, ppid::DCEP, open_bytes(named("b")));
    };
    assert_eq!(faults(&twice), (vec![ChannelFault::OpenedTwice], 1, 1));
    let unknown = |server: &mut DataChannels| {
        server.handle_message(A, ppid::DCEP, open_bytes(named("a")));
        server.handle_message(A, Ppid(52), Bytes::from_static(b"x"));
    };
    assert_eq!(faults(&unknown), (vec![ChannelFault::UnknownPpid(Ppid(52))], 1, 1));
}

#[test]
fn data_and_answers_for_no_channel_are_dropped_and_counted() {
    let mut server = DataChannels::new(DataChannelsOptions::new(DtlsRole::Server));
    server.handle_message(A, ppid::BINARY, Bytes::from_static(b"x"));
    server.handle_message(A, ppid::DCEP, Bytes::from_static(&[2]));
    server.handle_incoming_reset(&[A]);
    assert_eq!((server.ignored(), events(&mut server).len(), server.ids().len()), (2, 0, 0));
}

#[test]
fn a_peer_that_opens_without_end_is_refused_beyond_the_limits() {
    let mut server = DataChannels::new(DataChannelsOptions {
        max_channels: 10,
        ..DataChannelsOptions::new(DtlsRole::Server)
    });
    for id in 0..u16::MAX {
        server.handle_message(StreamId(id), ppid::DCEP, open_bytes(named("flood")));
        server.handle_message(StreamId(id), Ppid(1), Bytes::from_static(b"x"));
        server.handle_message(StreamId(id), ppid::DCEP, Bytes::from_static(&[9]));
        events(&mut server);
    }
    assert_eq!(server.ids().len(), 10);
    let sent = core::iter::from_fn(|| server.poll_outgoing()).count();
    assert!(sent <= 10, "{sent} answers");
    assert_eq!(server.open(named("")), Err(ChannelError::TooMany));
}

#[test]
fn messages_are_bounded_in_length_and_together() {
    let mut sides = Sides::with(|options| (options.max_message, options.buffer) = (10, 25));
    let id = sides.client.open_negotiated(A, named("")).map(|()| A).unwrap();
    let mut send = |length| sides.client.send(id, MessageKind::Binary, vec![0; length].into());
    assert_eq!(send(11), Err(ChannelError::TooLarge { length: 11, maximum: 10 }));
    assert_eq!((send(10), send(10), send(6)), (Ok(()), Ok(()), Err(ChannelError::BufferFull)));
    assert_eq!(sides.client.buffered(), 20);
    let refused =
        sides.client.flush(|outgoing| if outgoing.payload[0] == 0 { Err(()) } else { Ok(()) });
    assert_eq!((refused, sides.client.buffered()), (Err(()), 20));
}
