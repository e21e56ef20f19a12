//! Choices of a visitor of the live page.

use recovery::policy::{PRESETS, TCP_PRESETS};
use serde::Serialize;

/// Flows of a side at most: more cannot be told apart.
pub(crate) const MOST_FLOWS: u32 = 100;

/// An application: when it has something to say, and how much.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Application {
    /// Short name by which addresses of the page and settings refer to it.
    pub name: &'static str,
    /// Title that the page shows.
    pub title: &'static str,
    /// Traffic of the application, in a sentence.
    pub about: &'static str,
    /// `arrivals` of the flows in a plan.
    pub arrivals: &'static str,
    /// `size` in a plan; the application's own if empty.
    pub size: &'static str,
}

/// A network without its losses that a visitor may change.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Network {
    /// Short name by which addresses of the page and settings refer to it.
    pub name: &'static str,
    /// Title that the page shows.
    pub title: &'static str,
    /// Properties of the network, in a sentence.
    pub about: &'static str,
    /// Round trip without queues, in milliseconds.
    pub rtt_ms: u64,
    /// Percent of the packets that are lost each way.
    pub loss: f64,
    /// Further keys of `[network]` in a plan.
    pub keys: &'static str,
    /// Whether there is a second path, which SCTP can use when the first is cut.
    pub two_paths: bool,
}

/// A preset of one transport, as the page offers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Policy {
    /// `sctp` or `tcp`, the part of a policy's name before the colon.
    pub transport: &'static str,
    /// Name of the preset, the part of a policy's name behind the colon.
    pub preset: &'static str,
    /// Mechanisms of the policy, in a sentence.
    pub about: &'static str,
}

const fn application(
    name: &'static str,
    title: &'static str,
    about: &'static str,
    arrivals: &'static str,
    size: &'static str,
) -> Application {
    Application { name, title, about, arrivals, size }
}

/// The applications, the page's first choice first.
pub const APPLICATIONS: [Application; 9] = [
    application("game", "Game", "A player's moves: 100 bytes each 100 ms.", "100ms", "100"),
    application("shooter", "Shooter", "Positions at 30 a second, 60 bytes each.", "33ms", "60"),
    application(
        "shell",
        "Remote shell",
        "Keystrokes: 48 bytes, five keys a second on average, at random times.",
        "~200ms",
        "48",
    ),
    application(
        "trading",
        "Trading feed",
        "Prices in bursts: four messages of 120 bytes within 6 ms, each half second.",
        "bursts 4 2ms 500ms",
        "120",
    ),
    application(
        "signalling",
        "Signalling",
        "Calls between exchanges: 100 bytes each 250 ms, the traffic of figure 8 of Petlund et al. 2009.",
        "250ms",
        "100",
    ),
    application("robot", "Robot", "A joint's position each 20 ms, 64 bytes.", "20ms", "64"),
    application(
        "anarchy-online",
        "Anarchy Online",
        "A role-playing game as measured: table 1 of Petlund et al. 2008.",
        "anarchy-online",
        "",
    ),
    application(
        "counter-strike",
        "Counter Strike",
        "A shooter as measured: table 1 of Petlund et al. 2008.",
        "counter-strike",
        "",
    ),
    application(
        "skype",
        "Voice",
        "Skype over TCP as measured: table 1 of Petlund et al. 2008.",
        "skype",
        "",
    ),
];

/// The networks, the page's first choice first.
pub const NETWORKS: [Network; 7] = [
    Network {
        name: "continent",
        title: "Across a continent",
        about: "A round trip of 100 ms, 2 % of the packets lost each way.",
        rtt_ms: 100,
        loss: 2.0,
        keys: "",
        two_paths: false,
    },
    Network {
        name: "home",
        title: "Home line",
        about: "A round trip of 40 ms, 1 % lost, 16 Mbit/s.",
        rtt_ms: 40,
        loss: 1.0,
        keys: "rate = \"16mbit\"\n",
        two_paths: false,
    },
    Network {
        name: "wifi",
        title: "Busy Wi-Fi",
        about: "A round trip of 20 ms that varies, and gaps of 60 ms in which nothing passes, one each 3 s on average.",
        rtt_ms: 20,
        loss: 0.5,
        keys: "jitter = \"exponential 4ms\"\nloss = \"outages 3s 60ms\"\n",
        two_paths: false,
    },
    Network {
        name: "mobile",
        title: "Mobile, on a train",
        about: "A round trip of 80 ms that varies by tens of milliseconds, 3 % lost.",
        rtt_ms: 80,
        loss: 3.0,
        keys: "jitter = \"exponential 10ms\"\nrate = \"4mbit\"\n",
        two_paths: false,
    },
    Network {
        name: "satellite",
        title: "Satellite",
        about: "A round trip of 600 ms, 1 % lost.",
        rtt_ms: 600,
        loss: 1.0,
        keys: "",
        two_paths: false,
    },
    Network {
        name: "city",
        title: "Within a city",
        about: "A round trip of 5 ms, one packet in 500 lost.",
        rtt_ms: 5,
        loss: 0.2,
        keys: "",
        two_paths: false,
    },
    Network {
        name: "two-paths",
        title: "Two paths",
        about: "Two lines with a round trip of 60 ms each: cut the first one. SCTP moves to the second, TCP cannot.",
        rtt_ms: 60,
        loss: 1.0,
        keys: "",
        two_paths: true,
    },
];

/// Application that visitors choose by this short name.
pub fn find_application(name: &str) -> Option<&'static Application> {
    APPLICATIONS.iter().find(|one| one.name == name)
}

/// Network that visitors choose by this short name.
pub fn find_network(name: &str) -> Option<&'static Network> {
    NETWORKS.iter().find(|one| one.name == name)
}

/// The presets of both transports, SCTP's first.
pub fn policies() -> impl Iterator<Item = Policy> {
    let of = |transport, presets: &'static [(&'static str, &'static str)]| {
        presets.iter().map(move |(preset, about)| Policy { transport, preset, about })
    };
    of("sctp", &PRESETS).chain(of("tcp", &TCP_PRESETS))
}

/// All that can be chosen.
#[derive(Debug, Serialize)]
pub struct Choices {
    /// Applications to choose from, the default first.
    pub applications: [Application; 9],
    /// Networks to choose from, the default first.
    pub networks: [Network; 7],
    /// Presets of both protocols: [`policies`].
    pub policies: Vec<Policy>,
}

impl Choices {
    /// Applications, networks and policies to choose from, as JSON for the page.
    pub fn to_json() -> String {
        let choices = Choices {
            applications: APPLICATIONS,
            networks: NETWORKS,
            policies: policies().collect(),
        };
        // Nothing in it can fail to serialize.
        serde_json::to_string(&choices).unwrap_or_default()
    }
}
