//! Policies of callers: one that reimplements linear timeouts gives the very numbers of the policy
//! that has them; one that answers nonsense at every event stops nothing; failures name their
//! place.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use base::{Duration, Instant, Purpose, RandomStream};
use lab::advisor::{AdvisedFlow, Advisor, AdvisorError, AdvisorFactory, Advisors, Answer};
use lab::engine::{EngineError, Finished};
use lab::plan::{Plan, PlanError, Size};
use recovery::{Advice, AdviceError, Event, PathId, PathView};
use runner::threads::run_all;

/// Makes advisors by a function.
struct Factory<F> {
    make: F,
    version: Option<&'static str>,
}

impl<F> core::fmt::Debug for Factory<F> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Factory")
    }
}

impl<F> AdvisorFactory for Factory<F>
where
    F: Fn(&AdvisedFlow) -> Box<dyn Advisor> + Send + Sync,
{
    fn version(&self) -> Option<String> {
        self.version.map(str::to_owned)
    }

    fn make(&self, flow: &AdvisedFlow) -> Result<Box<dyn Advisor>, AdvisorError> {
        Ok((self.make)(flow))
    }
}

fn advisors(
    make: impl Fn(&AdvisedFlow) -> Box<dyn Advisor> + Send + Sync + 'static,
    version: Option<&'static str>,
) -> Advisors {
    let mut advisors = Advisors::default();
    advisors.insert("mine", Arc::new(Factory { make, version }));
    advisors
}

/// Thin and not so thin streams over paths that lose packets.
fn text(transport: &str, policy: &str, advice: &str) -> String {
    format!(
        r#"
title = "Streams with losses"
[run]
duration = "60s"
seeds = 4
[network]
kind = "pair"
rtt = "100ms"
jitter = "10ms"
[[flow]]
name = "one"
count = 2
transport = "{transport}"
policy = {policy}
advice = {advice}
workload = {{ arrivals = "~150ms", size = "pareto 100B 300B 2kB" }}
[sweep]
"network.loss" = ["2%", "15%", "bursts 10% 4"]
[measure]
latency = {{ of = "one", quantiles = [0.5, 0.99], distribution = true }}
retransmissions = {{ of = "one" }}
cost = {{ of = "one" }}
rto = {{ of = "one" }}
"#
    )
}

fn plan(transport: &str, policy: &str, advice: &str) -> Plan {
    Plan::parse(&text(transport, policy, advice), Size::Normal, None).unwrap()
}

fn run(plan: Plan, advisors: &Advisors) -> Finished {
    run_all(&plan.with_advisors(advisors).unwrap(), 2).unwrap()
}

/// Linear timeouts of thin streams (Petlund et al. 2009): an expiry does not double the timeout.
#[derive(Debug)]
struct Linear;

impl Advisor for Linear {
    fn hears(&self, event: &Event) -> bool {
        matches!(event, Event::Timeout { thin: true, .. })
    }

    fn on_event(
        &mut self,
        _: Instant,
        event: &Event,
        _: &PathView,
        answers: &mut Vec<Answer>,
    ) -> Result<(), AdvisorError> {
        if let Event::Timeout { path, doublings, .. } = *event {
            let doublings = doublings.saturating_sub(1);
            answers.push(Answer::Do(Advice::Doublings { path, doublings }));
        }
        Ok(())
    }
}

#[test]
fn linear_timeouts_of_an_advisor_are_those_of_the_policy_to_the_last_digit() {
    let linear = advisors(|_| Box::new(Linear), None);
    for transport in ["sctp", "tcp"] {
        let with =
            |more: &str| format!("{{ preset = 'rfc', thin-detector = 'fewer-than-four'{more} }}");
        let plain = run(plan(transport, &with(""), "'none'"), &Advisors::default());
        let policy = plan(transport, &with(", backoff = 'linear'"), "'none'");
        let policy = run(policy, &Advisors::default());
        let advised = run(plan(transport, &with(""), "'mine'"), &linear);
        assert_eq!(policy.len(), 12);
        assert!(policy == advised, "{transport}: an advisor's linear timeouts differ");
        // At 2 % of losses hardly a timer expires twice in a row.
        for loss in 1..3 {
            let differs = |(job, results): (&lab::engine::Job, _)| {
                job.cell == loss && plain.get(job) != Some(results)
            };
            assert!(advised.iter().any(differs), "{transport}: no effect in cell {loss}");
        }
    }
}

/// Advisor that counts events and advises nothing.
#[derive(Debug)]
struct Silent(Arc<AtomicU64>);

impl Advisor for Silent {
    fn on_event(
        &mut self,
        _: Instant,
        _: &Event,
        _: &PathView,
        _: &mut Vec<Answer>,
    ) -> Result<(), AdvisorError> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

#[test]
fn an_advisor_that_only_listens_changes_nothing() {
    for (transport, policy) in [("sctp", "'latency'"), ("tcp", "'latency'")] {
        let heard = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&heard);
        let silent = advisors(move |_| Box::new(Silent(Arc::clone(&counter))), None);
        let alone = run(plan(transport, policy, "'none'"), &Advisors::default());
        assert!(alone == run(plan(transport, policy, "'mine'"), &silent), "{transport}");
        assert!(heard.load(Ordering::Relaxed) > 10_000);
    }
}

/// Answers at random, at every event, mostly nonsense.
#[derive(Debug)]
struct Garbage {
    random: RandomStream,
    counts: Arc<[AtomicU64; 2]>,
}

impl Garbage {
    fn advice(&mut self, view: &PathView) -> Advice {
        let random = &mut self.random;
        let path = if random.below(16) == 0 { PathId::at(3) } else { PathId::FIRST };
        let some = random.below(view.units.len().max(1) as u64) as usize;
        let known = view.units.get(some).map_or(0, |unit| unit.unit);
        let unit = if random.below(4) == 0 { random.below(u64::MAX) } else { known };
        match random.below(5) {
            0 => Advice::Doublings { path, doublings: random.below(256) as u8 },
            1 => {
                let after = match random.below(3) {
                    0 => Duration::from_nanos(random.below(u64::MAX)),
                    1 => Duration::from_millis(random.below(300)),
                    _ => Duration::ZERO,
                };
                Advice::Timer { path, after }
            }
            2 => Advice::Lose { unit },
            3 => Advice::Copy { unit },
            _ => {
                let bytes = match random.below(3) {
                    0 => random.below(u64::MAX),
                    1 => random.below(50_000),
                    _ => 1_500,
                };
                Advice::Window { path, bytes }
            }
        }
    }
}

impl Advisor for Garbage {
    fn on_event(
        &mut self,
        _: Instant,
        _: &Event,
        view: &PathView,
        answers: &mut Vec<Answer>,
    ) -> Result<(), AdvisorError> {
        for _ in 0..=self.random.below(3) {
            answers.push(Answer::Do(self.advice(view)));
        }
        if self.random.below(8) == 0 {
            answers.push(Answer::Wake(Duration::from_nanos(self.random.below(20_000_000))));
        }
        self.counts[0].fetch_add(answers.len() as u64, Ordering::Relaxed);
        Ok(())
    }

    fn on_wake(
        &mut self,
        _: Instant,
        view: &PathView,
        answers: &mut Vec<Answer>,
    ) -> Result<(), AdvisorError> {
        answers.push(Answer::Do(self.advice(view)));
        Ok(())
    }

    fn on_refused(&mut self, _: Instant, _: Advice, _: AdviceError) -> Result<(), AdvisorError> {
        self.counts[1].fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

#[test]
fn nonsense_at_every_event_ends_no_flow_and_loses_no_message() {
    // Timers of a millisecond count as errors of the path: only a schedule bears them.
    let policies =
        ["{ preset = 'rfc', error-counting = 'exponential' }", "'latency'", "'latency-max'"];
    for transport in ["sctp", "tcp"] {
        for policy in policies {
            let counts = Arc::new([const { AtomicU64::new(0) }; 2]);
            let counter = Arc::clone(&counts);
            let garbage = advisors(
                move |flow| {
                    let number = flow.number as u64;
                    let random = RandomStream::new(flow.seed, Purpose("garbage", number));
                    Box::new(Garbage { random, counts: Arc::clone(&counter) })
                },
                None,
            );
            let patient = |advice| {
                let text =
                    text(transport, policy, advice).replace("duration", "grace = '2h'\nduration");
                let paths = "paths = { max_retrans = 250, association_max_retrans = 250 }\nadvice";
                let text = match transport {
                    "sctp" => text.replace("advice", paths),
                    _ => text,
                };
                Plan::parse(&text, Size::Normal, None).unwrap()
            };
            let alone = run(patient("'none'"), &Advisors::default());
            let finished = run(patient("'mine'"), &garbage);
            let count = |finished: &Finished| -> Vec<f64> {
                let rows = finished.values().flat_map(|results| &results.rows);
                rows.filter(|row| row.measure == "latency.count" && row.labels.is_empty())
                    .map(|row| row.value)
                    .collect()
            };
            let (here, there) = (count(&finished), count(&alone));
            assert!(!here.is_empty() && here == there, "{transport} {policy}: {here:?} {there:?}");
            let failed = |results: &results::Results| {
                results.rows.iter().any(|row| row.measure == "flows.failed")
            };
            assert!(!finished.values().any(failed), "{transport} {policy}");
            let [asked, refused] = counts.each_ref().map(|count| count.load(Ordering::Relaxed));
            let done = asked - refused;
            assert!(refused > 10_000 && done > 10_000, "{transport} {policy}: {asked} {refused}");
        }
    }
}

/// Fails at its third event, or gives an advice that makes no sense.
#[derive(Debug)]
struct Failing {
    left: u32,
    fails: bool,
}

impl Advisor for Failing {
    fn on_event(
        &mut self,
        _: Instant,
        _: &Event,
        _: &PathView,
        answers: &mut Vec<Answer>,
    ) -> Result<(), AdvisorError> {
        self.left = self.left.saturating_sub(1);
        match (self.left, self.fails) {
            (0, true) => Err("no idea".into()),
            (0, false) => {
                answers.push(Answer::Do(Advice::Lose { unit: 7 }));
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

#[test]
fn a_failure_ends_the_run_and_names_flow_seed_and_time() {
    for (fails, what) in [(true, "no idea"), (false, "unit 7 is not in flight")] {
        let failing = advisors(move |_| Box::new(Failing { left: 3, fails }), None);
        let one = plan("sctp", "'rfc'", "'mine'").with_advisors(&failing).unwrap();
        let Err(error @ EngineError::Advice { .. }) = run_all(&one, 1) else {
            panic!("it went on")
        };
        let said = error.to_string();
        for part in ["network.loss = 2%, seed 1: advice of flow \"one\", number ", " at ", what] {
            assert!(said.contains(part), "{said}");
        }
    }
}

#[test]
fn a_plan_that_names_an_unknown_advisor_runs_nowhere() {
    let said = |result: Result<Plan, PlanError>| result.map(drop).unwrap_err().to_string();
    let named = || plan("sctp", "'rfc'", "'yours'");
    let nobody = run_all(&named(), 1).map(drop).unwrap_err().to_string();
    assert_eq!(
        nobody,
        "with network.loss = 2%: flow \"one\": advice = \"yours\" names no advisor; a plan with advice runs from Python, lab.run(plan, advisors={\"yours\": ...})"
    );
    let others = said(named().with_advisors(&advisors(|_| Box::new(Linear), None)));
    assert!(others.ends_with("advice = \"yours\" names no advisor; there are mine"), "{others}");
    for (wrong, what) in
        [("3", "3 is no advice"), ("''", "empty name"), ("{}", "\"name\" is missing")]
    {
        let refused = said(Plan::parse(&text("sctp", "'rfc'", wrong), Size::Normal, None));
        assert!(refused.contains(what), "{refused}");
    }
    let each = text("tcp", "'rfc'", "'mine'").replace("size =", "connections = 0, size =");
    let refused = said(Plan::parse(&each, Size::Normal, None));
    assert!(refused.contains("advice is for one association or connection"), "{refused}");
}

#[test]
fn results_are_kept_only_of_a_version_that_plan_and_advisor_agree_about() {
    let unnamed = plan("sctp", "'rfc'", "'mine'");
    let refused = unnamed.check_versions().unwrap_err().to_string();
    assert!(refused.contains("give advice = { name = \"mine\", version = \"1\" }"), "{refused}");
    let named = || plan("sctp", "'rfc'", "{ name = 'mine', version = '2' }");
    named().check_versions().unwrap();
    assert!(named().with_advisors(&advisors(|_| Box::new(Linear), Some("2"))).is_ok());
    for version in [None, Some("1")] {
        let with = named().with_advisors(&advisors(|_| Box::new(Linear), version));
        let refused = with.map(drop).unwrap_err().to_string();
        assert!(refused.contains("is of version \"2\" in the plan"), "{refused}");
    }
    plan("sctp", "'rfc'", "'none'").check_versions().unwrap();
}
