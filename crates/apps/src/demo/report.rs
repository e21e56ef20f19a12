//! The report of a demo as a page, a picture and JSON: that of its plan, with additions of the
//! demo.

use lab::engine::{Finished, Job, Shard};
use lab::plan::{NetworkName, Plan};
use lab::stored::{Manifest, Surroundings};
use report::document::{Document, Entry, Figure};
use report::section::{PlanResults, document};
use report::{short, svg};
use results::Results;
use serde::Serialize;
use serde_json::{Value, json};

use super::numbers::{PolicyReport, PolicyResults};
use super::options::{DemoOptions, Length};
use super::plan::TITLE;
use crate::files::Unwritten;

/// Headline of the moving picture.
const MOVING_TITLE: &str = "One packet is lost: how long its message waits, in slow motion";

/// The comparison of policies over the same network and traffic.
#[derive(Clone, Debug)]
pub struct Report {
    /// The plan, a cell for each policy.
    pub plan: Plan,
    /// Finished runs of the plan, with their rows.
    pub finished: Finished,
    /// The policies in the order to show them; the first is what others are compared with.
    pub policies: Vec<PolicyReport>,
    /// Name and value of what was set, in the order to show it.
    pub parameters: Vec<(String, String)>,
    /// Name and value of what was set for programs, with units in the names.
    pub settings: Vec<(String, Value)>,
    /// Whether the user ended it early.
    pub interrupted: bool,
    /// The command line that produces these numbers again.
    pub reproduce: String,
}

/// Results and failed outputs, after all policies have run.
#[derive(Debug)]
pub struct Outcome {
    /// Results of the policies, in the order to show them.
    pub report: Report,
    /// Files that could not be written to their end.
    pub unwritten: Vec<Unwritten>,
}

impl DemoOptions {
    /// The report of what the policies achieved, in their order.
    pub(super) fn report(&self, plan: Plan, runs: Vec<Results>) -> Report {
        let named = self.policies.iter().zip(&runs).map(|(one, results)| PolicyReport {
            name: one.name.clone(),
            description: one.description.clone(),
            results: results.into(),
        });
        let policies = named.collect();
        let job = |cell| Job { cell, seed: self.seed };
        let runs = runs.into_iter().enumerate();
        let finished: Finished = runs.map(|(cell, results)| (job(cell), results)).collect();
        Report {
            plan,
            finished,
            policies,
            parameters: self.parameters(),
            settings: self.settings(),
            interrupted: false,
            reproduce: self.reproduce.clone(),
        }
    }

    /// The demo's parameters by name, with units, for JSON.
    pub(super) fn settings(&self) -> Vec<(String, Value)> {
        let (duration, messages) = match self.length {
            Length::Duration(span) => (json!(span.as_secs_f64()), Value::Null),
            Length::Messages(count) => (Value::Null, json!(count)),
        };
        let own = |value: Value| if self.network.is_some() { Value::Null } else { value };
        let values = [
            ("seed", json!(self.seed)),
            ("network", json!(self.network.map(NetworkName::as_str))),
            ("rtt_ms", own(json!(self.rtt.as_millis_f64()))),
            ("loss", own(json!(self.loss.as_f64()))),
            ("interval", json!(self.arrivals.to_string())),
            ("size", json!(self.size)),
            ("flows", json!(self.flows)),
            ("duration_s", duration),
            ("messages", messages),
            ("reproduce", json!(self.reproduce)),
        ];
        values.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    pub(super) fn parameters(&self) -> Vec<(String, String)> {
        let length = match self.length {
            Length::Duration(span) => ("duration", span.to_string()),
            Length::Messages(count) => ("messages", count.to_string()),
        };
        let delays = self.policies.iter().map(|one| one.policy.acknowledgement.delay);
        let delayed: Vec<_> = delays.flatten().collect();
        let sack_delay = match delayed[..] {
            [] => "off".to_owned(),
            [first, ..] if delayed.iter().all(|delay| *delay == first) => first.to_string(),
            _ => "by policy".to_owned(),
        };
        let network = match self.network {
            Some(name) => vec![("network", name.to_string())],
            None => vec![("RTT", self.rtt.to_string()), ("loss each way", self.loss.to_string())],
        };
        let values = [
            ("interval", self.arrivals.to_string()),
            ("size", format!("{}B", self.size)),
            ("flows", self.flows.to_string()),
            length,
            ("delayed SACK", sack_delay),
            ("seed", self.seed.to_string()),
        ];
        let values = network.into_iter().chain(values);
        values.map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

impl Report {
    /// A page that needs no network.
    pub fn to_page(&self) -> String {
        self.document().to_page()
    }

    /// The latency distributions as a picture that follows the reader's light or dark theme; none
    /// where nothing was delivered.
    pub fn to_svg(&self) -> Option<String> {
        let figures = self.document().sections.into_iter().flat_map(|section| section.figures);
        let mut plots = figures.filter(|figure| matches!(figure, Figure::Plot { .. }));
        let mut plot = plots.next()?;
        if let Figure::Plot { title, .. } = &mut plot {
            TITLE.clone_into(title);
        }
        let set = self.parameters.iter().map(|(name, value)| format!("{name} {value}"));
        Some(svg::to_themed_svg(&plot, &set.collect::<Vec<_>>().join(" · ")))
    }

    /// One loss under each policy as a moving picture, slowed down; none where a policy lost
    /// nothing or delivered nothing.
    pub fn to_moving_svg(&self) -> Option<String> {
        let figures = self.document().sections.into_iter().flat_map(|section| section.figures);
        let ladders: Vec<_> =
            figures.filter(|figure| matches!(figure, Figure::Ladder { .. })).collect();
        if ladders.len() != self.policies.len() {
            return None;
        }
        let names = self.policies.iter().map(|policy| policy.name.as_str());
        let lanes: Vec<_> = names.zip(&ladders).collect();
        let set = self.parameters.iter().map(|(name, value)| format!("{name} {value}"));
        svg::to_moving_svg(MOVING_TITLE, &set.collect::<Vec<_>>().join(" · "), &lanes)
    }

    /// Settings and numbers as one JSON object: `{"policies": {NAME: {...}}}`, the policies in
    /// their order.
    pub fn to_json(&self) -> String {
        #[derive(Serialize)]
        struct Whole<'a> {
            version: &'static str,
            settings: InOrder<'a, Value>,
            interrupted: bool,
            policies: InOrder<'a, PolicyResults>,
        }
        let settings = self.settings.iter().map(|(name, value)| (name.as_str(), value));
        let policies = self.policies.iter().map(|one| (one.name.as_str(), &one.results));
        // Nothing in these types can fail to serialize: keys are strings, numbers are plain.
        serde_json::to_string_pretty(&Whole {
            version: env!("CARGO_PKG_VERSION"),
            settings: InOrder(settings.collect()),
            interrupted: self.interrupted,
            policies: InOrder(policies.collect()),
        })
        .unwrap_or_default()
    }

    /// The report as the page shows it.
    pub fn document(&self) -> Document {
        let runs = self.finished.len() as u64;
        let manifest = Manifest::new(&self.plan, Shard::default(), runs, Surroundings::default());
        let study = PlanResults {
            id: "demo".to_owned(),
            plan: self.plan.clone(),
            finished: self.finished.clone(),
            manifest,
            commands: vec![self.reproduce.clone()],
        };
        // What a plan asks to see and does not have is a demo without losses or without deliveries.
        let (mut document, _) = document(TITLE, &self.lead(), &[study]);
        let version = entry("Version", env!("CARGO_PKG_VERSION"));
        document.provenance = vec![version];
        let set = self.parameters.iter().map(|(name, value)| entry(name, value));
        let described = self
            .policies
            .iter()
            .map(|one| entry(&format!("policy {}", one.name), &one.description));
        let all: Vec<Entry> = set.chain(described).collect();
        if let Some(section) = document.sections.first_mut() {
            section.title = "One stream, several policies".to_owned();
            section.parameters = all;
        }
        document
    }

    /// The result in a sentence or two: the policy with the shortest tail against the first one,
    /// and its price.
    fn lead(&self) -> String {
        let is_short = |one: &&PolicyReport| one.results.delivered < one.results.messages;
        if let Some(PolicyReport { name, results, .. }) = self.policies.iter().find(is_short) {
            let (delivered, due) = (results.delivered, results.messages);
            return format!(
                "With {name} only {delivered} of {due} messages arrived; figures show those alone."
            );
        }
        let p99 = |one: &PolicyReport| one.results.latency_ms.map(|latency| latency.p99);
        let tail = |one: &&PolicyReport| p99(one).unwrap_or(f64::INFINITY);
        let best = self.policies.iter().min_by(|one, other| tail(one).total_cmp(&tail(other)));
        let found = self.policies.first().zip(best);
        let Some((first, best, base, least)) =
            found.and_then(|(first, best)| Some((first, best, p99(first)?, p99(best)?)))
        else {
            return "Nothing was sent.".to_owned();
        };
        if base <= least * 1.01 {
            return "The policies do not differ in what 99 of 100 messages take.".to_owned();
        }
        let PolicyResults { spurious, packets_sent, messages, .. } = &best.results;
        format!(
            "99 of 100 messages arrived within {} with {}, and within {} with {}. The price of {}: {spurious} needless \
             retransmissions, {:.2} packets for each message.",
            short(least),
            best.name,
            short(base),
            first.name,
            best.name,
            *packets_sent as f64 / (*messages).max(1) as f64,
        )
    }
}

fn entry(name: &str, value: &str) -> Entry {
    Entry { name: name.to_owned(), value: value.to_owned() }
}

/// A map that keeps the order of its entries.
struct InOrder<'a, T>(Vec<(&'a str, &'a T)>);

impl<T: Serialize> Serialize for InOrder<'_, T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().copied())
    }
}
