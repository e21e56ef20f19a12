//! The report as one page: works from a file, without scripts, on a phone, printed, and read aloud.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::numbers::{Section, grouped, sections, short};
use super::{DemoReport, PolicyReport, PolicyResults, cdf, ladder};

const PAGE_STYLE: &str = include_str!("page.css");

/// The whole document.
pub(super) fn page(report: &DemoReport) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (report.title) }
                style { (PreEscaped(PAGE_STYLE)) (PreEscaped(cdf::FIGURE_STYLE)) }
            }
            body {
                header {
                    h1 { (report.title) }
                    @if let Some(lead) = lead(&report.policies) { p class="lead" { (lead) } }
                    (parameters(report))
                }
                main {
                    (cards(&report.policies))
                    (distribution(&report.policies))
                    (ladders(&report.policies))
                    (numbers(&report.policies))
                    (reproduction(report))
                }
                footer { "thinstream " (env!("CARGO_PKG_VERSION")) }
            }
        }
    }
}

/// The result in a sentence: the policy with the shortest tail against the first one.
fn lead(policies: &[PolicyReport]) -> Option<String> {
    let p99 = |policy: &PolicyReport| policy.results.latency_ms.map(|latency| latency.p99);
    let first = policies.first()?;
    let best = policies
        .iter()
        .filter(|policy| p99(policy).is_some())
        .min_by(|a, b| p99(a).unwrap_or(f64::MAX).total_cmp(&p99(b).unwrap_or(f64::MAX)))?;
    let (base, least) = (p99(first)?, p99(best)?);
    (base > least * 1.01).then(|| {
        let (name, with, without) = (&best.name, short(least), short(base));
        format!(
            "99 of 100 messages arrived within {with} with {name}, and within {without} with {}.",
            first.name
        )
    })
}

/// What the policy costs beside its losses.
fn price(results: &PolicyResults) -> String {
    let needless = match results.spurious {
        0 => "no needless retransmission".to_owned(),
        1 => "1 needless retransmission".to_owned(),
        count => format!("{} needless retransmissions", grouped(count)),
    };
    let packets = results.packets_sent as f64 / results.messages.max(1) as f64;
    format!("price: {needless}, {packets:.2} packets per message")
}

fn parameters(report: &DemoReport) -> Markup {
    html! {
        dl class="parameters" {
            @for (name, value) in &report.parameters {
                div { dt { (name) } dd { (value) } }
            }
        }
    }
}

fn cards(policies: &[PolicyReport]) -> Markup {
    html! {
        section class="cards" aria-label="Policies" {
            @for (index, policy) in policies.iter().enumerate() {
                article class="card" {
                    h2 { (swatch(index)) (policy.name) }
                    p class="describe" { (policy.description) }
                    @match &policy.results.latency_ms {
                        Some(latency) => {
                            p class="big" { (short(latency.p99)) small { " for 99 %" } }
                            p class="aside" { "mean " (short(latency.mean)) " · longest " (short(latency.max)) }
                            p class="aside" { (price(&policy.results)) }
                        }
                        None => p class="big" { "nothing delivered" },
                    }
                }
            }
        }
    }
}

/// A piece of the policy's line, as in the legend.
fn swatch(index: usize) -> Markup {
    html! {
        svg class="swatch" viewBox="0 0 26 8" aria-hidden="true" {
            g class="figure" {
                line class={ "curve s" (index % cdf::COLOURS) } x1="0" x2="26" y1="4" y2="4" {}
            }
        }
    }
}

fn distribution(policies: &[PolicyReport]) -> Markup {
    html! {
        section {
            h2 { "How long messages take" }
            p {
                "Each line shows which share of all messages reached the application within a latency. "
                "The vertical scale stretches the tail: each step up is ten times rarer. "
                "The dot at the end of a line is its longest latency."
            }
            (cdf::figure(policies, &cdf::WIDE))
            (cdf::figure(policies, &cdf::NARROW))
        }
    }
}

fn ladders(policies: &[PolicyReport]) -> Markup {
    let shown: Vec<_> = policies
        .iter()
        .enumerate()
        .filter_map(|(index, policy)| Some((index, policy, policy.ladder.as_ref()?)))
        .collect();
    let scale = ladder::Scale::common(shown.iter().map(|(_, _, ladder)| *ladder));
    html! {
        @if !shown.is_empty() {
            section {
                h2 { "One loss, packet by packet" }
                p {
                    "Time runs down, on the same scale for all policies; numbers are milliseconds since the message was due. "
                    "The coloured band ends when the application has the message."
                }
                (ladder_key())
                div class="ladders" {
                    @for (index, policy, one) in shown {
                        figure {
                            figcaption {
                                (swatch(index)) strong { (policy.name) }
                                @if let Some(at) = one.delivered {
                                    span class="aside" { " delivered after " (short(at.since(one.due).as_millis_f64())) }
                                }
                            }
                            (ladder::figure(&policy.name, index, one, scale))
                            details { summary { "As a table" } div class="scroll" { (ladder::table(one)) } }
                        }
                    }
                }
            }
        }
    }
}

fn ladder_key() -> Markup {
    let sample = |shape: Markup, text: &str| {
        html! {
            li { svg class="figure sample" viewBox="0 0 30 14" aria-hidden="true" { (shape) } (text) }
        }
    };
    html! {
        ul class="key" {
            (sample(html! { line class="data" x1="1" x2="29" y1="7" y2="7" {} }, "DATA"))
            (sample(html! { line class="again s2" x1="1" x2="29" y1="7" y2="7" {} }, "retransmission"))
            (sample(html! { line class="sack" x1="1" x2="29" y1="7" y2="7" {} }, "SACK"))
            (sample(html! { path class="cross" d="M9 1l12 12m0 -12l-12 12" {} }, "lost"))
            (sample(html! { path class="data-head" d="M15 1l6 6l-6 6l-6 -6z" {} }, "timer expires"))
            (sample(html! { circle class="dot f2" cx="15" cy="7" r="5.5" {} }, "delivered to the application"))
        }
    }
}

fn numbers(policies: &[PolicyReport]) -> Markup {
    html! {
        section {
            h2 { "All numbers" }
            p {
                "Latency is one-way and counts from when a message was due to its delivery to the application, "
                "the network's own delay included. Bold is the least of a row."
            }
            div class="scroll" {
                table class="numbers" {
                    thead {
                        tr {
                            td {}
                            @for (index, policy) in policies.iter().enumerate() {
                                th scope="col" { (swatch(index)) (policy.name) }
                            }
                        }
                    }
                    @for section in sections(policies) { (table_section(&section, policies.len())) }
                }
            }
        }
    }
}

fn table_section(section: &Section, policies: usize) -> Markup {
    html! {
        tbody {
            tr { th class="section" scope="rowgroup" colspan=(policies + 1) { (section.title) } }
            @for row in &section.rows {
                tr {
                    th scope="row" { (row.label) }
                    @for (value, best) in row.values.iter().zip(&row.best) {
                        td class=[best.then_some("best")] { (value) }
                    }
                }
            }
        }
    }
}

fn reproduction(report: &DemoReport) -> Markup {
    html! {
        section {
            h2 { "The same again" }
            pre { code { (report.reproduce) } }
        }
    }
}
