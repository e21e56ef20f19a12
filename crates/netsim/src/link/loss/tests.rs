use super::super::{Link, LinkConfig};
use super::*;

/// The fates of `count` packets sent every `interval`: true is lost.
fn fates(loss: LossModel, seed: u64, count: u64, interval: Duration) -> Vec<bool> {
    let mut schedule = LossSchedule::new(&loss, [].into_iter(), seed, 0);
    (0..count).map(|n| schedule.loses(Instant::ZERO + interval * n, n + 1)).collect()
}

fn share_lost(fates: &[bool]) -> f64 {
    fates.iter().filter(|lost| **lost).count() as f64 / fates.len() as f64
}

/// Mean number of consecutive losses.
fn mean_burst(fates: &[bool]) -> f64 {
    let bursts = fates.chunk_by(|a, b| a == b).filter(|run| run[0]).count();
    fates.iter().filter(|lost| **lost).count() as f64 / bursts as f64
}

fn assert_near(value: f64, expected: f64, tolerance: f64) {
    assert!((value - expected).abs() <= tolerance, "{value} instead of {expected}");
}

#[test]
fn bernoulli_loses_its_share_without_bursts() {
    let fates = fates(LossModel::Bernoulli("5%".parse().unwrap()), 1, 400_000, Duration::ZERO);
    assert_near(share_lost(&fates), 0.05, 0.001);
    assert_near(mean_burst(&fates), 1.0 / 0.95, 0.01);
}

#[test]
fn gilbert_elliott_loses_its_share_in_bursts_of_the_asked_length() {
    let model = GilbertElliott::from_mean_burst("5%".parse().unwrap(), 4.0);
    let fates = fates(LossModel::GilbertElliott(model), 2, 1_000_000, Duration::ZERO);
    assert_near(share_lost(&fates), 0.05, 0.0015);
    assert_near(mean_burst(&fates), 4.0, 0.1);
}

#[test]
fn elliott_losses_in_both_states_add_up() {
    let half = Probability::from_ratio(1, 2);
    let model = GilbertElliott {
        good_to_bad: Probability::from_ratio(1, 100),
        bad_to_good: Probability::from_ratio(1, 25),
        loss_in_good: Probability::from_ratio(1, 100),
        loss_in_bad: half,
    };
    let fates = fates(LossModel::GilbertElliott(model), 3, 1_000_000, Duration::ZERO);
    assert_near(share_lost(&fates), 0.8 * 0.01 + 0.2 * 0.5, 0.003);
}

#[test]
fn timed_gilbert_stays_bad_for_its_mean_time() {
    let model = TimedGilbert::new(Duration::from_millis(2_850), Duration::from_millis(150));
    let every = Duration::from_millis(1);
    let fates = fates(LossModel::TimedGilbert(model), 4, 20_000_000, every);
    assert_near(share_lost(&fates), 0.05, 0.0025);
    assert_near(mean_burst(&fates), 150.0, 5.0);
}

#[test]
fn the_bad_times_do_not_depend_on_the_packets() {
    let model = TimedGilbert::new(Duration::from_millis(200), Duration::from_millis(100));
    let model = LossModel::TimedGilbert(model);
    // 2000 s are six epochs.
    let dense = fates(model.clone(), 5, 2_000_000, Duration::from_millis(1));
    let sparse = fates(model, 5, 2_000, Duration::from_millis(1_000));
    assert!(sparse.iter().any(|lost| *lost));
    assert!(dense.iter().step_by(1_000).eq(sparse.iter()));
}

#[test]
fn links_of_one_process_are_bad_at_the_same_times_and_others_are_not() {
    let on_link = |index, process| {
        let model = TimedGilbert {
            process,
            ..TimedGilbert::new(Duration::from_millis(200), Duration::from_millis(100))
        };
        let model = LossModel::TimedGilbert(model);
        let mut schedule = LossSchedule::new(&model, [].into_iter(), 6, index);
        (0..1_000).map(|n| schedule.loses(Instant::from_millis(10 * n), n)).collect::<Vec<_>>()
    };
    assert_eq!(on_link(0, Some(7)), on_link(1, Some(7)));
    assert_ne!(on_link(0, Some(7)), on_link(0, Some(8)));
    assert_ne!(on_link(0, None), on_link(1, None));
    assert_ne!(on_link(7, None), on_link(7, Some(7)));
}

#[test]
fn a_long_pause_costs_no_long_walk() {
    let model = TimedGilbert::new(Duration::from_micros(1), Duration::from_micros(1));
    let model = LossModel::TimedGilbert(model);
    let mut schedule = LossSchedule::new(&model, [].into_iter(), 1, 0);
    for year in 0..500 {
        schedule.loses(Instant::ZERO + Duration::from_secs(31_536_000) * year, year + 1);
    }
    schedule.loses(Instant::FAR_FUTURE, 501);
}

#[test]
fn a_list_loses_exactly_the_packets_it_names() {
    let fates = fates(LossModel::List(vec![4, 2, 2, 9]), 1, 10, Duration::ZERO);
    let lost = (1..).zip(&fates).filter(|(_, lost)| **lost).map(|(number, _)| number);
    assert_eq!(lost.collect::<Vec<u64>>(), [2, 4, 9]);
}

#[test]
fn models_without_sense_are_refused() {
    let refuse = |loss| {
        let config = LinkConfig { loss, ..LinkConfig::default() };
        Link::<()>::new(config, 0, 0).err().unwrap()
    };
    assert_eq!(refuse(LossModel::List(vec![1, 0])), LinkConfigError::PacketZero);
    let short = TimedGilbert::new(Duration::from_secs(1), Duration::from_nanos(999));
    assert_eq!(
        refuse(LossModel::TimedGilbert(short)).to_string(),
        "mean stay of 999ns in a loss state: must be at least 1us"
    );
}
