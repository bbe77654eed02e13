use cuzk_sys as sys;

use crate::data::Data;
use crate::error::Error;
use crate::values::Fr;
use crate::Result;

/// Which variables occur in a query: bit i % 64 of word i / 64 is variable i.
#[derive(Clone, Debug, Default)]
pub struct Density<'a> {
    words: Data<'a, u64>,
    len: usize,
    popcount: usize,
}

impl<'a> Density<'a> {
    /// Takes the first `len` bits of the words, and ignores the others. Fails if
    /// there are too few words.
    pub fn new(words: impl Into<Data<'a, u64>>, len: usize) -> Result<Self> {
        let words = words.into();
        let need = len.div_ceil(64);
        if words.len() < need {
            let got = words.len();
            return Err(Error::Density(format!(
                "a density of {len} bits needs {need} words of 64 bits, got {got}"
            )));
        }
        let popcount = popcount(&words[..need], len);
        Ok(Self {
            words,
            len,
            popcount,
        })
    }

    /// The words. Bits at and past the length may have any value.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// Number of bits.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no bits.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Number of set bits.
    pub fn popcount(&self) -> usize {
        self.popcount
    }

    fn raw(&self) -> sys::cuzk_density {
        sys::cuzk_density {
            words: self.words.as_ptr(),
            bit_len: self.len,
            popcount: self.popcount,
        }
    }
}

/// The number of set bits below `len`, which lies in the last word or at its end.
fn popcount(words: &[u64], len: usize) -> usize {
    let all: usize = words.iter().map(|word| word.count_ones() as usize).sum();
    let past_the_end = match (words.last(), len % 64) {
        (Some(last), rest) if rest != 0 => (last >> rest).count_ones() as usize,
        _ => 0,
    };
    all - past_the_end
}

impl FromIterator<bool> for Density<'_> {
    fn from_iter<I: IntoIterator<Item = bool>>(bits: I) -> Self {
        let (mut words, mut len, mut popcount) = (Vec::new(), 0, 0);
        for bit in bits {
            if len % 64 == 0 {
                words.push(0);
            }
            words[len / 64] |= u64::from(bit) << (len % 64);
            len += 1;
            popcount += usize::from(bit);
        }
        Self {
            words: words.into(),
            len,
            popcount,
        }
    }
}

/// What synthesis gives for one circuit: bellperson's `ProvingAssignment`, with
/// the extra row for every input appended.
///
/// It has no values of the C linear combinations: in a satisfied circuit they are
/// a*b.
#[derive(Clone, Debug, Default)]
pub struct Assignment<'a> {
    /// Value of the A linear combination on each row.
    pub a: Data<'a, Fr>,
    /// Value of the B linear combination on each row.
    pub b: Data<'a, Fr>,
    /// Public inputs; the first is one.
    pub inputs: Data<'a, Fr>,
    /// Private variables.
    pub aux: Data<'a, Fr>,
    /// Private variables that occur in A.
    pub a_aux: Density<'a>,
    /// Public inputs that occur in B.
    pub b_inputs: Density<'a>,
    /// Private variables that occur in B.
    pub b_aux: Density<'a>,
}

impl Assignment<'_> {
    /// The same with pointers, which are valid while self lives.
    fn raw(&self) -> Result<sys::cuzk_assignment> {
        let (a, b) = (self.a.len(), self.b.len());
        if a != b {
            return Err(Error::Size(format!(
                "a has {a} rows and b has {b}: they must be as many"
            )));
        }
        Ok(sys::cuzk_assignment {
            struct_size: size_of::<sys::cuzk_assignment>(),
            a: self.a.as_ptr().cast(),
            b: self.b.as_ptr().cast(),
            c: std::ptr::null(),
            num_rows: a,
            inputs: self.inputs.as_ptr().cast(),
            num_inputs: self.inputs.len(),
            aux: self.aux.as_ptr().cast(),
            num_aux: self.aux.len(),
            a_aux: self.a_aux.raw(),
            b_inputs: self.b_inputs.raw(),
            b_aux: self.b_aux.raw(),
        })
    }
}

/// One circuit to prove: its assignment, and the two blinding scalars r and s.
#[derive(Clone, Debug)]
pub struct Partition<'a> {
    pub(crate) assignment: Assignment<'a>,
    pub(crate) r: Fr,
    pub(crate) s: Fr,
}

impl<'a> Partition<'a> {
    /// With r and s from the system's random source.
    pub fn new(assignment: Assignment<'a>) -> Result<Self> {
        Ok(Self::with_blinding(
            assignment,
            Fr::random()?,
            Fr::random()?,
        ))
    }

    /// With given r and s. The proof is a function of them: whoever knows them,
    /// or sees two proofs with the same, may learn about the private variables.
    pub fn with_blinding(assignment: Assignment<'a>, r: Fr, s: Fr) -> Self {
        Self { assignment, r, s }
    }

    /// The assignment.
    pub fn assignment(&self) -> &Assignment<'a> {
        &self.assignment
    }

    pub(crate) fn raw(&self) -> Result<sys::cuzk_assignment> {
        self.assignment.raw()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_past_the_end_do_not_count() {
        let words = vec![u64::MAX; 3];
        for (len, popcount) in [(0, 0), (1, 1), (63, 63), (64, 64), (65, 65), (192, 192)] {
            let density = Density::new(&words, len).unwrap();
            assert_eq!((density.len(), density.popcount()), (len, popcount));
        }
    }

    #[test]
    fn bits_become_words() {
        let density: Density = (0..130).map(|i| i % 3 == 0).collect();

        assert_eq!((density.len(), density.popcount()), (130, 44));
        assert!((0..130).all(|i| (density.words[i / 64] >> (i % 64) & 1 == 1) == (i % 3 == 0)));
    }

    #[test]
    fn too_few_words_are_refused() {
        let error = Density::new(vec![0; 2], 129).unwrap_err();

        assert!(matches!(error, Error::Density(_)));
        assert!(
            error.message().contains("129 bits needs 3 words"),
            "{error}"
        );
    }

    #[test]
    fn rows_of_different_lengths_are_refused() {
        let rows = Assignment {
            a: vec![Fr::ONE; 3].into(),
            ..Assignment::default()
        };

        assert!(matches!(rows.raw(), Err(Error::Size(_))));
    }
}
