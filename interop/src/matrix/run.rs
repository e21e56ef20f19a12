//! One run: an exercise with a peer, in one of the two roles.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use base::{Probability, Purpose, RandomStream};
use recovery::RecoveryPolicy;
use sctp::{AssociationOptions, Extensions, ReconfigurationPolicy};
use virtual_peers::{DcSctp, Reliability, SctpProto, StackOptions};

use super::place::Place;
use super::{Column, EXERCISES, Exercise, Matrix, Network};
use crate::ECHO_PORT;
use crate::agent::{Agent, Observed, Part};
use crate::capture::Capture;
use crate::live::{Carrier, randomness};
use crate::ours::Ours;
use crate::plan::{EchoPlan, Reset};
use crate::relay::Impairment;
use crate::virtual_run::{self, AnyStack};

/// A run of the matrix.
#[derive(Clone)]
pub struct Run {
    /// The row of the table.
    pub exercise: &'static Exercise,
    /// The column of the table.
    pub column: Column,
    /// Part of our side: client or server.
    pub part: Part,
    /// Policy by which our side recovers: the name of a preset.
    pub policy: &'static str,
    /// Tells it from all others.
    pub number: u8,
}

/// Success of a run, its failure, or what the peer lacks for it.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// The run went as it should; in short.
    Passed(String),
    /// The run failed, for this reason.
    Failed(String),
    /// The peer lacks what is exercised.
    Lacking(&'static str),
    /// There is no such peer here.
    Missing,
}

/// Largest message of any exercise.
const LARGEST: usize = 1 << 20;

impl Run {
    /// All runs of these exercises: each with all columns in both roles, and where packets get lost
    /// with a second policy.
    pub fn all(
        exercises: impl IntoIterator<Item = &'static Exercise>,
        columns: &[Column],
    ) -> Vec<Run> {
        let mut runs = vec![];
        for exercise in exercises {
            let policies: &[&str] = match exercise.loss_percent {
                0 => &["latency"],
                _ => &["latency", "rfc"],
            };
            for policy in policies {
                for part in [Part::Client, Part::Server] {
                    for column in columns {
                        let number = (runs.len() % 256) as u8;
                        runs.push(Run { exercise, column: *column, part, policy, number });
                    }
                }
            }
        }
        runs
    }

    /// The quick ones of these columns: exercises that are, with the policy `latency`.
    pub fn quick(columns: &[Column]) -> Vec<Run> {
        let mut runs = Run::all(EXERCISES.iter().filter(|exercise| exercise.quick), columns);
        runs.retain(|run| run.policy == "latency");
        runs
    }

    /// Exercise, peer, our part and policy, as the report names them.
    pub fn title(&self) -> String {
        let Run { exercise, column, part, policy, .. } = self;
        format!("{}: {}, we are {part:?}, {policy}", exercise.name, column.name())
    }

    /// Runs the exercise with both peers and judges it.
    pub fn carry_out(&self, matrix: &Matrix) -> Outcome {
        if matrix.missing(self.column).is_some() {
            return Outcome::Missing;
        }
        let plan = (self.exercise.plan)();
        let peer_is_client = self.part == Part::Server;
        let lacks = (self.exercise.lacks)(self.column);
        let lacks = lacks.or_else(|| super::exercise::lacks(self.column, &plan, peer_is_client));
        if let Some(lacks) = lacks {
            return Outcome::Lacking(lacks);
        }
        match self.attempt(matrix, &plan) {
            Ok(text) => Outcome::Passed(text),
            Err(error) => Outcome::Failed(format!("{error:#}")),
        }
    }

    fn attempt(&self, matrix: &Matrix, plan: &EchoPlan) -> Result<String> {
        let folder = tempfile::tempdir()?;
        let capture = Capture::create(&folder.path().join("run.pcap"))?;
        let ran = match self.column.carrier() {
            None => self.in_virtual_time(plan, &capture),
            Some(carrier) if self.exercise.network == Network::OnePath => {
                self.in_real_time(matrix, carrier, plan, &capture)
            }
            Some(carrier) => self.over_two_paths(matrix, carrier, plan, &capture),
        };
        let judged = ran.and_then(|text| {
            for wanted in self.exercise.evidence {
                let seen = capture.chunk_types().contains(wanted);
                ensure!(seen, "no chunk of type {wanted} on the wire");
            }
            if let Ok(tshark) = &matrix.tshark {
                tshark.judge(capture.path(), &[])?.check()?;
            }
            Ok(text)
        });
        judged.map_err(|error| match keep(folder) {
            Some(path) => error.context(format!("packets in {path}")),
            None => error,
        })
    }

    fn in_virtual_time(&self, plan: &EchoPlan, capture: &Capture) -> Result<String> {
        let ours = self.part;
        let peer_options = StackOptions {
            remote: match ours {
                Part::Client => virtual_run::CLIENT,
                Part::Server => virtual_run::SERVER,
            },
            server: ours == Part::Client,
            rto: [plan.rto_initial(), plan.rto_min, plan.rto_max].map(to_base),
            interleaving: plan.interleaving,
            largest_message: LARGEST,
        };
        let peer: AnyStack = match self.column {
            Column::DcSctp => Box::new(DcSctp::for_exercise(&peer_options)),
            _ => Box::new(SctpProto::for_exercise(&peer_options)),
        };
        let (port, options) = (virtual_peers::PORT, self.options(plan));
        let random = RandomStream::new(self.number.into(), Purpose("matrix", 0));
        let loss = self.loss();
        let seed = self.number.into();
        let run =
            |client, server| virtual_run::run(plan, client, server, loss, seed, Some(capture));
        let (client, server, lost) = match ours {
            Part::Client => {
                let to = (vec![virtual_run::SERVER], port);
                run(Box::new(Ours::client(options, port, &[], to, random)), peer)
            }
            Part::Server => run(peer, Box::new(Ours::server(options, port, &[], random))),
        }?;
        // sctp-proto does not know its own tag in a SHUTDOWN COMPLETE with the T bit.
        let forgiven = self.column == Column::SctpProto && self.exercise.loss_percent > 0;
        client.check(plan, Part::Client, false).context("client")?;
        server.check(plan, Part::Server, forgiven && ours == Part::Client).context("server")?;
        ensure!((lost > 0) == (self.exercise.loss_percent > 0), "{lost} packets were lost");
        let seen = if ours == Part::Client { client } else { server };
        Ok(format!("{}, {lost} packets lost", seen.summary()))
    }

    fn in_real_time(
        &self,
        matrix: &Matrix,
        carrier: Carrier,
        plan: &EchoPlan,
        capture: &Capture,
    ) -> Result<String> {
        let impairment = Impairment {
            loss: self.loss(),
            seed: self.number.into(),
            capture: Some(capture.clone()),
        };
        let place = Place::new(matrix, self.column, carrier, self.part, self.number, &impairment)?;
        let seen = match self.part {
            Part::Server => self.serve_peer(matrix, place, plan)?,
            Part::Client => self.connect_to_peer(matrix, place, plan)?,
        };
        Ok(seen.summary())
    }

    fn serve_peer(&self, matrix: &Matrix, place: Place, plan: &EchoPlan) -> Result<Observed> {
        let Place { socket, theirs, relay, encapsulation, relay_for_peer, .. } = place;
        let ours = Ours::server(self.options(plan), self.our_port(), &[], randomness()?);
        let live = socket.run(Agent::new(ours, Arc::new(plan.clone()), Part::Server), None);
        let report = match (self.column, &matrix.uml, self.program(matrix)) {
            (Column::KernelUdp, Ok(uml), _) => uml.run_client_to(
                relay_for_peer,
                self.our_port(),
                Some(relay.address().port()),
                plan,
            ),
            (Column::KernelRaw, Ok(uml), _) => {
                uml.run_client_to(relay_for_peer, self.our_port(), None, plan)
            }
            (.., Some(program)) => {
                program.run_client(theirs.as_ref(), relay_for_peer, encapsulation, plan)
            }
            _ => bail!("no peer"),
        };
        let report = report.with_context(|| format!("ours: {}", live.seen().summary()))?;
        report.check(plan)?;
        let lossy = self.exercise.loss_percent > 0;
        let seen = live.wait_for_goodbye(plan.limit, lossy)?;
        seen.check(plan, Part::Server, lossy).context("ours")?;
        Ok(seen)
    }

    fn connect_to_peer(&self, matrix: &Matrix, place: Place, plan: &EchoPlan) -> Result<Observed> {
        let (to, port) = (place.peer(), self.peer_port());
        let (mut in_guest, mut program) = (None, None);
        match (&matrix.uml, self.program(matrix)) {
            (Ok(uml), _) if self.column.is_kernel() => {
                in_guest = Some(uml.start_server(port, plan)?);
            }
            (_, Some(peer)) => {
                let namespace = place.theirs.as_ref();
                let (at, encapsulation) = (place.their_address, place.encapsulation);
                let server = peer.start_server(namespace, at, encapsulation, plan, 1)?;
                program = Some(server);
            }
            _ => bail!("no peer"),
        }
        let to = (vec![to], port);
        let ours = Ours::client(self.options(plan), self.client_port(), &[], to, randomness()?);
        let agent = Agent::new(ours, Arc::new(plan.clone()), Part::Client);
        let live = place.socket.run(agent, None);
        let seen = live.wait(plan.limit).with_context(|| match &program {
            Some(server) => format!("the peer said: {}", server.text()),
            None => "the peer is in the guest".to_owned(),
        })?;
        seen.check(plan, Part::Client, false).context("ours")?;
        let served = match (in_guest, program) {
            (Some(server), _) => server.finish(),
            (_, Some(server)) => server.finish_anyhow(),
            _ => bail!("no peer"),
        };
        served?.check(plan)?;
        Ok(seen)
    }

    /// The peer's program on this machine.
    pub(super) fn program<'a>(&self, matrix: &'a Matrix) -> Option<&'a crate::program::Program> {
        match self.column {
            Column::UsrsctpUdp | Column::UsrsctpRaw => matrix.usrsctp.as_ref().ok(),
            Column::Pion => matrix.pion.as_ref().ok(),
            _ => None,
        }
    }

    /// The SCTP port of our clients, and that of the peer's servers: in the guest one for each run.
    pub(super) fn client_port(&self) -> u16 {
        match self.column {
            Column::Pion => virtual_peers::PORT,
            _ => 50_000 + u16::from(self.number),
        }
    }

    /// SCTP port of the peer's servers: in the guest one for each run.
    pub(super) fn peer_port(&self) -> u16 {
        match self.column.is_kernel() {
            true => 1_000 + u16::from(self.number),
            false => self.our_port(),
        }
    }

    /// The SCTP port at which we, or a peer's program, serve.
    pub(super) fn our_port(&self) -> u16 {
        if self.column == Column::Pion { virtual_peers::PORT } else { ECHO_PORT }
    }

    fn loss(&self) -> Probability {
        Probability::from_ratio(self.exercise.loss_percent.into(), 100)
    }

    pub(super) fn options(&self, plan: &EchoPlan) -> AssociationOptions {
        let policy = RecoveryPolicy::preset(self.policy).expect("a preset of `Run::all`");
        AssociationOptions {
            heartbeat_interval: Some(to_base(plan.heartbeat)),
            path_max_retrans: plan.path_max_retrans,
            policy: Arc::new(policy),
            extensions: extensions(plan),
            outbound_streams: plan.initial_streams(),
            reconfiguration: ReconfigurationPolicy {
                add_streams: plan.added_streams.is_some(),
                reset_association: plan.reset.is_some_and(|(_, how)| how == Reset::Association),
                ..ReconfigurationPolicy::default()
            },
            receive_buffer: 4 << 20,
            send_buffer: 4 << 20,
            max_message_size: LARGEST,
            ..AssociationOptions::default()
        }
    }
}

/// Extensions that our side offers: those that the plan needs and no others.
fn extensions(plan: &EchoPlan) -> Extensions {
    let mut wanted = Extensions::NONE;
    if plan.reliability != Reliability::Full {
        wanted = wanted | Extensions::PARTIAL_RELIABILITY;
    }
    if plan.interleaving {
        wanted = wanted | Extensions::INTERLEAVING;
    }
    if plan.reset.is_some() || plan.added_streams.is_some() {
        wanted = wanted | Extensions::STREAM_RECONFIGURATION;
    }
    if !plan.address_changes.is_empty() {
        wanted = wanted | Extensions::ADDRESS_RECONFIGURATION;
    }
    wanted
}

fn to_base(duration: Duration) -> base::Duration {
    base::Duration::from_nanos(duration.as_nanos() as u64)
}

fn keep(folder: tempfile::TempDir) -> Option<String> {
    let path: &Path = &folder.keep();
    path.to_str().map(str::to_owned)
}
