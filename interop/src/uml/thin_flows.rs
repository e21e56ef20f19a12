//! Thin flows between two applications of the guest, over its loopback with delay and losses: the
//! kernel's own transports on both ends, and one clock, so that what is measured is the way there
//! alone.

mod crossings;

use std::path::PathBuf;
use std::time::Duration;

pub use crossings::Crossing;

use anyhow::{Context, Result, ensure};

use super::Uml;
use crate::build;

/// The port in the guest.
const PORT: u16 = 5000;
/// Time limit of the program for missing messages; with the time that it takes to say what it saw.
const PATIENCE: Duration = Duration::from_secs(300);

/// A transport that the kernel in User-Mode Linux provides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelTransport {
    /// One-to-one sockets of lksctp (`sctp(7)`).
    Sctp,
    /// Stream sockets of the kernel (`tcp(7)`).
    Tcp,
}

/// Flows of small messages, and their network.
#[derive(Clone, Copy, Debug)]
pub struct ThinFlows {
    /// The kernel's transport that carries the flows.
    pub transport: KernelTransport,
    /// Flows at the same time, each with a phase of its own.
    pub flows: u32,
    /// Bytes of a message, 16 at least.
    pub size: u32,
    /// Time from a message of a flow to its next.
    pub interval: Duration,
    /// Seconds for which messages are sent.
    pub seconds: u64,
    /// One-way delay of the loopback.
    pub delay: Duration,
    /// Packets in a hundred that it loses each way.
    pub loss_percent: u32,
}

/// A message that arrived, with its times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrived {
    /// The message's flow, from 0.
    pub flow: u32,
    /// The message's place in the flow, from 0.
    pub index: u32,
    /// Time at which it was given to the kernel, since the first message of all.
    pub sent: Duration,
    /// Time from then until the receiving application had it.
    pub latency: Duration,
}

impl Uml {
    /// Runs the flows to their end.
    ///
    /// # Errors
    /// With what the guest said, where one of them fails or a message never arrives.
    pub fn thin_flows(&self, plan: &ThinFlows) -> Result<Vec<Arrived>> {
        let begun = self.impair_loopback(plan.delay, plan.loss_percent);
        let measured = begun.and_then(|()| self.run_thin_flows(plan));
        self.mend_loopback()?;
        measured
    }

    /// Runs the flows to their end; what crossed the loopback in the meantime.
    ///
    /// # Errors
    /// As [`Uml::thin_flows`], and where the guest cannot capture.
    pub fn capture_thin_flows(&self, plan: &ThinFlows) -> Result<Vec<Crossing>> {
        let begun = self.impair_loopback(plan.delay, plan.loss_percent);
        let captured = begun.and_then(|()| self.run_captured(plan));
        self.mend_loopback()?;
        crossings::parse(&captured?, plan.delay)
    }

    /// A packet passes the loopback's capture as it arrives, and that of the mirror as it is sent:
    /// before netem.
    fn run_captured(&self, plan: &ThinFlows) -> Result<String> {
        let script = format!(
            "modules=/usr/lib/uml/modules/$(uname -r)/kernel\n\
             insmod $modules/net/sched/act_mirred.ko; insmod $modules/drivers/net/dummy.ko\n\
             ip link add sent type dummy && ip link set sent up mtu 1500 && tc qdisc replace dev lo clsact && \
             tc filter replace dev lo egress prio 1 handle 1 matchall action mirred egress mirror dev sent || exit 1\n\
             dumpcap -q -B 64 -i sent -i lo -w /run/crossings >/run/dumpcap 2>&1 &\n\
             until grep -q File /run/dumpcap; do sleep .1; done\n\
             {} {} >/run/thin_flows || exit 1\n\
             sleep 1; kill $!; wait $!\n\
             tc qdisc del dev lo clsact; ip link del sent\n\
             echo CAPTURE; od -An -v -tx1 /run/crossings; rm /run/crossings",
            program()?.display(),
            plan.words()
        );
        let text = self.shell(&script, Duration::from_secs(plan.seconds) + PATIENCE)?;
        let (said, capture) =
            text.split_once("CAPTURE").with_context(|| format!("no capture: {text}"))?;
        let (capture, _) = capture.split_once("STATUS").context(said.to_owned())?;
        Ok(capture.to_owned())
    }

    fn run_thin_flows(&self, plan: &ThinFlows) -> Result<Vec<Arrived>> {
        // Into memory first: a sender that waits for a pipe is late.
        let script = format!(
            "{} {} >/run/thin_flows; cat /run/thin_flows",
            program()?.display(),
            plan.words()
        );
        let limit = Duration::from_secs(plan.seconds) + PATIENCE;
        plan.parse(&self.shell(&script, limit)?)
    }

    /// The guest's loopback as a wire: packets of 1500 bytes, each as large as it was sent, with
    /// delay and with independent losses in both directions.
    fn impair_loopback(&self, delay: Duration, loss_percent: u32) -> Result<()> {
        let script = format!(
            "ip link set lo mtu 1500; ethtool -K lo tso off gso off gro off\n\
             tc qdisc replace dev lo root netem limit 1000000 delay {}us loss {loss_percent}%",
            delay.as_micros()
        );
        self.shell(&script, Duration::from_secs(10)).map(drop)
    }

    fn mend_loopback(&self) -> Result<()> {
        self.shell("tc qdisc del dev lo root; true", Duration::from_secs(10)).map(drop)
    }
}

impl ThinFlows {
    fn words(&self) -> String {
        let transport = match self.transport {
            KernelTransport::Sctp => "sctp",
            KernelTransport::Tcp => "tcp",
        };
        let ThinFlows { flows, size, seconds, .. } = self;
        format!("{transport} {flows} {size} {} {seconds} {PORT}", self.interval.as_micros())
    }

    fn parse(&self, text: &str) -> Result<Vec<Arrived>> {
        let arrived: Option<Vec<Arrived>> = text
            .lines()
            .filter_map(|line| line.trim_end().strip_prefix("M "))
            .map(|line| {
                let mut words = line.split(' ');
                let mut number = || words.next()?.parse::<u64>().ok();
                Some(Arrived {
                    flow: number()?.try_into().ok()?,
                    index: number()?.try_into().ok()?,
                    sent: Duration::from_micros(number()?),
                    latency: Duration::from_micros(number()?),
                })
            })
            .collect();
        let arrived = arrived.context("a line of the guest's is no message")?;
        let end = text.lines().find_map(|line| line.trim_end().strip_prefix("END "));
        let said = || text.lines().filter(|line| !line.starts_with("M ")).collect::<Vec<_>>();
        let end = end.with_context(|| format!("thin flows did not end: {:?}", said()))?;
        let complete = format!("{0} {0}", arrived.len());
        ensure!(end == complete, "sent and received {end}, told of {}", arrived.len());
        Ok(arrived)
    }
}

fn program() -> Result<PathBuf> {
    build::compile(&["thin_flows.c"], "thin_flows", &[])
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: ThinFlows = ThinFlows {
        transport: KernelTransport::Sctp,
        flows: 2,
        size: 100,
        interval: Duration::from_millis(250),
        seconds: 1,
        delay: Duration::from_millis(50),
        loss_percent: 5,
    };

    #[test]
    fn what_the_guest_says_is_read_and_must_be_complete() {
        let text = "M 1 0 125000 50200\r\nM 0 0 0 900000\r\nEND 2 2\r\n";
        let arrived = PLAN.parse(text).unwrap();
        let latencies: Vec<_> = arrived.iter().map(|one| one.latency.as_millis()).collect();
        assert_eq!((latencies, arrived[0].flow), (vec![50, 900], 1));
        for broken in ["M 0 0 0 900000\nEND 2 1", "M 0 0 0 900000", "M 0 x 0 1\nEND 1 1", ""] {
            assert!(PLAN.parse(broken).is_err(), "{broken}");
        }
    }
}
