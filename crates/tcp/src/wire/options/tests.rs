//! Each option by itself, then all together.

use super::*;
use proptest::prelude::*;

fn emitted(options: &Options) -> Vec<u8> {
    let mut buffer = Vec::new();
    options.emit(&mut buffer);
    assert_eq!(buffer.len(), options.emitted_length());
    assert_eq!(buffer.len() % 4, 0);
    assert!(buffer.len() <= MAX_OPTIONS_LENGTH);
    buffer
}

fn block(start: u32, end: u32) -> SackBlock {
    SackBlock { start: SeqNumber(start), end: SeqNumber(end) }
}

/// `bytes` mean `options`, and `options` are written as `bytes`.
fn assert_both_ways(bytes: &[u8], options: Options) {
    assert_eq!(Options::parse(bytes), options);
    assert_eq!(emitted(&options), bytes);
}

#[test]
fn no_options_are_no_bytes() {
    assert_both_ways(&[], Options::default());
}

#[test]
fn mss_is_four_bytes() {
    assert_both_ways(&[2, 4, 5, 0xb4], Options { mss: Some(1460), ..Options::default() });
}

#[test]
fn window_scale_follows_a_no_operation() {
    assert_both_ways(&[1, 3, 3, 7], Options { window_scale: Some(7), ..Options::default() });
}

#[test]
fn a_window_scale_beyond_14_is_read_as_it_stands() {
    assert_eq!(Options::parse(&[3, 3, 200]).window_scale, Some(200));
}

#[test]
fn sack_permitted_follows_two_no_operations() {
    assert_both_ways(&[1, 1, 4, 2], Options { sack_permitted: true, ..Options::default() });
}

#[test]
fn timestamps_follow_two_no_operations() {
    let timestamps = Some(Timestamps { value: 0x0102_0304, echo: 0x0506_0708 });
    let bytes = [1, 1, 8, 10, 1, 2, 3, 4, 5, 6, 7, 8];
    assert_both_ways(&bytes, Options { timestamps, ..Options::default() });
}

#[test]
fn sack_blocks_keep_their_order() {
    let sack = SackBlocks::from_slice(&[block(0x100, 0x200), block(0x10, 0x20)]);
    let bytes = [1, 1, 5, 18, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0, 0x10, 0, 0, 0, 0x20];
    assert_both_ways(&bytes, Options { sack, ..Options::default() });
}

#[test]
fn a_user_timeout_counts_seconds_or_minutes() {
    let seconds = UserTimeout { minutes: false, value: 300 };
    assert_both_ways(
        &[28, 4, 1, 44],
        Options { user_timeout: Some(seconds), ..Options::default() },
    );
    let minutes = UserTimeout { minutes: true, value: 2 };
    assert_both_ways(
        &[28, 4, 0x80, 2],
        Options { user_timeout: Some(minutes), ..Options::default() },
    );
    assert_eq!(minutes.duration(), Duration::from_secs(120));
}

#[test]
fn a_duration_becomes_the_next_longer_user_timeout() {
    let from = |millis| UserTimeout::from_duration(Duration::from_millis(millis));
    assert_eq!(from(1_001), UserTimeout { minutes: false, value: 2 });
    assert_eq!(from(32_767_000), UserTimeout { minutes: false, value: 32_767 });
    assert_eq!(from(32_768_000), UserTimeout { minutes: true, value: 547 });
    assert_eq!(from(u64::MAX), UserTimeout { minutes: true, value: 32_767 });
}

#[test]
fn fast_open_signatures_and_unknown_kinds_are_skipped_and_counted() {
    let bytes = [&[34, 2][..], &[19, 18], &[0; 16], &[29, 4, 1, 1], &[253, 4, 0xf9, 0x89]].concat();
    let mut options = Options::parse(&[&bytes[..], &[2, 4, 5, 0xb4]].concat());
    assert_eq!(
        options.skipped,
        Skipped { fast_open: 1, signatures: 2, unknown: 1, ..Skipped::default() }
    );
    assert_eq!(options.mss, Some(1460));
    options.skipped = Skipped::default();
    assert_eq!(emitted(&options), [2, 4, 5, 0xb4]);
}

#[test]
fn nothing_behind_the_end_of_options_counts() {
    assert_eq!(Options::parse(&[0, 2, 4, 5, 0xb4]), Options::default());
}

#[test]
fn a_length_that_an_option_cannot_have_leaves_it_out_and_the_next_in() {
    for wrong in [
        &[2, 3, 5][..],
        &[2, 2],
        &[3, 4, 7, 0],
        &[4, 3, 0],
        &[5, 2],
        &[5, 6, 1, 2, 3, 4],
        &[8, 6, 1, 2, 3, 4],
        &[28, 3, 1],
    ] {
        let options = Options::parse(&[wrong, &[1, 2, 4, 5, 0xb4]].concat());
        let skipped = Skipped { malformed: 1, ..Skipped::default() };
        assert_eq!(
            options,
            Options { mss: Some(1460), skipped, ..Options::default() },
            "{wrong:?}"
        );
    }
}

#[test]
fn a_length_less_than_two_or_past_the_end_ends_the_options() {
    for wrong in [&[8, 0, 2, 4, 5, 0xb4][..], &[8, 1, 2, 4, 5, 0xb4], &[8, 7, 2, 4, 5, 0xb4], &[8]]
    {
        let options = Options::parse(wrong);
        let skipped = Skipped { malformed: 1, ..Skipped::default() };
        assert_eq!(options, Options { skipped, ..Options::default() }, "{wrong:?}");
    }
}

#[test]
fn a_syn_has_its_options_in_the_usual_order() {
    let options = Options {
        mss: Some(1460),
        window_scale: Some(7),
        sack_permitted: true,
        timestamps: Some(Timestamps { value: 1, echo: 0 }),
        ..Options::default()
    };
    assert_both_ways(&[2, 4, 5, 0xb4, 4, 2, 8, 10, 0, 0, 0, 1, 0, 0, 0, 0, 1, 3, 3, 7], options);
}

#[test]
fn three_sack_blocks_fit_beside_timestamps_and_four_without() {
    let blocks: SackBlocks = (0..4).map(|i| block(2 * i, 2 * i + 1)).collect();
    let alone = Options { sack: blocks.clone(), ..Options::default() };
    assert_eq!(Options::parse(&emitted(&alone)).sack, blocks);
    assert_eq!(sack_blocks_that_fit(false), 4);
    let beside = Options { timestamps: Some(Timestamps::default()), ..alone };
    assert_eq!(Options::parse(&emitted(&beside)).sack[..], blocks[..3]);
    assert_eq!(sack_blocks_that_fit(true), 3);
}

fn any_options() -> impl Strategy<Value = Options> {
    let timestamps =
        (any::<u32>(), any::<u32>()).prop_map(|(value, echo)| Timestamps { value, echo });
    let blocks = proptest::collection::vec((any::<u32>(), any::<u32>()), 0..=4);
    let timeout =
        (any::<bool>(), 0u16..0x8000).prop_map(|(minutes, value)| UserTimeout { minutes, value });
    (
        any::<Option<u16>>(),
        any::<Option<u8>>(),
        any::<bool>(),
        proptest::option::of(timestamps),
        blocks,
        proptest::option::of(timeout),
    )
        .prop_map(|(mss, window_scale, sack_permitted, timestamps, blocks, user_timeout)| {
            Options {
                mss,
                window_scale,
                sack_permitted,
                timestamps,
                sack: blocks.into_iter().map(|(start, end)| block(start, end)).collect(),
                user_timeout,
                skipped: Skipped::default(),
            }
        })
}

proptest! {
    #[test]
    fn what_is_emitted_is_read_again(options in any_options()) {
        let read = Options::parse(&emitted(&options));
        let fit = read.sack.len();
        prop_assert!(fit == options.sack.len() || emitted(&options).len() + 8 > MAX_OPTIONS_LENGTH);
        let expected = Options { sack: options.sack[..fit].into(), ..options };
        prop_assert_eq!(read, expected);
    }

    #[test]
    fn any_bytes_are_read_without_harm(bytes in proptest::collection::vec(any::<u8>(), 0..=40)) {
        let options = Options { skipped: Skipped::default(), ..Options::parse(&bytes) };
        prop_assert_eq!(Options::parse(&emitted(&options)).timestamps, options.timestamps);
    }
}
