//! The kernel of this machine as TCP peer behind a wire that loses packets.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use interop::{EdgePlace, Wire, WirePlan, available};
use tcp::ConnectionOptions;

use super::host::{Connection, Host, OURS};
use super::kernel::text;

/// Addresses of the wire's near end, and of the far one, for IPv6.
const V6: [&str; 2] = ["fd79::1", "fd79::2"];

/// A machine for the kernel's side, a wire from it, and our stack behind the far end.
fn lossy(seed: u64, loss: u64) -> (EdgePlace, Host) {
    let plan = WirePlan::lossy(base::Duration::from_millis(5), loss, seed);
    let place = EdgePlace::with_way(plan).unwrap();
    let host = Host::start(&place.far, true);
    place.near.ip(&format!("addr add {}/64 dev near nodad", V6[0])).unwrap();
    place.far.ip(&format!("addr add {}/64 dev far nodad", V6[1])).unwrap();
    place.near.ip(&format!("route add fd78::/64 via {}", V6[1])).unwrap();
    let forward = || std::fs::write("/proc/sys/net/ipv6/conf/all/forwarding", "1");
    place.far.enter(forward).unwrap().unwrap();
    (place, host)
}

fn patient(stream: TcpStream) -> TcpStream {
    stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

/// Options for tests that must not take long where the first packets are lost.
fn options() -> ConnectionOptions {
    let syn_timeout = base::Duration::from_millis(100);
    ConnectionOptions { no_delay: true, syn_timeout, ..ConnectionOptions::default() }
}

fn exchange(host: &Host, mut stream: TcpStream, connection: Connection) {
    for index in 0..100 {
        let message = text(100 + index);
        stream.write_all(&message).unwrap();
        assert_eq!(host.receive_exactly(connection, message.len()), message);
        host.send(connection, &message);
        let mut back = vec![0; message.len()];
        stream.read_exact(&mut back).unwrap();
        assert_eq!(back, message);
    }
    let data = text(1_000_000);
    std::thread::scope(|scope| {
        let mut writer = stream.try_clone().unwrap();
        scope.spawn(|| {
            host.send(connection, &data);
            host.finish(connection);
        });
        let sent = &data;
        scope.spawn(move || {
            writer.write_all(sent).unwrap();
            writer.shutdown(Shutdown::Write).unwrap();
        });
        let ours = scope.spawn(|| host.receive_all(connection));
        let mut heard = Vec::new();
        stream.read_to_end(&mut heard).unwrap();
        assert!(heard == data);
        assert!(ours.join().unwrap() == data);
    });
}

/// Echoes and a megabyte each way over wires that lose a tenth both ways, which `connect` makes
/// connections over.
fn with_ten_percent_loss(
    seed: u64,
    connect: impl Fn(&EdgePlace, &Host, usize) -> (TcpStream, Connection),
) {
    let Some(()) = available(Wire::find()) else { return };
    for family in [0, 1] {
        let (place, host) = lossy(seed, 10);
        let (stream, connection) = connect(&place, &host, family);
        exchange(&host, patient(stream), connection);
        for link in place.wire.statistics() {
            assert!(link.dropped().packets > 20, "{link:?}");
        }
    }
}

#[test]
fn echoes_and_a_megabyte_each_way_arrive_with_ten_percent_loss_from_a_kernel_client() {
    with_ten_percent_loss(1, |place, host, family| {
        let to = SocketAddr::new(OURS[family].parse().unwrap(), 7);
        let listener = host.listen_at(to, options());
        let stream = place.near.enter(|| TcpStream::connect(to)).unwrap().unwrap();
        (stream, host.accept(listener))
    });
}

#[test]
fn echoes_and_a_megabyte_each_way_arrive_with_ten_percent_loss_at_a_kernel_server() {
    with_ten_percent_loss(2, |place, host, family| {
        let near = [Wire::address(0).into(), V6[0].parse().unwrap()];
        let at = SocketAddr::new(near[family], 7);
        let listener = place.near.enter(|| TcpListener::bind(at)).unwrap().unwrap();
        let connection = host.connect(at, options());
        (listener.accept().unwrap().0, connection)
    });
}
