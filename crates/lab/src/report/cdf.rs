//! The distribution of latency with a logarithmic tail: each grid line upwards is ten times rarer.

use maud::{Markup, PreEscaped, html};

use super::numbers::{short, tick as tick_text};
use super::scale::{LogAxis, px, spread, text_width};
use super::{DemoReport, PolicyReport};

/// Styles of all figures: classes with colours for both themes.
pub(super) const FIGURE_STYLE: &str = include_str!("figure.css");
/// Colours and dash patterns in the style sheet.
pub(super) const COLOURS: usize = 6;

const FONT_SIZE: f64 = 12.0;

/// Measures of one rendering, in pixels.
pub(super) struct Layout {
    width: f64,
    height: f64,
    left: f64,
    right: f64,
    /// Whether there is room to say more than the least: names at the ends of the curves, and on
    /// the right how rare a level is.
    spacious: bool,
    /// Keeps ids apart when a page holds several renderings.
    id: &'static str,
}

/// For a screen.
pub(super) const WIDE: Layout =
    Layout { width: 840.0, height: 420.0, left: 64.0, right: 96.0, spacious: true, id: "cdf-wide" };
/// For a phone.
pub(super) const NARROW: Layout = Layout {
    width: 358.0,
    height: 380.0,
    left: 58.0,
    right: 14.0,
    spacious: false,
    id: "cdf-narrow",
};

const BOTTOM: f64 = 48.0;
const LEGEND_ROW: f64 = 20.0;
/// Room above the plot for the latencies at the ends of the curves.
const ENDS: f64 = 44.0;

/// The plot as an element of a page.
pub(super) fn figure(policies: &[PolicyReport], layout: &Layout) -> Markup {
    let plot = Plot::new(policies, layout, 0.0);
    html! {
        svg class={ "figure " (layout.id) } viewBox={ "0 0 " (px(layout.width)) " " (px(layout.height)) }
            role="img" aria-labelledby={ (layout.id) "-title " (layout.id) "-desc" } {
            (description(policies, layout))
            (plot.draw(policies))
        }
    }
}

/// The plot as a file of its own, with headings and a background.
pub(super) fn standalone(report: &DemoReport) -> Markup {
    const HEAD: f64 = 62.0;
    const MARGIN: f64 = 14.0;
    let layout = &WIDE;
    let plot = Plot::new(&report.policies, layout, 0.0);
    let (width, height) = (layout.width + 2.0 * MARGIN, layout.height + HEAD + MARGIN);
    let parameters: Vec<_> =
        report.parameters.iter().map(|(name, value)| format!("{name} {value}")).collect();
    html! {
        svg xmlns="http://www.w3.org/2000/svg" class="figure" width=(px(width)) height=(px(height))
            viewBox={ "0 0 " (px(width)) " " (px(height)) }
            role="img" aria-labelledby={ (layout.id) "-title " (layout.id) "-desc" } {
            (description(&report.policies, layout))
            style { (PreEscaped(FIGURE_STYLE)) }
            rect class="card" x="0.5" y="0.5" width=(px(width - 1.0)) height=(px(height - 1.0)) rx="8" {}
            text class="heading" x=(px(MARGIN + 10.0)) y="32" { (report.title) }
            text class="muted" x=(px(MARGIN + 10.0)) y="52" { (parameters.join(" · ")) }
            g transform={ "translate(" (px(MARGIN)) " " (px(HEAD)) ")" } {
                (plot.draw(&report.policies))
            }
        }
    }
}

fn description(policies: &[PolicyReport], layout: &Layout) -> Markup {
    let sentence = |policy: &PolicyReport| {
        policy.results.latency_ms.map(|summary| {
            let (p50, p99, max) = (short(summary.p50), short(summary.p99), short(summary.max));
            format!("{}: half within {p50}, 99 % within {p99}, all within {max}.", policy.name)
        })
    };
    let sentences: Vec<_> = policies.iter().filter_map(sentence).collect();
    html! {
        title id={ (layout.id) "-title" } { "Share of messages delivered within a latency, by policy" }
        desc id={ (layout.id) "-desc" } { (sentences.join(" ")) }
    }
}

/// Axes and legend, placed.
struct Plot<'a> {
    layout: &'a Layout,
    x: LogAxis,
    /// Of the fraction *not* yet delivered, so that the axis is logarithmic in rarity.
    y: LogAxis,
    legend: Vec<(f64, f64)>,
}

impl<'a> Plot<'a> {
    fn new(policies: &[PolicyReport], layout: &'a Layout, top: f64) -> Plot<'a> {
        let legend = place_legend(policies, layout, top);
        let top = legend.last().map_or(top, |(_, y)| *y) + ENDS;
        let latencies =
            || policies.iter().flat_map(|policy| &policy.cdf).map(|point| point.latency_ms);
        let least = latencies().fold(f64::INFINITY, f64::min).clamp(1e-6, 1e9);
        let most = latencies().fold(least, f64::max);
        let messages = policies.iter().map(|policy| policy.results.messages).max().unwrap_or(0);
        let rarest = 1.0 / (messages.max(10) as f64);
        let (left, right) = (layout.left, layout.width - layout.right);
        Plot {
            layout,
            x: LogAxis { from: least * 0.85, to: most * 1.25, start_px: left, end_px: right },
            y: LogAxis {
                from: rarest * 0.8,
                to: 1.0,
                start_px: top,
                end_px: layout.height - BOTTOM,
            },
            legend,
        }
    }

    fn draw(&self, policies: &[PolicyReport]) -> Markup {
        html! {
            (self.draw_grid())
            (self.draw_legend(policies))
            @for (index, policy) in policies.iter().enumerate() {
                path class={ "curve s" (index % COLOURS) } d=(self.path(policy)) {}
            }
            (self.draw_ends(policies))
        }
    }

    fn draw_grid(&self) -> Markup {
        let (left, right) = (self.x.start_px, self.x.end_px);
        let (top, bottom) = (self.y.start_px, self.y.end_px);
        let levels = levels(self.y.from);
        html! {
            @for level in &levels {
                @let y = self.y.px(level.late);
                line class="grid" x1=(px(left)) x2=(px(right)) y1=(px(y)) y2=(px(y)) {}
                text class="tick end" x=(px(left - 8.0)) y=(px(y + 4.0)) { (level.label) }
                @if self.layout.spacious {
                    text class="tick faint" x=(px(right + 8.0)) y=(px(y + 4.0)) { (level.rarity) }
                }
            }
            @for tick in self.x.ticks(46.0) {
                @let x = self.x.px(tick);
                line class="grid" x1=(px(x)) x2=(px(x)) y1=(px(top)) y2=(px(bottom)) {}
                text class="tick middle" x=(px(x)) y=(px(bottom + 18.0)) { (tick_text(tick)) }
            }
            line class="axis" x1=(px(left)) x2=(px(right)) y1=(px(bottom)) y2=(px(bottom)) {}
            text class="label middle" x=(px((left + right) / 2.0)) y=(px(bottom + 40.0)) {
                @if self.layout.spacious { "latency, from when a message was due to its delivery" }
                @else { "latency, from due to delivered" }
            }
        }
    }

    fn draw_legend(&self, policies: &[PolicyReport]) -> Markup {
        html! {
            @for (index, (policy, (x, y))) in policies.iter().zip(&self.legend).enumerate() {
                line class={ "curve s" (index % COLOURS) } x1=(px(*x)) x2=(px(x + 26.0)) y1=(px(y - 4.0)) y2=(px(y - 4.0)) {}
                text class="label strong" x=(px(x + 33.0)) y=(px(*y)) { (policy.name) }
            }
        }
    }

    /// The distribution as steps. What never arrived keeps it below the top until the right end.
    fn path(&self, policy: &PolicyReport) -> String {
        let Some(first) = policy.cdf.first() else { return String::new() };
        let mut path = format!("M{} {}", px(self.x.px(first.latency_ms)), px(self.y.px(1.0)));
        for point in &policy.cdf {
            path += &format!("H{}", px(self.x.px(point.latency_ms)));
            if point.fraction < 1.0 {
                path += &format!("V{}", px(self.y.px(1.0 - point.fraction)));
            }
        }
        if policy.cdf.last().is_some_and(|last| last.fraction < 1.0) {
            path += &format!("H{}", px(self.x.end_px));
        }
        path
    }

    /// A dot at the end of each curve, and above the plot the longest latency, side by side.
    fn draw_ends(&self, policies: &[PolicyReport]) -> Markup {
        let mut ends: Vec<End> =
            policies.iter().enumerate().filter_map(|(index, one)| self.end(index, one)).collect();
        ends.sort_by(|a, b| a.x.total_cmp(&b.x));
        let widest = ends.iter().map(|end| text_width(&end.text, FONT_SIZE)).fold(0.0, f64::max);
        let wished: Vec<_> = ends.iter().map(|end| end.x).collect();
        let limit = self.layout.width - 4.0 - widest / 2.0;
        let label_y = self.y.start_px - 18.0;
        html! {
            @for (end, x) in ends.iter().zip(spread(&wished, widest + 8.0, limit)) {
                line class={ "leader s" (end.colour) } x1=(px(x)) x2=(px(end.x)) y1=(px(label_y + 4.0)) y2=(px(end.y)) {}
                circle class={ "dot f" (end.colour) } cx=(px(end.x)) cy=(px(end.y)) r="4" {}
                text class="label middle strong" x=(px(x)) y=(px(label_y)) { (end.text) }
            }
        }
    }

    /// Where a curve ends; nowhere when messages are missing.
    fn end(&self, index: usize, policy: &PolicyReport) -> Option<End> {
        let last = policy.cdf.last().filter(|last| last.fraction >= 1.0)?;
        let before = policy.cdf.iter().rev().find(|point| point.fraction < 1.0);
        let latency = short(last.latency_ms);
        let named = || format!("{} {latency}", policy.name);
        Some(End {
            x: self.x.px(last.latency_ms),
            y: self.y.px(before.map_or(1.0, |point| 1.0 - point.fraction)),
            text: if self.layout.spacious { named() } else { latency },
            colour: index % COLOURS,
        })
    }
}

/// The end of a curve and its label.
struct End {
    x: f64,
    y: f64,
    text: String,
    colour: usize,
}

/// A grid line across the plot.
struct Level {
    /// Fraction not yet delivered.
    late: f64,
    label: String,
    rarity: String,
}

/// 0 %, 50 %, 90 %, 99 %, ... as far as the axis goes.
fn levels(rarest: f64) -> Vec<Level> {
    let level = |late, label: &str, rarity: &str| Level {
        late,
        label: label.to_owned(),
        rarity: rarity.to_owned(),
    };
    let mut levels = vec![level(1.0, "0 %", ""), level(0.5, "50 %", "half are later")];
    let mut one_in: u64 = 10;
    while 1.0 / one_in as f64 >= rarest && one_in < 10_000_000_000 {
        let decimals = (one_in.ilog10() as usize).saturating_sub(2);
        let percent = 100.0 - 100.0 / one_in as f64;
        let rarity = format!("1 in {}", super::numbers::grouped(one_in));
        levels.push(level(1.0 / one_in as f64, &format!("{percent:.decimals$} %"), &rarity));
        one_in *= 10;
    }
    levels
}

/// Where each entry of the legend begins, in as many rows as it takes.
fn place_legend(policies: &[PolicyReport], layout: &Layout, top: f64) -> Vec<(f64, f64)> {
    let (mut x, mut y) = (layout.left, top + 14.0);
    policies
        .iter()
        .map(|policy| {
            let width = 33.0 + text_width(&policy.name, FONT_SIZE + 1.0);
            if x > layout.left && x + width > layout.width - 8.0 {
                (x, y) = (layout.left, y + LEGEND_ROW);
            }
            let place = (x, y);
            x += width + 20.0;
            place
        })
        .collect()
}
