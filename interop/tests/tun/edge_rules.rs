//! The rules by which clients on other machines reach an edge: what they leave alone, and how they
//! end.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use apps::edge::{EdgeNotice, EdgeOptions, edge};
use interop::{
    EDGE, EDGE_PORT as PORT, EdgePlace, Namespace, Process, Wire, WirePlan, available, edge_options,
};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::edge::{LIMIT, Running, patient};

/// A machine with a service at port 80 that the edge is put in front of, and one with clients.
pub(crate) struct Place {
    pub(crate) near: Namespace,
    pub(crate) far: Namespace,
    pub(crate) service: TcpListener,
    _wire: Wire,
}

/// The way by which a connection reached the service.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Straight,
    ByTheEdge,
}

impl Place {
    pub(crate) fn new() -> Option<Place> {
        available(Wire::find())?;
        available(interop::program("nft", "nftables").map(drop))?;
        let plan = WirePlan::lossy(base::Duration::ZERO, 0, 1);
        let EdgePlace { near, far, wire } = EdgePlace::new(plan).unwrap();
        let bind = || TcpListener::bind((Ipv4Addr::UNSPECIFIED, PORT));
        let service = far.enter(bind).unwrap().unwrap();
        Some(Place { near, far, service, _wire: wire })
    }

    /// A connection to the machine's own address, with both of its ends, if there is an answer.
    pub(crate) fn connect(&self) -> std::io::Result<(TcpStream, TcpStream, Way)> {
        let to = SocketAddr::from((Wire::address(1), PORT));
        let client = self.near.enter(|| TcpStream::connect_timeout(&to, LIMIT)).unwrap()?;
        let mut client = patient(client);
        // An edge that just ends resets what it has accepted.
        client.write_all(b"?")?;
        self.service.set_nonblocking(true)?;
        let deadline = Instant::now() + LIMIT;
        loop {
            match self.service.accept() {
                Ok((mut stream, from)) => {
                    stream.set_nonblocking(false)?;
                    if stream.read(&mut [0])? == 0 {
                        continue;
                    }
                    let way = if from.ip().is_loopback() { Way::ByTheEdge } else { Way::Straight };
                    return Ok((client, patient(stream), way));
                }
                Err(_) if Instant::now() < deadline => {
                    client.set_nonblocking(true)?;
                    match client.read(&mut [0]) {
                        Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                        Err(error) => return Err(error),
                        Ok(_) => return Err(std::io::ErrorKind::ConnectionReset.into()),
                    }
                    client.set_nonblocking(false)?;
                    std::thread::sleep(Duration::from_millis(5));
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Waits until new connections go straight to the service.
    fn wait_for_the_straight_way(&self) {
        let deadline = Instant::now() + LIMIT;
        while !matches!(self.connect(), Ok((_, _, Way::Straight))) {
            assert!(Instant::now() < deadline, "{}", self.rules());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn rules(&self) -> String {
        let nft = Path::new("nft");
        Process::output(Some(&self.far), nft, &["list", "ruleset"]).unwrap().1
    }

    pub(crate) fn setting(&self, name: &str) -> String {
        let read = || std::fs::read_to_string(format!("/proc/sys/net/{name}"));
        self.far.enter(read).unwrap().unwrap().trim().to_owned()
    }

    /// The settings that decide what is forwarded.
    fn settings(&self) -> Vec<String> {
        let names = [
            FORWARDING,
            "ipv4/ip_forward",
            "ipv4/conf/all/forwarding",
            "ipv6/conf/all/forwarding",
            "ipv6/conf/far/accept_ra",
        ];
        names.into_iter().map(|name| format!("{name}={}", self.setting(name))).collect()
    }

    /// Two edges for both families, for ports of their own.
    fn start_two(&self) -> [Running; 2] {
        let behind = SocketAddr::from((Ipv4Addr::LOCALHOST, PORT));
        [78, 77].map(|network| {
            Running::start(&self.far, behind, |options| {
                with_rules(options);
                options.device = Some(format!("edge{network}"));
                let addresses = [format!("10.{network}.0.2/24"), format!("fd{network}::2/64")];
                options.addresses = addresses.iter().map(|text| text.parse().unwrap()).collect();
                options.services[0].listen = network.to_string().parse().unwrap();
            })
        })
    }

    /// Waits until nothing is left of the edge.
    fn wait_for_nothing_left(&self) {
        let deadline = Instant::now() + LIMIT;
        while self.rules().contains("thinstream") {
            assert!(Instant::now() < deadline, "{}", self.rules());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// An edge in a process of its own, begun by a program such as `nohup`, and that process.
    pub(crate) fn start_process(&self, under: &[&str]) -> (Process, Pid) {
        let own = std::env::current_exe().unwrap();
        // The parent may ignore signals, as a shell lets its background jobs do, and a child
        // inherits that.
        let heeds_signals = ["env", "--default-signal"].into_iter();
        let words: Vec<&str> =
            heeds_signals.chain(under.iter().copied()).chain([own.to_str().unwrap()]).collect();
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).args(["--exact", CHILD_TEST, "--nocapture"]).env(CHILD, "1");
        let process = Process::start(Some(&self.far), command).unwrap();
        let line = process.wait_for_line("ready as ", LIMIT).unwrap();
        let id = line.rsplit(' ').next().unwrap().parse().unwrap();
        (process, Pid::from_raw(id))
    }
}

const FORWARDING: &str = "ipv4/conf/far/forwarding";
/// Variable in the environment of the process that is to be an edge; and the test that is one then.
const CHILD: &str = "THINSTREAM_TEST_EDGE";
const CHILD_TEST: &str = "edge_rules::an_edge_in_a_process_of_its_own_says_when_it_is_ready";
/// Variable in the environment with the bytes of memory that it may have; it reports those that it
/// has then.
pub(crate) const MEMORY: &str = "THINSTREAM_TEST_EDGE_MEMORY";

pub(crate) fn echo((client, service): (&mut TcpStream, &mut TcpStream), word: &[u8]) {
    let mut heard = vec![0; word.len()];
    client.write_all(word).unwrap();
    service.read_exact(&mut heard).unwrap();
    service.write_all(&heard).unwrap();
    client.read_exact(&mut heard).unwrap();
    assert_eq!(heard, word);
}

pub(crate) fn with_rules(options: &mut EdgeOptions) {
    options.setup = true;
    options.outside = Some("far".into());
}

#[test]
fn an_edge_in_a_process_of_its_own_says_when_it_is_ready() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    let mut options = edge_options(SocketAddr::from((Ipv4Addr::LOCALHOST, PORT))).unwrap();
    options.device = Some("edge0".into());
    options.drain = base::Duration::from_secs(600);
    with_rules(&mut options);
    let memory = std::env::var(MEMORY).ok();
    options.memory = memory.map_or(options.memory, |bytes| bytes.parse().unwrap());
    let tells = std::env::var_os(MEMORY).is_some();
    let mut notice = |notice: EdgeNotice| match notice {
        EdgeNotice::Ready { most, .. } => {
            println!("at most {}", most.unwrap_or(usize::MAX));
            println!("ready as {}", std::process::id());
        }
        EdgeNotice::Draining { .. } => println!("drains"),
        EdgeNotice::RulesLost { why } => println!("rules lost: {why}"),
        EdgeNotice::RulesRestored => println!("rules restored"),
        EdgeNotice::Status(status) if tells => println!("resident {}", status.stack.resident_bytes),
        EdgeNotice::Status(_) => {}
    };
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_all().build().unwrap().block_on(edge(&options, &mut notice)).unwrap();
}

#[test]
fn connections_from_before_the_rules_go_on_beside_new_ones_through_the_edge() {
    let Some(place) = Place::new() else { return };
    let (mut client, mut service, way) = place.connect().unwrap();
    assert_eq!(way, Way::Straight);
    echo((&mut client, &mut service), b"before");
    let behind = SocketAddr::from((Ipv4Addr::LOCALHOST, PORT));
    let edge = Running::start(&place.far, behind, with_rules);
    echo((&mut client, &mut service), b"while it is there");
    let (mut other, mut other_service, way) = place.connect().unwrap();
    assert_eq!(way, Way::ByTheEdge);
    echo((&mut other, &mut other_service), b"by the edge");
    drop((other, other_service));
    edge.end();
    echo((&mut client, &mut service), b"after");
    place.wait_for_nothing_left();
    assert_eq!(place.connect().unwrap().2, Way::Straight);
}

#[test]
fn the_rules_go_with_an_edge_that_is_killed() {
    let Some(place) = Place::new() else { return };
    let found = place.settings();
    let (process, id) = place.start_process(&[]);
    assert_eq!(place.connect().unwrap().2, Way::ByTheEdge);
    assert_eq!(place.settings(), found, "the machine becomes no router");
    kill(id, Signal::SIGKILL).unwrap();
    place.wait_for_the_straight_way();
    place.wait_for_nothing_left();
    assert!(!process.wait(LIMIT).unwrap().success());
}

/// A client of an edge that it reached at this address, and that was killed then.
fn orphaned(place: &Place, to: Ipv4Addr) -> TcpStream {
    let (process, id) = place.start_process(&[]);
    let connect = || TcpStream::connect((to, PORT));
    let mut client = patient(place.near.enter(connect).unwrap().unwrap());
    let (mut service, from) = place.service.accept().unwrap();
    assert!(from.ip().is_loopback());
    echo((&mut client, &mut service), b"hello");
    kill(id, Signal::SIGKILL).unwrap();
    assert!(!process.wait(LIMIT).unwrap().success());
    assert_eq!(patient(service).read(&mut [0]).unwrap(), 0, "the service is told at once");
    place.wait_for_nothing_left();
    client
}

#[test]
fn a_client_of_an_edge_that_was_killed_is_reset_once_it_sends() {
    let Some(place) = Place::new() else { return };
    let mut client = orphaned(&place, Wire::address(1));
    client.write_all(b"?").unwrap();
    let error = client.read(&mut [0]).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
}

#[test]
fn a_client_without_translation_is_reset_by_the_edge_that_follows_one_that_was_killed() {
    let Some(place) = Place::new() else { return };
    place.far.forward().unwrap();
    EdgePlace::lead_to_edge(&place.near).unwrap();
    let mut client = orphaned(&place, EDGE);
    let (process, id) = place.start_process(&[]);
    client.write_all(b"?").unwrap();
    let error = client.read(&mut [0]).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
    kill(id, Signal::SIGTERM).unwrap();
    assert!(process.wait(LIMIT).unwrap().success(), "{}", process.text());
}

#[test]
fn the_end_of_its_terminal_ends_an_edge_in_order_but_not_under_nohup() {
    let Some(place) = Place::new() else { return };
    for signal in [Signal::SIGHUP, Signal::SIGQUIT] {
        let (process, id) = place.start_process(&[]);
        let (mut client, mut service, _) = place.connect().unwrap();
        kill(id, signal).unwrap();
        process.wait_for_line("drains", LIMIT).unwrap();
        // The system may report a hangup twice.
        kill(id, Signal::SIGHUP).unwrap();
        echo((&mut client, &mut service), b"still here");
        drop((client, service));
        assert!(process.wait(LIMIT).unwrap().success(), "{signal}: {}", process.text());
        place.wait_for_nothing_left();
    }

    let (process, id) = place.start_process(&["nohup"]);
    kill(id, Signal::SIGHUP).unwrap();
    for _ in 0..3 {
        let (mut client, mut service, way) = place.connect().unwrap();
        assert_eq!(way, Way::ByTheEdge);
        echo((&mut client, &mut service), b"nothing happened");
    }
    kill(id, Signal::SIGTERM).unwrap();
    assert!(process.wait(LIMIT).unwrap().success(), "{}", process.text());
}

/// Ends the process that holds the rules of an edge.
fn end_holder(edge: Pid) {
    // Whichever thread started it.
    let threads = std::fs::read_dir(format!("/proc/{edge}/task")).unwrap();
    let of_thread = |entry: std::io::Result<std::fs::DirEntry>| {
        std::fs::read_to_string(entry.ok()?.path().join("children")).ok()
    };
    let all: String = threads.filter_map(of_thread).collect::<Vec<_>>().join(" ");
    let guards: Vec<i32> = all.split_whitespace().map(|id| id.parse().unwrap()).collect();
    assert_eq!(guards.len(), 1, "{all}");
    kill(Pid::from_raw(guards[0]), Signal::SIGKILL).unwrap();
}

#[test]
fn rules_whose_holder_is_ended_are_made_anew() {
    let Some(place) = Place::new() else { return };
    let (process, id) = place.start_process(&[]);
    end_holder(id);
    process.wait_for_line("rules restored", LIMIT).unwrap();
    assert_eq!(place.connect().unwrap().2, Way::ByTheEdge);
    kill(id, Signal::SIGTERM).unwrap();
    assert!(process.wait(LIMIT).unwrap().success(), "{}", process.text());
}

/// A folder with a `nft` that is as it should be unless there are files beside it: it waits while
/// there is `stuck`, and leaves `asked` then, and it fails where there is `broken`.
fn spoilt_nft() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let nft = interop::program("nft", "nftables").unwrap();
    let script = format!(
        "#!/bin/sh\ncd '{}'\n[ ! -e stuck ] || : > asked\nwhile [ -e stuck ]; do sleep .02; done\n\
         [ ! -e broken ] || {{ echo 'Error: out of order'; exit 1; }}\nexec '{}' \"$@\"\n",
        folder.path().display(),
        nft.display()
    );
    let own = folder.path().join("nft");
    std::fs::write(&own, script).unwrap();
    std::fs::set_permissions(&own, std::fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

#[test]
fn while_rules_cannot_be_made_anew_the_edge_goes_on_and_tries_again() {
    let Some(place) = Place::new() else { return };
    let folder = spoilt_nft();
    let [stuck, asked, broken] = ["stuck", "asked", "broken"].map(|name| folder.path().join(name));
    let others = std::env::var("PATH").unwrap();
    let path = format!("PATH={}:{others}", folder.path().display());
    let (process, id) = place.start_process(&["env", &path]);
    let [(mut silent, mut service, way), (mut hasty, other_service, _)] =
        [(), ()].map(|()| place.connect().unwrap());
    assert_eq!(way, Way::ByTheEdge);
    // One of the edge's own machine needs no rules.
    let connect = || TcpStream::connect((EDGE, PORT));
    let mut own = patient(place.far.enter(connect).unwrap().unwrap());
    place.service.set_nonblocking(false).unwrap();
    let mut behind = patient(place.service.accept().unwrap().0);

    std::fs::write(&stuck, "").unwrap();
    end_holder(id);
    let deadline = Instant::now() + LIMIT;
    while !asked.exists() {
        assert!(Instant::now() < deadline, "{}", process.text());
        std::thread::sleep(Duration::from_millis(5));
    }
    echo((&mut own, &mut behind), b"while it waits for nft");
    std::fs::write(&broken, "").unwrap();
    std::fs::remove_file(&stuck).unwrap();
    let line = process.wait_for_line("rules lost: ", LIMIT).unwrap();
    assert!(line.contains("out of order"), "{line}");
    echo((&mut own, &mut behind), b"without rules");
    // The service's port is its own then.
    assert_eq!(place.connect().unwrap().2, Way::Straight);
    hasty.write_all(b"?").unwrap();
    let error = hasty.read(&mut [0]).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);

    std::fs::remove_file(&broken).unwrap();
    process.wait_for_line("rules restored", LIMIT).unwrap();
    echo((&mut silent, &mut service), b"as if nothing had happened");
    assert_eq!(place.connect().unwrap().2, Way::ByTheEdge);
    drop((silent, service, own, behind, other_service));
    kill(id, Signal::SIGTERM).unwrap();
    assert!(process.wait(LIMIT).unwrap().success(), "{}", process.text());
    place.wait_for_nothing_left();
}

#[test]
fn two_edges_on_one_machine_do_not_need_each_other() {
    let Some(place) = Place::new() else { return };
    let found = place.settings();
    for first_to_end in [0, 1] {
        let mut edges = Vec::from(place.start_two());
        assert_eq!(place.settings(), found);
        edges.remove(first_to_end).end();
        let port = [77, 78][first_to_end];
        let connect = || TcpStream::connect(SocketAddr::from((Wire::address(1), port)));
        let mut client = patient(place.near.enter(connect).unwrap().unwrap());
        place.service.set_nonblocking(false).unwrap();
        let (mut service, from) = place.service.accept().unwrap();
        assert!(from.ip().is_loopback());
        echo((&mut client, &mut service), b"hello");
        drop((client, service));
        edges.remove(0).end();
        place.wait_for_nothing_left();
    }
    assert_eq!(place.settings(), found);
}

#[test]
fn clients_with_ipv6_reach_the_service_by_the_rules_too() {
    let Some(place) = Place::new() else { return };
    place.near.ip("addr add fd01::1/64 dev near nodad").unwrap();
    place.far.ip("addr add fd01::2/64 dev far nodad").unwrap();
    let behind = SocketAddr::from((Ipv4Addr::LOCALHOST, PORT));
    let edge = Running::start(&place.far, behind, |options| {
        with_rules(options);
        options.addresses.push("fd78::2/64".parse().unwrap());
    });
    let connect = || TcpStream::connect(("fd01::2", PORT));
    let mut client = patient(place.near.enter(connect).unwrap().unwrap());
    let (mut service, from) = place.service.accept().unwrap();
    assert!(from.ip().is_loopback());
    echo((&mut client, &mut service), b"hello");
    drop((client, service));
    edge.end();
    place.wait_for_nothing_left();
}

#[test]
fn an_edge_says_for_how_many_connections_it_has_files_and_resets_what_comes_beyond() {
    let Some(place) = Place::new() else { return };
    let (process, id) = place.start_process(&["prlimit", "--nofile=50:100"]);
    let line = process.wait_for_line("at most ", LIMIT).unwrap();
    let most: usize = line.rsplit(' ').next().unwrap().parse().unwrap();
    assert!((1..50).contains(&most), "{line}");
    let open: Vec<_> = (0..most).map(|_| place.connect().unwrap()).collect();
    assert!(open.iter().all(|(_, _, way)| *way == Way::ByTheEdge));
    let error = place.connect().unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
    for (client, service, _) in open {
        drop((client, service));
    }
    kill(id, Signal::SIGTERM).unwrap();
    assert!(process.wait(LIMIT).unwrap().success(), "{}", process.text());
}
