//! Mutants of scripts: slightly wrong scripts, which the runner must fail.
//!
//! A mutant is a script with one change: in a field, number, flag, option or chunk of an expected
//! packet, in its time or place, a packet missing or repeated, a result or output of a call, or in
//! a packet that the script sends.

mod arrivals;
mod calls;
mod packets;

use base::Duration;

use crate::script::{Action, Content, Event, Packet, Script, When};

/// A script with one change.
#[derive(Clone, Debug)]
pub struct Mutant {
    /// Line and change, as in lists of mutants.
    pub name: String,
    /// The script with one change.
    pub script: Script,
}

/// Change of a mutant in which a packet is not sent.
const NOT_SENT: &str = "not sent";

impl Mutant {
    /// Names of the mutants that justify this one if they pass: if the absence of something makes
    /// no difference, neither does a change of it; and if something is rejected as a whole, its
    /// parts need not matter.
    pub(crate) fn stand_ins(&self) -> Vec<String> {
        let Some((line, what)) = self.name.split_once(": ") else { return Vec::new() };
        let stand_ins = [NOT_SENT, arrivals::UNACCEPTABLE].into_iter();
        let stand_ins = stand_ins.filter(|name| what.starts_with("sent ") && what != *name);
        stand_ins.map(|name| format!("{line}: {name}")).collect()
    }
}

/// Change of an event's time in a mutant.
const OFF: Duration = Duration::from_millis(30);

/// All mutants of a script, in the order of its lines, with unique names.
pub fn mutants(script: &Script) -> Vec<Mutant> {
    let mut all = Vec::new();
    for index in 0..script.events.len() {
        let before = all.len();
        match &script.events[index].action {
            Action::Expect(_) => expected(script, index, &mut all),
            Action::Inject(_) => injected(script, index, &mut all),
            Action::Call(call) => {
                for (call, what) in calls::changed(call) {
                    all.push(with(script, index, what, |event| event.action = Action::Call(call)));
                }
            }
            _ => {}
        }
        let mut names = std::collections::BTreeMap::new();
        for mutant in &mut all[before..] {
            let count =
                names.entry(mutant.name.clone()).and_modify(|count| *count += 1).or_insert(1);
            if *count > 1 {
                mutant.name = format!("{} ({count})", mutant.name);
            }
        }
    }
    all
}

/// Mutants that expect another packet, with unchanged times and number of packets.
#[cfg(test)]
pub(crate) fn field_mutants(script: &Script) -> Vec<Mutant> {
    let mut all = Vec::new();
    for (index, event) in script.events.iter().enumerate() {
        let Action::Expect(packet) = &event.action else { continue };
        for (packet, what) in packets::changed(packet) {
            all.push(with(script, index, what, |event| event.action = Action::Expect(packet)));
        }
    }
    all
}

/// Copies the script, and applies `change` to one of its events.
fn with(script: &Script, index: usize, what: String, change: impl FnOnce(&mut Event)) -> Mutant {
    let mut script = script.clone();
    let event = &mut script.events[index];
    change(event);
    Mutant { name: format!("line {}: {what}", event.line), script }
}

/// Changes of an expected packet.
fn expected(script: &Script, index: usize, all: &mut Vec<Mutant>) {
    let event = &script.events[index];
    let Action::Expect(packet) = &event.action else { return };
    for (packet, what) in packets::changed(packet) {
        let change = |event: &mut Event| event.action = Action::Expect(packet);
        all.push(with(script, index, what, change));
    }
    let silent = |event: &mut Event| event.action = Action::Shell(String::new());
    all.push(with(script, index, "not expected".to_owned(), silent));
    for (what, off) in [
        ("late", Late(OFF)),
        ("a millisecond late", Late(Duration::from_millis(1))),
        ("early", Early(OFF)),
    ] {
        if let Some(when) = off.shifted(event.when) {
            all.push(with(script, index, what.to_owned(), |event| event.when = when));
        }
    }
    let mut twice = script.clone();
    let at_once = When::At { relative: true, from: Duration::ZERO, to: None, until: None };
    twice.events.insert(index + 1, Event { when: at_once, ..event.clone() });
    all.push(Mutant { name: format!("line {}: expected twice", event.line), script: twice });
    let mut gone = script.clone();
    gone.events.remove(index);
    all.push(Mutant { name: format!("line {}: left out", event.line), script: gone });
    if let Some(Action::Expect(next)) = script.events.get(index + 1).map(|event| &event.action)
        && next != packet
    {
        let mut swapped = script.clone();
        swapped.events[index].action = Action::Expect(next.clone());
        swapped.events[index + 1].action = Action::Expect(packet.clone());
        all.push(Mutant { name: format!("line {}: behind the next", event.line), script: swapped });
    }
}

/// Changes of a packet that the script sends: not sent, sent twice, later, after the next one, or
/// with other contents.
fn injected(script: &Script, index: usize, all: &mut Vec<Mutant>) {
    let event = &script.events[index];
    let Action::Inject(packet) = &event.action else { return };
    if !is_one_of_several(script, index) {
        let silent = |event: &mut Event| event.action = Action::Shell(String::new());
        all.push(with(script, index, NOT_SENT.to_owned(), silent));
    }
    if matches!(packet.content, Content::Icmp(_)) {
        return;
    }
    for (packet, what) in arrivals::changed(script, index) {
        let change = |event: &mut Event| event.action = Action::Inject(packet);
        all.push(with(script, index, what, change));
    }
    if arrivals::must_be_acknowledged(packet) {
        let mut twice = script.clone();
        let at_once = When::At { relative: true, from: Duration::ZERO, to: None, until: None };
        twice.events.insert(index + 1, Event { when: at_once, ..event.clone() });
        all.push(Mutant { name: format!("line {}: sent twice", event.line), script: twice });
    }
    let Some(next) = script.events.get(index + 1) else { return };
    // A timer of the stack starts when the packet arrives.
    if let Action::Expect(_) = &next.action
        && let Some(late) = Late(OFF).shifted(event.when)
        && let Some(sooner) = shortened(next.when, OFF)
    {
        let mut delayed = script.clone();
        delayed.events[index].when = late;
        delayed.events[index + 1].when = sooner;
        all.push(Mutant { name: format!("line {}: sent late", event.line), script: delayed });
    }
    if let Action::Inject(other) = &next.action
        && other != packet
        && arrivals::must_be_acknowledged(other) == arrivals::must_be_acknowledged(packet)
    {
        let mut swapped = script.clone();
        swapped.events[index].action = next.action.clone();
        swapped.events[index + 1].action = event.action.clone();
        all.push(Mutant {
            name: format!("line {}: sent behind the next", event.line),
            script: swapped,
        });
    }
}

/// Whether a packet is one of several ICMP messages with the same meaning.
fn is_one_of_several(script: &Script, index: usize) -> bool {
    let is_icmp = |index: usize| {
        matches!(
            script.events.get(index).map(|event| &event.action),
            Some(Action::Inject(Packet { content: Content::Icmp(_), .. }))
        )
    };
    is_icmp(index) && (is_icmp(index + 1) || index > 0 && is_icmp(index - 1))
}

/// Time of an event whose predecessor is later by `off`, if it is still after it.
fn shortened(when: When, off: Duration) -> Option<When> {
    match when {
        When::At { relative: true, from, to: None, until: None } if from >= off => {
            Some(When::At { relative: true, from: from.saturating_sub(off), to: None, until: None })
        }
        When::At { relative: false, .. } => Some(when),
        _ => None,
    }
}

/// Change of an event's time.
enum Shift {
    Late(Duration),
    Early(Duration),
}

use Shift::{Early, Late};

impl Shift {
    /// The changed time, if there is one and it is not before the previous event.
    fn shifted(self, when: When) -> Option<When> {
        let When::At { relative, from, to: None, until } = when else { return None };
        let from = match self {
            Late(off) => from + off,
            Early(off) if from >= off => from.saturating_sub(off),
            Early(_) => return None,
        };
        Some(When::At { relative, from, to: None, until })
    }
}
