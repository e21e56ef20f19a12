//! Partial order over a path that loses packets: which messages wait, and how long.

use base::Duration;
use layers::partial_order::{After, Delivery, MessageNumber, PartialOrder, PartialOrderOptions};
use sctp::{Ppid, SendOptions};

use crate::support::{Pair, T0, plain};

/// The client's layer, and the messages that the server's delivered.
struct Ordered {
    pair: Pair,
    client: PartialOrder,
    server: PartialOrder,
    taken: usize,
}

impl Ordered {
    /// Two ends; of the packets that the client sends from now on, those in `lost` get lost.
    fn new(lost: &[u64]) -> Ordered {
        let layer = || PartialOrder::new(PartialOrderOptions::default());
        let pair = Pair::established(plain(), lost);
        Ordered { pair, client: layer(), server: layer(), taken: 0 }
    }

    fn send(&mut self, after: After<'_>) -> MessageNumber {
        let send = SendOptions::default();
        let number = self.client.send(Ppid(1), b"message", after, send).unwrap();
        let Ordered { pair, client, .. } = self;
        client.flush(|one| pair.send_on(one.stream.0, one.payload, one.options)).unwrap();
        number
    }

    /// Messages delivered by `millis` after [`T0`], and their times, in milliseconds after it.
    fn delivered(&mut self, millis: u64) -> Vec<(u64, f64)> {
        self.pair.at(millis * 1000);
        let mut delivered = Vec::new();
        for (at, message) in &self.pair.server().messages[self.taken..] {
            let payload = message.payload.clone().into_bytes();
            self.server.handle_message(message.ppid, payload).unwrap();
            while let Some(delivery) = self.server.poll_delivery() {
                let Delivery::Message { number, .. } = delivery else { panic!() };
                delivered.push((number.index(), at.since(T0).as_millis_f64()));
            }
        }
        self.taken = self.pair.server().messages.len();
        delivered
    }
}

#[test]
fn only_those_that_name_a_lost_message_wait_for_its_retransmission() {
    let mut ordered = Ordered::new(&[1]);
    ordered.pair.at(0);
    let lost = ordered.send(After::Nothing);
    ordered.pair.at(10_000);
    let free = ordered.send(After::Nothing);
    ordered.pair.at(20_000);
    ordered.send(After::These(&[lost]));
    ordered.pair.at(30_000);
    ordered.send(After::These(&[free]));
    ordered.pair.at(40_000);
    ordered.send(After::Everything);
    // Three indications of the loss: by the SACKs of the packets of 10, 20 and 30 ms, the last of
    // which comes at 130 ms; so the lost message arrives at 180 ms.
    assert_eq!(ordered.delivered(1000), [(1, 60.0), (3, 80.0), (0, 180.0), (2, 180.0), (4, 180.0)]);
    assert_eq!(ordered.server.held(), 0);
}

#[test]
fn nothing_waits_where_nothing_is_lost() {
    let mut ordered = Ordered::new(&[]);
    for index in 0..50 {
        ordered.pair.at(index * 10_000);
        ordered.send(After::Everything);
    }
    let delays = ordered.delivered(1000).into_iter().map(|(index, at)| at - 10.0 * index as f64);
    assert_eq!(delays.collect::<Vec<_>>(), [50.0; 50]);
}

#[test]
fn a_message_in_many_fragments_is_one_and_waits_as_one() {
    let mut ordered = Ordered::new(&[2]);
    let large = vec![7; 10_000];
    let send = SendOptions::default();
    let first = ordered.client.send(Ppid(1), &large, After::Nothing, send).unwrap();
    ordered.send(After::These(&[first]));
    ordered.pair.run_for(Duration::from_secs(5));
    let delivered: Vec<_> = ordered.delivered(6000).into_iter().map(|(number, _)| number).collect();
    assert_eq!(delivered, [0, 1]);
}
