//! Losses as a plan describes them: as text, or as a table whose numbers can be varied one by one.

use netsim::LossModel;
use serde::de::{Deserialize, Deserializer, Error};

use crate::text::Text;
use crate::toml_text::plain;

/// A loss model: `"bursts 5% 4"`, or `{ share = "5%", burst = 4 }`.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct LossText(pub LossModel);

/// First word of each text form, with the table's keys in the order of the text's words.
const TABLES: [(&str, &[&str]); 4] = [
    ("", &["share"]),
    ("bursts", &["share", "burst"]),
    ("gilbert", &["good_to_bad", "bad_to_good", "in_good", "in_bad"]),
    ("outages", &["good", "bad"]),
];

impl<'de> Deserialize<'de> for LossText {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<LossText, D::Error> {
        match toml::Value::deserialize(from)? {
            toml::Value::Table(table) => {
                let text = text_of(&table).map_err(D::Error::custom)?;
                text.parse().map(LossText).map_err(D::Error::custom)
            }
            other => {
                Text::deserialize(other).map(|text| LossText(text.0)).map_err(D::Error::custom)
            }
        }
    }
}

/// The text form of a table.
fn text_of(table: &toml::Table) -> Result<String, String> {
    let keys: Vec<&str> = table.keys().map(String::as_str).filter(|key| *key != "name").collect();
    let is_it = |known: &&(&str, &[&str])| {
        known.1.len() == keys.len() && keys.iter().all(|key| known.1.contains(key))
    };
    let Some((word, order)) = TABLES.iter().find(is_it) else {
        let forms = TABLES.map(|(_, keys)| format!("{{ {} }}", keys.join(", ")));
        return Err(format!(
            "a loss with the keys {}; give those of one of {}",
            keys.join(", "),
            forms.join(", ")
        ));
    };
    let values = order.iter().filter_map(|key| table.get(*key)).map(plain);
    Ok(core::iter::once((*word).to_owned()).chain(values).collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::super::{Plan, Size, Subject};
    use super::*;

    fn read(value: &str) -> Result<LossModel, String> {
        let table: toml::Table = toml::from_str(&format!("loss = {value}")).unwrap();
        let read = LossText::deserialize(table["loss"].clone());
        read.map(|loss| loss.0).map_err(|error| error.to_string())
    }

    #[test]
    fn a_table_says_what_a_text_does() {
        for (table, text) in [
            ("{ share = \"5%\" }", "5%"),
            ("{ share = \"5%\", burst = 4 }", "bursts 5% 4"),
            ("{ share = \"5%\", burst = 2.5 }", "bursts 5% 2.5"),
            (
                "{ good_to_bad = \"1%\", bad_to_good = \"25%\", in_good = 0, in_bad = \"100%\" }",
                "gilbert 1% 25% 0 100%",
            ),
            ("{ good = \"3s\", bad = \"150ms\" }", "outages 3s 150ms"),
        ] {
            assert_eq!(read(table), Ok(text.parse().unwrap()), "{table}");
            assert_eq!(read(&format!("\"{text}\"")), read(table));
        }
    }

    #[test]
    fn what_is_no_loss_is_told_what_would_be_one() {
        let error = read("{ share = \"5%\", length = 4 }").unwrap_err();
        assert!(error.contains("share, burst") && error.contains("length"), "{error}");
        assert!(read("{ share = \"5%\", burst = \"long\" }").unwrap_err().contains("bursts 5% 4"));
        assert!(read("[1]").is_err());
    }

    #[test]
    fn the_numbers_of_a_model_are_varied_one_by_one() {
        let text = "title = \"t\"\n[run]\nduration = \"9s\"\nseeds = 1\n[network]\nkind = \"pair\"\n\
                    loss = { share = \"5%\", burst = 4 }\n[sweep]\n\"network.loss.burst\" = [1, 8]\n\
                    [[flow]]\nname = \"a\"\ntransport = \"sctp\"\npolicy = \"thin\"\n\
                    workload = { arrivals = \"1s\", size = 99 }\n[measure]\ncost = {}\n\
                    [[figure]]\nkind = \"lines\"\ntitle = \"t\"\nmeasure = \"cost.bytes\"\nx = \"network.loss.burst\"\n";
        let plan = Plan::parse(text, Size::Normal, None).unwrap();
        let losses: Vec<_> = plan
            .cells
            .iter()
            .map(|(cell, one)| {
                let Subject::Flows(flows) = &one.subject else { panic!() };
                (cell.to_string(), flows.network.link.loss.clone().unwrap().0)
            })
            .collect();
        let expected = ["1", "8"].map(|burst| {
            let text = format!("bursts 5% {burst}");
            (format!("network.loss.burst = {burst}"), text.parse().unwrap())
        });
        assert_eq!(losses, expected);
    }
}
