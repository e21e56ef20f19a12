//! BZFlag's server with its protocol over TCP, through `thinstream edge` over a wire with 2 % loss
//! each way and a round trip of 130 ms.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use interop::{EdgePlace, Process, Wire, available, program};

use super::programs::{LIMIT, Place, lossy, wait_for};

const SERVER_PORT: u16 = 5154;
/// Messages of a thin stream, and the time between them.
const MESSAGES: usize = 200;
const GAP: Duration = Duration::from_millis(24);
/// Number by which the protocol addresses all players.
const ALL: u8 = 254;

/// The server, and an edge in front of it.
fn start(seed: u64) -> Option<(Process, Place)> {
    available(Wire::find())?;
    let games = PathBuf::from("/usr/games/bzfs");
    let found = if games.is_file() { Ok(games) } else { program("bzfs", "bzflag-server") };
    let bzfs = available(found)?;
    let machines = EdgePlace::with_way(lossy(seed)).unwrap();
    let mut command = Command::new(bzfs);
    command.args(["-p", &SERVER_PORT.to_string(), "-i", "127.0.0.1", "-j", "-mp", "20"]);
    let server = Process::start(Some(&machines.far), command).unwrap();
    wait_for(&machines.far, SERVER_PORT, &server);
    let place = Place::new(machines, SERVER_PORT);
    Some((server, place))
}

/// Connection of a client to the game's server.
struct Client(TcpStream);

impl Client {
    /// Connects, and hears which version of the protocol the server speaks.
    fn connect(place: &Place) -> Client {
        let mut stream = place.machines.connect().unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.write_all(b"BZFLAG\r\n\r\n").unwrap();
        let mut greeting = [0; 9];
        stream.read_exact(&mut greeting).unwrap();
        assert!(greeting.starts_with(b"BZFS"), "{greeting:?}");
        Client(stream)
    }

    /// A message: its length, its code, what it carries.
    fn read(&mut self) -> ([u8; 2], Vec<u8>) {
        let mut head = [0; 4];
        self.0.read_exact(&mut head).unwrap();
        let mut body = vec![0; usize::from(u16::from_be_bytes([head[0], head[1]]))];
        self.0.read_exact(&mut body).unwrap();
        ([head[2], head[3]], body)
    }

    /// The next message with this code.
    fn read_next(&mut self, code: [u8; 2]) -> Vec<u8> {
        loop {
            match self.read() {
                (found, body) if found == code => return body,
                (found, body) => assert_ne!(found, *b"rj", "refused: {body:?}"),
            }
        }
    }

    fn write(&mut self, code: [u8; 2], body: &[u8]) {
        let length = (body.len() as u16).to_be_bytes();
        self.0.write_all(&[&length, &code, body].concat()).unwrap();
    }

    /// Enters the game: a tank without a team, a name, a motto, no token, a version.
    fn enter(&mut self, name: &str) {
        let mut body = vec![0; 4];
        for (text, length) in [(name, 32), ("", 128), ("", 22), ("2.4.0", 60)] {
            let end = body.len() + length;
            body.extend_from_slice(text.as_bytes());
            body.resize(end, 0);
        }
        self.write(*b"en", &body);
        self.read_next(*b"ac");
    }
}

#[test]
fn bzflags_server_answers_a_thin_stream_of_questions_through_the_edge() {
    let Some((_server, place)) = start(26) else { return };
    let mut client = Client::connect(&place);
    let mut asking = Client(client.0.try_clone().unwrap());
    let questions = std::thread::spawn(move || {
        for _ in 0..MESSAGES {
            asking.write(*b"qg", &[]);
            std::thread::sleep(GAP);
        }
    });
    for _ in 0..MESSAGES {
        assert!(!client.read_next(*b"qg").is_empty());
    }
    questions.join().unwrap();
    drop(client);
    // The edge need not wait for the server to close.
    place.edge.ask_to_end();
    place.end();
}

#[test]
fn a_player_of_bzflag_hears_through_the_edge_what_another_says_each_24_ms() {
    let Some((_server, place)) = start(50) else { return };
    let [mut speaker, mut listener] = ["one", "two"].map(|name| {
        let mut client = Client::connect(&place);
        client.enter(name);
        client
    });
    let speaking = std::thread::spawn(move || {
        for index in 0..MESSAGES {
            let text = format!("line {index}\0");
            speaker.write(*b"mg", &[&[ALL], text.as_bytes()].concat());
            std::thread::sleep(GAP);
        }
        speaker
    });
    for index in 0..MESSAGES {
        // From whom, to whom, of which kind, what; the server says something itself.
        let expected = format!("line {index}\0");
        let heard = std::iter::repeat_with(|| listener.read_next(*b"mg"));
        let mut lines = heard.filter(|body| body.get(1) == Some(&ALL));
        assert_eq!(lines.next().unwrap()[3..], *expected.as_bytes());
    }
    drop((speaking.join().unwrap(), listener));
    place.edge.ask_to_end();
    place.end();
}
