//! TIME-WAIT and connections reopened between the same addresses (RFC 9293, section 3.6.1; RFC
//! 6191).

use std::net::SocketAddr;

use tcp::wire::SeqNumber;
use tcp::{ConnectError, ConnectionOptions, EndpointOptions, ListenOptions, State, SynCookies};

use crate::support::{Bench, LOCAL, REMOTE, address};

fn endpoint(options: EndpointOptions, accepted: ConnectionOptions, backlog: usize) -> Bench {
    let mut bench = Bench::new(options);
    let options = ListenOptions { accepted, backlog };
    bench.listener = Some(bench.endpoint.listen(address("0.0.0.0:80"), options).unwrap());
    bench
}

/// A connection that the peer opened, closed by this side first and released; the peer's FIN had
/// number 1.
fn wait_after(mut bench: Bench) -> Bench {
    bench.inject("S 0:0(0) <mss 1460>");
    bench.inject(". 1:1(0) ack 1");
    bench.act(|endpoint, now, id| endpoint.release(now, id));
    bench.inject("F. 1:1(0) ack 2");
    assert_eq!((bench.endpoint.connection_count(), bench.endpoint.time_wait_count()), (0, 1));
    bench.sent.clear();
    bench
}

/// Asserts that the record in TIME-WAIT still answers the peer's FIN.
#[track_caller]
fn still_waits(bench: &mut Bench) {
    bench.inject("F. 1:1(0) ack 2");
    bench.expect(&[". 2:2(0) ack 2"]);
    assert_eq!(bench.endpoint.time_wait_count(), 1);
}

#[test]
fn a_syn_for_which_there_is_no_room_does_not_end_it() {
    // The maximum number of connections: another one from the same peer.
    let options = EndpointOptions { max_connections: 1, ..EndpointOptions::default() };
    let mut bench = wait_after(endpoint(options, Bench::plain(), 10));
    bench.remote.set_port(4001);
    bench.inject("S 0:0(0)");
    bench.remote = address(REMOTE);
    bench.sent.clear();
    bench.inject("S 70:70(0)");
    bench.expect(&[]);
    assert_eq!(bench.endpoint.stats().syns_dropped, 1);
    let iss = bench.iss;
    bench.inject("F. 1:1(0) ack 2");
    assert_eq!((bench.taken().len(), bench.iss), (1, iss));
    assert_eq!(bench.endpoint.time_wait_count(), 1);
}

#[test]
fn it_is_not_given_up_for_a_cookie_whose_number_may_lie_among_the_old_ones() {
    let none = EndpointOptions { syn_backlog: 0, ..EndpointOptions::default() };
    let mut bench = endpoint(EndpointOptions::default(), Bench::plain(), 10);
    bench = wait_after(bench);
    assert_eq!(bench.endpoint.stats().cookies_sent, 0);
    still_waits(&mut bench);

    // With a backlog of zero a cookie answers every other SYN.
    let mut bench = wait_after(endpoint(none, Bench::plain(), 10));
    assert_eq!(bench.endpoint.stats().cookies_sent, 1);
    bench.inject("S 70:70(0)");
    bench.expect(&[]);
    assert_eq!(bench.endpoint.stats().cookies_sent, 1);
    still_waits(&mut bench);
}

#[test]
fn where_cookies_are_all_there_is_a_new_connection_still_begins_after_the_old_one() {
    let always = EndpointOptions { syn_cookies: SynCookies::Always, ..EndpointOptions::default() };
    let mut bench = wait_after(endpoint(always, Bench::plain(), 10));
    let old = bench.iss.advance(2);
    bench.inject("S 70:70(0)");
    assert!(bench.iss.is_after(old));
    assert_eq!(bench.endpoint.time_wait_count(), 0);
    bench.inject(". 71:71(0) ack 1");
    assert_eq!(bench.state(), Some(State::Established));
}

#[test]
fn where_nobody_listens_any_more_a_syn_is_acknowledged() {
    let mut bench = wait_after(endpoint(EndpointOptions::default(), Bench::plain(), 10));
    let (now, listener) = (bench.now, bench.listener.unwrap());
    bench.endpoint.close_listener(now, listener);
    bench.inject("S 70:70(0)");
    bench.expect(&[". 2:2(0) ack 2"]);
    still_waits(&mut bench);
}

/// A connection that this side opened from the only ephemeral port, and closed.
fn closed(stamped: bool) -> Bench {
    let endpoint = EndpointOptions { ephemeral_ports: 80..=80, ..EndpointOptions::default() };
    let mut bench = Bench::new(endpoint);
    let options = ConnectionOptions { timestamps: stamped, ..Bench::plain() };
    open(&mut bench, 0, options).unwrap();
    let options = |bench: &Bench, value: u32| match bench.sent[0].1.options.timestamps {
        Some(stamps) => format!(" <mss 1460,TS {value} {}>", stamps.value),
        None => " <mss 1460>".to_owned(),
    };
    let syn = format!("S. 0:0(0) ack 1{}", options(&bench, 100));
    bench.inject(&syn);
    bench.act(|endpoint, now, id| endpoint.release(now, id));
    let fin = format!("F. 1:1(0) ack 2{}", options(&bench, 101));
    bench.inject(&fin);
    assert_eq!((bench.endpoint.connection_count(), bench.endpoint.time_wait_count()), (0, 1));
    bench
}

/// Opens a connection from a port, or from any if it is 0; returns its initial sequence number.
fn open(
    bench: &mut Bench,
    port: u16,
    options: ConnectionOptions,
) -> Result<SeqNumber, ConnectError> {
    let (now, remote) = (bench.now, bench.remote);
    let local = SocketAddr::new(address(LOCAL).ip(), port);
    bench.id = Some(bench.endpoint.connect(now, local, remote, options)?);
    bench.act(|_, _, _| ());
    Ok(bench.iss)
}

fn stamped() -> ConnectionOptions {
    ConnectionOptions { timestamps: true, ..Bench::plain() }
}

#[test]
fn this_side_opens_anew_after_a_second_if_timestamps_tell_old_from_new() {
    let mut bench = closed(true);
    let old = bench.iss.advance(2);
    bench.wait(999);
    assert_eq!(open(&mut bench, 80, stamped()), Err(ConnectError::TimeWait));
    bench.wait(1);
    assert_eq!(open(&mut bench, 80, Bench::plain()), Err(ConnectError::TimeWait));
    assert!(open(&mut bench, 80, stamped()).unwrap().is_after(old));
    assert_eq!(bench.endpoint.time_wait_count(), 0);
    assert_eq!(open(&mut bench, 80, stamped()), Err(ConnectError::Exists));
}

#[test]
fn without_timestamps_it_must_wait_until_the_end() {
    let mut bench = closed(false);
    bench.wait(59_999);
    assert_eq!(open(&mut bench, 80, stamped()), Err(ConnectError::TimeWait));
    bench.wait(1);
    assert!(open(&mut bench, 80, stamped()).is_ok());
}

#[test]
fn a_port_in_time_wait_is_chosen_only_if_there_is_no_other() {
    let mut bench = closed(true);
    bench.wait(999);
    assert_eq!(open(&mut bench, 0, stamped()), Err(ConnectError::NoPort));
    bench.wait(1);
    assert_eq!(open(&mut bench, 0, Bench::plain()), Err(ConnectError::NoPort));
    let old = bench.iss.advance(2);
    assert!(open(&mut bench, 0, stamped()).unwrap().is_after(old));
}
