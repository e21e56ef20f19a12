//! The matrix as a table.

use std::fmt::Write;

use super::{Column, EXERCISES, Outcome, Run};
use crate::agent::Part;

/// Outcomes of all runs, and columns that are missing.
pub struct Table {
    outcomes: Vec<(Run, Outcome)>,
    /// Columns that are not available here, and why.
    missing: Vec<(Column, String)>,
    dissected: bool,
}

impl Table {
    pub(super) fn new(
        mut outcomes: Vec<(Run, Outcome)>,
        missing: Vec<(Column, String)>,
        dissected: bool,
    ) -> Table {
        let row = |run: &Run| EXERCISES.iter().position(|e| e.name == run.exercise.name);
        outcomes.sort_by_key(|(run, _)| (row(run), run.column, run.policy, run.part as u8));
        Table { outcomes, missing, dissected }
    }

    /// Runs that failed, and why.
    pub fn failures(&self) -> impl Iterator<Item = (&Run, &str)> {
        self.outcomes.iter().filter_map(|(run, outcome)| match outcome {
            Outcome::Failed(why) => Some((run, why.as_str())),
            _ => None,
        })
    }

    /// Runs that passed, and that failed.
    pub fn counts(&self) -> (usize, usize) {
        let passed = self.outcomes.iter().filter(|(_, o)| matches!(o, Outcome::Passed(_)));
        (passed.count(), self.failures().count())
    }

    /// Text of the page `docs/interop.md`, in Markdown.
    pub fn markdown(&self) -> String {
        let mut page = String::from(INTRODUCTION);
        let columns: Vec<Column> = Column::ALL.into_iter().filter(|c| self.has(*c)).collect();
        let heads: Vec<&str> = columns.iter().map(|column| column.name()).collect();
        // Writing to a string cannot fail.
        let _ = writeln!(page, "| exercise | {} |", heads.join(" | "));
        let _ = writeln!(page, "|---|{}", "---|".repeat(columns.len()));
        for exercise in EXERCISES
            .iter()
            .filter(|e| self.outcomes.iter().any(|(r, _)| r.exercise.name == e.name))
        {
            let cells: Vec<String> =
                columns.iter().map(|column| self.cell(exercise.name, *column)).collect();
            let _ = writeln!(page, "| {} | {} |", exercise.name, cells.join(" | "));
        }
        let (passed, failed) = self.counts();
        let _ = writeln!(page, "\n{passed} runs passed, {failed} failed.");
        self.write_notes(&mut page);
        page
    }

    fn has(&self, column: Column) -> bool {
        self.outcomes.iter().any(|(run, _)| run.column == column)
    }

    /// `ok 2`, `FAIL 1 of 2`, `no`, or nothing where the peer is not there.
    fn cell(&self, exercise: &str, column: Column) -> String {
        let of_cell = self.outcomes.iter();
        let of_cell: Vec<&Outcome> = of_cell
            .filter(|(run, _)| run.exercise.name == exercise && run.column == column)
            .map(|(_, outcome)| outcome)
            .collect();
        let count = |is: fn(&Outcome) -> bool| of_cell.iter().filter(|o| is(o)).count();
        let passed = count(|outcome| matches!(outcome, Outcome::Passed(_)));
        let failed = count(|outcome| matches!(outcome, Outcome::Failed(_)));
        let lacking = count(|outcome| matches!(outcome, Outcome::Lacking(_)));
        match (passed, failed, lacking) {
            (0, 0, 0) => "-".to_owned(),
            (0, 0, _) => "no".to_owned(),
            (_, 0, 0) => format!("ok {passed}"),
            (_, 0, _) => format!("ok {passed}, no {lacking}"),
            _ => format!("FAIL {failed} of {}", passed + failed),
        }
    }

    /// Missing features of peers: for each exercise and reason, the peers and the part.
    fn write_lacking(&self, page: &mut String) {
        let mut lacking: Vec<(&str, &str, Vec<String>)> = vec![];
        for (run, outcome) in &self.outcomes {
            let Outcome::Lacking(why) = outcome else { continue };
            let both = self.outcomes.iter().all(|(other, outcome)| {
                (other.exercise.name, other.column) != (run.exercise.name, run.column)
                    || matches!(outcome, Outcome::Lacking(reason) if reason == why)
            });
            let who = match (both, run.part) {
                (true, _) => run.column.name().to_owned(),
                (false, Part::Client) => format!("{} as server", run.column.name()),
                (false, Part::Server) => format!("{} as client", run.column.name()),
            };
            let name = run.exercise.name;
            match lacking.iter_mut().find(|(row, reason, _)| (*row, *reason) == (name, why)) {
                Some((.., all)) if all.contains(&who) => {}
                Some((.., all)) => all.push(who),
                None => lacking.push((name, why, vec![who])),
            }
        }
        if !lacking.is_empty() {
            let _ = writeln!(page, "\n## What a peer lacks\n");
        }
        for (exercise, why, who) in lacking {
            let _ = writeln!(page, "- **{exercise}** with {}: {why}.", who.join("; "));
        }
    }

    fn write_notes(&self, page: &mut String) {
        if !self.dissected {
            let _ = writeln!(page, "\ntshark is not installed: nothing was dissected.");
        }
        for (column, why) in self.missing.iter().filter(|(column, _)| self.has(*column)) {
            let why = why.lines().next().unwrap_or_default();
            let _ = writeln!(page, "\n{}: not there: {why}.", column.name());
        }
        self.write_lacking(page);
        if self.failures().next().is_some() {
            let _ = writeln!(page, "\n## Failures\n");
            for (run, why) in self.failures() {
                let _ = writeln!(page, "- {}: {}", run.title(), why.replace('\n', " "));
            }
        }
        let _ = writeln!(page, "\n## Exercises\n");
        for exercise in EXERCISES {
            let _ = writeln!(page, "- **{}**: {}", exercise.name, exercise.about);
        }
    }
}

const INTRODUCTION: &str = "\
# Interop

This page lists the exercises of thinstream with other SCTP stacks and their results; [tcp.md](tcp.md#tested-stacks-and-applications) lists the
tested peers of its TCP. `make interop` writes this page (as root, on Linux; four minutes on two processors). Every number counts
completed runs, and the command fails if one of them failed. Quick rows are also part of `make test`.

Our side is the endpoint of the crate `sctp` with the policy `latency`, and with losses also with `rfc`; it is the client
in one half of the runs and the server in the other. The other side is a program on the peer's own interface. Both check every
message byte by byte, its stream and its order, and how the association ended. If tshark is installed, it checks that every
packet is well-formed with a correct checksum, and that the chunks in question appear on the wire.

- **usrsctp** 0.9.5 (Debian's), FreeBSD's SCTP in userspace: over UDP on loopback, and over IP between two namespaces.
- **Linux**: the kernel's SCTP of Debian's User-Mode Linux (6.1), over UDP and over IP.
- **pion**: `github.com/pion/sctp` 1.8.39 over UDP.
- **dcsctp** 0.1.16 and **sctp-proto** 0.10.8: crates without sockets, in virtual time over a path with an RTT of 20 ms.

`ok 2`: both runs passed, one in each role (four with losses: two policies). `no`: the peer lacks the feature,
as explained below the table; `ok 1, no 1`: it lacks the feature in one of the two roles. `FAIL`: at least one run failed. `-`: the
peer is not installed.

";
