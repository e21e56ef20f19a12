//! Any datagram, its checksum made right: parsing must neither panic nor read what is not there,
//! and what it read must come out again when it is written and read once more.

use bytes::Bytes;
use std::sync::Arc;

use sctp::wire::chunk::{
    AddressAnswer, AddressAnswers, Asconf, AsconfAck, Auth, ForwardTsn, IForwardTsn, Init, InitAck,
    OutgoingSack, RawChunk, ReConfig, ReconfigParameter, StreamIds,
};
use sctp::wire::signing::{ChunkTypes, Signer};
use sctp::wire::{
    Cause, Chunk, ChunkType, CommonHeader, DoesNotFit, EmitChunk, Packet, PacketBuilder, Parameter,
    Parameters,
};

use crate::network::fix_checksum;

/// Reads the datagram as it is, and with its checksum made right.
pub fn run(datagram: &[u8]) {
    let _ = Packet::parse(Bytes::copy_from_slice(datagram));
    let mut fixed = datagram.to_vec();
    if fixed.len() < CommonHeader::LENGTH {
        return;
    }
    fix_checksum(&mut fixed);
    let Ok(packet) = Packet::parse(Bytes::from(fixed)) else { return };
    assert!(packet.raw_chunks().count() <= packet.len() / 4);
    for chunk in packet.chunks().flatten() {
        walk(&packet, &chunk);
        write_again(packet.header(), chunk);
    }
    for raw in packet.raw_chunks().flatten() {
        write_raw_again(packet.header(), raw);
    }
}

/// Reads all that a chunk holds; there is never more of anything than bytes allow.
fn walk(packet: &Packet, chunk: &Chunk<'_>) {
    let most = packet.len() / 4;
    match chunk {
        Chunk::Init(init) => walk_init(init, most),
        Chunk::InitAck(answer) => walk_init(&answer.0, most),
        Chunk::Sack(sack) => {
            let entries = sack.gap_ack_blocks().count() + sack.duplicate_tsns().count();
            assert!(entries <= most);
        }
        Chunk::Abort(abort) => assert!(abort.causes.iter().count() <= most),
        Chunk::Error(error) => assert!(error.causes.iter().count() <= most),
        Chunk::ReConfig(chunk) => {
            assert!(chunk.parameters.iter().count() <= most);
            let listed = |parameter: ReconfigParameter<'_, StreamIds<'_>>| match parameter {
                ReconfigParameter::OutgoingReset { streams, .. }
                | ReconfigParameter::IncomingReset { streams, .. } => streams.iter().count(),
                _ => 0,
            };
            assert!(chunk.parameters.iter().flatten().map(listed).sum::<usize>() <= 2 * most);
        }
        Chunk::Asconf(chunk) => assert!(chunk.requests.iter().count() <= most),
        Chunk::AsconfAck(chunk) => assert!(answers(&chunk.answers).len() <= most),
        _ => {}
    }
}

fn walk_init(init: &Init<Parameters<'_>>, most: usize) {
    let _ = (init.validate(), init.parameters.state_cookie(), init.parameters.host_name());
    assert!(init.parameters.iter().count() <= most);
}

/// Writes a chunk and asserts that it reads as what it was.
fn write_again(header: CommonHeader, chunk: Chunk<'_>) {
    let what = describe(&chunk);
    let written = match chunk {
        Chunk::Data(data) => write(header, data),
        Chunk::IData(data) => write(header, data),
        Chunk::ForwardTsn(skip) => {
            let (new_cumulative_tsn, skips) = (skip.new_cumulative_tsn, skip.skips.iter());
            write(header, ForwardTsn { new_cumulative_tsn, skips })
        }
        Chunk::IForwardTsn(skip) => {
            let (new_cumulative_tsn, skips) = (skip.new_cumulative_tsn, skip.skips.iter());
            write(header, IForwardTsn { new_cumulative_tsn, skips })
        }
        Chunk::ReConfig(chunk) => {
            let parameters: Vec<_> = chunk.parameters.iter().flatten().collect();
            write(header, ReConfig { parameters })
        }
        Chunk::Asconf(chunk) => {
            let (serial, address) = (chunk.serial, chunk.address);
            let requests = chunk.requests.iter().map_while(Result::ok);
            let requests: Vec<_> = requests.map(|(request, _)| request).collect();
            write(header, Asconf { serial, address, requests })
        }
        Chunk::AsconfAck(chunk) => {
            let answers = answers(&chunk.answers);
            write(header, AsconfAck { serial: chunk.serial, answers })
        }
        Chunk::Auth(auth) => return sign_again(header, &auth),
        Chunk::Init(init) => write_init(header, &init, false),
        Chunk::InitAck(answer) => write_init(header, &answer.0, true),
        Chunk::Sack(sack) => write(
            header,
            OutgoingSack {
                cumulative_tsn_ack: sack.cumulative_tsn_ack,
                a_rwnd: sack.a_rwnd,
                gap_ack_blocks: sack.gap_ack_blocks(),
                duplicate_tsns: sack.duplicate_tsns(),
            },
        ),
        Chunk::Heartbeat(heartbeat) => write(header, heartbeat),
        Chunk::HeartbeatAck(answer) => write(header, answer),
        Chunk::Shutdown(shutdown) => write(header, shutdown),
        Chunk::ShutdownAck(answer) => write(header, answer),
        Chunk::CookieEcho(echo) => write(header, echo),
        Chunk::CookieAck(answer) => write(header, answer),
        Chunk::ShutdownComplete(complete) => write(header, complete),
        _ => return,
    };
    let Ok(bytes) = written else { return };
    let again = match Packet::parse(Bytes::from(bytes)) {
        Ok(packet) => packet,
        Err(error) => panic!("what was written cannot be read: {error}: {what}"),
    };
    let read = again.chunks().next();
    match read {
        // Bits that mean nothing and parameters that cannot be read are left out when writing, so
        // that only what is read the second time must stay as it is.
        Some(Ok(read)) => {
            let (first, second) = (what, describe(&read));
            assert!(same(&first, &second), "{first} became {second}");
        }
        other => panic!("{what} became {other:?}"),
    }
    assert!(again.chunks().nth(1).is_none(), "one chunk became several");
}

/// Contents of a chunk, without bits that have no meaning.
fn describe(chunk: &Chunk<'_>) -> String {
    match chunk {
        Chunk::IForwardTsn(skip) => {
            let skips: Vec<_> = skip.skips.iter().collect();
            format!("IForwardTsn({:?}, {skips:?})", skip.new_cumulative_tsn)
        }
        // As far as they can be read.
        Chunk::ReConfig(chunk) => {
            let parameters = chunk.parameters.iter().map_while(Result::ok);
            let described = parameters.map(|parameter| match parameter {
                ReconfigParameter::Unrecognized(raw) => format!("{:?}", raw.bytes),
                ReconfigParameter::OutgoingReset { request, response, last_tsn, streams } => {
                    let streams: Vec<_> = streams.iter().collect();
                    format!("out {request:?} {response:?} {last_tsn:?} {streams:?}")
                }
                ReconfigParameter::IncomingReset { request, streams } => {
                    format!("in {request:?} {:?}", streams.iter().collect::<Vec<_>>())
                }
                other => format!("{other:?}"),
            });
            format!("ReConfig({:?})", described.collect::<Vec<_>>())
        }
        Chunk::Asconf(chunk) => {
            let requests = chunk.requests.iter().map_while(Result::ok);
            let requests: Vec<_> = requests.map(|(request, _)| request).collect();
            format!("Asconf({:?}, {}, {requests:?})", chunk.serial, chunk.address)
        }
        Chunk::AsconfAck(chunk) => {
            format!("AsconfAck({:?}, {:?})", chunk.serial, answers(&chunk.answers))
        }
        _ => format!("{chunk:?}"),
    }
}

/// The answers of an ASCONF-ACK as far as they can be read, without those that are of no known
/// type.
fn answers<'a>(answers: &AddressAnswers<'a>) -> Vec<AddressAnswer<Vec<Cause<'a>>>> {
    let known = answers.iter().map_while(Result::ok);
    let owned = known.filter_map(|answer| match answer {
        AddressAnswer::Success { correlation } => Some(AddressAnswer::Success { correlation }),
        AddressAnswer::Error { correlation, causes } => {
            let causes = causes.iter().map_while(Result::ok).collect();
            Some(AddressAnswer::Error { correlation, causes })
        }
        AddressAnswer::Unrecognized => None,
    });
    owned.collect()
}

/// AUTH is written with what it covers: with the same key and HMAC it comes out as right.
fn sign_again(header: CommonHeader, auth: &Auth<'_>) {
    let secret = b"any";
    let types: ChunkTypes = [ChunkType::COOKIE_ACK].into_iter().collect();
    let Some(signer) = Signer::new(types, auth.key, auth.hmac_id, secret) else { return };
    let mut buffer = Vec::new();
    let mut builder =
        PacketBuilder::start(&mut buffer, header, 1_000).signed(Some(Arc::new(signer)));
    let fits = builder.append(sctp::wire::chunk::CookieAck);
    assert!(fits.is_ok(), "a signed chunk fits");
    builder.finish();
    let Ok(packet) = Packet::parse(Bytes::from(buffer)) else { panic!("a signed packet is bad") };
    let mut chunks = packet.chunks();
    let Some(Ok(Chunk::Auth(again))) = chunks.next() else { panic!("no AUTH in front") };
    assert_eq!((again.key, again.hmac_id), (auth.key, auth.hmac_id));
    let digest = |auth: &Auth<'_>| auth.hmac.len();
    assert!(matches!(digest(&again), 20 | 32), "{} bytes", digest(&again));
    assert!(matches!(chunks.next(), Some(Ok(Chunk::CookieAck(_)))));
}

/// Whether two descriptions are of the same kind of chunk; equal where nothing may be left out.
fn same(first: &str, second: &str) -> bool {
    let kind = |text: &str| text.split('(').next().unwrap_or_default().to_owned();
    let loose = ["Init", "InitAck"].contains(&kind(first).as_str());
    if loose { kind(first) == kind(second) } else { first == second }
}

fn write_init(
    header: CommonHeader,
    init: &Init<Parameters<'_>>,
    is_ack: bool,
) -> Result<Vec<u8>, DoesNotFit> {
    let parameters: Vec<Parameter<'_>> = init.parameters.iter().flatten().collect();
    let init = Init {
        initiate_tag: init.initiate_tag,
        a_rwnd: init.a_rwnd,
        outbound_streams: init.outbound_streams,
        inbound_streams: init.inbound_streams,
        initial_tsn: init.initial_tsn,
        parameters,
    };
    if is_ack { write(header, InitAck(init)) } else { write(header, init) }
}

fn write(header: CommonHeader, chunk: impl EmitChunk) -> Result<Vec<u8>, DoesNotFit> {
    let mut buffer = Vec::new();
    let mut builder = PacketBuilder::start(&mut buffer, header, 65_532);
    builder.append(chunk)?;
    builder.finish();
    Ok(buffer)
}

/// A chunk copied byte by byte is the same chunk.
fn write_raw_again(header: CommonHeader, raw: RawChunk<'_>) {
    struct Copy<'a>(RawChunk<'a>);
    impl EmitChunk for Copy<'_> {
        fn head(&self) -> (sctp::wire::ChunkType, u8) {
            (self.0.chunk_type, self.0.flags)
        }
        fn emit_value(self, buffer: &mut Vec<u8>, _room: usize) {
            buffer.extend_from_slice(self.0.value());
        }
    }
    let (chunk_type, flags, value) = (raw.chunk_type, raw.flags, raw.value().to_vec());
    let Ok(bytes) = write(header, Copy(raw)) else { return };
    let Ok(again) = Packet::parse(Bytes::from(bytes)) else { panic!("a copy cannot be read") };
    let Some(Ok(read)) = again.raw_chunks().next() else { panic!("a copied chunk is gone") };
    assert_eq!((read.chunk_type, read.flags, read.value()), (chunk_type, flags, &value[..]));
}
