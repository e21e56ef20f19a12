//! Data channels on webrtc-rs: a server, or a client that does exercises.

use std::sync::Arc;

use anyhow::{Context, Result};
use bytes::BytesMut;
use tokio::sync::{Mutex, mpsc};
use webrtc::data_channel::{DataChannel, DataChannelEvent, RTCDataChannelInit};
use webrtc::peer_connection::{
    PeerConnection, PeerConnectionBuilder, PeerConnectionEventHandler, RTCConfigurationBuilder,
    RTCIceGatheringState, RTCSessionDescription, SettingEngineBuilder,
};
use webrtc::runtime::TokioRuntime;
use webrtc_peers::exercises::{KINDS, Message, Told, answered, exercise, leave, offered};
use webrtc_peers::{Order, Server, serve, server};

struct Handler {
    gathered: mpsc::Sender<()>,
}

#[async_trait::async_trait]
impl PeerConnectionEventHandler for Handler {
    async fn on_ice_gathering_state_change(&self, state: RTCIceGatheringState) {
        if state == RTCIceGatheringState::Complete {
            let _ = self.gathered.try_send(());
        }
    }

    async fn on_data_channel(&self, channel: Arc<dyn DataChannel>) {
        tokio::spawn(converse(channel));
    }
}

async fn converse(channel: Arc<dyn DataChannel>) {
    while let Some(event) = channel.poll().await {
        match event {
            DataChannelEvent::OnOpen => {
                let label = channel.label().await.unwrap_or_default();
                if let Some(order) = Order::parse(&label) {
                    tokio::spawn(send(Arc::clone(&channel), order));
                }
            }
            DataChannelEvent::OnMessage(message) => {
                let _ = match message.is_string {
                    true => channel.send_text(&String::from_utf8_lossy(&message.data)).await,
                    false => channel.send(message.data).await,
                };
            }
            DataChannelEvent::OnClose => return,
            _ => {}
        }
    }
}

async fn send(channel: Arc<dyn DataChannel>, order: Order) {
    let mut ticks = tokio::time::interval(order.interval);
    for number in 0..order.count {
        ticks.tick().await;
        if channel.send(BytesMut::from(&order.message(number)[..])).await.is_err() {
            return;
        }
    }
}

async fn connection(
    handler: impl PeerConnectionEventHandler + 'static,
) -> Result<impl PeerConnection> {
    let settings = SettingEngineBuilder::new().with_include_loopback_candidate(true).build();
    let connection = PeerConnectionBuilder::new()
        .with_configuration(RTCConfigurationBuilder::new().build())
        .with_setting_engine(settings)
        .with_handler(Arc::new(handler))
        .with_runtime(Arc::new(TokioRuntime))
        .with_udp_addrs(vec!["127.0.0.1:0".to_owned()])
        .build()
        .await?;
    Ok(connection)
}

/// Handler of a client's events.
struct ClientHandler {
    gathered: mpsc::Sender<()>,
    told: mpsc::UnboundedSender<Told>,
}

#[async_trait::async_trait]
impl PeerConnectionEventHandler for ClientHandler {
    async fn on_ice_gathering_state_change(&self, state: RTCIceGatheringState) {
        if state == RTCIceGatheringState::Complete {
            let _ = self.gathered.try_send(());
        }
    }

    async fn on_data_channel(&self, channel: Arc<dyn DataChannel>) {
        let _ = self.told.send(Told::FromServer(channel.label().await.unwrap_or_default()));
    }
}

async fn tell(number: usize, channel: Arc<dyn DataChannel>, told: mpsc::UnboundedSender<Told>) {
    while let Some(event) = channel.poll().await {
        let _ = told.send(match event {
            DataChannelEvent::OnOpen => Told::Opened(number),
            DataChannelEvent::OnMessage(message) => Told::Message(number, message.data.to_vec()),
            DataChannelEvent::OnClose => Told::Closed(number),
            _ => continue,
        });
    }
}

async fn client(server: Server) -> Result<()> {
    let (gathered, mut is_gathered) = mpsc::channel(1);
    let (told, hear) = mpsc::unbounded_channel();
    let connection = connection(ClientHandler { gathered, told: told.clone() }).await?;
    let waiting = match server {
        Server::Answers(_) => None,
        Server::Offers(at) => {
            let (offer, stream) = offered(at).await?;
            connection.set_remote_description(RTCSessionDescription::offer(offer)?).await?;
            Some(stream)
        }
    };
    let mut channels = vec![];
    for (number, kind) in KINDS.iter().enumerate() {
        let init = RTCDataChannelInit {
            ordered: kind.ordered,
            max_retransmits: kind.max_retransmits,
            max_packet_life_time: kind.max_life_time,
            ..RTCDataChannelInit::default()
        };
        let channel = connection.create_data_channel(kind.label, Some(init)).await?;
        tokio::spawn(tell(number, Arc::clone(&channel), told.clone()));
        channels.push(channel);
    }
    let own = match server {
        Server::Answers(_) => connection.create_offer(None).await?,
        Server::Offers(_) => connection.create_answer(None).await?,
    };
    connection.set_local_description(own).await?;
    is_gathered.recv().await.context("nothing was gathered")?;
    let own = connection.local_description().await.context("no description")?;
    if let Server::Answers(at) = server {
        let answer = answered(at, &own.sdp).await?;
        connection.set_remote_description(RTCSessionDescription::answer(answer)?).await?;
    } else if let Some(stream) = waiting {
        leave(stream, &own.sdp).await?;
    }
    let (send, mut sent) = mpsc::unbounded_channel::<Message>();
    tokio::spawn(async move {
        while let Some(Message { channel, binary, data }) = sent.recv().await {
            let _ = match binary {
                true => channels[channel].send(BytesMut::from(&data[..])).await,
                false => channels[channel].send_text(&String::from_utf8_lossy(&data)).await,
            };
        }
    });
    exercise(send, hear).await?;
    connection.close().await?;
    Ok(())
}

#[tokio::main]
async fn main() -> Result<()> {
    if let Some(server) = server() {
        return client(server).await;
    }
    // A connection ends with its last handle.
    let connections = Mutex::new(Vec::new());
    serve(async |offer| {
        let (gathered, mut is_gathered) = mpsc::channel(1);
        let connection = connection(Handler { gathered }).await?;
        connection.set_remote_description(RTCSessionDescription::offer(offer)?).await?;
        let answer = connection.create_answer(None).await?;
        connection.set_local_description(answer).await?;
        is_gathered.recv().await.context("nothing was gathered")?;
        let answer = connection.local_description().await.context("no description")?;
        connections.lock().await.push(connection);
        Ok(answer.sdp)
    })
    .await
}
