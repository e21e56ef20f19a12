//! Options of Linux that help a thin stream of its own TCP. Only options that this kernel has are
//! listed: they came and went with its versions (`Documentation/networking/ip-sysctl.rst`,
//! ip-route(8)).

use serde::Serialize;

use super::Place;

/// A sysctl of the kernel that changes its TCP, with its present value and the recommended one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KernelOption {
    /// Name of the sysctl, such as `net.ipv4.tcp_sack`.
    pub name: &'static str,
    /// Present value; none for an option that is not set for the whole machine.
    pub value: Option<String>,
    /// Effect on a thin stream.
    pub meaning: &'static str,
    /// The command that sets it as it helps; none where it is so already.
    pub command: Option<String>,
}

/// Name of a setting, the value that helps a thin stream, and its effect.
const SETTINGS: [(&str, &str, &str); 8] = [
    (
        "net.ipv4.tcp_thin_linear_timeouts",
        "1",
        "while fewer than four packets are in flight, the first six timeouts in a row do not double",
    ),
    (
        "net.ipv4.tcp_thin_dupack",
        "1",
        "while fewer than four packets are in flight, one duplicate acknowledgement triggers a retransmission (old kernels only)",
    ),
    (
        "net.ipv4.tcp_rto_min_us",
        "50000",
        "the least time of the retransmission timer above the round trip, in microseconds; a value below the peer's \
         acknowledgement delay causes needless retransmissions",
    ),
    ("net.ipv4.tcp_sack", "1", "the receiver reports which data arrived beyond a hole"),
    (
        "net.ipv4.tcp_early_retrans",
        "3",
        "a probe two round trips after the last packet (TLP, RFC 8985)",
    ),
    ("net.ipv4.tcp_recovery", "1", "losses are detected by time (RACK, RFC 8985)"),
    ("net.ipv4.tcp_frto", "2", "needless timeouts are undone (F-RTO, RFC 5682)"),
    (
        "net.ipv4.tcp_syn_linear_timeouts",
        "4",
        "number of retransmissions of a lost SYN, a second apart, before the interval doubles",
    ),
];

/// Settings from `/proc/sys` below `place`; settings that its kernel lacks are left out.
pub(super) fn options(place: &Place) -> Vec<KernelOption> {
    let setting = |&(name, wanted, meaning): &(&'static str, &str, &'static str)| {
        let value = place.line(&format!("proc/sys/{}", name.replace('.', "/")))?;
        let command = (value != wanted).then(|| format!("sysctl -w {name}={wanted}"));
        Some(KernelOption { name, value: Some(value), meaning, command })
    };
    let mut all: Vec<KernelOption> = SETTINGS.iter().filter_map(setting).collect();
    if !all.is_empty() {
        all.push(KernelOption {
            name: "rto_min of a route",
            value: None,
            meaning: "the same least time as tcp_rto_min_us, for the peers behind one route",
            command: Some(
                "ip route change $(ip route show default | head -n 1) rto_min 50ms".to_owned(),
            ),
        });
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_that_the_kernel_lacks_are_not_told_and_those_set_need_no_command() {
        let root = std::env::temp_dir().join(format!("thinstream-doctor-{}", std::process::id()));
        let folder = root.join("proc/sys/net/ipv4");
        std::fs::create_dir_all(&folder).unwrap();
        assert_eq!(options(&Place::at(root.clone())), []);
        std::fs::write(folder.join("tcp_sack"), "1\n").unwrap();
        std::fs::write(folder.join("tcp_thin_linear_timeouts"), "0\n").unwrap();
        let all = options(&Place::at(root.clone()));
        std::fs::remove_dir_all(root).unwrap();
        let told: Vec<_> = all.iter().map(|one| (one.name, one.command.as_deref())).collect();
        let route = "ip route change $(ip route show default | head -n 1) rto_min 50ms";
        assert_eq!(
            told,
            [
                (
                    "net.ipv4.tcp_thin_linear_timeouts",
                    Some("sysctl -w net.ipv4.tcp_thin_linear_timeouts=1")
                ),
                ("net.ipv4.tcp_sack", None),
                ("rto_min of a route", Some(route)),
            ]
        );
    }
}
