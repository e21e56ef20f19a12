//! Flows of an edge between a client's connection and a service's, with sides that give, take,
//! finish, fail and change their room in any order. A model knows every byte: each arrives once and
//! in order, or is held and counted; no side is called after a call that left it nothing to do.
//! Half of the inputs have a side for a client that is as unsteady as the model allows, the others
//! a connection of the stack.

mod stacked;

use apps::edge::carry::{Client, Failed, InTransit, Next, PIECE, Read, Service, Taken, Written};
use arbitrary::Arbitrary;
use bytes::{Buf, Bytes};

use crate::Steps;

/// Kind of the client, and steps of both sides.
#[derive(Arbitrary, Debug)]
pub struct Input {
    /// Even: the client is a model; odd: its connection is one of the stack, with a preset of
    /// recovery.
    client: u8,
    steps: Steps<Step>,
}

/// An event of the flow.
#[derive(Arbitrary, Clone, Copy, Debug)]
enum Step {
    /// The edge calls the flow, which moves as many bytes as it can.
    Turn,
    /// The client or the service has more to say.
    Say { client: bool, bytes: u16 },
    /// An end takes more; for a client that is room in the stack, which a smaller budget may take
    /// away.
    Take { client: bool, bytes: u16 },
    /// Room that was there is gone.
    Shrink { left: u16 },
    /// An end has sent everything.
    Finish { client: bool },
    /// An end is gone; seldom, so that most flows go on.
    Fail { client: bool, dice: u8 },
    /// An event on the wire to the stack.
    Wire(Wire),
}

/// Segments that are lost on the wire, up to three, and the time that passes then.
#[derive(Arbitrary, Clone, Copy, Debug)]
struct Wire {
    lost: u8,
    millis: u16,
}

/// Outcome of a run, by which a test sees that inputs reach their aims.
#[derive(Clone, Copy, Debug, Default)]
pub struct Outcome {
    /// Bytes that reached the other side.
    pub carried: u64,
    /// Both directions ended in order.
    pub over: bool,
    /// Whether a side failed.
    pub failed: bool,
}

/// A side, and what it must be.
#[derive(Default)]
struct Side {
    /// Bytes that it said, and that were taken of it.
    said: u64,
    fetched: u64,
    finished: bool,
    /// Told that there is nothing more to fetch.
    drained: bool,
    /// Bytes that the side accepts at once, and bytes that it accepted.
    room: usize,
    took: u64,
    /// Told that nothing more comes.
    told_end: bool,
    failed: bool,
}

/// Byte number `at` of what a side says.
fn byte(at: u64) -> u8 {
    (at ^ at >> 8 ^ at >> 16) as u8
}

impl Side {
    fn check(&self) -> Result<(), ()> {
        if self.failed { Err(()) } else { Ok(()) }
    }

    fn fetch(&mut self, limit: usize) -> Bytes {
        assert!(limit > 0 && limit <= PIECE, "asked for {limit} bytes");
        let length = (self.said - self.fetched).min(limit as u64);
        let data = (self.fetched..self.fetched + length).map(byte).collect::<Vec<u8>>();
        self.fetched += length;
        data.into()
    }

    fn take(&mut self, data: &[u8]) -> usize {
        assert!(!self.told_end, "data behind the end");
        let length = data.len().min(self.room);
        self.room -= length;
        for found in &data[..length] {
            assert_eq!(*found, byte(self.took), "byte {}", self.took);
            self.took += 1;
        }
        length
    }

    fn has_more(&self) -> bool {
        assert!(!self.drained, "asked again behind the end");
        self.fetched < self.said
    }
}

impl Client for Side {
    type Error = ();

    fn receive(&mut self, limit: usize, pieces: &mut Vec<Bytes>) -> Result<Taken, ()> {
        self.check()?;
        assert!(pieces.is_empty());
        if self.has_more() {
            let mut data = self.fetch(limit);
            while !data.is_empty() {
                let piece = data.len().min(1_448);
                pieces.push(data.split_to(piece));
            }
            return Ok(Taken::Data);
        }
        self.drained = self.finished;
        Ok(if self.finished { Taken::Finished } else { Taken::Nothing })
    }

    fn room(&mut self) -> Result<usize, ()> {
        self.check().map(|()| self.room)
    }

    fn send(&mut self, data: Bytes) -> Result<usize, ()> {
        self.check()?;
        assert!(!data.is_empty());
        Ok(self.take(&data))
    }

    fn finish(&mut self) {
        assert!(!std::mem::replace(&mut self.told_end, true), "ended twice");
    }
}

impl Service for Side {
    type Error = ();

    fn write(&mut self, pieces: &mut Vec<Bytes>) -> Result<Written, ()> {
        self.check()?;
        let mut total = 0;
        while let Some(first) = pieces.first_mut() {
            let taken = self.take(first);
            total += taken;
            first.advance(taken);
            if !first.is_empty() {
                break;
            }
            pieces.remove(0);
        }
        Ok(if total == 0 { Written::Full } else { Written::Bytes(total) })
    }

    fn read(&mut self, limit: usize) -> Result<Read, ()> {
        self.check()?;
        if self.has_more() {
            return Ok(Read::Data(self.fetch(limit)));
        }
        self.drained = self.finished;
        Ok(if self.finished { Read::Finished } else { Read::Nothing })
    }

    fn finish(&mut self) -> Result<(), ()> {
        assert!(!std::mem::replace(&mut self.told_end, true), "ended twice");
        self.check()
    }
}

/// Runs the steps, and then everything that is left, with room for all.
pub fn run(input: Input) -> Outcome {
    if !input.client.is_multiple_of(2) {
        return stacked::run(&input.steps.0, input.client / 2);
    }
    let (mut client, mut service, mut carried) =
        (Side::default(), Side::default(), InTransit::default());
    for step in input.steps.0 {
        match step {
            Step::Turn => {
                if let Some(outcome) = turn(&mut carried, &mut client, &mut service) {
                    return outcome;
                }
            }
            Step::Shrink { left } => client.room = client.room.min(usize::from(left)),
            Step::Say { client: is_client, bytes } => {
                let side = if is_client { &mut client } else { &mut service };
                side.said += if side.finished { 0 } else { u64::from(bytes) };
            }
            Step::Take { client: is_client, bytes } => {
                let side = if is_client { &mut client } else { &mut service };
                side.room += usize::from(bytes);
            }
            Step::Finish { client: is_client } => {
                let side = if is_client { &mut client } else { &mut service };
                side.finished = true;
            }
            Step::Fail { client: is_client, dice } => {
                let side = if is_client { &mut client } else { &mut service };
                side.failed |= dice < 4;
            }
            Step::Wire(_) => {}
        }
    }
    (client.room, service.room) = (usize::MAX / 2, usize::MAX / 2);
    (client.finished, service.finished) = (true, true);
    for _ in 0..10_000 {
        if let Some(outcome) = turn(&mut carried, &mut client, &mut service) {
            assert!(outcome.failed || (client.took, service.took) == (service.said, client.said));
            return outcome;
        }
    }
    panic!("a flow that never ends")
}

/// One turn, after which the books must balance; what came of the flow, once it is over.
fn turn(carried: &mut InTransit, client: &mut Side, service: &mut Side) -> Option<Outcome> {
    let next = carried.carry(client, service);
    let (up, down) = carried.bytes();
    assert_eq!((up, down), (service.took, client.took));
    let on_their_way = (client.fetched - up) + (service.fetched - down);
    let held = carried.held() as u64;
    assert!(held >= on_their_way, "{held} bytes held, {on_their_way} on their way");
    assert!(held <= on_their_way + 1_448 && held <= 2 * PIECE as u64, "{held}, {on_their_way}");
    let outcome =
        Outcome { carried: up + down, over: next == Ok(Next::Over), failed: next.is_err() };
    match next {
        Ok(Next::Over) => {
            assert!(client.told_end && service.told_end && on_their_way == 0);
            Some(outcome)
        }
        Ok(Next::Again) => None,
        // The side that is waited for has nothing to send, or takes nothing.
        Ok(Next::Wait { readable, writable }) => {
            assert!(!readable || (service.fetched == service.said && !service.drained));
            assert!(!writable || (service.room == 0 && client.fetched > up));
            None
        }
        Err(Failed::Client(())) => {
            assert!(client.failed);
            Some(outcome)
        }
        Err(Failed::Service(())) => {
            assert!(service.failed);
            Some(outcome)
        }
    }
}
