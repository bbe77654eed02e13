//! From a bellperson circuit to the assignment that libcuzk proves.
//!
//! bellperson keeps the result of its own synthesis private, so this is a
//! constraint system of its own which records the same things: every row's
//! value of the A and B linear combinations, the variables, and which of them
//! occur with a nonzero coefficient in A and in B.

use bellperson::{Circuit, ConstraintSystem, Index, LinearCombination, SynthesisError, Variable};
use blstrs::Scalar;
use ff::Field;

/// Which variables occur: bit i % 64 of word i / 64 is variable i.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bits {
    words: Vec<u64>,
    len: usize,
}

impl Bits {
    /// The words; bits at and past [`Bits::len`] are zero.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// As [`Bits::words`].
    pub fn into_words(self) -> Vec<u64> {
        self.words
    }

    /// Number of variables.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no variable.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Number of variables that occur.
    pub fn popcount(&self) -> usize {
        self.words.iter().map(|w| w.count_ones() as usize).sum()
    }

    fn push(&mut self, bit: bool) {
        if self.len % 64 == 0 {
            self.words.push(0);
        }
        self.len += 1;
        if bit {
            self.set(self.len - 1);
        }
    }

    fn set(&mut self, index: usize) {
        self.words[index / 64] |= 1 << (index % 64);
    }

    fn get(&self, index: usize) -> bool {
        self.words[index / 64] >> (index % 64) & 1 == 1
    }

    /// Appends other's bits from `from` on.
    fn extend(&mut self, other: &Self, from: usize) {
        for i in from..other.len {
            self.push(other.get(i));
        }
    }
}

/// A circuit's assignment, with the rows of the inputs appended.
#[derive(Clone, Debug, Default)]
pub struct Recorder {
    /// Value of the A linear combination on every row.
    pub a: Vec<Scalar>,
    /// Value of the B linear combination on every row.
    pub b: Vec<Scalar>,
    /// Value of the C linear combination on every row. libcuzk does not read
    /// it; tests check that a*b = c.
    pub c: Vec<Scalar>,
    /// Public inputs; the first is one.
    pub inputs: Vec<Scalar>,
    /// Private variables.
    pub aux: Vec<Scalar>,
    /// Private variables that occur in A.
    pub a_aux: Bits,
    /// Public inputs that occur in B.
    pub b_inputs: Bits,
    /// Private variables that occur in B.
    pub b_aux: Bits,
}

/// Runs the circuit as bellperson's prover does: the input that is one first,
/// and after the circuit one row `input * 0 = 0` for every input.
pub fn synthesize<C: Circuit<Scalar>>(circuit: C) -> Result<Recorder, SynthesisError> {
    let mut cs = Recorder::new();
    cs.alloc_input(|| "one", || Ok(Scalar::ONE))?;
    circuit.synthesize(&mut cs)?;
    for i in 0..cs.inputs.len() {
        let input = Variable::new_unchecked(Index::Input(i));
        cs.enforce(|| "input", |lc| lc + input, |lc| lc, |lc| lc);
    }
    Ok(cs)
}

/// Value of a linear combination; marks the variables with a nonzero
/// coefficient in the densities that are given.
fn evaluate(
    lc: &LinearCombination<Scalar>,
    inputs: &[Scalar],
    aux: &[Scalar],
    mut input_density: Option<&mut Bits>,
    mut aux_density: Option<&mut Bits>,
) -> Scalar {
    let mut sum = Scalar::ZERO;
    for (variable, coefficient) in lc.iter().filter(|(_, k)| !k.is_zero_vartime()) {
        let (value, index, density) = match variable.get_unchecked() {
            Index::Input(i) => (inputs[i], i, input_density.as_deref_mut()),
            Index::Aux(i) => (aux[i], i, aux_density.as_deref_mut()),
        };
        if let Some(density) = density {
            density.set(index);
        }
        // Most coefficients are one.
        sum += if *coefficient == Scalar::ONE {
            value
        } else {
            value * coefficient
        };
    }
    sum
}

impl ConstraintSystem<Scalar> for Recorder {
    type Root = Self;

    fn new() -> Self {
        Self::default()
    }

    fn alloc<F, A, AR>(&mut self, _: A, value: F) -> Result<Variable, SynthesisError>
    where
        F: FnOnce() -> Result<Scalar, SynthesisError>,
        A: FnOnce() -> AR,
        AR: Into<String>,
    {
        self.aux.push(value()?);
        self.a_aux.push(false);
        self.b_aux.push(false);
        Ok(Variable::new_unchecked(Index::Aux(self.aux.len() - 1)))
    }

    fn alloc_input<F, A, AR>(&mut self, _: A, value: F) -> Result<Variable, SynthesisError>
    where
        F: FnOnce() -> Result<Scalar, SynthesisError>,
        A: FnOnce() -> AR,
        AR: Into<String>,
    {
        self.inputs.push(value()?);
        self.b_inputs.push(false);
        Ok(Variable::new_unchecked(Index::Input(self.inputs.len() - 1)))
    }

    fn enforce<A, AR, LA, LB, LC>(&mut self, _: A, a: LA, b: LB, c: LC)
    where
        A: FnOnce() -> AR,
        AR: Into<String>,
        LA: FnOnce(LinearCombination<Scalar>) -> LinearCombination<Scalar>,
        LB: FnOnce(LinearCombination<Scalar>) -> LinearCombination<Scalar>,
        LC: FnOnce(LinearCombination<Scalar>) -> LinearCombination<Scalar>,
    {
        let (inputs, aux) = (&self.inputs, &self.aux);
        let zero = LinearCombination::zero;
        // The A query holds every input, so it has no input density: each
        // input has a row of its own.
        let (a_aux, b_inputs, b_aux) = (&mut self.a_aux, &mut self.b_inputs, &mut self.b_aux);
        self.a
            .push(evaluate(&a(zero()), inputs, aux, None, Some(a_aux)));
        self.b.push(evaluate(
            &b(zero()),
            inputs,
            aux,
            Some(b_inputs),
            Some(b_aux),
        ));
        self.c.push(evaluate(&c(zero()), inputs, aux, None, None));
    }

    fn push_namespace<NR, N>(&mut self, _: N)
    where
        NR: Into<String>,
        N: FnOnce() -> NR,
    {
    }

    fn pop_namespace(&mut self) {}

    fn get_root(&mut self) -> &mut Self::Root {
        self
    }

    fn is_extensible() -> bool {
        true
    }

    fn extend(&mut self, other: &Self) {
        self.a.extend(&other.a);
        self.b.extend(&other.b);
        self.c.extend(&other.c);
        // The other system's first input is the same one as this one's.
        self.inputs.extend(&other.inputs[1..]);
        if other.b_inputs.get(0) {
            self.b_inputs.set(0);
        }
        self.b_inputs.extend(&other.b_inputs, 1);
        self.aux.extend(&other.aux);
        self.a_aux.extend(&other.a_aux, 0);
        self.b_aux.extend(&other.b_aux, 0);
    }
}
