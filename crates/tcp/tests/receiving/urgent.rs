//! Urgent data through an endpoint (RFC 6093).

use bytes::Bytes;
use tcp::{ConnectionOptions, Event, Received};

use super::support::Bench;

fn urgent(urgent_inline: bool) -> Bench {
    let options = ConnectionOptions { urgent_inline, ..Bench::plain() };
    let mut bench = Bench::accepted(options);
    bench.inject("P.U 1:11(10) ack 1 urg 5");
    assert_eq!(bench.take_events(), [Event::Urgent, Event::Readable]);
    assert_eq!(mark(&bench), Some(4));
    bench
}

fn mark(bench: &Bench) -> Option<u64> {
    bench.endpoint.connection(bench.id.unwrap()).unwrap().urgent_mark()
}

fn received(bench: &mut Bench) -> Bytes {
    match bench.receive() {
        Received::Data(bytes) => bytes,
        other => panic!("{other:?}"),
    }
}

#[test]
fn inline_the_application_reads_up_to_the_mark_and_then_on() {
    let mut bench = urgent(true);
    assert_eq!(received(&mut bench).len(), 4);
    assert_eq!(mark(&bench), Some(0));
    assert_eq!(received(&mut bench).len(), 6);
    assert_eq!(mark(&bench), None);
    assert_eq!(bench.own(|own, _| own.receive_urgent()), None);
}

#[test]
fn out_of_band_the_urgent_byte_is_read_apart() {
    let mut bench = urgent(false);
    let byte = bench.own(|own, _| own.receive_urgent());
    assert!(byte.is_some());
    assert_eq!(received(&mut bench).len(), 4);
    assert_eq!(received(&mut bench).len(), 5);
    assert!(matches!(bench.receive(), Received::Nothing));
    assert_eq!(bench.own(|own, _| own.receive_urgent()), None);
}
