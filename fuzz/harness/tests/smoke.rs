//! Every harness with a fixed number of seeded inputs: what `make fuzz` does for hours, for
//! seconds.

use arbitrary::Arbitrary;
use base::{Purpose, RandomStream};
use fuzz_harness::{
    Steps, air, association, corpus, dtls, endpoint, flow, offload, packet, pair, parser, read,
    sdp, segment, signalling, stun, tcp_connection, tcp_pair, trace,
};

/// Bytes of a seeded input, fewer than `length`.
fn bytes(name: &str, index: u64, length: u64) -> Vec<u8> {
    let mut random = RandomStream::new(index, Purpose(name, 0));
    let mut bytes = vec![0; random.below(length) as usize];
    random.fill(&mut bytes);
    bytes
}

/// Runs seeded inputs; answers what they led to.
fn each<T: for<'a> Arbitrary<'a>, R>(name: &str, run: impl Fn(T) -> R) -> Vec<R> {
    each_of(400, name, run)
}

fn each_of<T: for<'a> Arbitrary<'a>, R>(count: u64, name: &str, run: impl Fn(T) -> R) -> Vec<R> {
    let inputs = (0..count).filter_map(|index| read::<T>(&bytes(name, index, 5_000)));
    let outcomes: Vec<R> = inputs.map(run).collect();
    assert!(outcomes.len() > 200, "{} inputs could be read", outcomes.len());
    outcomes
}

#[test]
fn parser_takes_seeded_packets() {
    for index in 0..20_000 {
        parser::run(&bytes("parser", index, 300));
    }
}

#[test]
fn segment_takes_seeded_segments() {
    for index in 0..20_000 {
        let mut bytes = bytes("segment", index, 120);
        // Mostly a data offset that the datagram has.
        if let Some(offset) = bytes.get_mut(12).filter(|_| index % 8 != 0) {
            *offset = 0x50 + (*offset & 0x70);
        }
        segment::run(&bytes);
    }
}

#[test]
fn packet_takes_seeded_packets() {
    for index in 0..20_000 {
        let mut bytes = bytes("packet", index, 200);
        let length = bytes.len() as u16;
        // Mostly a packet of ICMP or TCP that is as long as it says.
        if bytes.len() >= 48 && index % 8 != 0 {
            let next = [1, 6, 58, 44][usize::from(bytes[1] % 4)];
            if index % 2 == 0 {
                bytes[0] = 0x45;
                bytes[2..4].copy_from_slice(&length.to_be_bytes());
                bytes[6..8].fill(0);
                bytes[9] = next;
                bytes[20] &= 0x0f;
            } else {
                bytes[0] = 0x60;
                bytes[4..6].copy_from_slice(&(length - 40).to_be_bytes());
                bytes[6] = next;
                bytes[40] &= 0x83;
            }
        }
        packet::run(&bytes);
    }
}

#[test]
fn trace_takes_seeded_captures() {
    for index in 0..3_000 {
        let mut bytes = bytes("trace", index, 2_000);
        // Mostly short pieces that begin with small numbers, so that they meet.
        if index % 4 != 0 {
            bytes.iter_mut().for_each(|byte| *byte &= if *byte & 1 == 0 { 0x07 } else { 0xff });
        }
        trace::run(&bytes);
    }
}

#[test]
fn sdp_takes_seeded_lines_and_some_offers_can_be_read() {
    let mut read = 0;
    for index in 0..3_000 {
        let mut bytes = bytes("sdp", index, 600);
        // Mostly characters of attributes, some ends of lines.
        bytes.iter_mut().for_each(|byte| *byte = if *byte < 12 { b'\n' } else { 32 + *byte % 95 });
        read += sdp::run(&bytes);
    }
    assert!(read > 100, "{read}");
}

#[test]
fn stun_takes_seeded_datagrams_and_many_are_well_formed() {
    let mut well_formed = 0;
    for index in 0..300 {
        let mut bytes = bytes("stun", index, 300);
        // Mostly attributes without bytes, so that what follows is read.
        if index % 4 != 0 {
            bytes.iter_mut().enumerate().for_each(|(at, byte)| *byte &= [0x80, 0xff, 0, 0][at % 4]);
        }
        well_formed += stun::run(&bytes);
    }
    assert!(well_formed > 100, "{well_formed}");
}

#[test]
fn signalling_takes_seeded_requests_and_some_offers_are_taken() {
    let outcomes = each("signalling", |input| signalling::run(&input));
    let answered: usize = outcomes.iter().map(|outcome| outcome.answered).sum();
    let taken: usize = outcomes.iter().map(|outcome| outcome.taken).sum();
    let set: usize = outcomes.iter().map(|outcome| outcome.set).sum();
    assert!(answered > 4_000 && taken > 100 && set > 20, "{answered}, {taken}, {set}");
}

#[test]
fn dtls_takes_seeded_networks_and_packets_arrive() {
    let mut arrived = 0;
    for index in 0..60 {
        let steps = read::<Steps<dtls::Step>>(&bytes("dtls", index, 400));
        arrived += steps.map_or(1, |steps| dtls::run(&steps)) - 1;
    }
    assert!(arrived > 60, "{arrived}");
}

#[test]
fn what_fuzzing_found_in_the_harness_stays_found() {
    // I-FORWARD-TSN with reserved bits set, which are not written again.
    let mut packet = vec![0x32, 0, 0xb4, 0xb4, 0xb4, 0xb4, 0xf7, 0xff, 0xff, 0xff, 0xff, 0xff];
    packet.extend([0xc2, 0, 0, 0x18, 0xff, 0xff, 0, 0x5c, 0x5c, 0x5c, 0x5c, 0x5c, 0x5c, 0x5c]);
    packet.extend([0x5c, 0xb4, 0xb4, 0xb4, 0xf7, 0xff, 0xff, 0xff, 0xff, 0xff]);
    parser::run(&packet);
}

#[test]
fn pair_ends_in_order_where_the_peer_aborts_behind_its_shutdown() {
    // SHUTDOWN arrives, ABORT does not; the endpoint that aborted drops the first SHUTDOWN ACK,
    // which has no checksum (RFC 9653, section 5.3), and answers the second.
    let end = || pair::End {
        preset: 0,
        buffer: 255,
        mtu: 255,
        nagle: false,
        heartbeats: false,
        security: 0x40,
        key: 0,
        extensions: 0,
    };
    let steps = vec![
        pair::Step::Work { trips: 10 },
        pair::Step::Shutdown { at: 1, sure: 16 },
        pair::Step::Abort { at: 1, sure: 0 },
        pair::Step::Packet { to: 0, which: 1, fate: air::Fate::Lose },
    ];
    // With data channels, judging sends nothing more.
    let outcome = pair::run(pair::Input { ends: [end(), end()], paths: 6, steps: Steps(steps) });
    assert_eq!(outcome.failed, [false, true], "the end that did not abort ends in order");
}

#[test]
fn association_takes_seeded_steps() {
    each("association", association::run);
}

#[test]
fn endpoint_takes_seeded_steps_and_accepts_somebody_now_and_then() {
    let accepted: usize = each("endpoint", endpoint::run).iter().sum();
    assert!(accepted > 400, "{accepted} associations beside the honest ones");
}

#[test]
fn pair_takes_seeded_steps_and_most_messages_arrive() {
    // Of its many kinds of steps few are messages.
    let outcomes = each_of(700, "pair", pair::run);
    let sent: usize = outcomes.iter().map(|outcome| outcome.sent).sum();
    let arrived: usize = outcomes.iter().map(|outcome| outcome.arrived).sum();
    let failed = outcomes.iter().filter(|outcome| outcome.failed.contains(&true)).count();
    assert!(
        sent > 2_000 && 5 * arrived > 2 * sent,
        "{arrived} of {sent} messages, {failed} failed"
    );
    let resets: u64 = outcomes.iter().map(|outcome| outcome.resets).sum();
    assert!(resets > 50, "{resets} resets");
}

#[test]
fn tcp_connection_takes_seeded_steps_and_data_gets_through_now_and_then() {
    let outcomes = each("tcp_connection", tcp_connection::run);
    let read: u64 = outcomes.iter().map(|outcome| outcome.1).sum();
    assert!(read > 1_000, "{read} bytes read");
}

#[test]
fn tcp_pair_takes_seeded_steps_and_most_bytes_arrive() {
    let outcomes = each("tcp_pair", tcp_pair::run);
    let sent: u64 = outcomes.iter().map(|outcome| outcome.sent).sum();
    let arrived: u64 = outcomes.iter().map(|outcome| outcome.arrived).sum();
    let failed = outcomes.iter().filter(|outcome| outcome.failed).count();
    assert!(sent > 1_000_000 && 2 * arrived > sent, "{arrived} of {sent} bytes, {failed} failed");
}

#[test]
fn offload_takes_seeded_packets_and_many_segments_leave_together() {
    let outcomes = each("offload", offload::run);
    let joined: usize = outcomes.iter().map(|outcome| outcome.joined).sum();
    let taken = outcomes.iter().filter(|outcome| outcome.taken).count();
    assert!(joined > 5_000 && taken > 100, "{joined} joined, {taken} taken");
}

#[test]
fn flow_takes_seeded_steps_and_most_bytes_are_carried() {
    let outcomes = each_of(2_000, "flow", flow::run);
    let carried: u64 = outcomes.iter().map(|outcome| outcome.carried).sum();
    let over = outcomes.iter().filter(|outcome| outcome.over).count();
    let failed = outcomes.iter().filter(|outcome| outcome.failed).count();
    assert!(
        carried > 1_000_000 && over > 20 && failed > 20,
        "{carried} bytes, {over} over, {failed} failed"
    );
}

#[test]
fn corpus_takes_seeded_inputs_in_every_shape() {
    let shapes = [
        corpus::Shape::Connect,
        corpus::Shape::Established,
        corpus::Shape::Accepted,
        corpus::Shape::Fragment,
        corpus::Shape::Listen,
    ];
    for shape in shapes {
        let run = |index| corpus::run(shape, &bytes("corpus", index, 400));
        assert!((0..200).filter_map(run).count() > 150, "{shape:?}");
    }
}
