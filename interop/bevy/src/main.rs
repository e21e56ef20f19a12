//! The library in Bevy: `Net` of the plain game loop is a resource. Before the game's systems of a
//! frame, one takes what has come; those send what is new. None of them waits for the network.
//!
//! `cargo run` runs a server and a client, both without a window, in one process.

use std::time::Duration;

use bevy_app::{App, PreUpdate, Startup, Update};
use bevy_ecs::prelude::*;
use thinstream::{Bytes, EndpointOptions};

#[allow(dead_code, reason = "it has a main of its own")]
#[path = "../../../crates/thinstream/examples/game_loop.rs"]
mod game_loop;
use game_loop::Net;

#[derive(Resource)]
struct Network(Net);

/// A message of a peer, as the rest of the game sees it.
#[derive(Message)]
struct Arrived(Bytes);

/// Place of a player on a line, in steps.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
struct Place(i32);

fn network(app: &mut App) {
    app.add_message::<Arrived>().add_systems(PreUpdate, receive);
}

fn receive(mut network: ResMut<Network>, mut arrived: MessageWriter<Arrived>) {
    network.0.poll(|_peer, message| _ = arrived.write(Arrived(message)));
}

/// A server: each message of a client is a step, and all are told where that led to.
fn server(app: &mut App) {
    app.add_systems(Update, take_steps);
}

fn take_steps(
    mut steps: MessageReader<Arrived>,
    mut place: Single<&mut Place>,
    network: Res<Network>,
) {
    for Arrived(step) in steps.read() {
        place.0 += step.first().map_or(0, |step| i32::from(*step));
    }
    network.0.broadcast(&Bytes::copy_from_slice(&place.0.to_be_bytes()));
}

/// A client: it takes a step in each frame, and shows where the server says it is.
fn client(app: &mut App) {
    app.add_systems(Update, play);
}

fn play(mut states: MessageReader<Arrived>, mut place: Single<&mut Place>, network: Res<Network>) {
    let newest = states.read().filter_map(|Arrived(state)| state[..].try_into().ok()).last();
    if let Some(state) = newest {
        place.0 = i32::from_be_bytes(state);
    }
    network.0.broadcast(&Bytes::from_static(&[1]));
}

/// An app of one side. A game adds `DefaultPlugins` and calls `run`; a server adds
/// `ScheduleRunnerPlugin` instead.
fn app(net: Net, side: fn(&mut App)) -> App {
    let mut app = App::new();
    app.add_plugins((network, side)).insert_resource(Network(net));
    app.add_systems(Startup, |mut commands: Commands| _ = commands.spawn(Place::default()));
    app
}

fn place(app: &mut App) -> i32 {
    app.world_mut().query::<&Place>().single(app.world()).map_or(0, |place| place.0)
}

fn main() -> Result {
    let net = Net::open("127.0.0.1:0", EndpointOptions::server())?;
    let mut player = Net::open("0.0.0.0:0", EndpointOptions::client())?;
    player.connect(net.peer_address()?)?;
    let (mut server, mut client) = (app(net, server), app(player, client));
    for frame in 0..60 {
        client.update();
        server.update();
        println!("frame {frame}: {} on the server, {}", place(&mut server), place(&mut client));
        std::thread::sleep(Duration::from_millis(16));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
