//! The HTTP of `serve --webrtc`: connections with requests and offers of the input, raw or nearly
//! right. Each request is answered with a status that there is, an offer has an answer exactly
//! where the server took a peer, an answer says of the server what is so, and a refused request
//! changes nothing. An answer to an offer of the server makes a peer or changes nothing.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Mutex, PoisonError};

use apps::browsers::{ChangeError, Setting, Signalling, converse};
use arbitrary::Arbitrary;
use base::{Instant, Purpose, RandomStream};
use recovery::RecoveryPolicy;
use secure::Identity;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use webrtc::sdp::{Description, Setup};
use webrtc::{AcceptError, Server, ServerOptions};

use crate::{Blob, Steps, sdp};

/// Statuses of answers, those of the HTTP library included.
const STATUSES: [u16; 13] = [200, 201, 204, 400, 404, 405, 408, 413, 414, 415, 421, 431, 503];

/// A request to the signalling server.
#[derive(Arbitrary, Clone, Debug)]
pub enum Step {
    /// Arbitrary bytes, with neither valid fields nor a checksum.
    Raw(Blob),
    /// A request with a head that is mostly right.
    Ask {
        /// Method, path, type of content and host, each among those that there are and some that
        /// there are not.
        head: [u8; 4],
        /// Bytes more or fewer than the head says; mostly none.
        wrong_length: Option<(bool, i8)>,
        /// Body of the request, if it has one.
        body: Body,
    },
    /// The server offers, and this is the answer.
    Answer(Body),
}

/// Body of a request or an answer.
#[derive(Arbitrary, Clone, Debug)]
pub enum Body {
    /// Arbitrary bytes, with neither valid fields nor a checksum.
    Raw(Blob),
    /// An offer with a text in one of its lines, or as a line more.
    Offer(u8, Blob),
    /// A setting: delay and interval in hundredths of a second, loss in halves of a percent above
    /// -5.
    Setting(u8, u8, u8),
}

/// Connection to the server, and the requests on it.
#[derive(Arbitrary, Clone, Debug)]
pub struct Input {
    /// Whether the page reached a loopback address.
    loopback: bool,
    steps: Steps<Step>,
}

/// Outcome of the requests, by which a test sees that inputs reach their aims.
#[derive(Clone, Copy, Debug, Default)]
pub struct Outcome {
    /// Requests that got an answer, of any status.
    pub answered: usize,
    /// Offers and answers that were taken.
    pub taken: usize,
    /// Requests that changed the setting.
    pub set: usize,
}

/// A server of data channels and a setting, as they are behind the page.
struct Behind {
    server: Mutex<Server>,
    setting: Mutex<Setting>,
}

impl Behind {
    fn new() -> Behind {
        let identity = Identity::generate(&mut RandomStream::new(1, Purpose("identity", 0)));
        let random = RandomStream::new(1, Purpose("server", 0));
        let Ok(server) = Server::new(ServerOptions::new(Vec::new()), identity, random) else {
            panic!("the options are the defaults");
        };
        Behind { server: Mutex::new(server), setting: Mutex::default() }
    }

    fn peers(&self) -> usize {
        lock(&self.server).len()
    }
}

impl Signalling for Behind {
    fn answer(
        &self,
        offer: &str,
        _: RecoveryPolicy,
        (from, reached): (IpAddr, IpAddr),
    ) -> Result<String, AcceptError> {
        let at = SocketAddr::new(reached, 4000);
        let mut server = lock(&self.server);
        let (id, answer) = server.accept_at(Instant::ZERO, offer, Some(from), &[at])?;
        assert!(server.peer(id).is_some());
        Ok(answer.to_string())
    }

    fn set(&self, setting: Setting) -> Result<(), ChangeError> {
        setting.check()?;
        *lock(&self.setting) = setting;
        Ok(())
    }

    fn setting(&self) -> Setting {
        *lock(&self.setting)
    }
}

/// Makes a connection for each step.
pub fn run(input: &Input) -> Outcome {
    // Time stands still while anything happens, and goes on to the next deadline when all wait.
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let Ok(runtime) = builder.enable_time().start_paused(true).build() else {
        panic!("a runtime without I/O needs no resources")
    };
    let behind = Behind::new();
    let mut outcome = Outcome::default();
    for step in input.steps.0.iter().take(40) {
        match step {
            Step::Answer(body) => outcome.taken += usize::from(answer(&behind, &body.bytes())),
            _ => runtime.block_on(check(&behind, input.loopback, step, &mut outcome)),
        }
    }
    outcome
}

/// Lets the server offer, and brings this answer, with SCTP's set-up as it is and then as the offer
/// has it; whether it was taken.
fn answer(behind: &Behind, answer: &[u8]) -> bool {
    // What an answer has instead of the usual offer's choice.
    let answer = String::from_utf8_lossy(answer).replace("actpass", "active");
    let taken = take(behind, |_| answer.clone());
    let of_answer = answer.lines().find(|line| line.starts_with("a=sctp-init:"));
    if let Some(of_answer) = of_answer.filter(|_| taken) {
        let returned = |own: &str| answer.replace(of_answer, own);
        assert!(take(behind, returned), "{answer}");
    }
    taken
}

/// Lets the server offer, and brings the answer to the line of SCTP's set-up in the offer; whether
/// it was taken.
fn take(behind: &Behind, answer: impl FnOnce(&str) -> String) -> bool {
    let mut server = lock(&behind.server);
    let peers = server.len();
    let Ok((id, offer)) = server.offer_at(Instant::ZERO, None, &[]) else { return false };
    let text = offer.to_string();
    assert_eq!(text.parse(), Ok(offer));
    let own = text.lines().find(|line| line.starts_with("a=sctp-init:"));
    let answer = answer(own.unwrap_or_default());
    let taken = server.take_answer(Instant::ZERO, id, &answer);
    assert_eq!(server.len(), peers + usize::from(taken.is_ok()), "{taken:?}: {answer}");
    assert_eq!(server.peer(id).is_some(), taken.is_ok());
    taken.is_ok()
}

/// Makes one connection, and judges what came back.
async fn check(behind: &Behind, loopback: bool, step: &Step, outcome: &mut Outcome) {
    let (peers, setting) = (behind.peers(), behind.setting());
    let answers = exchange(behind, loopback, &step.bytes()).await;
    let mut taken = 0;
    let mut changes = setting;
    for answer in answers_of(&answers) {
        outcome.answered += 1;
        match answer.status {
            201 => {
                taken += 1;
                judge_answer(behind, answer.body);
            }
            204 => {
                outcome.set += 1;
                changes = behind.setting();
                assert!(changes.check().is_ok(), "{changes:?}");
            }
            status => assert!(STATUSES.contains(&status), "{status}: {answers}"),
        }
    }
    outcome.taken += taken;
    assert_eq!(behind.peers(), peers + taken, "a peer for each answer: {answers}");
    assert_eq!(behind.setting(), changes, "only a setting that was accepted counts: {answers}");
}

/// Response to a connection with these bytes.
async fn exchange(behind: &Behind, loopback: bool, bytes: &[u8]) -> String {
    let here = if loopback { [127, 0, 0, 1] } else { [192, 0, 2, 1] };
    let between = (SocketAddr::from(([203, 0, 113, 1], 5000)), SocketAddr::from((here, 80)));
    let (mut page, stream) = tokio::io::duplex(1 << 20);
    let conversation = converse(stream, between, behind);
    let talk = async {
        // The server may close before it has read all.
        let _ = page.write_all(bytes).await;
        let mut answers = Vec::new();
        let _ = page.read_to_end(&mut answers).await;
        String::from_utf8_lossy(&answers).into_owned()
    };
    tokio::join!(conversation, talk).1
}

/// Status code and body of an HTTP response.
struct Answer<'a> {
    status: u16,
    body: &'a str,
}

/// The answers of a connection, one after the other.
fn answers_of(mut text: &str) -> Vec<Answer<'_>> {
    let mut all = Vec::new();
    while !text.is_empty() {
        let Some((head, rest)) = text.split_once("\r\n\r\n") else { panic!("half a head: {text}") };
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        let Some(status) = status else { panic!("no status: {head}") };
        if status == 100 {
            // The page may go on with its body.
            text = rest;
            continue;
        }
        let mut lengths = head.lines().filter_map(|line| line.strip_prefix("content-length: "));
        let said = lengths.next_back().and_then(|length| length.parse().ok()).unwrap_or(0);
        // An answer to HEAD says the length of what it leaves out.
        let length = if said <= rest.len() && rest.is_char_boundary(said) { said } else { 0 };
        let (body, next) = match rest.starts_with("HTTP/1.") {
            true => ("", rest),
            false => rest.split_at(length),
        };
        assert!(next.is_empty() || next.starts_with("HTTP/1."), "{text}");
        all.push(Answer { status, body });
        text = next;
    }
    all
}

/// Whether an answer says of the server what is so, and leaves nothing open.
fn judge_answer(behind: &Behind, body: &str) {
    let read: Result<Description, _> = body.parse();
    let Ok(answer) = read else { panic!("{read:?}: {body}") };
    assert!(answer.lite && answer.setup != Setup::ActPass, "{body}");
    assert_eq!(answer.fingerprints, [lock(&behind.server).fingerprint()].into(), "{body}");
    assert_eq!(answer.candidates.len(), 1, "{body}");
    assert!(answer.credentials.password.len() >= 22, "{body}");
    assert!(body.lines().count() < 20, "{body}");
}

impl Step {
    fn bytes(&self) -> Vec<u8> {
        let (head, more, body) = match self {
            Step::Raw(Blob(bytes)) => return bytes.clone(),
            Step::Answer(body) => return body.bytes(),
            Step::Ask { head, wrong_length, body } => {
                let more = wrong_length.filter(|(really, _)| *really).map_or(0, |(_, more)| more);
                (head, more, body.bytes())
            }
        };
        // Mostly the first, which is right.
        let one_of = |which: usize, all: &[&'static str]| {
            let chosen = usize::from(head[which]).saturating_sub(200) % all.len();
            all.get(chosen).copied().unwrap_or_default()
        };
        let method = one_of(0, &["POST", "GET", "HEAD", "PUT"]);
        let (right, content) = match self {
            Step::Ask { body: Body::Setting(..), .. } => ("/setting", "application/json"),
            _ => ("/offer", "application/sdp"),
        };
        let path = one_of(1, &[right, "/offer?policy=rfc", "/offer?policy=", "/offer?p", "/", "*"]);
        let content = one_of(2, &[content, "application/json", "text/plain", "application/sdp;a"]);
        let host = one_of(3, &["localhost", "127.0.0.1:80", "[::1]", "example.com", "[", ""]);
        let length = body.len().saturating_add_signed(more.into());
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: {content}\r\nContent-Length: {length}\r\n\r\n"
        );
        [head.into_bytes(), body].concat()
    }
}

impl Body {
    fn bytes(&self) -> Vec<u8> {
        match self {
            Body::Raw(Blob(bytes)) => bytes.clone(),
            Body::Offer(line, Blob(text)) => {
                sdp::changed((*line).into(), &String::from_utf8_lossy(text)).into_bytes()
            }
            Body::Setting(delay, loss, interval) => format!(
                r#"{{"delay_ms":{},"loss_percent":{},"interval_ms":{}}}"#,
                u32::from(*delay) * 10,
                f64::from(*loss) / 2.0 - 5.0,
                u32::from(*interval) * 10,
            )
            .into_bytes(),
        }
    }
}

fn lock<T>(what: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}
