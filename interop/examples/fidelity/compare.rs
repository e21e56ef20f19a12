//! Two sides beside each other, with a verdict for each number.

use core::fmt;

use serde_json::{Value, json};

use crate::sample::{Estimate, NUMBERS, Sample};

/// Real or simulated numbers of a case.
pub(crate) struct Side {
    name: String,
    messages: u64,
    estimates: [Estimate; NUMBERS.len()],
}

impl Side {
    pub(crate) fn new(name: impl Into<String>, sample: Sample) -> Side {
        Side { name: name.into(), messages: sample.count(), estimates: sample.estimates() }
    }

    fn to_json(&self) -> Value {
        let numbers = NUMBERS.iter().zip(&self.estimates).map(|(name, one)| {
            ((*name).to_owned(), json!({ "value": one.value, "low": one.low, "high": one.high }))
        });
        let numbers: serde_json::Map<_, _> = numbers.collect();
        json!({ "name": self.name, "messages": self.messages, "latency_ms_and_percent": numbers })
    }
}

/// The real side and the virtual one.
pub(crate) struct Comparison {
    pub(crate) title: String,
    /// Largest difference that is none, as a share of the real number.
    pub(crate) tolerance: f64,
    pub(crate) real: Side,
    pub(crate) simulated: Side,
}

/// Relation of a simulated number to the real one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Within,
    Overlapping,
    Differs,
}

impl Comparison {
    fn verdicts(&self) -> [(f64, Verdict); NUMBERS.len()] {
        core::array::from_fn(|number| {
            let (real, simulated) = (self.real.estimates[number], self.simulated.estimates[number]);
            // Where neither side has any they agree.
            let same = simulated.value == real.value;
            let difference = if same { 0.0 } else { simulated.value / real.value - 1.0 };
            let overlap = real.low <= simulated.high && simulated.low <= real.high;
            let verdict = if difference.abs() <= self.tolerance {
                Verdict::Within
            } else if overlap {
                Verdict::Overlapping
            } else {
                Verdict::Differs
            };
            (difference, verdict)
        })
    }

    /// Whether any number of the case differs.
    pub(crate) fn differs(&self) -> bool {
        self.verdicts().iter().any(|(_, verdict)| *verdict == Verdict::Differs)
    }

    fn word(&self, verdict: Verdict) -> String {
        match verdict {
            Verdict::Within => format!("within {:.0} %", self.tolerance * 100.0),
            Verdict::Overlapping => "intervals overlap".to_owned(),
            Verdict::Differs => "differs".to_owned(),
        }
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (real, simulated) = (&self.real, &self.simulated);
        writeln!(
            f,
            "{}: {} messages over {}, {} over {}\n",
            self.title, real.messages, real.name, simulated.messages, simulated.name
        )?;
        writeln!(
            f,
            "| latency (ms) | {} | {} | difference | verdict |",
            real.name, simulated.name
        )?;
        writeln!(f, "|---|--:|--:|--:|---|")?;
        for (number, (difference, verdict)) in self.verdicts().into_iter().enumerate() {
            let cell = |side: &Side| {
                let Estimate { value, low, high } = side.estimates[number];
                let digits = if NUMBERS[number].contains('%') { 2 } else { 1 };
                format!("{value:.digits$} ({low:.digits$} to {high:.digits$})")
            };
            let (name, word) = (NUMBERS[number], self.word(verdict));
            let (real, simulated) = (cell(real), cell(simulated));
            writeln!(
                f,
                "| {name} | {real} | {simulated} | {:+.1} % | {word} |",
                difference * 100.0
            )?;
        }
        Ok(())
    }
}

/// All comparisons as one object.
pub(crate) fn to_json(comparisons: &[Comparison]) -> String {
    let all = comparisons.iter().map(|one| {
        let verdicts =
            one.verdicts().into_iter().zip(NUMBERS).map(|((difference, verdict), name)| {
                let verdict = json!({ "difference": difference, "verdict": one.word(verdict) });
                (name.to_owned(), verdict)
            });
        json!({
            "title": one.title,
            "real": one.real.to_json(),
            "virtual": one.simulated.to_json(),
            "verdicts": verdicts.collect::<serde_json::Map<_, _>>(),
        })
    });
    Value::Array(all.collect()).to_string()
}
