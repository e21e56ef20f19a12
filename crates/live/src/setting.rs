//! Settings of a run, chosen by name, so that an address can hold them.

use core::fmt::Write;

use lab::policy_text::TransportName;
use lab::replay::PolicyText;
use recovery::RecoveryPolicy;
use recovery::policy::{FieldError, Protocol};
use serde::Deserialize;

use crate::change::{Change, ChangeError};
use crate::choices::{
    APPLICATIONS, Application, MOST_FLOWS, NETWORKS, Network, find_application, find_network,
};
use crate::traffic::Traffic;

/// Changes of a run at most: an address holds no more.
const MOST_CHANGES: usize = 500;
/// Virtual time of a run, in seconds, from when messages may be due.
pub(crate) const DURATION_S: u64 = 600;
/// Virtual time, in seconds, in which flows are set up and nothing is lost.
pub(crate) const SET_UP_S: u64 = 3;
/// Name of the group of flows in plans.
pub(crate) const FLOWS: &str = "live";
/// Name of the recording among the files of a plan.
const RECORDED: &str = "recorded.csv";

/// Setting of a run. Equal settings give equal runs on any machine.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setting {
    /// Name of an application, or `capture` for the traffic of a capture.
    pub application: String,
    /// Name of one of [`Choices::networks`](crate::choices::Choices::networks).
    pub network: String,
    /// Policies of the two sides, such as `sctp:rfc`, or `sctp:rfc;rto-min-thin=200ms` with fields
    /// that differ.
    pub policies: [String; 2],
    /// Number of flows of each side.
    pub flows: u32,
    /// Number of the flow whose packets are shown, from 0.
    pub flow: u32,
    /// Seed of messages and losses.
    pub seed: u32,
    /// Actions of the visitor, as texts of [`Change`].
    #[serde(default)]
    pub changes: Vec<String>,
}

/// Description, for the visitor, of a fault in a setting.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SettingError(pub(crate) String);

impl From<ChangeError> for SettingError {
    fn from(error: ChangeError) -> SettingError {
        SettingError(error.to_string())
    }
}

/// A setting with what its names stand for.
#[derive(Clone, Debug)]
pub(crate) struct Known<'a> {
    pub(crate) network: &'static Network,
    pub(crate) changes: Vec<Change>,
    pub(crate) policies: [(TransportName, RecoveryPolicy); 2],
    workload: Workload<'a>,
    setting: &'a Setting,
    /// Policies as plans write them.
    texts: [String; 2],
}

#[derive(Clone, Copy, Debug)]
enum Workload<'a> {
    Application(&'static Application),
    Capture(&'a Traffic),
}

impl Setting {
    /// Looks all names up; `traffic` is that of the capture.
    pub(crate) fn known<'a>(
        &'a self,
        traffic: Option<&'a Traffic>,
    ) -> Result<Known<'a>, SettingError> {
        let refuse = |what: String| Err(SettingError(what));
        let workload = match (self.application.as_str(), traffic) {
            ("capture", Some(traffic)) => Workload::Capture(traffic),
            ("capture", None) => {
                return refuse("a capture's traffic needs the capture: drop it on the page".into());
            }
            (name, _) => match find_application(name) {
                Some(application) => Workload::Application(application),
                None => {
                    return refuse(unknown("application", name, APPLICATIONS.map(|one| one.name)));
                }
            },
        };
        let Some(network) = find_network(&self.network) else {
            return refuse(unknown("network", &self.network, NETWORKS.map(|one| one.name)));
        };
        let most = match workload {
            Workload::Capture(traffic) => traffic.streams(),
            Workload::Application(_) => MOST_FLOWS,
        };
        if self.flows == 0 || self.flows > most {
            return refuse(format!("flows is {}; give 1 to {most}", self.flows));
        }
        if self.flow >= self.flows {
            let last = self.flows - 1;
            return refuse(format!("flow is {}; there are 0 to {last}", self.flow));
        }
        if self.changes.len() > MOST_CHANGES {
            return refuse(format!("{} changes; give {MOST_CHANGES} at most", self.changes.len()));
        }
        let mut changes = Vec::new();
        for text in &self.changes {
            changes.push(text.parse()?);
        }
        // Of two changes at one time the later one given counts.
        changes.sort_by_key(|change: &Change| change.at);
        let [left, right] = [policy(&self.policies[0])?, policy(&self.policies[1])?];
        let texts = [left.0, right.0];
        Ok(Known { network, changes, policies: [left.1, right.1], workload, setting: self, texts })
    }
}

/// A policy with the text that a plan has for it.
type Policy = (String, (TransportName, RecoveryPolicy));

/// Reads `sctp:rfc`, or with fields that differ `sctp:rfc;rto-min-thin=200ms`.
fn policy(text: &str) -> Result<Policy, SettingError> {
    let refused = |error: FieldError| SettingError(format!("policy \"{text}\": {error}"));
    let (name, fields) = text.split_once(';').unwrap_or((text, ""));
    let parsed: PolicyText = name.parse().map_err(SettingError)?;
    let transport = parsed.transport(TransportName::Sctp);
    let protocol = match transport {
        TransportName::Sctp => Protocol::Sctp,
        TransportName::Tcp => Protocol::Tcp,
    };
    let whole = format!("{};{fields}", parsed.preset());
    let policy = RecoveryPolicy::parse(protocol, &whole).map_err(refused)?;
    // Names and values of fields that were read have no quotes.
    let changes = fields.split(';').filter_map(|field| field.split_once('='));
    let changes = changes.map(|(name, value)| format!(", {} = \"{}\"", name.trim(), value.trim()));
    let written = format!("{{ preset = \"{}\"{} }}", parsed.preset(), changes.collect::<String>());
    Ok((written, (transport, policy)))
}

fn unknown<const N: usize>(kind: &str, name: &str, known: [&str; N]) -> String {
    format!("there is no {kind} \"{name}\"; there are {}", known.join(", "))
}

impl Known<'_> {
    /// The plan of one side without independent losses, which the page decides itself.
    pub(crate) fn plan(&self, side: usize) -> String {
        self.text(side, "paired = false\n")
    }

    /// The plan of one side for the command. Losses that depend on time are the network's own, and
    /// leave no room for independent ones.
    pub(crate) fn plan_with_losses(&self, side: usize) -> String {
        let Network { loss, keys, .. } = self.network;
        match keys.contains("loss = ") {
            true => self.plan(side),
            false => self.text(side, &format!("loss = \"{loss}%\"\nspared = \"{SET_UP_S}s\"\n")),
        }
    }

    fn text(&self, side: usize, losses: &str) -> String {
        let Setting { flows, .. } = self.setting;
        let (transport, policy) = (name(self.policies[side].0), &self.texts[side]);
        let Network { rtt_ms, keys, .. } = self.network;
        let link = format!("rtt = \"{rtt_ms}ms\"\n{keys}");
        let network = match self.network.two_paths {
            true => format!("kind = \"two-path\"\n{link}paths = [{{}}, {{}}]\n"),
            false => format!("kind = \"pair\"\n{link}"),
        };
        let workload = match self.workload {
            Workload::Application(Application { arrivals, size: "", .. }) => {
                format!("arrivals = \"{arrivals}\"")
            }
            Workload::Application(Application { arrivals, size, .. }) => {
                format!("arrivals = \"{arrivals}\", size = \"{size}\"")
            }
            Workload::Capture(_) => format!("arrivals = \"replay {RECORDED}\""),
        };
        let mut text = format!(
            "title = \"Live\"\nabout = \"One side of the live page.\"\n\n\
             [run]\nseeds = 1\nduration = \"{}s\"\nwarm_up = \"{SET_UP_S}s\"\n\n\
             [network]\n{network}{losses}\n\
             [[flow]]\nname = \"{FLOWS}\"\ncount = {flows}\ntransport = \"{transport}\"\n\
             policy = {policy}\nset_up = \"{SET_UP_S}s\"\nworkload = {{ {workload} }}\n\n\
             [measure]\nlatency = {{ quantiles = [0.5, 0.9, 0.99], distribution = true }}\n\
             retransmissions = {{}}\ncost = {{}}\n",
            SET_UP_S + DURATION_S,
        );
        if let Workload::Capture(traffic) = self.workload {
            // Writing to a string does not fail.
            let _ = write!(text, "\n[files]\n{}", traffic.file_entry(RECORDED));
        }
        text
    }
}

fn name(transport: TransportName) -> &'static str {
    match transport {
        TransportName::Sctp => "sctp",
        TransportName::Tcp => "tcp",
    }
}
