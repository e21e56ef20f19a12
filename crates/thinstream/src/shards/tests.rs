use base::{Ecn, Purpose};

use super::*;

const MOST: usize = Mailboxes::<Parcel>::MOST;

fn shards(count: usize) -> Arc<Shards> {
    let count = NonZeroUsize::new(count).unwrap();
    Shards::new(count, false, &mut RandomStream::new(1, Purpose("shards", 0)))
}

fn whom(last: u8, port: u16) -> Whom {
    (IpAddr::from([192, 0, 2, last]), port)
}

fn parcel(number: u8, leg: Leg) -> Parcel {
    let address = SocketAddr::from(([192, 0, 2, 1], 1));
    let meta = DatagramMeta { local: address, remote: address, ecn: Ecn::NotEct, origin: None };
    Parcel::Datagram { meta, datagram: vec![number].into(), leg }
}

#[test]
fn homes_spread_peers_evenly_and_stay() {
    let shards = shards(4);
    let mut counts = [0; 4];
    for port in 0..4000 {
        let home = shards.home(whom(1, port));
        assert_eq!(shards.home(whom(1, port)), home);
        counts[home] += 1;
    }
    // 1,000 are expected, with a standard deviation of 27.
    assert!(counts.iter().all(|count| (850..1150).contains(count)), "{counts:?}");
}

#[test]
fn a_detour_leads_to_its_shard_until_that_shard_takes_it_back() {
    let shards = shards(2);
    assert_eq!(shards.detour(whom(1, 7)), None);
    shards.add_detour(whom(1, 7), 1);
    assert_eq!((shards.detour(whom(1, 7)), shards.detour(whom(1, 8))), (Some(1), None));
    // Another shard has it by now.
    shards.remove_detour(whom(1, 7), 0);
    assert_eq!(shards.detour(whom(1, 7)), Some(1));
    shards.remove_detour(whom(1, 7), 1);
    assert_eq!(shards.detour(whom(1, 7)), None);
}

#[test]
fn parcels_wait_in_order_for_their_shard_and_no_more_than_a_mailbox_holds() {
    let shards = shards(2);
    for number in 0..=255 {
        shards.post(1, parcel(number, Leg::Last));
    }
    assert!(shards.collect(0).is_none());
    for number in 0..=255 {
        let Some(Parcel::Datagram { datagram, .. }) = shards.collect(1) else { panic!("none") };
        assert_eq!(datagram.head[0], number);
    }
    assert!(shards.collect(1).is_none());
    for leg in [Leg::Search(1), Leg::Last] {
        for _ in 0..MOST / 2 + 5 {
            shards.post(0, parcel(1, leg));
        }
    }
    let statistics = shards.statistics();
    let counted = (statistics.handed_over, statistics.dropped);
    assert_eq!(counted, (256 + MOST as u64, 10), "what is sought takes half at most");
}
