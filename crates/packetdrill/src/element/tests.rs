use super::*;
use crate::mapping::{Mapping, Side};
use crate::script::{Action, Content, SctpBody};

fn element(text: &str) -> Element {
    let script = crate::parse(&format!("+0 < sctp: {text}")).unwrap();
    match script.events.into_iter().next().map(|event| event.action) {
        Some(Action::Inject(crate::script::Packet { content: Content::Sctp(packet), .. })) => {
            match packet.body {
                SctpBody::Chunks(mut chunks) => chunks.remove(0),
                SctpBody::Raw(_) => panic!("raw"),
            }
        }
        other => panic!("{other:?}"),
    }
}

fn bytes(text: &str, mapping: &Mapping) -> Vec<u8> {
    let mut out = Vec::new();
    let memory = Memory { cookie: vec![9, 9, 9], heartbeat: vec![0, 1, 0, 6, 7, 7] };
    encode(&element(text), mapping.perspective(Side::Script), &memory, &mut out);
    out
}

/// Every element that the language can express is carried by the wire and matched by its own
/// pattern.
#[test]
fn every_element_matches_itself_after_a_trip_over_the_wire() {
    let mapping = Mapping::new(1000, u32::MAX - 3);
    for text in [
        "DATA[flgs=UBE, len=19, tsn=3, sid=1, ssn=2, ppid=7]",
        "I_DATA[flgs=E, len=21, tsn=3, sid=1, mid=9, fsn=2]",
        "INIT[flgs=0, tag=1, a_rwnd=1500, os=1, is=2, tsn=5, IPV4_ADDRESS[addr=1.1.1.1], \
         HOSTNAME_ADDRESS[addr=\"a.b\"], SUPPORTED_EXTENSIONS[types=[FORWARD_TSN, 0x40]]]",
        "INIT_ACK[flgs=0, tag=1, a_rwnd=1500, os=1, is=2, tsn=5, STATE_COOKIE[len=5, val=[1]], \
         UNRECOGNIZED_PARAMETER[params=[PARAMETER[type=0xc0cc, len=5, val=[1]]]]]",
        "SACK[flgs=0, cum_tsn=1, a_rwnd=9, gaps=[2:3, 5:5], dups=[1, 4]]",
        "NR_SACK[flgs=0, cum_tsn=1, a_rwnd=9, gaps=[2:3], nr_gaps=[5:5, 7:7], dups=[1]]",
        "HEARTBEAT[flgs=0, HEARTBEAT_INFORMATION[len=9, val=[1, 2, 3, 4, 5]]]",
        "ABORT[flgs=T, MISSING_MANDATORY_PARAMETER[types=[7]], PROTOCOL_VIOLATION[info=\"x\"]]",
        "ERROR[flgs=0, UNRECOGNIZED_CHUNK_TYPE[chk=CHUNK[type=0xef, flgs=0, len=5, val=[1]]]]",
        "ERROR[flgs=0, INVALID_STREAM_IDENTIFIER[sid=1]]",
        "SHUTDOWN[flgs=0, cum_tsn=2]",
        "FORWARD_TSN[cum_tsn=2, ids=[{1,0}, {2,9}]]",
        "I_FORWARD_TSN[cum_tsn=2, ids=[{1,1,70000}]]",
        "CHUNK[type=0x2f, flgs=0, len=5, val=[1]]",
        "RECONFIG[flgs=0, RECONFIG_RESPONSE[resp_sn=1, result=2]]",
        "RECONFIG[flgs=0, RECONFIG_RESPONSE[resp_sn=1, result=2, sender_next_tsn=3, \
         receiver_next_tsn=4], INCOMING_SSN_RESET[req_sn=1]]",
        "ERROR[flgs=0, CAUSE[code=1, len=8, info=[0, 1, 0, 0]]]",
        "RECONFIG[flgs=0, OUTGOING_SSN_RESET[req_sn=1, resp_sn=2, last_tsn=3, sids=[1, 2]]]",
        "RECONFIG[flgs=0, SSN_TSN_RESET[req_sn=3], ADD_OUTGOING_STREAMS[req_sn=1, \
         number_of_new_streams=7], ADD_INCOMING_STREAMS[req_sn=2, number_of_new_streams=8]]",
        "ECNE[flgs=0, tsn=1]",
        "CWR[flgs=0, tsn=1]",
        "PAD[flgs=0, len=8, val=[0, 0, 0, 0]]",
        "COOKIE_ECHO[flgs=0, len=6, val=[1, 2]]",
        "COOKIE_ACK[flgs=0]",
        "SHUTDOWN_ACK[flgs=0]",
        "SHUTDOWN_COMPLETE[flgs=T]",
        "HEARTBEAT_ACK[flgs=0, HEARTBEAT_INFORMATION[len=6, val=[1, 2]]]",
        "INIT[flgs=0, tag=1, a_rwnd=1500, os=1, is=2, tsn=5, IPV6_ADDRESS[addr=::1], \
         COOKIE_PRESERVATIVE[incr=9], SUPPORTED_ADDRESS_TYPES[types=[IPv4, IPv6, HOSTNAME]], \
         ECN_CAPABLE[], FORWARD_TSN_SUPPORTED[], ADAPTATION_INDICATION[adaptation_code_point=7], \
         ZERO_CHECKSUM_ACCEPTABLE[edmid=SCTP_OVER_DTLS], PAD[len=6, val=[1, 2]], \
         SUPPORTED_EXTENSIONS[types=[ASCONF, ASCONF_ACK, AUTH, PKTDROP, RECONFIG, PAD, NR_SACK]]]",
        "ABORT[flgs=0, STALE_COOKIE_ERROR[staleness=4], OUT_OF_RESOURCE[], \
         UNRESOLVABLE_ADDRESS[param=HOSTNAME_ADDRESS[addr=\"a\"]], INVALID_MANDATORY_PARAMETER[], \
         UNRECOGNIZED_PARAMETERS[params=[PARAMETER[type=0xc0cc, len=4, val=[]]]], \
         NO_USER_DATA[tsn=1], COOKIE_RECEIVED_WHILE_SHUTDOWN[], \
         RESTART_WITH_NEW_ADDRESSES[params=[IPV4_ADDRESS[addr=1.2.3.4]]], \
         USER_INITIATED_ABORT[info=\"bye\"]]",
    ] {
        let wire = bytes(text, &mapping);
        assert_eq!(wire.len() % 4, 0, "{text}");
        let chunks = split(&wire).unwrap();
        assert_eq!(chunks.len(), 1, "{text}");
        let found = compare(&element(text), chunks[0], mapping.perspective(Side::Script));
        assert_eq!(found, Ok(()), "{text}");
        let printed = describe(&chunks, mapping.perspective(Side::Script));
        let again = compare(&element(&printed), chunks[0], mapping.perspective(Side::Script));
        // Contents of DATA are not printed, but all else that is printed reads back.
        assert_eq!(again, Ok(()), "{printed}");
    }
}

#[test]
fn every_field_that_differs_is_found_and_named() {
    let mapping = Mapping::new(0, 0);
    let wire = bytes("SACK[flgs=0, cum_tsn=1, a_rwnd=9, gaps=[2:3], dups=[4]]", &mapping);
    let found = |text: &str| {
        compare(&element(text), &wire, mapping.perspective(Side::Script)).unwrap_err().path
    };
    assert_eq!(found("SACK[flgs=1, cum_tsn=1, a_rwnd=9, gaps=[2:3], dups=[4]]"), "SACK.flgs");
    assert_eq!(found("SACK[flgs=0, cum_tsn=2, a_rwnd=9, gaps=[2:3], dups=[4]]"), "SACK.cum_tsn");
    assert_eq!(found("SACK[flgs=0, cum_tsn=1, a_rwnd=8, gaps=[2:3], dups=[4]]"), "SACK.a_rwnd");
    assert_eq!(found("SACK[flgs=0, cum_tsn=1, a_rwnd=9, gaps=[2:4], dups=[4]]"), "SACK.gaps");
    assert_eq!(found("SACK[flgs=0, cum_tsn=1, a_rwnd=9, gaps=[2:3], dups=[]]"), "SACK.dups");
    assert_eq!(found("SHUTDOWN[flgs=0, cum_tsn=1]"), "type");
}

#[test]
fn a_type_that_is_left_open_matches_any_and_other_requests_have_their_number() {
    let mapping = Mapping::new(1000, 70);
    let here = || mapping.perspective(Side::Script);
    let wire = bytes("CHUNK[type=0xef, flgs=3, len=5, val=[1]]", &mapping);
    let wire = split(&wire).unwrap()[0];
    for open in
        ["CHUNK[type=..., flgs=..., len=..., val=...]", "CHUNK[type=..., flgs=3, len=5, val=[1]]"]
    {
        assert_eq!(compare(&element(open), wire, here()), Ok(()), "{open}");
    }
    let other = element("CHUNK[type=..., flgs=4, len=5, val=[1]]");
    assert_eq!(compare(&other, wire, here()).unwrap_err().path, "CHUNK.flgs");
    let request =
        "RECONFIG[flgs=0, RECONFIG_REQUEST_GENERIC[type=17, len=..., req_sn=1, val=[0, 7, 0, 0]]]";
    let wire = bytes(request, &mapping);
    assert_eq!(
        wire,
        bytes(
            "RECONFIG[flgs=0, ADD_OUTGOING_STREAMS[req_sn=1, number_of_new_streams=7]]",
            &mapping
        )
    );
    assert_eq!(compare(&element(request), &wire, here()), Ok(()));
    let number = request.replace("req_sn=1", "req_sn=2");
    assert!(compare(&element(&number), &wire, here()).is_err());
}

#[test]
fn parameters_count_unless_the_list_is_open() {
    let mapping = Mapping::new(0, 0);
    let init = "INIT[flgs=0, tag=1, a_rwnd=9, os=1, is=1, tsn=1";
    let wire = bytes(&format!("{init}, ECN_CAPABLE[]]"), &mapping);
    let found = |text: &str| compare(&element(text), &wire, mapping.perspective(Side::Script));
    assert!(found(&format!("{init}]")).is_err());
    assert!(found(&format!("{init}, FORWARD_TSN_SUPPORTED[]]")).is_err());
    assert_eq!(found(&format!("{init}, ...]")), Ok(()));
    assert_eq!(found(&format!("{init}, ECN_CAPABLE[], ...]")), Ok(()));
}

#[test]
fn an_open_cookie_is_the_last_one_and_an_open_heartbeat_the_last_information() {
    let mapping = Mapping::new(0, 0);
    assert_eq!(bytes("COOKIE_ECHO[flgs=0, len=..., val=...]", &mapping), [10, 0, 0, 7, 9, 9, 9, 0]);
    assert_eq!(
        bytes("HEARTBEAT_ACK[flgs=0, HEARTBEAT_INFORMATION[len=..., val=...]]", &mapping),
        [5, 0, 0, 10, 0, 1, 0, 6, 7, 7, 0, 0]
    );
    assert_eq!(
        bytes("HEARTBEAT[flgs=0, HEARTBEAT_INFORMATION[len=6, val=...]]", &mapping).len(),
        12
    );
}

#[test]
fn bytes_are_chunks_only_if_they_are_nothing_else() {
    let mapping = Mapping::new(0, 0);
    let wire = bytes("INIT[flgs=0, tag=1, a_rwnd=9, os=1, is=1, tsn=1]", &mapping);
    assert_eq!(chunks_of(&wire).map(|chunks| chunks.len()), Some(1));
    assert_eq!(chunks_of(&[1, 0, 0, 0x60]), None);
    assert_eq!(chunks_of(&wire[..16]), None);
}

#[test]
fn malformed_elements_are_errors_never_panics() {
    let mapping = Mapping::new(0, 0);
    for length in 0..24_u16 {
        for code in [0, 1, 2, 3, 4, 6, 9, 16, 64, 130, 192, 194] {
            let mut wire = vec![0xff; usize::from(length)];
            if wire.len() >= 4 {
                wire[0] = code;
                wire[2..4].copy_from_slice(&length.to_be_bytes());
            }
            let _ = decode(&wire, Kind::Chunk, mapping.perspective(Side::Stack));
            let _ = split(&wire);
        }
    }
}

#[test]
fn bytes_behind_the_end_of_a_chunk_are_found() {
    let mapping = Mapping::new(0, 0);
    for text in [
        "COOKIE_ACK[flgs=0]",
        "SHUTDOWN[flgs=0, cum_tsn=2]",
        "SACK[flgs=0, cum_tsn=1, a_rwnd=9, gaps=[2:3], dups=[1]]",
        "ERROR[flgs=0, INVALID_STREAM_IDENTIFIER[sid=1]]",
    ] {
        let mut wire = bytes(text, &mapping);
        assert_eq!(compare(&element(text), &wire, mapping.perspective(Side::Script)), Ok(()));
        wire.extend([0; 4]);
        let length = wire.len() as u8;
        wire[3] = length;
        let found = compare(&element(text), &wire, mapping.perspective(Side::Script));
        assert!(found.is_err(), "{text}");
    }
}

#[test]
fn what_is_reserved_is_zero() {
    let mapping = Mapping::new(0, 0);
    for (text, place) in [
        ("I_DATA[flgs=BE, len=21, tsn=3, sid=1, mid=9, ppid=2]", 11),
        ("ERROR[flgs=0, INVALID_STREAM_IDENTIFIER[sid=1]]", 11),
        ("RECONFIG[flgs=0, ADD_OUTGOING_STREAMS[req_sn=1, number_of_new_streams=7]]", 15),
    ] {
        let mut wire = bytes(text, &mapping);
        wire.truncate(usize::from(wire[3]));
        let as_it_is = compare(&element(text), &wire, mapping.perspective(Side::Script));
        assert_eq!(as_it_is, Ok(()), "{text}");
        wire[place] = 1;
        let found = compare(&element(text), &wire, mapping.perspective(Side::Script));
        assert!(found.is_err_and(|why| why.to_string().contains("reserved")), "{text}");
    }
}

#[test]
fn padding_is_zero_within_chunks_and_behind_them() {
    let mapping = Mapping::new(0, 0);
    let text =
        "INIT[flgs=0, tag=1, a_rwnd=1500, os=1, is=2, tsn=5, PAD[len=5, val=[1]], ECN_CAPABLE[]]";
    let mut wire = bytes(text, &mapping);
    assert_eq!(compare(&element(text), &wire, mapping.perspective(Side::Script)), Ok(()));
    wire[27] = 1;
    assert!(compare(&element(text), &wire, mapping.perspective(Side::Script)).is_err());
    let chunk = bytes("COOKIE_ECHO[flgs=0, len=5, val=[7]]", &mapping);
    assert!(is_padded_with_zeros(&chunk));
    for place in 5..8 {
        let mut chunk = chunk.clone();
        chunk[place] = 1;
        assert!(!is_padded_with_zeros(&chunk), "{place}");
    }
}
