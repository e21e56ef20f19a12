//! Remote control with a deadman switch: the machine moves only while fresh commands come. A
//! command that is late is given up where it was sent, so that none is obeyed that its operator has
//! long taken back.
//!
//! `cargo run -p thinstream --example remote_control` runs a machine, and an operator who lets go,
//! in one process.

use std::time::Duration;

use thinstream::{
    Association, AssociationOptions, Endpoint, EndpointOptions, SendOptions, StreamId,
};
use tokio::sync::watch;
use tokio::time::{interval, sleep, timeout};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Interval at which the operator's hand is read.
const EVERY: Duration = Duration::from_millis(50);
/// Age at which a command is no longer sent, nor repaired.
const STALE: Duration = Duration::from_millis(150);
/// Without a command for this time the machine stops: longer than the repair of one loss, shorter
/// than it takes to hurt.
const DEADMAN: Duration = Duration::from_millis(300);

#[tokio::main]
async fn main() -> Result<()> {
    let machine = Endpoint::bind("127.0.0.1:0".parse()?, EndpointOptions::server())?;
    let peer = (machine.local_addr(), machine.fingerprint().ok_or("it is plain")?);
    let (speed, mut watched) = watch::channel(0);
    tokio::spawn(run_machine(machine, speed));
    tokio::spawn(async move {
        while watched.changed().await.is_ok() {
            println!("speed {}", *watched.borrow());
        }
    });
    let operator = Association::connect(peer, AssociationOptions::default()).await?;
    tokio::select! {
        result = steer(&operator, || 7) => result?,
        () = sleep(Duration::from_secs(1)) => println!("the operator lets go"),
    }
    sleep(DEADMAN * 2).await;
    Ok(operator.shutdown().await?)
}

/// Sends the position of the operator's hand until the association ends or the future is dropped.
pub async fn steer(operator: &Association, hand: impl Fn() -> i8) -> Result<()> {
    let options = SendOptions { unordered: true, ..SendOptions::expiring(STALE) };
    let mut times = interval(EVERY);
    for number in 0u32.. {
        times.tick().await;
        let command = [&number.to_be_bytes()[..], &hand().to_be_bytes()].concat();
        operator.send_with(StreamId(0), command, options).await?;
    }
    Ok(())
}

/// Obeys one operator at a time, and stops whenever commands stay away.
pub async fn run_machine(endpoint: Endpoint, speed: watch::Sender<i8>) -> Result<()> {
    loop {
        let operator = endpoint.accept().await?;
        let mut newest = None;
        loop {
            let message = match timeout(DEADMAN, operator.receive()).await {
                Ok(Ok(Some(message))) => message,
                // The operator has gone, or the network has.
                Ok(_) => break,
                Err(_) => {
                    set(&speed, 0);
                    continue;
                }
            };
            let command = message.payload.into_bytes();
            let Some((number, &[value])) = command.split_first_chunk() else { continue };
            let number = Some(u32::from_be_bytes(*number));
            // Commands may overtake each other.
            if number > newest {
                newest = number;
                set(&speed, value as i8);
            }
        }
        set(&speed, 0);
    }
}

fn set(speed: &watch::Sender<i8>, value: i8) {
    speed.send_if_modified(|now| std::mem::replace(now, value) != value);
}
