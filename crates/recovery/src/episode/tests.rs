use base::Instant;

use super::*;
use crate::loss::frto::{AfterTimeout, Verdict};

const MSS: u64 = 1000;

fn controller() -> Congestion {
    Congestion::new(&RecoveryPolicy::tcp_rfc().congestion, MSS)
}

/// Fast recovery that ends at unit 100, paced, with a window wider by two packets.
fn recovering() -> Episode {
    let mut episode = Episode::default();
    episode.enter(Entry::Loss { inflation: 2 * MSS as i64, pipe: None }, 100);
    episode
}

#[test]
fn an_episode_ends_when_the_cumulative_point_reaches_its_exit_and_not_before() {
    for entry in [Entry::Loss { inflation: 0, pipe: None }, Entry::Timeout { suspected: None }] {
        let mut episode = Episode::default();
        episode.enter(entry, 100);
        episode.on_cumulative(99);
        assert!(episode.is_repairing(), "{entry:?}");
        episode.on_cumulative(100);
        assert!(!episode.is_repairing() && !episode.is_recovering(), "{entry:?}");
    }
}

#[test]
fn the_window_deviates_from_the_controllers_for_as_long_as_the_episode_lasts() {
    let mut episode = recovering();
    assert_eq!(episode.window(5 * MSS, MSS), 7 * MSS);
    episode.deflate(9 * MSS, MSS);
    assert_eq!(episode.window(5 * MSS, MSS), MSS, "never less than a packet");
    episode.pace(10 * MSS, 5 * MSS, 4 * MSS);
    assert_eq!(episode.window(5 * MSS, MSS), 4 * MSS);
    for end in [End::Repaired, End::Abandoned, End::Discarded] {
        let mut left = episode.clone();
        left.leave(end);
        assert_eq!(left.window(5 * MSS, MSS), 5 * MSS, "{end:?}");
        assert!(left.keeps_nothing() && !left.is_recovering(), "{end:?}");
    }
    episode.enter(Entry::Timeout { suspected: None }, 120);
    assert_eq!(episode.window(5 * MSS, MSS), 5 * MSS);
    assert!(episode.is_repairing() && !episode.is_recovering());
}

#[test]
fn what_one_recovery_counted_the_next_does_not_inherit() {
    let mut episode = recovering();
    episode.on_partial_ack(false, 100);
    episode.on_partial_ack(false, 100);
    episode.on_again(50, 10);
    assert!(!episode.restarts_timer(false, PartialAck::First));
    assert!(episode.restarts_timer(true, PartialAck::First) && episode.lacks_rescue());
    assert_eq!(episode.high_rxt(), Some(60));
    episode.on_rescue();
    assert!(!episode.lacks_rescue());
    episode.on_cumulative(100);
    assert!(episode.restarts_timer(false, PartialAck::First));
    assert_eq!(episode.high_rxt(), None);
    episode.enter(Entry::Loss { inflation: 0, pipe: None }, 200);
    assert!(episode.restarts_timer(false, PartialAck::First) && !episode.lacks_rescue());
    assert_eq!(episode.high_rxt(), Some(0));
}

#[test]
fn a_repair_leaves_the_suspicion_to_the_acknowledgement_that_ends_it() {
    let mut episode = Episode::default();
    episode.enter(Entry::Timeout { suspected: Some(Frto::new(100, true)) }, 100);
    episode.on_cumulative(100);
    assert!(episode.is_suspected());
    let ack = AfterTimeout { cumulative: 100, advanced: true, ..AfterTimeout::default() };
    let verdict = episode.judge_timeout(None, ack);
    assert_eq!(verdict, Some(Verdict::Conventional { sent_new: false }));
    assert!(!episode.is_suspected() && episode.keeps_nothing());
}

#[test]
fn what_is_taken_back_is_the_controller_before_and_the_next_loss_is_news() {
    let mut episode = Episode::default();
    episode.keep(&controller(), 10, 100);
    episode.enter(Entry::Loss { inflation: 0, pipe: None }, 100);
    episode.on_resent(Instant::ZERO, 10);
    assert!(episode.expires_again(10) || episode.expires_again(10));
    assert!(episode.has_dealt_with(50, true));
    let before = episode.take_back().map(|congestion| congestion.cwnd());
    assert_eq!(before, Some(controller().cwnd()));
    assert!(!episode.has_dealt_with(50, true) && !episode.is_repairing());
    assert!(!episode.expires_again(10), "the timeout did not count");
    assert!(episode.take_back().is_none(), "once");
}

#[test]
fn where_nothing_is_reported_the_exit_itself_is_dealt_with_still() {
    let mut episode = recovering();
    episode.on_cumulative(100);
    assert!(episode.has_dealt_with(100, false) && !episode.has_dealt_with(101, false));
    assert!(episode.has_dealt_with(99, true) && !episode.has_dealt_with(100, true));
}

#[test]
fn a_path_that_is_given_up_goes_on_with_what_a_timeout_began_only() {
    let mut after = Episode::default();
    after.enter(Entry::Timeout { suspected: Some(Frto::new(100, true)) }, 100);
    after.leave(End::Abandoned);
    assert!(after.is_repairing() && !after.is_suspected());
    let mut fast = recovering();
    fast.leave(End::Abandoned);
    assert!(!fast.is_repairing());
}

#[test]
fn an_idle_path_lets_go_of_its_episode_once_all_that_it_concerns_is_acknowledged() {
    let ledger = Ledger::new(100);
    let mut episode = recovering();
    episode.on_fall(&ledger, false);
    episode.rest(101);
    assert!(episode.0.is_some(), "not over yet");
    episode.on_cumulative(100);
    episode.rest(100);
    assert!(episode.0.is_some(), "losses up to 100 are dealt with, and duplicates may concern 100");
    assert!(episode.has_dealt_with(100, false) && episode.fallen().covers_signal(100));
    episode.exempt(Exempt::Fast);
    episode.rest(101);
    assert!(episode.0.is_some(), "a packet may leave");
    episode.end_exemption();
    assert!(!episode.expires_again(100));
    episode.rest(100);
    assert!(episode.0.is_some(), "the timer expired for 100");
    episode.rest(101);
    assert!(episode.0.is_none());
    assert!(!episode.has_dealt_with(101, false) && !episode.fallen().covers_signal(101));
    episode.on_miss();
    episode.rest(200);
    assert!(episode.0.is_some() && episode.allows_extra(), "a packet may leave beyond the window");
}
