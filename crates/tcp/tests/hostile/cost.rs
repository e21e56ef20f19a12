//! What a connection takes.

use allocation_counter::measure;
use tcp::wire::{Options, Timestamps};
use tcp::{ConnectionOptions, EndpointOptions, Received, SendFlags};

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

fn crowd(connections: u32) -> (Crowd, Vec<Honest>) {
    let mut crowd = Crowd::new(EndpointOptions::default(), ConnectionOptions::default());
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
fn an_idle_connection_takes_less_than_two_kilobytes() {
    let mut kept = None;
    let opened = measure(|| kept = Some(crowd(2000)));
    let (mut crowd, mut honest) = kept.unwrap();
    let each = opened.bytes_current / 2000;
    assert!(each <= 1650, "{each} bytes after the handshake");
    let talked = measure(|| {
        for (index, honest) in honest.iter_mut().enumerate() {
            talk(&mut crowd, honest, index);
        }
    });
    let each = (opened.bytes_current + talked.bytes_current) / 2000;
    // With the room that its queues keep for the next ones.
    assert!(each <= 1950, "{each} bytes after a message each way");
}
