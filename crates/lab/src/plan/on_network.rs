//! Puts a plan on a network of the library.

use super::error::PlanError;
use super::network_name::NetworkName;
use toml::{Table, Value};

/// Sections that hold for the plan's own network only: numbers of papers, bounds, and figures over
/// varied keys.
const LEFT_OUT: [&str; 4] = ["expect", "target", "figure", "reproduces"];

/// The text of a plan with its network replaced by one of the library. The kind of network stays;
/// variations of the network and expected numbers are left out.
///
/// # Errors
/// When the plan's text cannot be read, or it has no network of kind `pair` or `dumbbell`.
pub fn on_network(text: &str, name: NetworkName) -> Result<String, PlanError> {
    let readable = |error: toml::de::Error| PlanError::of_text(text, &error);
    let mut plan: Table = toml::from_str(text).map_err(readable)?;
    let own = match plan.get("network") {
        Some(Value::Table(own)) => own.clone(),
        Some(Value::String(_)) => Table::new(),
        _ => return Err(PlanError::new(format!("it has no network that {name} could replace"))),
    };
    let kind = own.get("kind").and_then(Value::as_str).unwrap_or("pair");
    if !["pair", "dumbbell"].contains(&kind) {
        return Err(PlanError::new(format!(
            "{name} cannot replace a network of kind \"{kind}\"; it can replace a pair or a dumbbell"
        )));
    }
    let mut network = Table::new();
    network.insert("kind".to_owned(), kind.into());
    network.insert("like".to_owned(), name.as_str().into());
    let kept = own.into_iter().filter(|(key, _)| ["paired", "spared"].contains(&key.as_str()));
    network.extend(kept);
    plan.insert("network".to_owned(), network.into());
    LEFT_OUT.iter().for_each(|key| drop(plan.remove(*key)));
    let title = plan.get("title").and_then(Value::as_str).unwrap_or_default();
    plan.insert("title".to_owned(), format!("{title} (over {name})").into());
    fix_network(&mut plan);
    for size in ["full", "small"] {
        plan.get_mut(size).and_then(Value::as_table_mut).into_iter().for_each(fix_network);
    }
    Ok(plan.to_string())
}

/// Removes keys of the network from a section's sweep.
fn fix_network(section: &mut Table) {
    let Some(sweep) = section.get_mut("sweep").and_then(Value::as_table_mut) else { return };
    sweep.retain(|key, _| !is_of_network(key));
    // Keys that change together.
    let values = sweep.iter_mut().filter_map(|(_, values)| values.as_array_mut());
    for value in values.flatten().filter_map(Value::as_table_mut) {
        value.retain(|key, _| !is_of_network(key));
    }
}

fn is_of_network(key: &str) -> bool {
    key == "network" || key.starts_with("network.")
}

#[cfg(test)]
mod tests {
    use super::super::{Plan, Size, Subject};
    use super::*;
    use crate::experiments;

    fn lte() -> NetworkName {
        "lte".parse().unwrap()
    }

    #[test]
    fn plans_of_papers_run_over_networks_of_the_library() {
        for wanted in ["sctp-thin/fig8a", "tcp-thin-game/bottleneck", "defaults/thin-grid"] {
            let text = experiments::find(wanted).unwrap()[0].text;
            let text = on_network(text, lte()).unwrap();
            let plan = Plan::parse(&text, Size::Small, None).unwrap();
            assert!(plan.base.expectations.is_empty() && plan.base.title.ends_with("(over lte)"));
            for (cell, one) in &plan.cells {
                assert!(cell.0.iter().all(|(key, _)| !is_of_network(key)), "{cell}");
                let Subject::Flows(flows) = &one.subject else { panic!("{wanted}") };
                assert_eq!(flows.network.link.like.unwrap().0, lte());
                assert_eq!(flows.shortest_way().unwrap(), base::Duration::from_micros(31_500));
            }
        }
    }

    #[test]
    fn plans_without_such_a_network_are_refused() {
        for (text, part) in [
            ("study = \"tank\"", "has no network"),
            ("[network]\nkind = \"chain\"", "\"chain\""),
            ("[network", "1:9"),
        ] {
            let error = on_network(text, lte()).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
