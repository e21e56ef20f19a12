//! Lists as a fuzzer finds them easily: as long as there are bytes, or as long as a byte says. What
//! `arbitrary` makes of a list ends after each element with a chance of a half.

use arbitrary::{Arbitrary, Result, Unstructured};

/// Steps of a list at most.
const STEPS: usize = 400;

/// Steps, one after the other until the input ends.
#[derive(Clone, Debug, Default)]
pub struct Steps<T>(pub Vec<T>);

impl<'a, T: Arbitrary<'a>> Arbitrary<'a> for Steps<T> {
    fn arbitrary(input: &mut Unstructured<'a>) -> Result<Self> {
        let mut steps = Vec::new();
        while !input.is_empty() && steps.len() < STEPS {
            steps.push(T::arbitrary(input)?);
        }
        Ok(Steps(steps))
    }
}

/// Bytes: up to 127 of them, or as many as two bytes say.
#[derive(Clone, Debug, Default)]
pub struct Blob(pub Vec<u8>);

impl<'a> Arbitrary<'a> for Blob {
    fn arbitrary(input: &mut Unstructured<'a>) -> Result<Self> {
        let first = u8::arbitrary(input)?;
        let length = match first {
            0..=127 => usize::from(first),
            // Mostly short: what is interesting fits into a few fields.
            128..=250 => usize::from(first % 32),
            _ => usize::from(u16::arbitrary(input)?) % 3_000,
        };
        Ok(Blob(input.bytes(length.min(input.len()))?.to_vec()))
    }
}
