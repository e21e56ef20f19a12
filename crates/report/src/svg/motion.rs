//! Ladders as a moving picture: for each a lane in which packets travel between sender and
//! receiver, slowed down, and a bar that grows until the lost message is delivered. All of it is
//! CSS, so that a page can show the file as an image; where nothing may move, the bars show how it
//! ends.

use core::fmt::Write as _;

use maud::{Markup, html};

use super::super::document::{Arrow, Figure, Note, Role};
use super::super::numbers::{short, tick};
use super::super::scale::px;
use super::{Drawing, Theme, Themes, WIDTH, frame};

/// Positions at which packets leave and arrive, and at which the bars begin and time ends.
const LEFT: f64 = 70.0;
const RIGHT: f64 = WIDTH - 70.0;
const TOP: f64 = 26.0;
const LANE: f64 = 92.0;
/// Seconds of one round of the picture, and of its rest at the end.
const ROUND: f64 = 10.0;
const REST: f64 = 2.5;
/// Time that is shown after the last delivery.
const AFTER_MS: f64 = 150.0;
/// Part of the way that a lost packet gets, and how long its cross stays.
const LOST_AT: f64 = 0.45;
const CROSS_MS: f64 = 120.0;

/// One ladder of the picture.
struct Lane<'a> {
    name: &'a str,
    sides: &'a [String; 2],
    arrows: &'a [Arrow],
    delivery: &'a Note,
}

/// The ladders of these names as a moving picture; none if in one of them nothing is delivered.
pub fn to_moving_svg(title: &str, subtitle: &str, ladders: &[(&str, &Figure)]) -> Option<String> {
    let lanes: Vec<Lane<'_>> = ladders.iter().map(lane).collect::<Option<_>>()?;
    let last = lanes.iter().map(|lane| lane.delivery.at_ms).fold(0.0, f64::max);
    let clock = Clock { span_ms: last + AFTER_MS };
    let themes = Themes::read();
    let mut motion = format!(
        " .moves {{ animation: {ROUND}s linear infinite }} .packet {{ opacity: 0; transform-box: fill-box }} .bar {{ transform-origin: \
         {LEFT}px 0 }} @media (prefers-reduced-motion: reduce) {{ .moves {{ animation: none }} }} @media \
         (prefers-color-scheme: dark) {{ {} }}",
        themes.dark_rules()
    );
    let theme = &themes.light;
    let mut drawn = Vec::new();
    for (number, lane) in lanes.iter().enumerate() {
        let y = TOP + number as f64 * LANE;
        drawn.push(draw_lane(theme, &clock, (number, lane), y, &mut motion));
    }
    let bottom = TOP + lanes.len() as f64 * LANE;
    let axis = draw_axis(&clock, bottom, &mut motion);
    let body = html! { (axis) @for lane in &drawn { (lane) } (draw_legend(theme, bottom + 34.0)) };
    let drawing = Drawing { width: WIDTH, height: bottom + 36.0, body }.headed(title, subtitle);
    let size = (drawing.width, drawing.height);
    let body = html! {
        rect x="0.5" y="0.5" width=(px(size.0 - 1.0)) height=(px(size.1 - 1.0)) rx="8"
            fill=(theme.background) stroke=(theme.grid) {}
        (drawing.body)
    };
    Some(frame(theme, (title, &caption(&lanes)), size, &body, &motion).into_string())
}

fn lane<'a>((name, figure): &(&'a str, &'a Figure)) -> Option<Lane<'a>> {
    let Figure::Ladder { sides, arrows, notes, .. } = figure else { return None };
    let received = notes.iter().filter(|note| note.side == 1);
    let delivery = received.min_by(|one, other| one.at_ms.total_cmp(&other.at_ms))?;
    Some(Lane { name, sides, arrows, delivery })
}

fn caption(lanes: &[Lane<'_>]) -> String {
    let each = lanes.iter().map(|lane| format!("{}: {}", lane.name, outcome(lane.delivery)));
    format!("One message is lost. {}.", each.collect::<Vec<_>>().join("; "))
}

/// `message 5 delivered after 240 ms`.
fn outcome(delivery: &Note) -> String {
    format!("{} after {}", delivery.label, short(delivery.at_ms.round()))
}

/// Times of the ladders as parts of a round.
struct Clock {
    span_ms: f64,
}

impl Clock {
    fn percent(&self, at_ms: f64) -> f64 {
        (at_ms / self.span_ms).clamp(0.0, 1.0) * 100.0 * (ROUND - REST) / ROUND
    }

    fn x(&self, at_ms: f64) -> f64 {
        LEFT + (RIGHT - LEFT) * (at_ms / self.span_ms).min(1.0)
    }
}

fn draw_lane(
    theme: &Theme,
    clock: &Clock,
    (number, lane): (usize, &Lane<'_>),
    y: f64,
    motion: &mut String,
) -> Markup {
    let (track, bar) = (y + 34.0, y + 60.0);
    let at_ms = lane.delivery.at_ms;
    let end = clock.percent(at_ms);
    let packets = lane.arrows.iter().enumerate().filter(|(_, arrow)| arrow.sent_ms < clock.span_ms);
    let drawn: Vec<Markup> = packets
        .map(|(index, arrow)| {
            draw_packet(theme, clock, arrow, (format!("p{number}-{index}"), track), motion)
        })
        .collect();
    // Writing to a string does not fail.
    let _ = write!(
        motion,
        " @keyframes b{number} {{ 0% {{ transform: scaleX(0) }} {end:.2}%, 100% {{ transform: scaleX(1) }} }} @keyframes \
         o{number} {{ 0%, {end:.2}% {{ opacity: 0 }} {:.2}%, 100% {{ opacity: 1 }} }}",
        end + 0.01
    );
    html! {
        text class="strong" x="0" y=(px(y + 12.0)) { (lane.name) }
        text class="strong end moves" style={ "animation-name:o" (number) } x=(px(WIDTH)) y=(px(y + 12.0)) {
            (outcome(lane.delivery))
        }
        text class="faint small" x="0" y=(px(track + 4.0)) { (lane.sides[0]) }
        text class="faint small end" x=(px(WIDTH)) y=(px(track + 4.0)) { (lane.sides[1]) }
        line class="grid" x1=(px(LEFT)) x2=(px(RIGHT)) y1=(px(track)) y2=(px(track)) {}
        rect class="bar moves" style={ "animation-name:b" (number) } x=(px(LEFT)) y=(px(bar)) height="10" rx="2"
            width=(px(clock.x(at_ms) - LEFT)) fill=(theme.series(number)) {}
        @for packet in &drawn { (packet) }
    }
}

fn draw_packet(
    theme: &Theme,
    clock: &Clock,
    arrow: &Arrow,
    (name, y): (String, f64),
    motion: &mut String,
) -> Markup {
    let (from, way) = match arrow.from {
        0 => (LEFT, RIGHT - LEFT),
        _ => (RIGHT, LEFT - RIGHT),
    };
    /// Time for which a lost packet is drawn on its way, since its arrival is unknown.
    const LOST_MS: f64 = 25.0;
    let (goes, arrived) = match arrow.arrived_ms {
        Some(at) => (way, at),
        None => (way * LOST_AT, arrow.sent_ms + LOST_MS),
    };
    let (start, end) = (clock.percent(arrow.sent_ms), clock.percent(arrived));
    let gone = end + 0.01;
    let _ = write!(
        motion,
        " @keyframes {name} {{ 0%, {start:.2}% {{ opacity: 0; transform: none }} {:.2}% {{ opacity: 1; transform: none }} \
         {end:.2}% {{ opacity: 1; transform: translateX({}px) }} {gone:.2}%, 100% {{ opacity: 0; transform: \
         translateX({}px) }} }}",
        start + 0.01,
        px(goes),
        px(goes),
    );
    let (colour, radius) = match arrow.role {
        Role::Data => (&theme.link, 5.0),
        Role::Again => (&theme.again, 6.0),
        Role::Along => (&theme.along, 5.0),
        Role::Ack | Role::Other => (&theme.faint, 3.0),
    };
    let lost = arrow.arrived_ms.is_none();
    if lost {
        let (begin, fade) = (gone, clock.percent(arrived + CROSS_MS).max(gone + 0.02));
        let _ = write!(
            motion,
            " @keyframes x{name} {{ 0%, {begin:.2}% {{ opacity: 0 }} {:.2}% {{ opacity: 1 }} {fade:.2}%, 100% {{ opacity: 0 \
             }} }}",
            begin + 0.01
        );
    }
    html! {
        circle class="packet moves" style={ "animation-name:" (name) } cx=(px(from)) cy=(px(y)) r=(px(radius)) fill=(colour) {}
        @if lost {
            text class="packet moves middle" style={ "animation-name:x" (name) ";font-weight:700;font-size:18px;fill:" (theme.bad) }
                x=(px(from + goes)) y=(px(y + 6.0)) { "✕" }
        }
    }
}

/// Draws the meanings of the dots.
fn draw_legend(theme: &Theme, y: f64) -> Markup {
    let dots = [
        (&theme.link, 5.0, "message"),
        (&theme.again, 6.0, "sent again"),
        (&theme.faint, 3.0, "acknowledgement"),
    ];
    html! {
        @for (place, (colour, radius, name)) in dots.into_iter().enumerate() {
            @let x = LEFT + 110.0 * place as f64;
            circle class="legend" cx=(px(x)) cy=(px(y - 4.0)) r=(px(radius)) fill=(colour) {}
            text class="faint small" x=(px(x + 11.0)) y=(px(y)) { (name) }
        }
        text class="middle" style={ "font-weight:700;fill:" (theme.bad) } x=(px(LEFT + 360.0)) y=(px(y)) { "✕" }
        text class="faint small" x=(px(LEFT + 371.0)) y=(px(y)) { "lost" }
    }
}

/// The time axis of the bars, and the present on it.
fn draw_axis(clock: &Clock, bottom: f64, motion: &mut String) -> Markup {
    let step = [50.0, 100.0, 250.0, 500.0, 1000.0, 2500.0]
        .into_iter()
        .find(|step| clock.span_ms / step <= 8.0)
        .unwrap_or(5000.0);
    let count = (clock.span_ms / step) as u32;
    let (way, end) = (RIGHT - LEFT, clock.percent(clock.span_ms));
    let _ = write!(
        motion,
        " @keyframes now {{ 0% {{ opacity: 1; transform: none }} {end:.2}% {{ opacity: 1; transform: translateX({}px) }} \
         {:.2}%, 100% {{ opacity: 0; transform: translateX({}px) }} }}",
        px(way),
        end + 0.01,
        px(way),
    );
    html! {
        @for step_number in 0..=count {
            @let at_ms = f64::from(step_number) * step;
            line class="grid" x1=(px(clock.x(at_ms))) x2=(px(clock.x(at_ms))) y1=(px(TOP + 52.0)) y2=(px(bottom - 8.0)) {}
            text class="faint small middle" x=(px(clock.x(at_ms))) y=(px(bottom + 8.0)) { (tick(at_ms)) }
        }
        line class="axis packet moves" style="animation-name:now" x1=(px(LEFT)) x2=(px(LEFT)) y1=(px(TOP + 52.0))
            y2=(px(bottom - 8.0)) {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrow(from: u8, sent_ms: f64, arrived_ms: Option<f64>, role: Role) -> Arrow {
        Arrow { from, sent_ms, arrived_ms, label: "TSN 1".to_owned(), role }
    }

    fn ladder(delivered_ms: f64) -> Figure {
        Figure::Ladder {
            name: "ladder".to_owned(),
            title: "One loss".to_owned(),
            caption: String::new(),
            sides: ["sender".to_owned(), "receiver".to_owned()],
            span_ms: 5_000.0,
            arrows: vec![
                arrow(0, 0.0, None, Role::Data),
                arrow(0, delivered_ms - 50.0, Some(delivered_ms), Role::Again),
                arrow(1, delivered_ms, Some(delivered_ms + 50.0), Role::Ack),
                arrow(0, 4_000.0, Some(4_050.0), Role::Data),
            ],
            notes: vec![
                Note { side: 0, at_ms: 1.0, label: "T3-rtx".to_owned() },
                Note { side: 1, at_ms: delivered_ms, label: "message 1 delivered".to_owned() },
            ],
        }
    }

    #[test]
    fn packets_move_until_a_little_after_the_last_delivery_and_bars_are_as_long_as_the_waits() {
        let (slow, quick) = (ladder(900.0), ladder(240.0));
        let svg = to_moving_svg("One loss", "RTT", &[("a", &slow), ("b", &quick)]).unwrap();
        let read = roxmltree::Document::parse(&svg).unwrap();
        let nodes =
            |tag: &'static str| read.descendants().filter(move |node| node.has_tag_name(tag));
        let packets =
            nodes("circle").filter(|node| node.attribute("class") == Some("packet moves"));
        assert_eq!(packets.count(), 6, "what is sent at 4 s is not shown");
        let bars: Vec<f64> = nodes("rect")
            .filter(|node| node.attribute("class") == Some("bar moves"))
            .map(|node| node.attribute("width").unwrap().parse().unwrap())
            .collect();
        assert!((bars[1] / bars[0] - 240.0 / 900.0).abs() < 1e-3, "{bars:?}");
        assert!(svg.contains("message 1 delivered after 240\u{a0}ms"), "{svg}");
        let style = nodes("style").next().unwrap().text().unwrap();
        for moving in read.descendants().filter_map(|node| node.attribute("style")) {
            if let Some(name) = moving.strip_prefix("animation-name:") {
                let name = name.split(';').next().unwrap();
                assert!(style.contains(&format!("@keyframes {name} {{")), "{name}");
            }
        }
    }

    #[test]
    fn moments_of_a_round_follow_each_other() {
        let ladder = ladder(900.0);
        let svg = to_moving_svg("One loss", "", &[("a", &ladder)]).unwrap();
        for frames in svg.split("@keyframes ").skip(1) {
            let frames = frames.split(" @").next().unwrap();
            let moments: Vec<f64> = frames
                .split(|sign: char| sign.is_whitespace() || sign == ',')
                .filter_map(|word| word.strip_suffix('%')?.parse().ok())
                .collect();
            assert!(moments.is_sorted() && moments.last() == Some(&100.0), "{frames}");
        }
    }

    #[test]
    fn without_a_delivery_there_is_nothing_to_show() {
        let Figure::Ladder { name, title, caption, sides, span_ms, arrows, .. } = ladder(9.0)
        else {
            return;
        };
        let notes = Vec::new();
        let silent = Figure::Ladder { name, title, caption, sides, span_ms, arrows, notes };
        assert_eq!(to_moving_svg("", "", &[("a", &silent)]), None);
    }
}
