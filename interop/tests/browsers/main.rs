//! Our server of data channels and real, unmodified browsers, headless, over a lossy link.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::net::SocketAddr;
use std::time::Duration;

use interop::{BROWSER_HOST, Browser, Host, HostReport, Missing, Namespace, available, judge_page};
use serde_json::Value;
use thinstream::webrtc::{ChannelEvent, Ended, PeerEvent, ServerOptions};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Time without any news after which a test fails, with what was said until then: nothing here is
/// timed.
const LIMIT: Duration = Duration::from_secs(300);

/// Does `work` in a namespace for browsers, on a runtime there.
fn inside<T: Send>(work: impl AsyncFnOnce(&Namespace) -> T + Send) -> T {
    let namespace = Browser::namespace().unwrap();
    let block = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(work(&namespace))
    };
    namespace.enter(block).unwrap()
}

/// Loads the page of exercises this many times in one browser, and waits until as many connections
/// were closed by it as `ends` says; the results, and the events of our side. The page offers, or,
/// with `&answers`, answers our offer.
fn run(
    browser: &Browser,
    options: ServerOptions,
    (loss_percent, answers): (u64, &str),
    (rounds, ends): (usize, usize),
) -> (Vec<Value>, Vec<PeerEvent>) {
    inside(async |namespace| {
        let (host, mut hear) = Host::new(options, loss_percent, BROWSER_HOST).await.unwrap();
        let at = host.address().unwrap();
        let url = format!("http://{at}/?rounds={rounds}&loss={loss_percent}{answers}");
        tokio::spawn(host.run());
        let page = browser.open(namespace, &url).unwrap();
        let (mut results, mut events) = (Vec::new(), Vec::new());
        while results.len() < rounds || closed(&events) < ends {
            match tokio::time::timeout(LIMIT, hear.recv()).await {
                Ok(Some(HostReport::Page(result))) => {
                    let result: Value = serde_json::from_str(&result).unwrap();
                    assert_eq!(result["error"], Value::Null, "{events:?}");
                    results.push(result);
                }
                Ok(Some(HostReport::Server(event))) => events.push(event),
                _ => panic!("nothing more: {results:?}, {events:?}; it said:\n{}", page.text()),
            }
        }
        (results, events)
    })
}

/// Connections that ended since their page closed them.
fn closed(events: &[PeerEvent]) -> usize {
    let by_page = |event: &&PeerEvent| {
        matches!(event, PeerEvent::Ended(Ended::Closed | Ended::Association(_)))
    };
    events.iter().filter(by_page).count()
}

fn all_exercises_at_either_end_of_dtls(found: Result<Browser, Missing>, signals_init: bool) {
    let Some(browser) = available(found) else { return };
    println!("{}", browser.version().unwrap());
    for role in [secure::Role::Server, secure::Role::Client] {
        let options = ServerOptions { role, ..ServerOptions::new(Vec::new()) };
        // A page that closes says so; nothing waits for a timeout.
        let (results, events) = run(&browser, options, (0, ""), (1, 1));
        println!("{role:?}: {}", results[0]);
        judge_page(&results[0], 0).unwrap();
        let faults = |event: &PeerEvent| {
            matches!(event, PeerEvent::Channel(ChannelEvent::Closing { fault: Some(_), .. }))
        };
        assert!(!events.iter().any(faults), "{events:?}");
        assert_eq!(results[0]["init_signalled"], serde_json::json!([signals_init, signals_init]));
    }
}

/// The message by which a page closes its connection is sent once, and may be lost.
fn all_exercises_over_loss_and_again_after_a_reload(found: Result<Browser, Missing>) {
    let Some(browser) = available(found) else { return };
    let (results, _) = run(&browser, ServerOptions::new(Vec::new()), (5, ""), (2, 0));
    for result in &results {
        println!("{result}");
        judge_page(result, 5).unwrap();
    }
}

fn all_exercises_where_our_side_offers_over_loss(
    found: Result<Browser, Missing>,
    signals_init: bool,
) {
    let Some(browser) = available(found) else { return };
    let (results, _) = run(&browser, ServerOptions::new(Vec::new()), (5, "&answers"), (1, 0));
    println!("{}", results[0]);
    judge_page(&results[0], 5).unwrap();
    // The offer has SCTP's set-up, and only a browser that knows it answers with its own.
    assert_eq!(results[0]["init_signalled"], serde_json::json!([true, signals_init]));
}

/// One browser at two of our servers, one after the other.
fn two_servers_with_keys_of_their_own(found: Result<Browser, Missing>) {
    let Some(browser) = available(found) else { return };
    inside(async |namespace| {
        let options = || ServerOptions::new(Vec::new());
        let (first, mut hear_first) = Host::new(options(), 0, BROWSER_HOST).await.unwrap();
        let (second, mut hear_second) = Host::new(options(), 0, BROWSER_HOST).await.unwrap();
        let [at, next] = [&first, &second].map(|host| host.address().unwrap());
        tokio::spawn(first.run());
        tokio::spawn(second.run());
        let url = format!("http://{at}/?loss=0&next=http://{next}/?loss=0");
        let page = browser.open(namespace, &url).unwrap();
        for hear in [&mut hear_first, &mut hear_second] {
            let result = loop {
                match tokio::time::timeout(LIMIT, hear.recv()).await {
                    Ok(Some(HostReport::Page(result))) => break result,
                    Ok(Some(HostReport::Server(_))) => {}
                    _ => panic!("nothing more; it said:\n{}", page.text()),
                }
            };
            judge_page(&serde_json::from_str(&result).unwrap(), 0).unwrap();
        }
    });
}

/// The answer to `GET /setting`.
async fn setting(server: SocketAddr) -> String {
    let mut stream = tokio::net::TcpStream::connect(server).await.unwrap();
    let request = "GET /setting HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

fn the_page_of_the_command_counts_on_both_lanes(found: Result<Browser, Missing>) {
    let Some(browser) = available(found) else { return };
    inside(async |namespace| {
        let options = apps::browsers::BrowsersOptions {
            listen: "127.0.0.1:0".parse().unwrap(),
            setting: apps::browsers::Setting::default(),
        };
        let (tell, told) = tokio::sync::oneshot::channel();
        let ready = |page| tell.send(page).unwrap();
        tokio::spawn(async move {
            apps::browsers::browsers_until(&options, ready, std::future::pending()).await
        });
        let address = told.await.unwrap();
        let url = format!("http://{address}/?delay_ms=20&loss_percent=10&interval_ms=20");
        let page = browser.open(namespace, &url).unwrap();
        let has_counted = |policy| page.has_said(&format!("{policy}: 100 messages"));
        let counted = async {
            while !(has_counted("rfc") && has_counted("latency")) {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        };
        let counted = tokio::time::timeout(LIMIT, counted).await;
        assert!(counted.is_ok(), "nothing more; it said:\n{}", page.text());
        let set = r#"{"delay_ms":20,"loss_percent":10.0,"interval_ms":20}"#;
        let now = setting(address).await;
        assert!(now.ends_with(set), "{now}");
        for fault in ["Error", "Refused", "violates"] {
            assert!(!page.has_said(&format!("\"{fault}")), "{}", page.text());
        }
    });
}

#[test]
fn chromium_does_all_exercises_with_ten_channels_whichever_end_of_dtls_it_is() {
    all_exercises_at_either_end_of_dtls(Browser::chromium(), false);
}

#[test]
fn chromium_does_all_exercises_where_the_descriptions_make_the_association() {
    all_exercises_at_either_end_of_dtls(Browser::chromium_signalling_init(), true);
}

#[test]
fn firefox_does_all_exercises_with_ten_channels_whichever_end_of_dtls_it_is() {
    all_exercises_at_either_end_of_dtls(Browser::firefox(), false);
}

#[test]
fn chromium_does_all_exercises_over_five_percent_loss_and_again_after_a_reload() {
    all_exercises_over_loss_and_again_after_a_reload(Browser::chromium());
}

#[test]
fn firefox_does_all_exercises_over_five_percent_loss_and_again_after_a_reload() {
    all_exercises_over_loss_and_again_after_a_reload(Browser::firefox());
}

#[test]
fn chromium_does_all_exercises_over_loss_where_our_side_offers() {
    all_exercises_where_our_side_offers_over_loss(Browser::chromium(), false);
}

#[test]
fn chromium_does_all_exercises_over_loss_where_our_offer_and_its_answer_make_the_association() {
    all_exercises_where_our_side_offers_over_loss(Browser::chromium_signalling_init(), true);
}

#[test]
fn firefox_does_all_exercises_over_loss_where_our_side_offers() {
    all_exercises_where_our_side_offers_over_loss(Browser::firefox(), false);
}

#[test]
fn chromium_connects_to_two_servers_with_keys_of_their_own() {
    two_servers_with_keys_of_their_own(Browser::chromium());
}

#[test]
fn firefox_connects_to_two_servers_with_keys_of_their_own() {
    two_servers_with_keys_of_their_own(Browser::firefox());
}

#[test]
fn the_page_of_the_command_counts_on_both_lanes_in_chromium() {
    the_page_of_the_command_counts_on_both_lanes(Browser::chromium());
}

#[test]
fn the_page_of_the_command_counts_on_both_lanes_in_firefox() {
    the_page_of_the_command_counts_on_both_lanes(Browser::firefox());
}
