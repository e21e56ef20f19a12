//! The state of a game at 30 Hz: the newest value wins. A state that is lost is resent only while
//! it is young enough to matter, states overtake each other, and the player draws the newest one
//! that has come.
//!
//! `cargo run -p thinstream --example game_state` runs a server and a player in one process.

use std::time::Duration;

use thinstream::{
    Association, AssociationOptions, Endpoint, EndpointOptions, SendOptions, StreamId,
};
use tokio::time::{MissedTickBehavior, interval, sleep};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

const TICK: Duration = Duration::from_nanos(1_000_000_000 / 30);
/// After three newer states this one interests no one: whatever is left of it is given up, even in
/// the middle of a repair.
const USEFUL: Duration = Duration::from_millis(100);
/// A player who is not heard for so long has left.
const GONE: Duration = Duration::from_secs(5);

#[tokio::main]
async fn main() -> Result<()> {
    let options = EndpointOptions { dead_after: Some(GONE), ..EndpointOptions::server() };
    let server = Endpoint::bind("127.0.0.1:0".parse()?, options)?;
    let peer = (server.local_addr(), server.fingerprint().ok_or("it is plain")?);
    tokio::spawn(serve(server));
    let player = Association::connect(peer, AssociationOptions::default()).await?;
    let mut shown = Newest::default();
    for _ in 0..10 {
        sleep(Duration::from_millis(100)).await;
        if let Some((tick, state)) = shown.take(&player)? {
            println!("state {tick}: {state:?}");
        }
    }
    Ok(player.shutdown().await?)
}

/// Sends the state of the world to all who connect.
pub async fn serve(endpoint: Endpoint) -> Result<()> {
    loop {
        tokio::spawn(publish(endpoint.accept().await?));
    }
}

async fn publish(player: Association) -> Result<()> {
    let mut ticks = interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let options = SendOptions { unordered: true, ..SendOptions::expiring(USEFUL) };
    for tick in 0u32.. {
        ticks.tick().await;
        let angle = tick as f32 / 30.0;
        let state = encode(tick, [angle.cos(), angle.sin()]);
        match player.try_send(StreamId(0), state, options) {
            // The next state takes the place of one for which there is no room.
            Ok(()) | Err(thinstream::TrySendError::Full) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// The newest state that has arrived.
#[derive(Default)]
pub struct Newest {
    seen: Option<u32>,
}

impl Newest {
    /// Takes what has arrived, and returns the newest state if it is newer than the one before.
    pub fn take(&mut self, server: &Association) -> Result<Option<(u32, [f32; 2])>> {
        let mut newest = None;
        while let Some(message) = server.try_receive()? {
            let Some((tick, state)) = decode(&message.payload.into_bytes()) else { continue };
            if self.seen.is_none_or(|seen| tick > seen) {
                self.seen = Some(tick);
                newest = Some((tick, state));
            }
        }
        Ok(newest)
    }
}

fn encode(tick: u32, [x, y]: [f32; 2]) -> Vec<u8> {
    [tick.to_be_bytes(), x.to_be_bytes(), y.to_be_bytes()].concat()
}

fn decode(bytes: &[u8]) -> Option<(u32, [f32; 2])> {
    let word = |at: usize| bytes.get(at..at + 4)?.try_into().ok();
    let state = [f32::from_be_bytes(word(4)?), f32::from_be_bytes(word(8)?)];
    Some((u32::from_be_bytes(word(0)?), state))
}
