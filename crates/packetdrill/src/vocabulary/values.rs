//! Permissible values of socket options and fields: their number, range, and the size of a struct.

use super::constant;
use super::names::PLAIN_OPTIONS;
use crate::expression::{Expression, Field};
use crate::script::Call;

/// Sizes in bytes of structs that are equal on FreeBSD and Linux.
const STRUCT_SIZES: [(&str, i64); 14] = [
    ("SO_LINGER", 8),
    ("SCTP_ASCONF_SUPPORTED", 8),
    ("SCTP_AUTH_SUPPORTED", 8),
    ("SCTP_AUTH_CHUNK", 1),
    ("SCTP_DELAYED_SACK", 12),
    ("SCTP_ENABLE_STREAM_RESET", 8),
    ("SCTP_EVENT", 8),
    ("SCTP_INITMSG", 8),
    ("SCTP_INTERLEAVING_SUPPORTED", 8),
    ("SCTP_MAXSEG", 8),
    ("SCTP_MAX_BURST", 8),
    ("SCTP_PR_SUPPORTED", 8),
    ("SCTP_RECONFIG_SUPPORTED", 8),
    ("SCTP_RTOINFO", 16),
];

/// Size in bytes of SCTP_AUTH_KEY without the key itself.
const AUTH_KEY_SIZE: i64 = 8;

/// Options whose value is bytes, not a number.
const BYTES: [&str; 2] = ["TCP_FASTOPEN_KEY", "TCP_SAVED_SYN"];

/// Fields of 8 and of 16 bits.
const NARROW: [(u32, &str); 2] = [
    (8, "se_on sauth_chunk spp_dscp"),
    (
        16,
        "sinit_num_ostreams sinit_max_instreams sinit_max_attempts sinit_max_init_timeo \
         sasoc_asocmaxrxt sasoc_number_peer_destinations spp_pathmaxrxt spt_pathmaxrxt \
         spt_pathpfthld sca_keynumber sca_keylength scact_keynumber sue_port sas_instrms \
         sas_outstrms srs_flags srs_number_streams snd_sid snd_flags sinfo_stream sinfo_ssn \
         sinfo_flags rcv_sid rcv_ssn rcv_flags nxt_sid nxt_flags pr_policy stream_id stream_value \
         auth_keynumber sin_port sin6_port",
    ),
];

/// Fields that may be negative, or that have 64 bits.
const OTHERS: &str =
    "linger l_linger onoff l_onoff fd u64 iov_len msg_iovlen msg_controllen cmsg_len";

/// Whether a setsockopt() gives fewer bytes than its option has, which systems refuse with EINVAL.
pub(crate) fn is_cut_off(call: &Call) -> bool {
    let [_, _, Expression::Name(name), value, size] = call.arguments.as_slice() else {
        return false;
    };
    let Some(size) = size.number(&constant) else { return false };
    let key_length = || number_of(value, "sca_keylength").unwrap_or(0);
    let plain = PLAIN_OPTIONS.iter().find(|(_, names)| super::is_among(names, name));
    let least = match (name.as_str(), plain) {
        ("SCTP_AUTH_KEY", _) => AUTH_KEY_SIZE + key_length(),
        (name, _) if BYTES.contains(&name) => 0,
        // Options of IP may be a single byte.
        (_, Some(("ip" | "ipv6", _))) => 1,
        (_, Some(_)) => 4,
        (name, None) => {
            STRUCT_SIZES.iter().find(|(known, _)| *known == name).map_or(0, |(_, size)| *size)
        }
    };
    size < least
}

/// Error in the form of an option's value: a numeric option requires one number, a struct requires
/// named fields.
pub(super) fn misshapen(name: &str, value: &Expression) -> Option<String> {
    let is_plain = PLAIN_OPTIONS.iter().any(|(_, names)| super::is_among(names, name));
    match value {
        Expression::List(list) if is_plain && !BYTES.contains(&name) && list.len() != 1 => {
            Some(format!("{name} is one number, found {}", list.len()))
        }
        Expression::Struct(fields) => {
            let is_nameless =
                |field: &Field| field.name.is_none() && field.value != Expression::Any;
            fields.iter().any(is_nameless).then(|| format!("a field of {name} has no name"))
        }
        _ => None,
    }
}

/// Reason for which a number does not fit its field; `None` if it fits.
pub(super) fn without_room(name: &str, value: &Expression) -> Option<String> {
    let number = value.number(&constant)?;
    if super::is_among(OTHERS, name) {
        return None;
    }
    let narrow = NARROW.iter().find(|(_, names)| super::is_among(names, name));
    let bits = narrow.map_or(32, |(bits, _)| *bits);
    let has_room = (0..1_i64 << bits).contains(&number);
    (!has_room).then(|| format!("{name} has {bits} bits, which {number} does not fit"))
}

/// The number in a struct's field.
fn number_of(value: &Expression, name: &str) -> Option<i64> {
    let field = |field: &&Field| field.name.as_deref() == Some(name);
    value.fields()?.iter().find(field)?.value.number(&constant)
}
