//! Serial number arithmetic (RFC 1982): numbers that wrap have no order, only a distance.

/// Defines a wrapping sequence number over `u16` or `u32`.
///
/// The type deliberately has no `Ord` and no `-`: "later" only makes sense for two numbers less
/// than half the space apart, and no subtraction of a peer's number may panic.
#[macro_export]
macro_rules! serial_number {
    ($(#[$doc:meta])* $name:ident, $int:ty, $signed:ty) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
        pub struct $name(pub $int);

        impl $name {
            /// The number `count` steps on, wrapping.
            pub const fn advance(self, count: $int) -> Self {
                Self(self.0.wrapping_add(count))
            }

            /// The number that follows, 0 after the largest.
            pub const fn next(self) -> Self {
                self.advance(1)
            }

            /// The number before this one, wrapping.
            pub const fn previous(self) -> Self {
                Self(self.0.wrapping_sub(1))
            }

            /// Whether this number comes after `other` (RFC 1982, section 3.2).
            pub const fn is_after(self, other: Self) -> bool {
                self.0.wrapping_sub(other.0) as $signed > 0
            }

            /// Steps from `other` forward to this number, wrapping.
            pub const fn distance_from(self, other: Self) -> $int {
                self.0.wrapping_sub(other.0)
            }
        }

        impl ::core::fmt::Debug for $name {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                write!(f, "{}", self.0)
            }
        }

        impl ::core::fmt::Display for $name {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                ::core::fmt::Display::fmt(&self.0, f)
            }
        }
    };
}

/// The 64-bit number nearest to `reference` whose low 32 bits are `wire`.
///
/// Near zero, where the nearest would be negative, the next higher one is taken.
pub const fn unwrap_u32(reference: u64, wire: u32) -> u64 {
    let step = wire.wrapping_sub(reference as u32) as i32;
    match reference.checked_add_signed(step as i64) {
        Some(number) => number,
        None => wire as u64,
    }
}

#[cfg(test)]
#[allow(unreachable_pub, dead_code, reason = "the macro makes public types for public modules")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    serial_number!(
        /// A serial number of 32 bits, generated for these tests.
        Number, u32, i32
    );

    #[test]
    fn after_wraps() {
        assert!(Number(0).is_after(Number(u32::MAX)));
        assert!(!Number(u32::MAX).is_after(Number(0)));
        assert!(!Number(5).is_after(Number(5)));
        assert_eq!(Number(3).distance_from(Number(u32::MAX)), 4);
        assert_eq!(Number(u32::MAX).next(), Number(0));
    }

    proptest! {
        #[test]
        fn unwrapping_finds_the_number_within_half_the_space(
            reference in (1u64 << 31)..(1 << 60), step in -(1i64 << 31) + 1..(1i64 << 31)
        ) {
            let number = reference.checked_add_signed(step).unwrap();
            prop_assert_eq!(unwrap_u32(reference, number as u32), number);
        }
    }
}
