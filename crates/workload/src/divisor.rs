//! Division by a number that is known before the loop, without a division in it.

/// A divisor with its reciprocal.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Divisor {
    value: u64,
    /// ⌊(2⁶⁴−1) / value⌋: the high half of a product with it is the quotient or one less.
    reciprocal: u64,
}

impl Divisor {
    /// Prepares `value`; 0 is taken as 1, so that no caller can divide by zero.
    pub(crate) fn new(value: u64) -> Self {
        let value = value.max(1);
        Divisor {
            value,
            reciprocal: u64::MAX / value,
        }
    }

    /// Quotient and remainder of `x`.
    #[inline(always)]
    pub(crate) fn div_rem(self, x: u64) -> (u64, u64) {
        let quotient = ((u128::from(x) * u128::from(self.reciprocal)) >> 64) as u64;
        let remainder = x - quotient * self.value;
        if remainder >= self.value {
            (quotient + 1, remainder - self.value)
        } else {
            (quotient, remainder)
        }
    }

    /// `x` modulo the divisor.
    #[inline(always)]
    pub(crate) fn rem(self, x: u64) -> u64 {
        self.div_rem(x).1
    }

    /// Quotient, rounded up.
    #[inline(always)]
    pub(crate) fn div_ceil(self, x: u64) -> u64 {
        let (quotient, remainder) = self.div_rem(x);
        quotient + u64::from(remainder != 0)
    }

    /// The divisor itself.
    #[inline(always)]
    pub(crate) fn value(self) -> u64 {
        self.value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_machine_division() {
        let values = [
            1,
            2,
            3,
            5,
            7,
            512,
            3000,
            4096,
            65537,
            1 << 40,
            u64::MAX / 2,
            u64::MAX - 1,
            u64::MAX,
        ];
        for d in values {
            let divisor = Divisor::new(d);
            for x in values
                .into_iter()
                .flat_map(|v| [v - 1, v, v.wrapping_add(1), v.wrapping_mul(77)])
            {
                assert_eq!(divisor.div_rem(x), (x / d, x % d), "{x} / {d}");
                assert_eq!(divisor.div_ceil(x), x.div_ceil(d), "{x} / {d} rounded up");
            }
        }
    }

    #[test]
    fn zero_counts_as_one() {
        assert_eq!(Divisor::new(0).div_rem(9), (9, 0));
    }
}
