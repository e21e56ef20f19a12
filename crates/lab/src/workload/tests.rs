use base::{Duration, Instant};
use results::{Moments, mean};

use super::*;

const INTERVAL: Duration = Duration::from_millis(250);

fn constant(limit: Limit) -> WorkloadPlan {
    WorkloadPlan {
        arrivals: Arrivals::Constant { interval: INTERVAL },
        size: Sizes::Constant(100),
        limit,
    }
}

fn workload(plan: WorkloadPlan, seed: u64, flow: u64) -> Workload {
    Workload::new(plan, seed, flow, Instant::from_millis(1000)).unwrap()
}

#[test]
fn a_constant_interval_neither_drifts_nor_skips() {
    let messages: Vec<_> = workload(constant(Limit::Count(1000)), 1, 2).collect();
    assert_eq!(messages.len(), 1000);
    let first = messages[0].due;
    assert!(first.since(Instant::from_millis(1000)) < INTERVAL);
    for (index, message) in (0..).zip(&messages) {
        let due = first + INTERVAL * index;
        let media = INTERVAL * index;
        assert_eq!(*message, DueMessage { index, due, size: 100, media });
    }
}

#[test]
fn flows_have_phases_spread_over_the_interval() {
    let phase = |flow| workload(constant(Limit::Unlimited), 1, flow).poll_timeout().unwrap();
    let mut phases: Vec<_> =
        (0..200).map(|flow| phase(flow).since(Instant::from_millis(1000))).collect();
    phases.sort();
    phases.dedup();
    assert_eq!(phases.len(), 200);
    let quarters: Vec<_> = (0..4)
        .map(|quarter| {
            let (from, to) = (INTERVAL.scale(quarter, 4), INTERVAL.scale(quarter + 1, 4));
            phases.iter().filter(|phase| (from..to).contains(phase)).count()
        })
        .collect();
    assert!(quarters.iter().all(|count| (30..70).contains(count)), "{quarters:?}");
}

#[test]
fn every_flow_gets_the_same_number_of_messages_in_a_time_whatever_its_phase() {
    for flow in 0..100 {
        let limit = Limit::Time(Duration::from_secs(20));
        assert_eq!(workload(constant(limit), 3, flow).count(), 80);
    }
}

#[test]
fn the_same_seed_and_flow_repeat() {
    let plan = WorkloadPlan {
        arrivals: Arrivals::Exponential { mean: INTERVAL },
        size: Sizes::Constant(1),
        limit: Limit::Count(50),
    };
    let messages = |seed, flow| workload(plan, seed, flow).collect::<Vec<_>>();
    assert_eq!(messages(1, 1), messages(1, 1));
    assert_ne!(messages(1, 1), messages(1, 2));
    assert_ne!(messages(1, 1), messages(2, 1));
}

#[test]
fn exponential_intervals_have_the_mean_and_the_deviation_of_their_distribution() {
    let plan = WorkloadPlan {
        arrivals: Arrivals::Exponential { mean: INTERVAL },
        size: Sizes::Constant(1),
        limit: Limit::Count(20_000),
    };
    let due: Vec<_> = workload(plan, 5, 0).map(|message| message.due).collect();
    let gaps: Vec<_> = due.windows(2).map(|pair| pair[1].since(pair[0]).as_millis_f64()).collect();
    let mut moments = Moments::default();
    gaps.into_iter().for_each(|gap| moments.add(gap));
    assert!((240.0..260.0).contains(&moments.mean), "{moments:?}");
    assert!((240.0..260.0).contains(&moments.deviation().unwrap()), "{moments:?}");
}

#[test]
fn a_late_driver_gets_every_message_with_the_time_at_which_it_was_due() {
    let mut flow = workload(constant(Limit::Unlimited), 1, 0);
    let first = flow.poll_timeout().unwrap();
    assert_eq!(flow.poll_message(first.before(Duration::from_nanos(1))), None);
    let late = first + INTERVAL * 2;
    let due: Vec<_> = core::iter::from_fn(|| flow.poll_message(late)).map(|m| m.due).collect();
    assert_eq!(due, [first, first + INTERVAL, late]);
    assert_eq!(flow.poll_timeout(), Some(late + INTERVAL));
}

#[test]
fn a_greedy_flow_is_always_due_until_its_time_is_over() {
    let plan = WorkloadPlan {
        arrivals: Arrivals::Greedy,
        size: Sizes::Constant(1000),
        limit: Limit::Time(Duration::from_secs(1)),
    };
    let mut flow = workload(plan, 1, 0);
    let now = Instant::from_millis(1500);
    assert_eq!(flow.poll_message(now).unwrap().due, now);
    assert_eq!(flow.poll_message(now).unwrap().index, 1);
    assert_eq!(flow.poll_timeout(), Some(now));
    assert_eq!(flow.poll_message(Instant::from_millis(2000)), None);
    assert_eq!(flow.poll_timeout(), None);
}

#[test]
fn plans_without_sense_are_refused() {
    let refused = |arrivals, size| {
        let plan = WorkloadPlan { arrivals, size, limit: Limit::Unlimited };
        Workload::new(plan, 1, 1, Instant::ZERO).err()
    };
    let zero = Duration::ZERO;
    assert_eq!(
        refused(Arrivals::Constant { interval: zero }, Sizes::Constant(1)),
        Some(WorkloadError::ZeroInterval)
    );
    assert_eq!(
        refused(Arrivals::Exponential { mean: zero }, Sizes::Constant(1)),
        Some(WorkloadError::ZeroInterval)
    );
    assert_eq!(refused(Arrivals::Greedy, Sizes::Constant(0)), Some(WorkloadError::ZeroSize));
    for limit in [Limit::Count(0), Limit::Time(zero)] {
        let plan = WorkloadPlan { arrivals: Arrivals::Greedy, size: Sizes::Constant(1), limit };
        let error = Workload::new(plan, 1, 1, Instant::ZERO).err();
        assert_eq!(error, Some(WorkloadError::NoMessages));
    }
}

#[test]
fn arrivals_read_back_what_they_print() {
    for text in [
        "250ms",
        "~1.5s",
        "greedy",
        "bursts 4 305ms 30s",
        "bzflag",
        "live 300kbit",
        "stored 1mbit",
        "images 8 7200B",
    ] {
        assert_eq!(text.parse::<Arrivals>().unwrap().to_string(), text);
    }
    for text in ["0s", "~", "250", "eager", "live", "live fast", "images 0 1kB", "stored 0bit"] {
        let error = text.parse::<Arrivals>().unwrap_err().to_string();
        assert!(error.contains(text) && error.contains("~250ms"), "{error}");
    }
}

#[test]
fn bursts_come_as_many_and_as_close_as_said() {
    let plan = WorkloadPlan {
        arrivals: "bursts 4 305ms 30s".parse().unwrap(),
        size: Sizes::Constant(241),
        limit: Limit::Count(12),
    };
    let due: Vec<_> = workload(plan, 1, 0).map(|message| message.due).collect();
    let gaps: Vec<_> = due.windows(2).map(|pair| pair[1].since(pair[0]).as_millis()).collect();
    assert_eq!(gaps, [305, 305, 305, 29_085, 305, 305, 305, 29_085, 305, 305, 305]);
    let long = Arrivals::Bursts { count: 4, spacing: INTERVAL, interval: INTERVAL * 3 };
    let error = Workload::new(WorkloadPlan { arrivals: long, ..plan }, 1, 0, Instant::ZERO).err();
    assert!(matches!(error, Some(WorkloadError::LongBurst { .. })), "{error:?}");
}

#[test]
fn an_application_sends_as_its_table_says() {
    let application: Application = "anarchy-online".parse().unwrap();
    let plan = WorkloadPlan {
        arrivals: Arrivals::Application(application),
        size: Sizes::Application(application),
        limit: Limit::Count(50_000),
    };
    let messages: Vec<_> = workload(plan, 1, 0).collect();
    let mut gaps: Vec<_> =
        messages.windows(2).map(|pair| pair[1].due.since(pair[0].due).as_millis_f64()).collect();
    let mean = mean(gaps.iter().copied());
    assert!((mean / 632.0 - 1.0).abs() < 0.03, "{mean}");
    gaps.sort_by(f64::total_cmp);
    for (quantile, value) in [(0.01, 83.0), (0.5, 449.0), (0.99, 4195.0)] {
        let have = gaps[(quantile * gaps.len() as f64) as usize];
        assert!((have / value - 1.0).abs() < 0.1, "{quantile}: {have}");
    }
    let payload = messages.iter().map(|message| message.size).sum::<usize>() as f64 / 50_000.0;
    assert!((payload / 98.0 - 1.0).abs() < 0.03, "{payload}");
    assert!(messages.iter().all(|message| (8..=1333).contains(&message.size)));
}

fn media(arrivals: &str, size: usize, limit: Limit) -> WorkloadPlan {
    WorkloadPlan { arrivals: arrivals.parse().unwrap(), size: Sizes::Constant(size), limit }
}

#[test]
fn live_media_are_due_as_they_are_made_without_drift() {
    // 300 kbit/s in messages of 1000 bytes: 26.666... ms each, exactly 80 s for 3000 of them.
    let messages: Vec<_> =
        workload(media("live 300kbit", 1000, Limit::Count(3001)), 1, 0).collect();
    let first = messages[0].due;
    assert!(first.since(Instant::from_millis(1000)) < Duration::from_millis(27));
    assert_eq!(messages[3000].due.since(first), Duration::from_secs(80));
    assert_eq!(messages[3000].media, Duration::from_secs(80));
    assert!(messages.iter().all(|message| message.due.since(first) == message.media));
}

#[test]
fn stored_media_are_due_when_asked_for_but_played_at_their_rate() {
    let mut flow = workload(media("stored 300kbit", 1000, Limit::Unlimited), 1, 0);
    let now = Instant::from_millis(5000);
    let messages: Vec<_> = (0..31).map(|_| flow.poll_message(now).unwrap()).collect();
    assert!(messages.iter().all(|message| message.due == now));
    assert_eq!(messages[0].media, Duration::ZERO);
    assert_eq!(messages[30].media, Duration::from_millis(800));
}

#[test]
fn images_are_due_at_once_and_grow_side_by_side() {
    let plan = media("images 3 2500B", 1000, Limit::Unlimited);
    let messages: Vec<_> = workload(plan, 1, 0).collect();
    let sizes: Vec<_> = messages.iter().map(|message| message.size).collect();
    assert_eq!(sizes, [1000, 1000, 1000, 1000, 1000, 1000, 500, 500, 500]);
    assert!(messages.iter().all(|message| message.due == Instant::from_millis(1000)));
}
