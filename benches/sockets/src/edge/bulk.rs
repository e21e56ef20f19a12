//! Bulk through a proxy, in each direction: a few connections that send as fast as they can.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::proxy::{Between, Spent};
use super::{Place, Plan, median};
use crate::Result;

/// Bytes given to one call of write.
const PIECE: usize = 64 * 1024;

/// MB a second, and CPU of the proxy in us a MB; for data from clients and to them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Numbers([(f64, f64); 2]);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Up,
    Down,
}

/// Measures a proxy, or the kernel alone.
pub(super) fn measure(plan: &Plan, between: Between) -> Result<Numbers> {
    let mut numbers = [(0.0, 0.0); 2];
    for (direction, numbers) in [Direction::Up, Direction::Down].into_iter().zip(&mut numbers) {
        *numbers = one_way(plan, between, direction)?;
    }
    Ok(Numbers(numbers))
}

fn one_way(plan: &Plan, between: Between, direction: Direction) -> Result<(f64, f64)> {
    let place = Place::new()?;
    let arrived = Arc::new(AtomicU64::new(0));
    let listener = place.far.enter(|| TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)))??;
    let port = listener.local_addr()?.port();
    let counted = Arc::clone(&arrived);
    std::thread::spawn(move || {
        // The threads end with the connections, and this one with the benchmark.
        while let Ok((stream, _)) = listener.accept() {
            let counted = Arc::clone(&counted);
            std::thread::spawn(move || move_bytes(stream, direction == Direction::Down, &counted));
        }
    });
    let service = SocketAddr::from((Ipv4Addr::LOCALHOST, port)).to_string();
    let proxy = between.start(plan, &place, &service, plan.bulk)?;
    let address = between.address(port);
    place.wait_for(address)?;
    let mut clients = Vec::new();
    for _ in 0..plan.bulk {
        let stream = place.near.enter(|| TcpStream::connect(address))??;
        clients.push(stream.try_clone()?);
        let counted = Arc::clone(&arrived);
        std::thread::spawn(move || move_bytes(stream, direction == Direction::Up, &counted));
    }
    let spent = || proxy.as_ref().map_or(Ok(Spent::default()), |proxy| proxy.spent());
    let megabytes = || arrived.load(Ordering::Relaxed) as f64 / 1e6;
    sleep(Duration::from_secs(1));
    let (before, first, began) = (spent()?, megabytes(), Instant::now());
    sleep(Duration::from_secs(plan.timing.seconds));
    let (after, last) = (spent()?, megabytes());
    let seconds = began.elapsed().as_secs_f64();
    for client in clients {
        // An error means that it has ended by itself.
        let _ = client.shutdown(std::net::Shutdown::Both);
    }
    let moved = last - first;
    if moved <= 0.0 {
        return Err(format!("nothing went through {}", between.name()).into());
    }
    Ok((moved / seconds, (after.total - before.total) as f64 / 1e3 / moved))
}

/// Sends until the connection ends, or counts what arrives.
fn move_bytes(mut stream: TcpStream, sends: bool, arrived: &AtomicU64) {
    let mut piece = vec![7; PIECE];
    if sends {
        while stream.write_all(&piece).is_ok() {}
    } else {
        while let Ok(count @ 1..) = stream.read(&mut piece) {
            arrived.fetch_add(count as u64, Ordering::Relaxed);
        }
    }
}

pub(super) fn print(connections: usize, all: &[Between], measured: &[Vec<Numbers>]) {
    println!(
        "\n| bulk, {connections} connections through | up MB/s | CPU us a MB | down MB/s | CPU us a MB |"
    );
    println!("|---|---:|---:|---:|---:|");
    for (between, rounds) in all.iter().zip(measured) {
        let [up, down] = [0, 1].map(|way| {
            let rate = median(rounds, |numbers| numbers.0[way].0);
            let cpu = median(rounds, |numbers| numbers.0[way].1);
            format!("{rate:.0} | {cpu:.0}")
        });
        println!("| {} | {up} | {down} |", between.name());
    }
}
