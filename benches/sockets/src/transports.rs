//! The transports: what serves messages, and what sends them on connections.

mod ours;
mod quic;
mod tcp;
mod udp;

use std::pin::Pin;

use clap::ValueEnum;

use crate::Result;
use crate::answers::Answers;
use crate::probe::Probe;
use crate::sender::Sender;

/// Connections that are set up at the same time.
pub const AT_ONCE: usize = 64;

/// Transport of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Transport {
    /// Datagrams of plain UDP, and their answers: nothing is repeated or acknowledged.
    Udp,
    /// The kernel's TCP, through tokio.
    Tcp,
    /// quinn, encrypting: a stream of each connection.
    Quinn,
    /// thinstream without encryption.
    Plain,
    /// thinstream, encrypting.
    Encrypted,
}

type Connecting = Pin<Box<dyn Future<Output = Result<Sender>>>>;

impl Transport {
    /// Answers each message; prints the address first.
    pub async fn serve(self, probe: Probe, threads: usize) -> Result<()> {
        match self {
            Transport::Udp => udp::serve(probe).await,
            Transport::Tcp => tcp::serve(probe).await,
            Transport::Quinn => quic::serve(probe).await,
            Transport::Plain => ours::serve(probe, false, threads).await,
            Transport::Encrypted => ours::serve(probe, true, threads).await,
        }
    }

    /// Opens connections to the server, whose answers are read and counted.
    pub async fn connect(
        self,
        server: &str,
        connections: usize,
        answers: &Answers,
    ) -> Result<Vec<Sender>> {
        let quic = quic::Clients::new(connections)?;
        let mut senders = Vec::with_capacity(connections);
        let mut numbers = (0..connections).peekable();
        while numbers.peek().is_some() {
            let some = numbers.by_ref().take(AT_ONCE).map(|number| -> Connecting {
                let (server, answers) = (server.to_owned(), answers.of_connection());
                match self {
                    Transport::Udp => Box::pin(udp::connect(server, answers)),
                    Transport::Tcp => Box::pin(tcp::connect(server, answers)),
                    Transport::Quinn => Box::pin(quic.connect(number, server, answers)),
                    Transport::Plain | Transport::Encrypted => {
                        Box::pin(ours::connect(server, answers))
                    }
                }
            });
            senders.extend(all(some).await?);
        }
        Ok(senders)
    }
}

/// Runs the futures at the same time on this thread.
async fn all(futures: impl Iterator<Item = Connecting>) -> Result<Vec<Sender>> {
    let local = tokio::task::LocalSet::new();
    let tasks: Vec<_> = futures.map(|future| local.spawn_local(future)).collect();
    local
        .run_until(async {
            let mut senders = Vec::new();
            for task in tasks {
                senders.push(task.await??);
            }
            Ok(senders)
        })
        .await
}
