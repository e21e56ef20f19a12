use super::*;

#[tokio::test]
async fn a_port_in_use_and_a_file_that_cannot_be_written_are_named() {
    let taken = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let mut options = ServeOptions::new(address);
    let failed = serve_until(&options, &mut |_| (), |_| (), std::future::ready(())).await;
    let text = failed.unwrap_err().to_string();
    assert_eq!(text, format!("cannot open UDP {address}: the port is already in use"));
    options.events = Some("/nowhere/events.jsonl".into());
    let failed = serve_until(&options, &mut |_| (), |_| (), std::future::ready(())).await;
    let text = failed.unwrap_err().to_string();
    assert!(text.starts_with("cannot write \"/nowhere/events.jsonl\": "), "{text}");
}

#[tokio::test]
async fn a_server_ends_after_its_duration_and_reports_nothing_when_nobody_came() {
    let mut options = ServeOptions::new("127.0.0.1:0".parse().unwrap());
    options.duration = Some(Duration::from_millis(30));
    let mut lines = Vec::new();
    let mut notice = |notice| {
        if let Notice::Line(line) = notice {
            lines.push(line);
        }
    };
    let report = serve_until(&options, &mut notice, |_| (), std::future::pending()).await.unwrap();
    assert_eq!((report.clients, report.messages, report.one_way_ms), (0, 0, None));
    let key = report.key.clone().unwrap();
    assert!(lines[0].contains("encrypted, for any client") && lines[0].contains(&key), "{lines:?}");
    assert!(lines[1].ends_with(&format!("--peer {key}")), "{lines:?}");
    assert!(report.to_string().contains("0 failed"));
}

#[tokio::test]
async fn a_server_in_plain_says_so() {
    let mut options = ServeOptions::new("127.0.0.1:0".parse().unwrap());
    options.encapsulation = Encapsulation::PlainUdp;
    let mut lines = Vec::new();
    let mut notice = |notice| {
        if let Notice::Line(line) = notice {
            lines.push(line);
        }
    };
    let report = serve_until(&options, &mut notice, |_| (), std::future::ready(())).await.unwrap();
    assert!(lines[0].ends_with("traffic is not encrypted"), "{lines:?}");
    assert!(lines.len() == 1 && report.key.is_none());
    assert!(report.to_string().contains("not encrypted"), "{report}");
}
