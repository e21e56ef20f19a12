//! Shell commands of scripts: settings of a kernel, applied to the stack under test.
//!
//! No command is executed. A setting that is not in the table, or any other command, makes the run
//! skip the script: ignoring it silently would make the verdict worthless.

pub(crate) mod tcp;

use base::Duration;
use sctp::Extensions;

use crate::config::StackConfig;

/// Extensions of the stack, by the setting that offers them with 1 and not with 0.
const EXTENSIONS: [(&str, Extensions); 8] = [
    ("net.inet.sctp.pr_enable", Extensions::PARTIAL_RELIABILITY),
    ("net.inet.sctp.reconfig_enable", Extensions::STREAM_RECONFIGURATION),
    ("net.inet.sctp.auth_enable", Extensions::AUTHENTICATION),
    ("net.inet.sctp.asconf_enable", Extensions::ADDRESS_RECONFIGURATION),
    ("net.sctp.auth_enable", Extensions::AUTHENTICATION),
    ("net.sctp.addip_enable", Extensions::ADDRESS_RECONFIGURATION),
    ("net.sctp.prsctp_enable", Extensions::PARTIAL_RELIABILITY),
    ("net.sctp.reconf_enable", Extensions::STREAM_RECONFIGURATION),
];

/// Features that the stack lacks or a socket must ask for: they can be switched off, not on.
const ABSENT: [(&str, i64); 6] = [
    ("net.inet.sctp.ecn_enable", 0),
    ("net.inet.sctp.pktdrop_enable", 0),
    ("net.inet.sctp.auth_disable", 1),
    ("net.inet.sctp.nrsack_enable", 0),
    ("net.inet.sctp.nrsack_on_off", 0),
    ("net.inet.sctp.nr_sack_on_off", 0),
];

/// Bytes of headers in an IPv4 packet with one DATA chunk.
const HEADERS: u64 = 20 + 12 + 16;

/// Settings without effect on this stack, which scripts may set.
const IGNORED: [&str; 2] = ["net.inet.sctp.do_sctp_drain", "net.inet.tcp.hostcache.purgenow"];

/// Settings of path MTU discovery, with the values that this stack has built in (RFC 8899, section
/// 5.1): it tries the largest size first and then halves, believes routers, and so on.
const DISCOVERY: [(&str, &[i64]); 6] = [
    ("net.inet.sctp.plpmtud_search_algorithm", &[2]),
    ("net.inet.sctp.plpmtud_use_ptb", &[1]),
    ("net.inet.sctp.plpmtud_max_probes", &[3]),
    ("net.inet.sctp.plpmtud_min_probe_rtx_time", &[1000]),
    ("net.inet.sctp.plpmtud_ipv4_min_mtu", &[576]),
    ("net.inet.sctp.plpmtud_ipv6_min_mtu", &[1280]),
];

/// Applies a shell command, as far as it concerns the stack.
///
/// # Errors
/// Why the script cannot be run.
pub(crate) fn apply(command: &str, config: &mut StackConfig) -> Result<(), String> {
    for part in command.split([';', '\n']).flat_map(|part| part.split("&&")) {
        let mut words = part.split_whitespace();
        match words.next() {
            None => {}
            Some("sysctl") => {
                for word in words.filter(|word| !is_flag(word)) {
                    set(word, config)?;
                }
            }
            Some(other) => return Err(format!("the command {other} is not supported")),
        }
    }
    Ok(())
}

/// Letters of sysctl's options that do not affect the settings.
const FLAGS: &str = "adeiNnqw";

/// Whether a word is an option of sysctl, about printing or errors to ignore.
pub(crate) fn is_flag(word: &str) -> bool {
    word.strip_prefix('-').is_some_and(|letters| {
        !letters.is_empty() && letters.chars().all(|letter| FLAGS.contains(letter))
    })
}

fn set(assignment: &str, config: &mut StackConfig) -> Result<(), String> {
    let unknown = || format!("the setting {assignment} is not supported");
    let (name, value) = assignment.split_once('=').ok_or_else(unknown)?;
    let value: i64 = value.trim_matches('"').parse().map_err(|_| unknown())?;
    if let Some((_, off)) = ABSENT.iter().find(|(absent, _)| *absent == name) {
        return if value == *off { Ok(()) } else { Err(unknown()) };
    }
    if let Some((_, extension)) = EXTENSIONS.iter().find(|(known, _)| *known == name) {
        let extensions = &mut config.association.extensions;
        *extensions = match value {
            0 => extensions.without(*extension),
            1 => *extensions | *extension,
            _ => return Err(unknown()),
        };
        return Ok(());
    }
    if IGNORED.contains(&name) {
        return Ok(());
    }
    if let Some((_, built_in)) = DISCOVERY.iter().find(|(known, _)| *known == name) {
        return if built_in.contains(&value) { Ok(()) } else { Err(unknown()) };
    }
    if name == "net.inet.sctp.plpmtud_enable" {
        config.association.path_mtu_discovery = match value {
            0 => false,
            1 => true,
            _ => return Err(unknown()),
        };
        return Ok(());
    }
    if name == "net.inet.sctp.udp_tunneling_port" {
        // 0 closes the port, as suites do to clean up.
        let port = u16::try_from(value).map_err(|_| unknown())?;
        config.udp_port = port;
        return Ok(());
    }
    let count = u64::try_from(value).map_err(|_| unknown())?;
    let millis = Duration::from_millis(count);
    match name {
        "net.inet.sctp.rto_initial" | "net.sctp.rto_initial" => {
            config.edit_policy(|policy| policy.rto.initial = millis);
        }
        "net.inet.sctp.rto_min" | "net.sctp.rto_min" => {
            config.edit_policy(|policy| policy.rto.min = millis);
        }
        "net.inet.sctp.rto_max" | "net.sctp.rto_max" => {
            config.edit_policy(|policy| policy.rto.max = millis);
        }
        "net.inet.sctp.maxburst" | "net.sctp.max_burst" => {
            let burst = u8::try_from(count).map_err(|_| unknown())?;
            config.edit_policy(|policy| policy.congestion.max_burst = burst);
        }
        // Counted in packets; 0 is RFC 9260's value.
        "net.inet.sctp.initial_cwnd" => {
            let packet = u64::from(config.association.path_mtu).saturating_sub(HEADERS);
            let window = u32::try_from(count.saturating_mul(packet)).map_err(|_| unknown())?;
            let window = (window > 0).then_some(window);
            config.edit_policy(|policy| policy.congestion.initial_window = window);
        }
        "net.inet.sctp.heartbeat_interval" | "net.sctp.hb_interval" => {
            config.association.heartbeat_interval = (count > 0).then_some(millis);
        }
        _ => return Err(unknown()),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_reach_the_stack() {
        let mut config = StackConfig::default();
        apply("sysctl -i net.inet.sctp.rto_min=100; sysctl -w net.sctp.rto_max=800", &mut config)
            .unwrap();
        assert_eq!(config.association.policy.rto.min, Duration::from_millis(100));
        assert_eq!(config.association.policy.rto.max, Duration::from_millis(800));
        apply("sysctl net.inet.sctp.initial_cwnd=2 net.inet.sctp.pr_enable=1", &mut config)
            .unwrap();
        assert_eq!(config.association.policy.congestion.initial_window, Some(2 * 1452));
        assert_eq!(config.association.extensions, Extensions::PARTIAL_RELIABILITY);
        apply("sysctl -w net.sctp.prsctp_enable=0", &mut config).unwrap();
        assert_eq!(config.association.extensions, Extensions::NONE);
    }

    #[test]
    fn what_is_not_understood_is_never_ignored() {
        let mut config = StackConfig::default();
        let mut refused = |command| apply(command, &mut config).is_err();
        assert!(refused("sysctl net.inet.sctp.ecn_enable=1"));
        assert!(refused("sysctl net.ipv4.tcp_sack=1"));
        assert!(refused("rm -rf x"));
        assert!(refused("sysctl -wX net.sctp.auth_enable=0"));
        assert!(refused("sysctl - net.sctp.auth_enable=0"));
        assert!(refused("sysctl net.inet.sctp.plpmtud_enable=2"));
        assert!(!refused("sysctl -ew net.sctp.auth_enable=0"));
    }
}
