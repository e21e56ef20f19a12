//! Data channels on str0m, driven as its documentation says: a server with a task for each
//! connection, or a client that does exercises.

use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use str0m::change::{SdpAnswer, SdpOffer};
use str0m::channel::{ChannelConfig, ChannelId, Reliability};
use str0m::net::{Protocol, Receive};
use str0m::{Candidate, Event, Input, Output, Rtc};
use tokio::net::UdpSocket;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use webrtc_peers::exercises::{KINDS, Message, Told, answered, exercise, leave, offered};
use webrtc_peers::{Order, Server, serve, server};

#[tokio::main]
async fn main() -> Result<()> {
    if let Some(server) = server() {
        return client(server).await;
    }
    serve(async |offer| {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let mut rtc = Rtc::builder().build(Instant::now());
        rtc.add_local_candidate(Candidate::host(socket.local_addr()?, "udp")?);
        let answer = rtc.sdp_api().accept_offer(SdpOffer::from_sdp_string(&offer)?)?;
        tokio::spawn(async move {
            let mut page = Page { sending: None };
            if let Err(error) = drive(rtc, socket, &mut page).await {
                eprintln!("{error}");
            }
        });
        Ok(answer.to_sdp_string())
    })
    .await
}

/// Messages under way on a channel, and when the next is due.
struct Sending {
    channel: ChannelId,
    order: Order,
    number: u32,
    due: Instant,
}

/// Application of a connection, which its loop calls.
trait Application {
    fn on_event(&mut self, rtc: &mut Rtc, event: Event) -> Result<()>;

    /// Time at which it wants to act without an event.
    fn due(&self) -> Option<Instant> {
        None
    }

    fn act(&mut self, rtc: &mut Rtc, now: Instant) -> Result<()>;
}

/// A server's page: it gets what its channel's label asks for, or what it sends.
struct Page {
    sending: Option<Sending>,
}

impl Application for Page {
    fn on_event(&mut self, rtc: &mut Rtc, event: Event) -> Result<()> {
        match event {
            Event::ChannelOpen(channel, label) => {
                let due = Instant::now();
                let sending = |order| Sending { channel, order, number: 0, due };
                self.sending = Order::parse(&label).map(sending).or(self.sending.take());
            }
            Event::ChannelData(data) => {
                if let Some(mut channel) = rtc.channel(data.id) {
                    channel.write(data.binary, &data.data)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn due(&self) -> Option<Instant> {
        self.sending.as_ref().filter(|one| one.number < one.order.count).map(|one| one.due)
    }

    fn act(&mut self, rtc: &mut Rtc, now: Instant) -> Result<()> {
        let Some(one) = &mut self.sending else { return Ok(()) };
        if one.number < one.order.count && one.due <= now {
            if let Some(mut channel) = rtc.channel(one.channel) {
                channel.write(true, &one.order.message(one.number))?;
            }
            one.number += 1;
            one.due += one.order.interval;
        }
        Ok(())
    }
}

/// A client with the channels of the exercises.
struct Client {
    channels: Vec<ChannelId>,
    told: UnboundedSender<Told>,
    send: UnboundedReceiver<Message>,
    /// Time at which it looks for messages to send again.
    due: Instant,
}

impl Application for Client {
    fn on_event(&mut self, _: &mut Rtc, event: Event) -> Result<()> {
        let number = |id| self.channels.iter().position(|own| *own == id);
        let told = match event {
            Event::ChannelOpen(id, label) => match number(id) {
                Some(number) => Told::Opened(number),
                None => Told::FromServer(label),
            },
            Event::ChannelData(data) => match number(data.id) {
                Some(number) => Told::Message(number, data.data),
                None => return Ok(()),
            },
            Event::ChannelClose(id) => match number(id) {
                Some(number) => Told::Closed(number),
                None => return Ok(()),
            },
            _ => return Ok(()),
        };
        let _ = self.told.send(told);
        Ok(())
    }

    fn due(&self) -> Option<Instant> {
        Some(self.due)
    }

    fn act(&mut self, rtc: &mut Rtc, now: Instant) -> Result<()> {
        self.due = now + Duration::from_millis(5);
        while let Ok(Message { channel, binary, data }) = self.send.try_recv() {
            if let Some(mut channel) = rtc.channel(self.channels[channel]) {
                channel.write(binary, &data)?;
            }
        }
        Ok(())
    }
}

async fn client(server: Server) -> Result<()> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let mut rtc = Rtc::builder().build(Instant::now());
    rtc.add_local_candidate(Candidate::host(socket.local_addr()?, "udp")?);
    let configs = KINDS.iter().map(|kind| {
        let reliability = match (kind.max_retransmits, kind.max_life_time) {
            (Some(retransmits), _) => Reliability::MaxRetransmits { retransmits },
            (_, Some(lifetime)) => Reliability::MaxPacketLifetime { lifetime },
            _ => Reliability::Reliable,
        };
        let (label, ordered) = (kind.label.to_owned(), kind.ordered);
        ChannelConfig { label, ordered, reliability, ..ChannelConfig::default() }
    });
    let channels = match server {
        Server::Answers(at) => {
            let mut change = rtc.sdp_api();
            let channels = configs.map(|config| change.add_channel_with_config(config)).collect();
            let (offer, pending) = change.apply().context("no offer")?;
            let answer = answered(at, &offer.to_sdp_string()).await?;
            rtc.sdp_api().accept_answer(pending, SdpAnswer::from_sdp_string(&answer)?)?;
            channels
        }
        Server::Offers(at) => {
            let (offer, stream) = offered(at).await?;
            let answer = rtc.sdp_api().accept_offer(SdpOffer::from_sdp_string(&offer)?)?;
            leave(stream, &answer.to_sdp_string()).await?;
            // The section is there: further channels need no further offer.
            configs.map(|config| rtc.direct_api().create_data_channel(config)).collect()
        }
    };
    let ((told, hear), (ask, send)) = (unbounded_channel(), unbounded_channel());
    let due = Instant::now();
    tokio::spawn(async move {
        if let Err(error) = drive(rtc, socket, &mut Client { channels, told, send, due }).await {
            eprintln!("{error}");
        }
    });
    exercise(ask, hear).await
}

async fn drive(mut rtc: Rtc, socket: UdpSocket, application: &mut impl Application) -> Result<()> {
    let local = socket.local_addr()?;
    let mut datagram = vec![0; 2000];
    while rtc.is_alive() {
        let timeout = loop {
            match rtc.poll_output()? {
                Output::Timeout(at) => break at,
                Output::Transmit(out) => {
                    socket.send_to(&out.contents, out.destination).await?;
                }
                Output::Event(event) => application.on_event(&mut rtc, event)?,
            }
        };
        let wake = application.due().map_or(timeout, |due| due.min(timeout));
        tokio::select! {
            read = socket.recv_from(&mut datagram) => {
                let (size, source) = read?;
                if let Ok(contents) = datagram[..size].try_into() {
                    let (proto, destination) = (Protocol::Udp, local);
                    let received = Receive { proto, source, destination, contents };
                    rtc.handle_input(Input::Receive(Instant::now(), received))?;
                }
            }
            () = tokio::time::sleep_until(wake.into()) => {
                let now = Instant::now();
                rtc.handle_input(Input::Timeout(now))?;
                application.act(&mut rtc, now)?;
            }
        }
    }
    Ok(())
}
