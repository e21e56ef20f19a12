use super::*;

use crate::packet::SCTP_OVER_UDP;

fn packet(protocol: Protocol) -> Packet<'static> {
    let address = std::net::IpAddr::from([10, 0, 0, 1]);
    Packet {
        source: address,
        destination: address,
        protocol,
        udp: None,
        bytes: &[],
        length: 0,
        frame_length: 0,
        identification: 0,
        is_fragment: false,
    }
}

fn end(host: u8, port: u16) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, host], port))
}

const TCP: (Protocol, u32) = (Protocol::Tcp, 0);

fn insert(table: &mut Table, now: u64, from: SocketAddr, to: SocketAddr) -> (usize, Vec<u64>) {
    let mut gone = Vec::new();
    let at = Instant::from_millis(now);
    let row = table.insert(&packet(Protocol::Tcp), (from, to), at, 0, |it| gone.push(it.number));
    (row, gone)
}

#[test]
fn a_connection_is_found_from_both_of_its_ends() {
    let mut table = Table::new(10);
    let (one, two) = (end(1, 80), end(2, 4000));
    let (row, _) = insert(&mut table, 0, one, two);
    assert_eq!(table.find(TCP, one, two, None), Some((row, Way::There)));
    assert_eq!(table.find(TCP, two, one, None), Some((row, Way::Back)));
    assert_eq!(table.find(TCP, one, end(2, 4001), None), None);
    assert_eq!(table.find((Protocol::Tcp, 1), one, two, None), None, "another interface");
    assert_eq!(table.find((Protocol::Sctp, 0), one, two, None), None);
    let own = end(3, 9);
    let (row, _) = insert(&mut table, 0, own, own);
    assert_eq!(table.find(TCP, own, own, None), Some((row, Way::There)));
}

#[test]
fn a_full_table_gives_up_one_that_was_idle_and_never_grows() {
    let mut table = Table::new(100);
    let mut gone = Vec::new();
    for port in 1..=1000 {
        gone.extend(insert(&mut table, u64::from(port), end(1, 80), end(2, port)).1);
        if let Some((row, _)) = table.find(TCP, end(1, 80), end(2, 1), None)
            && let Some(flow) = table.get(row)
        {
            flow.touched = true;
        }
    }
    assert_eq!((table.len(), gone.len(), table.numbered()), (100, 900, 1000));
    assert!(!gone.contains(&1), "it was busy");
}

#[test]
fn closed_connections_go_when_others_come() {
    let mut table = Table::new(100);
    for port in 1..=50 {
        let (row, _) = insert(&mut table, 0, end(1, 80), end(2, port));
        table.get(row).unwrap().is_closed = true;
    }
    for port in 51..=80 {
        insert(&mut table, 100_000, end(1, 80), end(2, port));
    }
    assert!(table.len() < 40, "{}", table.len());
}

#[test]
fn the_same_addresses_again_are_a_new_connection() {
    let mut table = Table::new(10);
    insert(&mut table, 0, end(1, 80), end(2, 1));
    let (row, gone) = insert(&mut table, 1, end(2, 1), end(1, 80));
    assert_eq!((gone, table.len(), table.get(row).unwrap().number), (vec![1], 1, 2));
}

fn tags(tag: u32, initiate: Option<(u32, bool)>) -> Tags {
    Tags { tag, initiate, is_last: false, interface: 0 }
}

/// An association between hosts 1 and 2 that both have port 5000; host 1 answers to tag 100, 2 to
/// tag 200.
fn association(udp: Option<(u16, u16)>) -> (Table, usize) {
    let mut table = Table::new(10);
    let (one, two) = (end(1, 5000), end(2, 5000));
    let packet = Packet { udp, ..packet(Protocol::Sctp) };
    let row = table.insert(&packet, (one, two), Instant::ZERO, 0, |_| ());
    table.bind((row, Way::There), one, two, tags(0, Some((100, true))));
    let back = udp.map(|(from, to)| (to, from));
    let found = table.find_association(two, one, back, tags(100, Some((200, false))));
    assert_eq!(found, Some((row, Way::Back)));
    assert_eq!(table.find_association(one, two, udp, tags(200, None)), Some((row, Way::There)));
    (table, row)
}

#[test]
fn an_association_is_known_by_its_tags_on_every_path() {
    let (mut table, row) = association(None);
    let other_path = table.find_association(end(7, 5000), end(8, 5000), None, tags(200, None));
    assert_eq!(other_path, Some((row, Way::There)));
    let back = table.find_association(end(8, 5000), end(7, 5000), None, tags(100, None));
    assert_eq!(back, Some((row, Way::Back)));
    let elsewhere = Tags { interface: 3, ..tags(200, None) };
    let same_path = table.find_association(end(1, 5000), end(2, 5000), None, elsewhere);
    assert_eq!(same_path, None, "the same path on another interface is seen twice");
    let other_path = table.find_association(end(7, 5000), end(8, 5000), None, elsewhere);
    assert_eq!(other_path, Some((row, Way::There)));
}

#[test]
fn another_tag_is_another_association_unless_it_ends_one() {
    let udp = Some((SCTP_OVER_UDP, SCTP_OVER_UDP));
    let (mut table, row) = association(udp);
    let (one, two) = (end(1, 5000), end(2, 5000));
    assert_eq!(table.find_association(one, two, udp, tags(0, Some((101, true)))), None);
    assert_eq!(table.find_association(one, two, udp, tags(999, None)), None);
    let abort = Tags { is_last: true, ..tags(999, None) };
    assert_eq!(table.find_association(one, two, udp, abort), Some((row, Way::There)));
    let again = tags(0, Some((100, true)));
    assert_eq!(table.find_association(one, two, udp, again), Some((row, Way::There)));
    table.remove(row, &mut |_| ());
    assert_eq!(table.find_association(one, two, udp, tags(200, None)), None);
    assert!(table.tags.is_empty() && table.tags_of.is_empty());
}
