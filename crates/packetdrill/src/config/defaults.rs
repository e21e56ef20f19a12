//! Assumptions of each public suite, in one table.

use base::Duration;

use super::{RunConfig, TcpConfig};
use crate::leniency::Leniency;

/// Assumptions of one suite, which differ from the defaults.
struct SuiteDefaults {
    /// Part of the path of its scripts.
    path: &'static str,
    /// Tolerance in per mille of the time since the previous event: 50 on FreeBSD, 125 on Linux.
    tolerance_per_mille: u64,
    leniencies: &'static [Leniency],
    /// Settings of its system's TCP.
    tcp: fn() -> TcpConfig,
}

/// Details in scripts of FreeBSD's TCP that a system may choose.
const FREEBSD: &[Leniency] = &[
    Leniency::RoundedWindow,
    Leniency::OptionSet,
    Leniency::BufferSize,
    Leniency::FinNotRepeated,
    Leniency::WindowEdge,
];

/// Details in nplab's scripts for FreeBSD that a system may choose.
const NPLAB_BSD: &[Leniency] = &[Leniency::RoundedWindow];

/// Details in nplab's scripts for Linux that a system may choose.
const NPLAB_LINUX: &[Leniency] = &[Leniency::SuperSegment, Leniency::PromptAck];

/// Details in Google's scripts for Linux that a system may choose.
const GOOGLE: &[Leniency] = &[Leniency::Push, Leniency::SuperSegment];

/// The suites, in order of precedence.
///
/// - ETSI: lists addresses of the peer that do not answer; packets to them are ignored.
/// - PR_SCTP: names each parameter of the set-up, but in the order of one system, and leaves out or
///   adds what systems do differently; tells in comments of its own where its systems could do
///   better.
/// - PLPMTUD: names the padding of probes, which goes by the length of FreeBSD's HEARTBEAT.
/// - FreeBSD's TCP: names windows and buffers as FreeBSD rounds them, options in its order.
/// - Those of packetdrill itself for Linux, Google's and the kernel's: a larger tolerance; segments
///   as a network card is given them.
/// - Any other, our own included: no leniency.
const SUITES: [SuiteDefaults; 9] = [
    SuiteDefaults {
        path: "ETSI-SCTP-Conformance",
        tolerance_per_mille: 50,
        leniencies: &[Leniency::OtherAddresses],
        tcp: TcpConfig::default,
    },
    SuiteDefaults {
        path: "PR_SCTP",
        tolerance_per_mille: 50,
        leniencies: &[
            Leniency::ParameterSet,
            Leniency::ListedExtensions,
            Leniency::UnrecognizedReport,
            Leniency::NoEcn,
            Leniency::SkippedStreams,
            Leniency::Bundled,
        ],
        tcp: TcpConfig::default,
    },
    SuiteDefaults {
        path: "SCTP-PLPMTUD-Tests",
        tolerance_per_mille: 50,
        leniencies: &[Leniency::ProbePadding],
        tcp: TcpConfig::default,
    },
    SuiteDefaults {
        path: "tcp-testsuite/",
        tolerance_per_mille: 50,
        leniencies: FREEBSD,
        tcp: TcpConfig::freebsd,
    },
    SuiteDefaults {
        path: "tests/bsd/",
        tolerance_per_mille: 50,
        leniencies: NPLAB_BSD,
        tcp: TcpConfig::freebsd,
    },
    SuiteDefaults {
        path: "tests/linux/",
        tolerance_per_mille: 125,
        leniencies: NPLAB_LINUX,
        tcp: TcpConfig::old_linux,
    },
    SuiteDefaults {
        path: "gtests/net/",
        tolerance_per_mille: 125,
        leniencies: GOOGLE,
        tcp: TcpConfig::linux,
    },
    SuiteDefaults {
        path: "selftests/net/packetdrill",
        tolerance_per_mille: 125,
        leniencies: GOOGLE,
        tcp: TcpConfig::linux,
    },
    SuiteDefaults { path: "", tolerance_per_mille: 50, leniencies: &[], tcp: TcpConfig::default },
];

impl RunConfig {
    /// The configuration for the scripts of the suite that `path` belongs to.
    #[cfg(test)]
    pub(crate) fn for_path(path: &str) -> RunConfig {
        let mut config = RunConfig::default();
        config.adapt(path);
        config
    }

    /// Sets the values that depend on the suite.
    pub(crate) fn adapt(&mut self, path: &str) {
        if let Some(suite) = SUITES.iter().find(|suite| path.contains(suite.path)) {
            self.tolerance_per_mille = suite.tolerance_per_mille;
            self.leniencies = suite.leniencies;
            self.stack.tcp = (suite.tcp)();
        }
    }
}

impl Default for RunConfig {
    /// Configuration for scripts of no particular suite.
    fn default() -> Self {
        RunConfig {
            seed: 0,
            exact: false,
            no_tail: false,
            tolerance: Duration::from_micros(4_000),
            tolerance_per_mille: 50,
            leniencies: &[],
            stack: Default::default(),
            spoil: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suite_is_known_by_its_path() {
        let etsi = RunConfig::for_path("x/ETSI-SCTP-Conformance-Testsuite/a/b.pkt");
        assert_eq!(etsi.leniencies, [Leniency::OtherAddresses]);
        assert_eq!(RunConfig::for_path("x/tests/linux/sctp/b.pkt").tolerance_per_mille, 125);
        assert!(RunConfig::for_path("own/b.pkt").leniencies.is_empty());
    }
}
