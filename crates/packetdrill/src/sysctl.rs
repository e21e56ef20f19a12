//! Shell commands of scripts: settings of a kernel, as settings of our stack.
//!
//! Nothing is run. A setting that is not in the table, or any other command, is a reason to skip the
//! script: to ignore it in silence would make the verdict worthless.

use base::Duration;

use crate::config::StackConfig;

/// Extensions that our stack never offers: they can be switched off, not on.
const ABSENT: [(&str, i64); 14] = [
    ("net.inet.sctp.ecn_enable", 0),
    ("net.inet.sctp.asconf_enable", 0),
    ("net.inet.sctp.pktdrop_enable", 0),
    ("net.inet.sctp.reconfig_enable", 0),
    ("net.inet.sctp.auth_enable", 0),
    ("net.inet.sctp.auth_disable", 1),
    ("net.inet.sctp.nrsack_enable", 0),
    ("net.inet.sctp.nrsack_on_off", 0),
    ("net.inet.sctp.nr_sack_on_off", 0),
    ("net.inet.sctp.pr_enable", 0),
    ("net.sctp.auth_enable", 0),
    ("net.sctp.prsctp_enable", 0),
    ("net.sctp.addip_enable", 0),
    ("net.sctp.reconf_enable", 0),
];

/// Settings without a meaning here.
const IGNORED: [&str; 1] = ["net.inet.sctp.do_sctp_drain"];

/// Does what a shell command says, as far as it is about the stack.
///
/// # Errors
/// Why the script cannot be run.
pub(crate) fn apply(command: &str, config: &mut StackConfig) -> Result<(), String> {
    for part in command.split([';', '\n']).flat_map(|part| part.split("&&")) {
        let mut words = part.split_whitespace();
        match words.next() {
            None => {}
            Some("sysctl") => {
                for word in words.filter(|word| !word.starts_with('-')) {
                    set(word, config)?;
                }
            }
            Some(other) => return Err(format!("the command {other} is not supported")),
        }
    }
    Ok(())
}

fn set(assignment: &str, config: &mut StackConfig) -> Result<(), String> {
    let unknown = || format!("the setting {assignment} is not supported");
    let (name, value) = assignment.split_once('=').ok_or_else(unknown)?;
    let value: i64 = value.trim_matches('"').parse().map_err(|_| unknown())?;
    if let Some((_, off)) = ABSENT.iter().find(|(absent, _)| *absent == name) {
        return if value == *off { Ok(()) } else { Err(unknown()) };
    }
    if IGNORED.contains(&name) {
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
        // What RFC 9260, section 7.2.1, makes of a path MTU of 1500 bytes.
        "net.inet.sctp.initial_cwnd" if count == 3 => {}
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
    }

    #[test]
    fn what_is_not_understood_is_never_ignored() {
        let mut config = StackConfig::default();
        let mut refused = |command| apply(command, &mut config).is_err();
        assert!(refused("sysctl net.inet.sctp.ecn_enable=1"));
        assert!(refused("sysctl net.ipv4.tcp_sack=1"));
        assert!(refused("rm -rf x"));
        assert!(!refused("sysctl -ew net.sctp.auth_enable=0"));
    }
}
