//! Cost of a message of a thin stream over real sockets: connections that send 100 bytes each 250
//! ms over loopback, each answered, through plain UDP, the kernel's TCP, QUIC and thinstream, side
//! by side in one run.
//!
//! `make bench-sockets`, or `cargo run --release -- --connections 2000 --connections 10000` in this
//! folder. For each transport and number of connections a server process and a client process are
//! started; all of them take turns, several rounds of each, so that other work of the machine meets
//! all alike.

mod answers;
mod clients;
mod edge;
mod input;
mod pace;
mod probe;
mod process;
mod relay;
mod rounds;
mod sender;
mod server;
mod soak;
mod threads;
mod transports;

use clap::{Parser, Subcommand};

use crate::transports::Transport;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Bytes of a message and of its answer.
const MESSAGE: usize = 100;

#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    role: Option<Role>,
    #[command(flatten)]
    plan: rounds::Plan,
}

#[derive(Subcommand)]
enum Role {
    /// Many associations of thinstream for long, through a relay that loses packets: memory and
    /// latencies of the server each minute; fails if a message is lost, repeated or out of
    /// order, or if the server's memory grows.
    Soak(soak::Plan),
    /// Measure the cost of an edge: clients' TCP from another network namespace to the service
    /// itself, through `thinstream edge` and through haproxy in TCP mode, in turns. Needs root.
    Edge(edge::Plan),
    /// The server process of a measurement; started by the benchmark.
    Serve {
        transport: Transport,
        #[arg(long)]
        threads: usize,
    },
    /// The relay of a soak; started by it.
    Relay {
        server: String,
        #[arg(long)]
        clients: usize,
        #[arg(long)]
        loss: f64,
    },
    /// The client process of a measurement; started by the benchmark.
    Drive {
        transport: Transport,
        /// The address that the server printed, and its key if it has one.
        server: String,
        #[arg(long)]
        connections: usize,
        #[arg(long)]
        interval_ms: u64,
    },
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    io::raise_descriptor_limit()?;
    match arguments.role {
        None => rounds::run(&arguments.plan),
        Some(Role::Soak(plan)) => soak::run(&plan),
        Some(Role::Edge(plan)) => edge::run(&plan),
        Some(Role::Relay { server, clients, loss }) => relay::run(&server, clients, loss),
        Some(Role::Serve { transport, threads }) => server::run(transport, threads),
        Some(Role::Drive { transport, server, connections, interval_ms }) => {
            clients::run(transport, &server, connections, interval_ms)
        }
    }
}
