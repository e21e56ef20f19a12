//! Process between the clients and the service: its start, and its resources.

use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::{EDGE, MACHINE, PORT, Place, Plan};
use crate::Result;
use crate::probe::resident_bytes;
use crate::threads::spent;

/// Kinds of process between the clients and the service; proxies with a number of threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Between {
    Nothing,
    Edge(usize),
    Haproxy(usize),
}

impl Between {
    pub(super) fn name(self) -> String {
        match self {
            Between::Nothing => "nothing, the kernel alone".to_owned(),
            Between::Edge(threads) => format!("thinstream edge, threads: {threads}"),
            Between::Haproxy(threads) => format!("haproxy, threads: {threads}"),
        }
    }

    /// Address that clients connect to, where the service listens at `port`.
    pub(super) fn address(self, port: u16) -> SocketAddr {
        match self {
            Between::Nothing => (MACHINE, port).into(),
            Between::Edge(_) => (EDGE, PORT).into(),
            Between::Haproxy(_) => (MACHINE, PORT).into(),
        }
    }

    /// Starts it in front of `service`.
    pub(super) fn start(
        self,
        plan: &Plan,
        place: &Place,
        service: &str,
        connections: usize,
    ) -> Result<Option<Proxy>> {
        let mut command = match self {
            Between::Nothing => return Ok(None),
            Between::Edge(threads) => {
                let mut edge = Command::new(&plan.program);
                let network = format!("{EDGE}/24");
                edge.args(["edge", "--address", &network, "--listen", &PORT.to_string()]);
                edge.args(["--forward", service, "--max-per-client", "65536", "--json"]);
                edge.args(["--shards", &threads.to_string()]);
                edge
            }
            Between::Haproxy(_) => {
                let mut haproxy = Command::new(&plan.haproxy);
                haproxy.args(["-db", "-f", "/dev/stdin"]);
                haproxy
            }
        };
        command.stdin(Stdio::piped()).stdout(Stdio::null());
        let mut child = place.far.enter(|| command.spawn())??;
        let input = child.stdin.take();
        if let (Between::Haproxy(threads), Some(mut input)) = (self, input) {
            write!(input, "{}", haproxy_configuration(service, connections, threads))?;
        }
        Ok(Some(Proxy(child)))
    }
}

/// Small messages leave at once.
fn haproxy_configuration(service: &str, connections: usize, threads: usize) -> String {
    // One more, by which the start is found.
    let most = connections + 1;
    format!(
        "global\n    maxconn {most}\n    nbthread {threads}\ndefaults\n    mode tcp\n    timeout connect 5s\n    timeout client 1h\n    \
         timeout server 1h\nlisten thin\n    bind {MACHINE}:{PORT}\n    server service {service} maxconn {most}\n"
    )
}

/// The running edge or haproxy; it ends with this value.
pub(super) struct Proxy(Child);

impl Proxy {
    pub(super) fn spent(&self) -> Result<Spent> {
        Spent::of(self.0.id())
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // An error means that it ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Resources that a process has used since its start.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spent {
    /// Processor time of all threads, in nanoseconds.
    pub(super) total: u64,
    /// Clock ticks in the program and in the kernel: less exact.
    ticks: (u64, u64),
    /// Resident memory in bytes.
    pub(super) resident: u64,
}

impl Spent {
    /// Processor time that the process with this number has spent.
    pub(super) fn of(process: u32) -> Result<Spent> {
        let process = Path::new("/proc").join(process.to_string());
        let mut total = 0;
        for thread in std::fs::read_dir(process.join("task"))? {
            // A thread that has just ended has no file any more.
            total += spent(&thread?.path())?.unwrap_or(0);
        }
        let stat = std::fs::read_to_string(process.join("stat"))?;
        // The name, in parentheses, may have spaces. Fields 14 and 15 of proc(5), the third is the
        // first after it.
        let fields = stat.rsplit_once(')').ok_or("no name in stat")?.1;
        let mut fields = fields.split_whitespace().skip(11);
        let mut next = || -> Result<u64> { Ok(fields.next().ok_or("a short stat")?.parse()?) };
        let ticks = (next()?, next()?);
        Ok(Spent { total, ticks, resident: resident_bytes(&process)? })
    }

    /// The kernel's share of the time since `first`.
    pub(super) fn system_share(&self, first: &Spent) -> f64 {
        let (user, system) = (self.ticks.0 - first.ticks.0, self.ticks.1 - first.ticks.1);
        system as f64 / (user + system).max(1) as f64
    }
}
