//! A plan's flows through real sockets: `serve`, `emulate` and `send` on loopback, in this process.

use std::error::Error;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;

use apps::emulate::{EmulateOptions, LinkOptions, emulate_until};
use apps::send::{Messages, SendOptions, SendReport, send_until};
use apps::serve::{ServeOptions, ServeReport, serve_until};
use base::Duration;
use lab::plan::FlowsPlan;
use lab::policy_text::TransportName;
use lab::{Limit, WorkloadPlan};
use thinstream::{AssociationOptions, Encapsulation, RecoveryPolicy};
use tokio::sync::oneshot;
use tokio::task::LocalSet;

pub(crate) type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Time limit for a client to connect, and for its last message to arrive.
const PATIENCE: Duration = Duration::from_secs(120);

/// Measurements of a run over real sockets.
pub(crate) struct Measured {
    /// Nanoseconds from when a message was due until the server had it, and how often.
    pub(crate) latencies: Vec<(u64, u64)>,
    /// Lateness of the emulated link that 99 of 100 packets do not exceed, the worse of both
    /// directions.
    pub(crate) late_ms: f64,
}

/// Flows of a plan, for a client each.
pub(crate) struct Flows {
    policy: Arc<RecoveryPolicy>,
    workload: WorkloadPlan,
    link: LinkOptions,
    clients: u64,
}

impl Flows {
    /// The plan's first group, which sends for as long as it does in virtual time.
    pub(crate) fn of(plan: &FlowsPlan) -> Outcome<Flows> {
        let flow = plan.flows.first().ok_or("the plan has no flow")?;
        let size = flow.workload.size.ok_or("the plan says no size")?.0;
        let loss = plan.network.link.loss.clone().unwrap_or_default().0;
        let delay = plan.network.link.rtt.ok_or("the plan says no round trip")?.0 / 2;
        let arrivals = flow.workload.drawn().ok_or("arrivals follow no rule")?;
        let limit = Limit::Time(plan.duration.saturating_sub(flow.set_up.0));
        Ok(Flows {
            policy: Arc::new(flow.policy.build(TransportName::Sctp)?),
            workload: WorkloadPlan { arrivals, size, limit },
            link: LinkOptions { delay, loss, ..LinkOptions::default() },
            clients: flow.count.into(),
        })
    }

    /// Options as in the laboratory: heartbeats would be measured as traffic.
    fn association() -> AssociationOptions {
        AssociationOptions { heartbeat_interval: None, ..AssociationOptions::default() }
    }
}

/// Runs the flows of the plan's first group over a link of their own, whose losses are those that
/// the virtual one has with this seed.
pub(crate) fn run(plan: &FlowsPlan, seed: u64) -> Outcome<Measured> {
    let flows = Flows::of(plan)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(LocalSet::new().run_until(measure(flows, seed)))
}

async fn measure(flows: Flows, seed: u64) -> Outcome<Measured> {
    let (server, server_stop, serving) = {
        let mut options = ServeOptions::new("127.0.0.1:0".parse()?);
        (options.echo, options.policy) = (false, Arc::clone(&flows.policy));
        // The kernel's SCTP, which the same links carry, has nothing else.
        options.encapsulation = Encapsulation::PlainUdp;
        options.association = Flows::association();
        start(move |ready, stop| async move {
            Ok(serve_until(&options, &mut |_| (), |at| _ = ready.send(at), stop).await?)
        })
        .await?
    };
    let to = Server { at: server, sctp_port: None };
    let Counts { sent, late_ms } = flows.carry(to, seed).await?;
    drop(server_stop);
    let served: ServeReport = serving.await??;
    if served.messages != sent {
        return Err(format!("{} of {sent} messages arrived", served.messages).into());
    }
    Ok(Measured { latencies: served.one_way_bins, late_ms })
}

/// The server that the flows are for.
#[derive(Clone, Copy)]
pub(crate) struct Server {
    /// UDP address of the server.
    pub(crate) at: SocketAddr,
    /// SCTP port of the server; none: that of `serve`.
    pub(crate) sctp_port: Option<u16>,
}

/// Counts of the senders and of the link between.
pub(crate) struct Counts {
    /// Number of messages that the senders sent.
    pub(crate) sent: u64,
    /// Lateness of the link in milliseconds, as in [`Measured`].
    pub(crate) late_ms: f64,
}

impl Flows {
    /// Carries all messages to a server over an emulated link.
    pub(crate) async fn carry(&self, server: Server, seed: u64) -> Outcome<Counts> {
        let (relay, relay_stop, relaying) = {
            let mut options = EmulateOptions::new("127.0.0.1:0".parse()?, server.at);
            (options.paths[0].up, options.paths[0].down) = (self.link.clone(), self.link.clone());
            options.seed = seed;
            start(move |ready, stop| async move {
                Ok(emulate_until(&options, |at| _ = ready.send(at[0]), stop).await?)
            })
            .await?
        };
        let clients: Vec<_> = (0..self.clients)
            .map(|client| {
                let mut options = SendOptions::new(relay);
                options.encapsulation = Encapsulation::PlainUdp;
                options.messages =
                    Messages::Workload { plan: self.workload, seed: seed << 32 | client };
                options.sctp_port = server.sctp_port.unwrap_or(options.sctp_port);
                options.policy = Arc::clone(&self.policy);
                options.association = Flows::association();
                (options.connect_timeout, options.patience) = (PATIENCE, PATIENCE);
                tokio::task::spawn_local(send(options))
            })
            .collect();
        let mut sent = 0;
        for client in clients {
            let report = client.await??;
            if let Some(failure) = report.failure {
                return Err(failure.into());
            }
            sent += report.messages;
        }
        drop(relay_stop);
        let relayed = relaying.await??;
        let path = &relayed.paths[0];
        Ok(Counts { sent, late_ms: path.up.late_ms.p99.max(path.down.late_ms.p99) })
    }
}

async fn send(options: SendOptions) -> Outcome<SendReport> {
    Ok(send_until(&options, &mut |_| (), std::future::pending()).await?)
}

type Running<T> = tokio::task::JoinHandle<Outcome<T>>;

/// Starts something that says where it listens, and runs until what comes with it is dropped.
async fn start<A: 'static, T: 'static, F: Future<Output = Outcome<T>> + 'static>(
    run: impl FnOnce(oneshot::Sender<A>, Stopped) -> F,
) -> Outcome<(A, oneshot::Sender<()>, Running<T>)> {
    let (ready, is_ready) = oneshot::channel();
    let (stop, stopped) = oneshot::channel();
    let running = tokio::task::spawn_local(run(ready, Box::pin(async { drop(stopped.await) })));
    match is_ready.await {
        Ok(at) => Ok((at, stop, running)),
        Err(_) => Err(running.await?.err().unwrap_or_else(|| "it ended at once".into())),
    }
}

type Stopped = std::pin::Pin<Box<dyn Future<Output = ()>>>;
