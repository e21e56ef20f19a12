//! Our server of data channels and a real, unmodified Chromium, headless, over a lossy link.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod host;

use std::time::Duration;

use interop::{BROWSER_HOST, Chromium, Namespace, available};
use serde_json::{Value, json};
use thinstream::webrtc::{ChannelEvent, Ended, PeerEvent, ServerOptions};

use host::{Host, Said};

/// Time that a load of the page may take, with the start of the browser.
const LIMIT: Duration = Duration::from_secs(150);

/// Loads the page this many times in one browser; the results, and the events of our side.
fn run(
    chromium: &Chromium,
    options: ServerOptions,
    loss_percent: u64,
    rounds: usize,
) -> (Vec<Value>, Vec<PeerEvent>) {
    let namespace: Namespace = Chromium::namespace().unwrap();
    let exercise = async || {
        let (host, mut hear) = Host::new(options, loss_percent, BROWSER_HOST).await.unwrap();
        let url = format!("http://{}/?rounds={rounds}", host.address().unwrap());
        tokio::spawn(host.run());
        let page = chromium.open(&namespace, &url).unwrap();
        let (mut results, mut events) = (Vec::new(), Vec::new());
        while results.len() < rounds {
            match tokio::time::timeout(LIMIT, hear.recv()).await {
                Ok(Some(Said::Page(result))) => {
                    results.push(serde_json::from_str(&result).unwrap())
                }
                Ok(Some(Said::Server(event))) => events.push(event),
                _ => panic!(
                    "nothing within {LIMIT:?}; {events:?}; the browser said:\n{}",
                    page.text()
                ),
            }
        }
        // What the end of the page leads to.
        let soon = tokio::time::Instant::now() + Duration::from_secs(3);
        while let Ok(Some(said)) = tokio::time::timeout_at(soon, hear.recv()).await {
            if let Said::Server(event) = said {
                events.push(event);
            }
        }
        (results, events)
    };
    let block = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(exercise())
    };
    namespace.enter(block).unwrap()
}

/// What every load of the page should report.
fn check(result: &Value, loss_percent: u64) {
    assert_eq!(result["error"], Value::Null, "{result}");
    let sizes: Vec<Value> = [1, 2, 100, 1200, 16000, 65535, 262_144]
        .map(Value::from)
        .into_iter()
        .chain(["text 5", "text 0", "text 5000", "empty"].map(Value::from))
        .map(|what| json!([what, true]))
        .collect();
    assert_eq!(result["sizes"], Value::from(sizes));
    for kind in ["ordered", "unordered", "protocol", "priority", "negotiated", "tenth"] {
        assert_eq!(result["volleys"][kind], 30, "{kind}: {result}");
    }
    for kind in ["once", "twice", "brief", "brief-unordered"] {
        let back = result["volleys"][kind].as_u64().unwrap();
        let least = if loss_percent == 0 { 30 } else { 15 };
        assert!(back >= least, "{kind}: {result}");
    }
    assert_eq!(result["from_server"][0], "from the server");
    assert_eq!(result["from_server"][1], "news");
    assert_eq!(result["from_server"][2], false);
    assert_eq!(result["from_server"][3], 3);
    assert_eq!(result["again"], "again");
    assert_eq!(result["max_message"], 262_144);
}

/// Connections that ended since their page closed them.
fn closed(events: &[PeerEvent]) -> usize {
    let by_page = |event: &&PeerEvent| {
        matches!(event, PeerEvent::Ended(Ended::Closed | Ended::Association(_)))
    };
    events.iter().filter(by_page).count()
}

#[test]
fn chromium_does_all_exercises_with_ten_channels_whichever_end_of_dtls_it_is() {
    let Some(chromium) = available(Chromium::find()) else { return };
    println!("{}", chromium.version().unwrap());
    for role in [secure::Role::Server, secure::Role::Client] {
        let options = ServerOptions { role, ..ServerOptions::new(Vec::new()) };
        let (results, events) = run(&chromium, options, 0, 1);
        println!("{role:?}: {}", results[0]);
        check(&results[0], 0);
        // A page that closes says so; nothing waits for a timeout.
        assert_eq!(closed(&events), 1, "{events:?}");
        let faults = |event: &PeerEvent| {
            matches!(event, PeerEvent::Channel(ChannelEvent::Closing { fault: Some(_), .. }))
        };
        assert!(!events.iter().any(faults));
    }
}

#[test]
fn chromium_does_all_exercises_over_five_percent_loss_and_again_after_a_reload() {
    let Some(chromium) = available(Chromium::find()) else { return };
    let (results, events) = run(&chromium, ServerOptions::new(Vec::new()), 5, 2);
    for result in &results {
        println!("{result}");
        check(result, 5);
    }
    assert!(closed(&events) >= 2, "{events:?}");
}

#[test]
fn the_page_of_the_command_connects_twice_and_counts_its_messages() {
    let Some(chromium) = available(Chromium::find()) else { return };
    let namespace = Chromium::namespace().unwrap();
    let exercise = async || {
        let options = apps::browsers::BrowsersOptions::new("127.0.0.1:0".parse().unwrap());
        let (tell, told) = tokio::sync::oneshot::channel();
        let ready = |page| tell.send(page).unwrap();
        tokio::spawn(async move {
            apps::browsers::browsers_until(&options, ready, std::future::pending()).await
        });
        let address = told.await.unwrap();
        let chromium = chromium.clone();
        let namespace = namespace.clone();
        let dump = move || chromium.dump(&namespace, &format!("http://{address}/"));
        tokio::task::spawn_blocking(dump).await.unwrap().unwrap()
    };
    let block = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(exercise())
    };
    let document = namespace.enter(block).unwrap();
    for policy in ["rfc", "latency"] {
        let summary = document.split(&format!("id=\"{policy}-summary\">")).nth(1).unwrap();
        let messages: u32 = summary.split(' ').next().unwrap().parse().unwrap();
        assert!(messages > 30, "{policy}: {messages}");
    }
}
