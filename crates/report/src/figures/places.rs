//! Positions of a key's values on an axis: as numbers with a unit, or as names side by side.

use super::spot::last_word;
use super::{rounded, units};
use crate::document::{Axis, Scale};
use lab::plan::{AxisSection, Place, ScaleName};

/// An axis and the places of its values.
#[derive(Clone, Debug)]
pub(super) struct Places {
    pub(super) axis: Axis,
    /// Value and place, in the order in which the values came, or in that of the numbers.
    places: Vec<(String, f64)>,
}

impl Places {
    /// The places of these values, each once, of a key. Numbers become names where `named`.
    pub(super) fn new(texts: &[String], key: &str, wished: &AxisSection, named: bool) -> Places {
        let numbers = numbers(texts);
        let mut axis = axis(wished, &last_word(key), "");
        if let Some((values, unit)) = numbers.as_ref().filter(|_| !named) {
            let most = values.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
            let shown = wished.unit.as_deref().unwrap_or_else(|| units::fitting(unit, most));
            let (factor, shown) = match units::factor(unit, shown) {
                Some(factor) => (factor, shown),
                None => (1.0, unit.as_str()),
            };
            axis.unit = some(shown);
            let places = values.iter().map(|value| rounded(value * factor));
            return Places { axis, places: texts.iter().cloned().zip(places).collect() };
        }
        let mut order: Vec<usize> = (0..texts.len()).collect();
        if let Some((values, _)) = &numbers {
            order.sort_by(|one, other| values[*one].total_cmp(&values[*other]));
        } else if let Some(counts) =
            texts.iter().map(|text| count(text)).collect::<Option<Vec<_>>>()
        {
            order.sort_by_key(|place| counts[*place]);
        }
        let names: Vec<String> = order.iter().map(|place| texts[*place].clone()).collect();
        let places = (0..).map(f64::from);
        let places = names.iter().cloned().zip(places).collect();
        // Names stand side by side, in no unit and on no scale.
        axis = Axis { categories: Some(names), unit: None, scale: None, ..axis };
        Places { axis, places }
    }

    /// Position of a value on the axis.
    pub(super) fn of(&self, text: &str) -> Option<f64> {
        self.places.iter().find(|(name, _)| name == text).map(|(_, place)| *place)
    }

    /// Position of the paper's point: a number on an axis of numbers, a name among names.
    pub(super) fn of_paper(&self, place: &Place) -> Option<f64> {
        match (place, &self.axis.categories) {
            (Place::Number(number), None) => Some(*number),
            (Place::Number(number), Some(_)) => self.of(&number.to_string()),
            (Place::Name(name), _) => self.of(name),
        }
    }

    /// Whether its values are numbers, and greater than none.
    pub(super) fn least(&self) -> f64 {
        self.places.iter().map(|(_, place)| *place).fold(f64::INFINITY, f64::min)
    }
}

/// A count such as `1`, or `1+`, which stands for it and those above and comes behind it.
fn count(text: &str) -> Option<(u64, bool)> {
    let number = text.strip_suffix('+').unwrap_or(text);
    Some((number.parse().ok()?, number != text))
}

/// The values as numbers of one unit.
pub(super) fn numbers(texts: &[String]) -> Option<(Vec<f64>, String)> {
    let all: Vec<(f64, String)> =
        texts.iter().map(|text| units::quantity(text)).collect::<Option<_>>()?;
    let unit = all.first()?.1.clone();
    all.iter()
        .all(|(_, one)| *one == unit)
        .then(|| (all.into_iter().map(|(value, _)| value).collect(), unit))
}

/// An axis as a plan wishes it; where it says nothing, with this name and unit.
pub(super) fn axis(wished: &AxisSection, label: &str, unit: &str) -> Axis {
    let label = wished.label.clone().unwrap_or_else(|| label.to_owned());
    Axis {
        label,
        unit: some(unit),
        scale: wished.scale.map(scale),
        categories: None,
        min: wished.min,
        max: wished.max,
    }
}

pub(super) fn some(unit: &str) -> Option<String> {
    (!unit.is_empty()).then(|| unit.to_owned())
}

fn scale(name: ScaleName) -> Scale {
    match name {
        ScaleName::Linear => Scale::Linear,
        ScaleName::Log => Scale::Log,
        ScaleName::Tail => Scale::Tail,
    }
}
