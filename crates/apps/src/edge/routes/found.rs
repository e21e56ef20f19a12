//! How settings stood before any edge changed them.
//!
//! An edge that changes one notes in its table how it was, before it does; the next that needs it reads that there
//! instead of taking the other's work for what was.

use std::collections::BTreeMap;
use std::fmt;

use super::system::System;

/// Of a setting that an edge changed, what it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Note {
    /// As sysctl names it.
    pub(super) name: String,
    /// What it was.
    pub(super) was: String,
    /// The setting that stands above it.
    pub(super) above: String,
    /// What that is as long as nobody but edges has changed it. Who did changed the one below, too.
    pub(super) then: String,
}

/// As in the comment of a rule, for which nft allows 128 letters.
impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Note { name, was, above, then } = self;
        write!(f, "{name}={was} while {above}={then}")
    }
}

impl Note {
    /// The note in a line of a table, if there is one.
    fn parse(line: &str) -> Option<Note> {
        let (_, comment) = line.split_once("comment \"")?;
        let (setting, switch) = comment.split_once('"')?.0.split_once(" while ")?;
        let ((name, was), (above, then)) = (setting.split_once('=')?, switch.split_once('=')?);
        let own = str::to_owned;
        Some(Note { name: own(name), was: own(was), above: own(above), then: own(then) })
    }
}

/// How settings stand, and what edges have noted.
pub(super) struct Found {
    now: BTreeMap<String, String>,
    notes: Vec<Note>,
}

impl Found {
    /// Asks for the settings of these names.
    pub(super) fn ask(system: &impl System, names: impl Iterator<Item = String>) -> Found {
        // In this order: what another edge has changed already, it has noted already.
        let now = names.filter_map(|name| Some((system.read(&name)?, name)));
        let now = now.map(|(value, name)| (name, value)).collect();
        // Who cannot read them cannot apply rules either.
        let tables = system.tables().unwrap_or_default();
        Found { now, notes: tables.lines().filter_map(Note::parse).collect() }
    }

    /// What a setting is; none if there is no such.
    pub(super) fn now(&self, name: &str) -> Option<&str> {
        self.now.get(name).map(String::as_str)
    }

    /// What it was before any edge changed it.
    pub(super) fn before(&self, name: &str) -> Option<&str> {
        let holds = |note: &&Note| note.name == name && self.now(&note.above) == Some(&note.then);
        match self.notes.iter().find(holds) {
            Some(note) => Some(&note.was),
            None => self.now(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_short_enough_for_a_comment_and_read_as_it_was_written() {
        let note = Note {
            name: "net.ipv6.conf.fifteen-letters.force_forwarding".into(),
            was: "0".into(),
            above: "net.ipv6.conf.all.forwarding".into(),
            then: "0".into(),
        };
        assert!(note.to_string().len() <= 128, "{note}");
        assert_eq!(Note::parse(&format!("\t\treturn comment \"{note}\"")), Some(note));
        for other in
            ["", "counter packets 0 bytes 0", "return comment \"=\"", "return comment \"a=b"]
        {
            assert_eq!(Note::parse(other), None, "{other}");
        }
    }
}
