//! The time-sequence diagram of a loss, like figures 2, 5 and 6 of Petlund et al. (2009): time runs
//! down, the sender is on the left, the receiver on the right.

use base::Instant;
use maud::{Markup, html};

use super::cdf::COLOURS;
use super::numbers::short;
use super::scale::{px, spread, widest};
use super::{Ladder, LadderEvent, MarkKind, PacketKind, Side};

/// Between the lines of life of both sides.
const BETWEEN: f64 = 106.0;
/// From a line of life to the text of a label.
const TO_TEXT: f64 = 15.0;
/// Between the parts of a label.
const GAP: f64 = 5.0;
/// Least width of a margin, and what stays free at its edge.
const MARGIN: f64 = 122.0;
const EDGE: f64 = 4.0;
const FONT: f64 = 12.0;
const TOP: f64 = 34.0;
const BOTTOM: f64 = 14.0;
/// Between the baselines of two labels.
const LABEL: f64 = 15.0;
/// Least and greatest height of the time that the longest ladder shows.
const HEIGHT: (f64, f64) = (300.0, 780.0);
const PX_PER_MS: f64 = 0.5;

/// What all ladders share, so that they can be compared by eye.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    px_per_ms: f64,
    /// Room for labels on either side: for the longest of any ladder.
    margin: f64,
}

impl Scale {
    /// For these ladders beside each other.
    pub(super) fn common<'a>(ladders: impl Iterator<Item = &'a Ladder> + Clone) -> Scale {
        let span = ladders.clone().map(span_ms).fold(1.0, f64::max);
        let labels = ladders.clone().map(|ladder| ladder.events.len()).max().unwrap_or(0);
        let height = (span * PX_PER_MS).clamp(HEIGHT.0, HEIGHT.1);
        let px_per_ms = height.max(labels as f64 * LABEL * 0.6) / span;
        let unlabelled = Scale { px_per_ms, margin: MARGIN };
        let margins = ladders.flat_map(|ladder| {
            let drawing = Drawing { ladder, scale: unlabelled, colour: 0 };
            drawing.labels().iter().map(Label::room).collect::<Vec<_>>()
        });
        Scale { margin: margins.fold(MARGIN, f64::max).ceil(), ..unlabelled }
    }

    fn width(self) -> f64 {
        self.life(Side::Receiver) + self.margin
    }

    /// The line of life of a side.
    fn life(self, side: Side) -> f64 {
        match side {
            Side::Sender => self.margin,
            Side::Receiver => self.margin + BETWEEN,
        }
    }
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
pub(super) fn figure(policy: &str, index: usize, ladder: &Ladder, scale: Scale) -> Markup {
    let drawing = Drawing { ladder, scale, colour: index % COLOURS };
    let labels = drawing.labels();
    let lowest = labels.iter().map(|label| label.y).fold(0.0, f64::max);
    let end = (TOP + span_ms(ladder) * scale.px_per_ms + 8.0).max(lowest + 4.0);
    let outcome = match ladder.delivered {
        Some(at) => format!("delivered {} after it was due", short(drawing.millis(at))),
        None => "not delivered in the time shown".to_owned(),
    };
    html! {
        svg class="figure ladder" viewBox={ "0 0 " (px(scale.width())) " " (px(end + BOTTOM)) }
            role="img" aria-labelledby={ "ladder-" (index) "-title ladder-" (index) "-desc" } {
            title id={ "ladder-" (index) "-title" } { (policy) ": a lost message, " (outcome) }
            desc id={ "ladder-" (index) "-desc" } {
                "Packets between sender and receiver over time; the table below lists them."
            }
            (drawing.draw_frame(end))
            @for event in drawing.events() { (drawing.draw_event(event)) }
            @for label in &labels { (label.draw(scale)) }
        }
    }
}

/// The events as rows of a table, for whoever cannot see or enlarge the drawing.
pub(super) fn table(ladder: &Ladder) -> Markup {
    let drawing = Drawing { ladder, scale: Scale { px_per_ms: 1.0, margin: MARGIN }, colour: 0 };
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
    /// Pixels from the line of life to the edge of the drawing that it needs, whatever the font.
    fn room(&self) -> f64 {
        TO_TEXT + widest(&self.time, FONT) + GAP + widest(self.text, FONT) + EDGE
    }

    fn draw(&self, scale: Scale) -> Markup {
        let (outward, anchor) = match self.side {
            Side::Sender => (-1.0, "end"),
            Side::Receiver => (1.0, "start"),
        };
        let x = scale.life(self.side);
        let class = if self.lost { "strong lost" } else { "strong" };
        html! {
            line class="link" x1=(px(x + outward * 5.0)) y1=(px(self.event_y)) x2=(px(x + outward * 12.0)) y2=(px(self.y)) {}
            text x=(px(x + outward * TO_TEXT)) y=(px(self.y + 4.0)) text-anchor=(anchor) {
                @match self.side {
                    Side::Sender => { tspan class="muted" { (self.time) } tspan class=(class) dx=(px(GAP)) { (self.text) } }
                    Side::Receiver => { tspan class=(class) { (self.text) } tspan class="muted" dx=(px(GAP)) { (self.time) } }
                }
            }
        }
    }
}

struct Drawing<'a> {
    ladder: &'a Ladder,
    scale: Scale,
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
        TOP + self.millis(at) * self.scale.px_per_ms
    }

    fn draw_frame(&self, end: f64) -> Markup {
        let top = self.y(self.ladder.due);
        let until = self.ladder.delivered.map_or(end, |at| self.y(at));
        let (left, right) = (self.scale.life(Side::Sender), self.scale.life(Side::Receiver));
        html! {
            text class="middle muted" x=(px(left)) y="16" { "sender" }
            text class="middle muted" x=(px(right)) y="16" { "receiver" }
            rect class={ "band f" (self.colour) } x=(px(left)) y=(px(top)) width=(px(BETWEEN)) height=(px(until - top)) {}
            line class="life" x1=(px(left)) x2=(px(left)) y1="24" y2=(px(end)) {}
            line class="life" x1=(px(right)) x2=(px(right)) y1="24" y2=(px(end)) {}
            line class={ "span s" (self.colour) } x1=(px(right)) x2=(px(right)) y1=(px(top)) y2=(px(until)) {}
        }
    }

    fn draw_event(&self, event: &LadderEvent) -> Markup {
        match event {
            LadderEvent::Packet { from, sent, arrived, kind, .. } => {
                let start = (self.scale.life(*from), self.y(*sent));
                let arrival =
                    arrived.map_or_else(|| start.1 + self.usual_fall(*from), |at| self.y(at));
                let end = (self.scale.life(other(*from)), arrival);
                self.draw_packet(*kind, start, end, arrived.is_none())
            }
            LadderEvent::Mark { side, at, kind, .. } => {
                let (x, y) = (self.scale.life(*side), self.y(*at));
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
                Some(at.since(*sent).as_millis_f64() * self.scale.px_per_ms)
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

#[cfg(test)]
mod tests {
    use super::*;
    use base::Duration;

    fn ladder(label: &str, millis: u64) -> Ladder {
        let due = Instant::from_millis(5_000);
        let sent = due + Duration::from_millis(millis);
        let packet = |from| LadderEvent::Packet {
            from,
            sent,
            arrived: Some(sent + Duration::from_millis(50)),
            kind: PacketKind::Data,
            label: label.to_owned(),
        };
        let events = vec![packet(Side::Sender), packet(Side::Receiver)];
        Ladder { due, delivered: Some(sent), events }
    }

    /// The number behind `name="`.
    fn attribute(element: &str, name: &str) -> f64 {
        let (_, rest) = element.split_once(&format!("{name}=\"")).unwrap();
        rest.split('"').next().unwrap().parse().unwrap()
    }

    /// The text of an element without its tags.
    fn text(element: &str) -> String {
        let inner = element.split("</text>").next().unwrap();
        inner.split('<').filter_map(|part| part.split_once('>')).map(|(_, text)| text).collect()
    }

    #[test]
    fn every_label_lies_within_the_view_box_in_the_widest_font() {
        let all = [ladder("SACK 4294967295 +300", 1_234_567), ladder("TSN 7", 0)];
        let scale = Scale::common(all.iter());
        for (index, one) in all.iter().enumerate() {
            let svg = figure("thin", index, one, scale).into_string();
            let (_, view_box) = svg.split_once("viewBox=\"0 0 ").unwrap();
            let width: f64 = view_box.split(' ').next().unwrap().parse().unwrap();
            let labels: Vec<&str> =
                svg.split("<text ").skip(1).filter(|one| one.contains("text-anchor")).collect();
            assert_eq!(labels.len(), 2, "{svg}");
            for label in labels {
                let (x, needed) = (attribute(label, "x"), widest(&text(label), FONT) + GAP);
                let (left, right) = match label.contains("\"end\"") {
                    true => (x - needed, x),
                    false => (x, x + needed),
                };
                assert!(left >= 0.0 && right <= width, "{label}: {left} to {right} of {width}");
            }
        }
        assert!(Scale::common([ladder("TSN 7", 0)].iter()).width() == BETWEEN + 2.0 * MARGIN);
    }
}
