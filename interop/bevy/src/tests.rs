//! Two apps over loopback: what one sends in a frame is in the world of the other some frames
//! later.

use std::time::Instant;

use super::*;

/// Frames until something holds; half a minute is far more than a slow machine needs.
fn until(what: &str, mut apps: Vec<&mut App>, mut holds: impl FnMut(&mut [&mut App]) -> bool) {
    let start = Instant::now();
    while !holds(&mut apps) {
        assert!(start.elapsed() < Duration::from_secs(30), "not after half a minute: {what}");
        apps.iter_mut().for_each(|app| app.update());
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn a_clients_steps_move_its_place_on_the_server_and_the_client_follows() {
    let net = Net::open("127.0.0.1:0", EndpointOptions::server()).unwrap();
    let address = net.peer_address().unwrap();
    let mut player = Net::open("0.0.0.0:0", EndpointOptions::client()).unwrap();
    player.connect(address).unwrap();
    let (mut server, mut client) = (app(net, server), app(player, client));
    client.update();
    assert_eq!((place(&mut server), place(&mut client)), (0, 0), "nothing came yet");
    until("the client is where the server says", vec![&mut server, &mut client], |apps| {
        place(apps[1]) >= 10
    });
    let there = place(&mut server);
    assert!((10..).contains(&there) && place(&mut client) <= there, "the client is behind");

    // A client who leaves is gone; the server's frames go on.
    let Network(net) = client.world_mut().remove_resource::<Network>().unwrap();
    net.close();
    until("the player is gone", vec![&mut server], |apps| {
        apps[0].world().resource::<Network>().0.peers.is_empty()
    });
}
