//! Ladder of packets: two hosts as vertical lines with an arrow for each packet; time runs
//! downwards.

use maud::{Markup, html};

use super::super::document::{Arrow, Note, Role};
use super::super::scale::px;
use super::{Drawing, Theme};

const LEFT: f64 = 190.0;
const RIGHT: f64 = 510.0;
const TOP: f64 = 44.0;
/// Room for each event, and for all.
const EVENT: f64 = 26.0;
const HEIGHT: (f64, f64) = (240.0, 1400.0);

pub(super) fn draw(
    theme: &Theme,
    sides: &[String; 2],
    span_ms: f64,
    (arrows, notes): (&[Arrow], &[Note]),
) -> Drawing {
    let events = (arrows.len() + notes.len()) as f64;
    let height = (events * EVENT).clamp(HEIGHT.0, HEIGHT.1);
    let y = |at_ms: f64| TOP + at_ms / span_ms.max(1e-9) * height;
    let x = |side: u8| if side == 0 { LEFT } else { RIGHT };
    let body = html! {
        @for (side, name) in (0..).zip(sides) {
            text class="middle" style="font-weight:600" x=(px(x(side))) y="24" { (name) }
            line class="axis" x1=(px(x(side))) x2=(px(x(side))) y1=(px(TOP - 10.0)) y2=(px(TOP + height + 8.0)) {}
        }
        @for arrow in arrows { (draw_arrow(theme, arrow, x, y)) }
        @for note in notes {
            @let inwards = if note.side == 0 { 10.0 } else { -10.0 };
            circle cx=(px(x(note.side))) cy=(px(y(note.at_ms))) r="3.5" fill=(theme.text) {}
            // Inside, above the arrow that it may have caused: the arrows' names stand outside.
            text class={ "faint " (if note.side == 0 { "" } else { "end" }) } x=(px(x(note.side) + inwards)) y=(px(y(note.at_ms) - 7.0)) {
                (note.label)
            }
        }
    };
    Drawing { width: RIGHT + LEFT, height: TOP + height + 16.0, body }
}

fn draw_arrow(
    theme: &Theme,
    arrow: &Arrow,
    x: impl Fn(u8) -> f64,
    y: impl Fn(f64) -> f64,
) -> Markup {
    let (from, to) = (x(arrow.from), x(1 - arrow.from.min(1)));
    let sent = y(arrow.sent_ms);
    let lost = arrow.arrived_ms.is_none();
    // A lost packet gets half of the way, at the slope of a short trip.
    let end = arrow.arrived_ms.map_or(((from + to) / 2.0, sent + 14.0), |at| (to, y(at)));
    let colour = match (lost, arrow.role) {
        (true, _) => &theme.bad,
        (false, Role::Data) => &theme.link,
        (false, Role::Again) => &theme.again,
        (false, Role::Along) => &theme.along,
        (false, Role::Ack | Role::Other) => &theme.faint,
    };
    let (dx, dy) = (end.0 - from, end.1 - sent);
    let length = dx.hypot(dy).max(1.0);
    let (ux, uy) = (dx / length, dy / length);
    let outside = if arrow.from == 0 { -10.0 } else { 10.0 };
    html! {
        line stroke=(colour) stroke-width="1.8" stroke-dasharray=[lost.then_some("5 4")]
            x1=(px(from)) y1=(px(sent)) x2=(px(end.0)) y2=(px(end.1)) {}
        @if lost {
            text class="middle" style={ "font-weight:700;fill:" (colour) } x=(px(end.0)) y=(px(end.1 + 5.0)) { "✕" }
        } @else {
            path fill=(colour) d={
                "M" (px(end.0)) " " (px(end.1))
                "L" (px(end.0 - ux * 9.0 - uy * 4.0)) " " (px(end.1 - uy * 9.0 + ux * 4.0))
                "L" (px(end.0 - ux * 9.0 + uy * 4.0)) " " (px(end.1 - uy * 9.0 - ux * 4.0)) "z"
            } {}
        }
        text class=(if arrow.from == 0 { "end" } else { "" }) x=(px(from + outside)) y=(px(sent + 4.0)) {
            (arrow.label) @if lost { " (lost)" }
        }
    }
}
