//! Makes a [`Document`] of the results of plans: a section for each plan, with its figures, the
//! paper's numbers, settings, assumptions, and the command that repeats it.

use super::document::{Comparison, Document, Entry, Section};
use super::figures::{Figures, figures};
use super::numbers::four_digits;
use lab::engine::{Finished, count};
use lab::experiments;
use lab::plan::{Cells, Expectation, Number, Plan, RowKind, Size, Stated, value_text};
use lab::stored::{Manifest, Stored};
use lab::verdict::{Verdict, Word, judge};

/// Finished runs of a plan, with their origin and the commands that repeat them: what a section
/// shows.
#[derive(Clone, Debug)]
pub struct PlanResults {
    /// Name in addresses and files: lower-case letters, digits and hyphens.
    pub id: String,
    /// The plan, in the size in which it was run.
    pub plan: Plan,
    /// Finished runs of the plan.
    pub finished: Finished,
    /// Origin of the results: version, plan, seeds.
    pub manifest: Manifest,
    /// Command lines that produce them again.
    pub commands: Vec<String>,
}

impl PlanResults {
    /// Results of a folder, with their plan. A plan that is part of the command goes by its name
    /// there.
    pub fn new(stored: Stored) -> PlanResults {
        let Stored { plan, finished, manifest } = stored;
        let known = experiments::all().into_iter().find(|one| one.text == plan.text);
        let id = slug(known.map_or(plan.base.title.as_str(), |one| one.name));
        let commands = manifest.command.iter().cloned().collect();
        PlanResults { id, plan, finished, manifest, commands }
    }
}

/// Parameter of a section that counts its runs.
pub const RUNS: &str = "runs";
/// The parameter that distinguishes plans by everything that their runs depend on.
pub const FINGERPRINT: &str = "plan's fingerprint";

/// The report of the results of these plans, and requests of the plans that it cannot meet.
pub fn document(title: &str, about: &str, all: &[PlanResults]) -> (Document, Vec<String>) {
    let mut problems = Vec::new();
    let sections = all.iter().map(|one| {
        let (section, found) = section(one);
        problems.extend(found.into_iter().map(|problem| format!("{}: {problem}", one.id)));
        section
    });
    let mut sections: Vec<Section> = sections.collect();
    // Plans of no paper come behind those of papers.
    sections.sort_by_key(|section| section.group.is_none());
    let (title, about) = (title.to_owned(), about.to_owned());
    (Document { title, about, provenance: provenance(all), sections }, problems)
}

fn section(one: &PlanResults) -> (Section, Vec<String>) {
    let PlanResults { id, plan, finished, manifest, commands } = one;
    let Figures { figures, problems } = figures(plan, finished, id);
    let base = &plan.base;
    let group = base.paper.as_ref().map(|paper| match &base.reproduces {
        Some(part) => (paper.clone(), format!("{}: {}", in_paper(part), base.title)),
        None => (paper.clone(), base.title.clone()),
    });
    let (group, title) =
        group.map_or((None, base.title.clone()), |(group, title)| (Some(group), title));
    let ran = entry(RUNS, &runs(plan, finished, manifest));
    let mut parameters = vec![ran, entry(FINGERPRINT, &manifest.fingerprint)];
    parameters.extend(settings(plan));
    let section = Section {
        id: id.clone(),
        group,
        title,
        about: base.about.split_whitespace().collect::<Vec<_>>().join(" "),
        figures,
        comparisons: comparisons(plan, finished),
        parameters,
        open: base.open.iter().map(|(name, value)| entry(name, value)).collect(),
        commands: commands.clone(),
    };
    (section, problems)
}

/// `8a` becomes "figure 8a"; a part with a word stays as it is.
fn in_paper(part: &str) -> String {
    match part.starts_with(|c: char| c.is_ascii_digit()) {
        true if part.contains(['-', ' ', ',']) => format!("Figures {part}"),
        true => format!("Figure {part}"),
        false => {
            let mut rest = part.chars();
            rest.next().map(|first| first.to_uppercase().chain(rest).collect()).unwrap_or_default()
        }
    }
}

fn entry(name: &str, value: &str) -> Entry {
    Entry { name: name.to_owned(), value: value.to_owned() }
}

fn runs(plan: &Plan, finished: &Finished, manifest: &Manifest) -> String {
    let (cells, seeds) = (plan.cells.len(), plan.seed_range());
    let mut text = format!(
        "{} of {}: {cells} cells, seeds {} to {}",
        count(finished),
        plan.jobs(),
        seeds.start(),
        seeds.end()
    );
    if let Some(seconds) = manifest.wall_s {
        text += &format!("; {} s", four_digits(seconds.round()));
    }
    text
}

// ---- what was set -----------------------------------------------------------------------------

/// Keys of a plan that are no settings.
const NO_SETTINGS: [&str; 11] = [
    "title",
    "paper",
    "reproduces",
    "about",
    "full",
    "small",
    "open",
    "expect",
    "target",
    "figure",
    "sweep",
];

/// Lines of a value that are shown; of a longer one, only how many there are.
const SHOWN_LINES: usize = 20;

/// All keys of the plan with their values; lists where they are varied.
fn settings(plan: &Plan) -> Vec<Entry> {
    let Ok(table) = plan.text.parse::<toml::Table>() else { return Vec::new() };
    let mut entries = Vec::new();
    let set = table.iter().filter(|(key, _)| !NO_SETTINGS.contains(&key.as_str()));
    set.for_each(|(key, value)| flatten(key, value, &mut entries));
    let keys = plan.cells.first().map_or(&[][..], |(cell, _)| &cell.0);
    for (key, _) in keys {
        let mut values: Vec<String> = Vec::new();
        for (cell, _) in &plan.cells {
            let texts =
                cell.0.iter().filter(|(name, _)| name == key).map(|(_, value)| value_text(value));
            values.extend(texts.filter(|text| !values.contains(text)).collect::<Vec<_>>());
        }
        let value = values.join(" | ");
        match entries.iter_mut().find(|one| one.name == *key) {
            Some(one) => one.value = value,
            None => entries.push(entry(key, &value)),
        }
    }
    entries
}

fn flatten(key: &str, value: &toml::Value, entries: &mut Vec<Entry>) {
    let named =
        |value: &toml::Value| value.get("name").and_then(toml::Value::as_str).map(str::to_owned);
    match value {
        // Contents of a file may be long.
        toml::Value::String(lines) if lines.lines().count() > SHOWN_LINES => {
            entries.push(entry(key, &format!("{} lines", lines.lines().count())));
        }
        // A policy with changes shows them.
        toml::Value::Table(table) if !table.is_empty() && !table.contains_key("preset") => {
            table
                .iter()
                .for_each(|(name, value)| flatten(&format!("{key}.{name}"), value, entries));
        }
        toml::Value::Array(values) if values.iter().any(toml::Value::is_table) => {
            for (place, value) in values.iter().enumerate() {
                let name = named(value).unwrap_or_else(|| place.to_string());
                let mut value = value.clone();
                value.as_table_mut().map(|table| table.remove("name"));
                flatten(&format!("{key}.{name}"), &value, entries);
            }
        }
        other => entries.push(entry(key, &value_text(other))),
    }
}

// ---- paper and here ---------------------------------------------------------------------------

/// The table paper/here of a plan: a row for each expectation.
pub fn comparisons(plan: &Plan, finished: &Finished) -> Vec<Comparison> {
    judge(plan, finished).iter().map(comparison).collect()
}

/// The note on a row that was not asked of the plan's size.
const NOT_ASKED: &str = "not judged: the paper's own size alone can meet it, which --full runs";

fn comparison(verdict: &Verdict<'_>) -> Comparison {
    let one = verdict.expectation;
    let number = |value: f64| with_unit(&four_digits(value), &one.unit);
    let own_note = || one.note.clone().filter(|_| verdict.agreement != Word::Same);
    Comparison {
        measure: what(one),
        case: case(one),
        paper: paper(one),
        source: Some(one.source.clone()),
        here: match (verdict.here, &verdict.worst) {
            (None, _) => "–".to_owned(),
            (Some(here), None) => number(here),
            (Some(here), Some(worst)) => format!("{} at worst ({worst})", number(here)),
        },
        interval: interval(verdict),
        verdict: verdict.word,
        kind: one.kind,
        claim: one.claim(),
        agreement: (one.kind != RowKind::Prediction).then_some(verdict.agreement),
        note: if verdict.is_asked { own_note() } else { Some(NOT_ASKED.to_owned()) },
    }
}

/// The paper's number as the paper prints it, or the bound that its words are taken for.
fn paper(one: &Expectation) -> Option<String> {
    let number = |stated: &Stated| with_unit(&stated.text, &one.unit);
    let told = match (one.reported, &one.value, &one.above, &one.below) {
        (false, ..) | (true, None, None, None) => return None,
        (true, Some(value), ..) => number(value),
        (true, None, Some(above), Some(below)) => format!("{} to {}", above.text, number(below)),
        (true, None, Some(above), None) => format!("above {}", number(above)),
        (true, None, None, Some(below)) => format!("below {}", number(below)),
    };
    Some(match &one.derived {
        Some(how) => format!("{told}, derived: {how}"),
        None => told,
    })
}

/// The interval of the number here, or the reason why there is none.
fn interval(verdict: &Verdict<'_>) -> Option<String> {
    verdict.here?;
    Some(match &verdict.interval {
        None => "none of one seed".to_owned(),
        Some(one) if one.high > one.low => {
            let high = with_unit(&four_digits(one.high), &verdict.expectation.unit);
            format!("{} to {high}", four_digits(one.low))
        }
        Some(_) => format!("{} seeds alike", verdict.seeds),
    })
}

fn with_unit(text: &str, unit: &str) -> String {
    if unit.is_empty() { text.to_owned() } else { format!("{text} {unit}") }
}

/// The measure of a row with its flows, with the divisor of a ratio and the other side of an order.
fn what(one: &Expectation) -> String {
    let number = number_told(&one.number());
    match one.other_number().map(|other| number_told(&other)) {
        None => number,
        Some(other) if other == number => format!("{number}, less the same elsewhere"),
        Some(other) => format!("{number}, less {other}"),
    }
}

fn number_told(one: &Number<'_>) -> String {
    let told = |of: Option<&str>, measure: &str| match of {
        Some(of) => format!("{of}: {measure}"),
        None => measure.to_owned(),
    };
    let measure = told(one.of, one.measure);
    match (one.over, one.over_measure) {
        (None, None) if one.minus.is_some() => format!("{measure}, difference"),
        (None, None) if one.versus.is_some() => format!("{measure}, ratio"),
        (None, None) => measure,
        (over, over_measure) => {
            let other = told(over.or(one.of), over_measure.unwrap_or(one.measure));
            format!("{measure} over that of {other}")
        }
    }
}

/// Cells of an expectation, and those compared with.
fn case(one: &Expectation) -> String {
    let case = case_told(&one.number());
    match one.other_number().map(|other| case_told(&other)) {
        Some(other) if other != case => format!("{case}; less {other}"),
        _ => case,
    }
}

fn case_told(one: &Number<'_>) -> String {
    let told = |(key, value): (&String, &toml::Value)| {
        super::figures::told((key.as_str(), &value_text(value)))
    };
    let list = |cells: Vec<(&String, &toml::Value)>| {
        cells.into_iter().map(told).collect::<Vec<_>>().join(", ")
    };
    let (other, word) = match one.minus {
        Some(minus) => (Some(minus), "less"),
        None => (one.versus, "over"),
    };
    let Some(other) = other else { return list(one.cells.iter().collect()) };
    let but = |cells: &'_ Cells, others: &Cells| {
        let differs = |(key, value): &(&String, &toml::Value)| others.get(*key) != Some(value);
        list(cells.iter().filter(differs).collect())
    };
    let is_common = |(key, value): &(&String, &toml::Value)| other.get(*key) == Some(value);
    let common = list(one.cells.iter().filter(is_common).collect());
    let sides = format!("{} {word} {}", but(one.cells, other), but(other, one.cells));
    if common.is_empty() { sides } else { format!("{sides} ({common})") }
}

// ---- where it comes from ----------------------------------------------------------------------

fn provenance(all: &[PlanResults]) -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut add = |name: &str, values: Vec<String>| {
        let mut known: Vec<String> = Vec::new();
        values.into_iter().for_each(|value| {
            if !known.contains(&value) {
                known.push(value);
            }
        });
        if !known.is_empty() {
            entries.push(entry(name, &known.join(", ")));
        }
    };
    let manifests = || all.iter().map(|one| &one.manifest);
    add("Version", manifests().map(|one| one.version.clone()).collect());
    add("Commit", manifests().filter_map(|one| one.commit.clone()).collect());
    let builds = manifests().filter(|one| !one.build.is_empty());
    add("Sources (hash)", builds.map(|one| one.build.clone()).collect());
    let processors = manifests().filter_map(|one| one.processors);
    add("Processors", processors.map(|count| count.to_string()).collect());
    let last = manifests().filter_map(|one| one.time_s).max();
    add("Finished", last.map(date).into_iter().collect());
    let spent: Option<f64> = manifests().map(|one| one.wall_s).sum();
    add(
        "Time it took",
        spent.map(|spent| format!("{} s", four_digits(spent.round()))).into_iter().collect(),
    );
    let full = all.iter().map(full_time).sum::<Option<f64>>().filter(|_| !all.is_empty());
    let hours = full.map(|seconds| {
        format!(
            "about {} hours on this machine: an estimate from the time these runs took and from how much more is simulated",
            four_digits((seconds / 360.0).ceil() / 10.0)
        )
    });
    add("With --full", hours.into_iter().collect());
    let runs: u64 = all.iter().map(|one| count(&one.finished)).sum();
    add("Runs", vec![runs.to_string()]);
    add("Intervals", vec!["95 %, of means over seeds (Student)".to_owned()]);
    add(
        "Distributions",
        vec!["drawn with the points that can be told apart; distributions.csv beside the results has all".to_owned()],
    );
    entries
}

/// Time that the paper's own durations and numbers of runs would take, by what is simulated then
/// and now. None where the time was not taken, or for a plan that is not of the normal size.
fn full_time(one: &PlanResults) -> Option<f64> {
    let PlanResults { plan, manifest, .. } = one;
    let is_whole = plan.size == Size::Normal && plan.varied.is_none();
    let full = Plan::parse(&plan.text, Size::Full, None).ok().filter(|_| is_whole)?;
    Some(manifest.wall_s? * full.effort() / plan.effort())
}

/// Seconds after 1970 as a date and a time of day, UTC.
pub fn date(seconds: u64) -> String {
    // Years that begin in March have their leap day at the end (Howard Hinnant, "chrono-compatible
    // low-level date algorithms"); 400 of them have 146097 days.
    let days = seconds / 86_400 + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, later) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    let year = era * 400 + year + later;
    let minutes = seconds % 86_400 / 60;
    format!("{year}-{month:02}-{day:02} {:02}:{:02} UTC", minutes / 60, minutes % 60)
}

/// A text as a name in addresses and files: lower-case letters, digits and hyphens.
pub fn slug(text: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let slug: String = text.chars().map(plain).collect();
    slug.split('-').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-")
}

#[cfg(test)]
pub(crate) mod tests;
