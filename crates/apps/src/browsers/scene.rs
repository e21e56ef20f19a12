//! Places of the things of the scene: a pure function of time, so that all pages see the same.

/// Things that move by themselves.
const THINGS: u32 = 6;
/// Pointer of a visitor that points nowhere.
pub(super) const NOWHERE: [u16; 2] = [u16::MAX; 2];

/// Contents of a server's message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scene {
    /// Number of the message on its channel.
    pub(super) number: u32,
    /// Milliseconds since the server began.
    pub(super) time_ms: f64,
    /// Packets and bytes that the association has sent so far.
    pub(super) packets: u32,
    pub(super) bytes: f64,
    /// Place to which the visitor points, as the server knows it.
    pub(super) pointer: [u16; 2],
}

impl Scene {
    /// The message: number and packets in 32 bits, time and bytes as 64-bit floats; then the
    /// pointer and the things, each by its place from the left and from the top, in 16 bits
    /// where 65,535 is the whole width and height. All big-endian.
    pub(super) fn to_bytes(self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(28 + 4 * THINGS as usize);
        bytes.extend(self.number.to_be_bytes());
        bytes.extend(self.time_ms.to_be_bytes());
        bytes.extend(self.packets.to_be_bytes());
        bytes.extend(self.bytes.to_be_bytes());
        let things = (0..THINGS).map(|thing| place(thing, self.time_ms));
        for place in [self.pointer].into_iter().chain(things) {
            bytes.extend(place.into_iter().flat_map(u16::to_be_bytes));
        }
        bytes
    }
}

/// A thing's place at a time: on a curve of its own, around the middle.
fn place(thing: u32, time_ms: f64) -> [u16; 2] {
    let own = f64::from(thing);
    let angle = time_ms / (620.0 + 110.0 * own) + 2.3 * own;
    let reach = 0.42 - 0.03 * f64::from(thing % 3);
    let rise = 1.0 + 0.5 * f64::from(thing % 4);
    let part = |swing: f64| ((0.5 + reach * swing) * f64::from(u16::MAX)).round() as u16;
    [part(angle.cos()), part((rise * angle + own).sin())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_its_fields_in_order_and_all_things_within_the_picture() {
        let scene = Scene { number: 7, time_ms: 1.5, packets: 9, bytes: 2.0, pointer: [1, 2] };
        let bytes = scene.to_bytes();
        assert_eq!(bytes.len(), 4 + 8 + 4 + 8 + 4 + 4 * 6);
        assert_eq!(bytes[..4], [0, 0, 0, 7]);
        assert_eq!(bytes[4..12], 1.5f64.to_be_bytes());
        assert_eq!(bytes[12..16], [0, 0, 0, 9]);
        assert_eq!(bytes[24..28], [0, 1, 0, 2]);
        for time in 0..2000 {
            let places = (0..THINGS).map(|thing| place(thing, f64::from(time) * 13.0));
            assert!(places.flatten().all(|part| (3000..62_500).contains(&part)));
        }
    }
}
