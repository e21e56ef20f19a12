//! The demo as a plan of the laboratory: one cell for each policy, the same in virtual and in real
//! time.

use base::{Duration, Instant};
use lab::fate::first_transmission_lost;
use lab::measure::MeasureSection;
use lab::plan::{Plan, Size, Subject};
use lab::world::path_seed;
use lab::{Probe, Workload};
use recovery::RecoveryPolicy;
use recovery::policy::{FIELDS, Protocol};

use super::error::DemoError;
use super::options::{Contender, DemoOptions, Length, MAX_RTT, MAX_SIZE};

/// Name of the flows in the plan.
pub(super) const STREAM: &str = "stream";

/// Least time that a run continues after the last message is due, so that its retransmissions
/// count.
const TAIL: Duration = Duration::from_secs(120);
/// Further time that messages may take.
const GRACE: Duration = Duration::from_secs(3600);

/// The headline of report and picture.
pub(super) const TITLE: &str =
    "A thin stream over a lossy network: standard and thin-stream recovery";

/// The figures of every demo.
const FIGURES: &str = include_str!("figures.toml");
/// The figure of a demo that loses a packet.
const LADDER_FIGURE: &str = include_str!("ladder.toml");

impl DemoOptions {
    /// The plan of this demo. Its runs have the demo's own seed, not those that the plan names.
    ///
    /// # Errors
    /// [`DemoError`] if the options contradict each other.
    pub fn plan(&self) -> Result<Plan, DemoError> {
        self.check()?;
        Ok(Plan::parse(&self.plan_text(), Size::Normal, None)?)
    }

    fn check(&self) -> Result<(), DemoError> {
        Workload::new(self.workload(), self.seed, 0, Instant::ZERO)?;
        if self.arrivals.is_greedy() {
            return Err(DemoError::Endless);
        }
        if self.rtt > MAX_RTT {
            return Err(DemoError::Rtt(self.rtt));
        }
        if !(Probe::MIN_SIZE..=MAX_SIZE).contains(&self.size) {
            return Err(DemoError::Size(self.size));
        }
        if !(1..=u32::from(u16::MAX)).contains(&self.flows) {
            return Err(DemoError::NoFlows);
        }
        Ok(())
    }

    /// Time from the opening of an association until its first message may be due; nothing is lost
    /// before. The handshake takes two round trips.
    pub(super) fn set_up(&self) -> Duration {
        match self.network {
            // It may lose packets of the handshake, each of which is sent again after a second at
            // first.
            Some(_) => Duration::from_secs(10),
            None => (self.rtt * 3).max(Duration::from_secs(1)),
        }
    }

    /// Keys of the network in the plan.
    fn network_text(&self) -> String {
        let DemoOptions { rtt, loss, .. } = self;
        match self.network {
            Some(name) => format!("like = \"{name}\""),
            None => {
                format!("rtt = \"{rtt}\"\nloss = \"{loss}\"\nspared = \"{}\"", self.set_up())
            }
        }
    }

    fn plan_text(&self) -> String {
        let DemoOptions { rtt, arrivals, size, flows, .. } = self;
        let (set_up, network) = (self.set_up(), self.network_text());
        let span = match self.length {
            Length::Duration(span) => span,
            Length::Messages(_) => {
                let mean = arrivals.mean_interval().unwrap_or(Duration::from_millis(100));
                mean * self.messages_per_flow() * 2
            }
        };
        let limit = match self.length {
            Length::Duration(span) => span.to_string(),
            Length::Messages(_) => format!("{} messages", self.messages_per_flow()),
        };
        let duration = set_up + span + TAIL;
        let (ladder, ladder_figure) = match self.flow_with_loss() {
            Some(flow) => {
                let span = (*rtt * 10).max(Duration::from_secs(2));
                let ladder =
                    format!("ladder = {{ flow = {flow}, from = \"loss\", span = \"{span}\" }}");
                (ladder, LADDER_FIGURE)
            }
            None => (String::new(), ""),
        };
        let policies: Vec<String> = self.policies.iter().map(policy).collect();
        format!(
            r#"title = "{TITLE}"
about = "The same thin stream over the same network under each policy. Which first transmissions are lost is the same for all."
[run]
seeds = 1
duration = "{duration}"
warm_up = "{set_up}"
grace = "{GRACE}"
[network]
kind = "pair"
{network}
[[flow]]
name = "{STREAM}"
count = {flows}
transport = "sctp"
policy = "rfc"
set_up = "{set_up}"
workload = {{ arrivals = "{arrivals}", size = "{size}", limit = "{limit}" }}
[measure]
latency = {{ by = "retransmission", quantiles = [0.5, 0.9, 0.99, 0.999], distribution = true }}
retransmissions = {{ reported = true }}
overhead = {{}}
links = true
{ladder}
{FIGURES}
{ladder_figure}
[sweep]
"flow.{STREAM}.policy" = [{}]
"#,
            policies.join(", ")
        )
    }

    /// The flow whose first loss comes soonest once its round-trip time is known.
    fn flow_with_loss(&self) -> Option<u32> {
        /// Messages by which an estimate of the round-trip time has settled.
        const SETTLED: u64 = 4;
        /// Messages and flows that are looked through.
        const MOST: (u64, u32) = (1_000, 64);
        if self.network.is_some() {
            // Losses of its models are known only once it has run.
            return None;
        }
        let messages = match self.length {
            Length::Messages(_) => self.messages_per_flow(),
            Length::Duration(span) => {
                let mean = self.arrivals.mean_interval().unwrap_or(Duration::from_millis(100));
                span.as_nanos() / mean.as_nanos().max(1)
            }
        };
        let seed = path_seed(self.seed, 0);
        let first = |flow: u32| {
            let lost = |message: &u64| first_transmission_lost(seed, flow, *message, self.loss);
            (0..messages.min(MOST.0)).find(lost).map(|message| (message < SETTLED, message, flow))
        };
        (0..self.flows.min(MOST.1)).filter_map(first).min().map(|(.., flow)| flow)
    }
}

/// Section `[measure]` of a plan's cell; none for a study.
pub(super) fn measures(plan: &Plan, cell: usize) -> Option<&MeasureSection> {
    match &plan.cells.get(cell)?.1.subject {
        Subject::Flows(flows) => Some(&flows.measure),
        Subject::Study(_) => None,
    }
}

/// A policy as a table of TOML: its preset, and each field in which it differs.
fn policy(contender: &Contender) -> String {
    let preset = contender.name.split(';').next().unwrap_or_default().trim();
    let base = RecoveryPolicy::of_preset(Protocol::Sctp, preset).unwrap_or_default();
    let mut text = format!("{{ name = {:?}, preset = {preset:?}", contender.name);
    for field in FIELDS {
        let value = field.get(&contender.policy);
        if let Some(value) = value.filter(|_| field.get(&contender.policy) != field.get(&base)) {
            text += &format!(", {} = {value:?}", field.name);
        }
    }
    text + " }"
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use base::Probability;
    use lab::Arrivals;
    use lab::plan::TransportText;
    use recovery::PRESETS;

    use super::*;

    fn options(policies: Vec<Contender>) -> DemoOptions {
        DemoOptions {
            length: Length::Messages(100),
            rtt: Duration::from_millis(100),
            loss: Probability::from_ratio(5, 100),
            network: None,
            arrivals: Arrivals::Constant { interval: Duration::from_millis(250) },
            size: 100,
            flows: 2,
            seed: 1,
            policies,
            pcap: None,
            events: None,
            verbose: false,
            reproduce: String::new(),
        }
    }

    /// The policies of a preset with one field changed, each field in each of its samples.
    fn variants(preset: &str) -> Vec<Contender> {
        let mut undelayed = RecoveryPolicy::of_preset(Protocol::Sctp, preset).unwrap();
        undelayed.acknowledgement.delay = None;
        let contender =
            |name, policy| Contender { name, description: String::new(), policy: Arc::new(policy) };
        let mut all = vec![contender(preset.to_owned(), undelayed.clone())];
        for field in FIELDS.iter().filter(|field| field.is_of(Protocol::Sctp)) {
            for sample in field.samples() {
                let mut policy = undelayed.clone();
                if field.set(&mut policy, sample).is_ok() && policy.check().is_ok() {
                    all.push(contender(format!("{preset};{}={sample}", field.name), policy));
                }
            }
        }
        all
    }

    #[test]
    fn every_policy_that_can_be_compared_stands_in_the_plan_as_it_is() {
        let mut seen = 0;
        for (preset, _) in PRESETS {
            let contenders = variants(preset);
            let plan = options(contenders.clone()).plan().unwrap();
            assert_eq!(plan.cells.len(), contenders.len());
            for (one, (_, cell)) in contenders.iter().zip(&plan.cells) {
                let Subject::Flows(flows) = &cell.subject else { panic!("a demo is no study") };
                let flow = &flows.flows[0];
                let TransportText::Own(transport) = flow.transport else { panic!("ours") };
                assert_eq!(flow.policy.build(transport).unwrap(), *one.policy, "{}", one.name);
                seen += 1;
            }
        }
        assert!(seen > 200, "{seen}");
    }

    #[test]
    fn a_demo_runs_over_each_network_of_the_library() {
        for name in lab::plan::NetworkName::all() {
            let thin = variants("thin").into_iter().take(1).collect();
            let options = DemoOptions { network: Some(name), ..options(thin) };
            let plan = options.plan().unwrap();
            let Subject::Flows(flows) = &plan.cells[0].1.subject else { panic!() };
            assert_eq!(flows.network.link.like.unwrap().0, name);
            let settings: serde_json::Map<String, serde_json::Value> =
                options.settings().into_iter().collect();
            assert_eq!(settings["network"], name.as_str());
            assert!(settings["rtt_ms"].is_null() && settings["loss"].is_null());
            assert_eq!(options.parameters()[0], ("network".to_owned(), name.to_string()));
        }
    }

    #[test]
    fn a_demo_that_contradicts_itself_is_refused_before_it_begins() {
        let valid = || options(variants("thin").into_iter().take(1).collect());
        let refused = |change: fn(&mut DemoOptions)| {
            let mut options = valid();
            change(&mut options);
            options.plan().unwrap_err().to_string()
        };
        assert!(valid().plan().is_ok());
        let size = refused(|options| options.size = MAX_SIZE + 1);
        assert!(size.contains("1445") && size.contains("1444"), "{size}");
        assert!(refused(|options| options.flows = 0).contains("1 to 65535"));
        let far = refused(|options| options.rtt = Duration::from_secs(3_600_000_000));
        assert!(far.contains("3600000000s") && far.contains("at most 30s"), "{far}");
        let long = refused(|options| options.length = Length::Messages(u64::MAX));
        assert!(long.contains("366 days"), "{long}");
        let endless = refused(|options| options.arrivals = Arrivals::Greedy);
        assert!(endless.contains("250ms"), "{endless}");
    }
}
