//! Programs that people use, through `thinstream edge` over a wire with 2 % loss each way and a
//! round trip of 130 ms: OpenSSH and curl; curl also over one that reorders and doubles.

use std::fs::File;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use apps::edge::EdgeReport;
use interop::{
    EDGE, EDGE_PORT as PORT, EdgePlace, Missing, Namespace, Process, Wire, WirePlan, available,
    program,
};
use netsim::LinkConfig;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use super::edge::Running;
use super::kernel::text;

pub(crate) const LIMIT: Duration = Duration::from_secs(180);

/// Two machines with an edge.
pub(crate) struct Place {
    pub(crate) machines: EdgePlace,
    pub(crate) edge: Running,
}

/// 2 % loss each way, and a round trip of 130 ms.
pub(crate) fn lossy(seed: u64) -> WirePlan {
    WirePlan::lossy(base::Duration::from_millis(65), 2, seed)
}

impl Place {
    /// An edge in front of the service at this port of the loopback address.
    pub(crate) fn new(machines: EdgePlace, service: u16) -> Place {
        let service = SocketAddr::from(([127, 0, 0, 1], service));
        let edge = Running::start(&machines.far, service, |_| ());
        Place { machines, edge }
    }

    fn run(&self, program: &Path, words: &[&str]) -> String {
        let mut command = Command::new(program);
        command.args(words);
        let process = Process::start(Some(&self.machines.near), command).unwrap();
        let status = process.wait(LIMIT).unwrap();
        assert!(status.success(), "{words:?}: {}", process.text());
        process.text()
    }

    /// Ends the edge once its connections have; what happened on the wire is that packets were lost
    /// both ways.
    pub(crate) fn end(self) -> EdgeReport {
        let report = self.edge.end();
        for link in self.machines.wire.statistics() {
            assert!(link.dropped_by_loss.packets > 0, "{link:?}");
        }
        report
    }
}

/// Waits until a program listens at a port of the loopback address.
pub(crate) fn wait_for(namespace: &Namespace, port: u16, process: &Process) {
    let deadline = Instant::now() + Duration::from_secs(60);
    let connect = || TcpStream::connect(("127.0.0.1", port)).is_ok();
    while !namespace.enter(connect).unwrap() {
        assert!(Instant::now() < deadline, "no process listens: {}", process.text());
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Keys of a client and a server, and the server.
struct Ssh {
    folder: tempfile::TempDir,
    ssh: PathBuf,
    scp: PathBuf,
    _server: Process,
}

const SSH_PORT: u16 = 2222;

impl Ssh {
    fn find() -> Result<[PathBuf; 4], Missing> {
        Wire::find()?;
        Ok([
            program("sshd", "openssh-server")?,
            program("ssh-keygen", "openssh-client")?,
            program("ssh", "openssh-client")?,
            program("scp", "openssh-client")?,
        ])
    }

    fn start(far: &Namespace, [sshd, keygen, ssh, scp]: [PathBuf; 4]) -> Ssh {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name).display().to_string();
        for name in ["host", "user"] {
            let words = ["-q", "-t", "ed25519", "-N", "", "-f", &at(name)];
            let (status, said) = Process::output(None, &keygen, &words).unwrap();
            assert!(status.success(), "{said}");
        }
        let config = format!(
            "Port {SSH_PORT}\nListenAddress 127.0.0.1\nHostKey {}\nAuthorizedKeysFile {}\nStrictModes no\n\
             PidFile none\nUsePAM no\nPermitRootLogin yes\nPasswordAuthentication no\nSubsystem sftp internal-sftp\n",
            at("host"),
            at("user.pub"),
        );
        std::fs::write(at("config"), config).unwrap();
        // The folder in which sshd leaves its unprivileged half; the package's service makes it at
        // boot.
        std::fs::create_dir_all("/run/sshd").unwrap();
        let mut command = Command::new(sshd);
        command.args(["-D", "-e", "-f", &at("config")]);
        let server = Process::start(Some(far), command).unwrap();
        wait_for(far, SSH_PORT, &server);
        Ssh { folder, ssh, scp, _server: server }
    }

    fn options(&self) -> Vec<String> {
        let key = self.folder.path().join("user").display().to_string();
        let words =
            ["-i", &key, "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null"];
        let more = ["-o", "BatchMode=yes", "-o", "LogLevel=ERROR", "-F", "none"];
        words.iter().chain(&more).map(ToString::to_string).collect()
    }
}

/// A program that reads from and writes to a pseudo-terminal of 24 lines and 80 columns.
struct Terminal {
    master: OwnedFd,
    screen: std::sync::Arc<std::sync::Mutex<String>>,
    process: std::process::Child,
}

impl Terminal {
    fn start(namespace: &Namespace, program: &Path, words: &[String]) -> Terminal {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        let size =
            |rows, columns| Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&master, size(24, 80)).unwrap();
        let open = || File::options().read(true).write(true).open(&name).unwrap();
        let mut command = Command::new("setsid");
        command.args(["--ctty", "--wait"]).arg(program).args(words);
        command.stdin(open()).stdout(open()).stderr(Stdio::from(open()));
        let process = namespace.enter(|| command.spawn()).unwrap().unwrap();
        let screen = std::sync::Arc::<std::sync::Mutex<String>>::default();
        let (shared, mut reader) = (screen.clone(), File::from(master.try_clone().unwrap()));
        std::thread::spawn(move || {
            let mut piece = [0; 1024];
            while let Ok(length @ 1..) = reader.read(&mut piece) {
                shared.lock().unwrap().push_str(&String::from_utf8_lossy(&piece[..length]));
            }
        });
        Terminal { master, screen, process }
    }

    fn type_in(&self, text: &str) {
        File::from(self.master.try_clone().unwrap()).write_all(text.as_bytes()).unwrap();
    }

    fn resize(&self, rows: u16, columns: u16) {
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&self.master, size).unwrap();
    }

    /// Waits until the program ends, in order.
    fn wait(mut self) {
        let deadline = Instant::now() + LIMIT;
        loop {
            if let Some(status) = self.process.try_wait().unwrap() {
                assert!(status.success(), "{status}");
                return;
            }
            assert!(Instant::now() < deadline, "does not end: {:?}", self.screen.lock().unwrap());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits until the screen shows `text`; with what came up to there, which it forgets.
    fn expect(&self, text: &str) -> String {
        let deadline = Instant::now() + LIMIT;
        loop {
            let mut screen = self.screen.lock().unwrap();
            if let Some(at) = screen.find(text) {
                return screen.drain(..at + text.len()).collect();
            }
            assert!(Instant::now() < deadline, "{text:?} is not in {screen:?}");
            drop(screen);
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn openssh_types_resizes_and_copies_files_through_the_edge() {
    let Some(programs) = available(Ssh::find()) else { return };
    let machines = EdgePlace::with_way(lossy(11)).unwrap();
    let ssh = Ssh::start(&machines.far, programs);
    let place = Place::new(machines, SSH_PORT);

    let mut words = ssh.options();
    words.extend(
        ["-tt", "-p", &PORT.to_string(), &format!("root@{EDGE}"), "exec /bin/sh"].map(String::from),
    );
    let terminal = Terminal::start(&place.machines.near, &ssh.ssh, &words);
    terminal.type_in("PS1=; stty -echo; echo is''there\n");
    terminal.expect("isthere");
    for word in ["one", "two", "three"] {
        terminal.type_in(&format!("echo heard {word}\n"));
        terminal.expect(&format!("heard {word}"));
    }
    terminal.type_in("stty size\n");
    terminal.expect("24 80");
    terminal.resize(40, 100);
    // The client is notified by a signal, perhaps after what is typed next.
    let deadline = Instant::now() + LIMIT;
    loop {
        terminal.type_in("echo size; stty size\n");
        terminal.expect("size\r\n");
        if terminal.expect("\r\n").contains("40 100") {
            break;
        }
        assert!(Instant::now() < deadline, "the size stays as it was");
    }
    terminal.type_in("exit\n");
    terminal.wait();

    let (data, there) = (text(500_000), ssh.folder.path().join("there"));
    let (here, back) = (ssh.folder.path().join("here"), ssh.folder.path().join("back"));
    std::fs::write(&here, &data).unwrap();
    let remote = format!("root@{EDGE}:{}", there.display());
    let port = PORT.to_string();
    let options = ssh.options();
    let mut words: Vec<&str> = options.iter().map(String::as_str).collect();
    words.extend(["-P", &port]);
    place.run(&ssh.scp, &[&words[..], &[here.to_str().unwrap(), &remote]].concat());
    assert!(std::fs::read(&there).unwrap() == data);
    place.run(&ssh.scp, &[&words[..], &[&remote, back.to_str().unwrap()]].concat());
    assert!(std::fs::read(&back).unwrap() == data);
    let report = place.end();
    assert_eq!(report.services[0].tally.finished, 3, "{report}");
}

/// Answers each request with its body, or with `data` where it has none.
fn serve_http(listener: &TcpListener, data: &[u8], requests: usize) {
    for _ in 0..requests {
        let (mut stream, _) = listener.accept().unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            head.push(byte[0]);
        }
        let head = String::from_utf8(head).unwrap().to_lowercase();
        let length = head.split("content-length: ").nth(1).and_then(|rest| rest.lines().next());
        let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
        if head.contains("expect: 100-continue") {
            stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").unwrap();
        }
        stream.read_exact(&mut body).unwrap();
        let answer = if body.is_empty() { data } else { &body };
        let length = answer.len();
        write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n")
            .unwrap();
        stream.write_all(answer).unwrap();
    }
}

/// A megabyte each way through an edge, intact; with which place.
fn curl_through_the_edge(plan: WirePlan) -> Option<Place> {
    available(Wire::find())?;
    let curl = available(program("curl", "curl"))?;
    let machines = EdgePlace::with_way(plan).unwrap();
    let listener = machines.far.enter(|| TcpListener::bind("127.0.0.1:0")).unwrap().unwrap();
    let place = Place::new(machines, listener.local_addr().unwrap().port());
    let data = text(1_000_000);
    let served = data.clone();
    let server = std::thread::spawn(move || serve_http(&listener, &served, 2));
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    std::fs::write(&from, &data).unwrap();
    let url = format!("http://{EDGE}:{PORT}/");
    let to_file = ["-sS", "--fail", "-o", to.to_str().unwrap()];
    place.run(&curl, &[&to_file[..], &[&url]].concat());
    assert!(std::fs::read(&to).unwrap() == data);
    std::fs::remove_file(&to).unwrap();
    place.run(&curl, &[&to_file[..], &["-T", from.to_str().unwrap(), &url]].concat());
    assert!(std::fs::read(&to).unwrap() == data);
    server.join().unwrap();
    Some(place)
}

#[test]
fn curl_fetches_and_puts_a_file_through_the_edge() {
    let Some(place) = curl_through_the_edge(lossy(12)) else { return };
    assert_eq!(place.end().services[0].tally.finished, 2);
}

#[test]
fn curl_fetches_and_puts_a_file_over_a_wire_that_reorders_and_doubles_packets() {
    let link = LinkConfig {
        reorder: "10% 20ms".parse().unwrap(),
        duplicate: "1%".parse().unwrap(),
        ..LinkConfig::with_delay(base::Duration::from_millis(10))
    };
    let Some(place) = curl_through_the_edge(WirePlan { link, seed: 14 }) else { return };
    for link in place.machines.wire.statistics() {
        assert!(link.reordered.packets > 20 && link.duplicated.packets > 3, "{link:?}");
    }
    assert_eq!(place.edge.end().services[0].tally.finished, 2);
}
