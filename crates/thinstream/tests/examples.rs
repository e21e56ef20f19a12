//! The examples do what they say: their own functions, over loopback.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(
    dead_code,
    missing_docs,
    unreachable_pub,
    reason = "examples have a main, and are public to this test alone"
)]

mod support;

#[path = "../examples/chat.rs"]
mod chat;
#[path = "../examples/file_and_messages.rs"]
mod file_and_messages;
#[path = "../examples/game_loop.rs"]
mod game_loop;
#[path = "../examples/game_state.rs"]
mod game_state;
#[path = "../examples/remote_control.rs"]
mod remote_control;
#[path = "../examples/request_response.rs"]
mod request_response;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use support::{connect, server, server_options, to, within};
use thinstream::{Association, AssociationOptions, Bytes, Endpoint, EndpointOptions};

async fn client(address: std::net::SocketAddr) -> Association {
    within(connect(address, AssociationOptions::default())).await.unwrap()
}

#[test]
fn an_example_is_short_enough_to_be_read_at_once() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/examples");
    let mut read = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let lines = std::fs::read_to_string(&path).unwrap().lines().count();
        assert!(lines < 100, "{} has {lines} lines", path.display());
        read += 1;
    }
    assert!(read >= 7, "only {read} examples");
}

#[tokio::test]
async fn a_line_reaches_who_is_in_the_room_and_no_one_else() {
    let server = server();
    let address = server.local_addr();
    tokio::spawn(chat::serve(server));
    let (ann, ben) = (client(address).await, client(address).await);
    for (who, room) in [(&ann, 4), (&ann, 3), (&ben, 3)] {
        chat::say(who, room, format!("hello {room}")).await.unwrap();
        assert_eq!(within(chat::hear(who)).await.unwrap(), Some((room, format!("hello {room}"))));
    }
    assert_eq!(within(chat::hear(&ann)).await.unwrap(), Some((3, "hello 3".to_owned())), "of ben");
    chat::say(&ann, 4, "only me".into()).await.unwrap();
    chat::say(&ann, 3, "both".into()).await.unwrap();
    assert_eq!(within(chat::hear(&ben)).await.unwrap(), Some((3, "both".to_owned())));
}

#[tokio::test]
async fn a_player_sees_states_that_only_grow_newer() {
    let server = server();
    let address = server.local_addr();
    tokio::spawn(game_state::serve(server));
    let player = client(address).await;
    let mut newest = game_state::Newest::default();
    let mut last = None;
    while last < Some(5) {
        tokio::time::sleep(Duration::from_millis(20)).await;
        if let Some((tick, [x, y])) = newest.take(&player).unwrap() {
            assert!(Some(tick) > last, "{tick} after {last:?}");
            assert!((x * x + y * y - 1.0).abs() < 1e-3);
            last = Some(tick);
        }
    }
}

#[tokio::test]
async fn the_machine_moves_while_the_operator_steers_and_stops_when_it_is_let_go_or_lost() {
    let server = server();
    let address = server.local_addr();
    let (speed, mut watched) = tokio::sync::watch::channel(0);
    tokio::spawn(remote_control::run_machine(server, speed));
    let operator = client(address).await;
    let steering = operator.clone();
    let hand = tokio::spawn(async move { remote_control::steer(&steering, || -5).await });
    within(watched.wait_for(|speed| *speed == -5)).await.unwrap();
    hand.abort();
    within(watched.wait_for(|speed| *speed == 0)).await.unwrap();
    assert!(operator.try_established().unwrap(), "let go, and still connected");
    let steering = operator.clone();
    tokio::spawn(async move { remote_control::steer(&steering, || 9).await });
    within(watched.wait_for(|speed| *speed == 9)).await.unwrap();
    operator.abort("out of range");
    within(watched.wait_for(|speed| *speed == 0)).await.unwrap();
}

#[tokio::test]
async fn a_response_comes_within_its_deadline_or_not_at_all_and_none_waits_for_another() {
    let server = server();
    let peer = to(server.local_addr());
    let answer = |request: Bytes| async move {
        if request == "slow" {
            std::future::pending::<()>().await;
        }
        request.to_ascii_uppercase()
    };
    tokio::spawn(request_response::serve(server, answer));
    let client = within(request_response::Client::connect(peer)).await.unwrap();
    let long = Duration::from_secs(20);
    let (slow, quick) = within(async {
        let slow = client.call(b"slow", Duration::from_millis(200));
        tokio::join!(slow, client.call(b"quick", long))
    })
    .await;
    assert_eq!(slow.unwrap_err().kind(), std::io::ErrorKind::TimedOut);
    assert_eq!(quick.unwrap(), "QUICK");
    assert_eq!(within(client.call(b"again", long)).await.unwrap(), "AGAIN");
}

#[tokio::test]
async fn a_message_is_answered_in_the_middle_of_a_file() {
    let options = EndpointOptions { accepted: file_and_messages::options(), ..server_options() };
    let server = Endpoint::bind(support::LOOPBACK.parse().unwrap(), options).unwrap();
    let peer = to(server.local_addr());
    let receiver = tokio::spawn(async move {
        let accepted = server.accept().await.unwrap();
        file_and_messages::receive(&accepted).await
    });
    let client = within(file_and_messages::connect(peer)).await.unwrap();
    let sender = client.clone();
    let length = 20 << 20;
    let file =
        tokio::spawn(
            async move { file_and_messages::send_file(&sender, vec![1; length].into()).await },
        );
    let mut answered = 0;
    while !file.is_finished() {
        within(file_and_messages::ask(&client)).await.unwrap();
        answered += 1;
    }
    assert!(answered >= 5, "only {answered} while the file was sent");
    within(file).await.unwrap().unwrap();
    within(client.shutdown()).await.unwrap();
    assert_eq!(within(receiver).await.unwrap().unwrap(), length);
}

#[test]
fn a_game_loop_polls_both_ends_and_a_player_who_leaves_is_gone() {
    let mut server = game_loop::Net::open(support::LOOPBACK, server_options()).unwrap();
    let mut client = game_loop::Net::open("0.0.0.0:0", support::client_options()).unwrap();
    client.connect(server.peer_address().unwrap()).unwrap();
    let (mut inputs, mut states) = (BTreeSet::new(), BTreeSet::new());
    let start = Instant::now();
    let patience = || assert!(start.elapsed() < Duration::from_secs(30));
    while inputs.len() < 5 || states.len() < 5 {
        client.broadcast(&Bytes::from_static(b"keys"));
        server.broadcast(&Bytes::from(format!("world {}", states.len())));
        server.poll(|player, input| assert!(inputs.insert((player, inputs.len(), input))));
        client.poll(|_, state| _ = states.insert(state));
        patience();
        std::thread::sleep(Duration::from_millis(2));
    }
    assert!(inputs.iter().all(|(player, _, input)| *player == 0 && input == "keys"));
    client.close();
    while !server.peers.is_empty() {
        server.poll(|_, _| {});
        patience();
        std::thread::sleep(Duration::from_millis(2));
    }
}
