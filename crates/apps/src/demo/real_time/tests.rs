use std::future::pending;

use base::Probability;
use lab::Arrivals;
use lab::fate::first_transmission_lost;
use lab::world::path_seed;
use recovery::RecoveryPolicy;
use report::document::Figure;

use super::*;
use crate::demo::{Contender, Length};

fn options() -> DemoOptions {
    let contender = |name: &str| {
        let mut policy = RecoveryPolicy::preset(name).unwrap();
        policy.acknowledgement.delay = None;
        // The test must not take the seconds that real timeouts take.
        policy.rto.min = Duration::from_millis(150);
        policy.rto.min_while_thin = None;
        policy.rto.max = Duration::from_millis(600);
        Contender {
            name: name.to_owned(),
            description: "a policy".to_owned(),
            policy: Arc::new(policy),
        }
    };
    DemoOptions {
        length: Length::Duration(Duration::from_millis(1_500)),
        rtt: Duration::from_millis(20),
        loss: Probability::from_ratio(10, 100),
        network: None,
        arrivals: Arrivals::Constant { interval: Duration::from_millis(50) },
        size: 100,
        flows: 5,
        seed: 3,
        policies: ["lksctp", "thin"].map(contender).to_vec(),
        pcap: None,
        events: None,
        verbose: false,
        reproduce: "thinstream demo".to_owned(),
    }
}

/// Messages whose first transmission is lost.
fn losses(options: &DemoOptions) -> u64 {
    let lost = |flow, message| {
        first_transmission_lost(path_seed(options.seed, 0), flow, message, options.loss)
    };
    (0..5).map(|flow| (0..30).filter(|message| lost(flow, *message)).count() as u64).sum()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_policy_delivers_all_and_repairs_the_same_losses() {
    let options = options();
    let mut views = 0;
    let mut view = |view: &LiveView| {
        assert_eq!(view.policies.len(), 2);
        views += 1;
    };
    let report = run_real_time(&options, &mut view, pending()).await.unwrap().report;
    assert!(views > 5);
    for policy in &report.policies {
        let results = &policy.results;
        assert_eq!((results.messages, results.delivered), (150, 150), "{}", policy.name);
        let latency = results.latency_ms.unwrap();
        assert!(latency.p50 >= 10.0 && latency.mean < 1_000.0, "{latency:?}");
        let none = results.latency_by_retransmissions_ms.none.unwrap().count;
        // Retransmissions after others' losses are bundled, so at most the rest was delivered at
        // first.
        assert!(none <= 150 - losses(&options), "{none} of {}", losses(&options));
        assert!(results.retransmissions.total >= losses(&options));
        assert!(results.packets_sent > 100 && results.bytes_sent > 150 * 100);
    }
    let section = report.document().sections.remove(0);
    let ladders = section.figures.iter().filter_map(|figure| match figure {
        Figure::Ladder { arrows, notes, .. } => Some((arrows, notes)),
        _ => None,
    });
    let ladders: Vec<_> = ladders.collect();
    assert_eq!(ladders.len(), 2);
    for (arrows, notes) in &ladders {
        assert_eq!((arrows[0].from, arrows[0].arrived_ms), (0, None));
        assert_eq!(arrows[0].label, ladders[0].0[0].label, "the same first transmission");
        assert!(notes.iter().any(|note| note.label.contains("delivered")), "{notes:?}");
    }
}

#[tokio::test]
async fn a_demo_that_is_stopped_reports_what_it_has_and_its_files_are_complete() {
    let folder = std::env::temp_dir().join(format!("thinstream-live-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mut options = options();
    options.length = Length::Duration(Duration::from_secs(600));
    options.pcap = Some(folder.join("demo.pcapng"));
    options.events = Some(folder.join("demo.jsonl"));
    let enough = tokio::sync::Notify::new();
    let mut view = |view: &LiveView| {
        if view.policies.iter().all(|policy| policy.sent > 20) {
            enough.notify_one();
        }
    };
    let report = run_real_time(&options, &mut view, enough.notified()).await.unwrap().report;
    assert!(report.interrupted);
    assert!(report.parameters.iter().any(|(name, _)| name == "interrupted after"));
    for policy in &report.policies {
        let results = &policy.results;
        assert!(results.messages > 5 && results.messages < 500);
        assert_eq!(results.delivered, results.messages, "what was sent is waited for");
    }
    assert!(std::fs::metadata(folder.join("demo.pcapng")).unwrap().len() > 5_000);
    let events = std::fs::read_to_string(folder.join("demo.jsonl")).unwrap();
    for name in ["lksctp", "thin"] {
        assert!(events.contains(&format!("\"policy\":\"{name}\"")));
    }
    std::fs::remove_dir_all(folder).unwrap();
}
