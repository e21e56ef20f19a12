//! A chat with rooms. A room is a stream: who speaks in it is in it, and a loss in one room holds
//! up no other.
//!
//! `cargo run -p thinstream --example chat` is the server; with the arguments `HOST:PORT
//! FINGERPRINT NAME` it is a client, whose line `3 hello` goes to room 3.

use std::collections::BTreeMap;
use std::io::BufRead;
use std::sync::{Arc, Mutex, PoisonError};

use thinstream::{
    Association, AssociationOptions, Endpoint, EndpointOptions, SendOptions, StreamId,
};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// The members of each room: a number for each association, and the association.
type Rooms = Arc<Mutex<BTreeMap<StreamId, BTreeMap<u64, Association>>>>;

#[tokio::main]
async fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [server, fingerprint, name] = &arguments[..] {
        let peer = (server.as_str(), fingerprint.parse::<thinstream::Fingerprint>()?);
        return talk(Association::connect(peer, AssociationOptions::default()).await?, name).await;
    }
    let endpoint = Endpoint::bind("[::]:9899".parse()?, EndpointOptions::server())?;
    println!("{} {}", endpoint.local_addr(), endpoint.fingerprint().ok_or("it is plain")?);
    serve(endpoint).await
}

/// Lets all who connect talk to each other.
pub async fn serve(endpoint: Endpoint) -> Result<()> {
    let rooms = Rooms::default();
    for number in 0.. {
        let association = endpoint.accept().await?;
        let rooms = Arc::clone(&rooms);
        tokio::spawn(async move {
            while let Ok(Some(message)) = association.receive().await {
                let text = message.payload.into_bytes();
                let mut rooms = rooms.lock().unwrap_or_else(PoisonError::into_inner);
                let room = rooms.entry(message.stream).or_default();
                room.entry(number).or_insert_with(|| association.clone());
                for member in room.values() {
                    // A member who does not read misses lines, and holds up no other.
                    let _ = member.try_send(message.stream, text.clone(), SendOptions::default());
                }
            }
            let mut rooms = rooms.lock().unwrap_or_else(PoisonError::into_inner);
            rooms.values_mut().for_each(|room| _ = room.remove(&number));
        });
    }
    Ok(())
}

/// Says something in a room.
pub async fn say(association: &Association, room: u16, line: String) -> Result<()> {
    Ok(association.send(StreamId(room), line).await?)
}

/// The next line of any room.
pub async fn hear(association: &Association) -> Result<Option<(u16, String)>> {
    let Some(message) = association.receive().await? else { return Ok(None) };
    let line = String::from_utf8_lossy(&message.payload.into_bytes()).into_owned();
    Ok(Some((message.stream.0, line)))
}

async fn talk(association: Association, name: &str) -> Result<()> {
    let (typed, mut lines) = tokio::sync::mpsc::channel(1);
    // Reading from a terminal blocks: it has a thread of its own.
    std::thread::spawn(move || {
        std::io::stdin()
            .lock()
            .lines()
            .map_while(std::io::Result::ok)
            .try_for_each(|line| typed.blocking_send(line))
    });
    loop {
        tokio::select! {
            heard = hear(&association) => match heard? {
                Some((room, line)) => println!("[{room}] {line}"),
                None => return Ok(()),
            },
            line = lines.recv() => {
                let Some(line) = line else { return Ok(association.shutdown().await?) };
                let (room, text) = line.split_once(' ').unwrap_or(("0", &line));
                say(&association, room.parse()?, format!("{name}: {text}")).await?;
            }
        }
    }
}
