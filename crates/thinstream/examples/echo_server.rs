//! Sends every message back on the stream on which it came. Traffic is not encrypted.

use thinstream::{Association, Endpoint, EndpointOptions};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let endpoint = Endpoint::bind("[::]:9899".parse()?, EndpointOptions::server())?;
    println!("echo at {}", endpoint.local_addr());
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
