//! Sends every message back on the stream on which it came, encrypted. Clients know the server by
//! the fingerprint that it prints, which lasts as long as the server runs: see
//! `EndpointOptions::identity`.

use thinstream::{Association, Endpoint, EndpointOptions};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let endpoint = Endpoint::bind("[::]:9899".parse()?, EndpointOptions::server())?;
    println!("echo at {}", endpoint.local_addr());
    if let Some(fingerprint) = endpoint.fingerprint() {
        println!("key {fingerprint}");
    }
    loop {
        tokio::spawn(echo(endpoint.accept().await?));
    }
}

async fn echo(association: Association) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    while let Some(message) = association.receive().await? {
        association.send(message.stream, message.payload.into_bytes()).await?;
    }
    Ok(())
}
