//! The command `thinstream edge` as a process, in a network namespace of its own.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

use interop::{Namespace, Process, Wire, available};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

const LIMIT: Duration = Duration::from_secs(120);

fn command(service: u16) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_thinstream"));
    command.args(["edge", "--json", "--interval", "50ms", "--device", "edge0"]);
    command.args(["--address", "10.78.0.2/24", "--listen", "80"]);
    command.args(["--forward", &format!("127.0.0.1:{service}")]);
    command
}

fn edge(namespace: &Namespace, service: u16) -> Process {
    Process::start(Some(namespace), command(service)).unwrap()
}

/// The lines of JSON about this event, so far.
fn events(process: &Process, event: &str) -> Vec<Value> {
    let lines = process.lines_with("{");
    let values = lines.iter().map(|line| serde_json::from_str::<Value>(line).unwrap());
    values.filter(|value| value["event"] == event).collect()
}

#[test]
fn the_edge_as_a_process_tells_of_its_connections_and_ends_in_order_with_sigterm() {
    let Some(()) = available(Wire::find()) else { return };
    let namespace = Namespace::new().unwrap();
    let listener = namespace.enter(|| TcpListener::bind("127.0.0.1:0")).unwrap().unwrap();
    let port = listener.local_addr().unwrap().port();
    let process = edge(&namespace, port);
    process.wait_for_line("edge0 is up", LIMIT).unwrap();
    let connect = || TcpStream::connect("10.78.0.2:80");
    let mut client = namespace.enter(connect).unwrap().unwrap();
    let mut service = listener.accept().unwrap().0;
    for stream in [&client, &service] {
        stream.set_read_timeout(Some(LIMIT)).unwrap();
    }
    let mut heard = [0; 5];
    client.write_all(b"hello").unwrap();
    service.read_exact(&mut heard).unwrap();
    process.wait_for_line("\"bytes_up\":5", LIMIT).unwrap();
    let status = events(&process, "status").pop().unwrap();
    let connection = &status["connections"][0];
    assert_eq!(connection["client"], client.local_addr().unwrap().to_string());
    assert_eq!(connection["state"], "ESTABLISHED");

    process.signal(Signal::SIGTERM);
    process.wait_for_line("takes no more connections", LIMIT).unwrap();
    service.write_all(b"there").unwrap();
    client.read_exact(&mut heard).unwrap();
    assert_eq!(heard, *b"there");
    drop((client, service));
    assert_eq!(process.wait(LIMIT).unwrap().code(), Some(0), "{}", process.text());
    let report = events(&process, "report").pop().unwrap();
    let service = &report["services"][0];
    assert_eq!((&service["finished"], &service["bytes_down"]), (&1.into(), &5.into()), "{report}");
}

#[test]
fn an_edge_whose_device_is_taken_names_it_and_fails() {
    let Some(()) = available(Wire::find()) else { return };
    let namespace = Namespace::new().unwrap();
    let first = edge(&namespace, 9);
    first.wait_for_line("edge0 is up", LIMIT).unwrap();
    let second = edge(&namespace, 9);
    assert_eq!(second.wait(LIMIT).unwrap().code(), Some(3), "{}", second.text());
    assert!(second.text().contains("edge0"), "{}", second.text());
}

#[test]
fn an_edge_in_a_network_that_the_machine_is_in_is_refused_and_leaves_no_device() {
    let Some(()) = available(Wire::find()) else { return };
    let namespace = Namespace::new().unwrap();
    namespace.ip("addr add 10.78.0.9/24 dev lo").unwrap();
    let refused = edge(&namespace, 9);
    assert_eq!(refused.wait(LIMIT).unwrap().code(), Some(2), "{}", refused.text());
    let text = refused.text();
    assert!(text.contains("10.78.0.9 at lo") && text.contains("10.78.0.0/24"), "{text}");
    assert!(namespace.ip("link show edge0").is_err());
    namespace.ip("addr del 10.78.0.9/24 dev lo").unwrap();
    edge(&namespace, 9).wait_for_line("edge0 is up", LIMIT).unwrap();
}

#[test]
fn an_edge_whose_lines_nobody_reads_is_up_tells_its_state_and_ends_in_order() {
    let Some(()) = available(Wire::find()) else { return };
    let namespace = Namespace::new().unwrap();
    let (unread, full) = std::io::pipe().unwrap();
    // Another thread fills the pipe, and blocks once it is full.
    let mut filling = full.try_clone().unwrap();
    std::thread::spawn(move || while filling.write_all(&[b'\n'; 4096]).is_ok() {});
    let mut command = command(9);
    command.stderr(full).stdout(Stdio::piped());
    let mut child = namespace.enter(|| command.spawn()).unwrap().unwrap();
    drop(command);
    let (line, lines) = channel();
    let out = BufReader::new(child.stdout.take().unwrap());
    std::thread::spawn(move || {
        out.lines().map_while(Result::ok).try_for_each(|text| line.send(text))
    });
    let wait_for = |event: &str| {
        while !lines.recv_timeout(LIMIT).expect(event).contains(event) {}
    };
    wait_for("\"event\":\"status\"");
    kill(Pid::from_raw(child.id() as i32), Signal::SIGTERM).unwrap();
    wait_for("\"event\":\"report\"");
    assert_eq!(child.wait().unwrap().code(), Some(0));
    // Until here nothing was read.
    drop(unread);
}
