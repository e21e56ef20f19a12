//! Invented results in the shape of a real demo, to look at the report and to test it. The
//! latencies follow from a crude model, not from a protocol.

use base::{Duration, Instant, Probability, Purpose, RandomStream};
use lab::DemoReport;
use lab::fate::first_transmission_lost;
use lab::report::{
    Ladder, LadderEvent, MarkKind, PacketKind, PolicyReport, PolicyResults, Retransmissions, Side,
};
use results::LatencyByRetransmissions;

const LOSS: Probability = Probability::from_ratio(5, 100);

/// How a pretended policy recovers: the wait before each retransmission in ms.
struct Sketch {
    name: &'static str,
    description: &'static str,
    waits: [u64; 5],
}

const SKETCHES: [Sketch; 3] = [
    Sketch {
        name: "rfc",
        description: "What RFC 9260 asks for, and nothing else.",
        waits: [1000, 2000, 4000, 8000, 16_000],
    },
    Sketch {
        name: "lksctp",
        description: "As the Linux kernel did in 2008: the standard, and bundling of all that is outstanding on a timeout.",
        waits: [850, 2000, 4000, 8000, 16_000],
    },
    Sketch {
        name: "thin",
        description: "lksctp with the paper's changes while the stream is thin.",
        waits: [320, 330, 330, 330, 330],
    },
];

/// A report of three policies with `messages` messages each.
pub(crate) fn sample(messages: u64) -> DemoReport {
    let parameter = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    DemoReport {
        title: "A thin stream over a lossy network: standard and thin-stream recovery".to_owned(),
        parameters: vec![
            parameter("RTT", "100ms"),
            parameter("loss", "5%"),
            parameter("interval", "250ms"),
            parameter("size", "100B"),
            parameter("flows", "25"),
            parameter("seed", "1"),
        ],
        settings: Vec::new(),
        interrupted: false,
        policies: SKETCHES.iter().map(|sketch| policy(sketch, messages)).collect(),
        reproduce:
            "thinstream demo --virtual --rtt 100ms --loss 5% --interval 250ms --size 100B --seed 1"
                .to_owned(),
    }
}

fn policy(sketch: &Sketch, messages: u64) -> PolicyReport {
    let mut random = RandomStream::new(1, Purpose(sketch.name, 0));
    let mut latencies = LatencyByRetransmissions::default();
    let mut retransmissions = Retransmissions::default();
    for message in 0..messages {
        let mut latency = Duration::from_micros(50_100 + random.below(400));
        let mut lost = first_transmission_lost(1, 0, message, LOSS);
        let mut times = 0;
        while lost && times < sketch.waits.len() {
            let spread = Duration::from_micros(random.below(90_000));
            latency += Duration::from_millis(sketch.waits[times]) + spread;
            times += 1;
            retransmissions.total += 1;
            lost = random.happens(LOSS);
        }
        latencies.record(times as u32, latency);
    }
    retransmissions.fast = retransmissions.total / 3;
    retransmissions.timeout = retransmissions.total - retransmissions.fast;
    let all = latencies.all();
    PolicyReport {
        name: sketch.name.to_owned(),
        description: sketch.description.to_owned(),
        results: PolicyResults {
            messages,
            delivered: messages,
            latency_ms: all.summary(),
            latency_by_retransmissions_ms: latencies.summary(),
            retransmissions,
            spurious: retransmissions.total / 9,
            packets_sent: messages + retransmissions.total,
            bytes_sent: 144 * (messages + retransmissions.total),
        },
        cdf: all.cdf(messages),
        ladder: Some(ladder(sketch)),
    }
}

/// Message 7 is lost; the policy resends it after its first wait, and on `rfc` that is lost too.
fn ladder(sketch: &Sketch) -> Ladder {
    let at = |millis: u64| Instant::from_millis(10_000 + millis);
    let twice = sketch.name == "lksctp";
    let first = sketch.waits[0] + 53;
    let resent = if twice { first + sketch.waits[1] / 2 } else { first };
    let delivered = resent + 50;
    let mut events = vec![data(at(0), None, PacketKind::Data, "TSN 7")];
    for step in (1..).take_while(|step| step * 250 < delivered + 200) {
        let sent = step * 250;
        events.push(data(
            at(sent),
            Some(at(sent + 50)),
            PacketKind::Data,
            &format!("TSN {}", 7 + step),
        ));
        let acked = if sent + 50 < delivered { 6 } else { 7 + step };
        events.push(sack(at(sent + 50), at(sent + 100), &format!("SACK {acked}")));
    }
    let timer = |millis| mark(Side::Sender, at(millis), MarkKind::Timer, "T3-rtx");
    let again = PacketKind::Retransmission;
    if sketch.name != "thin" {
        events.push(timer(resent));
    }
    if twice {
        events.push(timer(first));
        events.push(data(at(first), None, again, "TSN 7"));
    }
    events.push(data(at(resent), Some(at(delivered)), again, "TSN 7"));
    events.push(mark(Side::Receiver, at(delivered), MarkKind::Delivered, "delivered"));
    events.push(sack(at(delivered), at(delivered + 50), &format!("SACK {}", 7 + delivered / 250)));
    Ladder { due: at(0), delivered: Some(at(delivered)), events }
}

fn data(sent: Instant, arrived: Option<Instant>, kind: PacketKind, label: &str) -> LadderEvent {
    LadderEvent::Packet { from: Side::Sender, sent, arrived, kind, label: label.to_owned() }
}

fn sack(sent: Instant, arrived: Instant, label: &str) -> LadderEvent {
    let (arrived, kind) = (Some(arrived), PacketKind::Acknowledgement);
    LadderEvent::Packet { from: Side::Receiver, sent, arrived, kind, label: label.to_owned() }
}

fn mark(side: Side, at: Instant, kind: MarkKind, label: &str) -> LadderEvent {
    LadderEvent::Mark { side, at, kind, label: label.to_owned() }
}
