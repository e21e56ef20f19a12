//! The time-sequence diagram of a loss, like figures 2, 5 and 6 of Petlund et al. (2009): time runs
//! down, the sender is on the left, the receiver on the right.

use base::Instant;
use maud::{Markup, html};

use super::cdf::COLOURS;
use super::numbers::short;
use super::scale::{px, spread};
use super::{Ladder, LadderEvent, MarkKind, PacketKind, Side};

const WIDTH: f64 = 350.0;
const SENDER_X: f64 = 122.0;
const RECEIVER_X: f64 = WIDTH - 122.0;
const TOP: f64 = 34.0;
const BOTTOM: f64 = 14.0;
/// Between the baselines of two labels.
const LABEL: f64 = 15.0;
/// Least and greatest height of the time that the longest ladder shows.
const HEIGHT: (f64, f64) = (300.0, 780.0);
const PX_PER_MS: f64 = 0.5;

/// Pixels per millisecond that all ladders share, so that they can be compared by eye.
pub(super) fn common_scale<'a>(ladders: impl Iterator<Item = &'a Ladder> + Clone) -> f64 {
    let span = ladders.clone().map(span_ms).fold(1.0, f64::max);
    let labels = ladders.map(|ladder| ladder.events.len()).max().unwrap_or(0);
    let height = (span * PX_PER_MS).clamp(HEIGHT.0, HEIGHT.1);
    height.max(labels as f64 * LABEL * 0.6) / span
}

/// Time from the lost message's due time to the last event, in milliseconds.
fn span_ms(ladder: &Ladder) -> f64 {
    let ends = ladder.events.iter().map(|event| match event {
        LadderEvent::Packet { sent, arrived, .. } => arrived.unwrap_or(*sent),
        LadderEvent::Mark { at, .. } => *at,
    });
    let last = ends.chain(ladder.delivered).max().unwrap_or(ladder.due);
    last.since(ladder.due).as_millis_f64()
}

/// The diagram of policy number `index`.
pub(super) fn figure(policy: &str, index: usize, ladder: &Ladder, px_per_ms: f64) -> Markup {
    let drawing = Drawing { ladder, px_per_ms, colour: index % COLOURS };
    let labels = drawing.labels();
    let lowest = labels.iter().map(|label| label.y).fold(0.0, f64::max);
    let end = (TOP + span_ms(ladder) * px_per_ms + 8.0).max(lowest + 4.0);
    let outcome = match ladder.delivered {
        Some(at) => format!("delivered {} after it was due", short(drawing.millis(at))),
        None => "not delivered in the time shown".to_owned(),
    };
    html! {
        svg class="figure ladder" viewBox={ "0 0 " (px(WIDTH)) " " (px(end + BOTTOM)) }
            role="img" aria-labelledby={ "ladder-" (index) "-title ladder-" (index) "-desc" } {
            title id={ "ladder-" (index) "-title" } { (policy) ": a lost message, " (outcome) }
            desc id={ "ladder-" (index) "-desc" } {
                "Packets between sender and receiver over time; the table below lists them."
            }
            (drawing.draw_frame(end))
            @for event in drawing.events() { (drawing.draw_event(event)) }
            @for label in &labels { (label.draw()) }
        }
    }
}

/// The events as rows of a table, for whoever cannot see or enlarge the drawing.
pub(super) fn table(ladder: &Ladder) -> Markup {
    let drawing = Drawing { ladder, px_per_ms: 1.0, colour: 0 };
    let mut events: Vec<_> = drawing.events().collect();
    events.sort_by_key(|event| begin(event));
    html! {
        table class="events" {
            thead { tr { th scope="col" { "ms" } th scope="col" { "where" } th scope="col" { "what" } } }
            tbody {
                @for event in events {
                    tr {
                        td class="number" { (super::numbers::millis(drawing.millis(begin(event)))) }
                        td { (match side(event) { Side::Sender => "sender", Side::Receiver => "receiver" }) }
                        td { (drawing.sentence(event)) }
                    }
                }
            }
        }
    }
}

fn begin(event: &LadderEvent) -> Instant {
    match event {
        LadderEvent::Packet { sent, .. } => *sent,
        LadderEvent::Mark { at, .. } => *at,
    }
}

fn side(event: &LadderEvent) -> Side {
    match event {
        LadderEvent::Packet { from, .. } => *from,
        LadderEvent::Mark { side, .. } => *side,
    }
}

/// The line of life of a side.
fn life(side: Side) -> f64 {
    match side {
        Side::Sender => SENDER_X,
        Side::Receiver => RECEIVER_X,
    }
}

fn other(side: Side) -> Side {
    match side {
        Side::Sender => Side::Receiver,
        Side::Receiver => Side::Sender,
    }
}

/// A text in the margin, moved away from its neighbours.
struct Label<'a> {
    side: Side,
    /// Where the event is.
    event_y: f64,
    /// Where the text is.
    y: f64,
    text: &'a str,
    time: String,
    lost: bool,
}

impl Label<'_> {
    fn draw(&self) -> Markup {
        let (x, outward, anchor) = match self.side {
            Side::Sender => (SENDER_X, -1.0, "end"),
            Side::Receiver => (RECEIVER_X, 1.0, "start"),
        };
        let class = if self.lost { "strong lost" } else { "strong" };
        html! {
            line class="link" x1=(px(x + outward * 5.0)) y1=(px(self.event_y)) x2=(px(x + outward * 12.0)) y2=(px(self.y)) {}
            text x=(px(x + outward * 15.0)) y=(px(self.y + 4.0)) text-anchor=(anchor) {
                @match self.side {
                    Side::Sender => { tspan class="muted" { (self.time) } tspan class=(class) dx="5" { (self.text) } }
                    Side::Receiver => { tspan class=(class) { (self.text) } tspan class="muted" dx="5" { (self.time) } }
                }
            }
        }
    }
}

struct Drawing<'a> {
    ladder: &'a Ladder,
    px_per_ms: f64,
    colour: usize,
}

impl<'a> Drawing<'a> {
    /// Events from the moment at which the lost message was due.
    fn events(&self) -> impl Iterator<Item = &'a LadderEvent> + use<'a> {
        let ladder = self.ladder;
        ladder.events.iter().filter(|event| begin(event) >= ladder.due)
    }

    fn millis(&self, at: Instant) -> f64 {
        at.since(self.ladder.due).as_millis_f64()
    }

    fn y(&self, at: Instant) -> f64 {
        TOP + self.millis(at) * self.px_per_ms
    }

    fn draw_frame(&self, end: f64) -> Markup {
        let top = self.y(self.ladder.due);
        let until = self.ladder.delivered.map_or(end, |at| self.y(at));
        html! {
            text class="middle muted" x=(px(SENDER_X)) y="16" { "sender" }
            text class="middle muted" x=(px(RECEIVER_X)) y="16" { "receiver" }
            rect class={ "band f" (self.colour) } x=(px(SENDER_X)) y=(px(top)) width=(px(RECEIVER_X - SENDER_X)) height=(px(until - top)) {}
            line class="life" x1=(px(SENDER_X)) x2=(px(SENDER_X)) y1="24" y2=(px(end)) {}
            line class="life" x1=(px(RECEIVER_X)) x2=(px(RECEIVER_X)) y1="24" y2=(px(end)) {}
            line class={ "span s" (self.colour) } x1=(px(RECEIVER_X)) x2=(px(RECEIVER_X)) y1=(px(top)) y2=(px(until)) {}
        }
    }

    fn draw_event(&self, event: &LadderEvent) -> Markup {
        match event {
            LadderEvent::Packet { from, sent, arrived, kind, .. } => {
                let start = (life(*from), self.y(*sent));
                let arrival =
                    arrived.map_or_else(|| start.1 + self.usual_fall(*from), |at| self.y(at));
                let end = (life(other(*from)), arrival);
                self.draw_packet(*kind, start, end, arrived.is_none())
            }
            LadderEvent::Mark { side, at, kind, .. } => {
                let (x, y) = (life(*side), self.y(*at));
                html! {
                    @match kind {
                        MarkKind::Timer => path class="data-head" d={ "M" (px(x)) " " (px(y - 6.0)) "l6 6l-6 6l-6 -6z" } {},
                        MarkKind::Delivered => circle class={ "dot f" (self.colour) } cx=(px(x)) cy=(px(y)) r="5.5" {},
                    }
                }
            }
        }
    }

    /// An arrow, or half of one and a cross.
    fn draw_packet(
        &self,
        kind: PacketKind,
        start: (f64, f64),
        end: (f64, f64),
        lost: bool,
    ) -> Markup {
        let (line, head) = match kind {
            PacketKind::Data => ("data".to_owned(), "data-head".to_owned()),
            PacketKind::Retransmission => {
                (format!("again s{}", self.colour), format!("f{}", self.colour))
            }
            PacketKind::Acknowledgement => ("sack".to_owned(), "sack-head".to_owned()),
        };
        let (dx, dy) = (end.0 - start.0, end.1 - start.1);
        let length = dx.hypot(dy).max(1.0);
        let (ux, uy) = (dx / length, dy / length);
        let reach = if lost { length * 0.55 } else { length - 8.0 };
        let tip = (start.0 + ux * reach, start.1 + uy * reach);
        html! {
            line class=(line) x1=(px(start.0)) y1=(px(start.1)) x2=(px(tip.0)) y2=(px(tip.1)) {}
            @if lost {
                path class="cross" d={ "M" (px(tip.0 - 6.0)) " " (px(tip.1 - 6.0)) "l12 12m0 -12l-12 12" } {}
            } @else {
                path class=(head) d={
                    "M" (px(end.0)) " " (px(end.1))
                    "L" (px(end.0 - ux * 9.0 - uy * 4.0)) " " (px(end.1 - uy * 9.0 + ux * 4.0))
                    "L" (px(end.0 - ux * 9.0 + uy * 4.0)) " " (px(end.1 - uy * 9.0 - ux * 4.0)) "z"
                } {}
            }
        }
    }

    /// How far down a packet from `from` comes on its way: as the first that arrived.
    fn usual_fall(&self, from: Side) -> f64 {
        let fall = |event: &LadderEvent| match event {
            LadderEvent::Packet { from: one, sent, arrived: Some(at), .. } if *one == from => {
                Some(at.since(*sent).as_millis_f64() * self.px_per_ms)
            }
            _ => None,
        };
        self.ladder.events.iter().find_map(fall).unwrap_or(0.0)
    }

    /// The texts of both margins, none over another.
    fn labels(&self) -> Vec<Label<'a>> {
        [Side::Sender, Side::Receiver].into_iter().flat_map(|side| self.labels_of(side)).collect()
    }

    fn labels_of(&self, of: Side) -> Vec<Label<'a>> {
        let mut events: Vec<_> = self.events().filter(|event| side(event) == of).collect();
        events.sort_by_key(|event| begin(event));
        let wished: Vec<_> = events.iter().map(|event| self.y(begin(event))).collect();
        let places = spread(&wished, LABEL, f64::INFINITY);
        let label = |(event, (event_y, y)): (&&'a LadderEvent, (&f64, f64))| {
            let (text, lost) = match event {
                LadderEvent::Packet { label, arrived, .. } => (label, arrived.is_none()),
                LadderEvent::Mark { label, .. } => (label, false),
            };
            let time = super::numbers::grouped(self.millis(begin(event)).round() as u64);
            Label { side: of, event_y: *event_y, y, text, time, lost }
        };
        events.iter().zip(wished.iter().zip(places)).map(label).collect()
    }

    fn sentence(&self, event: &LadderEvent) -> String {
        match event {
            LadderEvent::Mark { label, .. } => label.clone(),
            LadderEvent::Packet { arrived, kind, label, .. } => {
                let verb = match kind {
                    PacketKind::Data => "sends",
                    PacketKind::Retransmission => "retransmits",
                    PacketKind::Acknowledgement => "acknowledges:",
                };
                let outcome = match arrived {
                    Some(at) => format!("arrives at {}", super::numbers::millis(self.millis(*at))),
                    None => "lost".to_owned(),
                };
                format!("{verb} {label}, {outcome}")
            }
        }
    }
}
