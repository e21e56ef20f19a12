//! Real SCTP peers for tests: usrsctp, the Linux kernel (in User-Mode Linux), pion, and stacks in
//! virtual time, each as server and as client, over UDP encapsulation (RFC 6951) and raw IP, with
//! loss in between and tshark as judge.
//!
//! Nothing is left behind: a [`Namespace`] ends with its last user, a [`Process`] ends with its
//! guard, and with the test process even if that is killed. A test asks for its peers like this and
//! says visibly why it did nothing where they are missing:
//!
//! ```no_run
//! use interop::{EchoPlan, Impairment, Program, available, scenario};
//!
//! let Some(usrsctp) = available(Program::usrsctp()) else { return };
//! let plan = EchoPlan::graded(500, 100_000);
//! let ours = "127.0.0.1:9899".parse().expect("an address");
//! let run = scenario::usrsctp_client_against(&usrsctp, ours, &plan, &Impairment::none());
//! run.expect("the run").report.check(&plan).expect("every byte intact, shutdown clean");
//! ```
#![cfg(target_os = "linux")]

pub mod agent;
pub mod attack;
mod browser;
mod capture;
mod data_channels;
mod edge;
mod edge_place;
mod http;
mod live;
pub mod matrix;
mod namespace;
mod ours;
mod plan;
mod process;
mod program;
mod relay;
mod report;
pub mod scenario;
mod thin_receiver;
mod tshark;
mod uml;
mod virtual_run;
mod wire;

pub use browser::{BROWSER_HOST, Browser, Page};
pub use capture::Capture;
pub use data_channels::{
    DataChannelServer, DataChannelTable, HEADING as DATA_CHANNELS, Host, HostReport, RunningServer,
    judge_page,
};
pub use edge::{EdgeSeen, RunningEdge};
pub use edge_place::{EDGE, EDGE_PORT, EdgePlace, edge_options};
pub use http::Request;
pub use live::{Carrier, Live, Socket};
pub use namespace::Namespace;
pub use ours::Ours;
pub use plan::{EchoPlan, End, Reset};
pub use process::Process;
pub use program::{Encapsulation, Program, Server, free_udp_port};
pub use programs::missing::{Missing, available, program};
use programs::{build, missing};
pub use relay::{Impairment, Relay, RelayCounts};
pub use report::{Report, Served};
pub use thin_receiver::ThinReceiver;
pub use tshark::{Tshark, Verdict};
pub use uml::thin_flows::{Arrived, Crossing, KernelTransport, ThinFlows};
pub use uml::{GUEST, GUEST_PATHS, GuestServer, HOST, HOST_PATHS, Lost, Uml};
pub use wire::{Wire, WirePlan};

/// The SCTP port on which every echo server of this crate listens.
pub const ECHO_PORT: u16 = 7;
/// The UDP port that RFC 6951 gives to encapsulated SCTP.
pub const SCTP_UDP_PORT: u16 = 9899;
