//! One connection of a visitor's page: where things are goes down, where the visitor points comes
//! up.

use thinstream::webrtc::{
    ChannelError, ChannelEvent, Connection, MessageKind, PeerEvent, StreamId,
};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::scene::{NOWHERE, Scene};
use super::setting::Setting;

/// Label of the channel on which the server sends where things are.
const MOVES: &str = "moves";

/// A connection and what the server knows of it.
struct Visit {
    page: Connection,
    /// The beginning of the scene, the same for all visits.
    begun: Instant,
    /// The channel on which messages leave, once the page has opened it.
    moves: Option<StreamId>,
    number: u32,
    pointer: [u16; 2],
}

/// Serves a page's connection until it is gone.
pub(super) async fn visit(page: Connection, setting: watch::Receiver<Setting>, begun: Instant) {
    let mut visit = Visit { page, begun, moves: None, number: 0, pointer: NOWHERE };
    let mut due = Instant::now();
    loop {
        tokio::select! {
            event = visit.page.event() => match event {
                Some(event) => visit.on_event(event),
                None => return,
            },
            () = sleep_until(due), if visit.moves.is_some() => {
                visit.send();
                let interval: std::time::Duration = setting.borrow().interval.into();
                // A machine that was busy leaves out what it is late with.
                due = (due + interval).max(Instant::now());
            }
        }
    }
}

impl Visit {
    fn on_event(&mut self, event: PeerEvent) {
        let PeerEvent::Channel(event) = event else { return };
        match event {
            ChannelEvent::Opened { id, options } if options.label == MOVES => self.moves = Some(id),
            ChannelEvent::Closing { id, .. } | ChannelEvent::Closed { id }
                if self.moves == Some(id) =>
            {
                self.moves = None;
            }
            ChannelEvent::Message { payload, .. } => {
                if let [x0, x1, y0, y1] = payload[..] {
                    self.pointer = [u16::from_be_bytes([x0, x1]), u16::from_be_bytes([y0, y1])];
                }
            }
            _ => {}
        }
    }

    /// Sends where things are now. A page that takes nothing for long misses what does not fit.
    fn send(&mut self) {
        let Some(id) = self.moves else { return };
        let sent = self.page.stats().map(|stats| stats.counters).unwrap_or_default();
        let scene = Scene {
            number: self.number,
            time_ms: self.begun.elapsed().as_secs_f64() * 1e3,
            packets: u32::try_from(sent.packets_sent).unwrap_or(u32::MAX),
            bytes: sent.bytes_sent as f64,
            pointer: self.pointer,
        };
        match self.page.send(id, MessageKind::Binary, scene.to_bytes()) {
            Ok(()) => self.number += 1,
            Err(ChannelError::BufferFull) => {}
            Err(_) => self.moves = None,
        }
    }
}
