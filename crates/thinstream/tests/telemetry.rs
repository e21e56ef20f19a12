//! Events of `tracing`, as a subscriber sees them.
#![cfg(feature = "tracing")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use std::fmt;
use std::sync::{Arc, Mutex};

use support::*;
use thinstream::{AssociationOptions, ConnectError};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// Keeps spans and events as text.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<String>>>);

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0 += &format!(" {}={value:?}", field.name());
    }
}

impl Subscriber for Kept {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("thinstream")
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut line = Line(format!("span {}", span.metadata().name()));
        span.record(&mut line);
        let mut kept = self.0.lock().unwrap();
        kept.push(line.0);
        Id::from_u64(kept.len() as u64)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(event.metadata().level().to_string());
        event.record(&mut line);
        self.0.lock().unwrap().push(line.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[tokio::test]
async fn the_life_of_an_association_is_told_and_nothing_of_its_messages() {
    let kept = Kept::default();
    let _default = tracing::subscriber::set_default(kept.clone());
    let server = server();
    let (client, accepted) = pair(&server).await;
    tokio::spawn(echo(accepted));
    for _ in 0..20 {
        client.send(ZERO, "secret").await.unwrap();
        within(client.receive()).await.unwrap();
    }
    within(client.shutdown()).await.unwrap();
    let to_stranger = thinstream::new_identity().fingerprint();
    let peer = (server.local_addr(), to_stranger);
    let refused = thinstream::Association::connect(peer, AssociationOptions::default());
    assert!(matches!(within(refused).await, Err(ConnectError::Untrusted { .. })));
    let lines = kept.0.lock().unwrap().clone();
    let count = |start: &str, part: &str| {
        lines.iter().filter(|line| line.starts_with(start) && line.contains(part)).count()
    };
    assert_eq!(count("span endpoint", "sctp_port=9899"), 1, "{lines:#?}");
    assert_eq!(count("INFO", "association established"), 2, "{lines:#?}");
    assert!(count("INFO", "association shut down") >= 1, "{lines:#?}");
    assert_eq!(count("WARN", "no encrypted session"), 1, "{lines:#?}");
    assert!(lines.len() < 20, "no line for each message: {lines:#?}");
    assert_eq!(count("", "secret"), 0);
}
