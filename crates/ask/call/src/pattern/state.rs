//! The set of pattern components that may match next.

/// A set of steps of one pattern; it is meaningless for any other pattern.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    words: Box<[u64]>,
}

impl State {
    /// Returns the empty set for a pattern with this number of steps.
    pub(super) fn none(steps: usize) -> State {
        State {
            words: vec![0; steps.div_ceil(64)].into(),
        }
    }

    /// Returns whether the set is empty, so that nothing can match any more.
    pub fn is_none(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }

    pub(super) fn add(&mut self, step: usize) {
        if let Some(word) = self.words.get_mut(step / 64) {
            *word |= 1 << (step % 64);
        }
    }

    pub(super) fn has(&self, step: usize) -> bool {
        let word = self.words.get(step / 64);
        word.is_some_and(|word| word >> (step % 64) & 1 == 1)
    }

    /// Returns the steps, ascending.
    pub(super) fn steps(&self) -> impl Iterator<Item = usize> {
        each(self.words.iter().copied())
    }

    /// Returns the steps that are in both sets.
    pub(super) fn both(&self, other: &State) -> impl Iterator<Item = usize> {
        each(self.words.iter().zip(&other.words).map(|(a, b)| a & b))
    }
}

/// Returns the numbers of the set bits.
fn each(words: impl Iterator<Item = u64>) -> impl Iterator<Item = usize> {
    words.enumerate().flat_map(|(index, mut word)| {
        std::iter::from_fn(move || {
            let bit = word.trailing_zeros();
            word &= word.wrapping_sub(1);
            (bit < 64).then_some(index * 64 + bit as usize)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_beyond_a_word() {
        let mut state = State::none(200);
        assert!(state.is_none());
        for step in [0, 63, 64, 130, 199] {
            state.add(step);
        }
        assert_eq!(state.steps().collect::<Vec<_>>(), [0, 63, 64, 130, 199]);
        let mut other = State::none(200);
        other.add(130);
        other.add(131);
        assert_eq!(state.both(&other).collect::<Vec<_>>(), [130]);
        assert!(state.has(199) && !state.has(198) && !state.has(9999));
    }
}
