//! Tests of the memory of an edge's process, as the system counts it.

use std::io::Write;
use std::time::Duration;

use interop::attack::resident;
use nix::sys::signal::{Signal, kill};

use super::edge::LIMIT;
use super::edge_rules::{MEMORY, Place, Way, echo};

#[test]
fn a_process_has_no_more_memory_than_it_may_says_how_much_and_serves_a_thin_stream_meanwhile() {
    const MIB: u64 = 1 << 20;
    let Some(place) = Place::new() else { return };
    let (process, id) = place.start_process(&["env", &format!("{MEMORY}={}", 64 * MIB)]);
    // A megabyte each in the stack, if they could, and what lies in flows.
    let mut greedy: Vec<_> = (0..150).map(|_| place.connect().unwrap()).collect();
    let piece = vec![7; 65_536];
    let mut stuck = 0;
    while stuck < 20 {
        let mut taken = 0;
        for (_, service, way) in &mut greedy {
            assert_eq!(*way, Way::ByTheEdge);
            service.set_nonblocking(true).unwrap();
            taken += service.write(&piece).unwrap_or(0);
        }
        stuck = if taken == 0 { stuck + 1 } else { 0 };
        std::thread::sleep(Duration::from_millis(10));
    }
    let (mut thin, mut service, _) = place.connect().unwrap();
    for _ in 0..10 {
        echo((&mut thin, &mut service), b"little");
    }
    let has = resident(id).unwrap();
    assert!((24 * MIB..=64 * MIB).contains(&has), "{has} bytes");
    let known = process.text().lines().filter(|line| line.starts_with("resident ")).count();
    let line = loop {
        let text = process.text();
        let told: Vec<&str> = text.lines().filter(|line| line.starts_with("resident ")).collect();
        if told.len() > known + 1 {
            break told[told.len() - 1].to_owned();
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let told: u64 = line.rsplit(' ').next().unwrap().parse().unwrap();
    let has = resident(id).unwrap();
    assert!(told.abs_diff(has) * 5 <= has, "{told} told, {has} there");
    drop((greedy, thin, service));
    kill(id, Signal::SIGTERM).unwrap();
    assert!(process.wait(LIMIT).unwrap().success(), "{}", process.text());
}
