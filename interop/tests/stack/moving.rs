//! A client whose host changes its address in mid-association, in namespaces joined by a wire.

use std::net::SocketAddr;
use std::time::Duration;

use apps::Notice;
use apps::send::{Messages, SendOptions, send};
use apps::serve::{ServeOptions, serve};
use interop::{Namespace, available};
use lab::{Arrivals, Limit, Sizes, WorkloadPlan};
use thinstream::{
    Association, AssociationOptions, Encapsulation, Endpoint, EndpointOptions, Extensions,
    PeerAddress, StreamId,
};

use crate::ours::{self, runtime};

const SERVER: &str = "10.81.0.1:9899";
const LIMIT: Duration = Duration::from_secs(30);

/// The server's namespace, and the client's, whose host has these addresses.
fn wire(addresses: &[&str]) -> (Namespace, Namespace) {
    let [server, client] = [Namespace::new().unwrap(), Namespace::new().unwrap()];
    server.ip("link add far type veth peer name near").unwrap();
    server.ip(&format!("link set near netns {}", client.path())).unwrap();
    server.ip("addr add 10.81.0.1/24 dev far").unwrap();
    for address in addresses {
        client.ip(&format!("addr add {address} dev near")).unwrap();
    }
    server.ip("link set far up").unwrap();
    client.ip("link set near up").unwrap();
    (server, client)
}

fn take_away(client: &Namespace, old: &str, new: Option<&str>) {
    // The order in which a host that moves does it: without an address for a moment.
    client.ip(&format!("addr del {old} dev near")).unwrap();
    if let Some(new) = new {
        client.ip(&format!("addr add {new} dev near")).unwrap();
    }
}

/// Does `work` on a runtime of its own inside the namespace.
fn inside<T: Send>(namespace: &Namespace, work: impl AsyncFnOnce() -> T + Send) -> T {
    let run = || {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_all().build().unwrap().block_on(work())
    };
    namespace.enter(run).unwrap()
}

#[test]
fn a_sender_that_reconnects_goes_on_from_the_new_address_of_its_host_and_says_what_is_unknown() {
    let Some(()) = available(Namespace::find()) else { return };
    let (far, near) = wire(&["10.81.0.2/24"]);
    let silence = Some(base::Duration::from_secs(2));
    let mut serving = ServeOptions::new(SERVER.parse().unwrap());
    // Unencrypted: an encrypted association goes on from the new address by itself.
    serving.encapsulation = Encapsulation::PlainUdp;
    serving.dead_after = silence;
    serving.duration = Some(base::Duration::from_secs(20));
    let served = std::thread::spawn(move || {
        inside(&far, async || serve(&serving, &mut |_| ()).await.unwrap())
    });
    let mover = near.clone();
    let moved = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_secs(2));
        take_away(&mover, "10.81.0.2/24", Some("10.81.0.3/24"));
    });
    let mut options = SendOptions::new(SERVER.parse().unwrap());
    let plan = WorkloadPlan {
        arrivals: Arrivals::Constant { interval: base::Duration::from_millis(20) },
        size: Sizes::Constant(60),
        limit: Limit::Count(500),
    };
    options.messages = Messages::Workload { plan, seed: 1 };
    options.encapsulation = Encapsulation::PlainUdp;
    options.dead_after = silence;
    options.reconnect = true;
    options.patience = base::Duration::from_secs(5);
    let mut lines = Vec::new();
    let report = inside(&near, async || {
        let mut notice = |notice| {
            if let Notice::Line(line) = notice {
                lines.push(line);
            }
        };
        send(&options, &mut notice).await.unwrap()
    });
    moved.join().unwrap();
    assert_eq!((report.messages, report.failure.as_deref()), (500, None), "{report}");
    assert_eq!((report.losses.reconnections, report.damaged), (1, 0), "{report}");
    // Two seconds of silence at fifty messages a second, which the old association held.
    let unanswered = report.messages - report.answers;
    let held = report.losses.unsent + report.losses.unacknowledged;
    assert!(held >= 50 && unanswered >= report.losses.unsent && report.answers >= 300, "{report}");
    assert!(lines.iter().any(|line| line.starts_with("connected again")), "{lines:?}");
    let served = served.join().unwrap();
    assert_eq!((served.clients, served.damaged), (2, 0), "{served}");
}

#[test]
fn where_both_sides_change_addresses_no_message_is_lost_when_one_is_taken_away() {
    let Some(()) = available(Namespace::find()) else { return };
    let (far, near) = wire(&["10.81.0.2/32", "10.81.0.3/32"]);
    // Of one prefix each, since Linux takes all addresses of a prefix away with the first.
    near.ip("route add 10.81.0.0/24 dev near").unwrap();
    let runtime = runtime();
    let extensions = Extensions::default() | Extensions::ADDRESS_RECONFIGURATION;
    let options = AssociationOptions { extensions, ..AssociationOptions::default() };
    let encapsulation = Encapsulation::PlainUdp;
    let accepting =
        EndpointOptions { encapsulation, accepted: options.clone(), ..EndpointOptions::server() };
    let address = SERVER.parse().unwrap();
    let server = ours::bind(runtime.handle(), Some(&far), address, accepting).unwrap();
    let here: [SocketAddr; 2] = ["10.81.0.2:0", "10.81.0.3:0"].map(|text| text.parse().unwrap());
    let client = near.enter(|| {
        let _context = runtime.enter();
        let options = EndpointOptions { encapsulation, ..EndpointOptions::client() };
        Endpoint::bind_all(&here, options).unwrap()
    });
    let client = client.unwrap();
    let [old, new] = [client.local_addrs()[0], client.local_addrs()[1]];

    let talk = async {
        let to = PeerAddress::from([server.local_addr()]);
        let (association, accepted) = tokio::join!(client.connect(to, options), server.accept());
        let (association, accepted) = (association.unwrap(), accepted.unwrap());
        // The second address is no address of the association, as if the host did not have it yet.
        association.remove_address(new).unwrap();
        association.reconfiguration_event().await.unwrap();
        exchange(&association, &accepted, 0..100).await;
        // The host gets it, and loses the first.
        association.add_address(new).unwrap();
        association.reconfiguration_event().await.unwrap();
        exchange(&association, &accepted, 100..200).await;
        association.remove_address(old).unwrap();
        association.reconfiguration_event().await.unwrap();
        take_away(&near, "10.81.0.2/32", None);
        exchange(&association, &accepted, 200..300).await;
        assert_eq!(accepted.remote().ip(), new.ip());
        association.shutdown().await.unwrap();
    };
    ours::within(runtime.handle(), LIMIT, talk).unwrap();
}

/// Each number arrives, once and in order, and so does its answer.
async fn exchange(one: &Association, other: &Association, numbers: core::ops::Range<u32>) {
    for (from, to) in [(one, other), (other, one)] {
        for number in numbers.clone() {
            from.send(StreamId(0), number.to_be_bytes().to_vec()).await.unwrap();
        }
        for number in numbers.clone() {
            let message = to.receive().await.unwrap().unwrap();
            assert_eq!(message.payload.into_bytes(), number.to_be_bytes()[..]);
        }
    }
}
