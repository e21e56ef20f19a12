//! What each public suite takes for granted, in one table.

use base::Duration;

use crate::config::{Leniencies, RunConfig};

/// What one suite takes for granted.
struct SuiteDefaults {
    /// Part of the path of its scripts.
    path: &'static str,
    /// Tolerance in per mille of the time since the event before: 50 on FreeBSD, 125 on Linux.
    tolerance_per_mille: u64,
    leniencies: Leniencies,
}

const STRICT: Leniencies =
    Leniencies { parameter_set: false, extra_parameters: false, other_addresses: false };

/// The suites, the first that fits.
///
/// - ETSI: lists addresses of the peer at which nobody answers; what goes there is passed over.
/// - PR_SCTP: names each parameter of the set-up, but in the order of one system; RFC 9260 has none.
/// - Any other, our own among them: nothing is overlooked.
const SUITES: [SuiteDefaults; 3] = [
    SuiteDefaults {
        path: "ETSI-SCTP-Conformance",
        tolerance_per_mille: 50,
        leniencies: Leniencies { other_addresses: true, ..STRICT },
    },
    SuiteDefaults {
        path: "PR_SCTP",
        tolerance_per_mille: 50,
        leniencies: Leniencies { parameter_set: true, ..STRICT },
    },
    SuiteDefaults { path: "", tolerance_per_mille: 50, leniencies: STRICT },
];

impl RunConfig {
    /// The configuration for the scripts of the suite that `path` belongs to.
    pub fn for_path(path: &str) -> RunConfig {
        let mut config = RunConfig::default();
        config.adapt(path);
        config
    }

    /// Sets what depends on the suite and leaves the rest.
    pub(crate) fn adapt(&mut self, path: &str) {
        if let Some(suite) = SUITES.iter().find(|suite| path.contains(suite.path)) {
            self.tolerance_per_mille = suite.tolerance_per_mille;
            self.leniencies = suite.leniencies;
        }
    }
}

impl Default for RunConfig {
    /// What scripts of no particular suite are run with.
    fn default() -> Self {
        RunConfig {
            seed: 0,
            exact: false,
            no_tail: false,
            tolerance: Duration::from_micros(4_000),
            tolerance_per_mille: 50,
            leniencies: STRICT,
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
        assert!(etsi.leniencies.other_addresses);
        assert_eq!(RunConfig::for_path("own/b.pkt").leniencies, STRICT);
    }
}
