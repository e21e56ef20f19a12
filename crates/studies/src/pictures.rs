//! Eight progressive pictures over a slow line that loses packets, shown while they arrive (Caro et
//! al., 2001, experiment R1): all in one ordered stream, or a stream for each.
//!
//! The pictures are [`scenes`] of the project's own, interlaced GIFs. Each is cut into parts; the
//! parts of all eight take turns. What a picture shows at a time is what its decoder makes of the
//! bytes that have been delivered to it by then. A GIF must be read from its beginning, so a part
//! is of use after those before it.

pub mod progressive;
pub mod scenes;
pub mod sheet;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use base::{Duration, Probability, Rate};
use bytes::Bytes;
use netsim::link::Framing;
use recovery::RecoveryPolicy;
use results::{Curve, Quantity, Row, Sheet};
use sctp::Reliability;
use serde::Deserialize;

use self::progressive::Shown;
use self::scenes::SCENES;
use crate::form::{self, whole_seconds};
use crate::partial_order::{Arrival, Item, Network, Service, carry};
use lab::policy_text::{PolicySection, TransportName};
use lab::study::{CellResults, Study, StudyError};

/// The study's name in a plan.
pub const NAME: &str = "pictures";

/// The streams and the order in which pictures travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Carriage {
    /// All in one ordered stream (the paper's T2E).
    OneStream,
    /// An ordered stream for each (the paper's R2E).
    Streams,
    /// Unordered, put into the order of each by the layer for partial orders.
    PartialOrder,
    /// A stream for each, and parts are sent again only [`Parameters::retransmissions`] times.
    PartialReliability,
}

/// Order in which the parts of the pictures are handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// A part of each picture, then the next part of each.
    Turns,
    /// All of a picture, then all of the next.
    OneAfterAnother,
}

/// Parameters of pictures sent over a line.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Parameters {
    /// The streams and the order in which pictures travel.
    pub carriage: Carriage,
    /// Rate of the line, each way.
    #[serde(deserialize_with = "form::optional")]
    pub rate: Option<Rate>,
    /// Bytes that the line adds to each packet.
    #[serde(deserialize_with = "form::text")]
    pub framing: Framing,
    /// Probability of a packet's loss, each way.
    #[serde(deserialize_with = "form::text")]
    pub loss: Probability,
    /// Round-trip time of an empty packet, beside serialisation.
    #[serde(deserialize_with = "form::text")]
    pub rtt: Duration,
    /// Packets that may wait before the line.
    pub queue: usize,
    /// Bytes of an IP packet.
    pub path_mtu: u16,
    /// Bytes of a part of a picture; the room of a packet unless given.
    pub part: Option<usize>,
    /// Order in which parts are handed over.
    pub order: Order,
    /// Pixels of a picture across.
    pub width: u16,
    /// Pixels of a picture downwards.
    pub height: u16,
    /// Most retransmissions of a part with partial reliability.
    pub retransmissions: u32,
    /// Policy of the sender's recovery.
    pub policy: PolicySection,
    /// Whether losses are repaired by timeouts only, which begin at 3 s: as plainly as a protocol
    /// of the day may have done it.
    pub timeouts_only: bool,
    /// The first timeout (RTO.Initial) instead of the policy's.
    #[serde(deserialize_with = "form::optional")]
    pub rto_initial: Option<Duration>,
    /// Seconds at which a look is taken.
    pub looks: Vec<u32>,
    /// Time from the first part to the last look.
    #[serde(deserialize_with = "form::text")]
    pub duration: Duration,
    /// Whether contact sheets are drawn.
    pub sheets: bool,
}

impl Default for Parameters {
    fn default() -> Parameters {
        Parameters {
            carriage: Carriage::Streams,
            rate: Rate::from_bits_per_second(9_600),
            framing: Framing::PPP,
            loss: Probability::from_ratio(10, 100),
            rtt: Duration::from_millis(200),
            queue: 50,
            path_mtu: 576,
            part: None,
            order: Order::Turns,
            width: 128,
            height: 96,
            retransmissions: 1,
            policy: PolicySection::preset("rfc"),
            timeouts_only: false,
            rto_initial: None,
            looks: vec![25, 50, 75],
            duration: Duration::from_secs(150),
            sheets: false,
        }
    }
}

/// Bytes of a packet that a part leaves to headers, with room to spare: of IP, SCTP, the chunk and
/// the item.
const HEADERS: usize = 96;

impl Parameters {
    fn part(&self) -> usize {
        self.part.unwrap_or(usize::from(self.path_mtu).saturating_sub(HEADERS))
    }

    fn policy(&self) -> Result<RecoveryPolicy, String> {
        let mut policy = self.policy.build(TransportName::Sctp)?;
        if self.timeouts_only {
            policy.loss.dup_threshold = u8::MAX;
            policy.rto.initial = Duration::from_secs(3);
        }
        policy.rto.initial = self.rto_initial.unwrap_or(policy.rto.initial);
        Ok(policy)
    }
}

impl Study for Parameters {
    fn name(&self) -> &'static str {
        NAME
    }

    fn check(&self) -> Result<(), String> {
        let pixels = u32::from(self.width) * u32::from(self.height);
        if pixels == 0 || pixels > 1 << 20 {
            return Err(format!("a picture of {pixels} pixels: 1 to 1048576"));
        }
        if !(1..=1 << 16).contains(&self.part()) {
            return Err(format!("`part` is {}: 1 to 65536 bytes", self.part()));
        }
        self.policy()?;
        if whole_seconds(self.duration) > 86_400 {
            return Err(format!("`duration` is {}: up to 86400s", self.duration));
        }
        Ok(())
    }

    fn effort(&self) -> f64 {
        self.duration.as_secs_f64()
    }

    /// Carries the pictures once. The seed is that of the losses; the pictures are always the same.
    fn run(&self, seed: u64, sheet: &mut Sheet<'_>) -> Result<(), StudyError> {
        let (width, height) = (self.width, self.height);
        let wrong = |reason| StudyError::Parameters { study: NAME, reason };
        let policy = Arc::new(self.policy().map_err(wrong)?);
        let gifs: Result<Vec<Bytes>, _> = (0..SCENES)
            .map(|index| progressive::encode(&scenes::paint(index, width, height)).map(Bytes::from))
            .collect();
        let gifs = gifs.map_err(no_picture)?;
        let reliability = match self.carriage {
            Carriage::PartialReliability => Reliability::Retransmissions(self.retransmissions),
            _ => Reliability::Full,
        };
        let items = to_items(&gifs, self.part(), self.order, reliability);
        let items: Arc<[Item]> = items.into();
        let service = match self.carriage {
            Carriage::OneStream => Service::OneStream,
            Carriage::PartialOrder => Service::PartialOrder,
            Carriage::Streams | Carriage::PartialReliability => Service::StreamPerObject,
        };
        let network = Network {
            rtt: self.rtt,
            loss: self.loss,
            rate: self.rate,
            framing: self.framing,
            queue: self.queue,
            path_mtu: self.path_mtu,
        };
        let outcome = carry(&items, service, &policy, network, seed)?;
        let viewer = Viewer { items: &items, arrivals: &outcome.arrivals, pixels: (width, height) };
        let total: usize = gifs.iter().map(Bytes::len).sum();
        let pixels = SCENES as f64 * f64::from(width) * f64::from(height);
        sheet.add("bytes.all", &[], total as f64, "B");
        sheet.add("pixels.all", &[], pixels, "pixels");
        viewer.decode_each_second(self, sheet)
    }

    fn conclusions(&self) -> &'static [&'static str] {
        &CONCLUSIONS
    }

    fn conclude(&self, cells: &[CellResults<'_>]) -> Vec<(usize, Row)> {
        compare(cells)
    }
}

fn no_picture(reason: String) -> StudyError {
    StudyError::Failed(format!("a picture: {reason}"))
}

/// Measures that [`compare`] adds to those of the runs.
const CONCLUSIONS: [&str; 1] = ["ahead"];

/// The key that says how the pictures travel.
const CARRIAGE: &str = "parameters.carriage";

/// Comparison of each cell with a stream for each picture, and the one that differs from it in that
/// all are in one stream: of the seconds in which one of the two shows more, the share in which the
/// streams do.
fn compare(cells: &[CellResults<'_>]) -> Vec<(usize, Row)> {
    let carriage = |cell: &CellResults<'_>| {
        cell.keys.iter().find(|(key, _)| key == CARRIAGE).map(|(_, value)| value.clone())
    };
    let is_alike = |one: &CellResults<'_>, other: &CellResults<'_>| {
        one.keys.iter().zip(&other.keys).all(|(one, other)| one == other || one.0 == CARRIAGE)
    };
    let streams = cells.iter().enumerate();
    let streams = streams.filter(|(_, cell)| carriage(cell).as_deref() == Some("streams"));
    let mut rows = Vec::new();
    for (place, one) in streams {
        let other = cells
            .iter()
            .find(|other| carriage(other).as_deref() == Some("one-stream") && is_alike(one, other));
        let Some(other) = other else { continue };
        for of in ["pixels", "bytes"] {
            let curve = |cell: &CellResults<'_>| {
                cell.results.curves.iter().find(|curve| curve.measure == of).cloned()
            };
            let share = curve(one).zip(curve(other)).and_then(|(one, other)| ahead(&one, &other));
            let labels = vec![("of".to_owned(), of.to_owned())];
            let row = |share| (place, Row { labels, ..Row::new(NAME, "ahead", share, "%") });
            rows.extend(share.map(row));
        }
    }
    rows
}

/// Share in percent of the points at which two curves differ where the first is above. None where
/// they nowhere differ.
fn ahead(one: &Curve, other: &Curve) -> Option<f64> {
    let pairs = || one.points.iter().zip(&other.points).map(|(one, other)| (one.1, other.1));
    let above = pairs().filter(|(one, other)| one > other).count() as f64;
    let below = pairs().filter(|(one, other)| one < other).count() as f64;
    (above + below > 0.0).then(|| 100.0 * above / (above + below))
}

/// Cuts the pictures into parts, each of which waits for the one before it.
fn to_items(gifs: &[Bytes], part: usize, order: Order, reliability: Reliability) -> Vec<Item> {
    let turns = |gif: &Bytes| gif.len().div_ceil(part);
    let mut parts: Vec<(usize, usize)> = gifs
        .iter()
        .enumerate()
        .flat_map(|(object, gif)| (0..turns(gif)).map(move |turn| (turn, object)))
        .collect();
    match order {
        Order::Turns => parts.sort_unstable(),
        Order::OneAfterAnother => {}
    }
    let mut last = vec![None; gifs.len()];
    let mut items = Vec::with_capacity(parts.len());
    for (turn, object) in parts {
        let (gif, from) = (&gifs[object], turn * part);
        let content = gif.slice(from..gif.len().min(from + part));
        let after = last[object].replace(items.len()).into_iter().collect();
        let size = Item::HEADER + content.len();
        let object = object as u16;
        items.push(Item { due: Duration::ZERO, object, after, size, content, reliability });
    }
    items
}

/// Observer of the pictures while they arrive.
struct Viewer<'a> {
    items: &'a [Item],
    arrivals: &'a [Arrival],
    pixels: (u16, u16),
}

impl Viewer<'_> {
    /// Bytes of each picture that its decoder has by a time: the parts from the first on without a
    /// gap.
    fn received(&self, by: Duration) -> [Vec<u8>; SCENES] {
        let mut here = vec![None; self.items.len()];
        for arrival in self.arrivals.iter().filter(|arrival| arrival.at <= by) {
            if let Some(slot) = here.get_mut(arrival.item) {
                *slot = Some(&arrival.content);
            }
        }
        let mut received: [Vec<u8>; SCENES] = Default::default();
        let mut broken = [false; SCENES];
        for (item, content) in self.items.iter().zip(here) {
            let object = usize::from(item.object);
            match content.filter(|_| !broken[object]) {
                Some(content) => received[object].extend_from_slice(content),
                None => broken[object] = true,
            }
        }
        received
    }

    fn shown(&self, by: Duration) -> ([Shown; SCENES], usize) {
        let received = self.received(by);
        let bytes = received.iter().map(Vec::len).sum();
        (received.map(|bytes| progressive::decode(&bytes, self.pixels)), bytes)
    }

    /// Decodes what has come by each second, and adds its pixels to the sheet.
    fn decode_each_second(
        &self,
        parameters: &Parameters,
        sheet: &mut Sheet<'_>,
    ) -> Result<(), StudyError> {
        let (mut pixels, mut bytes) = (Vec::new(), Vec::new());
        let seconds = whole_seconds(parameters.duration) as u32;
        let mut looks = Vec::new();
        let mut known = (usize::MAX, 0.0);
        for second in 0..=seconds {
            let by = Duration::from_secs(second.into());
            let count = self.arrivals.partition_point(|arrival| arrival.at <= by);
            let is_look = parameters.looks.contains(&second);
            if count != known.0 || is_look {
                let (shown, length) = self.shown(by);
                known = (count, shown.iter().map(|one| one.count() as f64).sum());
                bytes.push((f64::from(second), length as f64));
                if is_look {
                    show_look(second, &shown, length, sheet);
                    looks.push((second, shown));
                }
            } else if let Some((_, length)) = bytes.last().copied() {
                bytes.push((f64::from(second), length));
            }
            pixels.push((f64::from(second), known.1));
        }
        let last = self.arrivals.last().map_or(0.0, |arrival| arrival.at.as_secs_f64());
        sheet.add("last.part", &[], last, "s");
        let time = || Quantity::new("time", "s");
        let axes = (time(), Quantity::new("pixels shown", "pixels"));
        sheet.add_curve("pixels", &[], axes, pixels);
        sheet.add_curve(
            "bytes",
            &[],
            (time(), Quantity::new("data that can be shown", "B")),
            bytes,
        );
        if parameters.sheets {
            let png = sheet::draw(&looks, self.pixels).map_err(no_picture)?;
            sheet.add_picture("sheet", "The eight pictures, a row for each look", png);
        }
        Ok(())
    }
}

fn show_look(second: u32, shown: &[Shown; SCENES], bytes: usize, sheet: &mut Sheet<'_>) {
    let counts = || shown.iter().map(|one| one.count() as f64);
    let begun = counts().filter(|count| *count > 0.0).count();
    let labels = [("at", &*second.to_string())];
    sheet.add("pixels", &labels, counts().sum(), "pixels");
    sheet.add("bytes", &labels, bytes as f64, "B");
    sheet.add("pictures.begun", &labels, begun as f64, "pictures");
}
