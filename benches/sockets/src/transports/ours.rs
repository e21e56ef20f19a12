//! thinstream, encrypting and not: a task for each association.

use thinstream::{
    Association, AssociationOptions, Encapsulation, Endpoint, EndpointOptions, PeerAddress,
    SendOptions, StreamId,
};

use crate::Result;
use crate::answers::Answers;
use crate::probe::Probe;
use crate::sender::Sender;

pub async fn serve(probe: Probe, encrypted: bool, threads: usize) -> Result<()> {
    let encapsulation = if encrypted { Encapsulation::Secure } else { Encapsulation::PlainUdp };
    let (max_per_peer, shards) = (Some(1 << 16), threads.try_into()?);
    let options =
        EndpointOptions { encapsulation, max_per_peer, shards, ..EndpointOptions::server() };
    let endpoint = Endpoint::bind("127.0.0.1:0".parse()?, options)?;
    match endpoint.fingerprint() {
        Some(key) => println!("{} {key}", endpoint.local_addr()),
        None => println!("{}", endpoint.local_addr()),
    }
    loop {
        tokio::spawn(answer(endpoint.accept().await?, probe.clone()));
    }
}

async fn answer(association: Association, probe: Probe) {
    while let Ok(Some(message)) = association.receive().await {
        let payload = message.payload.into_bytes();
        probe.on_received(&payload);
        if association.send(StreamId(0), payload).await.is_err() {
            break;
        }
    }
}

pub async fn connect(server: String, mut answers: Answers) -> Result<Sender> {
    let (address, key) = match server.split_once(' ') {
        Some((address, key)) => (address, Some(key)),
        None => (&*server, None),
    };
    let encapsulation = if key.is_some() { Encapsulation::Secure } else { Encapsulation::PlainUdp };
    let options = EndpointOptions { encapsulation, ..EndpointOptions::client() };
    let endpoint = Endpoint::bind("127.0.0.1:0".parse()?, options)?;
    let mut peer = PeerAddress::from(address.parse::<std::net::SocketAddr>()?);
    if let Some(key) = key {
        peer = peer.trusting(key.parse::<thinstream::Fingerprint>()?);
    }
    let association = endpoint.connect(peer, AssociationOptions::default()).await?;
    let reading = association.clone();
    tokio::spawn(async move {
        while let Ok(Some(message)) = reading.receive().await {
            answers.on_received(&message.payload.into_bytes());
        }
    });
    Ok(Box::new(move |message| {
        association.try_send(StreamId(0), message.to_vec(), SendOptions::default())?;
        Ok(())
    }))
}
