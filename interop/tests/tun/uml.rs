//! The Linux kernel in User-Mode Linux as TCP peer, as client and as server, with its own netem
//! between.

use std::cell::Cell;
use std::net::SocketAddr;
use std::time::Duration;

use interop::{GUEST, HOST, Uml, available};
use tcp::{ConnectionOptions, Failure};

use super::host::{Connection, Host, OURS};
use super::kernel::text;

const LIMIT: Duration = Duration::from_secs(180);
/// Bytes of a transfer in either direction.
const BULK: usize = 50_000_000;

fn options() -> ConnectionOptions {
    let syn_timeout = base::Duration::from_millis(200);
    ConnectionOptions { no_delay: true, syn_timeout, ..ConnectionOptions::default() }
}

/// The side that opens a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Guest {
    Client,
    Server,
}

/// A guest, and our stack beside it.
struct Peers {
    // Ends before the guest's namespace does.
    host: Host,
    uml: Uml,
    /// The port of the next connection.
    port: Cell<u16>,
}

impl Peers {
    fn boot() -> Option<Peers> {
        available(Uml::find())?;
        let uml = Uml::boot().unwrap();
        // The guest says that it takes large packets, and then drops them.
        let host = Host::start(uml.namespace(), false);
        uml.namespace().forward().unwrap();
        let peers = Peers { host, uml, port: Cell::new(7000) };
        let network = OURS[0].replace(".2", ".0");
        peers.shell(&format!("ip route add {network}/24 via {HOST}"));
        Some(peers)
    }

    fn shell(&self, command: &str) -> String {
        self.uml.shell(command, LIMIT).unwrap()
    }

    /// A connection of the guest, of which `program` hears what we send, and which says to us what
    /// that writes; and its port. The guest notes under that name in /run what went wrong, and
    /// which process it is.
    fn open(&self, guest: Guest, program: &str) -> (Connection, u16) {
        let port = self.port.replace(self.port.get() + 1);
        let end = format!("{program} </dev/null >/dev/null 2>/run/{port}.log &");
        let note = format!("echo $! >/run/{port}.pid");
        match guest {
            Guest::Server => {
                self.shell(&format!(
                    "socat -d -t 100 TCP-LISTEN:{port},reuseaddr,nodelay {end} {note}\n\
                     until ss -Htln | grep -q :{port}; do sleep .05; done"
                ));
                (self.host.connect(SocketAddr::from((GUEST, port)), options()), port)
            }
            Guest::Client => {
                let listener = self.host.listen(port, options());
                self.shell(&format!("socat -d -t 100 TCP:{}:{port},nodelay {end} {note}", OURS[0]));
                let connection = self.host.accept(listener);
                self.host.close_listener(listener);
                (connection, port)
            }
        }
    }

    /// Waits until a command in the guest succeeds.
    fn until(&self, command: &str) {
        self.shell(&format!("until {command}; do sleep .05; done"));
    }

    /// Echoes of all sizes, then bulk that comes back while it goes, then an end in order.
    fn exchange(&self, guest: Guest, bulk: usize) {
        let host = &self.host;
        let (connection, _) = self.open(guest, "EXEC:cat");
        for size in [1, 100, 1448, 1449, 20_000] {
            let message = text(size);
            host.send(connection, &message);
            assert_eq!(host.receive_exactly(connection, size), message);
        }
        let data = text(bulk);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                host.send(connection, &data);
                host.finish(connection);
            });
            assert!(host.receive_all(connection) == data, "altered on its way, {guest:?}");
        });
        host.release(connection);
    }
}

#[test]
fn the_kernel_in_user_mode_linux_echoes_fifty_megabytes_as_client_and_as_server_and_one_with_loss()
{
    let Some(peers) = Peers::boot() else { return };
    peers.exchange(Guest::Server, BULK);
    peers.exchange(Guest::Client, BULK);
    peers.uml.impair_receiving(10).unwrap();
    peers.uml.impair_sending(Duration::from_millis(10), 10).unwrap();
    peers.exchange(Guest::Server, 1_000_000);
    peers.exchange(Guest::Client, 1_000_000);
    let lost = peers.uml.mend().unwrap();
    // Two megabytes each way are some thousand packets and more.
    assert!(lost.sending > 20 && lost.receiving > 20, "{lost:?}");
}

/// Both sides use what both can.
fn agree_on_options(peers: &Peers, guest: Guest) {
    let (connection, port) = peers.open(guest, "EXEC:cat");
    peers.host.send(connection, b"ping");
    assert_eq!(peers.host.receive_exactly(connection, 4), b"ping");
    let said = peers.shell(&format!("ss -tinoH sport = :{port} or dport = :{port}"));
    for option in [" ts ", " sack ", " wscale:"] {
        assert!(said.contains(option), "{guest:?}: {option} is not in\n{said}");
    }
    let info = peers.host.info(connection);
    assert!(info.timestamps && info.sack && info.window_scale.is_some(), "{info:?}");
    peers.host.release(connection);
}

/// Either side ends first and hears much after that.
fn end_by_halves(peers: &Peers, guest: Guest) {
    let host = &peers.host;
    let lines: String = (1..=60_000).map(|line| format!("{line}\n")).collect();
    let (connection, _) = peers.open(guest, "SYSTEM:'wc -c; seq 60000'");
    host.send(connection, &text(300_000));
    host.finish(connection);
    let heard = String::from_utf8(host.receive_all(connection)).unwrap();
    assert!(heard == format!("300000\n{lines}"), "{guest:?}: {} bytes", heard.len());
    host.release(connection);
    peers.shell("seq 60000 >/run/lines");
    let (connection, _) = peers.open(guest, "OPEN:/run/lines!!CREATE:/run/heard");
    let heard = String::from_utf8(host.receive_all(connection)).unwrap();
    assert!(heard == lines, "{guest:?}: {} bytes", heard.len());
    host.send(connection, &text(300_000));
    host.finish(connection);
    peers.until("[ $(wc -c </run/heard) = 300000 ]");
    host.release(connection);
}

/// A reset of either side is one for the other.
fn reset(peers: &Peers, guest: Guest) {
    let host = &peers.host;
    // The guest's program ends and leaves unread what we said.
    let (connection, port) = peers.open(guest, "EXEC:'sleep 1000'");
    host.send(connection, &text(200_000));
    peers.shell(&format!("socat=$(cat /run/{port}.pid); kill -9 $socat $(pgrep -P $socat)"));
    assert_eq!(host.failure(connection), Failure::Reset, "{guest:?}");
    let (connection, port) = peers.open(guest, "EXEC:cat");
    host.send(connection, b"ping");
    assert_eq!(host.receive_exactly(connection, 4), b"ping");
    host.abort(connection);
    peers.until(&format!("grep -q 'reset by peer' /run/{port}.log"));
}

#[test]
fn the_kernel_in_user_mode_linux_agrees_on_options_ends_by_halves_and_resets_as_client_and_as_server()
 {
    let Some(peers) = Peers::boot() else { return };
    for guest in [Guest::Server, Guest::Client] {
        agree_on_options(&peers, guest);
        end_by_halves(&peers, guest);
        reset(&peers, guest);
    }
    let nobody = format!("socat - TCP:{}:9 </dev/null 2>&1 | grep refused", OURS[0]);
    assert!(peers.shell(&nobody).contains("Connection refused"));
    let refused = peers.host.try_connect(SocketAddr::from((GUEST, 9)), options());
    assert_eq!(refused.err(), Some(Failure::Refused));
}
