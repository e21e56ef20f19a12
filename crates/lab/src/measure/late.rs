//! Messages that arrive too late for play-back.

use core::ops::Range;

use base::{Duration, Instant};
use results::Sheet;
use serde::Deserialize;

use super::interface::{Ask, of_flow};
use crate::observed::{Delivery, Group, Measure, Seen, Setting};
use crate::text::{Names, Text};

/// `[measure.late]`: messages that miss play-back, by a player that starts some time after its
/// first message and then plays each at its time.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Late {
    /// Groups of flows; all unless given.
    #[serde(default)]
    pub of: Option<Names>,
    /// Time from the first delivery to the beginning of play-back.
    pub pre_buffer: Text<Duration>,
    /// Ratios of encoding rate to play-back rate: 2 plays at half the speed.
    pub ratios: Vec<f64>,
}

impl Ask for Late {
    fn of(&self) -> Option<&Names> {
        self.of.as_ref()
    }

    fn begin(&self, setting: &Setting) -> Option<Box<dyn Measure>> {
        let (pre_buffer, ratios) = (self.pre_buffer.0, self.ratios.clone());
        Some(Box::new(Kept {
            window: setting.window.clone(),
            pre_buffer,
            ratios,
            flows: Vec::new(),
        }))
    }
}

#[derive(Debug)]
struct Kept {
    window: Range<Instant>,
    pre_buffer: Duration,
    ratios: Vec<f64>,
    flows: Vec<Player>,
}

/// A player with several speeds at once.
#[derive(Clone, Debug)]
struct Player {
    /// Messages that arrived too late, for each ratio.
    late: Vec<u64>,
    /// The first message's place in the media, and when it was delivered.
    first: Option<(Duration, Instant)>,
    /// The lowest ratio at which no message would have been late.
    needed: f64,
    /// Messages delivered in the window.
    played: u64,
}

impl Player {
    fn on_delivery(
        &mut self,
        delivery: &Delivery,
        counts: bool,
        pre_buffer: Duration,
        ratios: &[f64],
    ) {
        let (first, delivered) = *self.first.get_or_insert((delivery.media, delivery.delivered));
        if !counts {
            return;
        }
        self.played += 1;
        let media = delivery.media.saturating_sub(first).as_nanos() as f64;
        let waited = delivery.delivered.since(delivered + pre_buffer).as_nanos() as f64;
        if media > 0.0 {
            self.needed = self.needed.max(waited / media);
        }
        for (ratio, late) in ratios.iter().zip(&mut self.late) {
            let offset = Duration::from_nanos((media * *ratio).round() as u64);
            *late += u64::from(delivery.delivered > delivered + pre_buffer + offset);
        }
    }
}

impl Measure for Kept {
    fn observe(&mut self, flow: usize, seen: &Seen<'_>) {
        let Seen::Delivered(delivery) = seen else { return };
        let Kept { window, pre_buffer, ratios, flows } = self;
        let new = || Player { late: vec![0; ratios.len()], first: None, needed: 0.0, played: 0 };
        let Some(player) = of_flow(flows, flow, new) else { return };
        player.on_delivery(delivery, window.contains(&delivery.delivered), *pre_buffer, ratios);
    }

    fn rows(&self, _: &Group<'_>, sheet: &mut Sheet<'_>) {
        let played: u64 = self.flows.iter().map(|player| player.played).sum();
        for (place, ratio) in self.ratios.iter().enumerate() {
            let late: u64 = self.flows.iter().filter_map(|player| player.late.get(place)).sum();
            let ratio = ratio.to_string();
            let share = 100.0 * late as f64 / played as f64;
            sheet.add("late.share", &[("ratio", &ratio)], share, "%");
        }
        let needed = self.flows.iter().map(|player| player.needed);
        sheet.add("late.needed_ratio", &[], needed.fold(0.0, f64::max), "");
    }
}
