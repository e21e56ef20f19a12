use super::*;

const fn ms(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

/// A sender of 100 bytes of TCP each time.
#[derive(Default)]
struct Tcp {
    sender: Sender,
    parts: Parts,
}

impl Tcp {
    fn send(&mut self, at: u64, start: u64, end: u64) -> Told {
        let piece = Piece { start, end, bytes: (end - start) as u32 };
        let sending = Sending {
            at: ms(at),
            pieces: &[piece],
            frame_length: 154,
            stamp: Some(at as u32),
            in_units: false,
        };
        self.sender.on_data(&sending, &mut self.parts)
    }

    fn ack(&mut self, at: u64, cumulative: u64, blocks: &[(u64, u64)]) {
        self.acknowledge(at, cumulative, blocks, &[], None);
    }

    fn acknowledge(
        &mut self,
        at: u64,
        cumulative: u64,
        blocks: &[(u64, u64)],
        duplicates: &[(u64, u64)],
        echo: Option<u32>,
    ) {
        let is_repeated = cumulative == self.sender.history.una() && self.sender.is_waiting();
        let ack = Acknowledgement { at: ms(at), cumulative, blocks, duplicates, is_repeated, echo };
        self.sender.on_acknowledgement(&ack, |_| ());
    }

    /// Packets that are known to have arrived, to be lost, to be repaired by a copy, and those in
    /// doubt.
    fn fates(&self) -> [u64; 4] {
        let counts = &self.sender.counts;
        let Counts { arrived_packets, lost_packets, repaired_packets, doubtful_packets, .. } =
            *counts;
        [arrived_packets, lost_packets, repaired_packets, doubtful_packets]
    }

    fn causes(&self) -> Vec<(Cause, u64)> {
        use Cause::*;
        let all = [Timeout, Fast, Early, Bundled, Probe, Unknown];
        let counts = all.into_iter().zip(self.sender.counts.by_cause);
        counts.filter(|(_, count)| *count > 0).collect()
    }
}

/// Three packets of 100 bytes each 10 ms, the round trip is 50 ms, the first was acknowledged.
fn started() -> Tcp {
    let mut tcp = Tcp::default();
    for packet in 0..3 {
        tcp.send(packet * 10, packet * 100 + 1, packet * 100 + 101);
    }
    tcp.ack(50, 101, &[]);
    tcp
}

#[test]
fn retransmissions_are_counted_by_order_and_by_what_was_heard_before() {
    let mut tcp = started();
    tcp.ack(71, 101, &[(201, 301)]);
    tcp.send(72, 101, 201);
    assert_eq!(tcp.causes(), [(Cause::Early, 1)], "one report");
    tcp.send(400, 101, 201);
    assert_eq!(tcp.causes(), [(Cause::Timeout, 1), (Cause::Early, 1)], "nothing since");
    tcp.ack(450, 301, &[]);
    assert_eq!(tcp.sender.counts.by_order, [1, 1, 0, 0]);
    assert_eq!(tcp.sender.counts.retransmitted_bytes, 200);
    assert_eq!(tcp.sender.counts.unique_bytes, 300);
    let [all, none, once, twice, more] = &mut tcp.sender.latencies;
    assert_eq!(all.summary(1e6).max, 440.0);
    let counts = [none, once, twice, more].map(|it| it.summary(1.0).count);
    assert_eq!(counts, [2, 0, 1, 0]);
}

#[test]
fn three_repeated_acknowledgements_are_a_fast_retransmission_without_sack_too() {
    let mut tcp = started();
    for packet in 3..6 {
        tcp.send(packet * 10, packet * 100 + 1, packet * 100 + 101);
    }
    for at in [70, 80, 90] {
        tcp.ack(at, 101, &[]);
    }
    tcp.send(91, 101, 201);
    assert_eq!(tcp.causes(), [(Cause::Fast, 1)]);
    assert_eq!(tcp.sender.counts.repeated, [1, 1, 1, 0]);
    // A partial acknowledgement in this recovery: the next hole follows from it.
    tcp.ack(141, 301, &[]);
    tcp.send(142, 301, 401);
    assert_eq!(tcp.causes(), [(Cause::Fast, 2)]);
}

#[test]
fn what_follows_a_timeout_is_of_it() {
    let mut tcp = started();
    tcp.send(350, 101, 201);
    tcp.ack(400, 201, &[]);
    tcp.send(401, 201, 301);
    assert_eq!(tcp.causes(), [(Cause::Timeout, 2)]);
}

#[test]
fn the_tail_that_is_sent_again_while_something_before_it_is_outstanding_is_a_probe() {
    let mut tcp = started();
    tcp.send(160, 201, 301);
    assert_eq!(tcp.causes(), [(Cause::Probe, 1)]);
}

#[test]
fn a_duplicate_report_makes_a_retransmission_spurious_once() {
    let mut tcp = started();
    tcp.send(350, 101, 201);
    tcp.acknowledge(360, 301, &[], &[], None);
    assert_eq!(tcp.sender.counts.needless_inferred, 1, "answered in 10 of 50 ms");
    tcp.acknowledge(400, 301, &[], &[(101, 201)], None);
    assert_eq!((tcp.sender.counts.needless, tcp.sender.counts.needless_reported), (1, 1));
    tcp.acknowledge(401, 301, &[], &[(101, 201)], None);
    assert_eq!((tcp.sender.counts.needless, tcp.sender.counts.other_duplicates), (1, 1));
}

#[test]
fn a_retransmission_of_several_segments_together_is_spurious_once() {
    let mut tcp = started();
    tcp.send(350, 101, 301);
    tcp.acknowledge(360, 301, &[], &[], None);
    let counts = &tcp.sender.counts;
    assert_eq!((counts.retransmission_packets, counts.needless_inferred), (1, 1));
    tcp.acknowledge(400, 301, &[], &[(101, 301)], None);
    let counts = &tcp.sender.counts;
    assert_eq!((counts.needless, counts.needless_reported, counts.other_duplicates), (1, 1, 0));
}

#[test]
fn an_echo_that_is_older_than_the_retransmission_makes_it_spurious() {
    for (echo, needless) in [(10, 1), (350, 0)] {
        let mut tcp = started();
        tcp.send(350, 101, 201);
        tcp.acknowledge(405, 301, &[], &[], Some(echo));
        assert_eq!(tcp.sender.counts.needless, needless);
    }
}

#[test]
fn a_segment_with_old_and_new_data_is_a_bundle_and_no_retransmission() {
    let mut tcp = started();
    let told = tcp.send(60, 201, 401);
    assert_eq!((told.payload, told.interval), (200, Some(Duration::from_millis(40))));
    let counts = &tcp.sender.counts;
    assert_eq!((counts.bundle_packets, counts.retransmission_packets), (1, 0));
    assert_eq!((counts.redundant_bytes, counts.retransmitted_bytes), (100, 0));
    assert_eq!(counts.unique_bytes, 400);
    // What it brought in vain is not a spurious retransmission, and its round trip is no sample.
    tcp.acknowledge(110, 401, &[], &[(201, 301)], None);
    let counts = &tcp.sender.counts;
    assert_eq!((counts.needless, counts.redundant_reported), (0, 1));
    assert_eq!(tcp.sender.round_trips.summary(1e6).min, 50.0);
}

/// Chunks with 100 bytes each.
fn send_chunks(sender: &mut Sender, at: u64, tsns: &[u64]) -> Vec<Kind> {
    let pieces: Vec<Piece> =
        tsns.iter().map(|tsn| Piece { start: *tsn, end: tsn + 1, bytes: 100 }).collect();
    let mut parts = Parts::new();
    let sending =
        Sending { at: ms(at), pieces: &pieces, frame_length: 160, stamp: None, in_units: true };
    sender.on_data(&sending, &mut parts);
    parts.iter().map(|part| part.kind).collect()
}

fn sack(
    sender: &mut Sender,
    at: u64,
    cumulative: u64,
    blocks: &[(u64, u64)],
    duplicates: &[(u64, u64)],
) {
    let is_repeated = cumulative == sender.history.una() && !blocks.is_empty();
    let ack =
        Acknowledgement { at: ms(at), cumulative, blocks, duplicates, is_repeated, echo: None };
    sender.on_acknowledgement(&ack, |_| ());
}

#[test]
fn all_chunks_of_a_timeouts_packet_but_the_first_are_bundled() {
    let mut sender = Sender::default();
    for tsn in 1..=3 {
        send_chunks(&mut sender, tsn * 10, &[tsn]);
    }
    sack(&mut sender, 60, 2, &[], &[]);
    assert_eq!(send_chunks(&mut sender, 1060, &[2, 3]), [Kind::Again, Kind::Again]);
    let counts = &sender.counts;
    assert_eq!(counts.by_cause[Cause::Timeout as usize], 1);
    assert_eq!(counts.by_cause[Cause::Bundled as usize], 1);
    assert_eq!((counts.by_order, counts.retransmission_packets), ([2, 0, 0, 0], 1));
    sack(&mut sender, 1110, 4, &[], &[(3, 4)]);
    assert_eq!(sender.counts.needless, 1);
}

#[test]
fn an_old_chunk_beside_a_new_one_is_redundant_unless_there_was_a_reason() {
    let mut sender = Sender::default();
    send_chunks(&mut sender, 0, &[1]);
    sack(&mut sender, 50, 2, &[], &[]);
    send_chunks(&mut sender, 60, &[2]);
    assert_eq!(send_chunks(&mut sender, 80, &[2, 3]), [Kind::Along, Kind::New]);
    sack(&mut sender, 131, 2, &[(3, 4)], &[]);
    assert_eq!(send_chunks(&mut sender, 132, &[2, 4]), [Kind::Again, Kind::New], "reported");
    assert_eq!(sender.counts.by_cause[Cause::Early as usize], 1);
    assert_eq!((sender.counts.redundant_bytes, sender.counts.retransmitted_bytes), (100, 100));
}

#[test]
fn packets_in_flight_are_packets_not_chunks() {
    let mut sender = Sender::default();
    send_chunks(&mut sender, 0, &[1, 2, 3]);
    send_chunks(&mut sender, 10, &[4]);
    assert_eq!(sender.history.in_flight(), 2);
    sack(&mut sender, 50, 3, &[], &[]);
    assert_eq!(sender.history.in_flight(), 2, "its last chunk is not acknowledged");
    sack(&mut sender, 51, 4, &[], &[]);
    assert_eq!(sender.history.in_flight(), 1);
}

#[test]
fn what_the_capture_missed_is_noticed_when_it_is_acknowledged() {
    let mut tcp = started();
    tcp.ack(80, 501, &[]);
    assert_eq!(tcp.sender.counts.unseen_bytes, 200);
    tcp.send(90, 501, 601);
    assert_eq!(tcp.sender.counts.retransmission_packets, 0);
}

#[test]
fn a_retransmission_that_is_reported_part_by_part_is_spurious_once_and_only_if_all_of_it_is() {
    let mut tcp = started();
    tcp.send(350, 101, 301);
    tcp.acknowledge(400, 301, &[], &[(101, 201)], Some(350));
    assert_eq!(tcp.sender.counts.needless, 0, "its second half was needed");
    tcp.acknowledge(401, 301, &[], &[(201, 301)], Some(350));
    assert_eq!((tcp.sender.counts.needless, tcp.sender.counts.needless_reported), (1, 1));
    for _ in 0..3 {
        tcp.acknowledge(402, 301, &[], &[(101, 301)], Some(350));
    }
    let counts = &tcp.sender.counts;
    assert_eq!((counts.needless, counts.needless_reported, counts.other_duplicates), (1, 1, 3));
    assert_eq!(tcp.fates(), [4, 0, 0, 0], "what it repeated had arrived, too");
}

#[test]
fn a_report_is_of_the_copy_if_that_left_last_before_it() {
    let mut tcp = started();
    tcp.send(250, 101, 301);
    tcp.send(300, 101, 401);
    // The retransmission was lost, the copies were in vain.
    tcp.acknowledge(350, 401, &[], &[(101, 301)], Some(300));
    let counts = &tcp.sender.counts;
    assert_eq!((counts.needless, counts.redundant_reported), (0, 2));
}

#[test]
fn the_echo_tells_nothing_of_what_stands_behind_the_left_edge() {
    // Both were lost and are retransmitted one after the other; one acknowledgement answers them,
    // with the echo of the first, since it was held back (RFC 7323, section 4.3).
    let mut tcp = started();
    tcp.send(350, 101, 201);
    tcp.send(351, 201, 301);
    tcp.acknowledge(401, 301, &[], &[], Some(350));
    assert_eq!((tcp.sender.counts.needless, tcp.fates()), (0, [3, 2, 0, 0]));
    // Nor does it of what is reported out of order.
    let mut tcp = started();
    tcp.send(350, 201, 301);
    tcp.acknowledge(401, 101, &[(201, 301)], &[], Some(0));
    assert_eq!((tcp.sender.counts.needless, tcp.fates()), (0, [2, 1, 0, 0]));
}

#[test]
fn a_copy_that_is_not_reported_to_have_come_in_vain_repaired_a_loss() {
    let mut tcp = started();
    tcp.send(60, 201, 401);
    // The second packet was lost for good, the third arrived: its copy is reported.
    tcp.acknowledge(110, 101, &[(201, 401)], &[(201, 301)], Some(0));
    tcp.send(111, 101, 501);
    // Nothing is reported of what was acknowledged: except for the second, all were there.
    tcp.acknowledge(161, 501, &[], &[(201, 401)], Some(111));
    assert_eq!(tcp.fates(), [4, 0, 1, 0]);
    tcp.sender.counts.close();
    assert_eq!((tcp.sender.counts.unreported, tcp.sender.counts.loss_estimate()), (0, 0.2));
}

#[test]
fn who_reports_no_duplicates_does_not_tell_what_copies_repaired() {
    let mut tcp = started();
    tcp.send(60, 201, 401);
    tcp.ack(110, 401, &[]);
    assert_eq!(tcp.fates(), [3, 0, 1, 0]);
    tcp.sender.counts.close();
    assert_eq!((tcp.sender.counts.unreported, tcp.sender.counts.loss_estimate()), (1, 0.0));
}

#[test]
fn of_two_that_can_have_brought_what_a_third_brought_again_one_was_lost_or_both_answers() {
    let mut tcp = started();
    tcp.send(60, 101, 401);
    tcp.send(80, 101, 501);
    // The third packet that has the second's data is answered; was it that one or the copy that
    // came first?
    tcp.acknowledge(130, 501, &[], &[(101, 401)], Some(80));
    assert_eq!(tcp.fates(), [3, 0, 0, 2]);
    assert_eq!(tcp.sender.counts.loss_estimate(), 4.0 / 15.0);
}
