//! The plan of a replay, as text that can be saved, changed and run like any other.

use core::fmt::Write;

use base::Duration;
use recovery::policy::SCTP_DEFAULT;
use toml::{Table, Value};
use trace::report::Totals;

use super::network::NetworkText;
use super::policy::PolicyText;
use crate::plan::{LONGEST, Plan, PlanError, Size, file_entry};
use crate::policy_text::TransportName;
use crate::workload::Recording;

/// Name of the flows that are replayed.
pub const FLOWS: &str = "traffic";
/// Name of the recording among the plan's files.
const FILE: &str = "recorded.csv";
/// Time from the start to the first message.
const SET_UP: Duration = Duration::from_secs(1);

/// Recorded traffic with the policies and networks to try.
#[derive(Clone, Debug)]
pub struct Replay<'a> {
    /// Origin of the recording, in a few words.
    pub of: &'a str,
    /// Times and sizes of the messages to replay.
    pub recording: &'a Recording,
    /// Numbers of the capture, if the recording was taken from one.
    pub measured: Option<&'a Totals>,
    /// Recovery policies; each replays the whole recording.
    pub policies: &'a [PolicyText],
    /// Networks; each policy runs over each of them.
    pub networks: &'a [NetworkText],
    /// Longest delay of the receivers' acknowledgements, or `off`; each policy's own unless given.
    pub delayed_ack: Option<&'a str>,
    /// Runs of each policy over each network.
    pub seeds: u64,
}

impl Replay<'_> {
    /// The plan.
    ///
    /// # Errors
    /// The settings that contradict each other.
    pub fn plan(&self) -> Result<Plan, PlanError> {
        let span = self.recording.duration();
        if span + SET_UP * 2 >= LONGEST {
            return Err(PlanError::new(format!(
                "the messages are {span} apart, and a run takes at most {LONGEST}: did the clock of the capture jump? \
                 take a part without the jump (--start, --end)"
            )));
        }
        Plan::parse(&self.to_toml(), Size::Normal, None)
    }

    fn to_toml(&self) -> String {
        let Replay { of, recording, seeds, .. } = self;
        let count = recording.streams().len();
        let duration = Duration::from_millis(recording.duration().as_millis() + 1) + SET_UP * 2;
        let first = self.policies.first();
        let transport = first.map_or(TransportName::Sctp, |one| one.transport(TransportName::Sctp));
        let preset = first.map_or(SCTP_DEFAULT, PolicyText::preset);
        let mut text = String::new();
        let title = Value::String(format!("Traffic of {of}, replayed"));
        let about = Value::String(format!(
            "{} messages of {} in {:.1} s, sent as they were recorded under each policy: what would it do for this traffic?",
            recording.count(),
            if count == 1 { "one stream".to_owned() } else { format!("{count} streams") },
            recording.duration().as_secs_f64()
        ));
        let receiver = self.delayed_ack.map(|delay| {
            format!("receiver = {{ delayed_ack = {} }}\n", Value::String(delay.to_owned()))
        });
        // Writing to a string does not fail.
        let _ = write!(
            text,
            "title = {title}\nabout = {about}\n\n[run]\nduration = \"{duration}\"\nseeds = {seeds}\n\n\
             [network]\nkind = \"pair\"\n\n\
             [[flow]]\nname = \"{FLOWS}\"\ncount = {count}\ntransport = \"{}\"\npolicy = \"{preset}\"\nset_up = \"{SET_UP}\"\n\
             workload = {{ arrivals = \"replay {FILE}\" }}\n{}\n[sweep]\n",
            name(transport),
            receiver.unwrap_or_default()
        );
        let _ = writeln!(text, "\"flow.{FLOWS}\" = {}", list(self.policies.iter().map(policy)));
        let _ = writeln!(text, "network = {}", list(self.networks.iter().map(network)));
        text += "\n[measure]\n\
                 latency = { quantiles = [0.5, 0.9, 0.99, 0.999], limits = [\"fps\", \"rpg\"], distribution = true }\n\
                 retransmissions = {}\noverhead = {}\ncost = {}\ntrace = {}\n";
        self.figures(&mut text);
        let _ = write!(text, "\n[files]\n{}", file_entry(FILE, &recording.to_csv()));
        text
    }

    fn figures(&self, text: &mut String) {
        let _ = write!(
            text,
            "\n[[figure]]\nkind = \"ccdf\"\ntitle = \"How long messages take until the application has them\"\n\
             caption = \"One way, from when a message was due: the share that takes longer.\"\n\
             measure = \"latency\"\nby = [\"flow.{FLOWS}\"]\naxes = {{ x = {{ unit = \"ms\", scale = \"log\" }} }}\n"
        );
        let _ = write!(
            text,
            "\n[[figure]]\nkind = \"bars\"\ntitle = \"Until acknowledged, as a capture at the sender shows it\"\n\
             caption = \"From first sending to cumulative acknowledgement, by quantile{}.\"\n\
             measure = \"trace.acknowledged.quantile\"\nx = \"quantile\"\nby = [\"flow.{FLOWS}\"]\naxes = {{ y = {{ unit = \"ms\" }} }}\n",
            if self.measured.is_some() { ", beside what was captured" } else { "" }
        );
        if let Some(measured) = self.measured.filter(|one| one.ack_latency_ms.all.count > 0) {
            let of = &measured.ack_latency_ms.all;
            let points = [("0.5", of.p50), ("0.9", of.p90), ("0.99", of.p99), ("0.999", of.p999)];
            let points = points.map(|(quantile, value)| format!("[\"{quantile}\", {value:.3}]"));
            let _ = writeln!(
                text,
                "paper = [{{ name = \"the capture\", points = [{}] }}]",
                points.join(", ")
            );
        }
        let _ = write!(
            text,
            "\n[[figure]]\nkind = \"bars\"\nstacked = true\ntitle = \"Retransmissions by cause, as a capture at the sender shows them\"\n\
             measure = \"trace.retransmissions\"\nx = \"flow.{FLOWS}\"\nby = [\"cause\"]\n"
        );
    }
}

fn name(transport: TransportName) -> &'static str {
    match transport {
        TransportName::Sctp => "sctp",
        TransportName::Tcp => "tcp",
    }
}

fn list(tables: impl Iterator<Item = Table>) -> String {
    let values: Vec<String> =
        tables.map(|table| format!("\n    {},", Value::Table(table))).collect();
    format!("[{}\n]", values.concat())
}

fn policy(one: &PolicyText) -> Table {
    let transport = name(one.transport(TransportName::Sctp));
    let text = |text: &str| Value::String(text.to_owned());
    Table::from_iter([
        ("name".to_owned(), text(&one.to_string())),
        ("transport".to_owned(), text(transport)),
        ("policy".to_owned(), text(one.preset())),
    ])
}

fn network(one: &NetworkText) -> Table {
    let name = ("name".to_owned(), Value::String(one.to_string()));
    one.keys().clone().into_iter().chain([name]).collect()
}
