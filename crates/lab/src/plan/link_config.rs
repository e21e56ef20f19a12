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
struct Layer<'a> {
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
    let layers = levels.iter().enumerate().map(|(place, section)| Layer {
        section,
        hops: if place == last { hops } else { 1 },
        files: Some(files),
    });
    let layers: Vec<_> = layers.collect();
    directions(&layers)
}

/// The links of a network of the library, from senders to receivers and back.
///
/// # Errors
/// None: the laboratory's tests build all networks.
pub fn links_of(name: NetworkName) -> Result<Directions<LinkConfig>, PlanError> {
    directions(&[Layer { section: &name.network()?.section, hops: 1, files: None }])
}

fn directions(layers: &[Layer<'_>]) -> Result<Directions<LinkConfig>, PlanError> {
    Ok(Directions {
        forward: build(layers, Direction::Forward)?,
        backward: build(layers, Direction::Backward)?,
    })
}

/// Sections with settings of a direction, the most specific first: for each level, its section for
/// the direction, the section itself, and the library's network that either names as `like`.
fn in_order<'a>(layers: &[Layer<'a>], direction: Direction) -> Result<Vec<Layer<'a>>, PlanError> {
    let mut all = Vec::new();
    for layer in layers {
        let own = layer.section.of(direction).into_iter().chain([layer.section]);
        for section in own.clone() {
            all.push(Layer { section, ..*layer });
        }
        for name in own.filter_map(|section| section.like) {
            let section = &name.0.network()?.section;
            let specific = section.of(direction).into_iter().chain([section]);
            all.extend(specific.map(|section| Layer { section, hops: 1, files: None }));
        }
    }
    Ok(all)
}

/// Merges the layers of sections for a direction, the most specific first.
fn build(layers: &[Layer<'_>], direction: Direction) -> Result<LinkConfig, PlanError> {
    let layers = in_order(layers, direction)?;
    let said = layers.iter().fold(LinkSection::default(), |said, layer| said.or(layer.section));
    // If both a delay and a round trip are given, the more specific section decides.
    let delay = layers.iter().find_map(|layer| layer.section.one_way(direction, layer.hops));
    let delay = delay.unwrap_or_default();
    let round_trip = said.rtt.map(|rtt| rtt.0).filter(|rtt| !rtt.is_zero()).unwrap_or(delay * 2);
    let recording = recording(&layers)?;
    let at = |span: Duration| Instant::ZERO + span;
    let blackouts = said.blackouts.unwrap_or_default();
    let profile = layers.iter().find_map(|layer| {
        let profile = layer.section.profile.as_ref()?;
        Some(layer.files.unwrap_or(&Files::default()).profile(profile))
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
fn recording(layers: &[Layer<'_>]) -> Result<Recording, PlanError> {
    let first = layers.iter().find_map(|one| Some((one.section.recording.as_ref()?, one.files)));
    let Some((text, files)) = first else { return Ok(Recording::default()) };
    text.0.resolve(|name| match files {
        Some(files) => files.played(name),
        None => library::recording(name),
    })
}
