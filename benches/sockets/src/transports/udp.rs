//! Plain UDP with an answer.

use tokio::net::UdpSocket;

use crate::answers::Answers;
use crate::probe::Probe;
use crate::sender::Sender;
use crate::{MESSAGE, Result};

pub async fn serve(probe: Probe) -> Result<()> {
    let socket = UdpSocket::bind("127.0.0.1:0").await?;
    println!("{}", socket.local_addr()?);
    let mut buffer = [0; 2048];
    loop {
        let (length, from) = socket.recv_from(&mut buffer).await?;
        probe.on_received(&buffer[..length]);
        socket.send_to(&buffer[..length], from).await?;
    }
}

pub async fn connect(server: String, mut answers: Answers) -> Result<Sender> {
    let socket = std::sync::Arc::new(UdpSocket::bind("127.0.0.1:0").await?);
    socket.connect(server).await?;
    let reading = socket.clone();
    tokio::spawn(async move {
        let mut buffer = [0; MESSAGE];
        while reading.recv(&mut buffer).await.is_ok() {
            answers.on_received(&buffer);
        }
    });
    Ok(Box::new(move |message| {
        socket.try_send(message)?;
        Ok(())
    }))
}
