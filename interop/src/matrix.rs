//! The interop matrix: every exercise with every peer, in both roles.

mod exercise;
mod moving;
mod paths;
mod place;
mod run;
mod switch;
mod table;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::runtime::Runtime;

use crate::live::Carrier;
use crate::missing::Missing;
use crate::namespace::Namespace;
use crate::program::Program;
use crate::tshark::Tshark;
use crate::uml::Uml;

pub use self::exercise::{EXERCISES, Exercise, Network};
pub use self::run::{Outcome, Run};
pub use self::table::Table;

/// A peer and what lies between.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Column {
    /// usrsctp, encapsulated in UDP.
    UsrsctpUdp,
    /// usrsctp, directly over IP.
    UsrsctpRaw,
    /// The Linux kernel over UDP.
    KernelUdp,
    /// The Linux kernel over IP.
    KernelRaw,
    /// pion, encapsulated in UDP.
    Pion,
    /// dcsctp, in virtual time.
    DcSctp,
    /// sctp-proto, in virtual time.
    SctpProto,
}

impl Column {
    /// All, in the order of the table.
    pub const ALL: [Column; 7] = [
        Column::UsrsctpUdp,
        Column::UsrsctpRaw,
        Column::KernelUdp,
        Column::KernelRaw,
        Column::Pion,
        Column::DcSctp,
        Column::SctpProto,
    ];

    /// The column's head in the table.
    pub fn name(self) -> &'static str {
        match self {
            Column::UsrsctpUdp => "usrsctp, UDP",
            Column::UsrsctpRaw => "usrsctp, IP",
            Column::KernelUdp => "Linux, UDP",
            Column::KernelRaw => "Linux, IP",
            Column::Pion => "pion, UDP",
            Column::DcSctp => "dcsctp",
            Column::SctpProto => "sctp-proto",
        }
    }

    /// Carrier of its packets; `None` in virtual time.
    pub fn carrier(self) -> Option<Carrier> {
        match self {
            Column::UsrsctpUdp | Column::KernelUdp | Column::Pion => Some(Carrier::Udp),
            Column::UsrsctpRaw | Column::KernelRaw => Some(Carrier::RawIp),
            Column::DcSctp | Column::SctpProto => None,
        }
    }

    fn is_kernel(self) -> bool {
        matches!(self, Column::KernelUdp | Column::KernelRaw)
    }
}

/// The peers of this machine, ready.
pub struct Matrix {
    usrsctp: Result<Program, Missing>,
    pion: Result<Program, Missing>,
    uml: Result<Uml, Missing>,
    namespaces: Result<(), Missing>,
    tshark: Result<Tshark, Missing>,
    runtime: Runtime,
}

impl Matrix {
    /// Builds and boots what the columns need.
    ///
    /// # Errors
    /// Where a guest that could run does not come up, or there is no runtime.
    pub fn open(columns: &[Column]) -> anyhow::Result<Matrix> {
        let wants = |some: &[Column]| some.iter().any(|column| columns.contains(column));
        let unwanted = || Missing("not asked for".to_owned());
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        Ok(Matrix {
            usrsctp: match wants(&[Column::UsrsctpUdp, Column::UsrsctpRaw]) {
                true => Program::usrsctp(),
                false => Err(unwanted()),
            },
            pion: if wants(&[Column::Pion]) { Program::pion() } else { Err(unwanted()) },
            uml: match wants(&[Column::KernelUdp, Column::KernelRaw]) {
                true => match Uml::find() {
                    Ok(()) => Ok(Uml::boot()?),
                    Err(missing) => Err(missing),
                },
                false => Err(unwanted()),
            },
            namespaces: Namespace::find(),
            tshark: Tshark::find(),
            runtime: builder.worker_threads(2).enable_all().build()?,
        })
    }

    /// Reason for which a column is not available here.
    pub fn missing(&self, column: Column) -> Option<&Missing> {
        let of_carrier = match column.carrier() {
            Some(Carrier::RawIp) => self.namespaces.as_ref().err(),
            _ => None,
        };
        let of_peer = match column {
            Column::UsrsctpUdp | Column::UsrsctpRaw => self.usrsctp.as_ref().err(),
            Column::KernelUdp | Column::KernelRaw => self.uml.as_ref().err(),
            Column::Pion => self.pion.as_ref().err(),
            Column::DcSctp | Column::SctpProto => None,
        };
        of_peer.or(of_carrier)
    }

    /// Runs these, some at the same time since they wait more than they work, and tells `progress`
    /// of each that is done.
    pub fn run(&self, runs: &[Run], progress: impl Fn(&Run, &Outcome) + Sync) -> Table {
        const AT_ONCE: usize = 6;
        let (next, outcomes) = (AtomicUsize::new(0), Mutex::new(vec![]));
        std::thread::scope(|scope| {
            for _ in 0..AT_ONCE {
                scope.spawn(|| {
                    while let Some(run) = runs.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let outcome = run.carry_out(self);
                        progress(run, &outcome);
                        lock(&outcomes).push((run.clone(), outcome));
                    }
                });
            }
        });
        let outcomes = outcomes.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        let missing = Column::ALL.into_iter();
        let missing = missing.filter_map(|column| Some((column, self.missing(column)?.0.clone())));
        Table::new(outcomes, missing.collect(), self.tshark.is_ok())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
