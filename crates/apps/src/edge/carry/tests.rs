use super::*;

/// A side that follows a script: what it has, and what it takes.
#[derive(Default)]
struct Side {
    has: Vec<u8>,
    finished: bool,
    takes: usize,
    got: Vec<u8>,
    told_finished: bool,
    fails: bool,
}

impl Side {
    fn give(&mut self, limit: usize) -> Bytes {
        let length = limit.min(self.has.len());
        Bytes::from(self.has.drain(..length).collect::<Vec<u8>>())
    }

    fn take(&mut self, data: &[u8]) -> usize {
        let length = data.len().min(self.takes);
        self.takes -= length;
        self.got.extend_from_slice(&data[..length]);
        length
    }

    fn check(&self) -> Result<(), ()> {
        if self.fails { Err(()) } else { Ok(()) }
    }
}

impl Client for Side {
    type Error = ();

    fn receive(&mut self, limit: usize, pieces: &mut Vec<Bytes>) -> Result<Taken, ()> {
        self.check()?;
        match (self.has.is_empty(), self.finished) {
            (false, _) => {
                let (one, other) = (self.give(limit / 2), self.give(limit / 2));
                pieces.extend([one, other].into_iter().filter(|piece| !piece.is_empty()));
                Ok(Taken::Data)
            }
            (true, true) => Ok(Taken::Finished),
            (true, false) => Ok(Taken::Nothing),
        }
    }

    fn room(&mut self) -> Result<usize, ()> {
        self.check().map(|()| self.takes)
    }

    fn send(&mut self, data: Bytes) -> Result<usize, ()> {
        self.check().map(|()| self.take(&data))
    }

    fn finish(&mut self) {
        self.told_finished = true;
    }
}

impl Service for Side {
    type Error = ();

    fn write(&mut self, pieces: &mut Vec<Bytes>) -> Result<Written, ()> {
        self.check()?;
        let taken = self.take(&pieces.concat());
        super::super::flow::advance(pieces, taken);
        Ok(if taken == 0 { Written::Full } else { Written::Bytes(taken) })
    }

    fn read(&mut self, limit: usize) -> Result<Read, ()> {
        self.check()?;
        Ok(match (self.has.is_empty(), self.finished) {
            (false, _) => Read::Data(self.give(limit)),
            (true, true) => Read::Finished,
            (true, false) => Read::Nothing,
        })
    }

    fn finish(&mut self) -> Result<(), ()> {
        self.told_finished = true;
        self.check()
    }
}

fn text(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at % 251) as u8).collect()
}

#[test]
fn nothing_is_fetched_for_a_client_that_has_no_room() {
    let (mut client, mut service) =
        (Side::default(), Side { has: text(100_000), ..Side::default() });
    let mut in_transit = InTransit::default();
    let next = in_transit.carry(&mut client, &mut service);
    assert_eq!(next, Ok(Next::Wait { readable: false, writable: false }));
    assert_eq!((in_transit.held(), service.has.len()), (0, 100_000));
    client.takes = 700;
    let next = in_transit.carry(&mut client, &mut service);
    assert_eq!(next, Ok(Next::Wait { readable: false, writable: false }));
    assert_eq!((in_transit.held(), &client.got[..]), (0, &text(700)[..]));
}

#[test]
fn what_a_service_does_not_take_counts_whole_until_the_last_byte_of_its_piece_is_gone() {
    let mut client = Side { has: text(200_000), ..Side::default() };
    let mut service = Side { takes: PIECE / 2 - 1, ..Side::default() };
    let mut in_transit = InTransit::default();
    let next = in_transit.carry(&mut client, &mut service);
    assert_eq!(next, Ok(Next::Wait { readable: false, writable: true }));
    assert_eq!((in_transit.held(), in_transit.bytes().0), (PIECE, PIECE as u64 / 2 - 1));
    service.takes = 1;
    let _ = in_transit.carry(&mut client, &mut service);
    assert_eq!(in_transit.held(), PIECE / 2);
}

#[test]
fn each_direction_ends_alone_once_all_of_it_was_carried() {
    let mut client = Side { has: text(10), finished: true, takes: 1000, ..Side::default() };
    let mut service = Side { takes: 5, ..Side::default() };
    let mut in_transit = InTransit::default();
    let _ = in_transit.carry(&mut client, &mut service);
    assert!(!service.told_finished, "half of it is left");
    service.takes = 5;
    let next = in_transit.carry(&mut client, &mut service);
    assert_eq!(next, Ok(Next::Wait { readable: true, writable: false }));
    assert!(service.told_finished && !client.told_finished);
    (service.has, service.finished) = (text(20), true);
    assert_eq!(in_transit.carry(&mut client, &mut service), Ok(Next::Over));
    assert!(client.told_finished);
    assert_eq!((service.got, client.got, in_transit.held()), (text(10), text(20), 0));
}

#[test]
fn a_side_that_fails_is_named() {
    for client_fails in [true, false] {
        let mut client = Side { fails: client_fails, has: text(9), ..Side::default() };
        let mut service = Side { fails: !client_fails, ..Side::default() };
        let failed = InTransit::default().carry(&mut client, &mut service);
        assert_eq!(
            failed,
            Err(if client_fails { Failed::Client(()) } else { Failed::Service(()) })
        );
    }
}
