//! Memory of a connection, in each state that a peer can keep it in.

use std::sync::Arc;

use allocation_counter::measure;
use recovery::RecoveryPolicy;
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

fn crowd(connections: u32, policy: RecoveryPolicy) -> (Crowd, Vec<Honest>) {
    let options = ConnectionOptions { policy: Arc::new(policy), ..ConnectionOptions::default() };
    let mut crowd = Crowd::new(EndpointOptions::default(), options);
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
    while let Ok(Received::Data(_)) =
        crowd.endpoint.connection_mut(id).unwrap().receive(crowd.now, 1 << 20)
    {}
    let data = vec![3; 100].into();
    crowd.endpoint.connection_mut(id).unwrap().send(crowd.now, data, SendFlags::default()).unwrap();
    crowd.drain();
    honest.ack = honest.ack.advance(100);
    crowd.give(honest.remote, &stamped(honest, 0));
    crowd.drain();
}

/// Bytes of each of many connections after the handshake, and after a message each way, with the
/// capacity that its queues keep.
fn taken(policy: RecoveryPolicy) -> [i64; 2] {
    let mut kept = None;
    let opened = measure(|| kept = Some(crowd(2000, policy)));
    let (mut crowd, mut honest) = kept.unwrap();
    let talked = measure(|| {
        for (index, honest) in honest.iter_mut().enumerate() {
            talk(&mut crowd, honest, index);
        }
    });
    [opened.bytes_current, opened.bytes_current + talked.bytes_current].map(|bytes| bytes / 2000)
}

#[test]
fn an_idle_connection_takes_less_than_two_kilobytes() {
    let [thin, default] = [RecoveryPolicy::tcp_thin(), RecoveryPolicy::tcp_default()].map(taken);
    let figures = format!("thin {thin:?}, the default {default:?} bytes, opened and talked");
    assert!(thin[0] <= 1650 && thin[1] <= 1950, "{figures}");
    assert!(default[0] <= 1650 && default[1] < 2048, "{figures}");
}
