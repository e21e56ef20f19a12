//! What a connection takes, and what a segment costs among many connections.

use allocation_counter::measure;
use cpu_time::ThreadTime;
use tcp::wire::{Options, Timestamps};
use tcp::{ConnectionOptions, EndpointOptions, KeepAlive, Received, SendFlags};

use crate::crowd::{Crowd, Honest, stranger};

fn usual() -> Options {
    Options {
        mss: Some(1460),
        window_scale: Some(7),
        sack_permitted: true,
        timestamps: Some(Timestamps { value: 1, echo: 0 }),
        ..Options::default()
    }
}

fn crowd(connections: u32, accepted: ConnectionOptions) -> (Crowd, Vec<Honest>) {
    let mut crowd = Crowd::new(EndpointOptions::default(), accepted);
    let honest = (0..connections).map(|index| crowd.connect(stranger(index), usual())).collect();
    crowd.drain();
    (crowd, honest)
}

/// A message of 100 bytes each way, with its acknowledgements.
fn talk(crowd: &mut Crowd, honest: &mut Honest, index: usize) {
    let stamped = |honest: &Honest, bytes| {
        let mut segment = honest.segment(bytes);
        segment.options.timestamps = Some(Timestamps { value: 2, echo: 0 });
        segment
    };
    let id = crowd.accepted[index];
    crowd.give(honest.remote, &stamped(honest, 100));
    honest.seq = honest.seq.advance(100);
    while let Ok(Received::Data(_)) = crowd.endpoint.receive(crowd.now, id, 1 << 20) {}
    let data = vec![3; 100].into();
    crowd.endpoint.send(crowd.now, id, data, SendFlags::default()).unwrap();
    crowd.drain();
    honest.ack = honest.ack.advance(100);
    crowd.give(honest.remote, &stamped(honest, 0));
    crowd.drain();
}

#[test]
fn an_idle_connection_takes_two_kilobytes_and_little_more() {
    let mut kept = None;
    let opened = measure(|| kept = Some(crowd(2000, ConnectionOptions::default())));
    let (mut crowd, mut honest) = kept.unwrap();
    let each = opened.bytes_current / 2000;
    assert!(each <= 1840, "{each} bytes after the handshake");
    let talked = measure(|| {
        for (index, honest) in honest.iter_mut().enumerate() {
            talk(&mut crowd, honest, index);
        }
    });
    let each = (opened.bytes_current + talked.bytes_current) / 2000;
    // With the room that its queues keep for the next ones.
    assert!(each <= 2150, "{each} bytes after a message each way");
}

#[test]
fn a_message_costs_the_same_however_many_connections_there_are() {
    const TALKING: usize = 200;
    let cost = |connections: u32| {
        // All others have a timer that runs.
        let keep_alive = Some(KeepAlive::default());
        let (mut crowd, mut honest) =
            crowd(connections, ConnectionOptions { keep_alive, ..ConnectionOptions::default() });
        let every = honest.len() / TALKING;
        let mut once = || {
            let from = ThreadTime::now();
            for index in (0..TALKING).map(|number| number * every) {
                talk(&mut crowd, &mut honest[index], index);
            }
            from.elapsed().as_secs_f64()
        };
        (0..20).map(|_| once()).fold(f64::MAX, f64::min)
    };
    // The same number talk, so that memory far away costs the same; what else there is are the others.
    let (few, many) = (cost(TALKING as u32), cost(20_000));
    // A cost that grows with the root of their number would be ten times as much.
    assert!(many < few * 3.0, "{few} s, {many} s");
}
