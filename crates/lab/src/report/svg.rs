//! Figures of a report as SVG files: what the page draws, on a light ground, for papers and slides. The colours are
//! the page's own.

mod axis;
mod gallery;
mod heat_map;
mod ladder;
mod plot;

use core::fmt::Write as _;

use maud::{Markup, PreEscaped, html};
use serde::Deserialize;

use super::document::Figure;
use super::scale::{px, text_width};

/// Colours of the page, which stand in one file for it and for us.
const COLOURS: &str = include_str!("../../../../web/src/colours.json");

const WIDTH: f64 = 840.0;
const MARGIN: f64 = 18.0;
const FONT: f64 = 13.0;
const TITLE_FONT: f64 = 17.0;
const TITLE_LINE: f64 = 22.0;

/// Colours of the light page, by what they are for.
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

    /// Rules of a style sheet that give what was drawn in the light theme the colours of the dark one.
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

/// The figure as a file.
pub fn to_svg(figure: &Figure) -> String {
    let theme = Theme::light();
    let drawing = match figure {
        Figure::Plot { x, y, series, marks, .. } => plot::draw(&theme, (x, y), series, marks),
        Figure::HeatMap { x, y, value, cells, marks, .. } => {
            heat_map::draw(&theme, (x, y), value, (cells, marks))
        }
        Figure::Ladder { sides, span_ms, arrows, notes, .. } => {
            ladder::draw(&theme, sides, *span_ms, (arrows, notes))
        }
        Figure::Gallery { columns, rows, .. } => gallery::draw(columns, rows),
    };
    frame(&theme, figure, &drawing).into_string()
}

/// The figure as a file that follows the reader's light or dark theme; programs that know no themes draw the light one.
pub fn to_themed_svg(figure: &Figure) -> String {
    let dark = Themes::read().dark_rules();
    let rules = format!(" @media (prefers-color-scheme: dark) {{ {dark} }}</style>");
    to_svg(figure).replacen("</style>", &rules, 1)
}

/// What stands below the headline, and how much room it takes.
struct Drawing {
    width: f64,
    height: f64,
    body: Markup,
}

fn frame(theme: &Theme, figure: &Figure, drawing: &Drawing) -> Markup {
    let (Figure::Plot { title, caption, .. }
    | Figure::HeatMap { title, caption, .. }
    | Figure::Ladder { title, caption, .. }
    | Figure::Gallery { title, caption, .. }) = figure;
    let width = drawing.width.max(320.0) + 2.0 * MARGIN;
    let lines = wrap(title, width - 2.0 * MARGIN, TITLE_FONT);
    let head = MARGIN + lines.len() as f64 * TITLE_LINE;
    let height = head + drawing.height + MARGIN;
    html! {
        svg xmlns="http://www.w3.org/2000/svg" width=(px(width)) height=(px(height))
            viewBox={ "0 0 " (px(width)) " " (px(height)) } role="img" aria-labelledby="title caption" {
            title id="title" { (title) }
            desc id="caption" { (caption) }
            style { (PreEscaped(style(theme))) }
            rect width="100%" height="100%" fill=(theme.background) {}
            @for (line, text) in lines.iter().enumerate() {
                text class="title" x=(px(MARGIN)) y=(px(MARGIN + line as f64 * TITLE_LINE + TITLE_FONT - 3.0)) { (text) }
            }
            g transform={ "translate(" (px(MARGIN)) " " (px(head)) ")" } { (drawing.body) }
        }
    }
}

fn style(theme: &Theme) -> String {
    let Theme { text, faint, grid, .. } = theme;
    format!(
        "text {{ font: {FONT}px system-ui, -apple-system, \"Segoe UI\", Roboto, Arial, sans-serif; fill: {text}; \
         font-variant-numeric: tabular-nums }} .title {{ font-size: {TITLE_FONT}px; font-weight: 650 }} \
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
    use crate::report::document::Document;

    const SAMPLE: &str = include_str!("../../../../web/tests/sample.json");

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
            let (Figure::Plot { title, caption, .. }
            | Figure::HeatMap { title, caption, .. }
            | Figure::Ladder { title, caption, .. }
            | Figure::Gallery { title, caption, .. }) = &figure;
            assert_eq!((&text("title"), &text("desc")), (title, caption));
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{title}");
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
            let svg = to_themed_svg(&figure);
            roxmltree::Document::parse(&svg).unwrap();
            let (style, drawing) = svg.split_once("</style>").unwrap();
            for (light, dark) in themes.light.series.iter().zip(&themes.dark.series) {
                let drawn = drawing.contains(&format!("\"{light}\""));
                assert!(!drawn || style.contains(&format!("stroke: {dark}")), "{light}");
            }
        }
    }

    #[test]
    fn long_titles_are_broken_between_words() {
        assert_eq!(wrap("one two three", 60.0, 12.0), ["one two", "three"]);
        assert_eq!(wrap("", 60.0, 12.0), [""; 0]);
    }
}
