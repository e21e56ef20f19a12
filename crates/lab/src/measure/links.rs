//! Load, loss and marks of the links that flows share.

use results::Results;
use serde::Deserialize;

use super::interface::{Ask, Watch};
use crate::cell_world::CellWorld;

/// `measure.links`: whether the shared links are measured.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(transparent)]
pub struct Links(pub bool);

impl Ask for Links {
    fn needs_messages(&self) -> bool {
        false
    }

    fn watch(&self, _: &mut CellWorld) -> Option<Box<dyn Watch>> {
        self.0.then(|| Box::new(Counters) as Box<dyn Watch>)
    }
}

/// Counters that the links of the network keep in any case.
struct Counters;

impl Watch for Counters {
    fn conclude(&self, CellWorld { world, .. }: &CellWorld, results: &mut Results) {
        for (number, path) in world.links.iter().enumerate() {
            for (name, id) in [("forward", path.forward), ("backward", path.backward)] {
                let of = match world.links.len() {
                    1 => format!("link {name}"),
                    _ => format!("link {number} {name}"),
                };
                let statistics = world.link_statistics(id);
                let mut sheet = results.sheet(&of);
                let (offered, dropped) = (statistics.offered, statistics.dropped());
                sheet.add("link.packets", &[], offered.packets as f64, "");
                sheet.add("link.bytes", &[], offered.bytes as f64, "B");
                let loss = 100.0 * dropped.packets as f64 / offered.packets as f64;
                sheet.add("link.loss", &[], loss, "%");
                if world.marks {
                    let marked = 100.0 * statistics.marked.packets as f64 / offered.packets as f64;
                    sheet.add("link.marked", &[], marked, "%");
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::engine::run_all;
    use crate::engine::tests::PLAN;
    use crate::plan::{Plan, Size};

    /// Names of the links that have rows.
    fn measured(links: &str) -> Vec<String> {
        let text = PLAN.replace("links = true", links);
        let plan = Plan::parse(&text, Size::Normal, None).unwrap();
        let finished = run_all(&plan).unwrap();
        let rows = finished.into_values().next().unwrap().rows.into_iter();
        rows.filter(|row| row.measure == "link.loss").map(|row| row.of).collect()
    }

    #[test]
    fn links_have_rows_only_where_a_plan_asks_for_them() {
        assert_eq!(measured("links = true"), ["link forward", "link backward"]);
        assert_eq!(measured("links = false"), [""; 0]);
        assert_eq!(measured(""), [""; 0]);
    }
}
