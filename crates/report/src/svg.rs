//! Figures of a report as SVG files: the drawings of the page, on a light ground, for papers and
//! slides. The colours are the page's own.

mod axis;
mod ends;
mod gallery;
mod heat_map;
mod ladder;
mod legend;
mod motion;
mod plot;

use core::fmt::Write as _;

use maud::{Markup, PreEscaped, html};
use serde::Deserialize;

pub use self::motion::to_moving_svg;

use super::document::Figure;
use super::scale::{px, text_width};

/// Colours of the page, which stand in one file for it and for us.
const COLOURS: &str = include_str!("colours.json");

/// Space of a plot in the drawing, by which it is drawn for the page or a file.
#[derive(Clone, Copy, Debug)]
struct Layout {
    /// Width of the drawing in pixels.
    width: f64,
    /// Height of the plot without axes, title and legend, in pixels.
    plot_height: f64,
    /// Whether there is room for the names of axes and of curves, and for the rarity beside each
    /// tick of a `tail` axis.
    is_spacious: bool,
}

const WIDTH: f64 = 840.0;
const WIDE: Layout = Layout { width: WIDTH, plot_height: 380.0, is_spacious: true };
/// Pixels across of a narrow screen.
const NARROW: f64 = 400.0;
const NARROW_MARGIN: f64 = 8.0;
/// Pixels of a picture up to which its narrow drawing is shown.
const NARROW_UP_TO: u32 = 560;
const SMALL_TITLE: f64 = 15.0;
const MARGIN: f64 = 18.0;
const FONT: f64 = 13.0;
const TITLE_FONT: f64 = 17.0;
const TITLE_LINE: f64 = 22.0;
const SUBTITLE_FONT: f64 = 12.0;
const SUBTITLE_LINE: f64 = 17.0;

/// Colours of the light page, by purpose.
#[derive(Default, Deserialize)]
struct Themes {
    light: Theme,
    dark: Theme,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
struct Theme {
    text: String,
    faint: String,
    grid: String,
    background: String,
    link: String,
    again: String,
    along: String,
    bad: String,
    series: Vec<String>,
    ramp: Vec<String>,
}

impl Themes {
    fn read() -> Themes {
        serde_json::from_str(COLOURS).unwrap_or_default()
    }

    /// Style sheet rules that replace the colours of the light theme by those of the dark one.
    fn dark_rules(&self) -> String {
        let Themes { light, dark } = self;
        let pairs = [
            (&light.text, &dark.text),
            (&light.background, &dark.background),
            (&light.link, &dark.link),
            (&light.again, &dark.again),
            (&light.along, &dark.along),
            (&light.bad, &dark.bad),
            (&light.faint, &dark.faint),
            (&light.grid, &dark.grid),
        ];
        let series = light.series.iter().zip(&dark.series);
        let mut rules = format!(
            "text {{ fill: {} }} .faint {{ fill: {} }} .grid {{ stroke: {} }} .axis {{ stroke: {} }}",
            dark.text, dark.faint, dark.grid, dark.faint
        );
        for (from, to) in pairs.into_iter().chain(series) {
            // Writing to a string does not fail.
            let _ = write!(
                rules,
                " [fill=\"{from}\"] {{ fill: {to} }} [stroke=\"{from}\"] {{ stroke: {to} }}"
            );
        }
        rules
    }
}

impl Theme {
    fn light() -> Theme {
        Themes::read().light
    }

    /// The colour of the n-th series.
    fn series(&self, index: usize) -> &str {
        match self.series.len() {
            0 => &self.text,
            count => &self.series[index % count],
        }
    }
}

impl Layout {
    /// A text, or its part before the first comma if there is no room for all of it.
    fn fitting<'a>(&self, text: &'a str) -> &'a str {
        let short = text.split(',').next().unwrap_or(text);
        if text_width(text, FONT) <= self.width { text } else { short }
    }
}

/// The figure as a file.
pub fn to_svg(figure: &Figure) -> String {
    let theme = Theme::light();
    let drawing = draw(&theme, WIDE, figure).headed(figure.title(), "");
    let size = (drawing.width, drawing.height);
    let words = (figure.title(), figure.caption());
    frame(&theme, words, size, &html! { (backdrop(&theme)) (drawing.body) }, "").into_string()
}

/// The figure with `subtitle` as a file for readers of a page: it follows their light or dark
/// theme, and on a screen as narrow as a phone's a plot is drawn with less in it, so that its text
/// can be read. Programs that know no such rules draw it wide and light.
pub fn to_themed_svg(figure: &Figure, subtitle: &str) -> String {
    let themes = Themes::read();
    let theme = &themes.light;
    let wide = draw(theme, WIDE, figure).headed(figure.title(), subtitle);
    let size = (wide.width, wide.height);
    let narrow = matches!(figure, Figure::Plot { .. }).then(|| draw_narrow(theme, figure, size));
    let mut rules = format!(" @media (prefers-color-scheme: dark) {{ {} }}", themes.dark_rules());
    if narrow.is_some() {
        // Writing to a string does not fail.
        let _ = write!(
            rules,
            " .phone {{ display: none }} @media (max-width: {NARROW_UP_TO}px) {{ .screen {{ display: none }} \
             .phone {{ display: inline }} }}"
        );
    }
    let body = html! {
        rect x="0.5" y="0.5" width=(px(size.0 - 1.0)) height=(px(size.1 - 1.0)) rx="8"
            fill=(theme.background) stroke=(theme.grid) {}
        g class="screen" { (wide.body) }
        @if let Some(narrow) = narrow { (narrow) }
    };
    frame(theme, (figure.title(), figure.caption()), size, &body, &rules).into_string()
}

/// The part below the headline, and its height.
struct Drawing {
    width: f64,
    height: f64,
    body: Markup,
}

impl Drawing {
    /// The drawing below a headline and a subtitle, with margins.
    fn headed(self, title: &str, subtitle: &str) -> Drawing {
        let width = self.width.max(320.0) + 2.0 * MARGIN;
        let lines = wrap(title, width - 2.0 * MARGIN, TITLE_FONT);
        let below = wrap(subtitle, width - 2.0 * MARGIN, SUBTITLE_FONT);
        let first = MARGIN + lines.len() as f64 * TITLE_LINE;
        let last = below.len().saturating_sub(1) as f64;
        let gap = if below.is_empty() { 0.0 } else { SUBTITLE_LINE + 8.0 };
        let head = first + last * SUBTITLE_LINE + gap;
        let height = head + self.height + MARGIN;
        let body = html! {
            @for (line, text) in lines.iter().enumerate() {
                text class="title" x=(px(MARGIN)) y=(px(MARGIN + line as f64 * TITLE_LINE + TITLE_FONT - 3.0)) { (text) }
            }
            @for (line, text) in below.iter().enumerate() {
                text class="faint subtitle" x=(px(MARGIN)) y=(px(first + line as f64 * SUBTITLE_LINE + SUBTITLE_FONT)) { (text) }
            }
            g transform={ "translate(" (px(MARGIN)) " " (px(head)) ")" } { (self.body) }
        };
        Drawing { width, height, body }
    }
}

fn draw(theme: &Theme, layout: Layout, figure: &Figure) -> Drawing {
    match figure {
        Figure::Plot { x, y, series, marks, .. } => {
            plot::draw(theme, layout, (x, y), series, marks)
        }
        Figure::HeatMap { x, y, value, cells, marks, .. } => {
            heat_map::draw(theme, (x, y), value, (cells, marks))
        }
        Figure::Ladder { sides, span_ms, arrows, notes, .. } => {
            ladder::draw(theme, sides, *span_ms, (arrows, notes))
        }
        Figure::Gallery { columns, rows, .. } => gallery::draw(columns, rows),
    }
}

/// The figure as a narrow screen shows it, in a file of this size.
fn draw_narrow(theme: &Theme, figure: &Figure, (width, height): (f64, f64)) -> Markup {
    let times = width / NARROW;
    let lines = wrap(figure.title(), NARROW - 2.0 * NARROW_MARGIN, SMALL_TITLE);
    let head = NARROW_MARGIN + lines.len() as f64 * (SMALL_TITLE + 4.0);
    let of_height = |plot_height| Layout {
        width: NARROW - 2.0 * NARROW_MARGIN,
        plot_height,
        is_spacious: false,
    };
    // What is drawn around a plot does not depend on its height.
    let around = draw(theme, of_height(0.0), figure).height + head + NARROW_MARGIN;
    let drawing = draw(theme, of_height((height / times - around).max(0.0)), figure);
    html! {
        g class="phone" transform={ "scale(" (format!("{times:.4}")) ")" } {
            @for (line, text) in lines.iter().enumerate() {
                text class="title" style={ "font-size:" (SMALL_TITLE) "px" } x=(px(NARROW_MARGIN))
                    y=(px(NARROW_MARGIN + (line + 1) as f64 * (SMALL_TITLE + 4.0) - 5.0)) { (text) }
            }
            g transform={ "translate(" (px(NARROW_MARGIN)) " " (px(head)) ")" } { (drawing.body) }
        }
    }
}

fn backdrop(theme: &Theme) -> Markup {
    html! { rect width="100%" height="100%" fill=(theme.background) {} }
}

/// The file around a drawing; `rules` follow the style sheet's own.
fn frame(
    theme: &Theme,
    (title, caption): (&str, &str),
    (width, height): (f64, f64),
    body: &Markup,
    rules: &str,
) -> Markup {
    html! {
        svg xmlns="http://www.w3.org/2000/svg" width=(px(width)) height=(px(height))
            viewBox={ "0 0 " (px(width)) " " (px(height)) } role="img" aria-labelledby="title caption" {
            title id="title" { (title) }
            desc id="caption" { (caption) }
            style { (PreEscaped(style(theme))) (PreEscaped(rules)) }
            (body)
        }
    }
}

fn style(theme: &Theme) -> String {
    let Theme { text, faint, grid, .. } = theme;
    format!(
        "text {{ font: {FONT}px system-ui, -apple-system, \"Segoe UI\", Roboto, Arial, sans-serif; fill: {text}; \
         font-variant-numeric: tabular-nums }} .title {{ font-size: {TITLE_FONT}px; font-weight: 650 }} \
         .subtitle {{ font-size: {SUBTITLE_FONT}px }} .strong {{ font-weight: 600 }} \
         .faint {{ fill: {faint} }} .middle {{ text-anchor: middle }} .end {{ text-anchor: end }} \
         .small {{ font-size: 11px }} .grid {{ stroke: {grid}; stroke-width: 1 }} \
         .axis {{ stroke: {faint}; stroke-width: 1 }} .line {{ fill: none; stroke-width: 2; stroke-linejoin: round }}"
    )
}

/// A text in lines of this width at most, broken between words.
fn wrap(text: &str, width: f64, font: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if text_width(line, font) + text_width(word, font) + font * 0.3 <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// A quantity's name with its unit.
fn heading(label: &str, unit: Option<&str>) -> String {
    unit.map_or_else(|| label.to_owned(), |unit| format!("{label} ({unit})"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{Axis, Document, Point, Scale, Series, Shape};

    const SAMPLE: &str = include_str!("../../../web/tests/sample.json");

    fn figures() -> Vec<Figure> {
        let sample: Document = serde_json::from_str(SAMPLE).unwrap();
        sample.sections.into_iter().flat_map(|section| section.figures).collect()
    }

    /// The numbers of an attribute of all elements of a name and class.
    fn numbers(svg: &str, element: &str, attribute: &str) -> Vec<f64> {
        let read = roxmltree::Document::parse(svg).unwrap();
        let elements = read.descendants().filter(|node| node.has_tag_name(element));
        elements.filter_map(|node| node.attribute(attribute)?.parse().ok()).collect()
    }

    #[test]
    fn every_kind_of_figure_is_a_well_formed_file_with_its_title_and_caption() {
        for figure in figures() {
            let svg = to_svg(&figure);
            let read = roxmltree::Document::parse(&svg).unwrap();
            let text = |tag: &str| {
                read.descendants()
                    .find(|node| node.has_tag_name(tag))
                    .unwrap()
                    .text()
                    .unwrap()
                    .to_owned()
            };
            assert_eq!((&*text("title"), &*text("desc")), (figure.title(), figure.caption()));
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{}", figure.title());
        }
    }

    #[test]
    fn nothing_is_drawn_beyond_the_file() {
        for figure in figures() {
            let svg = to_svg(&figure);
            let read = roxmltree::Document::parse(&svg).unwrap();
            let size =
                |name: &str| read.root_element().attribute(name).unwrap().parse::<f64>().unwrap();
            let (width, height) = (size("width"), size("height"));
            for (attributes, most) in
                [(["x", "x1", "x2", "cx"], width), (["y", "y1", "y2", "cy"], height)]
            {
                for element in ["text", "line", "rect", "circle", "image"] {
                    for attribute in attributes {
                        let beyond: Vec<f64> = numbers(&svg, element, attribute)
                            .into_iter()
                            .filter(|value| !(-150.0..=most).contains(value))
                            .collect();
                        assert_eq!(beyond, [0.0; 0], "{element} {attribute}: {}", figure.name());
                    }
                }
            }
        }
    }

    #[test]
    fn colours_are_those_of_the_page() {
        let theme = Theme::light();
        assert_eq!(theme.background, "#ffffff");
        assert!(theme.series.len() >= 8 && theme.ramp.len() >= 5);
    }

    #[test]
    fn a_picture_for_readers_has_the_dark_colour_of_each_light_one() {
        let themes = Themes::read();
        for figure in figures() {
            let svg = to_themed_svg(&figure, "");
            roxmltree::Document::parse(&svg).unwrap();
            let (style, drawing) = svg.split_once("</style>").unwrap();
            for (light, dark) in themes.light.series.iter().zip(&themes.dark.series) {
                let drawn = drawing.contains(&format!("\"{light}\""));
                assert!(!drawn || style.contains(&format!("stroke: {dark}")), "{light}");
            }
        }
    }

    /// Two distributions, the first with the longer tail.
    fn distributions() -> Figure {
        let series = |name: &str, longest| Series {
            name: name.to_owned(),
            shape: Shape::Step,
            paper: false,
            points: vec![
                Point::Plain(50.0, 0.9),
                Point::Plain(250.0, 0.999),
                Point::Plain(longest, 1.0),
            ],
            hidden: false,
        };
        let scaled =
            |label: &str, unit: &str, scale| Axis { scale: Some(scale), ..Axis::new(label, unit) };
        Figure::Plot {
            name: "latency".to_owned(),
            title: "How long messages take".to_owned(),
            caption: "Shares of messages.".to_owned(),
            x: scaled("latency, from due to delivered", "ms", Scale::Log),
            y: Axis { max: Some(0.9999), ..scaled("share of messages", "", Scale::Tail) },
            series: vec![series("lksctp", 3_050.0), series("thin", 600.0)],
            marks: Vec::new(),
        }
    }

    /// All texts below a group of this class.
    fn texts(svg: &str, class: &str) -> Vec<String> {
        let read = roxmltree::Document::parse(svg).unwrap();
        let group = read.descendants().find(|node| node.attribute("class") == Some(class)).unwrap();
        let texts = group.descendants().filter(|node| node.has_tag_name("text"));
        texts.filter_map(|node| Some(node.text()?.replace(['\u{a0}', '\u{202f}'], " "))).collect()
    }

    #[test]
    fn each_distribution_ends_in_a_dot_with_its_greatest_value() {
        let svg = to_themed_svg(&distributions(), "RTT 100 ms · seed 1");
        let shown = texts(&svg, "screen");
        for text in
            ["RTT 100 ms · seed 1", "thin 600 ms", "lksctp 3.05 s", "99.9 %", "1 in 1 000", "1 s"]
        {
            assert!(shown.iter().any(|one| one == text), "{text}: {shown:?}");
        }
        let (dots, lines) = (numbers(&svg, "circle", "cx"), numbers(&svg, "line", "x2"));
        assert_eq!(dots.len(), 4, "two on a screen, two on a phone");
        assert!(dots.iter().all(|dot| lines.contains(dot)), "each dot has its label");
        assert!(dots[0] < dots[1], "the shorter tail ends first");
        let many = |count: usize| match distributions() {
            Figure::Plot { name, title, caption, x, y, series, marks } => {
                let series = vec![series[0].clone(); count];
                to_svg(&Figure::Plot { name, title, caption, x, y, series, marks })
            }
            other => to_svg(&other),
        };
        assert!(many(5).contains("lksctp 3.05"));
        assert!(!many(10).contains("lksctp 3.05") && many(10).contains(">3.05"), "values alone");
        assert_eq!(numbers(&many(40), "circle", "cx"), [0.0; 0], "more than have room");
    }

    #[test]
    fn a_phone_is_shown_a_plot_of_its_own_with_less_in_it() {
        let svg = to_themed_svg(&distributions(), "RTT 100 ms · seed 1");
        let shown = texts(&svg, "phone");
        assert!(
            shown.contains(&"1 s".to_owned()) && shown.contains(&"600 ms".to_owned()),
            "{shown:?}"
        );
        assert!(shown.iter().all(|text| !text.starts_with("RTT") && !text.starts_with("1 in")));
        // Programs that know no rules for screens draw the wide one alone.
        let (before, _) = svg.split_once("@media (max-width").unwrap();
        assert!(before.ends_with(".phone { display: none } "), "{before}");
        assert!(!to_svg(&distributions()).contains("phone"));
    }

    #[test]
    fn curves_that_cover_each_other_differ_in_their_dashes_and_the_last_has_none() {
        let svg = to_svg(&distributions());
        let read = roxmltree::Document::parse(&svg).unwrap();
        let lines = read.descendants().filter(|node| node.attribute("class") == Some("line"));
        let dashes: Vec<_> = lines.map(|line| line.attribute("stroke-dasharray")).collect();
        assert_eq!(dashes, [Some("3 2.5"), None]);
    }

    #[test]
    fn long_titles_are_broken_between_words() {
        assert_eq!(wrap("one two three", 60.0, 12.0), ["one two", "three"]);
        assert_eq!(wrap("", 60.0, 12.0), [""; 0]);
    }
}
