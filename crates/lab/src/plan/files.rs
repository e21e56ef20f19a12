//! `[files]`: contents of the files that a plan names, which make its text complete: for shards,
//! for the manifest, and for other people.

use std::collections::{BTreeMap, BTreeSet};

use netsim::link::{self, ProfileStep, RecordingText, parse_profile, parse_recording};
use serde::Deserialize;

use super::error::PlanError;
use crate::irtt;
use crate::workload::{ArrivalsText, Recording, ReplayText, recording_of_file};

/// Contents of files by their names in the plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Files(BTreeMap<String, String>);

impl Files {
    /// Steps of a profile: lines of `text` itself, or of the file that it names.
    pub(super) fn profile(&self, text: &str) -> Result<Vec<ProfileStep>, PlanError> {
        if !is_name(text) {
            let refused = |error| PlanError::new(format!("network.profile: {error}"));
            return parse_profile(text).map_err(refused);
        }
        let Some(lines) = self.0.get(text) else {
            return Err(PlanError::new(format!(
                "network.profile names a file \"{text}\", which is not among the plan's [files]"
            )));
        };
        parse_profile(lines).map_err(|error| PlanError::new(format!("{text}: {error}")))
    }

    /// Parses the plan's file that a link plays.
    pub(super) fn played(&self, name: &str) -> Result<link::Recording, PlanError> {
        let Some(lines) = self.0.get(name) else {
            return Err(PlanError::new(format!(
                "network.recording names a file \"{name}\", which is not among the plan's [files]"
            )));
        };
        parse_recording(lines).map_err(|error| PlanError::new(format!("{name}: {error}")))
    }

    /// The recording, in a file, that a flow replays.
    pub(super) fn recording(&self, name: &str) -> Result<Recording, PlanError> {
        let Some(table) = self.0.get(name) else {
            return Err(PlanError::new(format!(
                "it replays a file \"{name}\", which is not among the plan's [files]"
            )));
        };
        Recording::parse(table).map_err(|error| PlanError::new(format!("{name}: {error}")))
    }
}

/// Whether the text is a file's name: a name has no blanks, but each line of a profile has.
fn is_name(text: &str) -> bool {
    !text.is_empty() && !text.contains(char::is_whitespace)
}

/// Files that a plan names: profiles, recordings that links play, and recordings that flows replay,
/// with the streams used (or all).
#[derive(Debug, Default)]
struct Wanted {
    profiles: BTreeSet<String>,
    played: BTreeSet<String>,
    recordings: BTreeMap<String, Option<BTreeSet<String>>>,
}

/// The plan's text, followed by the contents of the files that it names as `[files]`; `read`
/// returns those of a name.
///
/// # Errors
/// The file that cannot be read or understood, and the place of the error.
pub fn with_files(
    mut text: String,
    read: impl Fn(&str) -> Result<Vec<u8>, String>,
) -> Result<String, PlanError> {
    // A text that cannot be read is refused later, with its place.
    let Ok(table) = toml::from_str::<toml::Table>(&text) else { return Ok(text) };
    let mut wanted = Wanted::of(&table);
    let known = table.get("files").and_then(|files| files.as_table());
    let is_missing = |name: &str| known.is_none_or(|files| !files.contains_key(name));
    wanted.profiles.retain(|name| is_missing(name));
    wanted.played.retain(|name| is_missing(name));
    wanted.recordings.retain(|name, _| is_missing(name));
    let mut appended = String::new();
    let wrong =
        |name: &str, error: &dyn core::fmt::Display| PlanError::new(format!("{name}: {error}"));
    let lines = |name: &str| {
        let bytes = read(name).map_err(|error| wrong(name, &error))?;
        String::from_utf8(bytes).map_err(|error| wrong(name, &error))
    };
    for name in &wanted.profiles {
        let lines = lines(name)?;
        parse_profile(&lines).map_err(|error| wrong(name, &error))?;
        appended += &entry(name, &lines);
    }
    for name in &wanted.played {
        let lines = lines(irtt::file_of(name))?;
        let lines = irtt::as_recording(name, lines).map_err(|error| wrong(name, &error))?;
        parse_recording(&lines).map_err(|error| wrong(name, &error))?;
        appended += &entry(name, &lines);
    }
    for (name, streams) in &wanted.recordings {
        let bytes = read(name).map_err(|error| wrong(name, &error))?;
        let recording = recording_of_file(&bytes, streams.as_ref());
        appended += &entry(name, &recording.map_err(|error| wrong(name, &error))?.to_csv());
    }
    if !appended.is_empty() {
        if known.is_some() {
            return Err(PlanError::new("a plan that brings [files] must bring all that it names"));
        }
        text = format!("{}\n\n[files]\n{appended}", text.trim_end());
    }
    Ok(text)
}

/// The line of TOML below `[files]` that brings the text `lines` of the file `name`.
pub fn entry(name: &str, lines: &str) -> String {
    let lines = lines.replace("\r\n", "\n");
    let plain =
        !lines.contains("'''") && !lines.contains(|c: char| c.is_control() && !"\n\t".contains(c));
    match plain {
        true => format!("{} = '''\n{}\n'''\n", quoted(name), lines.trim_end()),
        false => format!("{} = {}\n", quoted(name), quoted(&lines)),
    }
}

/// A basic string of TOML.
fn quoted(text: &str) -> String {
    let escaped = |c: char| match c {
        '"' | '\\' => format!("\\{c}"),
        c if c.is_control() => format!("\\u{:04x}", u32::from(c)),
        c => c.to_string(),
    };
    format!("\"{}\"", text.chars().map(escaped).collect::<String>())
}

impl Wanted {
    fn of(plan: &toml::Table) -> Wanted {
        let mut wanted = Wanted::default();
        plan.get("network").iter().for_each(|network| wanted.add_network(network));
        let flows = plan.get("flow").and_then(|flows| flows.as_array());
        flows.into_iter().flatten().for_each(|flow| wanted.add_flow(flow));
        for section in [None, Some("full"), Some("small")] {
            let section = match section {
                None => Some(plan),
                Some(name) => plan.get(name).and_then(|section| section.as_table()),
            };
            let sweep = section.and_then(|section| section.get("sweep")?.as_table());
            for (key, values) in sweep.into_iter().flatten() {
                let values = values.as_array().into_iter().flatten();
                let parts: Vec<&str> = key.split('.').collect();
                values.for_each(|value| match parts[..] {
                    ["network", .., "profile"] => wanted.add_profile(value),
                    ["network", .., "recording"] => wanted.add_played(value),
                    ["network"] => wanted.add_network(value),
                    ["flow", .., "arrivals"] => wanted.add_arrivals(value),
                    ["flow", _, "workload"] => wanted.add_workload(value),
                    ["flow", _] => wanted.add_flow(value),
                    _ => {}
                });
            }
        }
        wanted
    }

    fn add_network(&mut self, value: &toml::Value) {
        match value {
            toml::Value::Table(table) => {
                for (key, value) in table {
                    match key.as_str() {
                        "profile" => self.add_profile(value),
                        "recording" => self.add_played(value),
                        _ => self.add_network(value),
                    }
                }
            }
            toml::Value::Array(values) => values.iter().for_each(|value| self.add_network(value)),
            _ => {}
        }
    }

    fn add_profile(&mut self, value: &toml::Value) {
        if let Some(text) = value.as_str().filter(|text| is_name(text)) {
            self.profiles.insert(text.to_owned());
        }
    }

    fn add_played(&mut self, value: &toml::Value) {
        let text = value.as_str().and_then(|text| text.parse::<RecordingText>().ok());
        self.played.extend(text.into_iter().flat_map(|text| text.files));
    }

    fn add_flow(&mut self, flow: &toml::Value) {
        flow.get("workload").iter().for_each(|workload| self.add_workload(workload));
    }

    fn add_workload(&mut self, workload: &toml::Value) {
        workload.get("arrivals").iter().for_each(|arrivals| self.add_arrivals(arrivals));
    }

    fn add_arrivals(&mut self, arrivals: &toml::Value) {
        let text = arrivals.as_str().and_then(|text| text.parse().ok());
        let Some(ArrivalsText::Replay(ReplayText { file, stream })) = text else { return };
        let streams = self.recordings.entry(file).or_insert_with(|| Some(BTreeSet::new()));
        match (streams, stream) {
            (Some(streams), Some(stream)) => {
                streams.insert(stream);
            }
            (streams, None) => *streams = None,
            (None, Some(_)) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: &str = "title = \"t\"\n[network]\nkind = \"pair\"\nforward = { profile = \"walk.csv\" }\n\
                        [sweep]\n\"network.backward.profile\" = [\"walk.csv\", \"2s loss=3%\", \"other.csv\"]\n";

    #[test]
    fn a_plan_carries_the_files_that_it_names() {
        let read = |name: &str| Ok(format!("time,delay\r\n1s,{}ms\r\n", name.len()).into_bytes());
        let text = with_files(PLAN.to_owned(), read).unwrap();
        assert!(text.starts_with(PLAN.trim_end()));
        let table: toml::Table = toml::from_str(&text).unwrap();
        let files: Files = table["files"].clone().try_into().unwrap();
        assert_eq!(files.0.len(), 2);
        let delay = |name| files.profile(name).unwrap()[0].delay.unwrap().as_millis();
        assert_eq!((delay("walk.csv"), delay("other.csv")), (8, 9));
        // A complete plan is not changed.
        assert_eq!(with_files(text.clone(), |_| Err("gone".into())).unwrap(), text);
    }

    #[test]
    fn a_plan_carries_the_recordings_that_its_links_play() {
        let plan = "title = \"t\"\n[network]\nkind = \"pair\"\nforward = { recording = \"up.trace+d.csv shifted\" }\n\
                    [sweep]\n\"network.backward.recording\" = [\"down.trace\"]\n";
        let read = |name: &str| match name {
            "d.csv" => Ok(b"every 1s: delay_ms\n5\n".to_vec()),
            _ => Ok(b"1\n3\n".to_vec()),
        };
        let text = with_files(plan.to_owned(), read).unwrap();
        let table: toml::Table = toml::from_str(&text).unwrap();
        let files: Files = table["files"].clone().try_into().unwrap();
        assert_eq!(files.0.len(), 3);
        assert!(files.played("up.trace").unwrap().opportunities.is_some());
        assert!(files.played("d.csv").unwrap().delays.is_some());
        let error = with_files(plan.to_owned(), |_| Ok(b"noise".to_vec())).unwrap_err().to_string();
        assert!(error.contains("d.csv: recording line 1: "), "{error}");
        let error = files.played("gone").unwrap_err().to_string();
        assert!(error.contains("\"gone\", which is not among the plan's [files]"), "{error}");
    }

    #[test]
    fn a_plan_carries_each_direction_of_a_measurement() {
        let plan = "title = \"t\"\n[network]\nkind = \"pair\"\nforward = { recording = \"p.json:send\" }\n\
                    backward = { recording = \"p.json:receive shifted\" }\n";
        let measured = r#"{"round_trips": [{"seqno": 0, "lost": "false", "delay": {"rtt": 5000000,
            "send": 2000000, "receive": 3000000},
            "timestamps": {"client": {"send": {"monotonic": 7}}}}]}"#;
        let read = |name: &str| match name {
            "p.json" => Ok(measured.as_bytes().to_vec()),
            _ => Err("no such file".to_owned()),
        };
        let text = with_files(plan.to_owned(), read).unwrap();
        let table: toml::Table = toml::from_str(&text).unwrap();
        let files: Files = table["files"].clone().try_into().unwrap();
        let least = |name| files.played(name).unwrap().least_delay().as_millis();
        assert_eq!((least("p.json:send"), least("p.json:receive")), (2, 3));
        let error = with_files(plan.to_owned(), |_| Ok(b"1\n".to_vec())).unwrap_err().to_string();
        assert!(error.contains("p.json:receive: no measurement by irtt: "), "{error}");
    }

    #[test]
    fn a_plan_carries_what_it_replays_as_a_table() {
        let plan = "title = \"t\"\n[[flow]]\nname = \"a\"\nworkload = { arrivals = \"replay game.csv 2a\" }\n\
                    [sweep]\n\"flow.a.workload.arrivals\" = [\"replay game.csv 1a\", \"replay other.csv\", \"5ms\"]\n";
        let tables = |name: &str| match name {
            "game.csv" => Ok(b"time_s,size,stream\n0,7,1a\n1,8,2a\n".to_vec()),
            _ => Ok(b"time,size\n5ms,1kB\n".to_vec()),
        };
        let text = with_files(plan.to_owned(), tables).unwrap();
        let table: toml::Table = toml::from_str(&text).unwrap();
        let files: Files = table["files"].clone().try_into().unwrap();
        assert_eq!(files.recording("game.csv").unwrap().streams().len(), 2);
        assert_eq!(files.recording("other.csv").unwrap().count(), 1);
        assert_eq!(with_files(text.clone(), |_| Err("gone".into())).unwrap(), text);
        let error = with_files(plan.to_owned(), |_| Ok(b"noise".to_vec())).unwrap_err().to_string();
        assert!(error.contains("game.csv: line 1: "), "{error}");
        let error = files.recording("game.pcap").unwrap_err().to_string();
        assert!(error.contains("\"game.pcap\", which is not among the plan's [files]"), "{error}");
    }

    #[test]
    fn contents_that_are_hard_to_quote_come_back_all_the_same() {
        for lines in
            ["1s delay=1ms # it's '''\n", "1s delay=1ms # bell \u{7}\n", "1s delay=1ms\n2s loss=1%"]
        {
            let text = format!("[files]\n{}", entry("odd \"name\".csv", lines));
            let table: toml::Table = toml::from_str(&text).unwrap();
            let found = table["files"]["odd \"name\".csv"].as_str().unwrap();
            assert_eq!(found.trim_end(), lines.trim_end());
        }
    }

    #[test]
    fn what_is_wrong_is_named_with_file_and_line() {
        let wrong = |lines: &str| {
            let read = |_: &str| Ok(lines.as_bytes().to_vec());
            with_files(PLAN.to_owned(), read).unwrap_err().to_string()
        };
        let error = wrong("time,delay\n1s,5ms\n2s,slow\n");
        assert!(
            error.contains("other.csv") && error.contains("line 3") && error.contains("slow"),
            "{error}"
        );
        let missing = with_files(PLAN.to_owned(), |_| Err("no such file".to_owned())).unwrap_err();
        assert!(missing.to_string().contains("other.csv: no such file"));
        let unread = Files::default().profile("walk.csv").unwrap_err().to_string();
        assert!(unread.contains("walk.csv") && unread.contains("[files]"), "{unread}");
    }
}
