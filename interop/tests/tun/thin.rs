//! A thin stream through the edge beside one of the kernel's own TCP, over wires with the same
//! losses: how the losses are repaired. No time is judged, but messages are written one by one, 24
//! ms apart: of those that a writer that stalls for longer writes at once, which leave as one
//! segment, no copy travels apart, and fewer losses are repaired by bundles.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

use interop::{EDGE, EDGE_PORT as PORT, EdgePlace, Namespace, Process, Wire, WirePlan, available};

use super::edge::Running;

const MESSAGES: usize = 600;
const SIZE: usize = 30;
const GAP: Duration = Duration::from_millis(24);

/// Outcome of a stream's losses.
#[derive(Clone, Copy, Debug, Default)]
struct Repairs {
    /// Packets that the wire lost on their way to the client.
    lost: u64,
    /// Messages whose segments were retransmitted.
    resent: u64,
    /// Segments whose copies of what was sent before repaired a loss.
    bundle_hits: u64,
}

impl std::ops::AddAssign for Repairs {
    fn add_assign(&mut self, other: Repairs) {
        self.lost += other.lost;
        self.resent += other.resent;
        self.bundle_hits += other.bundle_hits;
    }
}

/// Small messages from a server to a client, all of which arrive.
fn stream(mut server: TcpStream, client: &mut TcpStream) -> TcpStream {
    server.set_nodelay(true).unwrap();
    let origin = Instant::now();
    let writer = std::thread::spawn(move || {
        for index in 0..MESSAGES as u32 {
            std::thread::sleep((origin + GAP * index).saturating_duration_since(Instant::now()));
            server.write_all(&[index as u8; SIZE]).unwrap();
        }
        server
    });
    for index in 0..MESSAGES {
        let mut message = [0; SIZE];
        client.read_exact(&mut message).unwrap();
        assert_eq!(message, [index as u8; SIZE]);
    }
    writer.join().unwrap()
}

/// Segments that the kernel sent again, of its connection at the port.
fn resent_by_kernel(namespace: &Namespace) -> u64 {
    let filter = ["-tinH", "state", "established", "sport", "=", ":80"];
    let (status, said) = Process::output(Some(namespace), Path::new("ss"), &filter).unwrap();
    assert!(status.success() && said.contains("cwnd:"), "{said}");
    let counts = said.split_whitespace().find_map(|word| word.strip_prefix("retrans:"));
    counts.map_or(0, |counts| counts.rsplit('/').next().unwrap().parse().unwrap())
}

fn repairs(through_edge: bool, seed: u64) -> Repairs {
    let plan = WirePlan::lossy(base::Duration::from_millis(65), 2, seed);
    let EdgePlace { near, far, wire } = EdgePlace::with_way(plan).unwrap();
    let at = SocketAddr::from((Wire::address(1), PORT));
    let service = if through_edge { SocketAddr::from(([127, 0, 0, 1], PORT)) } else { at };
    let listener = far.enter(|| TcpListener::bind(service)).unwrap().unwrap();
    let edge = through_edge.then(|| Running::start(&far, service, |_| ()));
    let to = if through_edge { SocketAddr::from((EDGE, PORT)) } else { at };
    let mut client = near.enter(|| TcpStream::connect(to)).unwrap().unwrap();
    client.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
    let server = stream(listener.accept().unwrap().0, &mut client);
    let lost = wire.statistics()[1].dropped_by_loss.packets;
    let Some(edge) = edge else {
        return Repairs { lost, resent: resent_by_kernel(&far), bundle_hits: 0 };
    };
    drop((server, client));
    let tally = edge.end().services[0].tally.clone();
    let resent = tally.bytes_retransmitted / SIZE as u64;
    Repairs { lost, resent, bundle_hits: tally.bundle_hits }
}

#[test]
fn what_is_lost_of_a_thin_stream_through_the_edge_comes_in_the_next_segment_and_is_seldom_sent_again()
 {
    let Some(()) = available(Wire::find()) else { return };
    let runs: Vec<_> = (0..8)
        .map(|run| (run % 2 == 1, std::thread::spawn(move || repairs(run % 2 == 1, run / 2))))
        .collect();
    let (mut kernel, mut edge) = (Repairs::default(), Repairs::default());
    for (through_edge, run) in runs {
        *if through_edge { &mut edge } else { &mut kernel } += run.join().unwrap();
    }
    assert!(kernel.lost > 10 && edge.lost > 10, "{kernel:?} {edge:?}");
    assert!(edge.bundle_hits * 2 > edge.lost, "{edge:?}");
    assert!(edge.resent * 2 < kernel.resent, "{edge:?}, the kernel {kernel:?}");
}
