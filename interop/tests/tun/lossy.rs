//! The kernel of this machine as TCP peer behind a wire that loses packets.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use interop::{Namespace, Wire, WirePlan, available};
use tcp::ConnectionOptions;

use super::host::{Host, OURS};
use super::kernel::text;

/// A namespace for the kernel's side, a wire from it, and our stack behind the far end.
fn lossy(seed: u64, loss: u64) -> Option<(Namespace, Namespace, Wire, Host)> {
    available(Wire::find())?;
    let (near, far) = (Namespace::new().unwrap(), Namespace::new().unwrap());
    let plan = WirePlan::lossy(base::Duration::from_millis(5), loss, seed);
    let wire = Wire::start(&near, &far, plan).unwrap();
    let host = Host::start(&far, true);
    far.forward().unwrap();
    near.ip(&format!("route add 10.78.0.0/24 via {}", Wire::address(1))).unwrap();
    Some((near, far, wire, host))
}

fn patient(stream: TcpStream) -> TcpStream {
    stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

/// Options for tests that shall not take long where the first packets are lost.
fn options() -> ConnectionOptions {
    let syn_timeout = base::Duration::from_millis(100);
    ConnectionOptions { no_delay: true, syn_timeout, ..ConnectionOptions::default() }
}

fn exchange(host: &Host, mut stream: TcpStream, connection: super::host::Connection) {
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

#[test]
fn echoes_and_a_megabyte_each_way_arrive_with_ten_percent_loss_from_a_kernel_client() {
    let Some((near, _far, wire, host)) = lossy(1, 10) else { return };
    let listener = host.listen(7, options());
    let to = SocketAddr::new(OURS[0].parse().unwrap(), 7);
    let stream = near.enter(|| TcpStream::connect(to)).unwrap().unwrap();
    exchange(&host, patient(stream), host.accept(listener));
    for link in wire.statistics() {
        assert!(link.dropped().packets > 20, "{link:?}");
    }
}

#[test]
fn echoes_and_a_megabyte_each_way_arrive_with_ten_percent_loss_at_a_kernel_server() {
    let Some((near, _far, wire, host)) = lossy(2, 10) else { return };
    let at = SocketAddr::from((Wire::address(0), 7));
    let listener = near.enter(|| TcpListener::bind(at)).unwrap().unwrap();
    let connection = host.connect(at, options());
    exchange(&host, patient(listener.accept().unwrap().0), connection);
    for link in wire.statistics() {
        assert!(link.dropped().packets > 20, "{link:?}");
    }
}
