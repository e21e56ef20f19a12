//! thinstream, in plain and encrypting: a task for each association.

use thinstream::{
    Association, AssociationOptions, Carrier, Endpoint, EndpointOptions, PeerAddress, SendOptions,
    StreamId,
};

use crate::Result;
use crate::probe::Probe;
use crate::sender::Sender;

pub async fn serve(probe: Probe, encrypted: bool, _threads: usize) -> Result<()> {
    let carrier = if encrypted { Carrier::Secure } else { Carrier::PlainUdp };
    let options =
        EndpointOptions { carrier, max_per_peer: Some(1 << 16), ..EndpointOptions::server() };
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

pub async fn connect(server: String) -> Result<Sender> {
    let (address, key) = match server.split_once(' ') {
        Some((address, key)) => (address, Some(key)),
        None => (&*server, None),
    };
    let carrier = if key.is_some() { Carrier::Secure } else { Carrier::PlainUdp };
    let options = EndpointOptions { carrier, ..EndpointOptions::client() };
    let endpoint = Endpoint::bind("127.0.0.1:0".parse()?, options)?;
    let mut peer = PeerAddress::from(address.parse::<std::net::SocketAddr>()?);
    if let Some(key) = key {
        peer = peer.trusting(key.parse::<thinstream::Fingerprint>()?);
    }
    let association = endpoint.connect(peer, AssociationOptions::default()).await?;
    let reading = association.clone();
    tokio::spawn(async move { while let Ok(Some(_)) = reading.receive().await {} });
    Ok(Box::new(move |message| {
        association.try_send(StreamId(0), message.to_vec(), SendOptions::default())?;
        Ok(())
    }))
}
