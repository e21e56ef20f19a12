//! Events that wait for the application, and the memory that they take.

use std::collections::VecDeque;

use super::types::ChannelEvent;

/// Events in their order. Each counts with what it takes itself, since a peer can send messages
/// without bytes for ever.
#[derive(Debug, Default)]
pub(super) struct Events {
    waiting: VecDeque<ChannelEvent>,
    bytes: usize,
}

impl Events {
    pub(super) fn push_back(&mut self, event: ChannelEvent) {
        self.bytes += cost(&event);
        self.waiting.push_back(event);
    }

    pub(super) fn pop_front(&mut self) -> Option<ChannelEvent> {
        let event = self.waiting.pop_front()?;
        self.bytes -= cost(&event);
        Some(event)
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}

fn cost(event: &ChannelEvent) -> usize {
    let beside = match event {
        ChannelEvent::Message { payload, .. } => payload.len(),
        ChannelEvent::Opened { options, .. } => options.label.len() + options.protocol.len(),
        _ => 0,
    };
    size_of::<ChannelEvent>() + beside
}
