//! The Linux kernel in User-Mode Linux as TCP peer, as client and as server, with its own netem between.

use std::net::SocketAddr;
use std::time::Duration;

use interop::{GUEST, HOST, Uml, available};
use tcp::ConnectionOptions;

use super::host::{Connection, Host, OURS};
use super::kernel::text;

const PORT: u16 = 7007;
const LIMIT: Duration = Duration::from_secs(180);

fn options() -> ConnectionOptions {
    let syn_timeout = base::Duration::from_millis(200);
    ConnectionOptions { no_delay: true, syn_timeout, ..ConnectionOptions::default() }
}

/// Echoes of all sizes, then a megabyte that comes back while it goes, then an end in order.
fn exchange(host: &Host, connection: Connection) {
    for size in [1, 100, 1448, 1449, 20_000] {
        let message = text(size);
        host.send(connection, &message);
        assert_eq!(host.receive_exactly(connection, size), message);
    }
    let data = text(1_000_000);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            host.send(connection, &data);
            host.finish(connection);
        });
        assert!(host.receive_all(connection) == data);
    });
    host.release(connection);
}

/// The guest sends back what it gets, as server and as client.
fn both_ways(uml: &Uml, host: &Host) {
    let connection = host.connect(SocketAddr::from((GUEST, PORT)), options());
    exchange(host, connection);
    let port = PORT + 1;
    let listener = host.listen(port, options());
    std::thread::scope(|scope| {
        let client = format!("socat -t 100 TCP:{}:{port},nodelay EXEC:cat", OURS[0]);
        let guest = scope.spawn(move || uml.shell(&client, LIMIT));
        exchange(host, host.accept(listener));
        guest.join().unwrap().unwrap();
    });
    host.close_listener(listener);
}

#[test]
fn the_kernel_in_user_mode_linux_echoes_as_client_and_as_server_with_and_without_loss() {
    let Some(()) = available(Uml::find()) else { return };
    let uml = Uml::boot().unwrap();
    // The guest says that it takes large packets, and then drops them.
    let host = Host::start(uml.namespace(), false);
    uml.namespace().forward().unwrap();
    let network = OURS[0].replace(".2", ".0");
    uml.shell(&format!("ip route add {network}/24 via {HOST}"), LIMIT).unwrap();
    let server = format!(
        "socat -t 100 TCP-LISTEN:{PORT},fork,reuseaddr,nodelay EXEC:cat </dev/null >/dev/null 2>&1 &\n\
         until ss -Htln | grep -q :{PORT}; do sleep .05; done"
    );
    uml.shell(&server, LIMIT).unwrap();
    both_ways(&uml, &host);
    uml.impair_receiving(10).unwrap();
    uml.impair_sending(Duration::from_millis(10), 10).unwrap();
    both_ways(&uml, &host);
    uml.mend().unwrap();
}
