//! Builds the configuration of a link from a plan's sections.

use base::{Duration, Instant};
use netsim::LinkConfig;
use netsim::link::Recording;
use netsim::topology::Directions;

use super::error::PlanError;
use super::files::Files;
use super::library;
use super::link::{Direction, LinkSection};
use super::network_name::NetworkName;

/// A section with settings of a link.
#[derive(Clone, Copy)]
struct Speaker<'a> {
    section: &'a LinkSection,
    /// Links over which its round trip is spread.
    hops: u64,
    /// The files that the section names; none for the library's.
    files: Option<&'a Files>,
}

/// Both directions of a link with the settings of `levels`, the most specific first. The last level
/// is the whole network, whose delay is spread over `hops` links.
pub(super) fn both(
    levels: &[&LinkSection],
    hops: u64,
    files: &Files,
) -> Result<Directions<LinkConfig>, PlanError> {
    let last = levels.len().saturating_sub(1);
    let speakers = levels.iter().enumerate().map(|(place, section)| Speaker {
        section,
        hops: if place == last { hops } else { 1 },
        files: Some(files),
    });
    let speakers: Vec<_> = speakers.collect();
    directions(&speakers)
}

/// The links of a network of the library, from senders to receivers and back.
///
/// # Errors
/// None: the laboratory's tests build all networks.
pub fn links_of(name: NetworkName) -> Result<Directions<LinkConfig>, PlanError> {
    directions(&[Speaker { section: &name.network()?.section, hops: 1, files: None }])
}

fn directions(speakers: &[Speaker<'_>]) -> Result<Directions<LinkConfig>, PlanError> {
    Ok(Directions {
        forward: build(speakers, Direction::Forward)?,
        backward: build(speakers, Direction::Backward)?,
    })
}

/// Sections with settings of a direction, the most specific first: for each level, its section for
/// the direction, the section itself, and the library's network that either names as `like`.
fn in_order<'a>(
    speakers: &[Speaker<'a>],
    direction: Direction,
) -> Result<Vec<Speaker<'a>>, PlanError> {
    let mut all = Vec::new();
    for speaker in speakers {
        let own = speaker.section.of(direction).into_iter().chain([speaker.section]);
        for section in own.clone() {
            all.push(Speaker { section, ..*speaker });
        }
        for name in own.filter_map(|section| section.like) {
            let section = &name.0.network()?.section;
            let particular = section.of(direction).into_iter().chain([section]);
            all.extend(particular.map(|section| Speaker { section, hops: 1, files: None }));
        }
    }
    Ok(all)
}

/// The link in one direction.
fn build(speakers: &[Speaker<'_>], direction: Direction) -> Result<LinkConfig, PlanError> {
    let speakers = in_order(speakers, direction)?;
    let said =
        speakers.iter().fold(LinkSection::default(), |said, speaker| said.or(speaker.section));
    // Of a delay and a round trip the more particular one counts.
    let delay =
        speakers.iter().find_map(|speaker| speaker.section.one_way(direction, speaker.hops));
    let delay = delay.unwrap_or_default();
    let round_trip = said.rtt.map(|rtt| rtt.0).filter(|rtt| !rtt.is_zero()).unwrap_or(delay * 2);
    let recording = recording(&speakers)?;
    let at = |span: Duration| Instant::ZERO + span;
    let blackouts = said.blackouts.unwrap_or_default();
    let profile = speakers.iter().find_map(|speaker| {
        let profile = speaker.section.profile.as_ref()?;
        Some(speaker.files.unwrap_or(&Files::default()).profile(profile))
    });
    let mut config = LinkConfig {
        delay,
        jitter: said.jitter.unwrap_or_default().0,
        rate: said.rate.map(|rate| rate.0),
        framing: said.framing.unwrap_or_default().0,
        cross: said.cross.map(|cross| cross.0),
        mtu: said.mtu,
        loss: said.loss.unwrap_or_default().0,
        reorder: said.reorder.unwrap_or_default().0,
        allow_reordering: said.allow_reordering.unwrap_or(false),
        duplicate: said.duplicate.unwrap_or_default().0,
        corrupt: said.corrupt.unwrap_or_default().0,
        blackouts: blackouts.iter().map(|span| at(span.0.from)..at(span.0.to)).collect(),
        profile: profile.unwrap_or(Ok(Vec::new()))?,
        recording,
        ..LinkConfig::default()
    };
    match (said.queue, config.mean_rate()) {
        (None, _) => {}
        (Some(queue), Some(rate)) => {
            (config.queue, config.discipline) = queue.0.resolve(rate, round_trip);
        }
        (Some(_), None) => {
            return Err(PlanError::new("network.queue without network.rate: nothing would wait"));
        }
    }
    config.check().map_err(|error| PlanError::new(format!("network: {error}")))?;
    Ok(config)
}

/// The recording of the most specific section that has one.
fn recording(speakers: &[Speaker<'_>]) -> Result<Recording, PlanError> {
    let first = speakers.iter().find_map(|one| Some((one.section.recording.as_ref()?, one.files)));
    let Some((text, files)) = first else { return Ok(Recording::default()) };
    text.0.resolve(|name| match files {
        Some(files) => files.played(name),
        None => library::recording(name),
    })
}
