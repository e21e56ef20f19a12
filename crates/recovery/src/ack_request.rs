//! Requests for the acknowledgement of packets that travel alone, for a protocol without a flag for
//! them: TCP repeats the last byte, since a receiver acknowledges a duplicate at once (RFC 9293,
//! section 3.10.7.4; RFC 5681, section 4.2). A request costs a packet, so one is sent only where
//! requests were seen to help.
//!
//! Receivers differ: one delays each acknowledgement, another acknowledges the next sixteen packets
//! at once after a duplicate, a third delays none. After each run of requests one packet travels
//! without. If its acknowledgement is late, the next run is twice as long; otherwise requests stop
//! until an acknowledgement is late. If the shortest of eight requested round trips is a quarter
//! longer than the path's shortest, and milliseconds, the path has a standing queue, and requests
//! stop for a while; jitter alone leaves some of the eight short.

use base::Duration;

use crate::rtt::LEAST_QUEUE;

/// Longest run of requests, in packets.
const LONGEST_RUN: u8 = 64;
/// Number of requested round trips whose shortest shows whether there is a queue.
const JUDGED: u8 = 8;
/// Least and most packets that travel without a request once there is a queue.
const LEAST_PAUSE: u16 = 16;
const LONGEST_PAUSE: u16 = 512;
/// Least lateness of an unrequested acknowledgement, compared with requested ones, that counts as a
/// delay.
const LATE: Duration = Duration::from_millis(4);
/// Least lateness before any acknowledgement was requested: less than the delay of any receiver
/// that delays.
const LATE_AT_FIRST: Duration = Duration::from_millis(20);

/// State of the requests on one path.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AckRequests {
    /// Mean round trip of the packets that a request followed, and its mean deviation, in
    /// microseconds.
    prompt: Option<(u32, u32)>,
    /// Requests left in this run, and its length.
    left: u8,
    run: u8,
    /// Number of the latest requested round trips, and the shortest of them in microseconds.
    judged: u8,
    shortest: u32,
    /// Packets that travel without a request from now on because of a queue, and their number at
    /// the last queue.
    pause: u16,
    paused: u16,
    /// Whether the last requested acknowledgement was late nevertheless.
    was_in_vain: bool,
}

impl AckRequests {
    /// Whether a request is to follow a packet that travels alone.
    pub(crate) fn is_wanted(self) -> bool {
        self.left > 0
    }

    /// Records the round trip of a packet that travelled alone; `least`: the shortest round trip of
    /// any packet.
    pub(crate) fn on_round_trip(&mut self, asked: bool, measured: Duration, least: Duration) {
        if asked {
            self.left = self.left.saturating_sub(1);
            self.judge(measured, least);
            // If the acknowledgement is late nevertheless, the request was lost.
            if self.was_lost(measured) {
                return;
            }
            let measured = measured.as_micros_u32();
            let (mean, distance) = self.prompt.unwrap_or((measured, 0));
            let towards = |mean: u32, value: u32| mean - mean / 8 + value / 8;
            let off = measured.abs_diff(mean);
            self.prompt = Some((towards(mean, measured), towards(distance, off)));
        } else if self.pause > 0 {
            self.pause -= 1;
        } else if self.is_late(measured, least) {
            self.run = (self.run * 2).clamp(1, LONGEST_RUN);
            self.left = self.run;
        } else {
            (self.run, self.left) = (0, 0);
            // What varied with a queue that has gone does not hide the peer's delay for ever.
            if let Some((mean, distance)) = &mut self.prompt
                && measured.as_micros_u32() > mean.saturating_add(*distance)
            {
                *distance -= *distance / 256;
            }
        }
    }

    /// Records the round trip of a packet that others followed before its acknowledgement. During a
    /// run of requests each of those was followed by one: round trips longer than the time
    /// between messages may be those of a queue that requests fill.
    pub(crate) fn on_crowded_round_trip(&mut self, measured: Duration, least: Duration) {
        if self.left > 0 {
            self.judge(measured, least);
        }
    }

    /// Stops requests for a while if the path has a standing queue.
    fn judge(&mut self, measured: Duration, least: Duration) {
        let micros = measured.as_micros_u32();
        let shortest = if self.judged == 0 { micros } else { self.shortest.min(micros) };
        (self.judged, self.shortest) = (self.judged + 1, shortest);
        if self.judged < JUDGED {
            return;
        }
        self.judged = 0;
        let shortest = Duration::from_micros(shortest.into());
        if shortest > least + (least / 4).max(LEAST_QUEUE) {
            self.paused = (self.paused * 2).clamp(LEAST_PAUSE, LONGEST_PAUSE);
            (self.pause, self.run, self.left) = (self.paused, 0, 0);
            // Without the queue, an acknowledgement takes about the shortest round trip.
            self.prompt = self.prompt.map(|(_, distance)| (least.as_micros_u32(), distance));
        } else {
            self.paused /= 2;
        }
    }

    /// Whether the round trip of a packet without a request contains a delay of the peer.
    pub(crate) fn is_late(self, measured: Duration, least: Duration) -> bool {
        let prompt = self.longest_prompt().map(|prompt| prompt + LATE);
        measured > prompt.unwrap_or(least + LATE_AT_FIRST)
    }

    /// Whether the last request was probably lost.
    pub(crate) fn is_in_vain(self) -> bool {
        self.was_in_vain
    }

    /// Whether the request for the packet of this round trip was lost: the round trip contains a
    /// delay, and the previous one did not. Two in a row are evidence of a queue.
    fn was_lost(&mut self, measured: Duration) -> bool {
        self.was_in_vain = !self.was_in_vain && self.is_late_in_vain(measured);
        self.was_in_vain
    }

    /// Whether the round trip contains a delay although a request followed the packet, so that the
    /// request was lost.
    pub(crate) fn is_late_in_vain(self, measured: Duration) -> bool {
        self.longest_prompt().is_some_and(|prompt| measured > prompt + LATE_AT_FIRST)
    }

    /// Mean round trip of the packets that a request followed.
    pub(crate) fn prompt(self) -> Option<Duration> {
        self.prompt.map(|(mean, _)| Duration::from_micros(mean.into()))
    }

    fn longest_prompt(self) -> Option<Duration> {
        let longest = |(mean, distance): (u32, u32)| u64::from(mean) + u64::from(distance) * 2;
        self.prompt.map(longest).map(Duration::from_micros)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAST: Duration = Duration::from_millis(100);

    /// Number of requests among `packets` packets. `delay`: the peer's delay of the acknowledgement
    /// of the packet of this number if it is not requested, in milliseconds; `jitter`: added to
    /// any round trip, in milliseconds.
    fn asked(packets: u64, delay: impl Fn(u64) -> u64, jitter: impl Fn(u64) -> u64) -> u64 {
        let (mut requests, mut asked) = (AckRequests::default(), 0);
        for packet in 0..packets {
            let asks = requests.is_wanted();
            asked += u64::from(asks);
            let delay = if asks { 0 } else { delay(packet) };
            let measured = LEAST + Duration::from_millis(delay + jitter(packet));
            requests.on_round_trip(asks, measured, LEAST);
        }
        asked
    }

    #[test]
    fn a_receiver_that_always_delays_is_asked_but_for_one_packet_in_sixty_five() {
        let asked = asked(1000, |_| 40, |_| 0);
        assert!((970..985).contains(&asked), "{asked}");
    }

    #[test]
    fn one_that_is_prompt_is_never_asked_and_jitter_makes_it_be_asked_seldom() {
        assert_eq!(asked(1000, |_| 0, |packet| packet * 7 % 20), 0);
        let asked = asked(1000, |_| 0, |packet| packet * 37 % 61);
        assert!((1..200).contains(&asked), "one in five at most: {asked}");
    }

    #[test]
    fn a_single_late_answer_is_a_lost_request_and_two_in_a_row_are_a_queue() {
        let mut requests = AckRequests::default();
        let mut measure = |millis| {
            requests.on_round_trip(true, Duration::from_millis(millis), LEAST);
            (requests.is_in_vain(), requests.longest_prompt().map(Duration::as_millis))
        };
        assert_eq!(measure(100), (false, Some(100)));
        assert_eq!(measure(140), (true, Some(100)), "no measure of what is prompt");
        assert_eq!(measure(100), (false, Some(100)));
        assert_eq!(measure(140), (true, Some(100)));
        assert_eq!(measure(140), (false, Some(115)));
    }

    #[test]
    fn a_queue_ends_requests_for_longer_and_longer_and_its_end_lets_them_begin_again() {
        let delay = |_| 40;
        let few = asked(2000, delay, |packet| if packet > 100 { 30 } else { 0 });
        assert!((120..170).contains(&few), "{few}");
        let again = asked(2000, delay, |packet| if (100..200).contains(&packet) { 30 } else { 0 });
        assert!((1700..1950).contains(&again), "{again}");
    }

    #[test]
    fn a_queue_as_long_as_the_time_between_messages_ends_requests_too() {
        // After forty packets that travel alone, each is followed by others before its
        // acknowledgement.
        let asked_with = |queue: u64| {
            let (mut requests, mut asked) = (AckRequests::default(), 0);
            for packet in 0..200 {
                let asks = requests.is_wanted();
                let late = if asks { Duration::ZERO } else { LATE_AT_FIRST * 2 };
                if packet < 40 {
                    requests.on_round_trip(asks, LEAST + late, LEAST);
                } else {
                    asked += u64::from(asks);
                    requests.on_crowded_round_trip(LEAST + Duration::from_millis(queue), LEAST);
                }
            }
            asked
        };
        assert_eq!([0, 20].map(asked_with), [160, 160], "no queue");
        assert_eq!(asked_with(30), 14, "eight behind those whose judgement had begun");
    }

    #[test]
    fn jitter_alone_is_no_queue() {
        let asked = asked(1000, |_| 40, |packet| packet * 37 % 61);
        assert!((600..985).contains(&asked), "{asked}");
    }

    #[test]
    fn on_a_short_path_a_round_trip_of_a_millisecond_is_no_queue() {
        let mut requests = AckRequests::default();
        let micros = Duration::from_micros;
        let mut asked = 0;
        for packet in 0..1000 {
            let asks = requests.is_wanted();
            asked += u64::from(asks);
            let measured = if asks { 200 + packet % 3 * 400 } else { 100_200 };
            requests.on_round_trip(asks, micros(measured), micros(200));
        }
        assert!((970..985).contains(&asked), "{asked}");
    }

    #[test]
    fn one_that_is_prompt_for_a_while_after_a_duplicate_is_asked_once_in_that_while() {
        let asked = asked(1000, |packet| if packet % 16 == 0 { 40 } else { 0 }, |_| 0);
        assert!((55..70).contains(&asked), "{asked}");
    }
}
