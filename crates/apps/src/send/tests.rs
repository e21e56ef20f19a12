use std::future::pending;

use std::sync::LazyLock;

use thinstream::{Fingerprint, new_identity};

use super::*;
use crate::serve::{ServeOptions, ServeReport, serve_until};
use crate::transfer::TransferReport;

/// The key of all servers.
static KEY: LazyLock<Identity> = LazyLock::new(new_identity);

/// A server at a free port, until the sender of the result is dropped.
async fn server(
    change: impl FnOnce(&mut ServeOptions),
) -> (SocketAddr, tokio::sync::oneshot::Sender<()>, tokio::task::JoinHandle<ServeReport>) {
    let mut options = ServeOptions::new("127.0.0.1:0".parse().unwrap());
    options.identity = Some(KEY.clone());
    change(&mut options);
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let (ready, address) = tokio::sync::oneshot::channel();
    let serving = tokio::spawn(async move {
        let stopped = async { drop(stopped.await) };
        let on_ready = |listen| ready.send(listen).unwrap();
        serve_until(&options, &mut |_| (), on_ready, stopped).await.unwrap()
    });
    (address.await.unwrap(), stop, serving)
}

fn quickly(to: SocketAddr, count: u64) -> SendOptions {
    let mut options = SendOptions::new(to);
    let plan = WorkloadPlan {
        arrivals: Arrivals::Exponential { mean: Duration::from_millis(2) },
        size: lab::Sizes::Constant(60),
        limit: Limit::Count(count),
    };
    options.messages = Messages::Workload { plan, seed: 1 };
    options.streams = 3;
    options.server = Some(ServerKey::Known(KEY.fingerprint()));
    options
}

#[tokio::test]
async fn a_workload_is_measured_in_both_directions() {
    let (address, stop, serving) = server(|_| ()).await;
    let directory = std::env::temp_dir().join(format!("thinstream-send-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let mut options = quickly(address, 100);
    options.pcap = Some(directory.join("send.pcapng"));
    options.events = Some(directory.join("send.jsonl"));
    let mut progress = 0;
    let mut notice = |notice| progress += usize::from(matches!(notice, Notice::Progress(_)));
    let report = send_until(&options, &mut notice, pending()).await.unwrap();
    assert_eq!((report.messages, report.answers, report.damaged), (100, 100, 0));
    assert_eq!((report.bytes, report.failure.as_deref()), (6000, None));
    let (one_way, round_trip) = (report.one_way_ms.unwrap(), report.round_trip_ms.unwrap());
    assert_eq!((one_way.count, round_trip.count), (100, 100));
    assert!(one_way.mean < round_trip.mean && round_trip.max < 5_000.0, "{report}");
    let transfer = &report.transfer;
    assert!(transfer.packets_sent >= 10 && transfer.bytes_sent > 100 * (60 + 16));
    assert!(progress > 0);
    drop(stop);
    let served = serving.await.unwrap();
    assert_eq!((served.clients, served.clients_failed, served.messages), (1, 0, 100));
    assert_eq!((served.damaged, served.one_way_ms.unwrap().count), (0, 100));

    let events = std::fs::read_to_string(directory.join("send.jsonl")).unwrap();
    let events: Vec<serde_json::Value> =
        events.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let count = |name| events.iter().filter(|event| event["event"] == name).count();
    assert!(count("sent") >= 10 && count("acknowledged") >= 1, "{events:?}");
    let capture = std::fs::read(directory.join("send.pcapng")).unwrap();
    assert_eq!(capture[..4], 0x0a0d_0d0au32.to_le_bytes());
    assert!(capture.len() as u64 > transfer.bytes_sent + transfer.bytes_received);
    std::fs::remove_dir_all(directory).unwrap();
}

#[tokio::test]
async fn many_associations_are_a_load_that_is_reported_as_one() {
    let (address, stop, serving) = server(|options| options.max_per_peer = Some(40)).await;
    let options = SendOptions { associations: 30, ..quickly(address, 20) };
    let mut lines = Vec::new();
    let mut notice = |notice| match notice {
        Notice::Line(line) => lines.push(line),
        Notice::Progress(_) => {}
    };
    let report = send_until(&options, &mut notice, pending()).await.unwrap();
    assert_eq!((report.associations, report.associations_failed), (30, 0), "{report}");
    assert_eq!((report.messages, report.answers, report.damaged), (600, 600, 0));
    assert_eq!(report.round_trip_ms.unwrap().count, 600);
    assert!(report.transfer.packets_sent >= 30 * 4 && report.transfer.rto_ms > 0.0, "{report}");
    assert!(lines[0].contains("30 associations"), "{lines:?}");
    drop(stop);
    assert_eq!(serving.await.unwrap().clients, 30);
}

#[tokio::test]
async fn associations_that_a_server_refuses_are_counted_and_the_others_go_on() {
    let (address, _stop, _serving) = server(|options| options.max_per_peer = Some(3)).await;
    let options = SendOptions { associations: 5, ..quickly(address, 10) };
    let report = send_until(&options, &mut |_| (), pending()).await.unwrap();
    assert_eq!((report.associations, report.associations_failed), (3, 2), "{report}");
    assert_eq!((report.messages, report.answers), (30, 30));
    let failure = report.failure.unwrap();
    assert!(failure.starts_with("2 of 5 associations failed: "), "{failure}");
}

#[tokio::test]
async fn what_is_for_one_association_is_refused_for_many() {
    let nowhere: SocketAddr = "127.0.0.1:1".parse().unwrap();
    let many = || SendOptions { associations: 2, ..quickly(nowhere, 1) };
    let given = Messages::Given {
        input: Input::StandardInput,
        framing: Framing::Lines,
        arrivals: None,
        limit: Limit::Unlimited,
        seed: 1,
    };
    for (options, named) in [
        (SendOptions { pcap: Some("x".into()), ..many() }, "--pcap"),
        (SendOptions { events: Some("x".into()), ..many() }, "--events"),
        (SendOptions { verbose: true, ..many() }, "--verbose"),
        (SendOptions { messages: given, ..many() }, "--from"),
        (SendOptions { local: vec!["127.0.0.1:7".parse().unwrap()], ..many() }, "--local"),
    ] {
        let failure = send_until(&options, &mut |_| (), pending()).await.unwrap_err();
        assert!(failure.is_usage() && failure.to_string().starts_with(named), "{failure}");
    }
}

#[tokio::test]
async fn lines_of_a_file_come_back_as_they_are() {
    let (address, _stop, _serving) = server(|_| ()).await;
    let path = std::env::temp_dir().join(format!("thinstream-lines-{}", std::process::id()));
    std::fs::write(&path, "one\nsame\nsame\n\nlast without end").unwrap();
    let mut options = quickly(address, 0);
    options.ordered = false;
    options.messages = Messages::Given {
        input: Input::File(path.clone()),
        framing: Framing::Lines,
        arrivals: None,
        limit: Limit::Unlimited,
        seed: 1,
    };
    let report = send_until(&options, &mut |_| (), pending()).await.unwrap();
    std::fs::remove_file(path).unwrap();
    assert_eq!((report.messages, report.answers, report.damaged), (4, 4, 0));
    assert_eq!(report.bytes, 3 + 4 + 4 + 16);
    assert_eq!(report.round_trip_ms.unwrap().count, 4);
    assert_eq!((report.one_way_ms, report.unclocked), (None, 0));
}

#[tokio::test]
async fn a_server_that_only_counts_gives_no_latency_to_the_client() {
    let (address, stop, serving) = server(|options| options.echo = false).await;
    let report = send_until(&quickly(address, 10), &mut |_| (), pending()).await.unwrap();
    assert_eq!((report.messages, report.answers, report.round_trip_ms), (10, 0, None));
    assert!(report.to_string().contains("does not answer messages"));
    drop(stop);
    let served = serving.await.unwrap();
    assert_eq!((served.messages, served.one_way_ms.unwrap().count), (10, 10));
}

#[test]
fn a_server_that_was_cut_off_is_not_said_to_answer_no_messages() {
    let options = SendOptions::new("127.0.0.1:9899".parse().unwrap());
    let meter = Meter::new(true);
    let mut report = SendReport::new(&options, Duration::ZERO, &meter, TransferReport::default());
    assert!(report.to_string().contains("does not answer messages"));
    report.failure = Some("nothing was heard from the peer for 30s".to_owned());
    assert!(report.to_string().contains("no answer came"), "{report}");
}

/// Sends until the progress says that messages were sent; what the report says then.
async fn stopped_once_it_sends(options: &SendOptions) -> SendReport {
    let is_sending = tokio::sync::Notify::new();
    let mut notice = |notice| match notice {
        Notice::Progress(text) if !text.starts_with("0 sent") => is_sending.notify_one(),
        _ => {}
    };
    send_until(options, &mut notice, is_sending.notified()).await.unwrap()
}

#[tokio::test]
async fn a_client_that_is_stopped_closes_and_reports_what_it_has() {
    let (address, _stop, _serving) = server(|_| ()).await;
    let report = stopped_once_it_sends(&quickly(address, 1_000_000)).await;
    assert!(report.interrupted && (1..1_000_000).contains(&report.messages), "{report}");
    assert_eq!((report.answers, report.failure), (report.messages, None));
}

#[tokio::test]
async fn a_message_that_still_waits_for_room_when_its_client_is_stopped_was_not_sent() {
    let (address, _stop, _serving) = server(|_| ()).await;
    let mut options = quickly(address, 0);
    let Messages::Workload { plan, .. } = &mut options.messages else { unreachable!() };
    (plan.arrivals, plan.limit) = (Arrivals::Greedy, Limit::Unlimited);
    plan.size = lab::Sizes::Constant(10_000);
    options.patience = Duration::from_secs(60);
    let report = stopped_once_it_sends(&options).await;
    assert_eq!((report.answers, report.failure), (report.messages, None));
}

#[tokio::test]
async fn wrong_input_fails_before_the_network_is_touched() {
    let silent: SocketAddr = "192.0.2.1:9".parse().unwrap();
    let mut options = quickly(silent, 1);
    let Messages::Workload { plan, .. } = &mut options.messages else { unreachable!() };
    plan.size = lab::Sizes::Constant(20);
    let small = send_until(&options, &mut |_| (), pending()).await.unwrap_err();
    assert!(small.is_usage() && small.to_string().contains("28 bytes"), "{small}");
    options.messages = Messages::Given {
        input: Input::File("/nowhere/messages".into()),
        framing: Framing::Lines,
        arrivals: None,
        limit: Limit::Unlimited,
        seed: 1,
    };
    let missing = send_until(&options, &mut |_| (), pending()).await.unwrap_err();
    assert!(missing.is_usage());
    assert!(missing.to_string().starts_with("cannot read \"/nowhere/messages\": "), "{missing}");
}

#[tokio::test]
async fn the_longest_message_comes_back_and_a_longer_one_is_refused_with_the_longest() {
    let (address, _stop, _serving) = server(|_| ()).await;
    let of = |size| {
        let mut options = quickly(address, 2);
        let Messages::Workload { plan, .. } = &mut options.messages else { unreachable!() };
        plan.size = lab::Sizes::Constant(size);
        options
    };
    let longest = stamp::longest_measured();
    let report = send_until(&of(longest), &mut |_| (), pending()).await.unwrap();
    assert_eq!((report.messages, report.answers, report.failure), (2, 2, None));
    let failure = send_until(&of(longest + 1), &mut |_| (), pending()).await.unwrap_err();
    assert!(
        failure.is_usage() && failure.to_string().contains(&format!("{longest}B")),
        "{failure}"
    );
}

#[tokio::test]
async fn a_server_that_is_not_there_is_a_network_failure_with_its_address() {
    let hole = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let mut options = quickly(hole.local_addr().unwrap(), 1);
    options.connect_timeout = Duration::from_millis(50);
    let failure = send_until(&options, &mut |_| (), pending()).await.unwrap_err();
    assert!(!failure.is_usage());
    let text = failure.to_string();
    let expected = format!("no answer from {} within 50ms; is a server", options.to);
    assert!(text.starts_with(&expected), "{text}");
}

#[tokio::test]
async fn too_many_streams_are_refused_with_what_would_be_right() {
    let (address, _stop, _serving) = server(|options| options.streams = 2).await;
    let failure = send_until(&quickly(address, 1), &mut |_| (), pending()).await.unwrap_err();
    assert_eq!(failure.to_string(), "the server grants 2 streams; --streams 3 are too many");
}

#[tokio::test]
async fn a_recording_is_sent_with_its_sizes() {
    let (address, stop, serving) = server(|_| ()).await;
    let mut options = quickly(address, 1);
    let recording = lab::Recording::parse("time,size\n5s,500\n5004ms,40\n5.01s,70\n").unwrap();
    let (recording, stream) = (Arc::new(recording), None);
    options.messages = Messages::Recorded { recording, stream, limit: Limit::Unlimited };
    let report = send_until(&options, &mut |_| (), pending()).await.unwrap();
    assert_eq!((report.messages, report.bytes, report.answers), (3, 610, 3));
    if let Messages::Recorded { limit, .. } = &mut options.messages {
        *limit = Limit::Count(2);
    }
    let report = send_until(&options, &mut |_| (), pending()).await.unwrap();
    assert_eq!((report.messages, report.bytes), (2, 540));
    if let Messages::Recorded { stream, .. } = &mut options.messages {
        *stream = Some("3a".to_owned());
    }
    let error = send_until(&options, &mut |_| (), pending()).await.unwrap_err();
    assert!(error.is_usage() && error.to_string().contains("no stream 3a"), "{error}");
    drop(stop);
    assert_eq!(serving.await.unwrap().messages, 5);
}

#[tokio::test]
async fn a_closed_port_is_told_from_silence() {
    let closed = std::net::UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let failure = send_until(&quickly(closed, 1), &mut |_| (), pending()).await.unwrap_err();
    assert!(!failure.is_usage());
    if cfg!(target_os = "linux") {
        assert_eq!(failure.to_string(), format!("no endpoint listens at {closed}"));
    }
}

/// Runs a server on a thread of its own, which ends without an ABORT when the returned sender is
/// dropped.
fn mortal_server(
    at: SocketAddr,
) -> (SocketAddr, std::sync::mpsc::Sender<()>, std::thread::JoinHandle<()>) {
    let (tell, told) = std::sync::mpsc::channel();
    let (kill, killed) = std::sync::mpsc::channel::<()>();
    let thread = std::thread::spawn(move || {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let runtime = builder.worker_threads(1).enable_all().build().unwrap();
        runtime.spawn(async move {
            let mut options = ServeOptions::new(at);
            options.identity = Some(KEY.clone());
            let on_ready = |listen| tell.send(listen).unwrap();
            serve_until(&options, &mut |_| (), on_ready, pending()).await.unwrap();
        });
        let _ = killed.recv();
        runtime.shutdown_timeout(std::time::Duration::from_secs(5));
    });
    (told.recv().unwrap(), kill, thread)
}

#[tokio::test]
async fn where_it_is_wanted_a_killed_server_is_connected_to_again_and_the_gap_is_reported() {
    let (address, kill, thread) = mortal_server("127.0.0.1:0".parse().unwrap());
    // Enough messages to outlast the second after which the client contacts a silent server again.
    let mut options = quickly(address, 1_500);
    options.reconnect = true;
    options.patience = Duration::from_secs(5);
    let name = format!("thinstream-reconnecting-{}.jsonl", std::process::id());
    let events = std::env::temp_dir().join(name);
    options.events = Some(events.clone());
    let mut lines = Vec::new();
    let mut notice = |notice| {
        if let Notice::Line(line) = notice {
            lines.push(line);
        }
    };
    let restart = tokio::task::spawn_blocking(move || {
        std::thread::sleep(std::time::Duration::from_millis(200));
        drop(kill);
        thread.join().unwrap();
        mortal_server(address)
    });
    let report = send_until(&options, &mut notice, pending()).await.unwrap();
    let (_, kill, thread) = restart.await.unwrap();
    assert_eq!((report.messages, report.failure.as_deref()), (1_500, None), "{report}");
    assert!(report.losses.reconnections >= 1 && report.losses.longest_gap_s > 0.0, "{report}");
    let recorded = std::fs::read_to_string(&events).unwrap();
    std::fs::remove_file(&events).unwrap();
    let timeouts = recorded.lines().filter(|line| line.contains("\"event\":\"timeout\"")).count();
    assert!(timeouts > 0, "a silent server costs some");
    assert_eq!(report.transfer.timeouts, timeouts as u64, "those of both associations: {report}");
    let unanswered = report.messages - report.answers;
    assert!(report.answers > 100 && unanswered >= report.losses.unsent, "{report}");
    assert!(lines.iter().any(|line| line.contains("not acknowledged")), "{lines:?}");
    assert!(lines.iter().any(|line| line.starts_with("connected again")), "{lines:?}");
    assert!(report.to_string().contains("reconnections"), "{report}");
    drop(kill);
    thread.join().unwrap();
}

#[tokio::test]
async fn a_server_that_answers_at_the_other_family_only_is_reached_there() {
    let (address, stop, serving) = server(|_| ()).await;
    // Nothing listens there.
    let silent = SocketAddr::new("::1".parse().unwrap(), address.port());
    let options = SendOptions { other: Some(address), ..quickly(silent, 3) };
    let report = send_until(&options, &mut |_| (), pending()).await.unwrap();
    assert_eq!((report.to, report.answers), (address.to_string(), 3));
    drop(stop);
    assert_eq!(serving.await.unwrap().messages, 3);
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn a_full_disk_costs_the_files_and_neither_traffic_nor_report() {
    let full = || Some("/dev/full".into());
    let (address, stop, serving) = server(|options| options.pcap = full()).await;
    let options = SendOptions { pcap: full(), events: full(), ..quickly(address, 50) };
    let report = send_until(&options, &mut |_| (), pending()).await.unwrap();
    assert_eq!((report.answers, report.failure), (50, None));
    assert_eq!(report.unwritten.len(), 2, "{:?}", report.unwritten);
    assert!(report.unwritten.iter().all(|file| file.to_string().contains("/dev/full")));
    drop(stop);
    let served = serving.await.unwrap();
    assert_eq!((served.messages, served.unwritten.len()), (50, 1));
}

#[tokio::test]
async fn what_was_sent_before_a_line_that_is_no_message_counts() {
    let (address, stop, serving) = server(|_| ()).await;
    let path = std::env::temp_dir().join(format!("thinstream-bad-line-{}", std::process::id()));
    // The second message is longer than an association accepts.
    let bytes = [&[0, 0, 0, 5][..], b"hello", &[0xff; 4]].concat();
    std::fs::write(&path, bytes).unwrap();
    let mut options = quickly(address, 1);
    options.messages = Messages::Given {
        input: Input::File(path.clone()),
        framing: Framing::LengthPrefixed,
        arrivals: None,
        limit: Limit::Unlimited,
        seed: 1,
    };
    let report = send_until(&options, &mut |_| (), pending()).await.unwrap();
    std::fs::remove_file(&path).unwrap();
    assert_eq!((report.messages, report.answers), (1, 1), "{report}");
    assert!(report.failed_by_input && report.failure.is_some());
    drop(stop);
    serving.await.unwrap();
}

/// Lines that a client printed, and how it ended.
async fn told(options: &SendOptions) -> (Vec<String>, Result<SendReport, SendFailure>) {
    let mut lines = Vec::new();
    let mut notice = |notice| {
        if let Notice::Line(line) = notice {
            lines.push(line);
        }
    };
    let ended = send_until(options, &mut notice, pending()).await;
    (lines, ended)
}

#[tokio::test]
async fn a_server_is_known_by_its_first_key_and_another_key_is_one_clear_line() {
    let (address, stop, serving) = server(|_| ()).await;
    let file = std::env::temp_dir().join(format!("thinstream-known-{}", std::process::id()));
    let _ = std::fs::remove_file(&file);
    let name = "the-server:9899".to_owned();
    let first_use = ServerKey::FirstUse { file: file.clone(), name: name.clone() };
    let options = SendOptions { server: Some(first_use), ..quickly(address, 3) };
    let (lines, ended) = told(&options).await;
    assert_eq!(ended.unwrap().peer, Some(KEY.fingerprint().to_string()));
    assert!(lines.iter().any(|line| line.contains("was not known")), "{lines:?}");
    let kept = std::fs::read_to_string(&file).unwrap();
    assert_eq!(kept, format!("{name} {}\n", KEY.fingerprint()));
    let (lines, ended) = told(&options).await;
    assert!(ended.is_ok() && !lines.iter().any(|line| line.contains("was not known")));
    drop(stop);
    serving.await.unwrap();
    // Another key at the same address: nothing is learned, and the line is named.
    let other = new_identity();
    let (address, stop, serving) = server(|options| options.identity = Some(other.clone())).await;
    let options = SendOptions { to: address, ..options };
    let failure = told(&options).await.1.unwrap_err();
    assert!(!failure.is_usage());
    let text = failure.to_string();
    let place = format!("{}:1", file.display());
    assert!(text.contains(&place) && text.contains(&other.fingerprint().to_string()), "{text}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), kept);
    std::fs::remove_file(file).unwrap();
    drop(stop);
    assert_eq!(serving.await.unwrap().messages, 0);
}

/// A server for one key, and the lines that it prints.
async fn server_for(
    key: Fingerprint,
) -> (SocketAddr, tokio::sync::mpsc::UnboundedReceiver<String>, tokio::task::JoinHandle<()>) {
    let mut options = ServeOptions::new("127.0.0.1:0".parse().unwrap());
    (options.identity, options.clients) = (Some(KEY.clone()), key.into());
    let (tell, told) = tokio::sync::mpsc::unbounded_channel();
    let (ready, address) = tokio::sync::oneshot::channel();
    let serving = tokio::spawn(async move {
        let mut notice = |notice| {
            if let Notice::Line(line) = notice {
                let _ = tell.send(line);
            }
        };
        let on_ready = |listen| ready.send(listen).unwrap();
        serve_until(&options, &mut notice, on_ready, pending()).await.unwrap();
    });
    (address.await.unwrap(), told, serving)
}

#[tokio::test]
async fn a_client_without_an_authorised_key_is_told_of_on_both_sides_and_one_with_it_is_served() {
    let allowed = new_identity();
    let (address, mut lines, serving) = server_for(allowed.fingerprint()).await;
    let options = SendOptions { identity: Some(allowed.clone()), ..quickly(address, 3) };
    assert_eq!(told(&options).await.1.unwrap().answers, 3);
    let stranger = new_identity();
    let key = stranger.fingerprint().to_string();
    let connect_timeout = Duration::from_secs(2);
    let options = SendOptions { identity: Some(stranger), connect_timeout, ..options };
    let text = told(&options).await.1.unwrap_err().to_string();
    assert!(text.contains("does not accept this side's key") && text.contains(&key), "{text}");
    let mut said = Vec::new();
    while let Ok(line) = lines.try_recv() {
        said.push(line);
    }
    let about_it: Vec<_> = said.iter().filter(|line| line.contains(&key)).collect();
    assert_eq!(about_it.len(), 1, "{said:?}");
    assert!(about_it[0].starts_with("refused 127.0.0.1:"), "{said:?}");
    assert!(said.iter().any(|line| line.starts_with("client 1: ")), "{said:?}");
    serving.abort();
}

#[tokio::test]
async fn an_encrypted_server_and_a_client_in_plain_never_meet() {
    let (address, stop, serving) = server(|_| ()).await;
    let mut options = SendOptions {
        encapsulation: Encapsulation::PlainUdp,
        server: None,
        connect_timeout: Duration::from_secs(1),
        ..quickly(address, 3)
    };
    let text = told(&options).await.1.unwrap_err().to_string();
    assert!(text.ends_with("One that encrypts answers only without --plain"), "{text}");
    options.server = Some(ServerKey::Known(KEY.fingerprint()));
    let text = told(&options).await.1.unwrap_err().to_string();
    assert!(text.contains("prove no key"), "{text}");
    drop(stop);
    assert_eq!(serving.await.unwrap().clients, 0);
}

#[tokio::test]
async fn a_server_in_plain_and_an_encrypted_client_never_meet_and_the_error_names_the_option() {
    let (address, stop, serving) = server(|options| {
        (options.encapsulation, options.identity) = (Encapsulation::PlainUdp, None);
    })
    .await;
    let options =
        SendOptions { connect_timeout: Duration::from_millis(300), ..quickly(address, 3) };
    let text = told(&options).await.1.unwrap_err().to_string();
    assert!(text.ends_with("One started with --plain answers only to --plain"), "{text}");
    drop(stop);
    assert_eq!(serving.await.unwrap().clients, 0);
}
