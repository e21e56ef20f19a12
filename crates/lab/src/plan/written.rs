//! A plan as written in a file: its subject decides which sections it must have.

use std::collections::BTreeMap;

use base::Duration;
use serde::Deserialize;
use serde::de::{Deserializer, Error};

use super::cell_plan::{CellPlan, Subject};
use super::expect::Expectation;
use super::figure::FigureSection;
use super::files::Files;
use super::fit::FitSection;
use super::flow::FlowSection;
use super::flows_plan::FlowsPlan;
use super::network::NetworkSection;
use super::sweep::Lists;
use super::target::Target;
use crate::advisor::Advisors;
use crate::measure::MeasureSection;
use crate::study;
use crate::text::Text;

/// All sections and keys of a plan.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Written {
    title: String,
    #[serde(default)]
    paper: Option<String>,
    #[serde(default)]
    reproduces: Option<String>,
    #[serde(default)]
    about: String,
    #[serde(default)]
    study: Option<String>,
    #[serde(default)]
    parameters: Option<toml::Table>,
    run: Run,
    #[serde(default)]
    full: Size,
    #[serde(default)]
    small: Size,
    #[serde(default)]
    network: Option<NetworkSection>,
    #[serde(default, rename = "flow")]
    flows: Vec<FlowSection>,
    #[serde(default)]
    measure: Option<MeasureSection>,
    #[serde(default)]
    open: BTreeMap<String, String>,
    #[serde(default, rename = "expect")]
    expectations: Vec<Expectation>,
    #[serde(default, rename = "target")]
    targets: Vec<Target>,
    #[serde(default, rename = "figure")]
    figures: Vec<FigureSection>,
    #[serde(default)]
    fit: Option<FitSection>,
    #[serde(default)]
    sweep: Lists,
    /// Contents of the files that the plan names.
    #[serde(default)]
    files: Files,
}

/// Duration and number of runs.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Run {
    #[serde(default)]
    duration: Option<Text<Duration>>,
    #[serde(default)]
    warm_up: Option<Text<Duration>>,
    seeds: u64,
    #[serde(default)]
    grace: Option<Text<Duration>>,
}

/// Values of another size that replace those of `[run]` before a cell is read.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "read to be checked")]
struct Size {
    #[serde(default)]
    duration: Option<Text<Duration>>,
    #[serde(default)]
    warm_up: Option<Text<Duration>>,
    #[serde(default)]
    seeds: Option<u64>,
    #[serde(default)]
    sweep: Lists,
}

const GRACE: Duration = Duration::from_secs(120);

impl<'de> Deserialize<'de> for CellPlan {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<CellPlan, D::Error> {
        let written = Written::deserialize(from)?;
        CellPlan::try_from(written).map_err(D::Error::custom)
    }
}

impl TryFrom<Written> for CellPlan {
    type Error = String;

    fn try_from(mut written: Written) -> Result<CellPlan, String> {
        let subject = match written.study.take() {
            Some(name) => written.take_study(&name)?,
            None => written.take_flows()?,
        };
        Ok(CellPlan {
            title: written.title,
            paper: written.paper,
            reproduces: written.reproduces,
            about: written.about,
            seeds: written.run.seeds,
            subject,
            open: written.open,
            expectations: written.expectations,
            targets: written.targets,
            figures: written.figures,
            fit: written.fit,
            sweep: written.sweep,
            full_sweep: written.full.sweep,
            small_sweep: written.small.sweep,
        })
    }
}

impl Written {
    fn take_study(&mut self, name: &str) -> Result<Subject, String> {
        let foreign = [
            ("[network]", self.network.is_some()),
            ("[[flow]]", !self.flows.is_empty()),
            ("[measure]", self.measure.is_some()),
            ("run.duration", self.run.duration.is_some()),
            ("run.warm_up", self.run.warm_up.is_some()),
            ("run.grace", self.run.grace.is_some()),
        ];
        if let Some((key, _)) = foreign.iter().find(|(_, there)| *there) {
            return Err(format!(
                "{key} beside study = \"{name}\": a study has its settings in [parameters]"
            ));
        }
        let parameters = self.parameters.take().unwrap_or_default();
        let read = study::read(name, parameters);
        read.map(Subject::Study).map_err(|error| error.to_string())
    }

    fn take_flows(&mut self) -> Result<Subject, String> {
        let missing = |key: &str| format!("there is no {key}; give one, or a study in its place");
        if self.parameters.is_some() {
            return Err("[parameters] is for a study; name it: study = \"tank\"".to_owned());
        }
        if self.flows.is_empty() {
            return Err(missing("[[flow]]"));
        }
        for flow in &mut self.flows {
            let name = &flow.name;
            let read = flow.workload.read(&self.files);
            read.map_err(|error| format!("flow \"{name}\": {error}"))?;
        }
        let or_none = |span: Option<Text<Duration>>| span.map_or(Duration::ZERO, |span| span.0);
        Ok(Subject::Flows(Box::new(FlowsPlan {
            duration: self.run.duration.ok_or_else(|| missing("run.duration"))?.0,
            warm_up: or_none(self.run.warm_up),
            grace: self.run.grace.map_or(GRACE, |grace| grace.0),
            network: self.network.take().ok_or_else(|| missing("[network]"))?,
            flows: core::mem::take(&mut self.flows),
            files: core::mem::take(&mut self.files),
            measure: self.measure.take().ok_or_else(|| missing("[measure]"))?,
            advisors: Advisors::default(),
        })))
    }
}
